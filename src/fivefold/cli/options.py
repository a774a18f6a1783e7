"""What several commands share: options, arguments, how they print, and how they refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn

import rich.console
import typer
from rich.segment import Segment
from rich.text import Text

from fivefold.core.console.control_characters import printable, printable_json
from fivefold.core.storage.memory_limits import UNPACKED_VARIABLE, InvalidLimit

JSON_OPTION = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]
MODEL_ARGUMENT = Annotated[
    Path,
    typer.Argument(
        help=(
            f"A model file, such as fivefold-study/model.skops. {UNPACKED_VARIABLE}, such as 4GB, raises what it may "
            "unpack to."
        )
    ),
]
UNPACK_LIMIT_HELP = f"{UNPACKED_VARIABLE}, such as 4GB, raises what a packed one may unpack to."


class Console(rich.console.Console):
    """Rich's console, in which what users named or wrote moves no cursor and changes no colour."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Segments of text, made printable, and rich's own control codes as they are."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def show_json(value: Any, **options: Any) -> None:
    """Print a value as JSON."""
    print(printable_json(json.dumps(value, indent=1, ensure_ascii=False, **options)))


def show_text(text: str) -> None:
    """Print text that may be data: as it is into a file or a pipe, printable on a terminal."""
    print(printable(text) if sys.stdout.isatty() else text, end="")


def print_note(note: str) -> None:
    """Say what the user should know, beside what was asked for."""
    Console(stderr=True, highlight=False, markup=False).print(Text.assemble(("! ", "yellow"), note), soft_wrap=True)


def refuse(message: str) -> NoReturn:
    """Say what was wrong with what was given, and stop with code 2."""
    Console(stderr=True).print(Text.assemble(("fivefold: ", "bold red"), message), soft_wrap=True)
    raise typer.Exit(2)


def with_refusals(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which refuses in words where files, disks, memory or a damaged table stop it anywhere."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except InvalidLimit as error:
            refuse(str(error))
        except BrokenPipeError:  # who reads has seen enough
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            refuse(f"{where}{error.strerror or error}; check that the place exists, may be used and has room")
        except MemoryError as error:
            refuse(f"memory ran out ({error or 'no more could be had'}); give fewer rows or columns, or close programs")
        except RecursionError:
            refuse("a file is nested too deeply to be read")
        except BaseException as error:
            if not is_polars_panic(error):
                raise
            refuse(f"a table is damaged, and its reader gave up: {str(error).splitlines()[0]}")

    return run


def is_polars_panic(error: BaseException) -> bool:
    """Is it how polars ends on data that it holds to be impossible? It is no Exception, and has no public name."""
    return type(error).__name__ == "PanicException"
