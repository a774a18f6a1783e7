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

from fivefold.core.compile import jit
from fivefold.core.parallel import map_items, map_parts, parts
from fivefold.partition.bins import GROUP, MISSING_BIN, Bins

WIDTH = MISSING_BIN + 1
COUNT_BITS = 24
MOST_ROWS = 2**COUNT_BITS - 1
COUNT = np.int64(MOST_ROWS)
TOP = 37  # bits of a sum of curvatures, beside the count and the sign
SUPPORT = 10.0  # rows that a level needs to be sorted among the others; added to its curvature
TINY = 1e-15  # keeps a division by no curvature finite
SLIGHT = 1e-12  # gains below this share of a node's own term are rounding
FAR = 1e300
STRIP = 1024  # rows whose codes and gradients fit the second cache
LARGE = 6144  # rows of a node worth more than one thread
PART = 32_768  # rows of a part of longer passes
ROOM = 2**26  # bytes of histograms that are kept for later
PLAIN = frozenset({"nnan", "ninf", "nsz"})  # no other order of sums: equal cuts must have equal gains
ONE, TWO, BYTE = np.uint64(1), np.uint64(2), np.uint64(255)
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # only loops call it: less to compile

SIZE, CATEGORICAL, SIGN = range(3)  # what is known of a column
G, H, N, VALUE, LOW, HIGH = range(6)  # of a node: sums, its value and the bounds of values below it
GAIN, COLUMN, CUT, TURN = range(4)  # of a cut; then come the sums G, H, N on its left, and its number of levels


class Limits(NamedTuple):
    """When to stop, and how many columns a node tries."""

    leaves: int = 31  # 0 for any number
    depth: int = 2**31 - 1
    rows: int = 20
    curvature: float = 1e-3
    ridge: float = 0.0
    features: float = 1.0  # share of the columns tried at a node


class Units(NamedTuple):
    """What one unit of the rounded gradient and curvature is worth."""

    gradient: float
    curvature: float


@dataclass(frozen=True)
class Grown:
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
class _Node:
    """Rows lo..hi of the list."""

    at: int
    lo: int
    hi: int
    depth: int
    way: int  # from the root, a bit a turn
    sums: Any  # (6,) float64: G, H, N, VALUE, LOW, HIGH
    teams: Any  # (teams,) bool: teams of columns that it may use
    table: Any = None  # (columns, WIDTH, 2) int64
    best: Any = None  # (8,) float64: its cut
    goes: Any = None  # (WIDTH,) uint8: bins on the left of its cut
    left: int = -1


