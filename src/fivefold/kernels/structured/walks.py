"""Kernels of paths and walks in graphs.

    SharedPaths        counts of paths of up to `length` edges, without repeated nodes, by the labels along them
    RandomWalkKernel   sum over walks of equal labels in both graphs of decay ** length: walks of the product graph
    DiffusionKernel    exp(-beta L) between nodes of one graph, L its Laplacian: how heat flows from one to the other

Gaertner, Flach & Wrobel (2003); Kondor & Lafferty (2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.types import Indices, Matrix, Table, Vector
from fivefold.kernels.base import Kernel, Objects
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS, Bounds
from fivefold.kernels.structured.base import CountKernel, StructuredKernel, counts, each_row
from fivefold.kernels.structured.graph_loops import walk_row
from fivefold.kernels.structured.graphs import Forest, Graph, together

MAX_PATHS = 20_000_000  # paths that are held at a time: a dense graph has more than can be counted


class SharedPaths(CountKernel):
    """Inner product of the counts of paths by the labels along them; a path and its reverse are one.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> SharedPaths(length=2)([path, triangle])  # 3, 2, 1 paths of 0, 1, 2 edges, beside 3, 3, 3
    array([[14., 18.],
           [18., 27.]])
    """

    length: int = 3

    def features(self, objects: Sequence[Any]) -> Table:
        forest = together([Graph.of(thing) for thing in objects])
        rows, keys, size = list[Indices](), list[Indices](), 0
        for paths in _paths(forest, self.length):
            words = forest.labels[paths]
            reverse = words[:, ::-1]
            first = np.argmax(words != reverse, axis=1)
            at = np.arange(len(words))
            swap = words[at, first] > reverse[at, first]
            words = np.where(swap[:, None], reverse, words)
            found, numbers = np.unique(words, axis=0, return_inverse=True)
            rows.append(forest.owner[paths[:, 0]])
            keys.append(numbers.ravel() + size)
            size += len(found)
        return counts(np.concatenate(rows), np.concatenate(keys), len(forest.offsets) - 1, max(size, 1))


def _paths(forest: Forest, length: int) -> Iterator[Indices]:
    """Paths of 0, 1, ... edges as rows of nodes, each in one direction: the end of the lower number comes first."""
    a, b = forest.edges.T
    sources, targets = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(sources, kind="stable")
    targets = targets[order]
    degrees = np.bincount(sources, minlength=len(forest.labels))
    starts = np.cumsum(degrees) - degrees
    paths = np.arange(len(forest.labels))[:, None]
    yield paths
    for _ in range(length):
        last = paths[:, -1]
        often = degrees[last]
        if (total := int(often.sum())) > MAX_PATHS:
            raise ValueError(f"{total} paths are too many to count: lower `length`, or take WeisfeilerLehman")
        which = np.repeat(np.arange(len(paths)), often)
        step = np.arange(total) - np.repeat(np.cumsum(often) - often, often)
        ends = targets[starts[last[which]] + step]
        fresh = ~np.any(paths[which] == ends[:, None], axis=1)
        paths = np.column_stack([paths[which[fresh]], ends[fresh]])
        yield paths[paths[:, 0] < paths[:, -1]]


class RandomWalkKernel(StructuredKernel):
    """Sum over pairs of walks with equal labels, one in each graph, of decay ** steps, up to `steps` steps.

    A decay below one over the product of the largest degrees lets the sum converge as steps grow.

    Examples
    --------
    >>> edge = [[0, 1], [1, 0]]
    >>> RandomWalkKernel(decay=0.1, steps=2)([edge])  # 4 pairs of nodes, 4 of steps, 4 of two steps
    array([[4.44]])
    """

    decay: float = 0.05
    steps: int = 10

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        graphs = [Graph.of(thing) for thing in X]
        forest = together(graphs if Y is None else [*graphs, *map(Graph.of, Y)])
        shift = 0 if Y is None else len(graphs)
        a, b = forest.edges.T
        sources, targets = np.concatenate([a, b]), np.concatenate([b, a])
        order = np.lexsort((targets, sources))
        starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=len(forest.labels)))])
        most = int(np.diff(forest.offsets).max(initial=0))
        tables = forest.offsets, forest.labels, starts.astype(np.int64), targets[order]

        def fill(i: int, start: int, out: Vector) -> None:
            walk_row(*tables, i, shift + start, float(self.decay), self.steps, np.empty((3, most, most)), out)

        return each_row(fill, len(graphs), len(forest.offsets) - 1 - shift, Y is None)

    def diag(self, X: Objects) -> Vector:
        return np.array([self._gram([x], [x])[0, 0] for x in X])


class DiffusionKernel(Kernel):
    """exp(-beta L) between nodes of one graph, which are given by their numbers.

    Examples
    --------
    >>> DiffusionKernel([[0, 1], [1, 0]], beta=0.5)([0, 1]).round(4)
    array([[0.6839, 0.3161],
           [0.3161, 0.6839]])
    """

    graph: Any  # an adjacency matrix, with weights from 0 up
    beta: float = 1.0
    beta_bounds: Bounds = DEFAULT_BOUNDS

    def is_stationary(self) -> bool:
        return False

    @on_one_blas_thread
    def _function(self, power: int = 0) -> Matrix:
        """(-beta L)^power exp(-beta L)."""
        A = self.graph.toarray() if hasattr(self.graph, "toarray") else np.asarray(self.graph, dtype=np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.allclose(A, A.T) or np.any(A < 0):
            raise ValueError("DiffusionKernel: the graph is a symmetric adjacency matrix with weights from 0 up")
        values, U = np.linalg.eigh(np.diag(A.sum(axis=1)) - A)
        scaled = -self.beta * values
        return (U * (scaled**power * np.exp(scaled))) @ U.T

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        K = self._function()[np.ix_(_nodes(X), _nodes(X if Y is None else Y))]
        return K if Y is not None else (K + K.T) / 2

    def diag(self, X: Objects) -> Vector:
        return np.diag(self._function())[_nodes(X)]

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self._free():
            yield self._function(1)[np.ix_(_nodes(X), _nodes(X if Y is None else Y))]

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        if self._free():
            yield np.diag(self._function(1))[_nodes(X)]


def _nodes(X: Objects) -> Indices:
    return np.asarray(X, dtype=np.int64).ravel()
