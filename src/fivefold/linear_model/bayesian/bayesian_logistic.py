"""Bayesian logistic regression by Laplace's method.

    P(y = 1 | x, w) = sigma(w'x + b),    w ~ N(0, I / alpha),  b flat

The posterior is taken as the Gaussian at its mode, H^-1 being its covariance, H the Hessian of the negative log
posterior. With mu and s^2 the mean and the variance of the predictor at x,

    P(y = 1 | x) = sigma(kappa mu),    kappa = 1 / sqrt(1 + pi s^2 / 8)

which is nearer to one half than sigma(mu), the more so far from the data. For K classes softmax takes the place of
sigma and every predictor gets its own kappa. The evidence

    ln p(y) = -loss(w) - alpha/2 |w|^2 + d/2 ln alpha - 1/2 ln |H| + b/2 ln 2 pi        (b intercepts, d weights)

chooses alpha where it is not given: alpha |w|^2 = gamma, the number of weights that the data determine.

MacKay (1992); Spiegelhalter & Lauritzen (1990); Bishop (2006), section 4.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Positive
from fivefold.core.registry import Card
from fivefold.core.types import Array, Mask, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.linear_model.base import LinearModel, decision_values
from fivefold.linear_model.bayesian.ridge_spectrum import quadratic_form
from fivefold.linear_model.solvers.class_outputs import binary_probabilities, centre_offsets
from fivefold.linear_model.solvers.risk_solver import (
    LinearRiskClassifier,
    centred_design,
    fit_linear,
    linear_from_outputs,
)
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.margin_losses import LogLoss

ALPHA_RANGE = 1e8  # alpha is searched between one over this and this, for columns of unit variance


@dataclass(frozen=True)
class LaplacePosterior:
    """The mode, the covariance of each predictor's coefficients, the precision of the prior and the log evidence."""

    linear: LinearModel
    covariance: Array  # (outputs, size, size)
    alpha: float
    evidence: float
    centre: Array  # (d,)


class BayesianLogisticRegression(LinearRiskClassifier, keywords="alpha"):
    """Logistic regression with a Gaussian prior; probabilities account for the uncertainty of the weights.

    Parameters
    ----------
    alpha
        precision of the prior of the weights; chosen by the evidence when None. As it goes to zero the mode goes to
        maximum likelihood.
    fit_intercept
        fit an intercept, which has no prior.

    Attributes
    ----------
    coef_, intercept_
        the mode: one predictor for two classes, positive for the second; else one per class.
    covariance_
        covariance of the coefficients of each predictor, last the height at the mean of the rows.
    alpha_
        the precision used.
    evidence_
        Laplace's approximation of the log probability of the labels.

    Examples
    --------
    >>> from fivefold.linear_model import BayesianLogisticRegression
    >>> model = BayesianLogisticRegression(alpha=1.0).fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> bool(model.predict_proba([[20.0]])[0, 1] < model.predict_at_mode([[20.0]])[0, 1])
    True
    """

    _: KW_ONLY
    alpha: Positive | None = None

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="Few rows, probabilities that must not be too sure far from the data, a penalty that needs no tuning. "
        "With many rows LogisticRegression says the same.",
        steps=(
            "Find the mode of the posterior for a precision of the prior.",
            "Raise or lower the precision until it agrees with the number of weights the data determine.",
            "Take the Hessian at the mode as the precision of the posterior.",
            "Shrink each predictor according to its variance, then apply the link.",
        ),
        source="MacKay (1992); Spiegelhalter & Lauritzen (1990)",
        see_also=("ProbitRegression", "BayesianLinearRegression"),
        variants=({"alpha": 1.0},),
    )

    coef_ = learned("linear.coef")
    intercept_ = learned("linear.intercept")
    n_iter_ = learned("linear.n_iter")
    covariance_ = learned("covariance")
    alpha_ = learned("alpha")
    evidence_ = learned("evidence")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, d, design = len(self.classes_), X.shape[1], centred_design(X, w, self.fit_intercept)
        outputs = 0 if K == 2 else K
        penalised = np.tile(np.arange(design.size) < d, max(outputs, 1))

        def at(alpha: float) -> tuple[EmpiricalRisk, Matrix, int]:
            target = np.where(y == 1, 1.0, -1.0) if K == 2 else y
            risk = EmpiricalRisk(LogLoss() if K == 2 else SoftmaxLoss(), design, target, w, alpha * penalised, outputs)
            x, done = fit_linear(self, [risk])
            return risk, x if K == 2 else centre_offsets(x, d), done

        alpha = _evidence_alpha(at, penalised, _mean_variance(design, w)) if self.alpha is None else self.alpha
        risk, x, done = at(alpha)
        H = risk.hessian(x.ravel())
        values, S = _inverse(H)
        free = int((~penalised).sum()) - (K > 2 and self.fit_intercept)
        evidence = -risk.value(x.ravel()) + 0.5 * float(
            penalised.sum() * np.log(alpha) - np.log(values).sum() + free * np.log(2 * np.pi)
        )
        m = design.size
        blocks = np.array([S[k * m : (k + 1) * m, k * m : (k + 1) * m] for k in range(max(outputs, 1))])
        centre = np.zeros(d) if design.centre is None else design.centre
        linear = linear_from_outputs(x, design, done)
        self.model_ = LaplacePosterior(linear, blocks, float(alpha), evidence, centre)

    def decision_function(self, X: UserTable) -> Any:
        """kappa mu: the log odds of the second of two classes, or one predictor per class."""
        return self._shrunk(self._admit(X))

    def predict_proba(self, X: UserTable) -> Any:
        """Probabilities that take the uncertainty of the weights into account."""
        X = self._admit(X)
        return _probabilities(self._shrunk(X)).astype(X.dtype)

    def predict_at_mode(self, X: UserTable) -> Matrix:
        """Probabilities at the mode alone, as logistic regression gives them."""
        X = self._admit(X)
        return _probabilities(decision_values(self.model_.linear, X)).astype(X.dtype)

    def _shrunk(self, X: Table) -> Array:
        eta = decision_values(self.model_.linear, X)
        kappa = (1 / np.sqrt(1 + np.pi / 8 * self._variance(X))).astype(X.dtype)  # (n, outputs)
        return eta * (kappa[:, 0] if eta.ndim == 1 else kappa)

    def _variance(self, X: Table) -> Array:
        """The variance of each predictor at each row (n, outputs)."""
        centre, d = self.model_.centre, X.shape[1]
        out = []
        for S in self.model_.covariance:
            s2 = quadratic_form(X, centre, S[:d, :d])
            if self.fit_intercept:
                s2 = s2 + 2 * ((X - centre) @ S[:d, d]) + S[d, d]
            out.append(np.maximum(s2, 0.0))
        return np.column_stack(out)

    def _scores(self, X: Table) -> Matrix:
        eta = self._shrunk(X)
        return np.column_stack([np.zeros_like(eta), eta]) if eta.ndim == 1 else eta


