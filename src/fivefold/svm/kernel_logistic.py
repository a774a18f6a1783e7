"""Logistic and probit regression with kernels.

    min over f, b of   1/2 |f|^2 + C sum of w_i loss(y_i (f(x_i) + b))        f = sum of alpha_i k(x_i, .)

    logit     loss(m) = log(1 + e^-m)          probability 1 / (1 + e^-m)
    probit    loss(m) = -log Phi(m)            probability Phi(m)

Newton's method in alpha: with slopes g and curvatures h of the losses, alpha = sqrt(h) a solves

    (I + sqrt(h) K sqrt(h)) a + sqrt(h) b = (h eta - g) / sqrt(h)        sqrt(h)'a = 0

a positive definite system whatever the rank of K. At the minimum alpha_i = -C w_i loss'(m_i) y_i: no coefficient is
zero, unlike those of a support vector machine, and the answers are probabilities. With K > 2 classes there is one
machine per class against all others, and their probabilities are divided by their sum.

Zhu & Hastie (2005); Rasmussen & Williams (2006), sections 3.4 to 3.6.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Doubles, Matrix, Table, Target, UserTable, Weights
from fivefold.kernels.gram import NotPositiveDefiniteError
from fivefold.kernels.row_cache import SparseRows, VectorRows
from fivefold.optim.losses.margin_losses import LogLoss, MarginLoss, ProbitLoss
from fivefold.svm.support.expansion import KernelChoice
from fivefold.svm.support.kernel_estimator import Finite, Gamma, kernel_width

ARRAYS_OF_A_FIT = 3  # n x n: the Gram matrix, the Newton matrix and its factor
MIN_CURVATURE = 1e-12  # of a loss, as a share of its weight
MIN_STEP = 1e-8  # of the line search
LINKS: dict[str, MarginLoss] = {"logit": LogLoss(), "probit": ProbitLoss()}


@dataclass(frozen=True)
class KernelLogisticModel:
    """Sums of kernels at all rows of fit, one per machine."""

    kernel: KernelChoice
    rows: Any  # the table of fit
    alpha: Doubles  # (n, machines)
    intercept: Doubles  # (machines,)
    n_iter: int
    dtype: Any


class KernelLogisticRegression(Classifier):
    """Logistic or probit regression with kernels: a curved boundary with probabilities.

    Parameters
    ----------
    C
        weight of the losses relative to the smoothness of the boundary.
    kernel
        "rbf", "linear", "poly" or "sigmoid".
    degree
        of the polynomial kernel.
    gamma
        of the kernels "rbf", "poly" and "sigmoid": a number; "scale", 1 / (columns * variance); "auto", 1 / columns.
    coef0
        the constant of the kernels "poly" and "sigmoid".
    link
        "logit" or "probit".
    tol
        the largest slope of the objective along an answer, relative to its weight.
    max_iter
        maximum number of Newton steps.

    Attributes
    ----------
    dual_coef_
        coefficients of the rows (n, machines).
    intercept_
        one per machine: for two classes one, positive for the second; otherwise one per class.
    n_iter_
        Newton steps; the largest number of any machine.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import KernelLogisticRegression
    >>> model = KernelLogisticRegression(gamma=1.0, C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0])
    >>> model.predict([[0.1], [1.5]])
    array([0, 1])
    """

    _: KW_ONLY
    C: Positive = 1.0
    kernel: Literal["linear", "poly", "rbf", "sigmoid"] = "rbf"
    degree: Index = 3
    gamma: Gamma = "scale"
    coef0: Finite = 0.0
    link: Literal["logit", "probit"] = "logit"
    tol: NonNegative = 1e-10
    max_iter: Count = 100

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="A curved boundary with probabilities, on some thousand rows. Scale the columns first. With more rows "
        "take SVC, whose machine is sparse.",
        steps=(
            "Code the class +1 and all others -1.",
            "Newton's method for the coefficients of the kernels at all rows.",
            "Turn answers into probabilities by the link; divide those of several classes by their sum.",
        ),
        source="Zhu & Hastie (2005)",
        see_also=("SVC", "LogisticRegression"),
        variants=({"link": "probit"}, {"kernel": "linear", "C": 0.3}),
        search={"C": SearchRange(0.1, 100.0)},
        growth=3.0,
    )

    dual_coef_ = learned("alpha")
    intercept_ = learned("intercept")
    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n, K = X.shape[0], len(self.classes_)
        refuse_square(type(self).__name__, n, ARRAYS_OF_A_FIT, "Take SVC, or fit to a sample of the rows")
        # the width of the kernel depends on the weights of the rows, not on those of classes: there are none here
        kernel = KernelChoice(self.kernel, kernel_width(self.gamma, X, w), float(self.coef0), int(self.degree))
        source = (SparseRows if issparse(X) else VectorRows).of(kernel.rule, X, np.dtype(np.float64))
        G = source.matrix().astype(np.float64, copy=False)
        signs = [np.where(y == k, 1.0, -1.0) for k in (range(K) if K > 2 else (1,))]
        s = self.C * w.astype(np.float64)
        try:
            found = [minimise_kernel_risk(G, sign, s, LINKS[self.link], self.tol, self.max_iter) for sign in signs]
        except LinAlgError as error:
            raise NotPositiveDefiniteError(
                f'KernelLogisticRegression: kernel="{self.kernel}" is not positive semidefinite to rounding for these '
                "rows, so the objective has no minimum to be found: take another kernel, lower C, or scale the columns"
            ) from error
        if not all(done for _, _, _, done in found):
            warn(
                f"KernelLogisticRegression: max_iter={self.max_iter} Newton steps were not enough for "
                f"tol={self.tol:g}; raise max_iter, or lower C",
                ConvergenceWarning,
            )
        self.model_ = KernelLogisticModel(
            kernel=kernel,
            rows=X,
            alpha=np.column_stack([alpha for alpha, _, _, _ in found]),
            intercept=np.array([b for _, b, _, _ in found]),
            n_iter=max(steps for _, _, steps, _ in found),
            dtype=X.dtype,
        )

    def _answers(self, X: Table) -> Doubles:
        model = self.model_
        return model.kernel.sums(X, model.rows, model.alpha) + model.intercept

    def decision_function(self, X: UserTable) -> Array:
        """The answer of every machine (n, K); for two classes (n,), positive for the second."""
        X = self._admit(X)
        answers = self._answers(X).astype(self.model_.dtype, copy=False)
        return answers if answers.shape[1] > 1 else answers[:, 0]

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes (n, K)."""
        X = self._admit(X)
        p = LINKS[self.link].inverse_link(self._answers(X))
        if p.shape[1] == 1:
            p = np.column_stack([1.0 - p[:, 0], p[:, 0]])
        total = p.sum(axis=1, keepdims=True)
        p = np.where(total > 0, p, 1.0) / np.where(total > 0, total, p.shape[1])
        return np.asarray(p.astype(self.model_.dtype, copy=False))

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _scores(self, X: Table) -> Matrix:
        answers = self._answers(X)
        return answers if answers.shape[1] > 1 else np.column_stack([-answers[:, 0], answers[:, 0]])


