"""What several commands share: options and arguments, printing, and refusals."""

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

UNPACK_LIMIT_HELP = f"{UNPACKED_VARIABLE}, such as 4GB, raises the size that a compressed one may unpack to."
DATA_HELP = "A table, or iris, wine, breast_cancer, digits, diabetes."
DATA_ARGUMENT = Annotated[str, typer.Argument(help=f"{DATA_HELP} {UNPACK_LIMIT_HELP}")]
TARGET_OPTION = Annotated[str | None, typer.Option(help="The column to predict: its name, its number, or last.")]
TASK_OPTION = Annotated[str | None, typer.Option(help="classification or regression, if the values mislead.")]
COLUMN_OPTION = Annotated[
    list[str] | None,
    typer.Option(help="NAME=KIND sets the kind of a column; repeat the option for several columns."),
]
HEADER_OPTION = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Does the first line of a text file name the columns? By default guessed."
    ),
]
RARE_CLASSES_OPTION = Annotated[
    str | None,
    typer.Option(help="merge or drop classes with fewer than 3 rows; merge:10 or drop:10 those with fewer than 10."),
]
METHODS_OPTION = Annotated[
    str | None,
    typer.Option(help="Methods, separated by commas: names, dotted names of classes, or all; by default a portfolio."),
]
HOLDOUT_OPTION = Annotated[
    float | None,
    typer.Option(min=0, max=0.5, help="Share of rows to lock away; by default 0.2 if there are at least 500 rows."),
]
MARGIN_OPTION = Annotated[
    float | None,
    typer.Option(
        min=0, help="Learners whose scores differ by no more are practically equal; by default set by the target."
    ),
]
SPLIT_COPIES_OPTION = Annotated[
    bool, typer.Option("--split-copies", help="Split identical rows like others; by default they share a fold.")
]
REFIT_OPTION = Annotated[
    bool,
    typer.Option(
        "--refit/--no-refit", help="Save the winner fitted again on all rows, or the one that the hold-out tested."
    ),
]
SAMPLE_OPTION = Annotated[
    int | None,
    typer.Option(
        min=1000,
        help="Judge on this many rows of a Parquet file or folder, and fit the result to all of them in chunks; a "
        "table that does not fit into memory is treated so by itself.",
    ),
]
JSON_OPTION = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
MODEL_ARGUMENT = Annotated[
    Path,
    typer.Argument(
        help=(
            f"A model file, such as fivefold-study/model.skops. {UNPACKED_VARIABLE}, such as 4GB, raises the size "
            "that it may unpack to."
        )
    ),
]


class Console(rich.console.Console):
    """Rich's console with control characters made visible, so that data cannot move the cursor or change colours."""

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of text, made printable; rich's own control codes stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def show_json(value: object, **options: Any) -> None:
    """Print a value as JSON."""
    print(printable_json(json.dumps(value, indent=1, ensure_ascii=False, **options)))


def show_text(text: str) -> None:
    """Print text that may be data: verbatim to a file or a pipe, made printable on a terminal."""
    print(printable(text) if sys.stdout.isatty() else text, end="")


def print_note(note: str) -> None:
    """Print a note for the user to the error stream."""
    Console(stderr=True, highlight=False, markup=False).print(Text.assemble(("! ", "yellow"), note), soft_wrap=True)


def refuse(message: str) -> NoReturn:
    """Print what is wrong with the input, and stop with exit code 2."""
    Console(stderr=True).print(Text.assemble(("fivefold: ", "bold red"), message), soft_wrap=True)
    raise typer.Exit(2)


def with_refusals(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a message and exit code 2, no traceback, if files, disk, memory or a damaged table fail it."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except InvalidLimit as error:
            refuse(str(error))
        except BrokenPipeError:  # the reader has seen enough
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            refuse(f"{where}{error.strerror or error}; check that the place exists, is accessible and has room")
        except MemoryError as error:
            refuse(f"memory ran out ({error or 'none is left'}); give fewer rows or columns, or close programs")
        except RecursionError:
            refuse("a file is nested too deeply to be read")
        except BaseException as error:
            if not is_polars_panic(error):
                raise
            refuse(f"a table is damaged and cannot be read: {str(error).splitlines()[0]}")

    return run


def is_polars_panic(error: BaseException) -> bool:
    """Is it a panic of polars on data that it takes for impossible? Its class has no public name."""
    return type(error).__name__ == "PanicException"
