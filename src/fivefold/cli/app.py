"""The commands. Heavy modules are imported inside the command that needs them, so that `--help` is fast."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import fivefold
from fivefold.cli.commands.bounds import bounds
from fivefold.cli.commands.card import card
from fivefold.cli.commands.certify import certify
from fivefold.cli.commands.cluster import cluster
from fivefold.cli.commands.compare import compare
from fivefold.cli.commands.evaluate import evaluate
from fivefold.cli.commands.fit import fit
from fivefold.cli.commands.guide import guide
from fivefold.cli.commands.network import network
from fivefold.cli.commands.predict import predict
from fivefold.cli.commands.report import report
from fivefold.cli.commands.study import study
from fivefold.cli.options import JSON_OPTION, Console, refuse, show_json, with_refusals

app = typer.Typer(
    help="Classical machine learning, with an honest judgement of every model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (study, cluster, guide, predict, fit, evaluate, certify, card, report, compare, bounds):
    app.command()(with_refusals(command))
app.add_typer(network, name="network")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        print(f"fivefold {fivefold.__version__}")
        raise typer.Exit


@app.command()
@with_refusals
def methods(
    name: Annotated[str | None, typer.Argument(help="A method whose card to show.")] = None,
    as_json: JSON_OPTION = False,
) -> None:
    """List the methods, or show the card of one."""
    from fivefold.cli.commands import methods as pages
    from fivefold.core.registry import find
    from fivefold.core.registry import methods as registered

    try:
        chosen = [find(name)] if name else list(registered())
    except KeyError as error:
        refuse(error.args[0])
    if as_json:
        entries = [pages.card_to_json(method) for method in chosen]
        show_json(entries[0] if name else entries)
    elif name:
        pages.show_card(Console(), chosen[0])
    else:
        pages.show_list(Console(), chosen)


@app.command()
@with_refusals
def describe(
    name: Annotated[str | None, typer.Argument(help="A method; without a name, all of them as pages.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File for the page of the card; a folder for all.")
    ] = None,
    as_json: JSON_OPTION = False,
) -> None:
    """Show the card of a method: applications, input and output, algorithm, discussion, links, literature."""
    from fivefold.cli.commands import methods as pages
    from fivefold.core.registry import find
    from fivefold.core.registry import methods as registered

    try:
        if name is None:
            if out is None:
                refuse(
                    "name a method (`fivefold methods` lists them), or a folder for the pages of all methods with --out"
                )
            print(pages.write_pages(list(registered()), out))
        elif out is not None:
            out.write_text(pages.card_page(find(name)), encoding="utf-8")
            print(out)
        elif as_json:
            show_json(pages.card_to_json(find(name)))
        else:
            pages.show_card(Console(), find(name))
    except KeyError as error:
        refuse(error.args[0])
    except OSError as error:
        refuse(f"--out {out}: cannot be written ({error.strerror})")


@app.command()
@with_refusals
def doctor(as_json: JSON_OPTION = False) -> None:
    """Check the installation: versions, threads, devices, compiled loops."""
    from fivefold.cli.commands.doctor import examine, findings_text, verdict
    from fivefold.cli.progress_bar import activity

    with activity("importing every module"):
        found = examine()
    if as_json:
        show_json(asdict(found) | {"healthy": found.healthy, "verdict": verdict(found)}, default=str)
    else:
        print(findings_text(found))
    raise typer.Exit(0 if found.healthy else 1)


@app.command()
@with_refusals
def warm(
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2,
    variants: Annotated[
        bool, typer.Option("--variants", help="Compile unusual settings of every method, too.")
    ] = False,
    as_json: JSON_OPTION = False,
) -> None:
    """Compile the loops of every method ahead of time, and remove unused ones of other versions."""
    from fivefold.cli.commands.warm import warm_all

    raise typer.Exit(0 if warm_all(jobs, variants=variants, as_json=as_json) else 1)
