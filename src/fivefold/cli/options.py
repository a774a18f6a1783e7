"""What several commands share: options, arguments, and how they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.text import Text

JSON = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]
MODEL = Annotated[Path, typer.Argument(help="A model file, such as fivefold-study/model.skops.")]


def aside(note: str) -> None:
    """Say what the user should know, beside what was asked for."""
    Console(stderr=True, highlight=False, markup=False).print(Text.assemble(("! ", "yellow"), note), soft_wrap=True)


def refuse(message: str) -> NoReturn:
    """Say what was wrong with what was given, and stop with code 2."""
    Console(stderr=True).print(Text.assemble(("fivefold: ", "bold red"), message), soft_wrap=True)
    raise typer.Exit(2)
