"""`fivefold fit`: one method on one table, as a model file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from fivefold.cli.options import JSON_OPTION, UNPACK_LIMIT_HELP, Console, refuse, show_json


def fit(
    method: Annotated[str, typer.Argument(help="A method, or the dotted name of a scikit-learn class.")],
    data: Annotated[
        str, typer.Argument(help=f"A table, or iris, wine, breast_cancer, digits, diabetes. {UNPACK_LIMIT_HELP}")
    ],
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")] = Path("model.skops"),
    param: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of a parameter of the method; may be given again.")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose the parameters that the method's card names.")] = False,
    column: Annotated[
        list[str] | None, typer.Option(help="NAME=KIND corrects the kind of a column; may be given again.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression, when the values mislead.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same model.")] = 0,
    as_json: JSON_OPTION = False,
) -> None:
    """Fit a method on all rows of a table, with its treatment of the columns."""
    from fivefold.cli.commands.card import card_text
    from fivefold.cli.study_session import parse_kinds
    from fivefold.study.models.model_file import describe_model, save_model
    from fivefold.study.models.winner import fit_method
    from fivefold.study.tables.dataset import BadInput, load

    try:
        table = load(data, target, task, kinds=parse_kinds(column or ()))
        model = fit_method(table, method, parse_parameters(param or ()), seed=seed, tune=tune)
        about = describe_model(save_model(model, out))
    except BadInput as error:
        refuse(str(error))
    if as_json:
        show_json(about | {"file": str(out)})
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(card_text(about))
        console.print(f"\nmodel     {out}")
        console.print(f"predict   fivefold predict {out} new.csv -o predictions.csv")


def parse_parameters(pairs: Iterable[str]) -> dict[str, Any]:
    """Values of parameters from NAME=VALUE: numbers, True, None, lists, or else text.

    Examples
    --------
    >>> parse_parameters(["alpha=0.5", "fit_intercept=False", "solver=svd"])
    {'alpha': 0.5, 'fit_intercept': False, 'solver': 'svd'}
    """
    from fivefold.study.tables.table import BadInput

    found = dict[str, Any]()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"--param is NAME=VALUE, such as --param alpha=0.5; got {pair!r}")
        try:
            found[name.strip()] = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            found[name.strip()] = text.strip()
    return found
