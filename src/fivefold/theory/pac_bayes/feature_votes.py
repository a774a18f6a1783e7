"""Votes of a few random features: a prior for weights of small L1 norm.

Features are doubled, psi = (f, -f), so that weights are not negative, and weights are divided by their sum. The prior
draws a number N >= 1 with probability 1 / (N (N + 1)) and N of the 2 d features uniformly, with repetition; the rule is
the sign of their mean. The posterior of (w, N) draws N features independently from w, and tends to w as N grows:

    KL(Q, P)  <=  ln(N (N + 1)) + N (ln(2 d) - H(w))          H the entropy of w, in nats

Equality holds for ordered lists of features; a rule does not know the order of its list. The bound is the improved kl
form, with N chosen on the data: the prior has paid for N. The Gibbs error is estimated from drawn rules, and the
estimate has a confidence of its own (stochastic_rules).

With features in [-b, b] a margin y w'f = 1 is a share 1 / (|w|_1 b) of the largest possible, so about (|w|_1 b)^2 draws
decide a row as w does: from there comes the complexity |w|_1^2 |f|_inf^2 of margin bounds.

Schapire, Freund, Bartlett & Lee (1998); Langford, Seeger & Megiddo (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Codes, Matrix, Rng, Table, Vector
from fivefold.information.discrete import entropy
from fivefold.theory.pac_bayes.linear_posteriors import signs
from fivefold.theory.pac_bayes.stochastic_rules import sampled_bound

FEATURE_COUNTS = (1, 3, 7, 15, 31, 63, 127, 255)  # N that are tried; odd ones leave fewer ties


@dataclass(frozen=True)
class FeatureVoteBound:
    """A bound on the error of the sign of the mean of `count` drawn features."""

    count: int
    bound: float
    sampled_error: float
    complexity: float


@dataclass(frozen=True)
class FeatureVotePosterior:
    """Means of `count` features drawn independently, feature j and its sign with probability |weights_j| / |weights|_1.

    Examples
    --------
    >>> Q = FeatureVotePosterior(np.array([1.0, 0.0, -1.0]), count=2)
    >>> round(Q.complexity, 4)  # ln 6 + 2 (ln 6 - ln 2)
    3.989
    """

    weights: Vector  # (d,) of either sign, not all zero
    count: int = 1

    @property
    def doubled(self) -> Vector:
        """The probabilities of (f, -f), (2 d,)."""
        w = np.asarray(self.weights, dtype=float)
        total = np.abs(w).sum()
        if not total > 0:
            raise ValueError("all weights are zero: there is no feature to draw")
        return np.concatenate([np.maximum(w, 0), np.maximum(-w, 0)]) / total

    @property
    def complexity(self) -> float:
        """ln(N (N + 1)) + N (ln(2 d) - H(w)), in nats."""
        N = self.count
        return float(np.log(N * (N + 1)) + N * (np.log(2 * len(self.weights)) - entropy(self.doubled)))

    def draw(self, count: int, rng: Rng) -> Matrix:
        """Weight vectors (count, d), means of N signed features."""
        p, d = self.doubled, len(self.weights)
        lists = rng.choice(2 * d, size=(count, self.count), p=p)
        W = np.zeros((count, d))
        np.add.at(W, (np.arange(count)[:, None], lists % d), np.where(lists < d, 1.0, -1.0) / self.count)
        return W

    def wrong(self, F: Table, codes: Codes, draws: int, rng: Rng) -> Matrix:
        """1 where a drawn rule errs on a row (draws, n); a score of zero is answered +1."""
        answers = np.where(self.draw(draws, rng) @ np.asarray(F).T >= 0, 1.0, -1.0)
        return (answers != signs(codes)).astype(float)


def feature_vote_bound(
    weights: Vector, F: Table, codes: Codes, delta: float = 0.05, *, draws: int = 1000, seed: int = 0
) -> FeatureVoteBound:
    """The least bound on the Gibbs error of votes of N features, over some N.

    The prior pays for N; the draws of each N have a part of delta of their own.

    Examples
    --------
    >>> F = np.random.RandomState(0).choice([-1.0, 1.0], (3000, 10))
    >>> codes = (F[:, :3].sum(axis=1) > 0).astype(int)
    >>> found = feature_vote_bound(np.repeat([1.0, 0.0], [3, 7]), F, codes)
    >>> found.count, round(found.bound, 3)
    (63, 0.081)
    """
    each = []
    for count in FEATURE_COUNTS:
        rules = FeatureVotePosterior(weights, count)
        limits = sampled_bound(rules, F, codes, delta, draws=draws, seed=seed, estimates=len(FEATURE_COUNTS))
        each.append(FeatureVoteBound(count, limits.bound, limits.sampled_error, limits.complexity))
    return min(each, key=lambda found: found.bound)
