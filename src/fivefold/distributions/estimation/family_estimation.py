"""One call for maximum likelihood, maximum posterior probability and full Bayes.

    estimate(family, X)                  maximum likelihood
    estimate(family, X, prior=prior)     with a conjugate prior: the posterior, its mode, mean and predictive density;
                                         with pseudo-statistics of the family: the mode of the posterior;
                                         with a function log p(theta): one or two parameters on a grid

The parameters theta of the third kind are the fields of the members, in order: shape and rate of a gamma distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair, ConjugatePosterior, row_weights
from fivefold.distributions.conjugate.conjugate_priors import conjugate_pair
from fivefold.distributions.estimation.grid_posterior import GridPosterior, grid_posterior
from fivefold.distributions.family import Distributions, Family, Members, RowWeights, Stats
from fivefold.distributions.maximum_likelihood import log_likelihood

Method = Literal["likelihood", "mode", "bayes"]
POSITIVE = {"a", "b", "alpha", "concentration", "dof", "rate", "scale", "shape"}  # parameters above zero


@dataclass(frozen=True)
class Estimate:
    """Members at the estimate, and what predicts the next row."""

    method: Method
    members: Members  # at the estimate: the mean of the posterior under full Bayes
    predictive: Distributions | GridPredictive  # the members themselves, or averaged over the posterior
    log_likelihood: Vector  # (K,) of the rows under the members
    posterior: ConjugatePosterior | GridPosterior | None = None


@dataclass(frozen=True)
class GridPredictive:
    """Densities averaged over a posterior on a grid."""

    posterior: GridPosterior
    make: Callable[[Matrix], Members]  # parameters (m, p) -> m members

    def log_prob(self, X: Table) -> Matrix:
        """Log density (n, 1)."""
        used = self.posterior.log_weights > -45  # the rest has probability below 1e-19 each
        logs = self.make(self.posterior.points[used]).log_prob(X) + self.posterior.log_weights[used]
        top = logs.max(axis=1, keepdims=True)
        return top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True))


def estimate(
    family: Family | ConjugatePair,
    X: Table,
    weights: RowWeights | Vector | None = None,
    *,
    prior: Any = None,  # distributions of the parameters, pseudo-statistics of the family, or a function of theta
    method: Method | None = None,
) -> Estimate:
    """Fit a family to rows; `method` is likelihood without a prior, mode with pseudo-statistics, bayes otherwise.

    >>> from fivefold.distributions.beta import BetaMembers
    >>> from fivefold.distributions.bernoulli import Bernoulli
    >>> tosses = np.array([[1.0], [1.0], [0.0], [0.0], [0.0], [1.0], [1.0]])
    >>> found = estimate(Bernoulli(), tosses, prior=BetaMembers(np.ones((1, 1)), np.ones((1, 1))))
    >>> found.members.probability.round(6), np.exp(found.posterior.log_evidence).round(6)
    (array([[0.555556]]), array([0.003571]))
    >>> [estimate(Bernoulli(), tosses).members.probability.round(6).item(),
    ...  estimate(Bernoulli(), tosses, prior=found.posterior.parameters, method="mode").members.probability.item()]
    [0.571429, 0.5714285714285714]
    """
    W = row_weights(len(X), weights)
    rows = family.family if isinstance(family, ConjugatePair) else family
    if prior is None or method == "likelihood":
        members = rows.fit(rows.stats(X, W))
        return Estimate("likelihood", members, members, log_likelihood(members, X, W))
    pair = family if isinstance(family, ConjugatePair) else conjugate_pair(family, prior)
    if pair is not None:
        after = ConjugatePosterior.start(pair, prior).update(X, W)
        members = after.mode_members if method == "mode" else after.mean_members
        full = members if method == "mode" else after.predictive
        return Estimate(method or "bayes", members, full, log_likelihood(members, X, W), after)
    if isinstance(prior, Stats):
        if method == "bayes":
            raise ValueError("pseudo-statistics give the mode of the posterior only; for all of it give a distribution")
        members = rows.fit(rows.stats(X, W), prior)
        return Estimate("mode", members, members, log_likelihood(members, X, W))
    if not callable(prior):
        raise ValueError(
            f"{type(prior).__name__} is no conjugate prior of {type(rows).__name__}; give one that is "
            "(fivefold.distributions.conjugate.conjugate_priors), pseudo-statistics of the family, or log p(theta)"
        )
    return _on_grid(rows, X, W, prior, method or "bayes")


def _bounds(name: str, value: float, period: float) -> tuple[float, float]:
    """Of a parameter by its name; a direction has half a turn on either side of its estimate."""
    if name == "probability":
        return 0.0, 1.0
    return (0.0, np.inf) if name in POSITIVE else (value - period / 2, value + period / 2)


def _on_grid(family: Family, X: Table, W: RowWeights, log_prior: Any, method: Method) -> Estimate:
    """Any prior of the one or two parameters of one column."""
    first = family.fit(family.stats(X, W))
    names = [f.name for f in fields(first) if isinstance(getattr(first, f.name), np.ndarray)]
    start = np.array([np.ravel(getattr(first, name))[0] for name in names])
    if len(names) > 2 or any(getattr(first, name).shape != (1, 1) for name in names) or len(names) == 0:
        raise ValueError(
            f"a prior that is a function is for one or two parameters of one column; {type(family).__name__} has "
            f"{first.n_parameters} for these rows. Give a conjugate prior or pseudo-statistics"
        )
    bounds = [_bounds(name, value, first.period) for name, value in zip(names, start, strict=True)]
    stats = family.stats(X, W)
    gap = log_likelihood(first, X, W)[0] - first.expected_log_prob(stats)[0]

    def make(theta: Matrix) -> Any:
        rest = {f.name: getattr(first, f.name) for f in fields(first) if f.name not in names}
        return type(first)(**dict(zip(names, theta.T[:, :, None], strict=True)), **rest)

    def log_rows(theta: Matrix) -> Array:
        return make(theta).expected_log_prob(stats) + gap

    found = grid_posterior(log_rows, log_prior, bounds, start=start)
    members = make((found.mode if method == "mode" else found.mean)[None])
    full = members if method == "mode" else GridPredictive(found, make)
    return Estimate(method, members, full, log_likelihood(members, X, W), found)
