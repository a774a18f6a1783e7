"""Rows in the order in which they are reached from each other: down a tree of rows, from distances, or from lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import issparse

from fivefold.cluster.neighborhoods.dense_regions import stored_neighbors
from fivefold.cluster.neighborhoods.reachability_loops import (
    Reach,
    Visits,
    start_visits,
    visit_distances,
    visit_in_tree,
    visit_listed,
)
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.rule_loops import ColumnRule
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.search.object_rows import BlockRows
from fivefold.spatial.search.tree_search import TreeSearch
from fivefold.spatial.search.vector_search import VectorSearch

DIGITS = 1e15  # distances are equal if they agree in so many parts of one: what scikit-learn rounds to
TINY = 1e-6  # tables whose core distances are all smaller keep as many digits of the largest of them
BLOCK_NEIGHBORS = 1 << 22  # neighbours that are listed at once
BLOCK_VISITS = 4096  # rows that are visited between two looks at the monitor

Monitor = Callable[[int, Callable[[], "ReachabilityGraph"]], bool]


@dataclass(frozen=True)
class ReachabilityGraph:
    """Rows in the order of visits, and what each was reached by."""

    ordering: Indices  # (n,)
    core_distances: Doubles  # (n,): by row, infinite beyond the largest radius
    reachability: Doubles  # (n,): by row, infinite for rows that no earlier one reaches
    predecessor: Indices  # (n,): by row, -1 for none


def visit_rows(search: TreeSearch, reach: Reach, monitor: Monitor | None = None) -> Visits:
    """Visit the rows of a tree, from row 0 on; if the monitor stops it, the rows that are left follow unreached."""
    tree, rows, n = search.tree, search.rows, len(search.X)
    visits, home, work = start_visits(rows.ends, rows.leaves), np.empty(n, np.int64), search._scratch()[0]
    home[rows.order] = np.repeat(np.arange(rows.leaves), np.diff(rows.ends[rows.leaves - 1 :], axis=1)[:, 0])
    for begin in range(0, n, BLOCK_VISITS):
        end = min(n, begin + BLOCK_VISITS)
        visit_in_tree(search.rule, reach, tree, visits, search.X, home, begin, end, work)
        if monitor is not None and monitor(end, partial(_so_far, visits, reach.core, end)):
            return _ended(visits, end)
    return visits


def _ended(visits: Visits, end: int) -> Visits:
    """Visits that end here: the rows that are left follow unreached."""
    left = visits.rank == len(visits.rank)
    return visits._replace(
        order=np.concatenate([visits.order[:end], np.flatnonzero(left)]),
        lengths=np.where(left, np.inf, visits.lengths),
        source=np.where(left, -1, visits.source),
    )


def _so_far(visits: Visits, core: Doubles, end: int) -> ReachabilityGraph:
    """The graph if visits ended here."""
    ended = _ended(visits, end)
    return ReachabilityGraph(ended.order, core, ended.lengths, ended.source)


def reduced_core_distances(search: VectorSearch, least: int) -> Doubles:
    """The reduced distance of each row to its `least`-th nearest, itself the first; lists of some rows at a time."""
    n, step = len(search.X), max(1, BLOCK_NEIGHBORS // least)
    blocks = (search.X[at : at + step] for at in range(0, n, step))
    return np.concatenate([search.nearest(rows, np.full(len(rows), -1), least)[0][:, -1] for rows in blocks])


def reachability_graph(
    owner: str, index: NeighborIndex, least: int, radius: float, monitor: Monitor | None = None
) -> ReachabilityGraph:
    """The order of OPTICS, where rows have `least` rows, themselves among them, within their core distance."""
    n, search = index.n, index.searcher
    if issparse(index.X) and index.metric == "precomputed":
        return _graph_of_lists(owner, index, least, radius)
    if (
        isinstance(search, BlockRows)
        or not isinstance(index.measure, VectorMetric)
        or not (index.measure.finish == "root" or isinstance(index.measure.rule, ColumnRule))
    ):
        refuse_square(owner, n, 2, "Use a metric of rows of numbers, which keeps no distances, or fewer rows")
        D = np.ascontiguousarray(index.distances(), dtype=np.float64)
        core, tens = _core_distances(np.partition(D, least - 1, axis=1)[:, least - 1], radius)
        found = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
        visit_distances(D, core, radius, tens, *found)
        return ReachabilityGraph(found[0], core, *found[1:])
    reduced = reduced_core_distances(search, least)
    core, tens = _core_distances(index.measure.distances(reduced).astype(np.float64, copy=False), radius)
    reach = Reach(core, mutual=False, scale=1.0, limit=index._limit(radius), tens=tens)
    visits = visit_rows(search.tree, reach, monitor)
    return ReachabilityGraph(visits.order, core, visits.lengths, visits.source)


def _graph_of_lists(owner: str, index: NeighborIndex, least: int, radius: float) -> ReachabilityGraph:
    """The same from stored distances; pairs that are not stored are not reached."""
    lists, n = stored_neighbors(index.X, np.inf), index.n
    short = lists.counts() < least
    if short.any():
        raise ValueError(
            f"{owner}: min_samples={least}, but {int(short.sum())} of {n} rows have fewer distances stored, themselves "
            f"included; the first is row {int(np.argmax(short))}. Store more neighbours, or set min_samples to less"
        )
    core, tens = _core_distances(lists.distances[lists.indptr[:-1] + least - 1].astype(np.float64), radius)
    found, near = (np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)), stored_neighbors(index.X, radius)
    visit_listed(near.indptr, near.rows, near.distances.astype(np.float64), core, tens, *found)
    return ReachabilityGraph(found[0], core, *found[1:])


def _core_distances(values: Doubles, radius: float) -> tuple[Doubles, float]:
    """Core distances, infinite beyond the radius, and one over the unit that they are rounded to."""
    core = np.where(values > radius, np.inf, values)
    largest = core[np.isfinite(core)].max(initial=0.0)
    tens = DIGITS if largest == 0 or largest > TINY else DIGITS * 10.0 ** -np.floor(np.log10(largest))
    with np.errstate(over="ignore"):
        shifted = core * tens
    return np.where(np.isfinite(shifted), np.rint(shifted) / tens, core), float(tens)
