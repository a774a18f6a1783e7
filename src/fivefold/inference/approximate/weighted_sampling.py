"""Draws with weights: forward sampling of a directed network, rejection, likelihood weighting, importance sampling.

    P(f | e) is about sum_s w_s f(x_s) / sum_s w_s          P(e) is about mean_s w_s

forward        variables are drawn parents first, w = 1; where there is evidence, rejection keeps the draws that agree
likelihood     observed variables are not drawn: w = product of their probabilities given their parents
importance     drawn from any q that is positive where p is: w = p~(x) / q(x)

Weights that differ much are worth few draws: (sum w)^2 / sum w^2 of them.

Henrion (1988) for forward sampling and rejection; Fung & Chang (1990) and Shachter & Peot (1990) for weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivefold.core.random_state import check_random_state
from fivefold.core.types import Codes, Doubles, Rng
from fivefold.inference.approximate.chain_samples import Estimate
from fivefold.inference.approximate.factor_arrays import flat_factors
from fivefold.inference.factors.factor import Factor


@dataclass(frozen=True)
class WeightedSamples:
    """Independent draws of all variables, and the log weight of each."""

    states: NDArray[Any]  # (draws, variables)
    log_weights: Doubles  # (draws,)

    @cached_property
    def weights(self) -> Doubles:
        """(draws,) that sum to one; refused where all are zero."""
        if not len(self.log_weights) or self.log_weights.max() == -np.inf:
            raise ValueError("no draw agrees with the evidence: it is impossible, or too rare for so few draws")
        scaled = np.exp(self.log_weights - self.log_weights.max())
        found: Doubles = scaled / scaled.sum()
        return found

    @property
    def effective_size(self) -> float:
        """Draws of equal weight that would say as much."""
        return float(1.0 / (self.weights**2).sum())

    @property
    def log_evidence(self) -> float:
        """Log of the mean weight: the probability of the evidence, or Z of factors that are not normalised."""
        top = self.log_weights.max(initial=-np.inf)
        return float(top + np.log(np.exp(self.log_weights - top).mean())) if top > -np.inf else -np.inf

    @property
    def log_evidence_error(self) -> float:
        """Standard error of `log_evidence`, to first order."""
        return float(np.sqrt(max(1.0 / self.effective_size - 1.0 / len(self.weights), 0.0)))

    def estimate(self, function: Callable[[NDArray[Any]], Any]) -> Estimate:
        """The mean of a function of (draws, variables) states; of a truth value, its probability."""
        values = np.asarray(function(self.states), dtype=np.float64)
        mean = float(self.weights @ values)
        return Estimate(mean, float(np.sqrt((self.weights**2) @ (values - mean) ** 2)), self.effective_size)

    def marginal(self, variable: int, card: int) -> Doubles:
        """Probabilities of the states of a variable."""
        shares: Doubles = np.bincount(self.states[:, variable], self.weights, card).astype(np.float64)
        return shares


@dataclass(frozen=True)
class RejectionSamples(WeightedSamples):
    """The draws that agree with the evidence, all of the same weight."""

    tried: int

    @property
    def log_evidence(self) -> float:
        """Log of the share of draws that agree."""
        return float(np.log(len(self.states) / self.tried)) if len(self.states) else -np.inf


def likelihood_weighting(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int] | None = None,
    *,
    draws: int = 10_000,
    random_state: int | Rng | None = 0,
) -> WeightedSamples:
    """Draws of a directed network: factor p(child | parents) has its child as the last variable.

    Without evidence all weights are equal: direct sampling.

    Examples
    --------
    >>> rain, wet = Factor((0,), np.array([0.8, 0.2])), Factor((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> samples = likelihood_weighting([rain, wet], (2, 2), {1: 1}, draws=20_000, random_state=0)
    >>> print(samples.estimate(lambda states: states[:, 0] == 1))
    0.6657 +- 0.0039
    """
    observed, rng = dict(evidence or {}), check_random_state(random_state)
    states, log_weights = np.zeros((draws, len(cards)), dtype=np.int32), np.zeros(draws)
    for factor in parents_first(factors, len(cards)):
        *parents, child = factor.variables
        rows = states[:, parents]
        if child in observed:
            if not 0 <= observed[child] < cards[child]:
                raise ValueError(f"evidence: variable {child} has no state {observed[child]}")
            states[:, child] = observed[child]
            with np.errstate(divide="ignore"):
                log_weights += np.log(factor.table[(*rows.T, observed[child])])
        else:
            states[:, child] = draw_rows(factor.table, rows, rng)
    return WeightedSamples(states, log_weights)


def rejection_sampling(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int],
    *,
    draws: int = 10_000,
    random_state: int | Rng | None = 0,
) -> RejectionSamples:
    """Draws of a network that agree with the evidence, out of this many: a baseline, wasteful if it is rare."""
    states = likelihood_weighting(factors, cards, draws=draws, random_state=random_state).states
    kept = states[(states[:, list(evidence)] == list(evidence.values())).all(axis=1)]
    return RejectionSamples(kept, np.zeros(len(kept)), draws)


def importance_sampling(
    factors: Sequence[Factor],
    cards: Sequence[int],
    proposal: Sequence[ArrayLike],
    evidence: Mapping[int, int] | None = None,
    *,
    draws: int = 10_000,
    random_state: int | Rng | None = 0,
) -> WeightedSamples:
    """Draws for any factors, from a proposal with a distribution per variable: beliefs of mean field or of messages."""
    rng, graph = check_random_state(random_state), flat_factors(factors, cards, evidence)
    states, log_q = np.zeros((draws, len(cards)), dtype=np.int32), np.zeros(draws)
    for variable, probabilities in enumerate(proposal):
        if variable in (evidence or {}):
            states[:, variable] = (evidence or {})[variable]
            continue
        q = np.asarray(probabilities, dtype=np.float64)
        states[:, variable] = draw_rows(q / q.sum(), states[:, []], rng)
        log_q += np.log(q[states[:, variable]] / q.sum())
    return weighted(states, graph.log_score(states), log_q)


def weighted(states: NDArray[Any], log_target: ArrayLike, log_proposal: ArrayLike) -> WeightedSamples:
    """Draws of any proposal with the weights that make them draws of a target: logs of both densities at them."""
    logs = np.asarray(log_target, dtype=np.float64) - np.asarray(log_proposal, dtype=np.float64)
    if np.isnan(logs).any() or (logs == np.inf).any():
        raise ValueError("a draw of the proposal has proposal density zero, or a density that is not a number")
    return WeightedSamples(np.asarray(states), logs)


def parents_first(factors: Sequence[Factor], count: int) -> list[Factor]:
    """Factors p(child | parents), child last, in an order in which parents come before children."""
    by_child = {factor.variables[-1]: factor for factor in factors if factor.variables}
    if len(by_child) != len(factors) or set(by_child) != set(range(count)):
        raise ValueError("forward sampling needs one factor p(child | parents) per variable, with the child last")
    for child, factor in by_child.items():
        if not np.allclose(factor.table.sum(axis=-1), 1.0):
            raise ValueError(f"forward sampling: the table of variable {child} does not sum to one over its states")
    try:
        order = TopologicalSorter({child: factor.variables[:-1] for child, factor in by_child.items()}).static_order()
        return [by_child[child] for child in order]
    except CycleError as error:
        raise ValueError(f"forward sampling: parents and children form a cycle {error.args[1]}") from None


def draw_rows(table: Doubles, parent_codes: Codes, rng: Rng) -> Codes:
    """A state per row of `parent_codes` (n, parents), drawn from the row of the table that these select."""
    shape, K = table.shape[:-1], table.shape[-1]
    row = np.ravel_multi_index(tuple(parent_codes.T), shape) if shape else np.zeros(len(parent_codes), dtype=np.intp)
    rows = table.reshape(-1, K)
    limits = np.cumsum(rows, axis=1)[:, :-1]
    # A state of probability zero at the end must not be drawn where rounding leaves the sum of the others below one.
    last = K - 1 - (rows[:, ::-1] > 0).argmax(axis=1)
    draws = (rng.random_sample(len(row))[:, None] >= limits[row]).sum(axis=1)
    return np.minimum(draws, last[row]).astype(np.int32)
