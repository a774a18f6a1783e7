"""Approximate answers to queries: messages in loops, mean field, draws.

loopy                  belief propagation on any graph: variables that share a factor, or single ones
mean_field             a product of distributions of single variables, with a lower bound on log Z
gibbs                  draws of all variables by a Markov chain
likelihood_weighting   draws of a Bayesian network, weighted by the likelihood of the evidence
rejection              draws of a Bayesian network that agree with the evidence
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from fivefold.core.types import Codes, Doubles
from fivefold.graphical.queries.query_engines import Cards
from fivefold.inference.approximate.gibbs_sampling import gibbs
from fivefold.inference.approximate.loopy_propagation import loopy_propagation
from fivefold.inference.approximate.mean_field import mean_field
from fivefold.inference.approximate.weighted_sampling import likelihood_weighting, rejection_sampling
from fivefold.inference.factors.factor import Factor, product

Approximation: TypeAlias = Literal["loopy", "mean_field", "gibbs", "likelihood_weighting", "rejection"]
Answer: TypeAlias = tuple[Doubles, float]  # P(ask | evidence), and what is known of the log probability of the evidence


def approximate_answer(
    factors: Sequence[Factor],
    ask: tuple[int, ...],
    cards: Cards,
    evidence: Mapping[int, int],
    likelihoods: Mapping[int, Doubles],
    via: Approximation,
    options: Mapping[str, Any],
) -> Answer:
    """The table of `ask` with axes in their order, normalised, and the log probability of the evidence or NaN."""
    if via in WEIGHTED:
        samples = WEIGHTED[via](factors, cards, evidence, **options)
        weights = samples.weights
        for i, values in likelihoods.items():
            weights = weights * values[samples.states[:, i]]
        return _shares(samples.states, ask, cards, weights), float(samples.log_evidence + math.log(weights.sum()))
    pool = [*factors, *(Factor((i,), values) for i, values in likelihoods.items())]
    if via == "gibbs":
        drawn = gibbs(pool, cards, evidence, kept=ask, **options)
        states = drawn.states.reshape(-1, len(ask))
        columns = dict(zip(ask, states.T, strict=True))
        return _shares(columns, ask, cards, np.full(len(states), 1 / len(states))), math.nan
    if via == "mean_field":
        field = mean_field(pool, cards, evidence, **options)
        tables = product([Factor((i,), field.marginal(i)) for i in ask])
        return tables.transpose(ask).table, float(field.log_partition)
    found = loopy_propagation(pool, cards, evidence, **options)
    if len(ask) == 1:
        return found.marginal(ask[0]), float(found.log_partition)
    holding = next((k for k, factor in enumerate(pool) if set(ask) <= set(factor.variables)), None)
    if holding is None:
        raise ValueError("loopy propagation answers for one variable, or for several that one table of the model holds")
    belief = found.factor_marginal(holding)
    for i in set(belief.variables) - set(ask):
        belief = belief.eliminate(i)
    return belief.transpose(ask).normalise().table, float(found.log_partition)


def _shares(states: Codes | Mapping[int, Codes], ask: tuple[int, ...], cards: Cards, weights: Doubles) -> Doubles:
    """The weight of draws in each cell of the table of `ask`."""
    columns = states if isinstance(states, Mapping) else {i: states[:, i] for i in ask}
    shape = tuple(cards[i] for i in ask)
    cells = np.ravel_multi_index(tuple(columns[i] for i in ask), shape)
    found = np.bincount(cells, weights, minlength=math.prod(shape)).reshape(shape)
    if not found.sum() > 0:
        raise ValueError("no draw agrees with the evidence: it is impossible, or too rare for so few draws")
    return np.asarray(found / found.sum())


WEIGHTED: dict[str, Callable[..., Any]] = {
    "likelihood_weighting": likelihood_weighting,
    "rejection": rejection_sampling,
}
