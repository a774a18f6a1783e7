"""Undirected graphs: separation, connected components, blankets.

In a Markov network A and B are independent given C if every path from A to B passes C.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fivefold.graphical.graphs.named_nodes import Edge, NamedNodes, Nodes, node_names


@dataclass(frozen=True)
class UndirectedGraph(NamedNodes):
    """Nodes and edges between them, each edge with the smaller number first.

    Examples
    --------
    >>> square = UndirectedGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> square.separated("a", "c", given=("b", "d")), square.separated("a", "c", given="b")
    (True, False)
    >>> square.markov_blanket("a")
    ('b', 'd')
    """

    nodes: tuple[str, ...]
    edges: frozenset[Edge]

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> UndirectedGraph:
        """A graph from pairs of names; `nodes` adds those without edges, and fixes the order."""
        edges = list(edges)
        names = node_names(nodes, edges)
        at = {name: i for i, name in enumerate(names)}
        if loops := [a for a, b in edges if a == b]:
            raise ValueError(f"an edge joins {loops[0]!r} with itself")
        return cls(names, frozenset(ordered(at[a], at[b]) for a, b in edges))

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """Per node the nodes that an edge joins it with."""
        found: list[set[int]] = [set() for _ in self.nodes]
        for a, b in self.edges:
            found[a].add(b)
            found[b].add(a)
        return tuple(map(frozenset, found))

    def adjacent(self, a: int, b: int) -> bool:
        """Is there an edge between two nodes?"""
        return ordered(a, b) in self.edges

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """The neighbours: given them the node is independent of all others."""
        return self.names(self.neighbours[self.index(node)])

    def separated(self, a: Nodes, b: Nodes, given: Nodes = ()) -> bool:
        """Does every path between two sets of nodes pass a node of `given`?"""
        blocked = set(self.indices(given))
        return not self._reached(set(self.indices(a)) - blocked, blocked) & set(self.indices(b))

    def connected_components(self) -> tuple[tuple[str, ...], ...]:
        """Groups of nodes that paths join, by their first node."""
        left, found = set(range(len(self.nodes))), []
        while left:
            group = self._reached({min(left)}, set())
            found.append(self.names(group))
            left -= group
        return tuple(found)

    def is_forest(self) -> bool:
        """Is there no cycle?"""
        return len(self.edges) == len(self.nodes) - len(self.connected_components())

    def _reached(self, start: set[int], blocked: set[int]) -> set[int]:
        reached, waiting = set(start), list(start)
        while waiting:
            for node in self.neighbours[waiting.pop()] - reached - blocked:
                reached.add(node)
                waiting.append(node)
        return reached


def ordered(a: int, b: int) -> Edge:
    """An edge with the smaller number first."""
    return (a, b) if a < b else (b, a)
