"""Hard-negative mining: a machine for few positives and very many negatives, from the negatives that matter.

Train on the positives and some negatives; scan all negatives for those within the margin, y f(x) <= 1; add them, drop
those of the set that lie beyond it, and repeat until a scan finds nothing new. Rows beyond the margin have multiplier
zero, so the last machine is the one of all rows, up to the tolerance of the solver.

Sung & Poggio (1998); Felzenszwalb, Girshick, McAllester & Ramanan (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from fivefold.core.types import Indices, UserTable, UserTarget
from fivefold.kernels.base import take
from fivefold.svm.support.training import count_objects
from fivefold.svm.support_vector_classifier import SVC


@dataclass(frozen=True)
class MinedMachine:
    """The machine, the rows it was trained on last, and how the search went."""

    machine: SVC
    rows: Indices  # positives and hard negatives
    history: tuple[int, ...]  # negatives that were trained on in each round
    reason: str  # "converged": a scan found nothing new; "max_rounds"


def mine_hard_negatives(
    machine: SVC, X: UserTable, y: UserTarget, *, start: int = 1000, max_rounds: int = 50, positive: object = None
) -> MinedMachine:
    """The machine of all rows, trained on the positives and the negatives within the margin only.

    `start` negatives, evenly spaced over the table, are the first to be trained on. `positive` names the class whose
    rows are always kept; by default the smaller one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(3.0, 1.0, (20, 2)), rng.normal(0.0, 1.0, (3000, 2))])
    >>> y = np.repeat([1, 0], [20, 3000])
    >>> found = mine_hard_negatives(SVC(kernel="linear"), X, y, start=50)
    >>> found.reason, len(found.rows) < 300
    ('converged', True)
    """
    labels = np.asarray(y)
    classes, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) != 2 or count_objects(X) != len(labels):
        raise ValueError(f"mine_hard_negatives takes rows of two classes; got {len(classes)} classes")
    if machine._kernel_name() == "precomputed":
        raise ValueError("mine_hard_negatives: a precomputed kernel has all rows already; fit the machine itself")
    chosen = int(np.argmin(sizes)) if positive is None else int(np.flatnonzero(classes == positive)[0])
    own, others = np.flatnonzero(codes == chosen), np.flatnonzero(codes != chosen)
    sign = -1.0 if chosen == 1 else 1.0  # of the answer of a negative that is right
    kept = others[np.linspace(0, len(others) - 1, min(start, len(others))).round().astype(np.int64)]
    limit, history = 1.0 + float(machine.tol), list[int]()
    for _ in range(max_rounds):
        rows = np.sort(np.concatenate([own, kept]))
        fitted = clone(machine).fit(take(X, rows), labels[rows])
        history.append(len(kept))
        margins = sign * fitted.decision_function(take(X, others))
        hard = others[margins <= limit]
        if not len(np.setdiff1d(hard, kept, assume_unique=True)):
            return MinedMachine(fitted, rows, tuple(history), "converged")
        kept = hard
    return MinedMachine(fitted, rows, tuple(history), "max_rounds")
