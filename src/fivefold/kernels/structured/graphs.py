"""Kernels of labelled graphs by relabelling: Weisfeiler and Lehman.

    l_i(v) = number of (l_{i-1}(v), sorted l_{i-1} of the neighbours of v)
    k(G, H) = sum_i k_base(G with labels l_i, H with labels l_i)

Base kernels count what two graphs share: labels of nodes ("subtree"), labels at both ends of edges ("edge"), labels at
both ends of shortest paths with their lengths ("shortest_path"). Relabelling is shared by all graphs of a call, and
equal numbers mean equal neighbourhoods. Graphs whose labels ever differ are not isomorphic; equal ones may be.

Shervashidze et al. (2011); Weisfeiler & Lehman (1968).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import shortest_path

from fivefold.core.types import Indices, Sparse, Table
from fivefold.kernels.structured.base import CountKernel, counts, numbered


@dataclass(frozen=True)
class Graph:
    """Nodes 0, 1, ... with labels, and undirected edges between them.

    Examples
    --------
    >>> Graph.of([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).edges
    array([[0, 1],
           [1, 2]])
    """

    n: int
    edges: Indices  # (m, 2), each once
    labels: Sequence[Hashable]  # (n,)

    @classmethod
    def of(cls, thing: Any, labels: Sequence[Hashable] | None = None) -> Graph:
        """From a graph, a pair (adjacency matrix, labels), an adjacency matrix, or a graph of networkx.

        Labels of networkx are the attribute "label" of the nodes; nodes without any have the label 0.
        """
        if isinstance(thing, Graph):
            return thing
        if isinstance(thing, tuple) and len(thing) == 2:
            return cls.of(*thing)
        if hasattr(thing, "nodes") and hasattr(thing, "edges"):
            places = {node: i for i, node in enumerate(thing.nodes)}
            edges = np.array([(places[u], places[v]) for u, v in thing.edges], dtype=np.int64).reshape(-1, 2)
            found = [data.get("label", 0) for _, data in thing.nodes(data=True)]
            return cls(len(places), edges, found if labels is None else labels)
        A = thing if issparse(thing) else np.atleast_2d(np.asarray(thing))
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"a graph is an adjacency matrix (n, n), or one with labels; got shape {A.shape}")
        rows, columns = A.nonzero()
        if not set(zip(columns.tolist(), rows.tolist(), strict=True)) == set(
            zip(rows.tolist(), columns.tolist(), strict=True)
        ):
            raise ValueError("the adjacency matrix is not symmetric: these kernels compare undirected graphs")
        edges = np.stack([rows, columns], axis=1)[rows <= columns].astype(np.int64)
        n = A.shape[0]
        if labels is not None and len(labels) != n:
            raise ValueError(f"the graph has {n} nodes and {len(labels)} labels")
        return cls(n, edges, [0] * n if labels is None else list(labels))

    @property
    def adjacency(self) -> Sparse:
        """Symmetric, with ones."""
        a, b = self.edges.T
        rows, columns = np.concatenate([a, b]), np.concatenate([b, a])
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=(self.n, self.n))


class Forest(NamedTuple):
    """Many graphs as one: their nodes one after another."""

    offsets: Indices  # (graphs + 1,) where the nodes of each begin
    owner: Indices  # (nodes,) the graph of each node
    edges: Indices  # (edges, 2) by numbers of nodes
    labels: Indices  # (nodes,) equal numbers for equal labels


def together(graphs: Sequence[Graph]) -> Forest:
    """Graphs side by side, their labels numbered together."""
    sizes = [graph.n for graph in graphs]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    edges = [graph.edges + start for graph, start in zip(graphs, offsets[:-1], strict=True)]
    labels = numbered(list(chain.from_iterable(graph.labels for graph in graphs)), {})
    joined = np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.int64)
    return Forest(offsets, np.repeat(np.arange(len(graphs)), sizes), joined, labels)


def refinements(forest: Forest) -> Iterator[Indices]:
    """The labels, then those of every round of relabelling; rounds go on for as long as they are asked for."""
    a, b = forest.edges.T
    sources, targets = np.concatenate([a, b]), np.concatenate([b, a])
    degrees = np.bincount(sources, minlength=len(forest.labels))
    ends = np.cumsum(degrees + 1)
    own = ends - degrees - 1  # where the word of each node begins: its label, then those of its neighbours
    places = np.delete(np.arange(len(sources) + len(degrees)), own)
    labels = forest.labels
    while True:
        yield labels
        order = np.lexsort((labels[targets], sources))
        words = np.empty(len(sources) + len(degrees), dtype=np.int64)
        words[own], words[places] = labels, labels[targets][order]
        text, known = words.tobytes(), dict[bytes, int]()
        width = words.itemsize
        labels = np.array(
            [
                known.setdefault(text[width * lo : width * hi], len(known))
                for lo, hi in zip(own.tolist(), ends.tolist(), strict=True)
            ],
            dtype=np.int64,
        )


class WeisfeilerLehman(CountKernel):
    """Sum of base kernels over rounds of relabelling, from round `start` to round `h`.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> [float(WeisfeilerLehman(h)([path], [triangle])[0, 0]) for h in (0, 1, 2)]
    [9.0, 12.0, 12.0]
    """

    h: int = 3
    base: Literal["subtree", "edge", "shortest_path"] = "subtree"
    start: int = 0

    def features(self, objects: Sequence[Any]) -> Table:
        graphs = [Graph.of(thing) for thing in objects]
        forest = together(graphs)
        ends = self._ends(graphs, forest)
        rows, keys, size = [forest.owner[:0]], [forest.labels[:0]], 0
        for i, labels in zip(range(self.h + 1), refinements(forest), strict=False):
            if i >= self.start:
                found, width = _keys(labels, ends)
                rows.append(forest.owner if ends is None else forest.owner[ends[0]])
                keys.append(found + size)
                size += width
        return counts(np.concatenate(rows), np.concatenate(keys), len(graphs), max(size, 1))

    def _ends(self, graphs: Sequence[Graph], forest: Forest) -> tuple[Indices, Indices, Indices] | None:
        """The pairs of nodes that a base kernel looks at, and their distances; None where it looks at nodes."""
        if self.base == "subtree":
            return None
        if self.base == "edge":
            a, b = forest.edges.T
            return a, b, np.ones(len(a), dtype=np.int64)
        if self.base != "shortest_path":
            raise ValueError(f"no base kernel is called {self.base!r}; there are subtree, edge and shortest_path")
        firsts, seconds, lengths = list[Indices](), list[Indices](), list[Indices]()
        for graph, start in zip(graphs, forest.offsets[:-1], strict=True):
            D = shortest_path(graph.adjacency, unweighted=True)
            u, v = np.nonzero(np.triu(np.isfinite(D), 1))
            firsts.append(u + start)
            seconds.append(v + start)
            lengths.append(D[u, v].astype(np.int64))
        return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(lengths)


def _keys(labels: Indices, ends: tuple[Indices, Indices, Indices] | None) -> tuple[Indices, int]:
    """A number for each occurrence of a feature under these labels, and how many numbers there may be."""
    size = int(labels.max(initial=0)) + 1
    if ends is None:
        return labels, size
    u, v = labels[ends[0]], labels[ends[1]]
    low, high = np.minimum(u, v), np.maximum(u, v)
    _, both = np.unique(low * size + high, return_inverse=True)
    found, numbers = np.unique(both * (int(ends[2].max(initial=0)) + 1) + ends[2], return_inverse=True)
    return numbers, len(found)


@dataclass(frozen=True)
class IsomorphismTest:
    """The verdict of Weisfeiler and Lehman: graphs that fail are not isomorphic; those that pass may be."""

    passed: bool
    rounds: int  # of relabelling, up to the first whose labels differ

    def __str__(self) -> str:
        if self.passed:
            return f"possibly isomorphic: {self.rounds} rounds of relabelling find no difference"
        return f"not isomorphic: their labels differ after {self.rounds} rounds"


def isomorphism_test(first: Any, second: Any) -> IsomorphismTest:
    """Do the labels of two graphs agree through n - 1 rounds of relabelling?

    Examples
    --------
    >>> print(isomorphism_test([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    not isomorphic: their labels differ after 1 rounds
    """
    pair = Graph.of(first), Graph.of(second)
    n = pair[0].n
    if pair[1].n != n:
        return IsomorphismTest(False, 0)
    for i, labels in zip(range(max(n, 1)), refinements(together(pair)), strict=False):
        if not np.array_equal(np.sort(labels[:n]), np.sort(labels[n:])):
            return IsomorphismTest(False, i)
    return IsomorphismTest(True, max(n, 1) - 1)
