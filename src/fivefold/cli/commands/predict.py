"""`fivefold predict`: the predictions of a model for new rows, as a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivefold.cli.options import JSON_OPTION, MODEL_ARGUMENT, UNPACK_LIMIT_HELP, Console, refuse, show_json, show_text

if TYPE_CHECKING:
    import polars as pl

    from fivefold.study.models.model_file import ModelFile
    from fivefold.study.models.new_rows import NewRows


def predict(
    model: MODEL_ARGUMENT,
    data: Annotated[
        str, typer.Argument(help=f"A table with the columns that the model was fitted on. {UNPACK_LIMIT_HELP}")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; by default the predictions are printed.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Also write an interval, or a set of classes, meant to hold the truth with this probability: 0.8, 0.9 "
            "or 0.95. For models of a study."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also write what each column contributes to each prediction.")
    ] = False,
    background: Annotated[
        str | None,
        typer.Option(
            help="With --explain: a table of rows to compare with, such as the one the model was fitted on; by default "
            "the new rows themselves."
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write text verbatim, even if a spreadsheet would take it for a formula.")
    ] = False,
    as_json: JSON_OPTION = False,
) -> None:
    """Predict new rows: labels, probabilities and the place of each row.

    With --interval 0.9, the columns low_90 and high_90, or set_90 with the classes between bars, come from the errors
    that the study saw on unseen rows (conformal prediction). With --explain, the column base holds the mean prediction
    of the rows compared with, and c_NAME what column NAME adds to it (Shapley values): together they give the number,
    the log-odds of the predicted class for linear models and boosted trees of two classes, or its probability.

    Text that begins with = + - @ or a tab and is not a number gets an apostrophe in front, because a spreadsheet would
    take it for a formula. Text that begins with apostrophes before such a sign gets one more, so removing one restores
    the original.
    """
    from fivefold.cli.progress_bar import activity
    from fivefold.study.formatting import format_count
    from fivefold.study.models.model_file import load_model, version_warnings
    from fivefold.study.models.new_rows import read_new_rows
    from fivefold.study.models.prediction_details import with_details
    from fivefold.study.tables.table import BadInput

    try:
        with activity(f"reading {data}"):
            loaded = load_model(model)
            new = read_new_rows(data, loaded.schema)
        new = replace(new, notes=(*version_warnings(loaded.card), *new.notes))
        if background is not None and not explain:
            raise BadInput("--background is for --explain; give both")
        others = None if not explain else new if background is None else read_new_rows(background, loaded.schema)
        with activity(f"predicting {data}"), loaded.refusing_misfits():
            predictions, notes = with_details(loaded, new, prediction_frame(loaded, new), interval, others)
        new = replace(new, notes=(*new.notes, *notes))
        shown, changed = (predictions, 0) if raw else escape_formulas(predictions)
        text = shown.write_csv()
        if changed:
            texts = format_count(changed, "text")
            note = f"{texts} that a spreadsheet would take for a formula got an apostrophe; --raw writes text as it is"
            new = replace(new, notes=(*new.notes, note))
        if out is not None:
            _write(out, text)
    except BadInput as error:
        refuse(str(error))
    if as_json:
        show_json(_json_result(loaded, new, predictions, out))
        return
    _show_predictions(loaded, new, text, len(predictions), out)


def prediction_frame(model: ModelFile, new: NewRows) -> pl.DataFrame:
    """A frame: identifiers or places of the rows, predictions, and one probability per class."""
    import polars as pl

    predicted = model.pipeline.predict(new.X)
    columns: dict[str, Any] = {"prediction": predicted}
    if model.schema.task.is_classification:
        P = model.pipeline.predict_proba(new.X)
        columns |= {f"p_{label}": P[:, k] for k, label in enumerate(model.pipeline.classes_)}
    own = model.schema.places
    names = [c.name for c in model.schema.columns if c.kind == "identifier" or c.name in own if c.name in new.X.columns]
    names = [name for name in names if name not in columns]
    places: dict[str, Any] = {name: _as_written(new.X[name]) for name in names} or {new.unit: new.at}
    return pl.DataFrame({**places, **columns})


def _as_written(values: pl.Series) -> pl.Series:
    """Whole numbers without a point."""
    import polars as pl

    whole = values.dtype.is_float() and bool((values == values.round()).all())
    return values.cast(pl.Int64) if whole else values


def escape_formulas(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The frame with an apostrophe before text that a spreadsheet would take for a formula, and how many got one."""
    import polars as pl

    kinds = (pl.String, pl.Categorical, pl.Enum)
    text = {name: frame[name].cast(pl.String) for name, kind in frame.schema.items() if kind in kinds}
    odd = {name: _is_formula(values) for name, values in text.items()}
    marked = [pl.select(pl.when(odd[k]).then("'" + text[k]).otherwise(text[k]).alias(k)).to_series() for k in text]
    heads = _is_formula(pl.Series(frame.columns, dtype=pl.String))
    names = {name: f"'{name}" for name, formula in zip(frame.columns, heads, strict=True) if formula}
    return frame.with_columns(marked).rename(names), sum(int(cells.sum()) for cells in (heads, *odd.values()))


def _is_formula(text: pl.Series) -> pl.Series:
    """Mask of the texts that begin, after apostrophes, as formulas do, and are not numbers."""
    number = text.str.contains(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
    return (text.str.contains(r"^'*[=+\-@\t\r]") & ~number).fill_null(False)


def _write(path: Path, text: str) -> None:
    from fivefold.study.tables.table import BadInput

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"-o {path}: no file can be written there ({error.strerror})") from None


def _show_predictions(loaded: ModelFile, new: NewRows, text: str, rows: int, out: Path | None) -> None:
    """Notes, and the table or where it was written."""
    aside = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for note in new.notes:
        aside.print(f"note: {note}")
    if out is None:
        show_text(text)
    else:
        aside.print(f"{rows:,} rows, {loaded.card.get('method', 'a model')} of {loaded.schema.target!r}: {out}")


def _json_result(model: ModelFile, new: NewRows, predictions: pl.DataFrame, out: Path | None) -> dict[str, Any]:
    from fivefold.study.environment import to_plain_values

    about = {
        "method": model.card.get("method"),
        "target": model.schema.target,
        "rows": len(predictions),
        "notes": list(new.notes),
    }
    rows = {"predictions": to_plain_values(predictions.to_dicts())} if out is None else {"file": str(out)}
    return about | rows
