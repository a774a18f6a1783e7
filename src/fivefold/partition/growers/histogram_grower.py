"""Growing trees for boosting from histograms of gradients: the leaf that gains most is divided next.

    value = -G / (H + ridge)
    gain = 1/2 (G_left^2 / (H_left + ridge) + G_right^2 / (H_right + ridge) - G^2 / (H + ridge))

Gradients and curvatures are rounded to whole multiples of a small power of two, so sums are sums of integers: the same
in any order, and the histogram of a node minus that of its smaller side is exactly that of the other. A bin holds two
64-bit numbers, the gradient, and curvature and count side by side. Missing values go to the side that gains more.
Levels of a category are put in the order of G / H and cut there (Fisher, 1958). Where the answer is monotonic along a
column, the mean of the values of the two sides bounds the values below each.

Friedman (2001); Ke et al. (2017) for leaf-wise growth; Shi et al. (2022) for rounded gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fivefold.core.parallel import aligned, run_team, team_size, whole_lines
from fivefold.core.types import Array, Codes, Doubles, Indices, Mask
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD, MISSING_BIN, Allocation, Bins, pack_codes
from fivefold.partition.histograms.growth_loops import BLOCK_ROWS, grow_tree
from fivefold.partition.histograms.growth_state import (
    BINS_LEFT,
    BUFFER,
    CUT,
    DIVIDED,
    HI,
    INDEX,
    LEFT,
    LO,
    N_INDICES,
    N_NODES,
    NODE_FIELDS,
    ORDER,
    PARENT,
    SCRATCH,
    SEED,
    STEP,
    GrowthState,
    growing_tree,
    with_nodes,
)
from fivefold.partition.histograms.growth_step_loops import ADD, START
from fivefold.partition.histograms.histogram_loops import (
    BINS_PER_COLUMN,
    CATEGORICAL,
    COLUMN,
    CURVATURE_EPSILON,
    CUT_BIN,
    GAIN,
    MIN_COUNT_BITS,
    SEARCH_LINES,
    SIGN,
    SIZE,
    VALUE,
)
from fivefold.partition.histograms.node_queue_loops import FREE_TABLES

TABLE_CACHE_BYTES = 2**26  # bytes of histograms that are kept for nodes to be divided later
MAX_WIDTH = 32  # nodes divided at the same time, at most
FIRST_NODES = 2**14  # nodes that there is room for at first where the number of leaves has no limit
SECONDS_PER_VALUE = 6e-9  # time of a tree per value of the table (rows x columns),
SECONDS_PER_HISTOGRAM = 4e-6  # and per column of a leaf: what decides how many threads pay


class HistogramLimits(NamedTuple):
    """When to stop, and how many columns are tried per node."""

    max_leaves: int = 31  # 0 for any number
    max_depth: int = 2**31 - 1
    min_rows: int = 20  # minimum rows of a leaf
    min_curvature: float = 1e-3  # minimum sum of curvatures in a leaf
    ridge: float = 0.0
    column_share: float = 1.0  # share of the columns tried per node


@dataclass(frozen=True)
class HistogramTree:
    """A tree: a row goes from node t to left[t] or to right[t]; leaves have feature -1."""

    feature: Indices  # (m,) int32
    threshold: Doubles  # (m,)
    left: Indices  # (m,) int32
    right: Indices  # (m,) int32
    missing_left: Indices  # (m,) uint8
    category: Indices  # (m,) int32: the row of `sets` that decides, -1 for a threshold
    sets: Codes  # (c, 8) uint32: bins that go left, one bit per bin
    value: Doubles  # (m,)
    gain: Doubles  # (m,)
    rows: Indices  # (m,) int64


class HistogramGrower:
    """Grows tree after tree from the same binned rows, on as many threads as pay for a tree of this size.

    `max_count` is the largest sum of `repeats`, if it is larger than the number of rows. With `rows_elsewhere`, their
    number, it keeps the books of a tree whose rows others hold (sharded_growth.py); `codes` then has no rows.
    """

    def __init__(
        self,
        bins: Bins,
        codes: Codes,
        limits: HistogramLimits,
        signs: Indices | None = None,
        interaction_sets: Mask | None = None,
        allocate: Allocation = np.empty,
        *,
        max_count: int = 0,
        rows_elsewhere: int = 0,
    ) -> None:
        d, n = codes.shape
        total = rows_elsewhere or n
        self.limits = limits
        leaves = limits.max_leaves or max(2, total // max(limits.min_rows, 1))
        self.team_size = team_size(n * d * SECONDS_PER_VALUE + min(leaves, n) * d * SECONDS_PER_HISTOGRAM)
        columns = np.zeros((d, 3), dtype=np.int64)
        columns[:, SIZE], columns[:, CATEGORICAL] = bins.sizes, bins.categorical
        columns[:, SIGN] = 0 if signs is None else signs
        self.thresholds = np.full((d, BINS_PER_COLUMN), np.inf)
        for f in np.flatnonzero(~columns[:, CATEGORICAL].astype(bool)):
            self.thresholds[f, : len(bins.edges[f])] = bins.edges[f]
        threads = MAX_WIDTH // 2 if rows_elsewhere else self.team_size
        table = -(-d // COLUMNS_PER_WORD) * COLUMNS_PER_WORD * BINS_PER_COLUMN * 2
        width = min(2 * threads, MAX_WIDTH) if threads > 1 else 1
        queued = min(max(8, TABLE_CACHE_BYTES // (8 * table)), leaves)
        tables = queued + 2 * width + 2 * FREE_TABLES
        bits = max(MIN_COUNT_BITS, max(total, max_count).bit_length())
        terms = np.array([limits.min_rows, limits.min_curvature, limits.ridge + CURVATURE_EPSILON, 0, 0, bits])
        counts = [limits.max_leaves, limits.max_depth, queued, threads, total, int(rows_elsewhere > 0)]
        tree = growing_tree(columns, terms, counts, tables, width)
        self.state = GrowthState(
            tree=with_nodes(tree, min(4 * leaves, FIRST_NODES) + 2 * width + 1),
            rows=allocate((3, n), np.int32),
            words=pack_codes(codes, allocate),
            codes=codes,
            packed=allocate((2 * n,), np.int64),
            tables=aligned((tables + (3 * threads if threads > 1 else 0), table), np.int64),
            scratch=aligned((threads, whole_lines(SCRATCH)), np.int64),
            lines=aligned((threads, SEARCH_LINES, BINS_PER_COLUMN), np.int64),
            gains=aligned((threads, BINS_PER_COLUMN)),
            g=np.empty(0),
            h=np.empty(0),
            repeats=np.empty(0, dtype=np.int32),
            extents=np.empty((-(-n // BLOCK_ROWS), 2)),
            totals=np.empty((-(-n // BLOCK_ROWS), 2), dtype=np.int64),
            value=np.empty(0),
            out=np.empty(0),
        )
        # None where any column may be used: loops then have no code for them
        self.interaction_sets: Codes | None = None
        if interaction_sets is not None or limits.column_share < 1.0:
            sets = np.zeros((0, d)) if interaction_sets is None else interaction_sets
            self.interaction_sets = np.ascontiguousarray(sets, dtype=np.uint8)
        self._loop: Callable[..., bool] | None = None  # for the types of these rows, once it is known

    def grow(self, g: Array, h: Array, repeats: Indices, seed: int = 0) -> HistogramTree:
        """The tree of Newton steps for the gradients and curvatures of rows that each count `repeats` times."""
        self.state = self.state._replace(g=g, h=h, repeats=repeats)
        counters = self.state.tree.counters
        counters[SEED], counters[STEP] = seed, START
        while not self._run(START, self.team_size):
            counters[STEP] = START
            self.state = self.state._replace(tree=with_nodes(self.state.tree, 2 * len(self.state.tree.nodes)))
        return self._tree()

    def leaves(self) -> list[tuple[int, Indices]]:
        """The leaves of the tree that was grown last, and their rows in increasing order."""
        nodes = self.state.tree.nodes[: self.state.tree.counters[N_NODES]].tolist()
        parts: dict[int, list[Indices]] = {}
        for node in nodes:
            if node[LEFT] < 0:  # it may be below a leaf, worked out in vain
                rows, leaf = self.state.rows[node[BUFFER], node[LO] : node[HI]], node
                while leaf[PARENT] >= 0 and nodes[leaf[PARENT]][DIVIDED] == 0:
                    leaf = nodes[leaf[PARENT]]
                parts.setdefault(leaf[INDEX], []).append(rows)
        return [(leaf, np.sort(np.concatenate(parts[leaf]))) for leaf in sorted(parts)]

    def add(self, value: Array, out: Array) -> None:
        """Add the value of its leaf to each row of `out`."""
        self.state = self.state._replace(value=value, out=out)
        self._run(ADD, self.team_size)

    def _run(self, kind: int, size: int) -> bool:
        args = self.state, self.interaction_sets, self.limits.column_share, kind
        if self._loop is None:
            self._loop = grow_tree.for_types_of(np.zeros(1, dtype=np.int64), *args)
        return bool(run_team(self._loop, *args, size=size))

    def _nodes(self) -> Indices:
        """The nodes of the tree in their order."""
        tree = self.state.tree
        return tree.nodes[tree.nodes[: tree.counters[N_INDICES], ORDER]]

    def _tree(self) -> HistogramTree:
        tree, nodes = self.state.tree, self._nodes()
        numbers, inner = tree.numbers[tree.nodes[: len(nodes), ORDER]], nodes[:, DIVIDED] == 1
        column = np.where(inner, numbers[:, CUT + COLUMN], 0).astype(np.int64)
        cut = np.where(inner, numbers[:, CUT + CUT_BIN], 0).astype(np.int64)
        by_level = inner & (tree.columns[column, CATEGORICAL] == 1)
        bins_left = np.ascontiguousarray(nodes[:, BINS_LEFT:NODE_FIELDS]).view(np.uint32)
        left = np.full(len(nodes), -1, dtype=np.int32)
        left[inner] = tree.nodes[nodes[inner, LEFT], INDEX]
        category = np.full(len(nodes), -1, dtype=np.int32)
        category[by_level] = np.arange(np.count_nonzero(by_level))
        goes = bins_left[:, MISSING_BIN // 32] >> np.uint32(MISSING_BIN % 32)
        return HistogramTree(
            feature=np.where(inner, column, -1).astype(np.int32),
            threshold=np.where(inner & ~by_level, self.thresholds[column, cut], np.nan),
            left=left,
            right=left + inner.astype(np.int32),
            missing_left=np.where(inner, goes, 0).astype(np.uint8),
            category=category,
            sets=bins_left[by_level],
            value=numbers[:, VALUE].copy(),
            gain=np.where(inner, numbers[:, CUT + GAIN], 0.0),
            rows=nodes[:, HI] - nodes[:, LO],
        )
