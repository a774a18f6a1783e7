"""The progress of a long command, on the error stream: a bar that disappears when done, or lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fivefold.cli.options import Console

SECONDS_BETWEEN_LINES = 10.0  # at least


class ProgressCallback(Protocol):
    """Called when one more step is done."""

    def __call__(self, name: str, left: float | None = None) -> None:
        """`name` says what was done; `left` are the seconds that remain, if known better than by extrapolation."""


@contextmanager
def progress_bar(total: int, done: int = 0, *, lines: bool = False) -> Iterator[ProgressCallback]:
    """Yield the callback of a bar over `total` steps; `lines`: print lines if there is no terminal."""
    console, start, first = Console(stderr=True), time.monotonic(), done
    bar = Progress(
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", style="cyan"),
        TextColumn("{task.description}", style="dim"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    line, due = bar.add_task("", total=total, completed=done, left=""), start

    def tick(name: str, left: float | None = None) -> None:
        nonlocal done, due
        done, now = done + 1, time.monotonic()
        if left is None:
            left = (now - start) / (done - first) * (total - done)
        rest = f", {format_duration(left)} left" if done < total else ""
        bar.update(line, advance=1, description=name, left=rest.removeprefix(", "))
        if lines and bar.disable and (now >= due or done == total):
            due = now + SECONDS_BETWEEN_LINES
            console.print(f"{done} of {total} done: {name}{rest}", highlight=False, soft_wrap=True)

    with nullcontext() if bar.disable else bar:  # older versions of rich end a hidden bar with an empty line
        yield tick


def format_duration(seconds: float) -> str:
    """A duration, short enough for a column.

    Examples
    --------
    >>> format_duration(8.4), format_duration(83), format_duration(7300)
    ('8 s', '1 min 23 s', '2 h 1 min')
    """
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    return f"{s // 60} min {s % 60} s" if s < 3600 else f"{s // 3600} h {s % 3600 // 60} min"
