"""Trees for boosting, grown from histograms of gradients: the leaf that gains most is divided next.

    gain = 1/2 (G_left^2 / (H_left + ridge) + G_right^2 / (H_right + ridge) - G^2 / (H + ridge))

Gradients and curvatures are rounded to whole multiples of a small unit, so sums are sums of integers: the same in any
order, and the histogram of a node less that of its smaller side is exactly that of the other. A bin holds two 64-bit
numbers, the gradient, and curvature and count side by side.

Friedman (2001); Ke et al. (2017) for leaf-wise growth; Shi et al. (2022) for rounded gradients.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.core.parallel import map_items
from fivefold.partition.bins import GROUP, MISSING_BIN
from fivefold.partition.tree import Tree

WIDTH = MISSING_BIN + 1
COUNT_BITS = 24
COUNT = np.int64(2**COUNT_BITS - 1)
TOP = 39 - 1  # bits of a sum of curvatures, beside the count and the sign
LARGE = 16_384  # rows of a node worth more than one thread


class Limits(NamedTuple):
    """When to stop."""

    leaves: int = 31
    depth: int = 2**31 - 1
    rows: int = 20
    curvature: float = 1e-3
    ridge: float = 0.0
    gain: float = 0.0


class Units(NamedTuple):
    """What one unit of the rounded gradient and curvature is worth."""

    gradient: float
    curvature: float


@dataclass
class _Leaf:
    """A node that may be divided."""

    at: int
    lo: int
    hi: int
    depth: int
    G: float
    H: float
    table: Any = None  # (d, WIDTH, 2) int64
    best: Any = None  # gain, column, bin, missing left


def rounded(g: Any, h: Any, scratch: Any) -> Units:
    """Fill scratch (n, 2) int64 with rounded gradients, and curvatures with a count of one beside them."""
    n = len(g)
    top = max(float(np.abs(g).max()), 1e-300)
    most = max(float(h.max()), 1e-300)
    units = Units(top / 2.0**31, most / 2.0 ** (TOP - int(np.ceil(np.log2(n + 1)))))
    _round(g, h, 1 / units.gradient, 1 / units.curvature, scratch)
    return units


def grow_histogram(codes: Any, edges: tuple[Any, ...], packed: Any, units: Units, limits: Limits) -> tuple[Tree, Any, Any]:
    """A tree of Newton steps, its leaf values -G / (H + ridge), and the leaf node of each row."""
    grower = _Grower(codes, edges, packed, units, limits)
    return grower.grow()


class _Grower:
    def __init__(self, codes: Any, edges: tuple[Any, ...], packed: Any, units: Units, limits: Limits) -> None:
        self.codes, self.edges, self.packed, self.units, self.limits = codes, edges, packed, units, limits
        self.n, self.d = codes.shape[1], len(edges)
        self.rows, self.spare = np.arange(self.n, dtype=np.int32), np.empty(self.n, dtype=np.int32)
        self.sizes = np.array([len(edge) + 1 for edge in edges])
        self.nodes: list[tuple[int, float, int, int, int, int]] = []  # feature, threshold, child, missing, depth, rows
        self.values: list[float] = []

    def grow(self) -> tuple[Tree, Any, Any]:
        total = self._totals(self.packed.sum(axis=0))
        root = self._opened(_Leaf(0, 0, self.n, 0, *total))
        ahead, held = [(-root.best[0], 0, root)] if root.best[0] > self.limits.gain else [], [root]
        self._note(root)
        leaves = 1
        while ahead and leaves < self.limits.leaves:
            leaf = heapq.heappop(ahead)[2]
            held.remove(leaf)
            for side in self._divided(leaf, leaves + 2 < self.limits.leaves + 1):
                held.append(side)
                if side.best is not None and side.best[0] > self.limits.gain:
                    heapq.heappush(ahead, (-side.best[0], side.at, side))
            leaves += 1
        where = np.empty(self.n, dtype=np.int32)
        for leaf in held:
            where[self.rows[leaf.lo : leaf.hi]] = leaf.at
        return self._tree(), np.array(self.values), where

    def _opened(self, leaf: _Leaf) -> _Leaf:
        """The leaf with its histogram and best split."""
        leaf.table = self._histogram(leaf.lo, leaf.hi) if leaf.table is None else leaf.table
        best = np.zeros(4)
        _best(leaf.table, self.sizes, leaf.G, leaf.H, leaf.hi - leaf.lo, self.units, self.limits, best)
        leaf.best = best
        return leaf

    def _histogram(self, lo: int, hi: int) -> Any:
        table = np.zeros((len(self.codes) * GROUP, WIDTH, 2), dtype=np.int64)
        fill = _fill_all if hi - lo == self.n else _fill

        def group(k: int) -> None:
            fill(self.codes[k], self.rows, lo, hi, self.packed, table[k * GROUP : (k + 1) * GROUP])

        if hi - lo < LARGE:
            for k in range(len(self.codes)):
                group(k)
        else:
            map_items(group, len(self.codes))
        return table

    def _divided(self, leaf: _Leaf, more: bool) -> tuple[_Leaf, _Leaf]:
        f, b, missing_left = (int(x) for x in leaf.best[1:])
        middle = int(
            _separate(self.codes[f // GROUP], f % GROUP, b, missing_left, self.rows, self.spare, leaf.lo, leaf.hi)
        )
        at = len(self.nodes)
        edges = self.edges[f]
        threshold = float(edges[b]) if b < len(edges) else np.inf
        self.nodes[leaf.at] = (f, threshold, at, missing_left, leaf.depth, leaf.hi - leaf.lo)
        G, H = self._totals(_side(leaf.table[f], b, missing_left))
        sides = (
            _Leaf(at, leaf.lo, middle, leaf.depth + 1, G, H),
            _Leaf(at + 1, middle, leaf.hi, leaf.depth + 1, leaf.G - G, leaf.H - H),
        )
        for side in sides:
            self._note(side)
        if more and leaf.depth + 1 < self.limits.depth:
            small, large = sorted(sides, key=lambda side: side.hi - side.lo)
            if small.hi - small.lo >= 2 * self.limits.rows or large.hi - large.lo >= 2 * self.limits.rows:
                self._opened(small)
                leaf.table -= small.table
                large.table, leaf.table = leaf.table, None
                self._opened(large)
        leaf.table = None
        return sides

    def _totals(self, sums: Any) -> tuple[float, float]:
        return float(sums[0]) * self.units.gradient, float(int(sums[1]) >> COUNT_BITS) * self.units.curvature

    def _note(self, leaf: _Leaf) -> None:
        self.nodes.append((-1, np.nan, -1, 0, leaf.depth, leaf.hi - leaf.lo))
        self.values.append(-leaf.G / (leaf.H + self.limits.ridge))

    def _tree(self) -> Tree:
        feature, threshold, child, missing, depth, rows = (np.array(part) for part in zip(*self.nodes, strict=True))
        left = child.astype(np.int32)
        return Tree(
            feature.astype(np.int32),
            threshold.astype(np.float64),
            left,
            np.where(left >= 0, left + 1, -1).astype(np.int32),
            missing.astype(np.uint8),
            depth.astype(np.int32),
            rows.astype(np.int64),
        )


@jit(error_model="numpy")
def _round(g, h, per_gradient, per_curvature, out):
    for i in range(len(g)):
        out[i, 0] = np.int64(np.rint(g[i] * per_gradient))
        out[i, 1] = (np.int64(np.rint(h[i] * per_curvature)) << COUNT_BITS) + 1


@jit
def _fill_all(codes, rows, lo, hi, packed, table):
    for i in range(lo, hi):
        a, b = packed[i, 0], packed[i, 1]
        for j in range(GROUP):
            code = codes[i, j]
            table[j, code, 0] += a
            table[j, code, 1] += b


@jit
def _fill(codes, rows, lo, hi, packed, table):
    for i in range(lo, hi):
        row = rows[i]
        a, b = packed[row, 0], packed[row, 1]
        for j in range(GROUP):
            code = codes[row, j]
            table[j, code, 0] += a
            table[j, code, 1] += b


@jit(error_model="numpy")
def _best(table, sizes, G, H, rows, units, limits, best):
    """Fill best = (gain, column, last bin on the left, missing left)."""
    whole = G * G / (H + limits.ridge)
    best[0] = 0.0
    for f in range(len(sizes)):
        absent = table[f, MISSING_BIN, 1] & COUNT
        for side in range(2 if absent > 0 else 1):
            a = table[f, MISSING_BIN, 0] if side == 1 else np.int64(0)
            b = table[f, MISSING_BIN, 1] if side == 1 else np.int64(0)
            end = sizes[f] if absent > 0 and side == 0 else sizes[f] - 1
            for code in range(end):
                a += table[f, code, 0]
                b += table[f, code, 1]
                count = b & COUNT
                if count < limits.rows:
                    continue
                if rows - count < limits.rows:
                    break
                g, h = a * units.gradient, (b >> COUNT_BITS) * units.curvature
                if h < limits.curvature or H - h < limits.curvature:
                    continue
                gain = 0.5 * (g * g / (h + limits.ridge) + (G - g) * (G - g) / (H - h + limits.ridge) - whole)
                if gain > best[0]:
                    best[0], best[1], best[2], best[3] = gain, f, code, side


def _side(table: Any, b: int, missing_left: int) -> Any:
    """Sums of the bins that go left."""
    left = table[: b + 1].sum(axis=0)
    return left + table[MISSING_BIN] if missing_left else left


@jit
def _separate(codes, j, b, missing_left, rows, spare, lo, hi):
    left, right = np.int64(lo), np.int64(0)
    for i in range(lo, hi):
        row = rows[i]
        code = codes[row, j]
        goes = np.int64(missing_left if code == MISSING_BIN else code <= b)
        rows[left] = row
        spare[right] = row
        left += goes
        right += 1 - goes
    for i in range(right):
        rows[left + i] = spare[i]
    return left
