"""What the multipliers of a fitted machine say about its rows: margins, slacks, kinds of support vectors.

    kind of a row           multiplier       classifier: y f          regressor: |t - f|
    outside                 0                >= 1                     < epsilon
    on the margin           0 < |b| < C      = 1                      = epsilon
    within (bounded)        C                < 1, slack 1 - y f       > epsilon
    misclassified           C                < 0, slack above 1

The margin of a classifier is 1 / |f|, half the width of the street between its classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Doubles, Indices, UserTable, UserTarget

AT_BOUND = 1e-9  # distance of a multiplier from its bound, as a share of it, that counts as none


@dataclass(frozen=True)
class SupportReport:
    """The rows of fit, as a machine of two classes or a regressor sees them."""

    multipliers: Doubles  # (n,) |b_i|
    slack: Doubles  # (n,) by how much a row misses its margin, or leaves the tube
    answers: Doubles  # (n,) y f, or t - f
    margin: float  # 1 / |f|; infinite for a constant
    unbound: Indices  # rows on the margin
    bound: Indices  # rows at the bound of their multiplier
    misclassified: Indices  # rows with a slack above one; none for a regressor

    @property
    def share(self) -> float:
        """Share of rows that are support vectors: an upper bound of the leave-one-out error, in expectation."""
        return (len(self.unbound) + len(self.bound)) / len(self.multipliers)

    @property
    def confidence_margin(self) -> float:
        """The smallest y f: negative if a row is misclassified."""
        return float(self.answers.min())

    @property
    def geometric_margin(self) -> float:
        """The distance of the worst row from the boundary, in the features of the kernel."""
        return self.confidence_margin * self.margin

    def __str__(self) -> str:
        n = len(self.multipliers)
        return (
            f"{len(self.unbound) + len(self.bound)} of {n} rows are support vectors ({self.share:.1%}): "
            f"{len(self.unbound)} on the margin, {len(self.bound)} at their bound, {len(self.misclassified)} wrong; "
            f"margin {self.margin:.6g}, sum of slacks {self.slack.sum():.6g}"
        )


def support_report(machine: Any, X: UserTable, y: UserTarget, sample_weight: Any = None) -> SupportReport:
    """The report of a fitted SVC of two classes or SVR, from the rows that it was fitted to."""
    model, t = machine.model_, np.asarray(y)
    n = len(t)
    b = np.zeros(n)
    b[model.support] = np.abs(model.coefficients()[0])
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    norm = float(np.sqrt(max(float(model.squared_norm[0]), 0.0)))
    margin = 1.0 / norm if norm > 0 else float("inf")
    if hasattr(machine, "classes_"):
        if len(machine.classes_) != 2:
            raise ValueError(
                f"support_report takes a machine of two classes; {type(machine).__name__} has {len(machine.classes_)}, "
                "which is one machine per pair: fit the pair of interest"
            )
        codes = np.searchsorted(machine.classes_, t)
        answers = np.where(codes == 1, 1.0, -1.0) * np.asarray(machine.decision_function(X), dtype=np.float64)
        slack = np.maximum(0.0, 1.0 - answers)
        w = w * machine.class_weight_[codes]
        wrong = np.flatnonzero(slack > 1.0)
    else:
        answers = np.asarray(t - machine.predict(X), dtype=np.float64)
        slack = np.maximum(0.0, np.abs(answers) - getattr(machine, "epsilon_", getattr(machine, "epsilon", 0.0)))
        wrong = np.empty(0, dtype=np.int64)
    bounded = b >= machine.C * w * (1 - AT_BOUND)
    return SupportReport(
        multipliers=b,
        slack=slack,
        answers=answers,
        margin=margin,
        unbound=np.flatnonzero((b > 0) & ~bounded),
        bound=np.flatnonzero((b > 0) & bounded),
        misclassified=wrong,
    )
