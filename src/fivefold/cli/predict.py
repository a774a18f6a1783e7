"""`fivefold predict`: what a model says of new rows, as a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fivefold.cli.options import JSON, MODEL, refuse


def predict(
    model: MODEL,
    data: Annotated[str, typer.Argument(help="A table with the columns that the model was fitted on.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write. [default: print]")] = None,
    as_json: JSON = False,
) -> None:
    """What does a model say of new rows? Labels, probabilities and where each row stands."""
    from fivefold.study.model import load, other_versions
    from fivefold.study.newdata import read_new
    from fivefold.study.tables.table import BadInput

    try:
        loaded = load(model)
        new = read_new(data, loaded.schema)
        new = replace(new, notes=(*other_versions(loaded.card), *new.notes))
        said = answers(loaded, new)
        text = said.write_csv()
        if out is not None:
            _write(out, text)
    except BadInput as error:
        refuse(str(error))
    if as_json:
        print(json.dumps(_plain(loaded, new, said, out), indent=1, ensure_ascii=False))
        return
    aside = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for note in new.notes:
        aside.print(f"note: {note}")
    if out is None:
        print(text, end="")
    else:
        aside.print(f"{len(said):,} rows, {loaded.card.get('method', 'a model')} of {loaded.schema.target!r}: {out}")


def answers(model: Any, new: Any) -> Any:
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


def _write(path: Path, text: str) -> None:
    from fivefold.study.tables.table import BadInput

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"-o {path}: no file can be written there ({error.strerror})") from None


def _plain(model: Any, new: Any, said: Any, out: Path | None) -> dict[str, Any]:
    from fivefold.study.results import plain

    about = {
        "method": model.card.get("method"),
        "target": model.schema.target,
        "rows": len(said),
        "notes": list(new.notes),
    }
    rows = {"predictions": plain(said.to_dicts())} if out is None else {"file": str(out)}
    return about | rows
