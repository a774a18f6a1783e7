"""Bayesian ridge regression: the strength of the penalty and the noise are learned from the evidence.

    y = w'x + b + noise,   noise ~ N(0, 1 / alpha),   w ~ N(0, I / lambda),   alpha, lambda ~ Gamma

Given alpha and lambda the posterior of w is Gaussian with covariance (alpha Z'Z + lambda I)^-1 and the ridge solution
of penalty lambda / alpha as its mean. MacKay's rules raise the probability of the data:

    gamma  = sum alpha e / (alpha e + lambda)              how many directions the data determine
    lambda = (gamma + 2 lambda_1) / (|w|^2 + 2 lambda_2)
    alpha  = (n - gamma + 2 alpha_1) / (|y - Z w|^2 + 2 alpha_2)

e being the eigenvalues of Z'Z. One decomposition serves every step (`ridge_spectrum`), so a step costs d^2 and no
pass over the rows.

MacKay (1992); Tipping (2001).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Mask, Table, Target, UserTable, Vector, Weights
from fivefold.linear_model.base import LinearModel, cast_learned, centred_linear, predictor
from fivefold.linear_model.bayesian.ridge_spectrum import RidgeSpectrum, quadratic_form, ridge_spectrum

MIN_SQUARES = 1e-100  # stands in for a sum of squares that is zero
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class GammaPriors:
    """Shape and rate of the priors of the two precisions."""

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: float

    def log_prior(self, alpha: float, lambda_: Vector | float) -> float:
        """The log density of one noise precision and one or many weight precisions, up to a constant."""
        weights = np.sum(self.lambda_1 * np.log(lambda_) - self.lambda_2 * lambda_)
        return float(weights + self.alpha_1 * np.log(alpha) - self.alpha_2 * alpha)


@dataclass(frozen=True)
class RidgePosterior:
    """The surface at the posterior mean, the precisions, and the covariance of the weights."""

    linear: LinearModel
    alpha: float
    lambda_: float | Vector  # one, or one per weight
    sigma: Array  # (d, d)
    scores: Vector | list[float]  # an empty list without compute_score, as in scikit-learn
    n_iter: int
    offset: Array  # (d,) means that rows are centred by
    scale: Array  # (d,) ones


class EvidenceRegressor(Regressor):
    """Linear regression with Gaussian noise and weights whose precisions, under Gamma priors, the evidence sets.

    Parameters
    ----------
    max_iter
        maximum number of updates of the precisions.
    tol
        stop when the coefficients move by less than this in sum.
    alpha_1, alpha_2
        shape and rate of the Gamma prior of the noise precision.
    lambda_1, lambda_2
        shape and rate of the Gamma prior of the precision of the weights.
    fit_intercept
        fit an intercept, which has no prior; without one the surface passes through the origin.
    copy_X, verbose
        kept for scikit-learn's signature; X is never overwritten and nothing is printed.

    Attributes
    ----------
    scores_
        the log evidence, if `compute_score` is True.
    n_iter_
        updates made.
    X_offset_, X_scale_
        the means that rows are centred by, and ones.
    """

    _: KW_ONLY
    max_iter: Count = 300
    tol: NonNegative = 1e-3
    alpha_1: NonNegative = 1e-6
    alpha_2: NonNegative = 1e-6
    lambda_1: NonNegative = 1e-6
    lambda_2: NonNegative = 1e-6
    compute_score: bool = False
    fit_intercept: bool = True
    copy_X: bool = True
    verbose: bool | int = False

    coef_ = learned("linear.coef")
    intercept_ = learned("linear.intercept")
    alpha_ = learned("alpha")
    lambda_ = learned("lambda_")
    sigma_ = learned("sigma")
    scores_ = learned("scores")
    n_iter_ = learned("n_iter")
    X_offset_ = learned("offset")
    X_scale_ = learned("scale")

    @property
    def _priors(self) -> GammaPriors:
        return GammaPriors(self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2)

    def predict(self, X: UserTable, return_std: bool = False) -> Any:
        """The mean of the predictive distribution at each row; with `return_std` its standard deviation as well."""
        X, model = self._admit(X), self.model_
        mean = predictor(model.linear, X)
        if not return_std:
            return mean
        kept = self._kept()
        variance = quadratic_form(X[:, kept], model.offset[kept], model.sigma.astype(np.float64))
        return mean, np.sqrt(1 / model.alpha + variance).astype(X.dtype)

    def _kept(self) -> slice | Mask:
        """The columns that `sigma_` is the covariance of."""
        return slice(None)


class BayesianRidge(
    EvidenceRegressor, keywords="max_iter tol alpha_1 alpha_2 lambda_1 lambda_2 alpha_init lambda_init"
):
    """Ridge regression that learns its penalty and the noise from the data.

    Parameters
    ----------
    alpha_init, lambda_init
        where to start; one over the variance of y, and one, when None.
    compute_score
        keep the log evidence before every update and at the end.

    Attributes
    ----------
    coef_, intercept_
        the posterior mean.
    alpha_, lambda_
        precision of the noise, and of the weights.
    sigma_
        posterior covariance of the coefficients.

    Examples
    --------
    >>> from fivefold.linear_model import BayesianRidge
    >>> model = BayesianRidge().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0])
    >>> mean, std = model.predict([[1.0, 1.0]], return_std=True)
    >>> float(mean[0].round(6))
    1.0
    """

    _: KW_ONLY
    alpha_init: Positive | None = None
    lambda_init: NonNegative | None = None

    card = Card(
        applications=("regression",),
        use="A linear surface with error bars and no penalty to tune. Scale the columns first: one precision serves "
        "all of them. Where most columns do not matter take ARDRegression.",
        steps=(
            "Decompose the centred second moments of the columns once.",
            "Count the directions the data determine under the present precisions.",
            "Set the precisions from that count and the squared lengths; repeat until the weights settle.",
        ),
        source="MacKay (1992); Tipping (2001)",
        see_also=("ARDRegression", "BayesianLinearRegression", "Ridge"),
        variants=({"fit_intercept": False}, {"compute_score": True, "alpha_init": 1.0, "lambda_init": 1e-3}),
        portfolio=True,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        problem = ridge_spectrum(X, y, w, intercept=self.fit_intercept)
        centre = float(w @ y) / problem.weight
        variance = float(w @ (y.astype(np.float64) - centre) ** 2) / problem.weight
        alpha = 1 / (variance + EPS) if self.alpha_init is None else self.alpha_init
        lambda_ = 1.0 if self.lambda_init is None else self.lambda_init
        alpha, lambda_, scores, done = _maximise_evidence(
            problem, self._priors, alpha, lambda_, self.tol, self.max_iter
        )
        dtype, W = X.dtype, problem.axes @ problem.coordinates(lambda_ / alpha)
        linear = centred_linear(W, problem.mean, np.float64(problem.mean_target), dtype, intercept=self.fit_intercept)
        self.model_ = RidgePosterior(
            linear=linear,
            alpha=np.float64(alpha),
            lambda_=np.float64(lambda_),
            sigma=cast_learned(problem.inverse(alpha, lambda_), dtype),
            scores=np.array(scores) if self.compute_score else [],
            n_iter=done,
            offset=problem.mean.astype(dtype),
            scale=np.ones_like(problem.mean, dtype=dtype),
        )


def _maximise_evidence(
    problem: RidgeSpectrum, gammas: GammaPriors, alpha: float, lambda_: float, tol: float, max_iter: int
) -> tuple[float, float, list[float], int]:
    """The precisions, the log evidence before every update and at the end, and the number of updates."""
    e, V = problem.values, problem.axes
    scores: list[float] = []
    W: Vector | None = None
    for _ in range(max_iter):
        c = problem.coordinates(lambda_ / alpha)
        error, length, before = problem.error(c), float(c @ c), W
        W = V @ c
        scores.append(_log_evidence(problem, gammas, alpha, lambda_, error, length))
        gamma = float(np.sum(alpha * e / np.maximum(lambda_ + alpha * e, MIN_SQUARES)))
        lambda_ = (gamma + 2 * gammas.lambda_1) / max(length + 2 * gammas.lambda_2, MIN_SQUARES)
        alpha = (problem.weight - gamma + 2 * gammas.alpha_1) / max(error + 2 * gammas.alpha_2, MIN_SQUARES)
        if before is not None and float(np.abs(before - W).sum()) < tol:
            break
    c = problem.coordinates(lambda_ / alpha)
    scores.append(_log_evidence(problem, gammas, alpha, lambda_, problem.error(c), float(c @ c)))
    return alpha, lambda_, scores, len(scores) - 1


@np.errstate(divide="ignore")  # the evidence at a start of zero is zero
def _log_evidence(
    problem: RidgeSpectrum, gammas: GammaPriors, alpha: float, lambda_: float, error: float, length: float
) -> float:
    d, k = problem.axes.shape
    determinant = float(np.log(lambda_ + alpha * problem.values).sum()) + (d - k) * float(np.log(lambda_))
    gauss = d * np.log(lambda_) + problem.weight * np.log(alpha / (2 * np.pi)) - alpha * error - lambda_ * length
    return float(gammas.log_prior(alpha, lambda_) + 0.5 * (gauss - determinant))
