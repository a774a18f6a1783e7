"""Leave-one-out answers of a support vector classifier, without fitting it n times from the start.

A row whose multiplier is zero can be removed without a change, so its answer stays. A support vector is removed by a
box of width zero, and the descent starts at the solution of all rows: few steps restore the optimum.

    bounds of the share of errors      support vectors / n
                                       #{i : 2 alpha_i R^2 + slack_i >= 1} / n      R^2 the largest k(x, x) - k(x, z)

Vapnik (1995); Joachims (2000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.estimators.supervised_learning import encode_labels
from fivefold.core.types import Doubles, UserTarget
from fivefold.kernels.row_source_loops import BLOCK_ROWS
from fivefold.optim.dual.smo_loops import leave_out
from fivefold.svm.support.kernel_estimator import choose_kernel
from fivefold.svm.support.training import TrainingRows
from fivefold.svm.support_vector_classifier import SVC


@dataclass(frozen=True)
class LeaveOneOut:
    """Answers to rows by machines fitted without them, and bounds that need no such fit."""

    answers: Doubles  # (n,) y f of the machine without the row
    refits: int  # descents that were needed
    support_bound: float
    xi_alpha_bound: float

    @property
    def error(self) -> float:
        """Share of rows on the wrong side."""
        return float((self.answers <= 0).mean())

    def __str__(self) -> str:
        return (
            f"leave-one-out error {self.error:.4g} by {self.refits} further descents; at most {self.support_bound:.4g} "
            f"by the number of support vectors, {self.xi_alpha_bound:.4g} by multipliers and slacks"
        )


def leave_one_out(machine: SVC, X: Doubles, y: UserTarget) -> LeaveOneOut:
    """Leave-one-out answers of a machine of two classes, from its settings; the machine itself need not be fitted."""
    X = np.asarray(X, dtype=np.float64)
    classes, codes = encode_labels(np.asarray(y))
    if len(classes) != 2:
        raise ValueError(f"leave_one_out takes two classes; y holds {len(classes)}")
    order = np.concatenate([np.flatnonzero(codes == 1), np.flatnonzero(codes == 0)])
    sign, n = np.where(codes[order] == 1, 1.0, -1.0), len(order)
    kernel = choose_kernel(machine, X, None)
    training = TrainingRows.of(type(machine).__name__, kernel, X[order], np.arange(n), None, machine.tol)
    source = training.source()
    solver = machine._options().solver(source)
    dual = machine._dual(sign, np.ones(n))
    whole = solver.minimise(dual)
    answers = sign * (dual.t - whole.f + whole.offsets[0])  # the residuals hold the answers
    alpha, slack = np.abs(whole.b), np.maximum(0.0, 1.0 - answers)
    support = np.flatnonzero(whole.b)
    out = answers.copy()
    for i in support:
        gone, start = np.arange(n) == i, whole.b.copy()
        without = dual.without(gone)
        leave_out(start, gone, without.low, without.high)
        found = solver.minimise(without, start, near=whole)
        out[i] = sign[i] * (dual.t[i] - found.f[i] + found.offsets[0])
    back = np.empty(n)
    back[order] = out
    return LeaveOneOut(
        answers=back,
        refits=len(support),
        support_bound=len(support) / n,
        xi_alpha_bound=float((2.0 * alpha * _spread(source.diagonal(), training) + slack >= 1.0).mean()),
    )


def _spread(diagonal: Doubles, training: TrainingRows) -> float:
    """R^2: the largest k(x, x) - k(x, z) over the rows, or its bound for kernels without negative values."""
    if training.kernel.name == "rbf":
        return 1.0
    source = training.source()
    return max(
        float((diagonal[a : a + BLOCK_ROWS] - source.entries(slice(a, a + BLOCK_ROWS), slice(None)).min(axis=1)).max())
        for a in range(0, training.n, BLOCK_ROWS)
    )
