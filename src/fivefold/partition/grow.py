"""Growing a tree: the one loop of recursive partitioning.

    grow(X, criterion, rules) -> Grown(tree, leaf of each row)

A node is a range of sorted columns. The best cut over its columns divides it, until a rule forbids it: depth, rows,
weight, purity, gain. Large nodes are worked on column by column in parallel, the subtrees below them each by one
thread; both in an order that the data decide, so the tree does not depend on the number of threads. With a limit on
leaves the node that gains most is divided next.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import Any

import numpy as np

from fivefold.core.compile import jit
from fivefold.core.parallel import map_items
from fivefold.partition.criteria import accumulate, heft, impurity, width
from fivefold.partition.presorted import Presorted, best_cut, divide, mark, presort
from fivefold.partition.sampled import Ranked, sampled
from fivefold.partition.splitter import TIE, Rules, apart, cut, listed, scratch
from fivefold.partition.tree import CHILD, DEPTH, FEATURE, FIELDS, HI, KEY, LO, MISSING_LEFT, Grown, assemble

PURE = 2.3e-16  # impurities below it are rounding
SHARE = 12  # nodes of at least one in so many rows
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LARGE = 4096  # and of so many are divided by all threads


EVERYTHING = Rules()


def grow(
    X: Any, criterion: Any, rules: Rules = EVERYTHING, *, leaves: int = 0, columns: Presorted | None = None
) -> Grown:
    """The tree of X (n, d) under a criterion; `leaves` limits their number, the most useful splits first.

    `columns`, from `presort(X)`, saves the sorting where many trees grow from the same rows.
    """
    n = len(X)
    columns = presort(X) if columns is None else columns.copied()
    nodes = _best_first(columns, criterion, rules, leaves) if leaves else _depth_first(columns, criterion, rules, n)
    return assemble(nodes, columns.order[0], X)


def grow_sampled(X: Any, ranked: Ranked, rows: Any, criterion: Any, rules: Rules) -> Grown:
    """The tree of some rows of X, whose columns were ranked once for all trees."""
    nodes = np.zeros((2 * len(rows), FIELDS), dtype=np.int32)
    nodes[0, HI] = len(rows)
    q = width(criterion)
    used = _grow(sampled(ranked, rows, q), criterion, rules, scratch(q, len(rows), len(ranked.rank)), nodes)
    return assemble(nodes[:used], rows, X)


def _depth_first(columns: Presorted, criterion: Any, rules: Rules, n: int) -> Any:
    """Nodes (m, FIELDS): the large ones here, the subtrees below them in parallel."""
    top, tasks, ahead = [np.zeros(FIELDS, dtype=np.int32)], list[int](), [0]
    top[0][HI] = n
    bench = _Bench(columns, criterion, rules)
    while ahead:
        at = ahead.pop()
        node = top[at]
        if node[HI] - node[LO] < max(n // SHARE, LARGE):
            tasks.append(at)
            continue
        if bench.split(node):
            left, right = bench.children(node, len(top))
            top += [left, right]
            ahead += [len(top) - 1, len(top) - 2]
    grown = map_items(lambda i: _subtree(columns, criterion, rules, top[tasks[i]]), len(tasks))
    return _joined(top, tasks, grown)


def _subtree(columns: Presorted, criterion: Any, rules: Rules, root: Any) -> Any:
    rows = int(root[HI] - root[LO])
    nodes = np.empty((2 * rows, FIELDS), dtype=np.int32)
    nodes[0] = root
    work = scratch(width(criterion), rows, len(columns.order))
    used = _grow(columns, criterion, rules, work, nodes)
    return nodes[:used].copy()


def _joined(top: list[Any], tasks: list[int], grown: list[Any]) -> Any:
    """The subtrees hung below the nodes they grew from."""
    tables, base = [np.array(top, dtype=np.int32)], len(top)
    for at, nodes in zip(tasks, grown, strict=True):
        nodes[:, CHILD] += np.where(nodes[:, FEATURE] >= 0, base - 1, 0).astype(np.int32)
        tables[0][at] = nodes[0]
        tables.append(nodes[1:])
        base += len(nodes) - 1
    return np.concatenate(tables)


class _Bench:
    """Splitting one node at a time, its columns in parallel."""

    def __init__(self, columns: Presorted, criterion: Any, rules: Rules) -> None:
        self.columns, self.criterion, self.rules = columns, criterion, rules
        self.sums = np.zeros(width(criterion))
        self.gain = 0.0

    def split(self, node: Any) -> bool:
        """Write the best split into the node; is there one?"""
        c, lo, hi = self.columns, int(node[LO]), int(node[HI])
        order, rank = c.order, c.rank
        node[FEATURE], self.gain = -1, -np.inf
        if not _open(self.criterion, self.rules, order[0], lo, hi, int(node[DEPTH]), self.sums):
            return False
        rules, total, chosen = (
            self.rules,
            heft(self.criterion, self.sums),
            _permutation(self.rules, len(order), int(node[KEY])),
        )
        slack = TIE * total * abs(impurity(self.criterion, self.sums))
        limit, results = rules.features or len(order), list[Any]()

        def column(done: int, i: int) -> tuple[bool, Any]:
            f, work = chosen[done + i], scratch(len(self.sums), hi - lo, 0)
            work.sums[:], work.best[3] = self.sums, slack
            found = best_cut(self.criterion, order[f], rank[f], lo, hi, rules, total, work)
            return found, work.best

        tried = 0
        while tried < limit and len(results) < len(order):  # columns without a cut do not count
            done = len(results)
            results += map_items(partial(column, done), min(len(order) - done, limit - tried))
            tried = sum(found for found, _ in results)
        most = max(best[0] for _, best in results)
        i = next(i for i, (_, best) in enumerate(results) if best[0] >= most - slack)
        best = results[i][1]
        if not (results[i][0] and best[0] >= rules.least_gain):
            return False
        f = int(chosen[i])
        node[FEATURE], node[MISSING_LEFT] = f, int(best[2])
        node[CHILD] = mark(order[f], rank[f], lo, hi, best, c.flag, node)  # until it has children
        self.gain = float(best[0])
        return True

    def children(self, node: Any, at: int) -> tuple[Any, Any]:
        """Divide the columns of a node that was split last; its two sides, which will stand at `at`."""
        c, lo, hi = self.columns, int(node[LO]), int(node[HI])

        def column(f: int) -> None:
            spare = np.empty((2, hi - lo), dtype=np.int32)
            divide(c.order[f], c.rank[f], lo, hi, c.flag, spare[0], spare[1])

        map_items(column, len(c.order))
        left, right = node.copy(), node.copy()
        left[HI] = right[LO] = node[CHILD]
        left[DEPTH] = right[DEPTH] = node[DEPTH] + 1
        left[KEY], right[KEY] = _key(node[KEY], 0), _key(node[KEY], 1)
        node[CHILD] = at
        return left, right


def _best_first(columns: Presorted, criterion: Any, rules: Rules, leaves: int) -> Any:
    """The node that gains most is divided next, until there are as many leaves as allowed."""
    root = np.zeros(FIELDS, dtype=np.int32)
    root[HI] = columns.order.shape[1]
    nodes, bench, ahead = [root], _Bench(columns, criterion, rules), list[tuple[float, int]]()

    def consider(at: int) -> None:
        if bench.split(nodes[at]):
            heapq.heappush(ahead, (-bench.gain, at))

    consider(0)
    while ahead and len(nodes) < 2 * leaves - 1:
        at = heapq.heappop(ahead)[1]
        bench.split(nodes[at])  # flags again: other nodes were considered since
        nodes += bench.children(nodes[at], len(nodes))
        consider(len(nodes) - 2)
        consider(len(nodes) - 1)
    for _, at in ahead:
        nodes[at][FEATURE] = -1
    return np.array(nodes)


@jit
def _open(criterion, rules, order, lo, hi, depth, sums):
    """May this node be divided? Fills its sums."""
    accumulate(criterion, order, lo, hi, sums)
    if depth >= rules.depth or hi - lo < rules.least_split or hi - lo < 2 * rules.least_leaf:
        return False
    return abs(impurity(criterion, sums)) > PURE


@jit
def _mixed(state):
    """The next of a sequence of 64-bit numbers (Steele, Lea & Flood, 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def _key(key, side):
    """A number for a child: the way from the root decides it, not the rows, so that weights mean repetition."""
    return np.int32(_mixed(np.uint64(2 * np.int64(key) + side + 1) * GOLDEN) >> np.uint64(33))


@jit
def _shuffled(seed, key, columns):
    """Columns in an order that the seed and the node's key decide."""
    state = np.uint64(seed) * GOLDEN + np.uint64(key)
    for i in range(len(columns)):
        columns[i] = i
    for i in range(len(columns) - 1):
        state += GOLDEN
        j = i + np.int64((_mixed(state) >> np.uint64(32)) * np.uint64(len(columns) - i) >> np.uint64(32))
        columns[i], columns[j] = columns[j], columns[i]


def _permutation(rules: Rules, d: int, key: int) -> Any:
    columns = np.arange(d)
    if rules.features:
        _shuffled(rules.seed, key, columns)
    return columns


@jit(error_model="numpy")
def _grow(splitter, criterion, rules, work, nodes):
    """The subtree below nodes[0], depth first; the number of nodes."""
    rows, held, used = listed(splitter), 1, 1
    d = len(work.columns)
    sums, best, columns, stack = work.sums, work.best, work.columns, work.stack
    stack[0] = 0
    limit = rules.features if rules.features > 0 else d
    while held > 0:
        held -= 1
        at = stack[held]
        lo, hi, depth = np.int64(nodes[at, LO]), np.int64(nodes[at, HI]), np.int64(nodes[at, DEPTH])
        nodes[at, FEATURE] = -1
        if not _open(criterion, rules, rows, lo, hi, depth, sums):
            continue
        total = heft(criterion, sums)
        if rules.features > 0:
            _shuffled(rules.seed, np.int64(nodes[at, KEY]), columns)
        best[0], best[3] = -np.inf, TIE * total * abs(impurity(criterion, sums))
        feature, tried = -1, 0
        for i in range(d):
            f, before = columns[i], best[0]
            if cut(splitter, criterion, f, lo, hi, rules, total, work):
                tried += 1
            if best[0] > before:
                feature = f
            if tried >= limit:
                break
        if feature < 0 or best[0] < rules.least_gain:
            continue
        middle = apart(splitter, feature, lo, hi, work, at, nodes)
        nodes[at, FEATURE], nodes[at, MISSING_LEFT] = feature, np.int64(best[2])
        nodes[at, CHILD] = used
        for side in range(2):
            nodes[used + side, LO] = lo if side == 0 else middle
            nodes[used + side, HI] = middle if side == 0 else hi
            nodes[used + side, DEPTH] = depth + 1
            nodes[used + side, KEY] = _key(nodes[at, KEY], side)
        larger = 0 if middle - lo > hi - middle else 1
        stack[held], stack[held + 1] = used + larger, used + 1 - larger
        held += 2
        used += 2
    return used
