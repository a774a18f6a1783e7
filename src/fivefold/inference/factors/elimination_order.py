"""In which order to sum variables out, and what it will cost, before anything is allocated.

Eliminating a variable joins its neighbours; the largest clique so made, less one, is the width of the order, and the
smallest width over all orders is the tree width. Finding it is NP-hard, so variables are chosen greedily:

    min_fill    fewest new edges between its neighbours, then the smallest table
    min_width   fewest neighbours, then fewest new edges
    weighted    smallest table: the product of the numbers of states of the variable and its neighbours
    auto        the cheaper of min_fill and weighted
    exact       the cheapest order of the smallest width, by dynamic programming over subsets of at most 20 variables

Kjaerulff (1990), Triangulation of graphs; Bodlaender et al. (2012), On exact algorithms for treewidth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from fivefold.inference.factors.elimination_order_loops import (
    MIN_FILL,
    MIN_WIDTH,
    WEIGHTED,
    exact_order,
    greedy_order,
)
from fivefold.inference.factors.factor import Cards

# Subsets of this many variables can be stepped through in about a second.
MAX_EXACT_VARIABLES = 20
# Bytes that the tables of one inference may take unless the caller says otherwise: 2 GiB.
DEFAULT_MEMORY = 2**31
BYTES_PER_CELL = 8


@dataclass(frozen=True)
class Order:
    """An elimination order, with the tables it will make."""

    order: tuple[int, ...]
    width: int  # variables of the largest table, less one
    cost: int  # cells of all tables together
    largest: int  # cells of the largest table
    cliques: tuple[tuple[int, ...], ...]  # variables of the table of each step, the one that goes first


@dataclass
class Graph:
    """Neighbours of each variable as bits of whole numbers; positions stand for variables."""

    variables: list[int]
    cards: list[int]
    neighbours: list[int]

    @classmethod
    def of(cls, scopes: Iterable[Sequence[int]], cards: Cards, extra: Sequence[int] = ()) -> Graph:
        """Variables are joined when a scope holds both."""
        scopes = [tuple(scope) for scope in scopes]
        variables = sorted({v for scope in scopes for v in scope} | set(extra))
        position = {v: i for i, v in enumerate(variables)}
        neighbours = [0] * len(variables)
        for scope in scopes:
            mask = 0
            for v in scope:
                mask |= 1 << position[v]
            for v in scope:
                neighbours[position[v]] |= mask
        for i in range(len(variables)):
            neighbours[i] &= ~(1 << i)
        return cls(variables, [int(cards[v]) for v in variables], neighbours)

    def words(self) -> NDArray[np.uint64]:
        """The neighbours as rows of 64-bit words."""
        row_bytes = 8 * (len(self.variables) // 64 + 1)
        rows = b"".join(mask.to_bytes(row_bytes, "little") for mask in self.neighbours)
        return np.frombuffer(rows, dtype="<u8").astype(np.uint64).reshape(len(self.variables), row_bytes // 8)

    def eliminate(self, i: int) -> int:
        """Join the neighbours of position i and remove it; the neighbours."""
        around, own = self.neighbours[i], 1 << i
        for j in bits(around):
            self.neighbours[j] = (self.neighbours[j] | around) & ~(own | 1 << j)
        return around


def bits(mask: int) -> list[int]:
    """Positions of the ones of a whole number, rising."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


METHODS = {"min_fill": MIN_FILL, "min_width": MIN_WIDTH, "weighted": WEIGHTED}


def elimination_order(
    scopes: Iterable[Sequence[int]], cards: Cards, keep: Sequence[int] = (), method: str = "min_fill"
) -> Order:
    """An order for the variables of `scopes` that are not in `keep`.

    Examples
    --------
    >>> cycle = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> elimination_order(cycle, [2, 2, 2, 2], keep=[0]).width
    2
    """
    graph = Graph.of(scopes, cards, keep)
    free = [i for i, v in enumerate(graph.variables) if v not in set(keep)]
    if method == "auto":
        return min((_greedy(graph, free, name) for name in ("min_fill", "weighted")), key=lambda order: order.cost)
    if method == "exact":
        return _exact(graph, free)
    if method not in METHODS:
        raise ValueError(f"method is one of {', '.join([*METHODS, 'auto', 'exact'])}; got {method!r}.")
    return _greedy(graph, free, method)


