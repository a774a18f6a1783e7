"""Equivalence classes of directed graphs, as partially directed graphs.

Two graphs imply the same independences iff they have the same skeleton and the same immoralities. In the graph of a
class an edge is directed iff all members agree on its direction: those of immoralities, and those that Meek's rules
derive, as the other direction would close a cycle or make a new immorality.

Verma & Pearl (1990); Meek (1995); Dor & Tarsi (1992) for the extension to a directed graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.graphs.named_nodes import Edge, NamedNodes
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph, ordered


@dataclass(frozen=True)
class PartiallyDirectedGraph(NamedNodes):
    """Directed edges (parent, child), and undirected ones with the smaller number first.

    Examples
    --------
    >>> chain = DirectedGraph.from_edges([("a", "b"), ("b", "c")])
    >>> pattern = PartiallyDirectedGraph.from_graph(chain)
    >>> print(pattern)
    a - b
    b - c
    >>> len(list(pattern.members()))
    3
    """

    nodes: tuple[str, ...]
    directed: frozenset[Edge]
    undirected: frozenset[Edge]

    @classmethod
    def from_graph(cls, graph: DirectedGraph) -> PartiallyDirectedGraph:
        """The equivalence class of a directed graph (its completed partially directed graph)."""
        return cls.from_immoralities(graph.skeleton(), graph.immorality_indices())

    @classmethod
    def from_immoralities(
        cls, skeleton: UndirectedGraph, immoralities: Iterable[tuple[int, int, int]]
    ) -> PartiallyDirectedGraph:
        """The class with this skeleton and these immoralities (a, c, b), as numbers."""
        directed = frozenset(edge for a, c, b in immoralities for edge in ((a, c), (b, c)))
        undirected = skeleton.edges - {ordered(*edge) for edge in directed}
        return cls(skeleton.nodes, directed, undirected).completed()

    def skeleton(self) -> UndirectedGraph:
        """All edges without directions."""
        return UndirectedGraph(self.nodes, self.undirected | {ordered(a, b) for a, b in self.directed})

    def completed(self) -> PartiallyDirectedGraph:
        """With every direction that Meek's four rules derive."""
        directed, undirected = set(self.directed), set(self.undirected)
        joined = self.skeleton().neighbours
        found = True
        while found:
            found = False
            for edge in sorted(undirected):
                for a, b in (edge, edge[::-1]):
                    if _must_point(a, b, directed, undirected, joined):
                        undirected.discard(edge)
                        directed.add((a, b))
                        found = True
                        break
        return PartiallyDirectedGraph(self.nodes, frozenset(directed), frozenset(undirected))

    def extension(self) -> DirectedGraph:
        """A directed graph with the same directions and no new immorality; an error if there is none.

        Nodes are taken away one by one: one without outgoing edges whose undirected neighbours are joined with all its
        other neighbours gets all its edges directed towards it.
        """
        parents: list[list[int]] = [[] for _ in self.nodes]
        for a, b in sorted(self.directed):
            parents[b].append(a)
        neighbours = [set(found) for found in self.skeleton().neighbours]
        outgoing = [{b for a, b in self.directed if a == i} for i in range(len(self.nodes))]
        loose = [{a + b - i for a, b in self.undirected if i in (a, b)} for i in range(len(self.nodes))]
        left = set(range(len(self.nodes)))
        while left:
            sink = next(
                (
                    i
                    for i in sorted(left)
                    if not outgoing[i] and all(neighbours[i] - {j} <= neighbours[j] for j in loose[i])
                ),
                None,
            )
            if sink is None:
                raise ValueError("the partially directed graph has no extension: it belongs to no directed graph")
            parents[sink].extend(sorted(loose[sink]))
            left.discard(sink)
            for j in neighbours[sink]:
                neighbours[j].discard(sink)
                outgoing[j].discard(sink)
                loose[j].discard(sink)
        return DirectedGraph(self.nodes, tuple(tuple(sorted(found)) for found in parents))

    def members(self) -> Iterator[DirectedGraph]:
        """All directed graphs of the class."""
        if not self.undirected:
            yield self.extension()
            return
        a, b = min(self.undirected)
        for way in ((a, b), (b, a)):
            chosen = PartiallyDirectedGraph(self.nodes, self.directed | {way}, self.undirected - {(a, b)}).completed()
            yield from chosen.members()

    def to_text(self) -> str:
        """An edge per line."""
        lines = [(a, b, "->") for a, b in self.directed] + [(a, b, "-") for a, b in self.undirected]
        return "\n".join(f"{self.nodes[a]} {sign} {self.nodes[b]}" for a, b, sign in sorted(lines))

    def __str__(self) -> str:
        return self.to_text()


def are_equivalent(first: DirectedGraph, second: DirectedGraph) -> bool:
    """Do two graphs over the same names imply the same independences?"""
    if set(first.nodes) != set(second.nodes):
        return False

    def named(graph: DirectedGraph) -> tuple[set[frozenset[str]], set[tuple[frozenset[str], str]]]:
        edges = {frozenset(edge) for edge in graph.named_edges()}
        return edges, {(frozenset((a, b)), c) for a, c, b in graph.immoralities()}

    return named(first) == named(second)


def _must_point(a: int, b: int, directed: set[Edge], undirected: set[Edge], joined: tuple[frozenset[int], ...]) -> bool:
    """Would b -> a make a cycle or a new immorality?"""
    into_b = [c for c in joined[b] if (c, b) in directed]
    loose = [c for c in joined[a] if ordered(a, c) in undirected and c != b]
    return (
        any((c, a) in directed and c not in joined[b] for c in joined[a])  # c -> a - b
        or any((a, c) in directed for c in into_b)  # a -> c -> b
        or any(c not in joined[d] for c, d in combinations([c for c in into_b if c in loose], 2))  # a - c -> b, twice
        or any(  # a - d -> c -> b with d and b not joined, a and c joined
            (d, c) in directed and d not in joined[b] for c in into_b if c in joined[a] for d in loose
        )
    )
