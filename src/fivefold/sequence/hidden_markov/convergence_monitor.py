"""Progress of EM as users of hmmlearn know it: the history of log-likelihoods, and when it has converged."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(repr=False)
class ConvergenceMonitor:
    """Log-likelihoods of the steps of a fit; a subclass may have its own rule for `converged`.

    >>> monitor = ConvergenceMonitor(tol=1e-3, n_iter=10, verbose=False)
    >>> for value in (-3.0, -2.0, -1.9999):
    ...     monitor.report(value)
    >>> monitor.converged, monitor.iter
    (True, 3)
    """

    tol: float  # a step that gains less is the last
    n_iter: int  # steps at most
    verbose: bool  # whether steps are printed to the error output
    history: list[float] = field(default_factory=list)  # log-likelihood before each step
    iter: int = 0  # steps so far

    _template: ClassVar[str] = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"

    def _reset(self) -> None:
        self.iter = 0
        self.history.clear()

    def report(self, log_prob: float) -> None:
        """Add the log-likelihood of a step."""
        if self.verbose:
            delta = log_prob - self.history[-1] if self.history else float("nan")
            print(self._template.format(iter=self.iter + 1, log_prob=log_prob, delta=delta), file=sys.stderr)
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether all steps were taken, or the last gained less than `tol`."""
        if self.iter == self.n_iter:
            return True
        return len(self.history) > 1 and self.history[-1] - self.history[-2] < self.tol

    def __repr__(self) -> str:
        return f"ConvergenceMonitor(tol={self.tol}, n_iter={self.n_iter}, iter={self.iter}, history={self.history})"
