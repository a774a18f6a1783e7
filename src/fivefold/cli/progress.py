"""The progress bar of a long command: on the error stream, gone when done, and nothing where that is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Yield `tick(name)`, which moves the bar by one and shows the name of what was done."""
    console = Console(stderr=True)
    bar = Progress(
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", style="dim"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        line = bar.add_task("", total=total)
        yield lambda name: bar.update(line, advance=1, description=name)
