"""`fivefold predict`: what a model says of new rows, as a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fivefold.cli.options import JSON_OPTION, MODEL_ARGUMENT, UNPACK_LIMIT_HELP, Console, refuse, show_json, show_text


def predict(
    model: MODEL_ARGUMENT,
    data: Annotated[
        str, typer.Argument(help=f"A table with the columns that the model was fitted on. {UNPACK_LIMIT_HELP}")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write. [default: print]")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write text as it is, also where a spreadsheet would take it for a formula.")
    ] = False,
    as_json: JSON_OPTION = False,
) -> None:
    """What does a model say of new rows? Labels, probabilities and where each row stands.

    In the table an apostrophe is put before text that begins with = + - @ or a tab and is no number: a spreadsheet
    would take it for a formula. Text that begins with apostrophes before such a sign gets one more, so taking one away
    gives back what was there.
    """
    from fivefold.study.models.model_file import load_model, version_warnings
    from fivefold.study.models.new_rows import read_new_rows
    from fivefold.study.tables.table import BadInput, count_noun

    try:
        loaded = load_model(model)
        new = read_new_rows(data, loaded.schema)
        new = replace(new, notes=(*version_warnings(loaded.card), *new.notes))
        with loaded.answering():
            said = prediction_frame(loaded, new)
        shown, changed = (said, 0) if raw else escape_formulas(said)
        text = shown.write_csv()
        if changed:
            formulas = (
                f"{count_noun(changed, 'text')} that a spreadsheet would take for a formula begin with an apostrophe"
            )
            new = replace(new, notes=(*new.notes, f"{formulas} here; --raw writes them as they are"))
        if out is not None:
            _write(out, text)
    except BadInput as error:
        refuse(str(error))
    if as_json:
        show_json(_json_result(loaded, new, said, out))
        return
    aside = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for note in new.notes:
        aside.print(f"note: {note}")
    if out is None:
        show_text(text)
    else:
        aside.print(f"{len(said):,} rows, {loaded.card.get('method', 'a model')} of {loaded.schema.target!r}: {out}")


def prediction_frame(model: Any, new: Any) -> Any:
    """A frame: identifiers or places of the rows, predictions, and a probability a class."""
    import polars as pl

    predicted = model.pipeline.predict(new.X)
    columns: dict[str, Any] = {"prediction": predicted}
    if model.schema.task == "classification":
        P = model.pipeline.predict_proba(new.X)
        columns |= {f"p_{label}": P[:, k] for k, label in enumerate(model.pipeline.classes_)}
    names = [c.name for c in model.schema.columns if c.kind == "identifier" and c.name in new.X.columns]
    names = [name for name in names if name not in columns]
    ids = {name: new.X[name] for name in names} or {new.unit: new.at}
    return pl.DataFrame({**ids, **columns})


def escape_formulas(frame: Any) -> tuple[Any, int]:
    """The frame with an apostrophe before text that a spreadsheet would take for a formula; how many got one."""
    import polars as pl

    kinds = (pl.String, pl.Categorical, pl.Enum)
    text = {name: frame[name].cast(pl.String) for name, kind in frame.schema.items() if kind in kinds}
    odd = {name: _is_formula(values) for name, values in text.items()}
    marked = [pl.select(pl.when(odd[k]).then("'" + text[k]).otherwise(text[k]).alias(k)).to_series() for k in text]
    heads = _is_formula(pl.Series(frame.columns, dtype=pl.String))
    names = {name: f"'{name}" for name, formula in zip(frame.columns, heads, strict=True) if formula}
    return frame.with_columns(marked).rename(names), int(heads.sum() + sum(cells.sum() for cells in odd.values()))


def _is_formula(text: Any) -> Any:
    """Which texts begin, behind apostrophes, as formulas do, and are no numbers?"""
    number = text.str.contains(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
    return (text.str.contains(r"^'*[=+\-@\t\r]") & ~number).fill_null(False)


def _write(path: Path, text: str) -> None:
    from fivefold.study.tables.table import BadInput

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"-o {path}: no file can be written there ({error.strerror})") from None


def _json_result(model: Any, new: Any, said: Any, out: Path | None) -> dict[str, Any]:
    from fivefold.study.judging.results import to_plain_values

    about = {
        "method": model.card.get("method"),
        "target": model.schema.target,
        "rows": len(said),
        "notes": list(new.notes),
    }
    rows = {"predictions": to_plain_values(said.to_dicts())} if out is None else {"file": str(out)}
    return about | rows