class Grower:
    """Grows tree after tree from the same binned rows."""

    def __init__(self, bins: Bins, codes: Any, limits: Limits, signs: Any = None, teams: Any = None) -> None:
        n, groups, d = len(codes), codes.shape[1] // GROUP, len(bins.sizes)
        self.bins, self.codes, self.limits = bins, codes, limits
        self.columns = np.zeros((d, 3), dtype=np.int64)
        self.columns[:, SIZE], self.columns[:, CATEGORICAL] = bins.sizes, bins.categorical
        self.columns[:, SIGN] = 0 if signs is None else signs
        self.teams = None if teams is None else np.asarray(teams, dtype=bool)
        self.everything = np.ones(d, dtype=np.uint8)
        self.packed = np.empty((n, 2), dtype=np.int64)
        self.rows, self.spare = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.lines, self.order = np.zeros((groups, 4, WIDTH)), np.zeros((2, groups, 2, WIDTH), dtype=np.int64)
        self.found = np.zeros((2, groups, 8))
        self.shape = (groups * GROUP, WIDTH, 2)
        self.tables: list[Any] = []  # free to use
        self.room = max(8, ROOM // (8 * int(np.prod(self.shape))))
        self.nodes: list[_Node] = []

    def grow(self, g: Any, h: Any, repeats: Any, seed: int = 0) -> Grown:
        """The tree of Newton steps for gradients and curvatures of rows that are there `repeats` times."""
        self.units, self.seed = _units(g, h, repeats), seed
        per = 1 / self.units.gradient, 1 / self.units.curvature
        sums = map_parts(
            lambda lo, hi: _round(g[lo:hi], h[lo:hi], repeats[lo:hi], *per, lo, self.rows[lo:hi], self.packed[lo:hi]),
            len(g),
            rows=PART,
        )
        a, b = (sum(part[i] for part in sums) for i in range(2))
        whole = (a * self.units.gradient, (b >> COUNT_BITS) * self.units.curvature, b & COUNT)
        root = self._node(0, 0, len(g), 0, 1, whole, (-FAR, FAR), None)
        root.teams = None if self.teams is None else np.ones(len(self.teams), dtype=bool)
        self.nodes = [root]
        if self._may(root, 1):
            root.table = self._table()
            self._weigh(root, None, None)
        ahead: list[tuple[float, int, _Node]] = []
        self._line_up(ahead, root)
        leaves = 1
        while ahead and (leaves < self.limits.leaves or not self.limits.leaves):
            leaves += 1
            for side in self._divided(heapq.heappop(ahead)[2], leaves):
                self._line_up(ahead, side)
        for _, _, node in ahead:
            self._give_back(node)
        return self._grown()

    def leaves(self) -> list[tuple[int, Any]]:
        """The leaves of the tree that grew last, and their rows."""
        return [(node.at, self.rows[node.lo : node.hi]) for node in self.nodes if node.left < 0]

    def add(self, value: Any, out: Any) -> None:
        """Add to each row the value of its leaf."""
        leaves = [node for node in self.nodes if node.left < 0]
        ends = np.array([(node.lo, node.hi) for node in leaves])
        _add(ends, value[[node.at for node in leaves]], self.rows, out)

    def _node(
        self, at: int, lo: int, hi: int, depth: int, way: int, sums: Any, bounds: tuple[float, float], teams: Any
    ) -> _Node:
        value = -sums[G] / (sums[H] + self.limits.ridge + TINY)
        numbers = np.array([*sums, min(max(value, bounds[0]), bounds[1]), *bounds])
        return _Node(at, lo, hi, depth, way, numbers, teams)

    def _may(self, node: _Node, leaves: int) -> bool:
        """May it be divided?"""
        limits = self.limits
        full = limits.leaves and leaves >= limits.leaves
        return not full and node.depth < limits.depth and node.sums[N] >= 2 * limits.rows and node.hi - node.lo > 1

    def _line_up(self, ahead: list[tuple[float, int, _Node]], node: _Node) -> None:
        if node.best is None:
            self._give_back(node)
        else:  # the order does not matter where any number may be divided: the last first needs least memory
            heapq.heappush(ahead, (-node.best[GAIN] if self.limits.leaves else -float(node.at), node.at, node))
            if len(ahead) > self.room:
                self._give_back(node)

    def _divided(self, node: _Node, leaves: int) -> tuple[_Node, _Node]:
        f = int(node.best[COLUMN])
        kind = self.columns[f]
        middle = self._separated(f, node)
        node.left, bounds = len(self.nodes), (node.sums[LOW], node.sums[HIGH])
        teams = None if self.teams is None else node.teams & self.teams[:, f]
        part = node.best[4:7]
        sides = [
            self._node(node.left + i, *ends, node.depth + 1, 2 * node.way + i, sums, bounds, teams)
            for i, (ends, sums) in enumerate((((node.lo, middle), part), ((middle, node.hi), node.sums[:3] - part)))
        ]
        if kind[SIGN]:
            lower, upper = sides[:: int(kind[SIGN])]
            lower.sums[HIGH] = upper.sums[LOW] = 0.5 * (lower.sums[VALUE] + upper.sums[VALUE])
        self.nodes += sides
        small, large = sides if middle - node.lo <= node.hi - middle else sides[::-1]
        if self._may(small, leaves) or self._may(large, leaves):
            refill, large.table = node.table is None, self._table() if node.table is None else node.table
            small.table, node.table = self._table(), None
            self._weigh(small, large, node if refill else None)
        self._give_back(node)
        return large, small

    def _separated(self, f: int, node: _Node) -> int:
        """Put the rows that go left first, in parts where they are many; where the others begin."""
        ends = [(node.lo + a, node.lo + b) for a, b in parts(node.hi - node.lo, PART)]
        each = map_items if len(ends) > 1 else _in_turn
        counts = each(lambda i: _separate(self.codes, f, node.goes, self.rows, self.spare, *ends[i]), len(ends))
        left = node.lo + np.cumsum([0, *counts])
        right = left[-1] + np.cumsum([0, *(b - a - c for (a, b), c in zip(ends, counts, strict=True))])
        each(lambda i: _place(self.spare, *ends[i], counts[i], int(left[i]), int(right[i]), self.rows), len(ends))
        return int(left[-1])

    def _weigh(self, small: _Node, large: _Node | None, parent: _Node | None) -> None:
        """Histograms and best cuts of a node, or of two sides; `parent` if its own histogram is wanted first."""
        n, groups = len(self.rows), self.codes.shape[1] // GROUP
        words, packed = self.codes.reshape(-1).view(np.uint64), self.packed.reshape(-1)
        sides = [(i, node, self._allowed(node)) for i, node in enumerate((small, large)) if node and self._may(node, 1)]
        limits = self.limits
        bounds = float(limits.rows), limits.curvature, limits.ridge + TINY

        def some(k: int, first: int, last: int) -> None:
            if parent is not None:
                _fill(words, groups, first, last, self.rows, parent.lo, parent.hi, packed, large.table.reshape(-1))  # type: ignore[union-attr]
            _fill(words, groups, first, last, self.rows, small.lo, small.hi, packed, small.table.reshape(-1))
            if large is not None:
                _subtract(large.table.reshape(-1), small.table.reshape(-1), first, last)
            for i, node, allowed in sides:
                _search(node.table, first * GROUP, last * GROUP, self.columns, allowed, node.sums, *bounds, *self.units,
                        self.lines[k], self.order[i, k], self.found[i, k])  # fmt: skip

        spans = 1
        if small.hi - small.lo >= LARGE or (parent is not None and n >= LARGE):
            spans = groups
            map_items(lambda k: some(k, k, k + 1), groups)
        else:
            some(0, 0, groups)
        for i, node, _ in sides:
            k = int(self.found[i, :spans, GAIN].argmax())
            if self.found[i, k, GAIN] > 0:
                node.best = self.found[i, k].copy()
                node.goes = self._goes(node, self.order[i, k, 1])

    def _goes(self, node: _Node, order: Any) -> Any:
        """Which bins go left; missing values, if there were none, with the many."""
        best, goes = node.best, np.zeros(WIDTH, dtype=np.uint8)
        f, cut = int(best[COLUMN]), int(best[CUT]) + 1
        if self.columns[f, CATEGORICAL]:
            levels = order[: int(best[7])]
            goes[levels[:cut] if best[TURN] == 0 else levels[len(levels) - cut :]] = 1
        else:
            goes[:cut] = 1
            goes[MISSING_BIN] = best[TURN]
        if int(node.table[f, MISSING_BIN, 1]) & MOST_ROWS == 0:
            goes[MISSING_BIN] = 2 * best[4 + N] > node.sums[N]
        return goes

    def _allowed(self, node: _Node) -> Any:
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
        return self.tables.pop() if self.tables else np.empty(self.shape, dtype=np.int64)

    def _give_back(self, node: _Node) -> None:
        if node.table is not None:
            self.tables.append(node.table)
            node.table = None

    def _grown(self) -> Grown:
        nodes = self.nodes
        inner = np.array([node.left >= 0 for node in nodes])
        feature = np.array([int(node.best[COLUMN]) if node.left >= 0 else -1 for node in nodes], dtype=np.int32)
        by_set = inner & self.bins.categorical[feature]
        return Grown(
            feature,
            np.array(
                [self._threshold(node) if one else np.nan for node, one in zip(nodes, inner & ~by_set, strict=True)]
            ),
            left := np.array([node.left for node in nodes], dtype=np.int32),
            np.where(inner, left + 1, -1).astype(np.int32),
            np.array([node.goes[MISSING_BIN] if node.left >= 0 else 0 for node in nodes], dtype=np.uint8),
            np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32),
            np.array([_bits(nodes[t].goes) for t in np.flatnonzero(by_set)], dtype=np.uint32).reshape(-1, 8),
            np.array([node.sums[VALUE] for node in nodes]),
            np.array([node.best[GAIN] if node.left >= 0 else 0.0 for node in nodes]),
            np.array([node.hi - node.lo for node in nodes]),
        )

    def _threshold(self, node: _Node) -> float:
        edges, cut = self.bins.edges[int(node.best[COLUMN])], int(node.best[CUT])
        return float(edges[cut]) if cut < len(edges) else np.inf


