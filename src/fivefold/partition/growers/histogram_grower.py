"""Trees for boosting, grown from histograms of gradients: the leaf that gains most is divided next.

    value = -G / (H + ridge)
    gain = 1/2 (G_left^2 / (H_left + ridge) + G_right^2 / (H_right + ridge) - G^2 / (H + ridge))

Gradients and curvatures are rounded to whole multiples of a small power of two, so sums are sums of integers: the same
in any order, and the histogram of a node less that of its smaller side is exactly that of the other. A bin holds two
64-bit numbers, the gradient, and curvature and count side by side. Missing values go to the side that gains more.
Levels of a category are put in the order of G / H and cut there (Fisher, 1958). Where the answer must not fall along a
column, the values of the sides are kept apart by their mean.

Friedman (2001); Ke et al. (2017) for leaf-wise growth; Shi et al. (2022) for rounded gradients.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.parallel import map_items, map_parts, row_parts, threads
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD, MISSING_BIN, Bins, pack_codes
from fivefold.partition.histograms.histogram_loops import (
    BINS_PER_COLUMN,
    CATEGORICAL,
    COLUMN,
    COUNT_BITS,
    COUNT_MASK,
    CURVATURE_EPSILON,
    CUT_BIN,
    GAIN,
    GATHER_ROWS,
    GROUPS_PER_PASS,
    LOWER_BOUND,
    MAX_ROWS,
    SECOND_PASS,
    SIGN,
    SIZE,
    UPPER_BOUND,
    VALUE,
    G,
    H,
    N,
    add_leaf_values,
    build_histograms,
    gradient_extent,
    quantise_gradients,
    search_histograms,
    separate_rows,
    split_node,
)

CURVATURE_BITS = 37  # bits of a sum of curvatures, beside the count and the sign
UNBOUNDED = 1e300
MIN_PARALLEL_ROWS = 49_152  # rows of a node that has all threads to itself
ROWS_PER_THREAD = 4096  # rows of a histogram worth a thread
GROUPS_PER_THREAD = 16  # groups of columns worth a thread, where cuts are sought
MAX_NODES_AT_ONCE = 8  # nodes divided at a time, at most,
MIN_PARALLEL_VALUES = 2**19  # and only if the first has so many values: below it threads cost more than they save
BLOCK_ROWS = 32_768  # rows of a part of longer passes
TABLE_CACHE_BYTES = 2**26  # bytes of histograms that are kept for later

NEITHER_SIDE, NO_TABLE = np.zeros(2, dtype=bool), np.zeros(0, dtype=np.int64)


class HistogramLimits(NamedTuple):
    """When to stop, and how many columns a node tries."""

    leaves: int = 31  # 0 for any number
    depth: int = 2**31 - 1
    rows: int = 20
    curvature: float = 1e-3
    ridge: float = 0.0
    features: float = 1.0  # share of the columns tried at a node


class QuantisationUnits(NamedTuple):
    """What one unit of the rounded gradient and curvature is worth."""

    gradient: float
    curvature: float


@dataclass(frozen=True)
class HistogramTree:
    """A tree: a row goes from node t to left[t] or to right[t]; leaves have feature -1."""

    feature: Any  # (m,) int32
    threshold: Any  # (m,) float64
    left: Any  # (m,) int32
    right: Any
    missing_left: Any  # (m,) uint8
    category: Any  # (m,) int32: the row of `sets` that decides, -1 for a threshold
    sets: Any  # (c, 8) uint32: bins that go left
    value: Any  # (m,) float64
    gain: Any  # (m,) float64
    rows: Any  # (m,) int64


@dataclass(slots=True)
class _HistogramNode:
    """Rows lo..hi of the list."""

    lo: int
    hi: int
    depth: int
    way: int  # from the root, a bit a turn
    sums: Any  # (6,) float64: G, H, N, VALUE, LOW, HIGH
    teams: Any  # (teams,) bool: teams of columns that it may use
    at: int = 0  # its number in the tree
    table: Any = None  # (columns * WIDTH * 2,) int64
    best: Any = None  # (8,) float64: its cut
    goes: Any = None  # (WIDTH,) uint8: bins on the left of its cut
    sides: tuple[_HistogramNode, ...] = ()  # what it is divided into, once that is known
    left: int = -1  # the number of its left side, once it is divided


Queue = list[tuple[float, int, _HistogramNode]]


class _Scratch(NamedTuple):
    """What a thread writes on."""

    held: Any  # ((2 + TEAM) * STRIP,) int64: gathered rows
    lines: Any  # (2, WIDTH) int64: sums on the left of each cut
    gains: Any  # (WIDTH,)
    order: Any  # (2, 2, WIDTH) int64: of each side, levels in their order, of a column and of the best
    found: Any  # (2, 8): of each side, the best cut

    @classmethod
    def new(cls) -> _Scratch:
        """Empty."""
        held, lines = (
            np.zeros((2 + GROUPS_PER_PASS) * GATHER_ROWS, dtype=np.int64),
            np.zeros((2, BINS_PER_COLUMN), dtype=np.int64),
        )
        return cls(
            held, lines, np.zeros(BINS_PER_COLUMN), np.zeros((2, 2, BINS_PER_COLUMN), dtype=np.int64), np.zeros((2, 8))
        )


class HistogramGrower:
    """Grows tree after tree from the same binned rows.

    A node with many rows has all threads to itself. Smaller ones are divided a few at a time, a thread each: those that
    gain most, which are likely to be next, so what is known of them too early is seldom in vain and changes no tree.
    Small ones are divided one by one.
    """

    def __init__(self, bins: Bins, codes: Any, limits: HistogramLimits, signs: Any = None, teams: Any = None) -> None:
        d, n = codes.shape
        self.bins, self.codes, self.limits = bins, codes, limits
        self.words, self.groups = pack_codes(codes), -(-d // COLUMNS_PER_WORD)
        self.columns = np.zeros((d, 3), dtype=np.int64)
        self.columns[:, SIZE], self.columns[:, CATEGORICAL] = bins.sizes, bins.categorical
        self.columns[:, SIGN] = 0 if signs is None else signs
        self.teams = None if teams is None else np.asarray(teams, dtype=bool)
        self.everything = np.ones(d, dtype=np.uint8)
        self.packed = np.empty((n, 2), dtype=np.int64)
        self.rows, self.spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.threads = threads()
        self.scratch = [_Scratch.new() for _ in range(1 if self.threads == 1 else max(self.threads, MAX_NODES_AT_ONCE))]
        self.size = self.groups * COLUMNS_PER_WORD * BINS_PER_COLUMN * 2
        self.tables: list[Any] = []  # free to use
        self.room = max(8, TABLE_CACHE_BYTES // (8 * self.size))
        self.nodes: list[_HistogramNode] = []

    def grow(self, g: Any, h: Any, repeats: Any, seed: int = 0) -> HistogramTree:
        """The tree of Newton steps for gradients and curvatures of rows that are there `repeats` times."""
        limits, units, self.seed = self.limits, _quantisation_units(g, h, repeats), seed
        per = 1 / units.gradient, 1 / units.curvature
        sums = map_parts(
            lambda lo, hi: quantise_gradients(
                g[lo:hi], h[lo:hi], repeats[lo:hi], *per, lo, self.rows[lo:hi], self.packed[lo:hi]
            ),
            len(g),
            rows=BLOCK_ROWS,
        )
        a, b = (sum(part[i] for part in sums) for i in range(2))
        whole = (a * units.gradient, (b >> COUNT_BITS) * units.curvature, b & COUNT_MASK)
        self.terms = np.array([limits.rows, limits.curvature, limits.ridge + CURVATURE_EPSILON, *units])
        root = self._node(0, len(g), 0, 1, whole, (-UNBOUNDED, UNBOUNDED), None)
        root.teams = None if self.teams is None else np.ones(len(self.teams), dtype=bool)
        self.nodes = [root]
        if self._may(root, 1):
            root.table = self._table()
            self._fill(root.table, root.lo, root.hi, None)
            self._weigh((root,))
        ahead: Queue = []
        self._line_up(ahead, root)
        leaves = 1
        while ahead and (leaves < limits.leaves or not limits.leaves):
            node = heapq.heappop(ahead)[2]
            leaves += 1
            if not node.sides:
                self._divide(node, ahead, leaves)
            node.left = len(self.nodes)
            self.nodes += node.sides
            for i, side in enumerate(node.sides):
                side.at = node.left + i
                self._line_up(ahead, side)
        for _, _, node in ahead:
            for one in (node, *node.sides):
                self._give_back(one)
        return self._grown()

    def leaves(self) -> list[tuple[int, Any]]:
        """The leaves of the tree that grew last, and their rows, increasing."""
        return [(node.at, np.sort(self.rows[node.lo : node.hi])) for node in self.nodes if node.left < 0]

    def add(self, value: Any, out: Any) -> None:
        """Add to each row the value of its leaf."""
        leaves = [node for node in self.nodes if node.left < 0]
        ends = np.array([(node.lo, node.hi) for node in leaves])
        add_leaf_values(ends, value[[node.at for node in leaves]], self.rows, out)

    def _node(
        self, lo: int, hi: int, depth: int, way: int, sums: Any, bounds: tuple[float, float], teams: Any
    ) -> _HistogramNode:
        value = -sums[G] / (sums[H] + self.limits.ridge + CURVATURE_EPSILON)
        numbers = np.array([*sums, min(max(value, bounds[0]), bounds[1]), *bounds])
        return _HistogramNode(lo, hi, depth, way, numbers, teams)

    def _may(self, node: _HistogramNode, leaves: int) -> bool:
        """May it be divided?"""
        limits = self.limits
        full = limits.leaves and leaves >= limits.leaves
        return not full and node.depth < limits.depth and node.sums[N] >= 2 * limits.rows and node.hi - node.lo > 1

    def _line_up(self, ahead: Queue, node: _HistogramNode) -> None:
        if node.best is None:
            self._give_back(node)
        else:  # the order does not matter where any number may be divided: the last first needs least memory
            heapq.heappush(ahead, (-node.best[GAIN] if self.limits.leaves else -float(node.at), node.at, node))
            if len(ahead) > self.room:
                self._give_back(node)

    def _divide(self, node: _HistogramNode, ahead: Queue, leaves: int) -> None:
        """Work out the sides of a node, and beside it those of the next ones that have none yet."""
        wave, width = [node], min(2 * self.threads, MAX_NODES_AT_ONCE)
        if (
            self.threads > 1
            and MIN_PARALLEL_VALUES <= (node.hi - node.lo) * len(self.columns)
            and node.hi - node.lo < MIN_PARALLEL_ROWS
        ):
            nexts = [one for _, _, one in heapq.nsmallest(2 * width, ahead)]
            if self.limits.leaves:
                width = min(width, 1 + self.limits.leaves - leaves - sum(bool(one.sides) for one in nexts))
            wave += [one for one in nexts if not one.sides and one.hi - one.lo < MIN_PARALLEL_ROWS][: max(0, width - 1)]
        if len(wave) == 1:
            self._work_out(node, leaves, None)
        else:
            wave.sort(key=lambda one: one.lo - one.hi)  # the largest first
            map_items(lambda k: self._work_out(wave[k], leaves, k), len(wave))

    def _work_out(self, node: _HistogramNode, leaves: int, slot: int | None) -> None:
        """The sides of a node, with histograms and cuts where they may be divided in turn."""
        f = int(node.best[COLUMN])
        bounds, part = (node.sums[LOWER_BOUND], node.sums[UPPER_BOUND]), node.best[4:7]
        teams = None if self.teams is None else node.teams & self.teams[:, f]
        left = self._node(node.lo, node.hi, node.depth + 1, 2 * node.way, part, bounds, teams)
        right = self._node(node.lo, node.hi, node.depth + 1, 2 * node.way + 1, node.sums[:3] - part, bounds, teams)
        if sign := int(self.columns[f, SIGN]):
            lower, upper = (left, right)[::sign]
            lower.sums[UPPER_BOUND] = upper.sums[LOWER_BOUND] = 0.5 * (lower.sums[VALUE] + upper.sums[VALUE])
        at_once = slot is not None or node.hi - node.lo < 2 * ROWS_PER_THREAD
        (self._at_once if at_once else self._by_steps)(f, node, left, right, leaves, slot)
        self._give_back(node)
        node.sides = left, right

    def _at_once(
        self, f: int, node: _HistogramNode, left: _HistogramNode, right: _HistogramNode, leaves: int, slot: int | None
    ) -> None:
        """Rows, histograms and cuts of the sides in one compiled call."""
        deeper = self._may(left, leaves) or self._may(right, leaves)
        if deeper and node.table is None:
            node.table = self._table()
            self._fill(node.table, node.lo, node.hi, slot)
        held, lines, gains, order, found = self.scratch[slot or 0]
        asked = np.array([self._may(left, 1), self._may(right, 1)]) if deeper else NEITHER_SIDE
        table = self._table() if deeper else NO_TABLE
        middle = split_node(
            self.codes[f], node.goes, self.rows, self.spare, node.lo, node.hi, self.words, self.columns,
            self.packed.reshape(-1), held, node.table if deeper else NO_TABLE, table, asked, self._allowed(left),
            self._allowed(right), left.sums, right.sums, self.terms, lines, gains, order, found,
        )  # fmt: skip
        left.hi = right.lo = middle
        if deeper:
            small, large = (left, right) if middle - node.lo <= node.hi - middle else (right, left)
            small.table, large.table, node.table = table, node.table, None
            for i, side in enumerate((left, right)):
                self._settle(side, found[i], order[i, 1])

    def _by_steps(
        self, f: int, node: _HistogramNode, left: _HistogramNode, right: _HistogramNode, leaves: int, slot: int | None
    ) -> None:
        """The same, each step on all threads."""
        left.hi = right.lo = middle = self._separated(f, node)
        small, large = (left, right) if middle - node.lo <= node.hi - middle else (right, left)
        if self._may(small, leaves) or self._may(large, leaves):
            if node.table is None:
                node.table = self._table()
                self._fill(node.table, node.lo, node.hi, slot)
            small.table, large.table, node.table = self._table(), node.table, None
            self._fill(small.table, small.lo, small.hi, slot)
            self._weigh((small, large))

    def _settle(self, node: _HistogramNode, found: Any, order: Any) -> None:
        """Keep the cut that was found, if there is one."""
        if found[GAIN] > 0:
            node.best = found.copy()
            node.goes = self._goes(node, order)

    def _separated(self, f: int, node: _HistogramNode) -> int:
        """Put the rows that go left first, in parts where they are many; where the others begin."""
        ends = [(node.lo + a, node.lo + b) for a, b in row_parts(node.hi - node.lo, BLOCK_ROWS)]
        each = map_items if len(ends) > 1 else _map_serial
        rows, spare, column = self.rows, self.spare, self.codes[f]
        counts = each(lambda i: separate_rows(column, node.goes, rows, spare, *ends[i]), len(ends))
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

    def _weigh(self, sides: tuple[_HistogramNode, ...]) -> None:
        """Best cuts of a node, or of two sides: the smaller with its histogram, the other with that of both."""
        small, large, columns = sides[0], sides[-1], len(self.columns)
        asked = [(i, node, self._allowed(node)) for i, node in enumerate(sides) if self._may(node, 1)]
        count = max(1, min(self.threads, self.groups // GROUPS_PER_THREAD))
        scratch = self.scratch[:count]

        def some(k: int) -> None:
            first, last = columns * k // count, columns * (k + 1) // count
            if large is not small:
                large.table[first * BINS_PER_COLUMN * 2 : last * BINS_PER_COLUMN * 2] -= small.table[
                    first * BINS_PER_COLUMN * 2 : last * BINS_PER_COLUMN * 2
                ]
            _, lines, gains, order, found = scratch[k]
            for i, node, allowed in asked:
                search_histograms(node.table, first, last, self.columns, allowed, node.sums, self.terms, lines, gains,
                                  order[i], found[i])  # fmt: skip

        (map_items if count > 1 else _map_serial)(some, count)
        for i, node, _ in asked:
            best = max(scratch, key=lambda one: float(one.found[i, GAIN]))
            self._settle(node, best.found[i], best.order[i, 1])

    def _fill(self, table: Any, lo: int, hi: int, slot: int | None) -> None:
        """The histogram of rows lo..hi of the list; without a slot on all threads, each with a table of its own."""
        count = 1 if slot is not None else max(1, min(self.threads, (hi - lo) // ROWS_PER_THREAD))
        tables = [table, *(self._table() for _ in range(count - 1))]
        packed, scratch = self.packed.reshape(-1), self.scratch[slot or 0 :]

        def some(k: int) -> None:
            ends = lo + (hi - lo) * k // count, lo + (hi - lo) * (k + 1) // count
            build_histograms(self.words, len(self.columns), self.rows, *ends, packed, scratch[k].held, tables[k])

        (map_items if count > 1 else _map_serial)(some, count)
        for more in tables[1:]:
            table += more
        self.tables += tables[1:]

    def _goes(self, node: _HistogramNode, order: Any) -> Any:
        """Which bins go left; missing values, if there were none, with the many."""
        best, goes = node.best, np.zeros(BINS_PER_COLUMN, dtype=np.uint8)
        f, cut = int(best[COLUMN]), int(best[CUT_BIN]) + 1
        if self.columns[f, CATEGORICAL]:
            levels = order[: int(best[7])]
            goes[levels[:cut] if best[SECOND_PASS] == 0 else levels[len(levels) - cut :]] = 1
        else:
            goes[:cut] = 1
            goes[MISSING_BIN] = best[SECOND_PASS]
        if int(node.table[2 * (f * BINS_PER_COLUMN + MISSING_BIN) + 1]) & MAX_ROWS == 0:
            goes[MISSING_BIN] = 2 * best[4 + N] > node.sums[N]
        return goes

    def _allowed(self, node: _HistogramNode) -> Any:
        """The columns that a node tries: the seed and the way from the root draw them, so weights mean repetition."""
        if self.teams is None and self.limits.features >= 1:
            return self.everything
        allowed = self.everything if self.teams is None else self.teams[node.teams].any(axis=0).astype(np.uint8)
        if self.limits.features < 1:
            columns = np.flatnonzero(allowed)
            count = max(1, int(np.ceil(self.limits.features * len(columns))))
            drawn = np.random.default_rng([self.seed, node.way]).permutation(columns)[:count]
            allowed = np.zeros_like(allowed)
            allowed[drawn] = 1
        return allowed

    def _table(self) -> Any:
        try:  # another thread may take the last one
            return self.tables.pop()
        except IndexError:
            return np.empty(self.size, dtype=np.int64)

    def _give_back(self, node: _HistogramNode) -> None:
        if node.table is not None:
            self.tables.append(node.table)
            node.table = None

    def _grown(self) -> HistogramTree:
        nodes = self.nodes
        inner = np.array([node.left >= 0 for node in nodes])
        feature = np.array([int(node.best[COLUMN]) if node.left >= 0 else -1 for node in nodes], dtype=np.int32)
        by_set = inner & self.bins.categorical[feature]
        return HistogramTree(
            feature,
            np.array(
                [self._threshold(node) if one else np.nan for node, one in zip(nodes, inner & ~by_set, strict=True)]
            ),
            left := np.array([node.left for node in nodes], dtype=np.int32),
            np.where(inner, left + 1, -1).astype(np.int32),
            np.array([node.goes[MISSING_BIN] if node.left >= 0 else 0 for node in nodes], dtype=np.uint8),
            np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32),
            np.array([_pack_bins(nodes[t].goes) for t in np.flatnonzero(by_set)], dtype=np.uint32).reshape(-1, 8),
            np.array([node.sums[VALUE] for node in nodes]),
            np.array([node.best[GAIN] if node.left >= 0 else 0.0 for node in nodes]),
            np.array([node.hi - node.lo for node in nodes]),
        )

    def _threshold(self, node: _HistogramNode) -> float:
        edges, cut = self.bins.edges[int(node.best[COLUMN])], int(node.best[CUT_BIN])
        return float(edges[cut]) if cut < len(edges) else np.inf


def _map_serial(work: Any, count: int) -> list[Any]:
    return [work(i) for i in range(count)]


def _pack_bins(goes: Any) -> Any:
    """A mask of bins as bits (8,) uint32."""
    return np.packbits(goes, bitorder="little").view(np.uint32)


def _quantisation_units(g: Any, h: Any, repeats: Any) -> QuantisationUnits:
    """Powers of two, so that products with them are exact, and sums fit their bits."""
    bounds = map_parts(lambda lo, hi: gradient_extent(g[lo:hi], h[lo:hi], repeats[lo:hi]), len(g), rows=BLOCK_ROWS)
    top, total = max(max(b[0] for b in bounds), 1e-290), max(sum(b[1] for b in bounds), 1e-290)
    return QuantisationUnits(
        float(2.0 ** (np.ceil(np.log2(top)) - 31)), float(2.0 ** (np.ceil(np.log2(total)) - CURVATURE_BITS))
    )
