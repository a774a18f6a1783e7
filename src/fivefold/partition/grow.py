"""Growing a tree: the one loop of recursive partitioning.

    grow(X, criterion, rules) -> Grown(tree, leaf of each row)

A node is a range of lists of rows. The best cut over its columns divides it, until a rule forbids it: depth, rows,
weight, purity, gain. Large nodes are worked on column by column in parallel, the subtrees below them each by one
thread; both in an order that the data decide, so the tree does not depend on the number of threads. With a limit on
leaves the node that gains most is divided next.

Everything compiled is one loop, `_loop`, with a few ways to leave it early: each function that Python calls would cost
its share of compilation again.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import Any

import numpy as np

from fivefold.core.compile import jit
from fivefold.core.parallel import map_items
from fivefold.partition.assorted import Coded, assorted
from fivefold.partition.columns import dense
from fivefold.partition.criteria import accumulate, heft, impurity, width
from fivefold.partition.drawn import Drawn
from fivefold.partition.order_criteria import Absolute
from fivefold.partition.presorted import IN_ORDER, Presorted, presort
from fivefold.partition.qualified import qualify
from fivefold.partition.sampled import Ranked, sampled
from fivefold.partition.several import Several
from fivefold.partition.splitter import (
    GOLDEN,
    TIE,
    Manner,
    Rules,
    Scratch,
    cut,
    divide,
    listed,
    lists,
    manner,
    mark,
    mixed,
    scratch,
)
from fivefold.partition.tree import CHILD, DEPTH, FEATURE, FIELDS, HI, KEY, LO, MISSING_LEFT, Grown, assemble

PURE = 2.3e-16  # impurities below it are rounding
SHARE = 12  # nodes of at least one in so many rows
LARGE = 4096  # and of so many are divided by all threads

WHOLE, OPEN, CUT, CHOOSE, MARK, DIVIDE = range(6)  # what to do with a node: all that follows, or one step
EVERYTHING = Rules()


def grow(
    X: Any,
    criterion: Any,
    rules: Rules = EVERYTHING,
    *,
    leaves: int = 0,
    columns: Presorted | None = None,
    manner: Manner | None = None,
) -> Grown:
    """The tree of X (n, d), dense or sparse, under a criterion; `leaves` limits their number, the most useful first.

    `columns`, from `presort(X)`, saves the sorting where many trees grow from the same rows. `manner` says which
    columns hold categories, and which the answer must follow.
    """
    columns = presort(X) if columns is None else columns.copied()
    splitter: Any = columns if manner is None else qualify(columns, manner)
    n, d = X.shape
    bench = _Bench(splitter, criterion, rules, d)
    nodes = _best_first(bench, n, leaves) if leaves else _depth_first(bench, n)
    return assemble(nodes, columns.order[0], X, None if manner is None else manner.levels)


def grow_sampled(
    X: Any, ranked: Ranked, rows: Any, criterion: Any, rules: Rules, *, coded: Coded | None = None, unit: float = 1.0
) -> Grown:
    """The tree of some rows of X, whose columns were ranked once for all trees, and their categories coded."""
    splitter: Any = sampled(ranked, rows, width(criterion))
    if coded is not None:
        splitter = assorted(splitter, coded, unit)
    nodes = _Bench(splitter, criterion, rules, len(ranked.bins)).below(_root(len(rows)))
    return assemble(nodes, rows, X, None if coded is None else coded.levels)


def grow_drawn(
    X: Any,
    rows: Any,
    criterion: Any,
    rules: Rules,
    *,
    leaves: int = 0,
    values: Any = None,
    manners: Manner | None = None,
) -> Grown:
    """The tree of some rows of X, its thresholds drawn at random; `rows` (int32) is put in another order.

    `values`, from `dense(X)`, is given where many trees grow from the same table, each by one thread.
    """
    d, alone = X.shape[1], values is None
    plain = manner(np.ones(len(rows)), np.zeros(d), np.zeros(d)) if manners is None else manners
    splitter = Drawn(rows, dense(X) if alone else values, np.zeros(len(rows)), np.empty_like(rows), plain)
    bench, n = _Bench(splitter, criterion, rules, d), len(rows)
    if leaves:
        nodes = _best_first(bench, n, leaves)
    elif alone:
        nodes = _depth_first(bench, n)
    else:
        nodes = bench.below(_root(n))
    return assemble(nodes, rows, X, plain.levels, splitter.threshold)


def _root(n: int) -> Any:
    node = np.zeros(FIELDS, dtype=np.int32)
    node[HI] = n
    return node


def _depth_first(bench: _Bench, n: int) -> Any:
    """Nodes (m, FIELDS): the large ones here, the subtrees below them in parallel."""
    top, tasks, ahead = [_root(n)], list[int](), [0]
    while ahead:
        at = ahead.pop()
        node = top[at]
        if node[HI] - node[LO] < max(n // SHARE, LARGE):
            tasks.append(at)
        elif found := bench.split(node):
            top += bench.children(node, found, len(top))
            ahead += [len(top) - 1, len(top) - 2]
    grown = map_items(lambda i: bench.below(top[tasks[i]]), len(tasks))
    return _joined(top, tasks, grown)


def _joined(top: list[Any], tasks: list[int], grown: list[Any]) -> Any:
    """The subtrees hung below the nodes they grew from."""
    tables, base = [np.array(top, dtype=np.int32)], len(top)
    for at, nodes in zip(tasks, grown, strict=True):
        nodes[:, CHILD] += np.where(nodes[:, FEATURE] >= 0, base - 1, 0).astype(np.int32)
        tables[0][at] = nodes[0]
        tables.append(nodes[1:])
        base += len(nodes) - 1
    return np.concatenate(tables)


def _best_first(bench: _Bench, n: int, leaves: int) -> Any:
    """The node that gains most is divided next, until there are as many leaves as allowed."""
    nodes, ahead = [_root(n)], list[tuple[float, int, Any]]()

    def consider(at: int) -> None:
        if found := bench.split(nodes[at]):
            heapq.heappush(ahead, (-found[1][0], at, found))

    consider(0)
    while ahead and len(nodes) < 2 * leaves - 1:
        _, at, found = heapq.heappop(ahead)
        nodes += bench.children(nodes[at], found, len(nodes))
        consider(len(nodes) - 2)
        consider(len(nodes) - 1)
    return np.array(nodes)


class _Bench:
    """Working on the nodes of one tree: a whole subtree in one thread, or one node on all."""

    def __init__(self, splitter: Any, criterion: Any, rules: Rules, columns: int) -> None:
        self.splitter, self.criterion, self.rules, self.columns = splitter, criterion, rules, columns

    def below(self, root: Any) -> Any:
        """All nodes from this one down."""
        nodes = np.empty((max(2 * int(root[HI] - root[LO]), 1), FIELDS), dtype=np.int32)
        nodes[0] = root
        return nodes[: self._do(WHOLE, nodes, self._scratch(root))].copy()

    def split(self, node: Any) -> tuple[int, Any] | None:
        """The column of the best cut and the cut itself, or None."""
        node[FEATURE] = -1
        work, rows = self._scratch(node), node[HI] - node[LO]
        f = self._widely(node, work) if rows >= LARGE and lists(self.splitter) else self._do(CHOOSE, node[None], work)
        return (f, work.best) if f >= 0 else None

    def _widely(self, node: Any, work: Scratch) -> int:
        """The column of the best cut, the columns in parallel."""
        if not self._do(OPEN, node[None], work):
            return -1
        limit, results = self.rules.features or self.columns, list[tuple[int, Any]]()
        while (tried := sum(cuttable for cuttable, _ in results)) < limit and len(results) < self.columns:
            done = work.columns[len(results) :][: limit - tried]  # columns without a cut do not count
            results += map_items(partial(self._column, node, work, done), len(done))
        most = max(best[0] for _, best in results)
        i = next(i for i, (_, best) in enumerate(results) if best[0] >= most - work.best[3])
        work.best[:] = results[i][1]
        return int(work.columns[i]) if work.best[0] >= max(self.rules.least_gain, -1e300) else -1

    def _column(self, node: Any, work: Scratch, columns: Any, i: int) -> tuple[int, Any]:
        own, f = self._scratch(node), int(columns[i])
        own.sums[:], own.best[:] = work.sums, work.best
        return self._do(CUT, node[None], own, f), own.best

    def children(self, node: Any, found: tuple[int, Any], at: int) -> tuple[Any, Any]:
        """Make the cut; the two sides of the node, which will stand at `at`."""
        f, best = found
        nodes, work = np.empty((3, FIELDS), dtype=np.int32), self._scratch(node)
        nodes[0], work.best[:] = node, best
        self._do(MARK, nodes, work, f)
        map_items(lambda j: self._do(DIVIDE, node[None], self._scratch(node), j), lists(self.splitter))
        node[:] = nodes[0]
        node[CHILD] = at
        return nodes[1], nodes[2]

    def _scratch(self, node: Any) -> Scratch:
        return scratch(int(width(self.criterion)), int(node[HI] - node[LO]), self.columns)

    def _do(self, job: int, nodes: Any, work: Scratch, f: int = -1) -> int:
        loop = _grow_allocating if isinstance(self.criterion, ALLOCATING) else _grow
        return int(loop(self.splitter, self.criterion, self.rules, work, listed(self.splitter), nodes, job, f))


def _loop(splitter: Any, criterion: Any, rules: Any, work: Any, rows: Any, nodes: Any, job: int, f: int) -> int:
    """The subtree below nodes[0], depth first; the number of nodes. Or one step of it, as the job says."""
    held, used = 1, 1
    sums, best, columns, stack = work.sums, work.best, work.columns, work.stack
    stack[0] = 0
    limit = rules.features if rules.features > 0 else len(columns)
    while held > 0:
        held -= 1
        at = stack[held]
        lo, hi, depth = np.int64(nodes[at, LO]), np.int64(nodes[at, HI]), np.int64(nodes[at, DEPTH])
        if job == DIVIDE:
            divide(splitter, f, lo, hi, work)
            return 0
        if job != MARK:
            total = 0.0
            if job != CUT:
                nodes[at, FEATURE] = -1
                accumulate(criterion, rows, lo, hi, sums)
                mixture = abs(impurity(criterion, sums))
                if depth >= rules.depth or hi - lo < rules.least_split or hi - lo < 2 * rules.least_leaf:
                    mixture = 0.0
                total = heft(criterion, sums)
                best[0], best[3], best[4] = -np.inf, TIE * total * mixture, nodes[at, KEY]
                if rules.features > 0:
                    for i in range(len(columns)):
                        columns[i] = i
                if job == OPEN:
                    if rules.features > 0:
                        for i in range(len(columns)):
                            _draw(rules.seed, nodes[at, KEY], i, columns)
                    return 1 if mixture > PURE and mixture > rules.least_impurity else 0
                if mixture <= PURE or mixture <= rules.least_impurity:
                    if job == CHOOSE:
                        return -1
                    continue
            else:
                total = heft(criterion, sums)
            feature, tried = -1, 0
            for i in range(len(columns)):
                if rules.features > 0 and job != CUT:
                    _draw(rules.seed, nodes[at, KEY], i, columns)
                j, before = f if job == CUT else columns[i], best[0]
                if cut(splitter, criterion, j, lo, hi, rules, total, work):
                    tried += 1
                if job == CUT:
                    return tried
                if best[0] > before:
                    feature = j
                if tried >= limit:
                    break
            if best[0] < rules.least_gain:
                feature = -1
            if job == CHOOSE:
                return feature
            if feature < 0:
                continue
        else:
            feature = f
        middle = mark(splitter, criterion, feature, lo, hi, work, nodes[at])
        nodes[at, FEATURE], nodes[at, MISSING_LEFT], nodes[at, CHILD] = feature, np.int64(best[2]), used
        for side in range(2):
            nodes[used + side, FEATURE] = -1
            nodes[used + side, LO] = lo if side == 0 else middle
            nodes[used + side, HI] = middle if side == 0 else hi
            nodes[used + side, DEPTH] = depth + 1
            nodes[used + side, KEY] = _key(nodes[at, KEY], side)
        if job == MARK:
            return 0
        for j in range(lists(splitter)):
            divide(splitter, j, lo, hi, work)
        larger = 0 if middle - lo > hi - middle else 1
        stack[held], stack[held + 1] = used + larger, used + 1 - larger
        held += 2
        used += 2
    return used


OPTIONS = {"error_model": "numpy", "fastmath": IN_ORDER, "no_cfunc_wrapper": True}
ALLOCATING = Absolute, Several  # their rules make arrays; for others counting references would take half of the time
_grow = jit(_nrt=False, **OPTIONS)(_loop)
_grow_allocating = jit(**OPTIONS)(_loop)


@jit
def _key(key, side):
    """A number for a child: the way from the root decides it, not the rows, so that weights mean repetition."""
    return np.int32(mixed(np.uint64(2 * np.int64(key) + side + 1) * GOLDEN) >> np.uint64(33))


@jit
def _draw(seed, key, i, columns):
    """Put the next of the columns, in an order that the seed and the node's key decide, in place i."""
    state = np.uint64(seed) * GOLDEN + np.uint64(np.int64(key)) + np.uint64(i + 1) * GOLDEN
    j = i + np.int64((mixed(state) >> np.uint64(32)) * np.uint64(len(columns) - i) >> np.uint64(32))
    columns[i], columns[j] = columns[j], columns[i]
