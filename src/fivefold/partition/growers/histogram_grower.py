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

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fivefold.core.parallel import map_items, map_parts, row_parts, threads
from fivefold.core.types import Array, Codes, Doubles, Indices, Mask
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD, MISSING_BIN, Allocation, Bins, pack_codes
from fivefold.partition.histograms.histogram_loops import (
    BINS_PER_COLUMN,
    CATEGORICAL,
    COLUMN,
    COUNT_BITS,
    COUNT_MASK,
    CURVATURE_EPSILON,
    CUT_BIN,
    GAIN,
    LEFT_G,
    LEFT_N,
    LOWER_BOUND,
    MAX_ROWS,
    N_LEVELS,
    SECOND_PASS,
    SIGN,
    SIZE,
    UPPER_BOUND,
    VALUE,
    BinnedRows,
    G,
    H,
    N,
    SearchBuffers,
    add_leaf_values,
    build_histograms,
    gradient_extent,
    quantise_gradients,
    search_buffers,
    search_histograms,
    separate_rows,
    split_node,
)

CURVATURE_BITS = 37  # bits of a sum of curvatures: what 64 bits leave beside the count and the sign
UNBOUNDED = 1e300  # bound of the values below a node that is free: no value reaches it
MIN_PARALLEL_ROWS = 49_152  # rows from which one node is divided by all threads
ROWS_PER_THREAD = 4096  # rows of a histogram from which another thread pays
GROUPS_PER_THREAD = 16  # groups of columns from which another thread pays in the search for a cut
MAX_NODES_AT_ONCE = 8  # nodes divided at the same time, one per thread
MIN_PARALLEL_VALUES = 2**19  # values (rows x columns) of a node, below which threads cost more than they save
BLOCK_ROWS = 32_768  # rows per part of passes over all rows
TABLE_CACHE_BYTES = 2**26  # bytes of histograms that are kept for nodes to be divided later

NO_TABLE = np.zeros(0, dtype=np.int64)


class HistogramLimits(NamedTuple):
    """When to stop, and how many columns are tried per node."""

    max_leaves: int = 31  # 0 for any number
    max_depth: int = 2**31 - 1
    min_rows: int = 20  # minimum rows of a leaf
    min_curvature: float = 1e-3  # minimum sum of curvatures in a leaf
    ridge: float = 0.0
    column_share: float = 1.0  # share of the columns tried per node


class QuantisationUnits(NamedTuple):
    """The gradient and the curvature that one unit of the rounded numbers stands for."""

    gradient: float
    curvature: float


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


@dataclass(slots=True)
class _HistogramNode:
    """A node with rows lo..hi of the list."""

    lo: int
    hi: int
    depth: int
    path: int  # from the root, one bit per turn below a leading 1
    sums: Doubles  # (6,): G, H, N, VALUE, LOWER_BOUND, UPPER_BOUND
    interaction_sets: Mask | None  # (s,): sets of columns that it may use; None for no limits
    index: int = 0  # its number in the tree
    table: Any = None  # None before it is built; (columns * BINS_PER_COLUMN * 2,) int64: its histograms
    best: Any = None  # None before it is found; (CUT_NUMBERS,): its cut
    bins_left: Any = None  # likewise; (BINS_PER_COLUMN,) uint8: 1 for bins on the left of its cut
    children: tuple[_HistogramNode, ...] = ()  # two, once they have been worked out
    left: int = -1  # the index of its left child, once it has been divided


T = TypeVar("T")
Queue = list[tuple[float, int, _HistogramNode]]


