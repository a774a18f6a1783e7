"""Samples for the Occam bounds: a finite class with a prefix code, of which the rule that fares worst is judged.

The bound promises to hold for all rules at once. So each trial draws the errors of every rule, independently, and
returns bound and true error of the rule whose true error is the largest compared with its bound.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from fivefold.theory.bounds import BOUNDS, Case
from fivefold.theory.codes.descriptions import Description, describe
from fivefold.theory.occam import occam_certificates as occam_certificates

DELTA = 0.05


@dataclass(frozen=True)
class CodedRule:
    """A rule of which only the length matters."""

    bits: float


@describe.register
def _(model: CodedRule, ranges=None):
    return Description({"rule": model.bits}, "a finite class")


@dataclass(frozen=True)
class RuleGroup:
    """Rules of one length and one true error."""

    count: int
    bits: float
    error: float


# 2^-bits sums to 1 over all rules: no part of delta is wasted
FEW_ERRORS = (RuleGroup(8, 4, 0.02), RuleGroup(64, 8, 0.05), RuleGroup(1024, 12, 0.1))
COIN_THROWS = (RuleGroup(8, 4, 0.5), RuleGroup(64, 8, 0.5), RuleGroup(1024, 12, 0.4))


def worst_rule(name, n, groups, rng):
    """Bound and true error of the rule with the largest difference; within a group it is the one of fewest errors."""
    found = [(bound_of(name, int(rng.binomial(n, g.error, g.count).min()), g.bits, n), g.error) for g in groups]
    return max(found, key=lambda pair: pair[1] - pair[0])


@cache
def bound_of(name, errors, bits, n):
    wrong = (np.arange(n) < errors).astype(float)
    return BOUNDS[name](Case(CodedRule(bits), np.zeros((n, 1)), np.zeros(n), wrong, "training"), DELTA).value


SIMULATIONS = {
    "Occam, square root": partial(worst_rule, "Occam, square root", 400, COIN_THROWS),
    "Occam, relative": partial(worst_rule, "Occam, relative", 1000, FEW_ERRORS),
    "Occam, KL form": partial(worst_rule, "Occam, KL form", 1000, FEW_ERRORS),
    "Occam, binomial form": partial(worst_rule, "Occam, binomial form", 1000, FEW_ERRORS),
}
