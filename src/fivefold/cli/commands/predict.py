"""`fivefold predict`: the predictions of a model for new rows, as a table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeVar, cast

import typer

from fivefold.cli.options import JSON_OPTION, MODEL_ARGUMENT, UNPACK_LIMIT_HELP, Console, refuse, show_json, show_text

if TYPE_CHECKING:
    import polars as pl

    from fivefold.study.models.model_file import ModelFile
    from fivefold.study.models.new_rows import NewRows
    from fivefold.study.tables.large_tables import LargeTable

T = TypeVar("T")


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

    Folders of Parquet files, and Parquet files that do not fit into memory, are predicted chunk by chunk into --out.
    """
    from fivefold.cli.progress_bar import activity

    with activity("starting"):
        from fivefold.study.models.model_file import load_model, version_warnings
        from fivefold.study.models.new_rows import NewRows, read_new_rows
        from fivefold.study.tables.large_tables import open_large
        from fivefold.study.tables.table import BadInput

    try:
        if background is not None and not explain:
            raise BadInput("--background is for --explain; give both")
        with activity(f"reading {data}"):
            loaded = load_model(model)
            others = None if background is None else read_new_rows(background, loaded.schema)
            rows = open_large(Path(data)) or read_new_rows(data, loaded.schema)
        with activity(f"predicting {data}"), loaded.refusing_misfits():
            if isinstance(rows, NewRows):
                answer = _predicted(loaded, rows, interval, (others or rows) if explain else None, raw)
                if out is not None:
                    _write(out, lambda file: file.write(answer.shown.write_csv()))
            else:
                answer = _predict_in_chunks(loaded, rows, out, interval, others, explain=explain, raw=raw)
    except BadInput as error:
        refuse(str(error))
    answer = replace(answer, notes=(*version_warnings(loaded.card), *answer.notes, *_formula_notes(answer.formulas)))
    if as_json:
        show_json(_json_result(loaded, answer, out))
        return
    _show_predictions(loaded, answer, out)


@dataclass(frozen=True)
class _Answer:
    """Predictions of some rows, and of all rows so far in `rows`, `notes` and `formulas`."""

    predictions: pl.DataFrame
    shown: pl.DataFrame  # with apostrophes before formulas
    rows: int
    notes: tuple[str, ...]
    formulas: int  # texts that got an apostrophe


def _predicted(model: ModelFile, new: NewRows, level: float | None, background: NewRows | None, raw: bool) -> _Answer:
    from fivefold.study.models.prediction_details import with_details

    predictions, notes = with_details(model, new, prediction_frame(model, new), level, background)
    shown, formulas = (predictions, 0) if raw else escape_formulas(predictions)
    return _Answer(predictions, shown, len(predictions), (*new.notes, *notes), formulas)


def _predict_in_chunks(
    model: ModelFile,
    large: LargeTable,
    out: Path | None,
    level: float | None,
    background: NewRows | None,
    *,
    explain: bool,
    raw: bool,
) -> _Answer:
    """Write the predictions of a table that is not read whole; the answer for its last chunk."""
    import polars as pl

    from fivefold.study.models.new_rows import apply_schema
    from fivefold.study.tables.table import BadInput, table_from_frame

    if out is None:
        raise BadInput(f"{large.name} has {large.rows:,} rows and is not read whole: give --out, the file to write")
    if explain and background is None:
        raise BadInput("--explain of a table that is read in chunks needs --background, a table that is not")
    if model.schema.sequence:
        raise BadInput(
            f"{large.name} is read in chunks, which would cut its sequences: give a file that fits into memory"
        )

    def write(file: TextIO) -> _Answer:
        rows, notes, formulas = 0, dict[str, None](), 0
        for chunk in large.chunks:
            new = apply_schema(table_from_frame(large.name, cast(pl.DataFrame, pl.from_arrow(chunk))), model.schema)
            answer = _predicted(model, replace(new, at=new.at + rows), level, background, raw)
            file.write(answer.shown.write_csv(include_header=rows == 0))
            rows, formulas = rows + answer.rows, formulas + answer.formulas
            notes |= dict.fromkeys(answer.notes)
        return replace(answer, rows=rows, notes=tuple(notes), formulas=formulas)

    return _write(out, write)


def _formula_notes(changed: int) -> tuple[str, ...]:
    from fivefold.study.formatting import format_count

    if not changed:
        return ()
    texts = format_count(changed, "text")
    return (f"{texts} that a spreadsheet would take for a formula got an apostrophe; --raw writes text as it is",)


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


def _write(path: Path, write: Callable[[TextIO], T]) -> T:
    """Write the file, whole or not at all; what is no file, such as /dev/stdout, is written as predictions come."""
    from fivefold.core.storage.atomic_write import replacing
    from fivefold.study.tables.table import BadInput

    in_place = path.is_symlink() or (path.exists() and not path.is_file())
    try:
        with nullcontext(path) if in_place else replacing(path) as place, place.open("w", encoding="utf-8") as file:
            return write(file)
    except OSError as error:
        if error.strerror is None:  # no error of the system: a chunk that cannot be read
            raise
        raise BadInput(f"-o {path}: no file can be written there ({error.strerror})") from None


def _show_predictions(loaded: ModelFile, answer: _Answer, out: Path | None) -> None:
    """Notes, and the table or where it was written."""
    aside = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for note in answer.notes:
        aside.print(f"note: {note}")
    if out is None:
        show_text(answer.shown.write_csv())
    else:
        aside.print(f"{answer.rows:,} rows, {loaded.card.get('method', 'a model')} of {loaded.schema.target!r}: {out}")


def _json_result(model: ModelFile, answer: _Answer, out: Path | None) -> dict[str, Any]:
    from fivefold.study.environment import to_plain_values

    about = {
        "method": model.card.get("method"),
        "target": model.schema.target,
        "rows": answer.rows,
        "notes": list(answer.notes),
    }
    rows = {"predictions": to_plain_values(answer.predictions.to_dicts())} if out is None else {"file": str(out)}
    return about | rows