class HistogramGrower:
    """Grows tree after tree from the same binned rows.

    A node with many rows is divided by all threads. Smaller ones are divided a few at a time, one thread each: those
    that gain most, which are likely to be next, so that this work is seldom wasted and changes no tree. Small ones are
    divided one by one.
    """

    def __init__(
        self,
        bins: Bins,
        codes: Codes,
        limits: HistogramLimits,
        signs: Indices | None = None,
        interaction_sets: Mask | None = None,
        allocate: Allocation = np.empty,
    ) -> None:
        d, n = codes.shape
        self.bins, self.codes, self.limits = bins, codes, limits
        self.groups = -(-d // COLUMNS_PER_WORD)
        self.columns = np.zeros((d, 3), dtype=np.int64)
        self.columns[:, SIZE], self.columns[:, CATEGORICAL] = bins.sizes, bins.categorical
        self.columns[:, SIGN] = 0 if signs is None else signs
        self.interaction_sets = None if interaction_sets is None else np.asarray(interaction_sets, dtype=bool)
        self.packed = allocate((n, 2), np.int64)
        self.rows = allocate((n,), np.int32)
        self.data = BinnedRows(
            self.rows, allocate((n,), np.int32), pack_codes(codes, allocate), self.packed.reshape(-1), self.columns
        )
        self.threads = threads()
        self.scratch = [
            search_buffers(d) for _ in range(1 if self.threads == 1 else max(self.threads, MAX_NODES_AT_ONCE))
        ]
        self.size = self.groups * COLUMNS_PER_WORD * BINS_PER_COLUMN * 2
        self.tables: list[Indices] = []  # free to use
        self.split_node: Callable[..., int] | None = None  # for the types of these rows, once it is known
        self.max_queued_tables = max(8, TABLE_CACHE_BYTES // (8 * self.size))
        self.nodes: list[_HistogramNode] = []

    def grow(self, g: Array, h: Array, repeats: Indices, seed: int = 0) -> HistogramTree:
        """The tree of Newton steps for the gradients and curvatures of rows that each count `repeats` times."""
        limits, units, self.seed = self.limits, _quantisation_units(g, h, repeats), seed
        per = 1 / units.gradient, 1 / units.curvature
        sums = _map_blocks(
            lambda lo, hi: quantise_gradients(
                g[lo:hi], h[lo:hi], repeats[lo:hi], *per, lo, self.rows[lo:hi], self.packed[lo:hi]
            ),
            len(g),
        )
        a, b = (sum(part[i] for part in sums) for i in range(2))
        whole = (a * units.gradient, (b >> COUNT_BITS) * units.curvature, b & COUNT_MASK)
        self.terms = np.array([limits.min_rows, limits.min_curvature, limits.ridge + CURVATURE_EPSILON, *units])
        root = self._node(0, len(g), 0, 1, whole, (-UNBOUNDED, UNBOUNDED), None)
        root.interaction_sets = (
            None if self.interaction_sets is None else np.ones(len(self.interaction_sets), dtype=bool)
        )
        self.nodes = [root]
        if self._can_split(root, 1):
            root.table = self._table()
            self._fill(root.table, root.lo, root.hi, None)
            self._search((root,))
        queue: Queue = []
        self._enqueue(queue, root)
        leaves = 1
        while queue and (leaves < limits.max_leaves or not limits.max_leaves):
            node = heapq.heappop(queue)[2]
            leaves += 1
            if not node.children:
                self._split_next(node, queue, leaves)
            node.left = len(self.nodes)
            self.nodes += node.children
            for i, child in enumerate(node.children):
                child.index = node.left + i
                self._enqueue(queue, child)
        for _, _, node in queue:
            for one in (node, *node.children):
                self._release_table(one)
        return self._tree()

    def leaves(self) -> list[tuple[int, Indices]]:
        """The leaves of the tree that was grown last, and their rows in increasing order."""
        return [(node.index, np.sort(self.rows[node.lo : node.hi])) for node in self.nodes if node.left < 0]

    def add(self, value: Array, out: Array) -> None:
        """Add the value of its leaf to each row of `out`."""
        leaves = [node for node in self.nodes if node.left < 0]
        ends = np.array([(node.lo, node.hi) for node in leaves])
        add_leaf_values(ends, value[[node.index for node in leaves]], self.rows, out)

    def _node(
        self, lo: int, hi: int, depth: int, path: int, sums: Any, bounds: tuple[float, float], interaction_sets: Any
    ) -> _HistogramNode:
        numbers = np.empty(6)
        numbers[: N + 1] = sums
        value = -numbers[G] / (numbers[H] + self.limits.ridge + CURVATURE_EPSILON)
        numbers[VALUE] = min(max(value, bounds[0]), bounds[1])
        numbers[LOWER_BOUND], numbers[UPPER_BOUND] = bounds
        return _HistogramNode(lo, hi, depth, path, numbers, interaction_sets)

    def _can_split(self, node: _HistogramNode, leaves: int) -> bool:
        """Can a node be divided in a tree that has this many leaves?"""
        limits = self.limits
        full = limits.max_leaves and leaves >= limits.max_leaves
        return (
            not full and node.depth < limits.max_depth and node.sums[N] >= 2 * limits.min_rows and node.hi - node.lo > 1
        )

    def _enqueue(self, queue: Queue, node: _HistogramNode) -> None:
        """Put a node that can be divided into the queue; only `max_queued_tables` of them keep their histograms."""
        if node.best is None:
            self._release_table(node)
        else:  # without a limit on leaves the order does not matter: last in, first out needs least memory
            heapq.heappush(
                queue, (-node.best[GAIN] if self.limits.max_leaves else -float(node.index), node.index, node)
            )
            if len(queue) > self.max_queued_tables:
                self._release_table(node)

    def _split_next(self, node: _HistogramNode, queue: Queue, leaves: int) -> None:
        """Work out the children of a node, and at the same time those of the next nodes of the queue."""
        wave, width = [node], min(2 * self.threads, MAX_NODES_AT_ONCE)
        if (
            self.threads > 1
            and MIN_PARALLEL_VALUES <= (node.hi - node.lo) * len(self.columns)
            and node.hi - node.lo < MIN_PARALLEL_ROWS
        ):
            nexts = [one for _, _, one in heapq.nsmallest(2 * width, queue)]
            if self.limits.max_leaves:
                width = min(width, 1 + self.limits.max_leaves - leaves - sum(bool(one.children) for one in nexts))
            ready = [one for one in nexts if not one.children and one.hi - one.lo < MIN_PARALLEL_ROWS]
            wave += ready[: max(0, width - 1)]
        if len(wave) == 1:
            self._split(node, leaves, None)
        else:
            wave.sort(key=lambda one: one.lo - one.hi)  # the largest first
            map_items(lambda k: self._split(wave[k], leaves, k), len(wave))

    def _split(self, node: _HistogramNode, leaves: int, slot: int | None) -> None:
        """Work out the children of a node, with histograms and cuts where they can be divided in turn."""
        f = int(node.best[COLUMN])
        bounds, part = (node.sums[LOWER_BOUND], node.sums[UPPER_BOUND]), node.best[LEFT_G : LEFT_N + 1]
        interaction_sets = (
            None if self.interaction_sets is None else node.interaction_sets & self.interaction_sets[:, f]
        )
        left = self._node(node.lo, node.hi, node.depth + 1, 2 * node.path, part, bounds, interaction_sets)
        right = self._node(
            node.lo, node.hi, node.depth + 1, 2 * node.path + 1, node.sums[:3] - part, bounds, interaction_sets
        )
        if sign := int(self.columns[f, SIGN]):
            lower, upper = (left, right)[::sign]
            lower.sums[UPPER_BOUND] = upper.sums[LOWER_BOUND] = 0.5 * (lower.sums[VALUE] + upper.sums[VALUE])
        at_once = slot is not None or node.hi - node.lo < 2 * ROWS_PER_THREAD
        (self._split_in_one_call if at_once else self._split_in_steps)(f, node, left, right, leaves, slot)
        self._release_table(node)
        node.children = left, right

    def _split_in_one_call(
        self, f: int, node: _HistogramNode, left: _HistogramNode, right: _HistogramNode, leaves: int, slot: int | None
    ) -> None:
        """Rows, histograms and cuts of the children in one compiled call."""
        deeper = self._can_split(left, leaves) or self._can_split(right, leaves)
        if deeper and node.table is None:
            node.table = self._table()
            self._fill(node.table, node.lo, node.hi, slot)
        work, table = self.scratch[slot or 0], self._table() if deeper else NO_TABLE
        searched = deeper and self._can_split(left, 1), deeper and self._can_split(right, 1)
        self._write_side(work, 0, left, searched[0])
        self._write_side(work, 1, right, searched[1])
        args = (
            self.data,
            self.codes[f],
            node.bins_left,
            node.lo,
            node.hi,
            node.table if deeper else NO_TABLE,
            table,
            *searched,
            self.terms,
            work,
        )
        if self.split_node is None:
            self.split_node = split_node.for_types_of(*args)
        middle = self.split_node(*args)
        left.hi = right.lo = middle
        if deeper:
            small, large = (left, right) if middle - node.lo <= node.hi - middle else (right, left)
            small.table, large.table, node.table = table, node.table, None
            for i, side in enumerate((left, right)):
                self._keep_cut(side, work.found[i], work.order[i, 1])

    def _split_in_steps(
        self, f: int, node: _HistogramNode, left: _HistogramNode, right: _HistogramNode, leaves: int, slot: int | None
    ) -> None:
        """The same in steps, each on all threads."""
        left.hi = right.lo = middle = self._partition(f, node)
        small, large = (left, right) if middle - node.lo <= node.hi - middle else (right, left)
        if self._can_split(small, leaves) or self._can_split(large, leaves):
            if node.table is None:
                node.table = self._table()
                self._fill(node.table, node.lo, node.hi, slot)
            small.table, large.table, node.table = self._table(), node.table, None
            self._fill(small.table, small.lo, small.hi, slot)
            self._search((small, large))

    def _keep_cut(self, node: _HistogramNode, found: Any, order: Any) -> None:
        """Give the node the cut that was found, if there is one."""
        if found[GAIN] > 0:
            node.best = found.copy()
            node.bins_left = self._bins_left(node, order)

    def _partition(self, f: int, node: _HistogramNode) -> int:
        """Put the rows that go left first, in parallel parts where there are many; return where the others begin."""
        ends = [(node.lo + a, node.lo + b) for a, b in row_parts(node.hi - node.lo, BLOCK_ROWS)]
        rows, spare, column = self.rows, self.data.spare, self.codes[f]

        def separate(i: int) -> int:
            return separate_rows(column, node.bins_left, rows, spare, *ends[i])

        counts = map_items(separate, len(ends)) if len(ends) > 1 else [separate(0)]
        at = node.lo
        for (lo, _), count in zip(ends, counts, strict=True):
            if at < lo:
                rows[at : at + count] = rows[lo : lo + count]
            at += count
        middle = at
        for (lo, hi), count in zip(ends, counts, strict=True):
            rows[at : at + hi - lo - count] = spare[lo : hi - count]
            at += hi - lo - count
        return middle

    def _search(self, nodes: tuple[_HistogramNode, ...]) -> None:
        """Find the best cut of the root, or of two children: the smaller has its histogram, the other that of both."""
        small, large, columns = nodes[0], nodes[-1], len(self.columns)
        wanted = [(i, node) for i, node in enumerate(nodes) if self._can_split(node, 1)]
        count = max(1, min(self.threads, self.groups // GROUPS_PER_THREAD))
        scratch = self.scratch[:count]

        def search_columns(k: int) -> None:
            first, last = columns * k // count, columns * (k + 1) // count
            if large is not small:
                part = slice(first * BINS_PER_COLUMN * 2, last * BINS_PER_COLUMN * 2)
                large.table[part] -= small.table[part]
            for i, node in wanted:
                self._write_side(scratch[k], i, node)
                search_histograms(node.table, first, last, self.columns, self.terms, scratch[k], i)

        if count > 1:
            map_items(search_columns, count)
        else:
            search_columns(0)
        for i, node in wanted:
            best = max(scratch, key=lambda work: float(work.found[i, GAIN]))
            self._keep_cut(node, best.found[i], best.order[i, 1])

    def _fill(self, table: Any, lo: int, hi: int, slot: int | None) -> None:
        """Build the histogram of rows lo..hi; without a slot on all threads, each with a table of its own."""
        count = 1 if slot is not None else max(1, min(self.threads, (hi - lo) // ROWS_PER_THREAD))
        tables = [table, *(self._table() for _ in range(count - 1))]
        scratch = self.scratch[slot or 0 :]

        def fill_table(k: int) -> None:
            ends = lo + (hi - lo) * k // count, lo + (hi - lo) * (k + 1) // count
            build_histograms(self.data, *ends, scratch[k].gathered, tables[k])

        if count > 1:
            map_items(fill_table, count)
        else:
            fill_table(0)
        for more in tables[1:]:
            table += more
        self.tables += tables[1:]

    def _bins_left(self, node: _HistogramNode, order: Any) -> Any:
        """Which bins go left; where the node has no missing values, they go with the majority."""
        best, left = node.best, np.zeros(BINS_PER_COLUMN, dtype=np.uint8)
        f, cut = int(best[COLUMN]), int(best[CUT_BIN]) + 1
        if self.columns[f, CATEGORICAL]:
            levels = order[: int(best[N_LEVELS])]
            left[levels[:cut] if best[SECOND_PASS] == 0 else levels[len(levels) - cut :]] = 1
        else:
            left[:cut] = 1
            left[MISSING_BIN] = best[SECOND_PASS]
        if int(node.table[2 * (f * BINS_PER_COLUMN + MISSING_BIN) + 1]) & MAX_ROWS == 0:
            left[MISSING_BIN] = 2 * best[LEFT_N] > node.sums[N]
        return left

    def _write_side(self, work: SearchBuffers, side: int, node: _HistogramNode, searched: bool = True) -> None:
        """Make a node the one whose cut is found on this side, if one is searched."""
        work.sums[side] = node.sums
        if searched and (self.interaction_sets is not None or self.limits.column_share < 1):
            work.allowed[side] = self._allowed(node)

    def _allowed(self, node: _HistogramNode) -> Codes:
        """The columns that a node may use, drawn by the seed and the path from the root: weights mean repetition."""
        allowed: Codes = np.ones(len(self.columns), dtype=np.uint8)
        if self.interaction_sets is not None:
            allowed = np.asarray(self.interaction_sets[node.interaction_sets].any(axis=0), dtype=np.uint8)
        if self.limits.column_share < 1:
            columns = np.flatnonzero(allowed)
            count = max(1, int(np.ceil(self.limits.column_share * len(columns))))
            drawn = np.random.default_rng([self.seed, node.path]).permutation(columns)[:count]
            allowed = np.zeros_like(allowed)
            allowed[drawn] = 1
        return allowed

    def _table(self) -> Any:
        try:  # another thread may take the last one
            return self.tables.pop()
        except IndexError:
            return np.empty(self.size, dtype=np.int64)

    def _release_table(self, node: _HistogramNode) -> None:
        if node.table is not None:
            self.tables.append(node.table)
            node.table = None

    def _tree(self) -> HistogramTree:
        nodes = self.nodes
        m, sets = len(nodes), list[Codes]()
        feature, left, category = (np.full(m, -1, dtype=np.int32) for _ in range(3))
        threshold, missing_left, gain = np.full(m, np.nan), np.zeros(m, dtype=np.uint8), np.zeros(m)
        for t, node in enumerate(nodes):
            if node.left >= 0:
                f = int(node.best[COLUMN])
                feature[t], left[t], gain[t] = f, node.left, node.best[GAIN]
                missing_left[t] = node.bins_left[MISSING_BIN]
                if self.columns[f, CATEGORICAL]:
                    category[t] = len(sets)
                    sets.append(_pack_bins(node.bins_left))
                else:
                    threshold[t] = self._threshold(node)
        return HistogramTree(
            feature=feature,
            threshold=threshold,
            left=left,
            right=left + (left >= 0),
            missing_left=missing_left,
            category=category,
            sets=np.array(sets, dtype=np.uint32).reshape(-1, 8),
            value=np.array([node.sums[VALUE] for node in nodes]),
            gain=gain,
            rows=np.array([node.hi - node.lo for node in nodes]),
        )

    def _threshold(self, node: _HistogramNode) -> float:
        edges, cut = self.bins.edges[int(node.best[COLUMN])], int(node.best[CUT_BIN])
        return float(edges[cut]) if cut < len(edges) else np.inf


def _map_blocks(work: Callable[[int, int], T], n: int) -> list[T]:
    """Work on parts of all rows, on the pool; few rows are one part, for which asking the pool takes longer."""
    return [work(0, n)] if n < 2 * BLOCK_ROWS else map_parts(work, n, rows=BLOCK_ROWS)


def _pack_bins(goes: Codes) -> Codes:
    """A mask of bins as bits (8,) uint32."""
    return np.packbits(goes, bitorder="little").view(np.uint32)


def _quantisation_units(g: Array, h: Array, repeats: Indices) -> QuantisationUnits:
    """Units that are powers of two, so that products with them are exact, and such that sums fit their bits."""
    bounds = _map_blocks(lambda lo, hi: gradient_extent(g[lo:hi], h[lo:hi], repeats[lo:hi]), len(g))
    top, total = max(max(b[0] for b in bounds), 1e-290), max(sum(b[1] for b in bounds), 1e-290)
    return QuantisationUnits(
        float(2.0 ** (np.ceil(np.log2(top)) - 31)), float(2.0 ** (np.ceil(np.log2(total)) - CURVATURE_BITS))
    )