def _evidence_alpha(at: Callable[[float], tuple[EmpiricalRisk, Matrix, int]], penalised: Mask, unit: float) -> float:
    """The precision with alpha |w|^2 = gamma, or the end of the range if there is none."""

    def excess(log_alpha: float) -> float:
        alpha = float(np.exp(log_alpha)) * unit
        risk, x, _ = at(alpha)
        gamma = penalised.sum() - alpha * float(_inverse(risk.hessian(x.ravel()))[1].diagonal()[penalised].sum())
        return float(
            np.log(max(gamma, 1e-300)) - np.log(max(alpha * float(x.ravel()[penalised] @ x.ravel()[penalised]), 1e-300))
        )

    low, high = -np.log(ALPHA_RANGE), np.log(ALPHA_RANGE)
    grid = np.linspace(low, high, 9)
    rises = [excess(t) for t in grid]
    for t, u, a, b in zip(grid[1:], grid, rises[1:], rises, strict=False):
        if b > 0 >= a:
            return float(np.exp(brentq(excess, u, t, xtol=1e-12, rtol=1e-14))) * unit
    return float(np.exp(low if rises[0] <= 0 else high)) * unit


def _mean_variance(design: Design, w: Weights) -> float:
    """The mean variance of a column: the unit in which a precision is large or small."""
    d = design.X.shape[1]
    return max(float(design.gram(w).diagonal()[:d].mean() / w.sum()), np.finfo(float).tiny)


def _inverse(H: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues that are not zero, and the pseudo-inverse: softmax does not see a shift that all intercepts share."""
    values, V = np.linalg.eigh(H)
    real = values > 1e-12 * values.max(initial=0.0)
    return values[real], (V[:, real] / values[real]) @ V[:, real].T


def _probabilities(eta: Array) -> Matrix:
    if eta.ndim == 1:
        return binary_probabilities(LogLoss().inverse_link(eta))
    return SoftmaxLoss().inverse_link(np.asarray(eta, dtype=np.float64).T).T
