"""The progress of a long command, on the error stream: a line that changes until the work is done, or several lines
where there is no terminal. Either way people see a sign of life before they begin to wonder, after five seconds: a step
may begin just before the next line of the last one was due, so its first line comes early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fivefold.cli.options import Console

SECONDS_BEFORE_FIRST_LINE = 1.0  # of a step, without a terminal
SECONDS_BETWEEN_LINES = 3.5  # after it

Step = Callable[[str], None]  # says what is done next


class ProgressCallback(Protocol):
    """Called when one more step is done."""

    def __call__(self, name: str, left: float | None = None) -> None:
        """`name` says what was done; `left` are the seconds that remain, if known better than by extrapolation."""


@contextmanager
def activity(step: str) -> Iterator[Step]:
    """Show what is being done and for how long; yields a function that names the next step.

    A step that differs from the last one behind a colon only is the same step, and keeps its clock.
    """
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
        if text.partition(":")[0] == step.partition(":")[0]:
            spinner.update(line, description=text)
        else:
            start = time.monotonic()
            spinner.reset(line, description=text)
        step = text

    with _shown(spinner, console, _Lines(), lambda: f"{step}: {format_duration(time.monotonic() - start)}"):
        yield begin


@contextmanager
def progress_bar(total: int, done: int = 0, *, title: str = "", lines: bool = False) -> Iterator[ProgressCallback]:
    """Yield the callback of a bar over `total` steps; `lines`: print each step if there is no terminal."""
    console, start, first, ends_at, printed = Console(stderr=True), time.monotonic(), done, 0.0, _Lines()
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
    line = bar.add_task("", total=total, completed=done, left="")

    def rest() -> str:
        """What is left, if anything is known of it: a step may take longer than it should."""
        left = ends_at - time.monotonic()
        return f", {format_duration(left)} left" if left > 0 and done < total else ""

    def tick(name: str, left: float | None = None) -> None:
        nonlocal done, ends_at
        done, now = done + 1, time.monotonic()
        if left is None:
            left = (now - start) / (done - first) * (total - done)
        ends_at = now + left
        bar.update(line, advance=1, description=name, left=rest().removeprefix(", "))
        if lines and bar.disable and (done in (first + 1, total) or printed.due <= now):
            printed.note()
            console.print(f"{done} of {total} done: {name}{rest()}", highlight=False, soft_wrap=True)

    def sign() -> str:
        after = f" after {format_duration(time.monotonic() - start)}"
        return f"{title}{': ' * bool(title)}{done} of {total} done{after}{rest()}"

    with _shown(bar, console, printed, sign):
        yield tick


class _Lines:
    """When the next line is due."""

    def __init__(self) -> None:
        self.due = time.monotonic() + min(SECONDS_BEFORE_FIRST_LINE, SECONDS_BETWEEN_LINES)

    def note(self) -> None:
        """A line is printed."""
        self.due = time.monotonic() + SECONDS_BETWEEN_LINES


def _shown(bar: Progress, console: Console, printed: _Lines, sign: Callable[[], str]) -> AbstractContextManager[object]:
    """The bar while it is on the terminal; without a terminal a thread that prints a sign of life."""
    return _signs_of_life(console, printed, sign) if bar.disable else bar


@contextmanager
def _signs_of_life(console: Console, printed: _Lines, sign: Callable[[], str]) -> Iterator[None]:
    ended = Event()

    def speak() -> None:
        while not ended.wait(max(0.0, printed.due - time.monotonic())):
            if printed.due <= time.monotonic():  # no other line came in between
                printed.note()
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
    >>> format_duration(8.4), format_duration(83), format_duration(60), format_duration(7300)
    ('8 s', '1 min 23 s', '1 min', '2 h 1 min')
    """
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    (big, small), units = divmod(s, 60) if s < 3600 else divmod(s // 60, 60), ("min", "s") if s < 3600 else ("h", "min")
    return f"{big} {units[0]}" + (f" {small} {units[1]}" if small else "")