def _in_turn(work: Any, count: int) -> list[Any]:
    return [work(i) for i in range(count)]


def _bits(goes: Any) -> Any:
    """A mask of bins as bits (8,) uint32."""
    return np.packbits(goes, bitorder="little").view(np.uint32)


def _units(g: Any, h: Any, repeats: Any) -> Units:
    """Powers of two, so that products with them are exact, and sums fit their bits."""
    bounds = map_parts(lambda lo, hi: _bounds(g[lo:hi], h[lo:hi], repeats[lo:hi]), len(g), rows=PART)
    top, total = max(max(b[0] for b in bounds), 1e-290), max(sum(b[1] for b in bounds), 1e-290)
    return Units(float(2.0 ** (np.ceil(np.log2(top)) - 31)), float(2.0 ** (np.ceil(np.log2(total)) - TOP)))


@jit(error_model="numpy")
def _bounds(g, h, repeats):
    top, total = 0.0, 0.0
    for i in range(len(g)):
        top = max(top, abs(g[i]))
        total += h[i] * repeats[i]
    return top, total


@jit(error_model="numpy")
def _round(g, h, repeats, per_gradient, per_curvature, first, rows, out):
    """Fill the rounded numbers and the list of rows; sums of the numbers."""
    a, b = np.int64(0), np.int64(0)
    for i in range(len(g)):
        times = np.int64(repeats[i])
        rows[i] = first + i
        out[i, 0] = np.int64(np.rint(g[i] * per_gradient)) * times
        out[i, 1] = ((np.int64(np.rint(h[i] * per_curvature)) * times) << COUNT_BITS) + times
        a += out[i, 0]
        b += out[i, 1]
    return a, b