def minimise_kernel_risk(
    G: Doubles, y: Doubles, s: Doubles, loss: MarginLoss, tol: float, max_iter: int
) -> tuple[Doubles, float, int, bool]:
    """alpha and b of the least 1/2 alpha'G alpha + sum of s loss(y, G alpha + b), the steps, and whether they ended."""
    n = len(y)
    alpha, b, eta = np.zeros(n), 0.0, np.zeros(n)
    value = float(s @ loss.value(y, eta))
    for step in range(1, max_iter + 1):
        g = s * loss.slope(y, eta)
        if np.abs((alpha + g) / s).max() <= max(tol, 1e-13) and abs(g.sum()) <= max(tol, 1e-13) * s.sum():
            return alpha, b, step - 1, True
        h = np.maximum(s * loss.curvature(y, eta), MIN_CURVATURE * s)
        r = np.sqrt(h)
        factor = cho_factor(np.eye(n) + r[:, None] * G * r, lower=True, overwrite_a=True, check_finite=False)
        u, v = cho_solve(factor, np.column_stack([r, (h * eta - g) / r])).T
        new_b = float(r @ v) / float(r @ u)
        new_alpha = r * (v - u * new_b)
        new_eta = G @ new_alpha + new_b
        share = 1.0
        while True:
            a, e = alpha + share * (new_alpha - alpha), eta + share * (new_eta - eta)
            c = b + share * (new_b - b)
            new_value = 0.5 * float(a @ (e - c)) + float(s @ loss.value(y, e))
            if new_value <= value + 1e-14 * abs(value):
                break
            share *= 0.5
            if share < MIN_STEP:
                return alpha, b, step, True  # rounding leaves nothing to gain
        alpha, b, eta, value = a, c, e, new_value
    return alpha, b, max_iter, False
