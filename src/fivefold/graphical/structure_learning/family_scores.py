"""Decomposable scores of structures: a sum over families, each a function of the counts of a variable and its parents.

With N_ijk rows in which variable i is in state k and its parents in configuration j, q_i configurations and r_i states,

    log likelihood   sum_ijk N_ijk log(N_ijk / N_ij)                                     at its maximum
    BIC, AIC         log likelihood - c sum_i q_i (r_i - 1)                              c = log(N) / 2, or 1
    BD               sum_ij log G(a_ij) / G(a_ij + N_ij) + sum_ijk log G(a_ijk + N_ijk) / G(a_ijk)

BD is the logarithm of the marginal likelihood under Dirichlet priors with parameters a_ijk, a_ij = sum_k a_ijk: K2
takes one for every cell, BDeu divides an equivalent sample size among them, a / (q_i r_i), so that structures with
the same independences have the same score. Parent configurations that do not occur contribute nothing.

Cooper & Herskovits (1992); Heckerman, Geiger & Chickering (1995); Schwarz (1978); Akaike (1974).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma, log
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from fivefold.core.types import Doubles
from fivefold.graphical.structure_learning.family_count_loops import DIVIDED, LIKELIHOOD, SAME_PER_CELL


class ScoreRule(NamedTuple):
    """A score as compiled loops know it."""

    rule: int
    strength: float  # Dirichlet parameter of a cell, or the total of all
    penalty: float  # per free parameter


@dataclass(frozen=True)
class LogLikelihood:
    """The logarithm of the greatest likelihood; it never falls when an edge is added, so the complete graph wins."""

    is_score_equivalent: ClassVar[bool] = True

    def rule(self, total_weight: float) -> ScoreRule:
        return ScoreRule(LIKELIHOOD, 0.0, 0.0)


@dataclass(frozen=True)
class BIC:
    """The log likelihood less half the logarithm of the number of rows per free parameter."""

    is_score_equivalent: ClassVar[bool] = True

    def rule(self, total_weight: float) -> ScoreRule:
        return ScoreRule(LIKELIHOOD, 0.0, log(total_weight) / 2)


@dataclass(frozen=True)
class AIC:
    """The log likelihood less one per free parameter."""

    is_score_equivalent: ClassVar[bool] = True

    def rule(self, total_weight: float) -> ScoreRule:
        return ScoreRule(LIKELIHOOD, 0.0, 1.0)


@dataclass(frozen=True)
class BDeu:
    """Bayesian-Dirichlet score with an equivalent sample size that is divided equally among the cells of a table."""

    equivalent_sample_size: float = 10.0
    is_score_equivalent: ClassVar[bool] = True

    def rule(self, total_weight: float) -> ScoreRule:
        return ScoreRule(DIVIDED, _positive(self.equivalent_sample_size, "the equivalent sample size"), 0.0)


@dataclass(frozen=True)
class K2Score:
    """Bayesian-Dirichlet score with the same parameter for every cell, one by default."""

    alpha: float = 1.0
    is_score_equivalent: ClassVar[bool] = False

    def rule(self, total_weight: float) -> ScoreRule:
        return ScoreRule(SAME_PER_CELL, _positive(self.alpha, "alpha"), 0.0)


PriorTable = Callable[[int, tuple[int, ...]], ArrayLike]


@dataclass(frozen=True)
class BayesianDirichlet:
    """Bayesian-Dirichlet score with any prior: `prior(variable, parents)` gives imaginary counts, a table with an axis
    per parent, in their order, and a last one for the variable itself.
    """

    prior: PriorTable
    is_score_equivalent: ClassVar[bool] = False

    def family(self, child: int, parents: tuple[int, ...], counts: Doubles) -> float:
        """The score of a family from its table of counts."""
        alpha = np.broadcast_to(np.asarray(self.prior(child, parents), dtype=np.float64), counts.shape)
        if not (alpha > 0).all():
            raise ValueError(f"the prior of variable {child} given {parents} must be positive in every cell")
        return log_marginal_likelihood(counts, alpha)


Score = LogLikelihood | BIC | AIC | BDeu | K2Score | BayesianDirichlet
SCORES: dict[str, Score] = {
    "likelihood": LogLikelihood(),
    "bic": BIC(),
    "aic": AIC(),
    "bdeu": BDeu(),
    "k2": K2Score(),
}


def score_named(score: str | Score) -> Score:
    """A score itself, or the one of that name."""
    if not isinstance(score, str):
        return score
    if score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(map(repr, SCORES))}, or a score object; got {score!r}")
    return SCORES[score]


def log_marginal_likelihood(counts: ArrayLike, alpha: ArrayLike) -> float:
    """log P(data) of counts under a Dirichlet(alpha) prior; the last axis holds states, the others configurations.

    The order of the data does not matter: predicting one row after the other, each from those before it, multiplies to
    the same number.

    Examples
    --------
    >>> import math
    >>> round(1 / math.exp(log_marginal_likelihood([4, 3], [1, 1])), 6)
    280.0
    """
    N = np.asarray(counts, dtype=np.float64)
    a = np.broadcast_to(np.asarray(alpha, dtype=np.float64), N.shape)
    rows = gammaln(a.sum(axis=-1)) - gammaln(a.sum(axis=-1) + N.sum(axis=-1))
    return float(rows.sum() + (gammaln(a + N) - gammaln(a)).sum())


def sequential_log_probability(states: ArrayLike, alpha: ArrayLike) -> float:
    """The same for one node, as a product of predictions: (alpha_k + N_k before the row) / (alpha + rows before it)."""
    seen = np.array(alpha, dtype=np.float64)
    total = 0.0
    for state in np.asarray(states, dtype=np.int64):
        total += log(seen[state] / seen.sum())
        seen[state] += 1
    return total


@dataclass(frozen=True)
class StructurePrior:
    """log P(structure), up to a constant, as a sum over families: `per_edge` is subtracted for each edge; `in_degree`
    gives every number of parents the same probability, divided among the sets of that size.
    """

    per_edge: float = 0.0
    in_degree: bool = False

    def family(self, parents: int, variables: int) -> float:
        """The term of a family with this many parents among this many variables."""
        sets = lgamma(variables) - lgamma(parents + 1) - lgamma(variables - parents) if self.in_degree else 0.0
        return -self.per_edge * parents - sets


def _positive(value: float, name: str) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} must be a positive number; got {value!r}")
    return float(value)
