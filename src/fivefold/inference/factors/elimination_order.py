"""In which order to sum variables out, and what it will cost, before anything is allocated.

Eliminating a variable joins its neighbours; the largest clique so made, less one, is the width of the order, and the
smallest width over all orders is the tree width. Finding it is NP-hard, so variables are chosen greedily:

    min_fill    fewest new edges between its neighbours, then the smallest table
    min_width   fewest neighbours, then fewest new edges
    weighted    smallest table: the product of the numbers of states of the variable and its neighbours
    auto        the cheaper of min_fill and weighted
    exact       the smallest width, by dynamic programming over subsets, for at most 20 variables

Kjaerulff (1990), Triangulation of graphs; Bodlaender et al. (2012), On exact algorithms for treewidth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod

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

    def copy(self) -> Graph:
        """The same graph, to eliminate from."""
        return Graph(self.variables, self.cards, list(self.neighbours))

    def cells(self, mask: int) -> int:
        """Cells of a table over these positions."""
        return prod(self.cards[i] for i in bits(mask))

    def fill(self, i: int) -> int:
        """Edges that eliminating position i would add."""
        around = self.neighbours[i]
        return sum((around & ~self.neighbours[j]).bit_count() - 1 for j in bits(around)) // 2

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


Score = Callable[[Graph, int], tuple[int, ...]]

SCORES: dict[str, Score] = {
    "min_fill": lambda graph, i: (graph.fill(i), graph.cells(graph.neighbours[i] | 1 << i)),
    "min_width": lambda graph, i: (graph.neighbours[i].bit_count(), graph.fill(i)),
    "weighted": lambda graph, i: (graph.cells(graph.neighbours[i] | 1 << i), graph.fill(i)),
}


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
        orders = [_trace(graph.copy(), _greedy(graph.copy(), free, SCORES[name])) for name in ("min_fill", "weighted")]
        return min(orders, key=lambda order: order.cost)
    if method == "exact":
        chosen = _exact(graph, free)
    elif method in SCORES:
        chosen = _greedy(graph.copy(), free, SCORES[method])
    else:
        raise ValueError(f"method is one of {', '.join([*SCORES, 'auto', 'exact'])}; got {method!r}.")
    return _trace(graph, chosen)


def order_of(order: Iterable[int], scopes: Iterable[Sequence[int]], cards: Cards, keep: Sequence[int] = ()) -> Order:
    """Width and cost of an order that the caller chose."""
    graph = Graph.of(scopes, cards, keep)
    position = {v: i for i, v in enumerate(graph.variables)}
    order = tuple(order)
    if sorted(order) != sorted(set(graph.variables) - set(keep)):
        raise ValueError("An elimination order names every variable that is not kept, once.")
    return _trace(graph, [position[v] for v in order])


def check_memory(order: Order, cells: int, memory: float = DEFAULT_MEMORY) -> None:
    """Refuse, before anything is allocated, tables of so many cells if they need more bytes than `memory`."""
    if cells * BYTES_PER_CELL > memory:
        raise ValueError(
            f"Exact inference is too large here: the best order found has width {order.width}, its largest table has "
            f"{_brief(order.largest)} cells, and the tables need {_brief(cells * BYTES_PER_CELL)} bytes, more than "
            f"the {_brief(int(memory))} allowed. Raise `memory`, observe more variables, or use approximate inference."
        )


def _brief(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"10^{len(str(number)) - 1}"


def _greedy(graph: Graph, free: list[int], score: Score) -> list[int]:
    """Eliminate the variable of the smallest score, again and again; ties go to the smallest variable."""
    current = {i: score(graph, i) for i in free}
    heap = [(value, i) for i, value in current.items()]
    heapify(heap)
    order = []
    while current:
        value, i = heappop(heap)
        if current.get(i) != value:
            continue  # an older score of this variable
        del current[i]
        order.append(i)
        around = graph.eliminate(i)
        touched = around
        for j in bits(around):
            touched |= graph.neighbours[j]
        for j in bits(touched):
            if j in current and (value := score(graph, j)) != current[j]:
                current[j] = value
                heappush(heap, (value, j))
    return order


def _trace(graph: Graph, order: Sequence[int]) -> Order:
    """What the order costs: its cliques and their tables; what is kept is one table at the end."""
    cliques = []
    left = (1 << len(graph.variables)) - 1
    for i in order:
        cliques.append((i, *bits(graph.eliminate(i))))
        left &= ~(1 << i)
    sizes = [prod(graph.cards[i] for i in clique) for clique in cliques] + [graph.cells(left)]
    widest = max([len(clique) for clique in cliques] + [left.bit_count()])
    return Order(
        order=tuple(graph.variables[i] for i in order),
        width=max(widest - 1, 0),
        cost=sum(sizes),
        largest=max(sizes),
        cliques=tuple(tuple(graph.variables[i] for i in clique) for clique in cliques),
    )


def _exact(graph: Graph, free: list[int]) -> list[int]:
    """The order of smallest width, by dynamic programming over the sets of variables eliminated first.

    After a set S is gone, eliminating i joins the variables that i reaches through S: their number depends on S, not on
    the order within it. Sets are visited by size, and only those whose width is at most that of the greedy order.
    """
    if len(free) > MAX_EXACT_VARIABLES:
        raise ValueError(
            f"The exact order steps through subsets of at most {MAX_EXACT_VARIABLES} variables; here are {len(free)}."
        )
    greedy = _greedy(graph.copy(), free, SCORES["min_fill"])
    bound = max((len(clique) - 1 for clique in _trace(graph.copy(), greedy).cliques), default=0)
    layer: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for _ in free:
        following: dict[int, tuple[int, tuple[int, ...]]] = {}
        for gone, (width, order) in layer.items():
            for i in free:
                if gone >> i & 1:
                    continue
                wider = max(width, _reach(graph, gone, i).bit_count())
                if wider > bound:
                    continue
                after = gone | 1 << i
                if after not in following or wider < following[after][0]:
                    following[after] = (wider, (*order, i))
        layer = following
    return list(next(iter(layer.values()))[1]) if layer else greedy


def _reach(graph: Graph, gone: int, i: int) -> int:
    """Positions outside `gone` that i reaches by a path whose inner positions are all in `gone`."""
    seen, ahead = 1 << i, graph.neighbours[i]
    found = 0
    while ahead := ahead & ~seen:
        seen |= ahead
        found |= ahead & ~gone
        nxt = 0
        for j in bits(ahead & gone):
            nxt |= graph.neighbours[j]
        ahead = nxt
    return found
