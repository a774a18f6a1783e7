"""Posteriors from incomplete or noisy rows: what is not known is integrated out.

    missing   P(k | x_o) = P(k) p(x_o | k) / sum,        p(x_o | k) = integral p(x_o, x_m | k) dx_m
    noisy     P(k | x)   = P(k) q(x | k) / sum,          q(x | k)   = integral N(x | t, noise) p(t | k) dt

Under Gaussian classes both are Gaussian: the marginal of the observed columns, and the noise added to the covariance.
Otherwise the integrals are averages over draws: of the missing columns from a wide t distribution that covers all
classes, weighted by importance, and of the true values around the noisy ones. A column of infinite noise is a missing
one. The class must not depend on the noise given the true values.

Duda, Hart & Stork (2001), section 2.10; Ahmad & Tresp (1993).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import t as student

from fivefold.core.types import Matrix, Vector
from fivefold.decision.class_conditional import ClassConditionalModel, as_rows, normalise_logs
from fivefold.distributions.gaussian import Full, GaussianMembers

DRAWS = 20_000  # draws per row with something to integrate out
PROPOSAL_DEGREES = 3.0  # degrees of freedom of the t distribution that missing values are drawn from: heavy tails
MOMENT_ROWS = 20_000  # rows drawn from the model to place that distribution


def marginal_posterior(model: ClassConditionalModel, X: ArrayLike, *, draws: int = DRAWS, seed: int = 0) -> Matrix:
    """P(k | known entries) of each row (n, K); missing entries are NaN.

    Examples
    --------
    >>> from fivefold.decision import GaussianDiscriminants
    >>> members = GaussianDiscriminants([[0, 0], [2, 2]], 1.0).members
    >>> model = ClassConditionalModel(members, [0.7, 0.3])
    >>> marginal_posterior(model, [[1.0, np.nan], [np.nan, np.nan]])
    array([[0.7, 0.3],
           [0.7, 0.3]])
    """
    rows = as_rows(np.asarray(X))
    P = np.tile(model.prior, (len(rows), 1))
    known = ~np.isnan(rows)
    some = known.any(axis=1)
    if isinstance(model.densities, GaussianMembers):
        P[some] = model.posterior(rows[some])  # whose log density integrates missing entries out
        return P
    whole = known.all(axis=1)
    if whole.any():
        P[whole] = model.posterior(rows[whole])
    if not (some & ~whole).any():
        return P
    rng = np.random.default_rng(seed)
    sample, _ = model.sample(MOMENT_ROWS, rng)
    centre, scale = sample.mean(axis=0), sample.std(axis=0)
    for i in np.flatnonzero(some & ~whole):
        lost = ~known[i]
        T = student.rvs(PROPOSAL_DEGREES, size=(draws, int(lost.sum())), random_state=rng)
        filled = np.tile(rows[i], (draws, 1))
        filled[:, lost] = centre[lost] + scale[lost] * T
        weights = -(student.logpdf(T, PROPOSAL_DEGREES) - np.log(scale[lost])).sum(axis=1)
        P[i] = _averaged(model, filled, weights)
    return P


def noisy_posterior(
    model: ClassConditionalModel, X: ArrayLike, noise: ArrayLike, *, draws: int = DRAWS, seed: int = 0
) -> Matrix:
    """P(k | x) of each row (n, K) whose entries carry Gaussian noise with these standard deviations.

    `noise` is (d,), the same for all rows, or (n, d); zero: exact; infinite: the entry says nothing.

    Examples
    --------
    >>> from fivefold.decision import GaussianDiscriminants
    >>> members = GaussianDiscriminants([[0], [2]], 1.0).members
    >>> model = ClassConditionalModel(members)
    >>> noisy_posterior(model, [[2.0]], [0.0]).round(4), noisy_posterior(model, [[2.0]], [np.inf])
    (array([[0.1192, 0.8808]]), array([[0.5, 0.5]]))
    """
    rows = as_rows(np.asarray(X)).copy()
    spread = np.array(np.broadcast_to(np.asarray(noise, dtype=float), rows.shape))
    if np.isnan(spread).any() or (spread < 0).any():
        raise ValueError("noise is a standard deviation per column, 0 or more, or infinite")
    rows[np.isinf(spread)] = np.nan
    spread[np.isinf(spread)] = 0.0
    P, rng = np.empty((len(rows), model.n_classes)), np.random.default_rng(seed)
    patterns, group = np.unique(spread, axis=0, return_inverse=True)
    for g, deviation in enumerate(patterns):
        at = np.flatnonzero(group.ravel() == g)
        if not deviation.any():
            P[at] = marginal_posterior(model, rows[at], draws=draws, seed=seed)
        elif isinstance(model.densities, GaussianMembers):
            P[at] = marginal_posterior(_with_noise(model, deviation), rows[at])
        elif np.isnan(rows[at]).any():
            raise ValueError(
                "missing and noisy entries together have no closed form under these densities; fill the missing ones, "
                "or give Gaussian members"
            )
        else:
            for i in at:
                truth = rows[i] + deviation * rng.standard_normal((draws, rows.shape[1]))
                P[i] = _averaged(model, truth, np.zeros(draws))
    return P


def _with_noise(model: ClassConditionalModel, deviation: Vector) -> ClassConditionalModel:
    members = model.densities
    assert isinstance(members, GaussianMembers)
    d = members.mean.shape[1]
    sigma = np.broadcast_to(members.covariance.dense(d), (len(members.mean), d, d)) + np.diag(deviation**2)
    return ClassConditionalModel(
        GaussianMembers(members.mean, Full().from_matrix(sigma, d)), model.priors, model.labels
    )


def _averaged(model: ClassConditionalModel, draws: Matrix, log_weights: Vector) -> Vector:
    """The posterior from class densities averaged over draws with these weights."""
    joint = logsumexp(model.log_joint(draws) + log_weights[:, None], axis=0)
    return normalise_logs(joint[None], model.prior)[0]
