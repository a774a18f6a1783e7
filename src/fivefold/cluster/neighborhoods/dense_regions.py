"""Dense regions: rows with much weight within a radius, linked where they are neighbours.

Few columns are searched down a tree, and no neighbour is stored; others are listed in blocks of queries, and listed
again for each of the three passes where all lists together would be large.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from fivefold.cluster.neighborhoods.dense_region_loops import (
    link_in_tree,
    link_listed,
    lowest_in_tree,
    lowest_listed,
    mark_dense_in_tree,
    number_sets,
    weigh_listed,
)
from fivefold.core.parallel import map_parts
from fivefold.core.types import Codes, Doubles, Indices, Mask, Sparse, Weights
from fivefold.spatial.search import Neighborhoods, NeighborIndex
from fivefold.spatial.search.filtered_search import FilteredSearch
from fivefold.spatial.search.object_rows import BlockRows
from fivefold.spatial.search.tree_search import TreeSearch

MAX_KEPT_PAIRS = 1 << 25  # neighbours of all rows that are kept for the next pass: 512 MB
BLOCK_PAIRS = 1 << 24  # pairs of a query and a row in a block: what a block lists at most
SAMPLE_QUERIES = 64  # rows that are asked for their neighbours, to know how long lists would be
LONG_LISTS = 64  # neighbours of a row from which a tree, which need not list them, was faster in 6 to 16 columns
PART_ROWS = 1024  # queries that a thread takes down the tree at once


class RowGraph(Protocol):
    """Rows, and which of them are within a radius of each other; each row is its own neighbour."""

    def dense(self, w: Weights, least: float) -> Mask:
        """Which rows have at least this weight within the radius."""

    def link(self, core: Mask, parent: Indices) -> None:
        """Join the sets of dense neighbours."""

    def spread(self, core: Mask, labels: Codes) -> None:
        """Give rows that are not dense the lowest label of their dense neighbours."""


def dense_regions(graph: RowGraph, w: Weights, least: float) -> tuple[Codes, Mask]:
    """Labels (n,), -1 for noise, and which rows are dense: those with at least this weight within the radius."""
    core = graph.dense(w, least)
    parent, labels = np.arange(len(w)), np.empty(len(w), np.intp)
    graph.link(core, parent)
    number_sets(parent, core, labels)
    graph.spread(core, labels)
    return labels, core


def radius_graph_of(index: NeighborIndex, radius: float) -> RowGraph:
    """The graph of the rows of an index: a tree where it is the best search, or where lists would be long."""
    search = index.searcher
    if isinstance(search, BlockRows) or index.measure.coordinates is not None:
        return ListedGraph(index, radius)
    chosen: Any = search.choose(search.X)
    if isinstance(chosen, FilteredSearch) and index.algorithm == "auto":
        sample = index.X[:: max(1, index.n // SAMPLE_QUERIES)][:SAMPLE_QUERIES]
        if index.query_radius(sample, radius, sort=False).counts().mean() > LONG_LISTS:
            chosen = search.tree
    return TreeGraph(chosen, index._limit(radius)) if isinstance(chosen, TreeSearch) else ListedGraph(index, radius)


class TreeGraph:
    """Rows in a tree."""

    def __init__(self, search: TreeSearch, limit: float) -> None:
        self.search, self.limit = search, limit

    def dense(self, w: Weights, least: float) -> Mask:
        X, tree, core = self.search.X, self.search.tree, np.empty(len(self.search.X), np.bool_)

        def part(lo: int, hi: int) -> None:
            work, stack, _ = self.search._scratch()
            mark_dense_in_tree(self.search.rule, tree, X[lo:hi], self.limit, w, least, work, stack, core[lo:hi])

        map_parts(part, len(X), rows=PART_ROWS)
        return core

    def link(self, core: Mask, parent: Indices) -> None:
        work, stack, _ = self.search._scratch()
        tree, order, X = self.search.tree, self.search.rows.order, self.search.X
        link_in_tree(
            self.search.rule, tree, X, order, self.limit, core, work, stack, np.empty(len(tree.ends), np.int64), parent
        )

    def spread(self, core: Mask, labels: Codes) -> None:
        X, tree = self.search.X, self.search.tree

        def part(lo: int, hi: int) -> None:
            work, stack, _ = self.search._scratch()
            lowest_in_tree(self.search.rule, tree, X[lo:hi], self.limit, core, work, stack, lo, labels)

        map_parts(part, len(X), rows=PART_ROWS)


class ListedGraph:
    """Rows whose neighbours are listed."""

    def __init__(self, index: NeighborIndex, radius: float) -> None:
        self.index, self.radius = index, radius
        self.kept: list[tuple[int, Indices, Indices]] | None = None

    def blocks(self) -> Iterator[tuple[int, Indices, Indices]]:
        """The first row, ends and neighbours of blocks of rows."""
        if self.kept is not None:
            yield from self.kept
            return
        kept, pairs = [], 0
        X, n = self.index.X, self.index.n
        step = max(1, BLOCK_PAIRS // n)
        for start in range(0, n, step):
            found = self.index.query_radius(X[start : start + step], self.radius, sort=False)
            pairs += len(found.rows)
            block = (start, found.indptr, found.rows)
            if pairs <= MAX_KEPT_PAIRS:
                kept.append(block)
            yield block
        if pairs <= MAX_KEPT_PAIRS:
            self.kept = kept

    def dense(self, w: Weights, least: float) -> Mask:
        mass: Doubles = np.empty(len(w))
        for start, ends, rows in self.blocks():
            weigh_listed(ends, rows, w, mass[start : start + len(ends) - 1])
        return mass >= least

    def link(self, core: Mask, parent: Indices) -> None:
        for block in self.blocks():
            link_listed(*block, core, parent)

    def spread(self, core: Mask, labels: Codes) -> None:
        for block in self.blocks():
            lowest_listed(*block, core, labels)


class StoredGraph(ListedGraph):
    """Rows whose distances are stored in a sparse matrix; entries that are not stored are no neighbours."""

    def __init__(self, distances: Sparse, radius: float) -> None:
        found = stored_neighbors(distances, radius)
        self.kept = [(0, found.indptr, found.rows)]


def stored_neighbors(distances: Sparse, radius: float) -> Neighborhoods:
    """The entries of a sparse matrix of distances up to a radius; each row is its own neighbour, stored or not."""
    n = distances.shape[0]
    of: Any = np.repeat(np.arange(n), np.diff(distances.indptr))
    near = (distances.data <= radius) & (of != distances.indices)
    i = np.concatenate([of[near], np.arange(n)])
    j = np.concatenate([distances.indices[near].astype(np.int64), np.arange(n)])
    lengths = np.concatenate([distances.data[near], distances.diagonal()])
    order = np.lexsort((j, lengths, i))
    ends = np.searchsorted(i[order], np.arange(n + 1))
    return Neighborhoods(ends, j[order], lengths[order])
