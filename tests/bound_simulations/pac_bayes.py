"""Samples with a known true error for the PAC-Bayes bounds.

A posterior that is a single rule, on which the prior is too, has no complexity. With two rows the moment in the bound
is then almost reached, and the true error is put just above the bound for 0, 1 or 2 errors: a bound that takes n for
larger than it is gets caught there. Linear rules learn from coin throws, where forgetting the complexity gets caught,
or from labels of which some are flipped: sizes are chosen on the sample, and the Gibbs error of that choice is known.
Votes err where just more than half of the voters do, as the first order allows, or voters err independently.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.special import bdtrc, ndtr

from fivefold.theory.bounds import BOUNDS, Case
from fivefold.theory.pac_bayes import certificates  # noqa: F401  registers the bounds
from fivefold.theory.pac_bayes.ensemble_voters import Voters, find_voters
from fivefold.theory.pac_bayes.gibbs_posterior import DrawsRules, KernelRules, gibbs_posterior

DELTA = 0.05
ROWS = 2
CLASSES = np.array([0, 1])
DIMENSIONS, LINEAR_ROWS, FLIPPED = 8, 60, 0.05
VOTE_ROWS, VOTERS = 60, 7


@dataclass(frozen=True)
class OneRule(DrawsRules):
    """A rule that errs on the rows whose label is 1: prior and posterior are this rule."""

    complexity = 0.0
    classes_ = CLASSES

    def errors_at(self, X, codes, factors):
        return ((codes == 1).astype(float) for _ in factors)

    def scaled(self, factor):
        return self

    def wrong(self, X, codes, draws, rng):
        return np.tile(codes == 1, (draws, 1))


@gibbs_posterior.register
def _(model: OneRule):
    return model


@cache
def one_rule_limits(name):
    """The bound for 0, 1, ..., ROWS errors."""
    each = [(np.arange(ROWS) < k).astype(int) for k in range(ROWS + 1)]
    cases = [Case(OneRule(), np.zeros((ROWS, 1)), y, y.astype(float), "training", {"draws": 1000}) for y in each]
    return np.array([BOUNDS[name](case, DELTA).value for case in cases])


def one_rule(name, rng):
    """An error just above a limit."""
    limits = one_rule_limits(name)
    risk = rng.choice(limits[limits < 1 - 1e-6]) + 1e-9
    return limits[rng.binomial(ROWS, risk)], risk


@dataclass(frozen=True)
class SumOfRows:
    """w = sum of y x, over rows x of +-1 / sqrt(d): the label is that of the first column, or of a coin."""

    w: np.ndarray
    classes_ = CLASSES


@gibbs_posterior.register
def _(model: SumOfRows):
    norm = float(np.linalg.norm(model.w))
    return KernelRules(norm, lambda X: X @ model.w / norm)


@cache
def all_rows():
    bits = np.arange(2**DIMENSIONS)[:, None] >> np.arange(DIMENSIONS) & 1
    return (2.0 * bits - 1) / np.sqrt(DIMENSIONS)


def linear(name, flipped, rng):
    """The bound, and the true error of the rules at the size that it chose, or of the centre."""
    X = all_rows()[rng.integers(2**DIMENSIONS, size=LINEAR_ROWS)]
    y = ((X[:, 0] > 0) ^ (rng.random(LINEAR_ROWS) < flipped)).astype(int)
    w = (2 * y - 1) @ X
    if not w.any():
        w = np.eye(DIMENSIONS)[0]
    wrong = (X @ w >= 0).astype(int) != y
    found = BOUNDS[name](Case(SumOfRows(w), X, y, wrong.astype(float), "training"), DELTA)
    margins = np.sign(all_rows()[:, 0]) * (all_rows() @ w / np.linalg.norm(w))
    if name == "PAC-Bayes, Gaussian posterior":
        share = ndtr(-margins * np.sqrt(2 * found.details["KL divergence"])).mean()
    else:
        right = np.where(all_rows() @ w >= 0, 1.0, -1.0) == np.sign(all_rows()[:, 0])
        share = 1 - right.mean()
    return found.value, share * (1 - flipped) + (1 - share) * flipped


@dataclass(frozen=True)
class VoteOf:
    """Voters with these losses on the rows, each tested on about half of them."""

    losses: np.ndarray
    unseen: np.ndarray
    classes_ = CLASSES


@find_voters.register
def _(model: VoteOf, X, codes):
    T = model.losses.shape[1]
    return Voters(model.losses, model.unseen, np.full(T, 1 / T))


def vote(name, together, rng):
    """Voters err on their own, or exactly a majority of them errs at once: what the vote errs on is known."""
    p = 0.3
    if together:
        order = rng.random((VOTE_ROWS, VOTERS)).argsort(axis=1)
        losses = (rng.random(VOTE_ROWS) < p)[:, None] & (order <= VOTERS // 2)
        true = p
    else:
        losses = rng.random((VOTE_ROWS, VOTERS)) < p
        true = majority_tail(p)
    unseen = rng.random((VOTE_ROWS, VOTERS)) < 0.7
    y = np.zeros(VOTE_ROWS, dtype=int)
    model = VoteOf(losses.astype(float), unseen)
    case = Case(model, np.zeros((VOTE_ROWS, 1)), y, (losses.mean(axis=1) > 0.5).astype(float), "training")
    return BOUNDS[name](case, DELTA).value, true


@cache
def majority_tail(p):
    return float(bdtrc(VOTERS // 2, VOTERS, p))


SIMULATIONS = {
    "PAC-Bayes, Gaussian posterior": partial(one_rule, "PAC-Bayes, Gaussian posterior"),
    "PAC-Bayes, Gaussian posterior, of coin throws": partial(linear, "PAC-Bayes, Gaussian posterior", 0.5),
    "PAC-Bayes, Gaussian vote": partial(linear, "PAC-Bayes, Gaussian vote", FLIPPED),
    "PAC-Bayes, sampled rules": partial(one_rule, "PAC-Bayes, sampled rules"),
    "PAC-Bayes, first-order vote": partial(vote, "PAC-Bayes, first-order vote", True),
    "PAC-Bayes, tandem vote": partial(vote, "PAC-Bayes, tandem vote", True),
    "C-bound": partial(vote, "C-bound", True),
    "C-bound, of independent voters": partial(vote, "C-bound", False),
}
