"""`fivefold evaluate`: the scores of a model on a labelled table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fivefold.cli.options import JSON_OPTION, MODEL_ARGUMENT, Console, refuse, show_json


def evaluate(
    model: MODEL_ARGUMENT,
    data: Annotated[str, typer.Argument(help="A labelled table that the model was not fitted on.")],
    target: Annotated[
        str | None, typer.Option(help="The column with the true values; by default the target of training.")
    ] = None,
    as_json: JSON_OPTION = False,
) -> None:
    """Evaluate a model on a labelled table: scores with intervals."""
    from fivefold.cli.progress_bar import activity

    with activity("starting"):
        from fivefold.study.environment import to_plain_values
        from fivefold.study.models.model_file import load_model
        from fivefold.study.models.new_rows import read_new_rows
        from fivefold.study.models.scoring import evaluate_model
        from fivefold.study.tables.table import BadInput

    try:
        with activity(f"evaluating {model}"):
            loaded = load_model(model)
            new = read_new_rows(data, loaded.schema, target or loaded.schema.target)
        with activity(f"evaluating {model}"), loaded.refusing_misfits():
            found = evaluate_model(loaded, new)
    except BadInput as error:
        refuse(str(error))
    if as_json:
        show_json(to_plain_values(asdict(found)))
    else:
        Console(highlight=False, markup=False, soft_wrap=True).print(str(found))