@jit
def _fill(words, groups, first, last, rows, lo, hi, packed, tables):
    """Histograms of groups first..last of columns over rows lo..hi of the list; a word holds the codes of a group."""
    every, step, width = hi - lo == len(rows), GROUP * WIDTH * 2, np.uint64(groups)
    for i in range(first * step, last * step):
        tables[i] = 0
    for start in range(lo, hi, STRIP):  # rows stay in the cache while the groups pass
        for k in range(first, last):
            table, group = tables[k * step : (k + 1) * step], np.uint64(k)
            for i in range(start, min(start + STRIP, hi)):  # numbers without a sign need no look at it
                row = np.uint64(i if every else rows[i])
                a, b, word = packed[TWO * row], packed[TWO * row + ONE], words[row * width + group]
                for j in range(GROUP):
                    at = TWO * (np.uint64(WIDTH * j) + ((word >> np.uint64(8 * j)) & BYTE))
                    table[at] += a
                    table[at + ONE] += b


@jit
def _subtract(large, small, first, last):
    step = GROUP * WIDTH * 2
    a, b = large[first * step : last * step], small[first * step : last * step]
    for i in range(len(a)):
        a[i] -= b[i]


@jit
def _search(tables, first, last, columns, allowed, sums, rows, curvature, ridge, unit, bend, lines, order, found):
    """Fill found with the best cut of columns first..last."""
    found[GAIN] = 0.0
    for f in range(first, min(last, len(columns))):
        if allowed[f] == 0:
            continue
        table, m, by_level = tables[f], columns[f, SIZE], columns[f, CATEGORICAL] == 1
        absent = (table[MISSING_BIN, 1] & COUNT) > 0
        if by_level:
            m = _sorted(table, m, sums, unit, bend, order[0])
        for turn in range(2 if absent or by_level else 1):
            cuts = m if absent and turn == 0 else m - 1
            if by_level:  # up to the middle
                cuts = max((m + 1) // 2 - turn, 0) if m > 1 else 0
            a = table[MISSING_BIN, 0] if turn == 1 and not by_level else np.int64(0)
            b = table[MISSING_BIN, 1] if turn == 1 and not by_level else np.int64(0)
            for i in range(cuts):  # levels: the first ones, or on the second turn the last ones
                code = (order[0, i] if turn == 0 else order[0, m - 1 - i]) if by_level else i
                a += table[code, 0]
                b += table[code, 1]
                lines[0, i], lines[1, i], lines[2, i] = a * unit, (b >> COUNT_BITS) * bend, b & COUNT
            top = _gains(lines, cuts, sums, columns[f, SIGN], rows, curvature, ridge)
            if top > found[GAIN]:
                i = 0
                while lines[3, i] < top:
                    i += 1
                found[GAIN], found[COLUMN], found[CUT], found[TURN], found[7] = top, f, i, turn, m
                for j in range(3):
                    found[4 + j] = lines[j, i]
                for j in range(m if by_level else 0):
                    order[1, j] = order[0, j]


@jit(error_model="numpy", **INNER)
def _sorted(table, size, sums, unit, bend, order):
    """The levels of a category that enough rows have, by G / H, missing values as a level; how many."""
    per_row = sums[N] / (sums[H] + TINY)
    m = 0
    for i in range(size + 1):
        code = i if i < size else MISSING_BIN
        h = (table[code, 1] >> COUNT_BITS) * bend
        if h * per_row < SUPPORT:
            continue
        score, at = table[code, 0] * unit / (h + SUPPORT), m
        while at > 0:
            before = order[at - 1]
            if table[before, 0] * unit / ((table[before, 1] >> COUNT_BITS) * bend + SUPPORT) <= score:
                break
            order[at] = before
            at -= 1
        order[at] = code
        m += 1
    return m


@jit(fastmath=PLAIN, error_model="numpy", **INNER)
def _gains(lines, cuts, sums, sign, rows, curvature, ridge):
    """Fill the gain of each cut, -1 where it is forbidden; the largest."""
    g_all, h_all, n_all, low, high = sums[G], sums[H], sums[N], sums[LOW], sums[HIGH]
    whole = -g_all * sums[VALUE]
    slight, top = SLIGHT * abs(whole), -1.0
    for i in range(cuts):
        g, h, n = lines[0, i], lines[1, i], lines[2, i]
        left = min(max(-g / (h + ridge), low), high)
        right = min(max(-(g_all - g) / (h_all - h + ridge), low), high)
        gain = -(g * left + (g_all - g) * right) - whole
        fine = (n >= rows) & (n_all - n >= rows) & (h >= curvature) & (h_all - h >= curvature)
        fine = fine & (sign * (right - left) >= 0.0) & (gain > slight)
        gain = 0.5 * gain if fine else -1.0
        lines[3, i] = gain
        top = max(top, gain)
    return top


@jit
def _separate(codes, f, goes_left, rows, spare, lo, hi):
    """Write the rows of lo..hi that go left from the front, the others from the back; how many go left."""
    left, right = np.uint64(lo), np.uint64(hi - 1)
    for i in range(lo, hi):
        row = rows[i]
        goes = np.uint64(goes_left[codes[np.uint64(row), f]])
        spare[left] = row
        spare[right] = row
        left += goes
        right -= ONE - goes
    return np.int64(left) - lo


@jit
def _place(spare, lo, hi, count, left, right, rows):
    """Copy what was written to its places, in the order it had."""
    for i in range(count):
        rows[left + i] = spare[lo + i]
    for i in range(hi - lo - count):
        rows[right + i] = spare[hi - 1 - i]


@jit
def _add(ends, value, rows, out):
    for t in range(len(ends)):
        for i in range(ends[t, 0], ends[t, 1]):
            out[rows[i]] += value[t]
