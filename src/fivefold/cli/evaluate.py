"""`fivefold evaluate`: a model judged on a labelled table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fivefold.cli.options import JSON, MODEL, Console, refuse, show_json


def evaluate(
    model: MODEL,
    data: Annotated[str, typer.Argument(help="A labelled table that the model has not seen.")],
    target: Annotated[str | None, typer.Option(help="The column with the truth. [default: as in training]")] = None,
    as_json: JSON = False,
) -> None:
    """How well does a model do on a labelled table? Scores with intervals."""
    from fivefold.study.judgement import judge_model
    from fivefold.study.model import load
    from fivefold.study.newdata import read_new
    from fivefold.study.results import plain
    from fivefold.study.tables.table import BadInput

    try:
        loaded = load(model)
        new = read_new(data, loaded.schema, target or loaded.schema.target)
        with loaded.answering():
            found = judge_model(loaded, new)
    except BadInput as error:
        refuse(str(error))
    if as_json:
        show_json(plain(asdict(found)))
    else:
        Console(highlight=False, markup=False, soft_wrap=True).print(str(found))
