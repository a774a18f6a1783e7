"""`fivefold certify`: what error a model will have on new data, by every bound that applies."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.table import Table
from rich.text import Text

from fivefold.cli.options import JSON_OPTION, MODEL_ARGUMENT, Console, refuse, show_json

if TYPE_CHECKING:
    from fivefold.theory.bounds import Rows
    from fivefold.theory.certificate import Certificate


def certify(
    model: MODEL_ARGUMENT,
    data: Annotated[str, typer.Argument(help="A labelled table: rows held out, or all the rows of training.")],
    target: Annotated[
        str | None, typer.Option(help="The column with the true values; by default the target of training.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability that the certificate may be wrong.")] = 0.05,
    rows: Annotated[
        str | None, typer.Option(help="held-out or training; asked for only if the model cannot tell.")
    ] = None,
    as_json: JSON_OPTION = False,
) -> None:
    """Certify a model: what its error on new data will be, with its assumptions."""
    from fivefold.cli.progress_bar import activity

    with activity("starting"):
        from fivefold.study.environment import to_plain_values
        from fivefold.study.models.certification import certify_model
        from fivefold.study.models.model_file import load_model
        from fivefold.study.models.new_rows import read_new_rows
        from fivefold.study.tables.table import BadInput

    kind = None if rows is None else rows.replace("-", " ")
    if kind not in (None, "held out", "training"):
        refuse(f"--rows is held-out or training; got {rows!r}")
    if not 0 < delta < 1:
        refuse(f"--delta is the probability that the certificate is wrong, between 0 and 1 such as 0.05; got {delta}")
    try:
        with activity(f"certifying {model}"):
            loaded = load_model(model)
            new = read_new_rows(data, loaded.schema, target or loaded.schema.target)
        with activity(f"certifying {model}"), loaded.refusing_misfits():
            found = certify_model(loaded, new, delta, cast("Rows | None", kind))
    except BadInput as error:
        refuse(str(error).replace('rows="held out"', "--rows held-out").replace('rows="training"', "--rows training"))
    if as_json:
        show_json(to_plain_values(asdict(found)))
    else:
        show_certificate(Console(), found)


def show_certificate(console: Console, found: Certificate) -> None:
    """The certificate, every bound, what it assumes, and why the other bounds do not apply."""
    from fivefold.theory.certificate import by_reason

    sure = f"with probability {1 - found.delta:.4g}"
    said = f"Error on new data below {found.bound:.2%} {sure}" if found.bound < 1 else f"No bound below 100 % {sure}"
    kind = "training rows" if found.rows == "training" else "rows that were held out"
    console.print(Text.assemble((said, "bold"), f"; {found.risk:.2%} on {found.n:,} {kind}."))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("bound", header_style="bold cyan")
    table.add_column("error below", header_style="bold cyan", justify="right")
    table.add_column("of", header_style="bold cyan")
    for name, value in found.parts.items():
        table.add_row(Text(name), f"{value:.2%}" if value < 1 else "nothing", found.predictors.get(name, "the model"))
    console.print(table)
    console.print(Text("\nIt assumes that", style="bold cyan"))
    for text in found.assumptions:
        console.print(Text(f"  {text}"))
    if found.inapplicable:
        console.print(Text("\nBounds that do not apply", style="bold cyan"))
        for reason, names in by_reason(found.inapplicable).items():
            console.print(Text.assemble(f"  {'; '.join(names)}: ", (reason, "dim")))
    console.print(Text("\n`fivefold bounds NAME` prints the card of a bound.", style="dim"))
