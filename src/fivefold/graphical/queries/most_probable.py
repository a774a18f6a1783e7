"""The most probable states: of all variables (MPE), or of some with the others summed out (marginal MAP).

    MPE    argmax_x P(x | e)                         one pass of max-sum elimination, and a pass back
    MAP    argmax_a sum_h P(a, h | e)                sums first, then maxima: the order is constrained, and costs more

Each step of the elimination keeps the table that it maximises; read backwards, at the states found so far, these give
the states. Dechter (1999), Bucket elimination; Park & Darwiche (2004) for marginal MAP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.graphical.queries.query_engines import Cards
from fivefold.graphical.variables import State
from fivefold.inference.factors.elimination_order import check_memory, elimination_order, order_of
from fivefold.inference.factors.factor import Factor, product
from fivefold.inference.factors.semirings import LOG_SUM_EXP, MAX_SUM, Semiring


@dataclass(frozen=True)
class Explanation:
    """States that together are most probable given the evidence."""

    states: dict[str, State]
    probability: float  # of these states given the evidence
    log_score: float  # log of the product of the factors at these states, or of its sum over the other variables

    def __getitem__(self, name: str) -> State:
        return self.states[name]


def best_states(factors: Sequence[Factor], ask: Sequence[int], cards: Cards) -> tuple[dict[int, int], float]:
    """Codes of `ask` at which the product of the factors, summed over all other variables, is largest, and its log."""
    with np.errstate(divide="ignore"):
        pool = [Factor(factor.variables, np.log(factor.table)) for factor in factors]
    scopes = [factor.variables for factor in pool]
    first = elimination_order(scopes, cards, keep=tuple(ask))
    left = [tuple(v for v in clique[1:] if v in set(ask)) for clique in first.cliques]
    kept = [tuple(v for v in scope if v in set(ask)) for scope in scopes]
    second = elimination_order([*left, *kept], cards)
    whole = order_of((*first.order, *second.order), scopes, cards)
    check_memory(whole, whole.largest)
    for variable in first.order:
        pool, _ = _step(pool, variable, LOG_SUM_EXP)
    steps: list[tuple[int, Factor]] = []
    for variable in second.order:
        pool, held = _step(pool, variable, MAX_SUM)
        steps.append((variable, held))
    codes: dict[int, int] = {}
    for variable, held in reversed(steps):
        codes[variable] = int(np.argmax(held.condition(codes).table))
    free = {v: 0 for v in ask if v not in codes}  # no factor has it: every state is as good
    return codes | free, float(product(pool, MAX_SUM).table)


def _step(pool: list[Factor], variable: int, semiring: Semiring) -> tuple[list[Factor], Factor]:
    held = product([factor for factor in pool if variable in factor.variables], semiring)
    rest = [factor for factor in pool if variable not in factor.variables]
    return [*rest, held.eliminate(variable, semiring)], held
