"""Graphs of tree width two with their junction trees: ladders, and series-parallel graphs.

A series-parallel graph has two terminals. It is an edge; or two such graphs in a row, the second beginning where the
first ends; or two side by side, with the same terminals. Its junction tree grows with it, and always has a bag with
both terminals: {a, b} for an edge, one more bag {a, b, c} for a series a-b-c, nothing new for a parallel pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fivefold.inference.factors.clique_tree import CliqueTree, tree_of_bags


def ladder(rungs: int) -> list[tuple[int, int]]:
    """Edges of a ladder: nodes 2 i and 2 i + 1 are the ends of rung i."""
    across = [(2 * i, 2 * i + 1) for i in range(rungs)]
    return across + [edge for i in range(rungs - 1) for edge in ((2 * i, 2 * i + 2), (2 * i + 1, 2 * i + 3))]


def ladder_tree(rungs: int) -> CliqueTree:
    """The path of bags {a_i, b_i, a_i+1}, {b_i, a_i+1, b_i+1}.

    Examples
    --------
    >>> ladder_tree(3).cliques
    ((0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5))
    """
    bags = [tuple(range(i, i + 3)) for i in range(2 * rungs - 2)] or [(0, 1)]
    return tree_of_bags(bags, [(k, k + 1) for k in range(len(bags) - 1)])


@dataclass(frozen=True)
class SeriesParallel:
    """An edge, if it has no parts, or two parts in series or in parallel."""

    source: int
    sink: int
    parts: tuple[SeriesParallel, ...] = ()

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Edges of the graph."""
        return [edge for part in self.parts for edge in part.edges] if self.parts else [(self.source, self.sink)]

    def junction_tree(self) -> CliqueTree:
        """The junction tree of width two, or of one for an edge or a path of edges in parallel."""
        bags: list[tuple[int, ...]] = []
        joined: list[tuple[int, int]] = []
        self._grow(bags, joined)
        return tree_of_bags(bags, joined)

    def _grow(self, bags: list[tuple[int, ...]], joined: list[tuple[int, int]]) -> int:
        """Add this graph's bags; the number of one that holds both terminals."""
        if not self.parts:
            bags.append((self.source, self.sink))
            return len(bags) - 1
        first, second = (part._grow(bags, joined) for part in self.parts)
        if {self.parts[0].source, self.parts[0].sink} == {self.source, self.sink}:  # in parallel
            joined.append((first, second))
            return first
        bags.append((self.source, self.parts[0].sink, self.sink))
        joined += [(first, len(bags) - 1), (second, len(bags) - 1)]
        return len(bags) - 1


def series(first: SeriesParallel, second: SeriesParallel) -> SeriesParallel:
    """The second after the first."""
    if first.sink != second.source:
        raise ValueError(f"In a series the second graph begins where the first ends, at {first.sink}.")
    return SeriesParallel(first.source, second.sink, (first, second))


def parallel(first: SeriesParallel, second: SeriesParallel) -> SeriesParallel:
    """Two graphs between the same terminals."""
    if (first.source, first.sink) != (second.source, second.sink):
        raise ValueError(f"Graphs in parallel share their terminals; got {first.sink} and {second.sink} as sinks.")
    return SeriesParallel(first.source, first.sink, (first, second))


def recognise(edges: Iterable[tuple[int, int]], source: int, sink: int) -> SeriesParallel | None:
    """How a graph is made of edges in series and in parallel between its terminals; None if it is not.

    Parallel edges become one, and so do the two edges of a node that has no others, until nothing is left to merge.
    """
    at: dict[int, dict[int, SeriesParallel]] = {source: {}, sink: {}}

    def join(a: int, b: int, graph: SeriesParallel) -> None:
        if b in at.setdefault(a, {}):
            other = at[a][b]
            graph = parallel(other, graph if graph.source == other.source else reverse(graph))
        at[a][b] = at.setdefault(b, {})[a] = graph

    for a, b in edges:
        join(a, b, SeriesParallel(a, b))
    ahead = list(at)
    while ahead:
        node = ahead.pop()
        if node in (source, sink) or len(at.get(node, {})) != 2:
            continue
        (a, left), (b, right) = at.pop(node).items()
        del at[a][node], at[b][node]
        join(
            a,
            b,
            series(left if left.sink == node else reverse(left), right if right.source == node else reverse(right)),
        )
        ahead += [a, b]
    if set(at) != {source, sink} or sink not in at[source]:
        return None
    whole = at[source][sink]
    return whole if whole.source == source else reverse(whole)


def reverse(graph: SeriesParallel) -> SeriesParallel:
    """The same graph with its terminals exchanged."""
    parts = tuple(reverse(part) for part in graph.parts)
    in_series = len(parts) == 2 and {parts[0].source, parts[0].sink} != {graph.source, graph.sink}
    return SeriesParallel(graph.sink, graph.source, parts[::-1] if in_series else parts)
