"""The commands. What is heavy is imported inside the command that needs it, so that `--help` is quick."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

import fivefold

app = typer.Typer(
    help="Classical machine learning, with an honest judgement of every model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
JSON = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    if version:
        print(f"fivefold {fivefold.__version__}")
        raise typer.Exit


@app.command()
def study(
    data: Annotated[str, typer.Argument(help="A CSV file, or iris, wine, breast_cancer, digits, diabetes.")] = "wine",
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas; the portfolio by default.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression, when the values mislead.")] = None,
    score: Annotated[str | None, typer.Option(help="log_loss or accuracy; rmse or r2. It ranks and tunes.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same results.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes; by default one a core, one for a small table.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.json.")] = Path("fivefold-study"),
    as_json: JSON = False,
) -> None:
    """Which method predicts the target best? Nested cross-validation, with intervals and tests."""
    from fivefold.cli.study import perform
    from fivefold.study.data import BadInput

    names = [name for name in (methods or "").split(",") if name.strip()]
    try:
        finished = perform(data, target, names, task, score, seed, jobs, out, as_json=as_json)
    except BadInput as error:
        refuse(str(error))
    raise typer.Exit(0 if finished else 1)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(help="A method, for its card.")] = None, as_json: JSON = False
) -> None:
    """The methods there are, or the card of one."""
    from fivefold.cli import methods as pages
    from fivefold.core.registry import find
    from fivefold.core.registry import methods as registered

    try:
        chosen = [find(name)] if name else list(registered())
    except KeyError as error:
        refuse(error.args[0])
    if as_json:
        entries = [pages.as_json(method) for method in chosen]
        print(json.dumps(entries[0] if name else entries, indent=1, ensure_ascii=False))
    elif name:
        pages.show_card(Console(), chosen[0])
    else:
        pages.show_list(Console(), chosen)


@app.command()
def doctor(as_json: JSON = False) -> None:
    """Versions, threads, devices, compiled loops: is all well?"""
    from fivefold.cli.doctor import examine, in_words, verdict

    found = examine()
    if as_json:
        print(json.dumps(asdict(found) | {"healthy": found.healthy, "verdict": verdict(found)}, indent=1, default=str))
    else:
        print(in_words(found))
    raise typer.Exit(0 if found.healthy else 1)


@app.command()
def warm(jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 2, as_json: JSON = False) -> None:
    """Compile every loop ahead of time, and remove what other versions left unused."""
    from fivefold.cli.warm import perform

    raise typer.Exit(0 if perform(jobs, as_json=as_json) else 1)


def refuse(message: str) -> NoReturn:
    """Say what was wrong with what was given, and stop with code 2."""
    Console(stderr=True).print(Text.assemble(("fivefold: ", "bold red"), message), soft_wrap=True)
    raise typer.Exit(2)
