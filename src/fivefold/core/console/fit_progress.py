"""Progress of long fits: the one adapter to scikit-learn's callback protocol, and a line on the terminal.

A fit that runs longer than `SECONDS_BEFORE_LINE` seconds in a terminal draws a line with its step, its value and
the time left. Set FIVEFOLD_PROGRESS=0 to keep it quiet, or give the estimator callbacks of its own.

Ctrl-C during the steps of a fit is noted, and raised at the end of the step: the model of that step is complete, and
what the fit does after its last step is not interrupted. A second Ctrl-C acts at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType, TracebackType
from typing import cast

from fivefold.core._sklearn import CallbackSupportMixin
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Table

SECONDS_BEFORE_LINE = 2.0  # of a fit before its line is first drawn
SECONDS_BETWEEN_LINES = 0.2  # between two drawings

StepValue = float | Callable[[], float]


class InterruptedWarning(UserWarning):
    """A fit was interrupted; what it had found by then was kept."""


class _InterruptState:
    """What is known about Ctrl-C in the running fits."""

    running_fits = 0  # of the main thread, one inside the other
    handler_installed = False  # is Ctrl-C noted instead of raised?
    pressed = False
    warned = False  # has a warning said that the fit was interrupted?

    def hold(self) -> None:
        """Note Ctrl-C from the first step of a fit on, unless somebody has installed another handler than Python's."""
        ours = self.running_fits and not self.handler_installed and _in_main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.handler_installed = True
            signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def release(self) -> bool:
        """End the noting, after the outermost fit; was Ctrl-C pressed, and no warning given yet?"""
        if self.handler_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        unreported = self.pressed and not self.warned
        self.handler_installed = self.pressed = self.warned = False
        return unreported


_interrupt = _InterruptState()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class interruptible_fit:
    """The learning part of a fit: a noted Ctrl-C ends its steps, and is forgotten after it."""

    def __init__(self, estimator: object) -> None:
        self.estimator, self.in_main_thread = estimator, _in_main_thread()

    def __enter__(self) -> None:
        _interrupt.running_fits += self.in_main_thread

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _interrupt.running_fits -= self.in_main_thread
        if self.in_main_thread and not _interrupt.running_fits and _interrupt.release() and kind is None:
            warn(
                f"{type(self.estimator).__name__}: interrupted in its last step or in a part; the best model so "
                "far was kept and can be used. Fit again to be sure that it is finished",
                InterruptedWarning,
            )


@contextmanager
def fit_steps(
    estimator: object, name: str, count: int, X: Table = None
) -> Iterator[Callable[[object, StepValue], bool]]:
    """Yield `monitor(model, value) -> stop`, which reports one step of an iterative fit.

    A callback that asks for it gets a fitted copy of the estimator: its `model_` is the model of
    that step, which costs nothing because models are immutable. Pass a function if the model has to be
    made first, and likewise for a value that takes time to compute: only the line on the terminal shows it.
    """
    _interrupt.hold()
    root = cast(CallbackSupportMixin, estimator)._init_callback_context(max_subtasks=count)  # mixins call it too
    root.call_on_fit_task_begin(estimator=estimator, X=X)
    line = _ProgressLine(type(estimator).__name__, name, count)

    def monitor(model: object, value: StepValue) -> bool:
        line.step(value)
        if _interrupt.pressed:
            raise KeyboardInterrupt
        if not root._callbacks:
            return False
        task = root.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=estimator, X=X)

        def known() -> dict[str, object]:
            return {"model_": model() if isinstance(model, FunctionType) else model}

        return bool(task.call_on_fit_task_end(estimator=estimator, X=X, reconstruction_attributes=known))

    try:
        yield monitor
    finally:
        line.clear()
        root.call_on_fit_task_end(estimator=estimator, X=X)


def warn_kept_best(estimator: object, done: int, name: str) -> None:
    """Warn once that Ctrl-C ended the fit and the best model so far is kept; for an inner fit, the outer one warns."""
    if _interrupt.pressed and (_interrupt.warned or _interrupt.running_fits > 1 or not _in_main_thread()):
        return
    _interrupt.warned = True
    warn(
        f"{type(estimator).__name__}: interrupted after {done} {name}{'s' if done != 1 else ''}; the best model so far "
        "was kept and can be used. Fit again to finish",
        InterruptedWarning,
    )


@contextmanager
def value_steps(estimator: object, name: str, count: int, X: Table) -> Iterator[Callable[[float], bool]]:
    """`fit_steps` that report a value alone; True ends the fit, also after Ctrl-C, which a warning tells of."""
    done, interrupted = 0, False
    with fit_steps(estimator, name, count, X) as monitor:

        def report(value: float) -> bool:
            nonlocal done, interrupted
            done += 1
            try:
                return bool(monitor(None, value)) or interrupted
            except KeyboardInterrupt:
                interrupted = True
                return True

        yield report
    if interrupted:
        warn_kept_best(estimator, done, name)


class _ProgressLine:
    """One line on the terminal, redrawn in place."""

    def __init__(self, title: str, name: str, count: int) -> None:
        self.title, self.name, self.count, self.done = title, name, count, 0
        self.is_wanted = (
            os.environ.get("FIVEFOLD_PROGRESS", "1") != "0" and sys.stderr is not None and sys.stderr.isatty()
        )
        self.start = time.monotonic()
        self.next_draw, self.drawn_width = self.start + SECONDS_BEFORE_LINE, 0

    def step(self, value: StepValue) -> None:
        self.done += 1
        now = time.monotonic()
        if not self.is_wanted or now < self.next_draw:
            return
        self.next_draw = now + SECONDS_BETWEEN_LINES
        spent = now - self.start
        left = spent / self.done * (self.count - self.done)
        known = value() if callable(value) else value
        text = f"{self.title}: {self.name} {self.done} of at most {self.count}, value {known:.6g}, "
        text += f"{spent:.0f} s so far, at most {left:.0f} s left (Ctrl-C keeps the best so far)"
        sys.stderr.write("\r" + text.ljust(self.drawn_width))
        sys.stderr.flush()
        self.drawn_width = len(text)

    def clear(self) -> None:
        if self.drawn_width:
            sys.stderr.write("\r" + " " * self.drawn_width + "\r")
            sys.stderr.flush()
