"""Directed acyclic graphs: order, ancestors, blankets, the moral graph, local independences.

A topological order places parents before children (Kahn 1962). The Markov blanket of a node is its parents, its
children and the other parents of its children. The moral graph joins parents of a common child and drops directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import NamedTuple

from fivefold.graphical.graphs.named_nodes import Edge, NamedNodes, Nodes, node_names
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph, ordered


class Independence(NamedTuple):
    """A statement: `a` and `b` are independent given `given`."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    given: tuple[str, ...]

    def __str__(self) -> str:
        condition = f" | {', '.join(self.given)}" if self.given else ""
        return f"{', '.join(self.a)} ⊥ {', '.join(self.b)}{condition}"


@dataclass(frozen=True)
class DirectedGraph(NamedNodes):
    """A directed acyclic graph: per node the numbers of its parents, in the order in which tables list them.

    Examples
    --------
    >>> graph = DirectedGraph.from_edges([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> graph.topological_order()
    ('rain', 'sprinkler', 'wet', 'slippery')
    >>> graph.markov_blanket("rain")
    ('wet', 'sprinkler')
    >>> for statement in graph.local_independences(): print(statement)
    rain ⊥ sprinkler
    sprinkler ⊥ rain
    slippery ⊥ rain, sprinkler | wet
    """

    nodes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.nodes):
            raise ValueError(f"{len(self.nodes)} nodes, but parents of {len(self.parents)}")
        for child, parents in enumerate(self.parents):
            if len(set(parents)) < len(parents):
                raise ValueError(f"node {self.nodes[child]!r} lists a parent twice")
        try:
            TopologicalSorter(dict(enumerate(self.parents))).prepare()
        except CycleError as error:
            cycle = " -> ".join(repr(self.nodes[i]) for i in error.args[1])
            raise ValueError(f"the graph has a cycle, {cycle}; a directed graph must have none") from None

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> DirectedGraph:
        """A graph from pairs (parent, child); `nodes` adds those without edges, and fixes the order."""
        edges = list(dict.fromkeys(edges))
        names = node_names(nodes, edges)
        return cls.from_parents({name: [a for a, b in edges if b == name] for name in names})

    @classmethod
    def from_parents(cls, parents: Mapping[str, Iterable[str]]) -> DirectedGraph:
        """A graph from the parents of every node, by name."""
        at = {name: i for i, name in enumerate(parents)}
        for child, several in parents.items():
            if unknown := [name for name in several if name not in at]:
                raise ValueError(f"node {child!r} has parent {unknown[0]!r}, which is no node")
        return cls(tuple(at), tuple(tuple(at[name] for name in several) for several in parents.values()))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Per node the numbers of its children."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(child)
        return tuple(map(tuple, found))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Numbers of the nodes, parents before children, small numbers first where both could come next."""
        missing = [len(parents) for parents in self.parents]
        ready = [node for node, count in enumerate(missing) if count == 0]
        heapify(ready)
        found = []
        while ready:
            found.append(node := heappop(ready))
            for child in self.children[node]:
                missing[child] -= 1
                if missing[child] == 0:
                    heappush(ready, child)
        return tuple(found)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges (parent, child), by child."""
        return tuple((parent, child) for child, parents in enumerate(self.parents) for parent in parents)

    def named_edges(self) -> tuple[tuple[str, str], ...]:
        """All edges as pairs of names."""
        return tuple((self.nodes[a], self.nodes[b]) for a, b in self.edges)

    def topological_order(self) -> tuple[str, ...]:
        """Names of the nodes, parents before children."""
        return tuple(self.nodes[i] for i in self.order)

    def ancestors(self, nodes: Nodes) -> tuple[str, ...]:
        """Nodes from which a directed path leads to one of `nodes`, without these."""
        start = self.indices(nodes)
        return self.names(reachable(start, self.parents) - set(start))

    def descendants(self, nodes: Nodes) -> tuple[str, ...]:
        """Nodes to which a directed path leads from one of `nodes`, without these."""
        start = self.indices(nodes)
        return self.names(reachable(start, self.children) - set(start))

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Parents, children and the children's other parents: given them the node is independent of all others."""
        i = self.index(node)
        children = self.children[i]
        co_parents = (p for child in children for p in self.parents[child])
        return tuple(self.nodes[j] for j in dict.fromkeys([*self.parents[i], *children, *co_parents]) if j != i)

    def moral_graph(self) -> UndirectedGraph:
        """The undirected graph that also joins the parents of every node."""
        families = [(child, *parents) for child, parents in enumerate(self.parents)]
        return UndirectedGraph(self.nodes, frozenset(ordered(a, b) for f in families for a, b in combinations(f, 2)))

    def skeleton(self) -> UndirectedGraph:
        """The same edges without directions."""
        return UndirectedGraph(self.nodes, frozenset(ordered(a, b) for a, b in self.edges))

    def connected_components(self) -> tuple[tuple[str, ...], ...]:
        """Groups of nodes that edges of any direction join."""
        return self.skeleton().connected_components()

    def immoralities(self) -> tuple[tuple[str, str, str], ...]:
        """Triples (a, c, b) with a -> c <- b and no edge between a and b."""
        return tuple((self.nodes[a], self.nodes[c], self.nodes[b]) for a, c, b in sorted(self.immorality_indices()))

    def immorality_indices(self) -> frozenset[tuple[int, int, int]]:
        """The immoralities as numbers (a, c, b), a < b."""
        joined = self.skeleton()
        return frozenset(
            (a, child, b)
            for child, parents in enumerate(self.parents)
            for a, b in combinations(sorted(parents), 2)
            if not joined.adjacent(a, b)
        )

    def local_independences(self) -> Iterator[Independence]:
        """Every node is independent of its non-descendants given its parents; empty statements are left out."""
        for i, name in enumerate(self.nodes):
            others = set(range(len(self.nodes))) - reachable((i,), self.children) - set(self.parents[i])
            if others:
                yield Independence((name,), self.names(others), self.names(self.parents[i]))


def reachable(start: Iterable[int], neighbours: tuple[tuple[int, ...], ...]) -> set[int]:
    """Nodes that paths along `neighbours` reach from `start`, which are among them."""
    waiting = list(start)
    reached = set(waiting)
    while waiting:
        for node in neighbours[waiting.pop()]:
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached
