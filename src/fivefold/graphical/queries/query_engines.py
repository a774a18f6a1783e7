"""Who answers a query: engines that sum a product of factors over all variables but a few.

    P(ask | given) = Z(ask, given) / Z(given)

Evidence is applied first: factors are conditioned on observed states and multiplied by likelihoods of soft evidence.
Every table is scaled to a largest entry of one, and the logarithms of the scales are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from fivefold.core.types import Doubles
from fivefold.inference.factors.case_factor import CaseFactor
from fivefold.inference.factors.enumeration import enumerate_joint
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.inference.factors.semirings import LOG_SUM_EXP
from fivefold.inference.factors.variable_elimination import eliminate

ExactEngine: TypeAlias = Literal["exact", "junction_tree", "case_factor", "enumeration"]
Cards: TypeAlias = tuple[int, ...]


class ImpossibleEvidence(ValueError):
    """The evidence has probability zero, so nothing can be said given it."""


def with_evidence(
    factors: Sequence[Factor], evidence: Mapping[int, int], likelihoods: Mapping[int, Doubles]
) -> tuple[Factor, ...]:
    """Factors at observed states, with a further factor per variable of soft evidence."""
    soft = [Factor((i,), values) for i, values in likelihoods.items()]
    return tuple(factor.condition(evidence) for factor in (*factors, *soft))


def scaled(factors: Sequence[Factor]) -> tuple[list[Factor], float]:
    """Factors whose largest entry is one, and the logarithm of what they were divided by; -inf if one is zero."""
    found, log_scale = [], 0.0
    for factor in factors:
        largest = float(factor.table.max())
        if largest == 0:
            return [], -math.inf
        found.append(Factor(factor.variables, factor.table / largest))
        log_scale += math.log(largest)
    return found, log_scale


def log_marginal_table(factors: Sequence[Factor], ask: tuple[int, ...], cards: Cards, via: ExactEngine) -> Doubles:
    """log of the product of the factors, summed over all variables except `ask`, with axes in their order."""
    shape = tuple(cards[i] for i in ask)
    small, log_scale = scaled(factors)
    if not small and factors:
        return np.full(shape, -np.inf)
    return ENGINES[via](small, ask, cards) + log_scale


def _by_elimination(factors: Sequence[Factor], ask: tuple[int, ...], cards: Cards) -> Doubles:
    found = eliminate(factors, ask, cards).table
    if found.any():
        return _log(found)
    # Zero, or too small for a double: logarithms tell.
    logs = [Factor(factor.variables, _log(factor.table)) for factor in factors]
    return eliminate(logs, ask, cards, LOG_SUM_EXP).table


def _by_case_factor(factors: Sequence[Factor], ask: tuple[int, ...], cards: Cards) -> Doubles:
    shape = [cards[i] for i in ask]
    problem = CaseFactor([*factors, *(Factor((i,), np.ones(cards[i])) for i in ask)], cards)
    sums = [problem.partition(dict(zip(ask, codes, strict=True))) for codes in np.ndindex(*shape)]
    return _log(np.reshape(np.asarray(sums, dtype=np.float64), shape))


def _by_enumeration(factors: Sequence[Factor], ask: tuple[int, ...], cards: Cards) -> Doubles:
    ones = [Factor((i,), np.ones(cards[i])) for i in ask]
    joint = enumerate_joint([*factors, *ones], cards)
    for variable in set(joint.variables) - set(ask):
        joint = joint.eliminate(variable)
    return _log(joint.transpose(ask).table)


def _by_junction_tree(factors: Sequence[Factor], ask: tuple[int, ...], cards: Cards) -> Doubles:
    shape = [cards[i] for i in ask]
    pool = [*factors, Factor(ask, np.ones(shape))]  # one clique must hold all of `ask`
    try:
        calibration = JunctionTree([factor.variables for factor in pool], cards).calibrate(pool)
    except ValueError as error:
        if "probability zero" in str(error):
            return np.full(shape, -np.inf)
        raise
    return _log(calibration.factor_marginal(len(pool) - 1).transpose(ask).table) + calibration.log_partition


def _log(table: Doubles) -> Doubles:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(table))


# of factors, the variables to keep and numbers of states: the log of the sum over all others
Engine: TypeAlias = Callable[[Sequence[Factor], tuple[int, ...], Cards], Doubles]
ENGINES: dict[ExactEngine, Engine] = {
    "exact": _by_elimination,
    "junction_tree": _by_junction_tree,
    "case_factor": _by_case_factor,
    "enumeration": _by_enumeration,
}
