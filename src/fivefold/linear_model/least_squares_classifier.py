"""Classification by regression: least squares on labels, and sigmoid outputs with squared error.

    least squares    targets -1 and +1, or a column of 0 and 1 per class:   W = S^-1 sum_i w_i (x_i - m)(t_i - tbar)'
    sigmoid          r in {0, 1}, one output per class:                     E = 1/2 sum (r - sigma(w'x + b))^2

S is the scatter of all rows. For two classes the first direction is Fisher's, S_W^-1 (m_2 - m_1), whatever the two
target values are. Squared error punishes points far on the right side of the boundary, so outliers turn it; the sigmoid
bounds what one row can do, at the price of a problem that is not convex. Its outputs are separate, so that a row may
belong to several classes or to none.

Bishop (2006), section 4.1; Alpaydin (2014), section 10.8.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import NonNegative
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Weights
from fivefold.linear_model.base import (
    LinearClassifier,
    LinearModel,
    cast_learned,
    class_scores,
    decision_values,
    predictor,
)
from fivefold.linear_model.solvers.class_outputs import binary_probabilities, normalise_rows, one_vs_rest_targets
from fivefold.linear_model.solvers.risk_solver import (
    LinearRiskClassifier,
    centred_design,
    column_strengths,
    fit_linear,
    linear_from_outputs,
)
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import MarginLoss

ZERO_EIGENVALUE = 1e-12  # eigenvalues of a scatter below this share of the largest are rounding


class LeastSquaresClassifier(LinearClassifier):
    """Least squares on labels coded as numbers; the sign, or the largest output, decides.

    Parameters
    ----------
    alpha
        strength of a ridge penalty; zero is plain least squares.
    threshold
        two classes: the output above which the second is predicted.
    fit_intercept
        fit an intercept.
    class_weight
        weights of the classes, "balanced", or None.

    Examples
    --------
    >>> from fivefold.linear_model import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.coef_, model.predict([[1.9], [2.1]])
    (array([[0.6]]), array(['a', 'b'], dtype='<U1'))
    """

    _: KW_ONLY
    alpha: NonNegative = 0.0
    threshold: float = 0.0
    fit_intercept: bool = True
    class_weight: dict[Any, float] | Literal["balanced"] | None = None

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="A first answer in closed form. Outliers far on the right side turn the boundary, and of three classes in "
        "a row the middle one may never win: take LogisticRegression then.",
        steps=(
            "Code two classes as -1 and +1, more of them as a column of zeros and ones each.",
            "Solve the normal equations for all columns at once.",
            "Predict by the sign, or by the largest output.",
        ),
        source="Bishop (2006), section 4.1.3; Hastie, Tibshirani & Friedman (2009), section 4.2",
        see_also=("RidgeClassifier", "FisherDiscriminant", "LinearDiscriminantAnalysis", "LogisticRegression"),
        variants=({"alpha": 1.0}, {"threshold": 0.2}),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, weight = len(self.classes_), float(w.sum())
        _, mean, S = weighted_moments(X, w)
        sizes = np.bincount(y, weights=w, minlength=K)
        sums = np.array([w[y == k] @ X[y == k] for k in range(K)])  # (K, d)
        T = np.array([[-1.0, 1.0]]) if K == 2 else np.eye(K)  # (outputs, K): targets of each class
        height = T @ sizes / weight
        if not self.fit_intercept:
            S, mean, height = S + weight * np.outer(mean, mean), np.zeros_like(mean), np.zeros(len(T))
        cross = (T - height[:, None]) @ (sums - sizes[:, None] * mean)  # (outputs, d)
        W = _solved(S, self.alpha, cross.T).T
        intercept = cast_learned(height - W @ mean, X.dtype)
        self.model_ = LinearModel(cast_learned(W, X.dtype), intercept, mean, height)

    def decision_function(self, X: UserTable) -> Any:
        """The output of each row: for two classes minus the threshold, for more one per class."""
        X = self._admit(X)
        out = decision_values(self.model_, X)
        return out - out.dtype.type(self.threshold) if out.ndim == 1 else out

    def _scores(self, X: Table) -> Matrix:
        scores = class_scores(self.model_, X)
        if scores.shape[1] == 2:
            scores[:, 1] -= self.threshold
        return scores


@dataclass(frozen=True)
class SquaredSigmoidLoss(MarginLoss):
    """(r - sigma(eta))^2 / 2 for r = (y + 1) / 2, which is sigma(-m)^2 / 2 of the margin m = y eta."""

    convex: ClassVar[bool] = False
    max_curvature: ClassVar[float] = 0.08

    def at(self, m: Array) -> Array:
        return 0.5 * expit(-m) ** 2

    def slope_at(self, m: Array) -> Array:
        q = expit(-m)
        return -q * q * (1 - q)

    def curvature_at(self, m: Array) -> Array:
        q = expit(-m)
        return q * q * (1 - q) * (2 - 3 * q)

    def inverse_link(self, eta: Array) -> Array:
        return expit(eta)


class SigmoidRegressionClassifier(LinearRiskClassifier, keywords="alpha"):
    """Discrimination by regression: one sigmoid output per class, fitted to zeros and ones by squared error.

    Parameters
    ----------
    alpha
        strength of a ridge penalty on the weights; without one, separable classes have no minimum.

    Examples
    --------
    >>> from fivefold.linear_model import SigmoidRegressionClassifier
    >>> model = SigmoidRegressionClassifier().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.9], [2.1]])
    array(['a', 'b'], dtype='<U1')
    """

    _: KW_ONLY
    alpha: NonNegative = 1e-2

    takes = Takes(one_class=False, sparse=True)
    card = Card(
        applications=("classification",),
        use="Labels with gross errors, which squared error of a bounded output forgives; classes that overlap or "
        "rows of no class, judged by `outputs`. Otherwise LogisticRegression, which is convex.",
        steps=(
            "Code the classes as zeros and ones, one column each.",
            "Descend the squared error of the sigmoid outputs from zero and from scaled logistic solutions.",
            "Keep the best; the largest output wins.",
        ),
        source="Alpaydin (2014), section 10.8",
        see_also=("LogisticRegression", "LeastSquaresClassifier"),
        variants=({"alpha": 0.1},),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        design = centred_design(X, w, self.fit_intercept)
        ridges = column_strengths(design, self.alpha)
        targets = one_vs_rest_targets(y, len(self.classes_))
        risks = [EmpiricalRisk(SquaredSigmoidLoss(), design, t, w, ridges) for t in targets]
        x, done = fit_linear(self, risks)
        self.model_ = linear_from_outputs(x, design, done)

    def outputs(self, X: UserTable) -> Matrix:
        """The sigmoid outputs as they are, (n, 1) or (n, K): of many classes they need not sum to one."""
        X = self._admit(X)
        return expit(predictor(self.model_, X))

    def predict_proba(self, X: UserTable) -> Any:
        """The outputs, of many classes scaled to sum to one."""
        P = self.outputs(X)
        return binary_probabilities(P[:, 0]) if P.shape[1] == 1 else normalise_rows(P)


def _solved(S: Matrix, alpha: float, B: Matrix) -> Matrix:
    """(S + alpha I)^-1 B, scaled to unit columns; the shortest solution if the matrix is singular."""
    C = S + alpha * np.eye(len(S))
    size = C.diagonal()
    scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    C = C * scale * scale[:, None]
    try:
        factor, lower = cho_factor(C, lower=True)
        if factor.diagonal().min() ** 2 > ZERO_EIGENVALUE * 1e2:
            return np.asarray(scale[:, None] * cho_solve((factor, lower), scale[:, None] * B))
    except LinAlgError:
        pass
    return scale[:, None] * (np.linalg.pinv(C, rcond=ZERO_EIGENVALUE, hermitian=True) @ (scale[:, None] * B))