def order_of(order: Iterable[int], scopes: Iterable[Sequence[int]], cards: Cards, keep: Sequence[int] = ()) -> Order:
    """Width and cost of an order that the caller chose."""
    graph = Graph.of(scopes, cards, keep)
    position = {v: i for i, v in enumerate(graph.variables)}
    order = tuple(order)
    if sorted(order) != sorted(set(graph.variables) - set(keep)):
        raise ValueError("An elimination order names every variable that is not kept, once.")
    return _described(graph, [(position[v], *bits(graph.eliminate(position[v]))) for v in order])


def check_memory(order: Order, cells: int, memory: float = DEFAULT_MEMORY) -> None:
    """Refuse, before anything is allocated, tables of this many cells if they need more bytes than `memory`."""
    if cells * BYTES_PER_CELL > memory:
        raise ValueError(
            f"Exact inference is too large here: the best order found has width {order.width}, its largest table has "
            f"{_brief(order.largest)} cells, and the tables need {_brief(cells * BYTES_PER_CELL)} bytes, more than "
            f"the {_brief(int(memory))} allowed. Raise `memory`, observe more variables, or use approximate inference."
        )


def _brief(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"10^{len(str(number)) - 1}"


def _greedy(graph: Graph, free: list[int], method: str) -> Order:
    """Eliminate the variable of the smallest score, again and again; ties go to the smallest variable."""
    n, words = len(graph.variables), graph.words()
    alive = np.zeros(n, dtype=np.bool_)
    alive[free] = True
    log_cards = np.log2(np.array(graph.cards, dtype=np.float64))
    order, (around, others) = np.empty(len(free), dtype=np.int64), np.empty((2, n), dtype=np.int64)
    room = np.ones(n, dtype=np.bool_), np.empty((n, 2)), around, others
    greedy_order(words, log_cards, alive, METHODS[method], order, *room)
    neighbours = (bits(int.from_bytes(words[i].astype("<u8").tobytes(), "little")) for i in order)
    return _described(graph, [(int(i), *rest) for i, rest in zip(order, neighbours, strict=True)])


def _exact(graph: Graph, free: list[int]) -> Order:
    """The cheapest of the orders of smallest width."""
    if len(free) > MAX_EXACT_VARIABLES or len(graph.variables) > 64:
        raise ValueError(
            f"The exact order steps through subsets of at most {MAX_EXACT_VARIABLES} variables; here are {len(free)}."
        )
    best = _greedy(graph, free, "min_fill")
    widest = max((len(clique) - 1 for clique in best.cliques), default=0)
    neighbours, cards = graph.words()[:, 0].copy(), np.array(graph.cards, dtype=np.float64)
    order = np.array(free, dtype=np.int64)
    for limit in range(1, widest + 1):
        cost, last = np.full(2 ** len(free), np.inf), np.zeros(2 ** len(free), dtype=np.int8)
        cost[0] = 0.0
        if exact_order(neighbours, cards, np.array(free, dtype=np.int64), limit, cost, last, order):
            scratch = Graph(graph.variables, graph.cards, list(graph.neighbours))
            return _described(graph, [(i, *bits(scratch.eliminate(i))) for i in order.tolist()])
    return best


def _described(graph: Graph, cliques: list[tuple[int, ...]]) -> Order:
    """What the cliques of an order cost; the variables that are kept are one more table at the end."""
    gone = {clique[0] for clique in cliques}
    tables = [*cliques, tuple(i for i in range(len(graph.variables)) if i not in gone)]
    sizes = [prod(graph.cards[i] for i in table) for table in tables]
    named = tuple(tuple(graph.variables[i] for i in clique) for clique in cliques)
    return Order(
        order=tuple(clique[0] for clique in named),
        width=max(len(table) for table in tables) - 1 if graph.variables else 0,
        cost=sum(sizes),
        largest=max(sizes),
        cliques=named,
    )
