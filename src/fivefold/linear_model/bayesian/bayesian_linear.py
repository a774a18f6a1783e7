"""Full Bayesian linear regression: posterior, predictive distribution and evidence, in one batch or many.

    y = w' phi + b + noise,   noise ~ N(0, 1 / beta),   w ~ N(m0, I / alpha),   b flat

    S = (alpha I + beta Phi'Phi)^-1,    m = m0 + beta S Phi'(y - Phi m0)           the posterior N(m, S) of w
    p(y | phi) = N(m' phi, 1 / beta + phi' S phi)                       a sum: noise, and the uncertainty of w

With an intercept, rows are taken about their mean and its own variance 1 / (n beta) is added; without one the formulas
hold as they stand, and a column of ones is a weight like the others. The evidence

    ln p(y) = d/2 ln alpha + n/2 ln (beta / 2 pi) - beta/2 |y - Phi m|^2 - alpha/2 |m - m0|^2 + 1/2 ln |S|

(n - 1 in place of n with an intercept, which is integrated out) chooses a precision that is not given. With both free,
beta has a closed form for every kappa = alpha / beta, so that a search along one line finds the maximum.

A triangular factor of the rows holds all that is needed; factors of batches merge, so `partial_fit` on parts is `fit`
on the whole.

Bishop (2006), chapter 3; MacKay (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.optimize import brentq

from fivefold.core.admission.targets import admit_pair, admit_weights, as_float64, keep_positive
from fivefold.core.estimators import params
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import MAX_MAGNITUDE, Count, Positive, Seed
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.linear_model.base import LinearModel, centred_linear, predictor
from fivefold.linear_model.bayesian.ridge_spectrum import RidgeSpectrum, TriangularFactor, quadratic_form

KAPPA_RANGE = 1e12  # kappa is searched between the largest eigenvalue divided by this and multiplied by this
GRID_POINTS = 97  # values of kappa at which the evidence is compared before the search, four per power of ten
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LinearPosterior:
    """The posterior of weights and intercept, the precisions, the log evidence, and the rows as a triangular factor."""

    linear: LinearModel
    alpha: float
    beta: float
    covariance: Array  # S (d, d)
    evidence: float
    triangle: TriangularFactor
    offset_variance: float  # of the height at the centre
    centre: Array  # (d,)
    seen: float  # total weight of the rows


class BayesianLinearRegression(Regressor):
    """Linear regression with a Gaussian prior: posterior, predictive variance, evidence, sequential updates.

    Parameters
    ----------
    alpha
        precision of the prior of the weights; chosen by the evidence when None.
    beta
        precision of the noise; chosen by the evidence when None.
    prior_mean
        mean of the prior, one number for all weights or one for each.
    fit_intercept
        fit an intercept, which has no prior; without one X may hold a column of ones.

    Attributes
    ----------
    coef_, intercept_
        the posterior mean.
    covariance_
        posterior covariance of the weights.
    alpha_, beta_
        the precisions used.
    evidence_
        log probability of the targets given the rows and the precisions.

    Examples
    --------
    >>> from fivefold.linear_model import BayesianLinearRegression
    >>> model = BayesianLinearRegression(alpha=1.0, beta=4.0, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> model.coef_, model.covariance_
    (array([0.95238095]), array([[0.04761905]]))
    >>> mean, std = model.predict([[2.0]], return_std=True)
    >>> float((std[0] ** 2).round(6))
    0.440476
    """

    _: KW_ONLY
    alpha: Positive | None = None
    beta: Positive | None = None
    prior_mean: Any = 0.0
    fit_intercept: bool = True

    card = Card(
        applications=("regression",),
        use="Error bars that grow away from the data, a prior with a meaning, data that arrive in batches, basis "
        "functions to be compared by their evidence. For many rows and a drop-in take BayesianRidge.",
        steps=(
            "Reduce the rows to a triangular factor; merge it with that of earlier batches.",
            "Choose the precisions that are not given where the evidence is greatest.",
            "The posterior is Gaussian; the variance of a prediction adds the noise to the uncertainty of the weights.",
        ),
        source="Bishop (2006), chapter 3; MacKay (1992)",
        see_also=("BayesianRidge", "ARDRegression", "Ridge"),
        variants=({"alpha": 1.0, "beta": 2.0, "prior_mean": 0.5}, {"fit_intercept": False}, {"beta": 1.0}),
    )

    coef_ = learned("linear.coef")
    intercept_ = learned("linear.intercept")
    covariance_ = learned("covariance")
    alpha_ = learned("alpha")
    beta_ = learned("beta")
    evidence_ = learned("evidence")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        centre = None if self.fit_intercept else np.zeros(X.shape[1] + 1)
        self.model_ = self._posterior(TriangularFactor.of(X, y, w, centre), X.dtype)

    def partial_fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Continue with a further batch of rows: the posterior so far is its prior."""
        params.check_params(self)
        first = not self.__sklearn_is_fitted__()
        X, y = admit_pair(self, X, y, numeric=True, fitting=first)
        X, y, w = keep_positive(admit_weights(self, sample_weight, X), X, y)
        if first:
            self._fit(X, y, w)
        else:
            earlier = self.model_.triangle
            self.model_ = self._posterior(earlier + TriangularFactor.of(X, y, w, earlier.centre), self.coef_.dtype)
        return self

    def _posterior(self, triangle: TriangularFactor, dtype: DTypeLike) -> LinearPosterior:
        problem = triangle.spectrum(intercept=self.fit_intercept)
        d = len(problem.mean)
        m0 = as_float64(self, self.prior_mean, "prior_mean")
        if m0.size not in (1, d) or not (np.abs(m0) <= MAX_MAGNITUDE).all():
            raise ValueError(
                f"BayesianLinearRegression: prior_mean must be one finite number up to {MAX_MAGNITUDE:g}, or one for "
                f"each of the {d} columns; got {self.prior_mean!r}"
            )
        m0 = np.broadcast_to(m0.ravel(), d)
        # the errors of the problem about m0 are those of the problem about zero at c - V'm0
        shifted = replace(problem, solution=problem.solution - problem.axes.T @ m0)
        freedom = problem.weight - self.fit_intercept
        alpha, beta = _precisions(shifted, freedom, self.alpha, self.beta)
        c = shifted.coordinates(alpha / beta)
        W = m0 + shifted.axes @ c
        evidence = _log_evidence(shifted, freedom, alpha, beta)
        offset_variance = 0.0
        if self.fit_intercept:
            offset_variance = 1 / (beta * problem.weight)
            evidence -= 0.5 * float(np.log(problem.weight))
        linear = centred_linear(W, problem.mean, np.float64(problem.mean_target), dtype, intercept=self.fit_intercept)
        covariance = problem.inverse(beta, alpha)
        return LinearPosterior(
            linear=linear,
            alpha=alpha,
            beta=beta,
            covariance=covariance,
            evidence=evidence,
            triangle=triangle,
            offset_variance=offset_variance,
            centre=problem.mean,
            seen=problem.weight,
        )

    def predict(self, X: UserTable, return_std: bool = False) -> Any:
        """The predictive mean at each row; with `return_std` the predictive standard deviation as well."""
        X, model = self._admit(X), self.model_
        mean = predictor(model.linear, X)
        if not return_std:
            return mean
        variance = 1 / model.beta + model.offset_variance
        return mean, np.sqrt(variance + quadratic_form(X, model.centre, model.covariance)).astype(X.dtype)

    def sample_functions(self, X: UserTable, n_samples: Count = 1, random_state: Seed = None) -> Matrix:
        """Surfaces drawn from the posterior, without noise, at each row: (n, n_samples)."""
        X, model = self._admit(X), self.model_
        rng = check_random_state(random_state)
        values, V = np.linalg.eigh(model.covariance)
        root = V * np.sqrt(np.maximum(values, 0.0))
        W = root @ rng.standard_normal((len(values), n_samples))
        offset = np.sqrt(model.offset_variance) * rng.standard_normal(n_samples)
        mean = predictor(model.linear, X)
        return (mean[:, None] + (X - model.centre) @ W + offset).astype(X.dtype)


def _precisions(problem: RidgeSpectrum, n: float, alpha: float | None, beta: float | None) -> tuple[float, float]:
    """alpha and beta of greatest evidence, or as given."""
    if alpha is not None and beta is not None:
        return alpha, beta

    def at(log_kappa: float) -> tuple[float, float]:
        kappa = float(np.exp(log_kappa))
        if alpha is not None:
            return alpha, alpha / kappa
        if beta is not None:
            return beta * kappa, beta
        c = problem.coordinates(kappa)
        floor = max(n, 1.0) * (EPS * (abs(problem.mean_target) + 1e-100)) ** 2 + 1e-200  # noise of an exact fit
        noise = (problem.error(c) + kappa * float(c @ c) + floor) / max(n, 1.0)
        return kappa / noise, 1 / noise

    middle = np.log(max(float(problem.values.max(initial=0.0)), 1e-100))
    grid = np.linspace(middle - np.log(KAPPA_RANGE), middle + np.log(KAPPA_RANGE), GRID_POINTS)
    return at(
        _maximum(
            lambda t: _log_evidence(problem, n, *at(t)), lambda t: _evidence_slope(problem, n, *at(t), alpha), grid
        )
    )


def _maximum(value: Callable[[float], float], slope: Callable[[float], float], grid: Vector) -> float:
    """Where the value is greatest: at the best point of the grid, or at the root of its slope next to it."""
    i = int(np.argmax([value(t) for t in grid]))
    lo, hi = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    return float(brentq(slope, lo, hi, xtol=1e-14) if slope(lo) > 0 > slope(hi) else grid[i])


def _evidence_slope(problem: RidgeSpectrum, n: float, alpha: float, beta: float, fixed: float | None) -> float:
    """Derivative of the evidence in ln kappa: through beta where alpha is fixed, else through alpha."""
    e, c = problem.values, problem.coordinates(alpha / beta)
    gamma = float(np.sum(beta * e / (alpha + beta * e)))
    if fixed is not None:
        return 0.5 * (beta * problem.error(c) - (n - gamma))
    return 0.5 * (gamma - alpha * float(c @ c))


def _log_evidence(problem: RidgeSpectrum, n: float, alpha: float, beta: float) -> float:
    e, (d, k), c = problem.values, problem.axes.shape, problem.coordinates(alpha / beta)
    determinant = float(np.log(alpha + beta * e).sum()) + (d - k) * np.log(alpha)
    squares = beta * problem.error(c) + alpha * float(c @ c)
    return 0.5 * float(d * np.log(alpha) + n * np.log(beta / (2 * np.pi)) - squares - determinant)
