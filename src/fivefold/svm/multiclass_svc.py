"""One support vector machine for all classes at once, with kernels.

    min over f of  1/2 sum over k of |f_k|^2 + C sum of w_i loss_i

    weston_watkins    loss_i = sum over k != y_i of max(0, 2 - (f_{y_i} - f_k)(x_i))
    crammer_singer    loss_i = max over k != y_i of max(0, 1 - (f_{y_i} - f_k)(x_i))

The largest f_k wins. In place of one machine per pair, all f_k are found together (`optim.dual.multiclass_dual`). An
intercept is a kernel with 1 added: it is penalised, as in LinearSVC, whose machine with multi_class="crammer_singer"
this is for the linear kernel. Of two classes both give the machine of SVC without its free offset, with a multiple of
C: for Weston and Watkins f_1 is that machine with the same C.

Weston & Watkins (1999); Crammer & Singer (2001).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.fit_progress import value_steps
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative, Positive
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Table, Target, UserWeights, Weights
from fivefold.optim.dual.multiclass_dual import MultiClassDual, minimise_multiclass
from fivefold.svm.support.base import StepLimit
from fivefold.svm.support.expansion import KernelSum
from fivefold.svm.support.kernel_estimator import whole_gram
from fivefold.svm.support.kernel_sum_classifier import KernelSumClassifier

PROGRESS_STEPS = 100  # reports that a fit is expected to make; there may be more
CURE = "Take SVC, which works on pairs of classes and keeps only some rows of that array, or fit to a sample"


@dataclass(frozen=True)
class MultiClassSum(KernelSum):
    """One sum of kernels per class, or their difference for two, and how close to the minimum it is."""

    objective: float
    duality_gap: float


class MultiClassSVC(KernelSumClassifier):
    """Support vector machine with kernels that separates all classes at once.

    Parameters
    ----------
    C
        weight of the losses relative to the smoothness of the sums.
    formulation
        "weston_watkins": every wrong class that comes too close costs; "crammer_singer": the closest one does.
    fit_intercept
        add 1 to the kernel: an intercept per class, penalised.
    class_weight
        one weight per class, or "balanced": inversely proportional to the class shares.
    tol
        the largest violation of the optimality conditions of a row; with few multipliers inside their bounds the last
        digits are found too.
    max_iter
        maximum number of steps, each on one row; -1 is a limit that only columns of very unlike scales reach.

    Attributes
    ----------
    objective_, duality_gap_
        the value of the minimum, and how far it may be from it.
    n_iter_
        steps made.
    classes_
        the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.svm import MultiClassSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultiClassSVC(C=10.0).fit(X, y)
    >>> round(model.score(X, y), 2), model.decision_function(X[:2]).shape
    (0.99, (2, 3))
    """

    _: KW_ONLY
    C: Positive = 1.0
    formulation: Literal["weston_watkins", "crammer_singer"] = "weston_watkins"
    fit_intercept: bool = True
    class_weight: dict[Any, Any] | Literal["balanced"] | None = None
    tol: NonNegative = 1e-3
    max_iter: StepLimit = -1

    card = Card(
        applications=("classification",),
        use="Three classes or more with a curved boundary, up to some thousand rows: one problem in place of one per "
        "pair, whose scores can be compared. For two classes take SVC. Scale the columns first.",
        steps=(
            "Give each row a multiplier per class; those of a row sum to zero.",
            "Minimise over the multipliers of the row that violates its conditions most, until none does.",
            "Solve for the multipliers inside their bounds; the class with the largest sum of kernels wins.",
        ),
        source="Weston & Watkins (1999); Crammer & Singer (2001)",
        see_also=("SVC", "LinearSVC"),
        variants=(
            {"formulation": "crammer_singer"},
            {"kernel": "linear", "C": 0.3, "class_weight": "balanced"},
        ),
        search={"C": SearchRange(0.1, 100.0)},
        growth=2.0,
    )

    objective_ = learned("objective")
    duality_gap_ = learned("duality_gap")

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        G = whole_gram(training, type(self).__name__, 2.0, CURE) + float(self.fit_intercept)
        s, K = self.C * np.asarray(w, dtype=np.float64), len(self.classes_)
        dual = MultiClassDual(G, y.astype(np.int64), s, K, self.formulation == "weston_watkins")
        with value_steps(self, "round", PROGRESS_STEPS, X) as report:
            found = minimise_multiclass(dual, float(self.tol), int(self.max_iter), report)
        if found.reason == "max_iter":
            limit = "max_iter" if self.max_iter >= 0 else "the most that are taken where max_iter=-1"
            warn(
                f"MultiClassSVC: {found.steps} steps ({limit}) were not enough for tol={self.tol:g}; raise max_iter, "
                f"lower C={self.C:g}, or scale the columns",
                ConvergenceWarning,
            )
        W = found.A.T if K > 2 else found.A.T[1:] - found.A.T[:1]
        support = np.flatnonzero(W.any(axis=0))
        self.model_ = self._kernel_sum(
            MultiClassSum, training, positions, support, np.ascontiguousarray(W[:, support]),
            intercept=W.sum(axis=1) * float(self.fit_intercept), n_iter=max(1, found.steps),
            objective=found.value, duality_gap=found.gap,
        )  # fmt: skip
