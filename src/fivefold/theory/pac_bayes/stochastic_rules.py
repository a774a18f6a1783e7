"""Rules that can only be drawn, such as networks with random weights: their Gibbs error is estimated, with confidence.

The mean error e_m of m rules drawn from Q on the rows is a mean of m independent values in [0, 1] whose expectation is
the Gibbs error e. With a share of delta each,

    KL(e_m, e)    <=  ln(1 / delta_draws) / m                       e >= e_m: Chernoff over the draws
    KL(e, err)    <=  (KL(Q, P) + ln(2 sqrt(n) / delta_rows)) / n    over the rows

so the first limit of e takes its place in the second. Twice the bound holds for the majority vote of Q.

Langford & Caruana (2002), (Not) bounding the true error; Perez-Ortiz et al. (2021), Tighter risk certificates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fivefold.core.types import Codes, Matrix, Rng, Table
from fivefold.theory.concentration.kl_chernoff import kl_upper
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper

DRAW_SHARE = 0.2  # of delta that the draws may use up: rules are cheaper than rows


@runtime_checkable
class StochasticRules(Protocol):
    """Anything with random weights: a stochastic network has the KL of its weights and can be drawn from.

    A classifier with these two, fitted to the rows, is certified by `certify`.
    """

    @property
    def complexity(self) -> float:
        """KL(Q, P) of posterior and prior over the weights, in nats; P must not depend on the rows."""

    def wrong(self, X: Table, codes: Codes, draws: int, rng: Rng) -> Matrix:
        """1 where a drawn rule errs, otherwise 0 (draws, n); `codes` number the sorted classes."""


@dataclass(frozen=True)
class SampledBound:
    """A bound on the Gibbs error, and what went into it."""

    bound: float
    sampled_error: float  # mean over draws and rows
    error_limit: float  # of the Gibbs error on the rows, with confidence
    complexity: float
    draws: int


def sampled_bound(
    rules: StochasticRules,
    X: Table,
    codes: Codes,
    delta: float = 0.05,
    *,
    draws: int = 1000,
    seed: int = 0,
    estimates: int = 1,
) -> SampledBound:
    """Bound the Gibbs error of rules that can only be drawn; the best of several posteriors has as many `estimates`.

    The bound over the rows holds for all posteriors at once, but each estimate of an error may fail by itself.

    Examples
    --------
    >>> from fivefold.theory.pac_bayes.feature_votes import FeatureVotePosterior
    >>> F = np.random.RandomState(0).choice([-1.0, 1.0], (2000, 5))
    >>> found = sampled_bound(FeatureVotePosterior(np.array([1.0, 0, 0, 0, 0])), F, (F[:, 0] > 0).astype(int))
    >>> found.sampled_error, round(found.error_limit, 4), round(found.bound, 4)
    (0.0, 0.0046, 0.0151)
    """
    wrong = np.asarray(rules.wrong(X, codes, draws, np.random.RandomState(seed)), dtype=float)
    if wrong.shape != (draws, len(codes)):
        raise ValueError(f"wrong must return {draws} draws of {len(codes)} rows; got shape {wrong.shape}")
    mean = float(wrong.mean())
    limit = float(kl_upper(mean, draws, DRAW_SHARE * delta / estimates))
    bound = improved_kl_upper(limit, rules.complexity, len(codes), (1 - DRAW_SHARE) * delta, exact_moment=True)
    return SampledBound(float(bound), mean, limit, rules.complexity, draws)
