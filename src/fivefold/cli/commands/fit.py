"""`fivefold fit`: one method on one table, as a model file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from fivefold.cli.options import (
    COLUMN_OPTION,
    DATA_ARGUMENT,
    HEADER_OPTION,
    JSON_OPTION,
    RARE_CLASSES_OPTION,
    SAMPLE_OPTION,
    TARGET_OPTION,
    TASK_OPTION,
    Console,
    print_note,
    refuse,
    show_json,
)


def fit(
    method: Annotated[str, typer.Argument(help="A method, or the dotted name of a scikit-learn class.")],
    data: DATA_ARGUMENT,
    target: TARGET_OPTION = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")] = Path("model.skops"),
    param: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of a parameter of the method; repeat the option for several.")
    ] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Tune the parameters that the method's card names.")] = False,
    column: COLUMN_OPTION = None,
    task: TASK_OPTION = None,
    header: HEADER_OPTION = None,
    rare_classes: RARE_CLASSES_OPTION = None,
    sample: SAMPLE_OPTION = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same model.")] = 0,
    as_json: JSON_OPTION = False,
) -> None:
    """Fit a method on all rows of a table, including the preparation of its columns."""
    from fivefold.cli.commands.card import card_text
    from fivefold.cli.progress_bar import activity
    from fivefold.cli.study_session import parse_kinds
    from fivefold.study.models.all_rows import fit_to_all_rows
    from fivefold.study.models.model_file import describe_model, save_model
    from fivefold.study.models.winner import fit_method
    from fivefold.study.tables.dataset import BadInput, load
    from fivefold.study.tables.large_tables import open_large

    try:
        with activity(f"fitting {method}"):
            kinds = parse_kinds(column or ())
            table = load(data, target, task, kinds=kinds, sample=sample, header=header, rare_classes=rare_classes)
            model = fit_method(table, method, parse_parameters(param or ()), seed=seed, tune=tune)
            fitted = ""
            if table.sampled is not None and (large := open_large(Path(data), table.sampled)) is not None:
                model, fitted = fit_to_all_rows(model, large)
            about = describe_model(save_model(model, out))
    except BadInput as error:
        refuse(str(error))
    for note in (*table.notes, *table.warnings, *([fitted] if fitted else [])):
        print_note(note)
    if as_json:
        show_json(about | {"file": str(out)})
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(card_text(about))
        console.print(f"\nmodel     {out}")
        console.print(f"predict   fivefold predict {out} new.csv -o predictions.csv")


def parse_parameters(pairs: Iterable[str]) -> dict[str, Any]:
    """Values of parameters from NAME=VALUE: Python literals such as numbers, True, None and lists, otherwise text.

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
