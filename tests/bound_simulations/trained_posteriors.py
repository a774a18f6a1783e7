"""Samples with known true error for PAC-Bayes with priors from a part of the rows and posteriors trained by the bound.

Rows are one of eight points on a circle, with labels that are wrong with a known probability: the error of a Gaussian
posterior on new rows is then a sum of eight terms.
"""

import numpy as np
from scipy.special import ndtr

from fivefold.theory.pac_bayes.fixed_rate import fixed_rate_upper
from fivefold.theory.pac_bayes.posterior_training import GaussianFamily, train_at_rate

DELTA = 0.05
ANGLES = np.arange(8) * np.pi / 4 + 0.3
POINTS = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
SECOND_CLASS = np.array([0.95, 0.9, 0.7, 0.1, 0.05, 0.1, 0.4, 0.9])  # probability of the second class at each point
ROWS, PRIOR_ROWS, RATE = 50, 20, 0.7


def errors_of(mean):
    """Of the Gibbs classifier N(mean, I) and of its vote, on new rows."""
    second = ndtr(POINTS @ mean)
    wrong = SECOND_CLASS * (1 - second) + (1 - SECOND_CLASS) * second
    vote = np.where(second > 0.5, 1 - SECOND_CLASS, SECOND_CLASS)
    return wrong.mean(), vote.mean()


def trained(rng, divisions):
    """Bound and errors of the mixture of posteriors over divisions that share half of the prior's rows."""
    at = rng.integers(8, size=ROWS)
    codes = (rng.uniform(size=ROWS) < SECOND_CLASS[at]).astype(int)
    Z, found = POINTS[at], []
    for _ in range(divisions):
        order = np.concatenate([np.arange(PRIOR_ROWS // 2), rng.permutation(np.arange(PRIOR_ROWS // 2, ROWS))])
        before, after = order[:PRIOR_ROWS], order[PRIOR_ROWS:]
        direction = (2 * codes[before] - 1) @ Z[before]
        prior = 2.0 * direction / max(np.linalg.norm(direction), 1e-9)
        found.append(train_at_rate(GaussianFamily(), Z[after], codes[after], prior[None], RATE))
    error, complexity = (np.mean([getattr(q, part) for q in found]) for part in ("error", "complexity"))
    bound = float(fixed_rate_upper(error, complexity, ROWS - PRIOR_ROWS, DELTA, RATE))
    return bound, np.mean([errors_of(q.mean[0]) for q in found], axis=0), found


def mixture(rng):
    """Two divisions whose parts overlap."""
    bound, (gibbs, _), _ = trained(rng, 2)
    return bound, gibbs


def vote(rng):
    """One division; the vote errs at most twice as often as the Gibbs classifier."""
    bound, (_, wrong), _ = trained(rng, 1)
    return min(1.0, 2 * bound), wrong


def one_rule(rng):
    """The bound for the rows that there are."""
    return bound_of_one_rule(rng, 30)


def bound_of_one_rule(rng, n):
    """A posterior that is the prior, on one rule; at a large rate the bound for no errors is the exact one.

    It fails with probability 0.049 at the first error rate, and at the second where the bound is a little too small.
    """
    true = float(rng.choice([0.0955, 0.05]))
    return float(fixed_rate_upper(rng.binomial(30, true) / 30, 0.0, n, DELTA, 20.0)), true


SIMULATIONS = {
    "PAC-Bayes, fixed rate": one_rule,
    "PAC-Bayes, fixed rate, mixture over divisions": mixture,
    "PAC-Bayes, learned prior": vote,
}
