"""`fivefold fit`: one method on one table, as a model file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from fivefold.cli.options import JSON, PACKED, Console, refuse, show_json


def fit(
    method: Annotated[str, typer.Argument(help="A method, or the dotted name of a scikit-learn class.")],
    data: Annotated[str, typer.Argument(help=f"A table, or iris, wine, breast_cancer, digits, diabetes. {PACKED}")],
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
    as_json: JSON = False,
) -> None:
    """Fit a method on all rows of a table, with its treatment of the columns."""
    from fivefold.cli.card import in_words
    from fivefold.cli.session import kinds
    from fivefold.study.data import BadInput, load
    from fivefold.study.model import describe, save
    from fivefold.study.winner import fit_method

    try:
        table = load(data, target, task, kinds=kinds(column or ()))
        model = fit_method(table, method, parameters(param or ()), seed=seed, tune=tune)
        about = describe(save(model, out))
    except BadInput as error:
        refuse(str(error))
    if as_json:
        show_json(about | {"file": str(out)})
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(in_words(about))
        console.print(f"\nmodel     {out}")
        console.print(f"predict   fivefold predict {out} new.csv -o predictions.csv")


def parameters(pairs: Iterable[str]) -> dict[str, Any]:
    """Values of parameters from NAME=VALUE: numbers, True, None, lists, or else text.

    Examples
    --------
    >>> parameters(["alpha=0.5", "fit_intercept=False", "solver=svd"])
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
