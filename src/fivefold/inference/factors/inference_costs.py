"""What inference on some factors costs, before any is done, and which engine it asks for.

enumeration      z^(n - 1) terms for each state of a marginal
tree messages    two messages per edge, each z^2 products, if factors join at most two variables without a cycle
junction tree    the cells of the cliques
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from fivefold.inference.factors.elimination_order import (
    BYTES_PER_CELL,
    DEFAULT_MEMORY,
    elimination_order,
)
from fivefold.inference.factors.enumeration import MAX_CELLS
from fivefold.inference.factors.factor import Cards
from fivefold.inference.factors.message_schedule import is_forest, neighbours_of

Engine = Literal["enumeration", "tree", "junction_tree", "loopy"]


@dataclass(frozen=True)
class InferenceCosts:
    """Terms, products and cells; `tree_messages` is None where the factors are no pairwise tree."""

    enumeration: int
    tree_messages: int | None
    junction_tree: int
    width: int
    bytes: int  # of the tables of the junction tree
    engine: Engine  # the cheapest that is exact and fits, or else loopy


def inference_costs(scopes: Iterable[Sequence[int]], cards: Cards, memory: float = DEFAULT_MEMORY) -> InferenceCosts:
    """The costs of each engine for factors of these scopes.

    Examples
    --------
    >>> tree = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]
    >>> costs = inference_costs(tree, [2] * 6)
    >>> costs.enumeration, costs.tree_messages
    (32, 40)
    """
    scopes = [tuple(scope) for scope in scopes]
    variables = sorted({v for scope in scopes for v in scope})
    states = [int(cards[v]) for v in variables]
    enumeration = prod(states) // min(states, default=1)
    pairs = [(scope[0], scope[1]) for scope in scopes if len(scope) == 2]
    pairwise = max(map(len, scopes), default=0) <= 2
    messages = None
    if pairwise and is_forest(neighbours_of(pairs, variables)):
        messages = sum(2 * cards[a] * cards[b] for a, b in pairs)
    order = elimination_order(scopes, cards, method="auto")
    size = 2 * order.cost * BYTES_PER_CELL
    engine: Engine = "loopy"
    if size <= memory:
        engine = "junction_tree"
    if messages is not None:
        engine = "tree"
    if prod(states) <= MAX_CELLS and enumeration <= (order.cost if messages is None else messages):
        engine = "enumeration"
    return InferenceCosts(enumeration, messages, order.cost, order.width, size, engine)
