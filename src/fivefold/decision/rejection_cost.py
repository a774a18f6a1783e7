"""The price of rejections: mean cost against the threshold above which rows are rejected.

A row is rejected where the least expected loss of its actions exceeds t. Chow's rule takes t equal to the cost of a
rejection, which is best if the probabilities are true; on labelled rows every threshold can be priced, and the best one
shows how far the probabilities are from that. Rows with equal risk are answered or rejected together.

Chow (1970), On optimum recognition error and reject tradeoff.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Labels, UserTarget, Vector
from fivefold.decision.minimum_risk import LossMatrix, conditional_risks
from fivefold.evaluation.tolerances import ROUNDING


@dataclass(frozen=True)
class RejectionCosts:
    """Mean cost at every threshold, from rejecting all rows to answering all.

    Attributes
    ----------
    thresholds
        rows whose least expected loss exceeds this are rejected, ascending; the first rejects all rows.
    rejected
        share of the rows.
    answered_loss
        mean loss of the answered rows; NaN if there are none.
    cost
        mean over all rows of the loss of the answer, or of the price of the rejection.
    price
        the cost of a rejection.
    """

    thresholds: Vector
    rejected: Vector
    answered_loss: Vector
    cost: Vector
    price: float

    @property
    def best(self) -> int:
        """The index of the threshold of least mean cost, the one that answers most rows among equals."""
        near = self.cost <= self.cost.min() + ROUNDING * max(1.0, abs(float(self.cost.min())))
        return int(np.flatnonzero(near)[-1])

    @property
    def chow(self) -> int:
        """The index of Chow's threshold: what is rejected if the probabilities are taken as they are."""
        slack = ROUNDING * max(1.0, abs(self.price))
        return int(np.searchsorted(self.thresholds, self.price + slack, side="right")) - 1

    def __str__(self) -> str:
        parts = [
            f"{name}: reject above a risk of {self.thresholds[i]:.4g}, {self.rejected[i]:.1%} of the rows, mean cost "
            f"{self.cost[i]:.4g}"
            for name, i in (("best", self.best), ("Chow", self.chow))
        ]
        return "\n".join([*parts, f"all rows answered: mean cost {self.cost[-1]:.4g}"])


def rejection_costs(
    y: UserTarget, P: ArrayLike, classes: Labels, price: float, losses: LossMatrix | None = None
) -> RejectionCosts:
    """The mean cost of class probabilities (n, K) on labelled rows, at every threshold of rejection.

    Examples
    --------
    >>> P = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.55, 0.45]]
    >>> found = rejection_costs([0, 0, 1, 1], P, [0, 1], price=0.3)
    >>> found.rejected, found.cost
    (array([1.  , 0.75, 0.5 , 0.25, 0.  ]), array([0.3  , 0.225, 0.15 , 0.325, 0.5  ]))
    >>> float(found.thresholds[found.best].round(2)), float(found.thresholds[found.chow].round(2))
    (0.2, 0.2)
    """
    R = conditional_risks(np.asarray(P, dtype=float), losses)
    labels = np.asarray(classes)
    codes = np.searchsorted(labels, np.asarray(y))
    if not np.array_equal(labels[np.minimum(codes, len(labels) - 1)], np.asarray(y)):
        raise ValueError("y holds labels that are not among the classes, or the classes are not sorted")
    L = 1.0 - np.eye(len(labels)) if losses is None else np.asarray(losses, dtype=float)
    lost = L[R.argmin(axis=1), codes]
    thresholds, group = np.unique(R.min(axis=1), return_inverse=True)
    n = len(codes)
    answered = np.append(0, np.bincount(group).cumsum())
    loss = np.append(0.0, np.bincount(group, lost).cumsum())
    with np.errstate(invalid="ignore"):
        mean = loss / answered
    cost = (loss + price * (n - answered)) / n
    return RejectionCosts(np.append(-np.inf, thresholds), 1 - answered / n, mean, cost, float(price))
