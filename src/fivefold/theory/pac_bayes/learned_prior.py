"""A prior over linear rules from a part of the rows, for a bound that is evaluated on the others.

The prior mean is s u: u is the direction of the logistic regression with ridge lambda on these rows, and s says how
sharp the prior is; of more than two classes there is a direction for each against the others. lambda and s are chosen
by the Gibbs error of the prior with each row left out, which takes no second fit: with slopes g and curvatures c of the
losses, and H the Hessian,

    eta_i without row i  ~  eta_i + h_i g_i / (1 - c_i h_i),      h_i = z_i' H^-1 z_i

Among choices whose error is the least up to half a row, the least sharp is taken: the posterior then moves at the
lowest price. The error that is expected also gives the rate of the bound. Nothing here has to be accurate for the bound
to hold; all of it must come from these rows alone.

Ambroladze, Parrado-Hernandez & Shawe-Taylor (2007), Tighter PAC-Bayes bounds; Dziugaite et al. (2021), On the role of
data in PAC-Bayes bounds; Rad & Maleki (2020) for the errors with a row left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, qr, solve_triangular

from fivefold.core.types import Codes, Matrix, Vector
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.newton import TrustRegion
from fivefold.theory.pac_bayes.fixed_rate import best_rate
from fivefold.theory.pac_bayes.posterior_training import PosteriorFamily, smooth_errors

RIDGES = tuple(float(r) for r in np.logspace(1, -3, 5))  # of the logistic regression, the strongest first
SCALES = tuple(2.0**k for k in range(2, 10))  # lengths of the prior mean, in standard deviations of the prior
TOLERATED_ROWS = 0.5  # errors with a row left out that differ by less than this many rows count as equal
EXPECTED_COMPLEXITY = 0.5  # nats that a posterior moves away from a learned prior, for the choice of the rate
LEAST_WEIGHT = 1e-3  # of 1 - c h: a row that alone decides its own answer


@dataclass(frozen=True)
class LearnedPrior:
    """The mean of the prior, and the Gibbs error that is expected of it."""

    mean: Matrix  # (1, p) for two classes, otherwise (K, p)
    error: float  # with each row left out


def learn_prior(family: PosteriorFamily, Z: Matrix, codes: Codes, K: int) -> LearnedPrior:
    """The prior from rows Z of unit length and the codes 0, ..., K - 1 of their classes.

    Examples
    --------
    >>> from fivefold.theory.pac_bayes.posterior_training import GaussianFamily
    >>> angle = np.random.RandomState(0).uniform(0, 2 * np.pi, 200)
    >>> Z = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> found = learn_prior(GaussianFamily(), Z, (Z[:, 0] >= 0).astype(int), 2)
    >>> (found.mean / np.linalg.norm(found.mean)).round(1), found.error < 0.02
    (array([[1., 0.]]), True)
    """
    basis = None
    if Z.shape[1] > len(Z):  # more columns than rows: the directions that the rows span
        basis, R = qr(Z.T, mode="economic", check_finite=False)  # (p, n), (n, n)
        Z = np.ascontiguousarray(R.T)
    targets = [np.where(codes == k, 1.0, -1.0) for k in (range(K) if K > 2 else (1,))]
    V = np.zeros((len(targets), Z.shape[1]))
    choices = []
    for ridge in RIDGES:
        fits = [logistic_regression(Z, t, ridge, v) for t, v in zip(targets, V, strict=True)]
        V, left_out = np.stack([v for v, _ in fits]), np.column_stack([eta for _, eta in fits])
        length = float(np.linalg.norm(V)) / np.sqrt(len(V)) or 1.0
        for scale in SCALES:
            error = smooth_errors(scale / length * left_out, codes, family.spread)[0] / len(Z)
            choices.append((error, scale, V / length))
    limit = min(error for error, _, _ in choices) + TOLERATED_ROWS / len(Z)
    error, scale, U = min((one for one in choices if one[0] <= limit), key=lambda one: (one[1], one[0]))
    mean = scale * U if basis is None else scale * U @ basis.T
    return LearnedPrior(mean, min(error, 1.0))


def logistic_regression(Z: Matrix, t: Vector, ridge: float, start: Vector) -> tuple[Vector, Vector]:
    """Coefficients without an intercept, and the predictor of each row with that row left out."""
    loss = LogLoss()
    risk = EmpiricalRisk(loss, Design(Z, intercept=False), t, np.ones(len(Z)), ridge)
    v = minimise(risk, start, TrustRegion(), tol=1e-6, max_iter=200).x
    m = t * (Z @ v)
    L = cholesky(risk.hessian(v), lower=True, check_finite=False)
    h = (solve_triangular(L, Z.T, lower=True, check_finite=False) ** 2).sum(axis=0)
    g, c = t * loss.slope_at(m), loss.curvature_at(m)
    return v, t * m + h * g / np.maximum(1 - c * h, LEAST_WEIGHT)


def expected_rate(prior: LearnedPrior, rows: int, n: int, delta: float) -> float:
    """The rate for a bound on n rows, from a prior that was learned on `rows` others."""
    error = (prior.error * rows + TOLERATED_ROWS) / (rows + 1)  # inside (0, 1)
    return best_rate(error, EXPECTED_COMPLEXITY, n, delta)
