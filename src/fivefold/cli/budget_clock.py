"""The clock of a study: a budget is the time from the command to the written report, and it is told where it went."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from fivefold.cli.progress_bar import format_duration

PHASES = {  # what the time of a study goes to, in order: words for the closing line
    "start": "to read the table and start",
    "timing": "to time the learners",
    "folds": "for the folds",
    "winner": "to judge them and fit the winner",
    "report": "for the report",
    "all rows": "to fit the winner to a table that is read in chunks",
}


class BudgetClock:
    """Seconds since a command began, by phase; without a budget it never ends.

    Examples
    --------
    >>> seconds = iter([0.0, 3.0, 8.0, 41.0, 41.0])
    >>> clock = BudgetClock(40.0, now=lambda: next(seconds))
    >>> clock.end_phase("start"), clock.end_phase("timing"), clock.end_phase("folds")
    (3.0, 5.0, 33.0)
    >>> str(clock)
    '41 s of a budget of 40 s: 3 s to read the table and start, 5 s to time the learners, 33 s for the folds'
    """

    def __init__(
        self, budget: float | None, began: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.budget, self.now = budget, now
        self.began = self._last = now() if began is None else began
        self.phases = dict[str, float]()

    @property
    def ends_at(self) -> float:
        """When the budget is spent, on the clock."""
        return math.inf if self.budget is None else self.began + self.budget

    @property
    def elapsed(self) -> float:
        """Seconds since the command began."""
        return self.now() - self.began

    def end_phase(self, name: str) -> float:
        """The seconds of a phase that ends now and began when the one before it ended."""
        moment = self.now()
        self.phases[name], self._last = moment - self._last, moment
        return self.phases[name]

    def __str__(self) -> str:
        parts = [
            f"{format_duration(self.phases[name])} {words}" for name, words in PHASES.items() if name in self.phases
        ]
        of = "" if self.budget is None else f" of a budget of {format_duration(self.budget)}"
        return f"{format_duration(self.elapsed)}{of}: {', '.join(parts)}"
