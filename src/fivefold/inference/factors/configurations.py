"""The most probable configurations of a product of factors: the best, the k best, and marginal MAP.

    max over x of prod f(x)      by elimination in (max, +) on logarithms, each step with back-pointers:
    pointer(rest) = argmax over the eliminated variable, so that the states are read off in the reverse order.

Following pointers, ties are broken the same way everywhere, so what is found is one configuration and not a mixture of
several. For the k best, a cell of a table holds its k largest values, and a pointer says from which values of the
tables of the step each was made. Marginal MAP sums some variables out first and maximises over the others.

Viterbi (1967); Nilsson (1998), An efficient algorithm for finding the M most probable configurations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from fivefold.core.types import Doubles, Indices
from fivefold.inference.factors.elimination_order import DEFAULT_MEMORY, Order, check_memory, elimination_order
from fivefold.inference.factors.factor import Cards, Factor, checked_cards
from fivefold.inference.factors.semirings import LOG_SUM_EXP
from fivefold.inference.factors.variable_elimination import Pool, sum_out


@dataclass(frozen=True)
class Configuration:
    """A state for each variable, and the log of the product of the factors there."""

    states: dict[int, int]
    log_value: float


def most_probable(
    factors: Iterable[Factor],
    cards: Cards,
    evidence: Mapping[int, int] | None = None,
    order: Order | None = None,
    memory: float = DEFAULT_MEMORY,
) -> Configuration:
    """The configuration of the largest product, with the observed states.

    Examples
    --------
    >>> coins = Factor((0, 1), np.array([[0.3, 0.3], [0.4, 0.0]]))
    >>> most_probable([coins], [2, 2]).states
    {0: 1, 1: 0}
    """
    best = top_configurations(factors, cards, 1, evidence, order, memory)
    if not best:
        raise ValueError("No configuration has a positive probability: the evidence, or the tables, contradict.")
    return best[0]


def top_configurations(
    factors: Iterable[Factor],
    cards: Cards,
    k: int,
    evidence: Mapping[int, int] | None = None,
    order: Order | None = None,
    memory: float = DEFAULT_MEMORY,
) -> list[Configuration]:
    """The k configurations of the largest products, falling; fewer where fewer have a positive product."""
    if k < 1:
        raise ValueError(f"k is at least 1; got {k}.")
    evidence = dict(evidence or {})
    logs = _logs(factors, cards, evidence)
    if order is None:
        order = elimination_order([f.variables for f in logs], cards)
    check_memory(order, order.largest * k * k, memory)
    return [Configuration({**evidence, **c.states}, c.log_value) for c in _trace_back(logs, order.order, k)]


def marginal_map(
    factors: Iterable[Factor],
    maximised: Sequence[int],
    cards: Cards,
    evidence: Mapping[int, int] | None = None,
    memory: float = DEFAULT_MEMORY,
) -> Configuration:
    """The most probable states of `maximised` when the other variables are summed out."""
    logs = _logs(factors, cards, dict(evidence or {}))
    held = {v for f in logs for v in f.variables}
    if missing := [v for v in maximised if v not in held]:
        raise ValueError(f"Marginal MAP over variables {missing}: they are observed, or no factor has them.")
    scopes = [f.variables for f in logs]
    first = elimination_order(scopes, cards, keep=maximised)
    left = [set(scope) for scope in scopes]
    for clique in first.cliques:
        left = [scope for scope in left if clique[0] not in scope] + [set(clique[1:])]
    second = elimination_order([tuple(scope) for scope in left], cards)
    largest = max([prod(cards[v] for v in clique) for clique in first.cliques] + [second.largest])
    check_memory(first if first.largest == largest else second, largest, memory)
    best = _trace_back(sum_out(logs, first.order, LOG_SUM_EXP), second.order, 1)
    if not best:
        raise ValueError("No configuration has a positive probability: the evidence, or the tables, contradict.")
    return best[0]


@dataclass(frozen=True)
class Ranked:
    """A table whose cells hold k falling values, with how they came about."""

    factor: Factor  # (..., k)
    step: Step | None  # None for a factor that was given


@dataclass(frozen=True)
class Step:
    """An eliminated variable: which state, and which value of each table, made each value of the new table."""

    variable: int
    inputs: list[Ranked]
    chosen: Indices  # (..., k) state times k plus rank in the product
    ranks: list[Indices]  # rank of the product so far, times the values of the next input, plus its rank: (..., k)
    union: tuple[int, ...]  # axes of the product, `variable` last


def _trace_back(logs: Sequence[Factor], order: Sequence[int], k: int) -> list[Configuration]:
    """Eliminate with pointers and follow them back for each of the k best."""
    tables: Pool[Ranked] = Pool()
    for factor in logs:
        tables.add(Ranked(Factor(factor.variables, factor.table[..., None]), None), factor.variables)
    for variable in order:
        ranked = _eliminated(tables.take(variable), variable, k)
        tables.add(ranked, ranked.factor.variables)
    pool = tables.left()
    final = _product(pool, (), k)
    found = []
    for rank, value in enumerate(final[0]):
        if np.isneginf(value):
            break
        states: dict[int, int] = {}
        ahead = list(zip(pool, _unwound(final[1], (), rank, pool), strict=True))
        while ahead:  # a table's step has only variables that were eliminated later, so their states are known
            ranked, own = ahead.pop()
            if (step := ranked.step) is not None:
                at = tuple(states[v] for v in ranked.factor.variables)
                states[step.variable], in_product = divmod(int(step.chosen[(*at, own)]), k)
                cell = tuple(states[v] for v in step.union)
                ahead += zip(step.inputs, _unwound(step.ranks, cell, in_product, step.inputs), strict=True)
        found.append(Configuration(dict(sorted(states.items())), float(value)))
    return found


def _eliminated(held: list[Ranked], variable: int, k: int) -> Ranked:
    rest = tuple(dict.fromkeys(v for r in held for v in r.factor.variables if v != variable))
    union = (*rest, variable)
    values, ranks = _product(held, union, k)
    padded = np.full((*values.shape[:-1], k), -np.inf)
    padded[..., : values.shape[-1]] = values
    best, chosen = _largest(padded.reshape(*padded.shape[:-2], -1), k)
    return Ranked(Factor(rest, best), Step(variable, held, chosen, ranks, union))


def _product(held: list[Ranked], union: tuple[int, ...], k: int) -> tuple[Doubles, list[Indices]]:
    """The k largest sums of one value of each table, and for each table after the first where they came from."""
    if not held:
        return np.zeros(1), []
    values = held[0].factor.aligned(union)
    ranks = []
    for ranked in held[1:]:
        other = ranked.factor.aligned(union)
        pairs = values[..., :, None] + other[..., None, :]
        values, chosen = _largest(pairs.reshape(*pairs.shape[:-2], -1), k)
        ranks.append(chosen)
    return values, ranks


def _unwound(ranks: list[Indices], cell: tuple[int, ...], rank: int, inputs: list[Ranked]) -> list[int]:
    """Which value of each input made the value of this rank in a product."""
    found = []
    for chosen, ranked in zip(reversed(ranks), reversed(inputs), strict=False):
        # axes of length one belong to variables that the tables so far do not have
        at = tuple(min(state, size - 1) for state, size in zip(cell, chosen.shape, strict=False))
        rank, own = divmod(int(chosen[(*at, rank)]), ranked.factor.table.shape[-1])
        found.append(own)
    return [rank, *reversed(found)] if inputs else []


def _largest(candidates: Doubles, k: int) -> tuple[Doubles, Indices]:
    """The k largest along the last axis, falling, with their places; the first place wins a tie."""
    if k == 1:
        places = candidates.argmax(axis=-1)[..., None]
    else:
        places = np.argsort(-candidates, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(candidates, places, axis=-1), places


def _logs(factors: Iterable[Factor], cards: Cards, evidence: Mapping[int, int]) -> list[Factor]:
    given = list(factors)
    checked_cards(given, cards)
    with np.errstate(divide="ignore"):
        return [Factor(f.variables, np.log(f.table)) for f in (g.condition(evidence) for g in given)]
