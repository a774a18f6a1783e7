"""The progress of a long command, on the error stream: a line that changes until the work is done, or several lines
where there is no terminal. Either way no more than SECONDS_BETWEEN_LINES pass without a sign of life.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fivefold.cli.options import Console

SECONDS_BETWEEN_LINES = 4.0  # without a terminal; people begin to wonder after five

Step = Callable[[str], None]  # says what is done next


class ProgressCallback(Protocol):
    """Called when one more step is done."""

    def __call__(self, name: str, left: float | None = None) -> None:
        """`name` says what was done; `left` are the seconds that remain, if known better than by extrapolation."""


@contextmanager
def activity(step: str) -> Iterator[Step]:
    """Show what is being done and for how long; yields a function that names the next step."""
    console, start = Console(stderr=True), time.monotonic()
    spinner = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    line = spinner.add_task(step, total=None)

    def begin(text: str) -> None:
        nonlocal step, start
        step, start = text, time.monotonic()
        spinner.reset(line, description=text)

    with _shown(spinner, console, lambda: f"{step}: {format_duration(time.monotonic() - start)}"):
        yield begin


@contextmanager
def progress_bar(total: int, done: int = 0, *, title: str = "", lines: bool = False) -> Iterator[ProgressCallback]:
    """Yield the callback of a bar over `total` steps; `lines`: print each step if there is no terminal."""
    console, start, first, rest = Console(stderr=True), time.monotonic(), done, ""
    bar = Progress(
        SpinnerColumn(),
        *([TextColumn(title, style="dim")] if title else []),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", style="cyan"),
        TextColumn("{task.description}", style="dim", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    line, due = bar.add_task("", total=total, completed=done, left=""), start

    def tick(name: str, left: float | None = None) -> None:
        nonlocal done, due, rest
        done, now = done + 1, time.monotonic()
        if left is None:
            left = (now - start) / (done - first) * (total - done)
        rest = f", {format_duration(left)} left" if done < total else ""
        bar.update(line, advance=1, description=name, left=rest.removeprefix(", "))
        if lines and bar.disable and (now >= due or done == total):
            due = now + SECONDS_BETWEEN_LINES
            console.print(f"{done} of {total} done: {name}{rest}", highlight=False, soft_wrap=True)

    def sign() -> str:
        after = f" after {format_duration(time.monotonic() - start)}"
        return f"{title}{': ' * bool(title)}{done} of {total} done{after}{rest}"

    with _shown(bar, console, sign):
        yield tick


def _shown(bar: Progress, console: Console, sign: Callable[[], str]) -> AbstractContextManager[object]:
    """The bar while it is on the terminal; without a terminal a thread that prints a sign of life."""
    return _signs_of_life(console, sign) if bar.disable else bar


@contextmanager
def _signs_of_life(console: Console, sign: Callable[[], str]) -> Iterator[None]:
    ended = Event()

    def speak() -> None:
        while not ended.wait(SECONDS_BETWEEN_LINES):
            console.print(sign(), highlight=False, markup=False, soft_wrap=True)

    speaker = Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


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
