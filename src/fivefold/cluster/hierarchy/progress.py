"""Progress of merges and splits: a monitor that says when to stop, where an interruption would end everything."""

from __future__ import annotations

from collections.abc import Callable

from fivefold.core.console.fit_progress import warn_kept_best


class KeptWhenInterrupted:
    """Reports a step to the monitor of `fit_steps`; True if it asks to stop or Ctrl-C was pressed."""

    def __init__(self, monitor: Callable[[object, float], bool], propagate: bool = False) -> None:
        self.monitor, self.propagate = monitor, propagate
        self.steps, self.interrupted = 0, False

    def __call__(self, value: float) -> bool:
        self.steps += 1
        try:
            return self.monitor(None, value)
        except KeyboardInterrupt:
            if self.propagate:
                raise
            self.interrupted = True
            return True

    def warn(self, estimator: object, name: str) -> None:
        """Say that an interruption ended the fit, if one did."""
        if self.interrupted:
            warn_kept_best(estimator, self.steps, name)
