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

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_items
from fivefold.core.types import Indices
from fivefold.partition.column_access import to_dense
from fivefold.partition.criteria.base import accumulate, impurity, n_statistics, total_weight
from fivefold.partition.criteria.multi_output import MultiOutput
from fivefold.partition.criteria.order_statistics import AbsoluteError
from fivefold.partition.splitters.base import (
    GOLDEN_RATIO_64,
    RELATIVE_TIE,
    ColumnConstraints,
    GrowthLimits,
    Scratch,
    column_constraints,
    divide_list,
    mark_split,
    mix_bits,
    n_row_lists,
    row_list,
    scratch,
    search_split,
)
from fivefold.partition.splitters.categorical_splitter import categorical_splitter
from fivefold.partition.splitters.forest_categories import CategoryCodes, mixed_forest_splitter
from fivefold.partition.splitters.forest_splitter import ColumnRanks, forest_splitter
from fivefold.partition.splitters.presorted_splitter import FASTMATH_INF, PresortedSplitter, presort
from fivefold.partition.splitters.random_thresholds import RandomThresholds
from fivefold.partition.tree_arrays.binary_tree import (
    BEGIN,
    CHILD,
    DEPTH,
    DRAW_KEY,
    END,
    FEATURE,
    MISSING_LEFT,
    NODE_FIELDS,
    GrownTree,
    assemble_tree,
)

PURE_IMPURITY = 2.3e-16  # impurities below it are rounding
NODE_DIVISOR = 12  # nodes of at least one in so many rows
MIN_NODE_ROWS = 4096  # and of so many are divided by all threads

GROW_SUBTREE, OPEN_NODE, CUT_COLUMN, CHOOSE_COLUMN, MARK_ROWS, DIVIDE_LIST = range(
    6
)  # what to do with a node: all that follows, or one step
NO_LIMITS = GrowthLimits()


def grow(
    X: Any,
    criterion: Any,
    rules: GrowthLimits = NO_LIMITS,
    *,
    leaves: int = 0,
    columns: PresortedSplitter | None = None,
    manner: ColumnConstraints | None = None,
) -> GrownTree:
    """The tree of X (n, d), dense or sparse, under a criterion; `leaves` limits their number, the most useful first.

    `columns`, from `presort(X)`, saves the sorting where many trees grow from the same rows. `manner` says which
    columns hold categories, and which the answer must follow.
    """
    columns = presort(X) if columns is None else columns.copied()
    splitter: Any = columns if manner is None else categorical_splitter(columns, manner)
    n, d = X.shape
    worker = _NodeWorker(splitter, criterion, rules, d)
    nodes = _best_first(worker, n, leaves) if leaves else _depth_first(worker, n)
    return assemble_tree(nodes, columns.order[0], X, None if manner is None else manner.levels)


def grow_forest_tree(
    X: Any,
    ranked: ColumnRanks,
    rows: Any,
    criterion: Any,
    rules: GrowthLimits,
    *,
    coded: CategoryCodes | None = None,
    unit: float = 1.0,
) -> GrownTree:
    """The tree of some rows of X, whose columns were ranked once for all trees, and their categories coded."""
    splitter: Any = forest_splitter(ranked, rows, n_statistics(criterion))
    if coded is not None:
        splitter = mixed_forest_splitter(splitter, coded, unit)
    nodes = _NodeWorker(splitter, criterion, rules, len(ranked.bins)).below(_root(len(rows)))
    return assemble_tree(nodes, rows, X, None if coded is None else coded.levels)


def grow_random_tree(
    X: Any,
    rows: Any,
    criterion: Any,
    rules: GrowthLimits,
    *,
    leaves: int = 0,
    values: Any = None,
    manners: ColumnConstraints | None = None,
) -> GrownTree:
    """The tree of some rows of X, its thresholds drawn at random; `rows` (int32) is put in another order.

    `values`, from `dense(X)`, is given where many trees grow from the same table, each by one thread.
    """
    d, alone = X.shape[1], values is None
    plain = column_constraints(np.ones(len(rows)), np.zeros(d), np.zeros(d)) if manners is None else manners
    splitter = RandomThresholds(rows, to_dense(X) if alone else values, np.zeros(len(rows)), np.empty_like(rows), plain)
    worker, n = _NodeWorker(splitter, criterion, rules, d), len(rows)
    if leaves:
        nodes = _best_first(worker, n, leaves)
    elif alone:
        nodes = _depth_first(worker, n)
    else:
        nodes = worker.below(_root(n))
    return assemble_tree(nodes, rows, X, plain.levels, splitter.threshold)


def _root(n: int) -> Any:
    node = np.zeros(NODE_FIELDS, dtype=np.int32)
    node[END] = n
    return node


def _depth_first(worker: _NodeWorker, n: int) -> Any:
    """Nodes (m, FIELDS): the large ones here, the subtrees below them in parallel."""
    top, tasks, ahead = [_root(n)], list[int](), [0]
    while ahead:
        at = ahead.pop()
        node = top[at]
        if node[END] - node[BEGIN] < max(n // NODE_DIVISOR, MIN_NODE_ROWS):
            tasks.append(at)
        elif found := worker.split(node):
            top += worker.children(node, found, len(top))
            ahead += [len(top) - 1, len(top) - 2]
    grown = map_items(lambda i: worker.below(top[tasks[i]]), len(tasks))
    return _join_subtrees(top, tasks, grown)


def _join_subtrees(top: list[Any], tasks: list[int], grown: list[Any]) -> Any:
    """The subtrees hung below the nodes they grew from."""
    tables, base = [np.array(top, dtype=np.int32)], len(top)
    for at, nodes in zip(tasks, grown, strict=True):
        nodes[:, CHILD] += np.where(nodes[:, FEATURE] >= 0, base - 1, 0).astype(np.int32)
        tables[0][at] = nodes[0]
        tables.append(nodes[1:])
        base += len(nodes) - 1
    return np.concatenate(tables)


def _best_first(worker: _NodeWorker, n: int, leaves: int) -> Any:
    """The node that gains most is divided next, until there are as many leaves as allowed."""
    nodes, ahead = [_root(n)], list[tuple[float, int, Any]]()

    def consider(at: int) -> None:
        if found := worker.split(nodes[at]):
            heapq.heappush(ahead, (-found[1][0], at, found))

    consider(0)
    while ahead and len(nodes) < 2 * leaves - 1:
        _, at, found = heapq.heappop(ahead)
        nodes += worker.children(nodes[at], found, len(nodes))
        consider(len(nodes) - 2)
        consider(len(nodes) - 1)
    return np.array(nodes)


class _NodeWorker:
    """Working on the nodes of one tree: a whole subtree in one thread, or one node on all."""

    def __init__(self, splitter: Any, criterion: Any, rules: GrowthLimits, columns: int) -> None:
        self.splitter, self.criterion, self.rules, self.columns = splitter, criterion, rules, columns

    def below(self, root: Any) -> Any:
        """All nodes from this one down."""
        nodes = np.empty((max(2 * int(root[END] - root[BEGIN]), 1), NODE_FIELDS), dtype=np.int32)
        nodes[0] = root
        return nodes[: self._do(GROW_SUBTREE, nodes, self._scratch(root))].copy()

    def split(self, node: Any) -> tuple[int, Any] | None:
        """The column of the best cut and the cut itself, or None."""
        node[FEATURE] = -1
        work, rows = self._scratch(node), node[END] - node[BEGIN]
        f = (
            self._widely(node, work)
            if rows >= MIN_NODE_ROWS and n_row_lists(self.splitter)
            else self._do(CHOOSE_COLUMN, node[None], work)
        )
        return (f, work.best) if f >= 0 else None

    def _widely(self, node: Any, work: Scratch) -> int:
        """The column of the best cut, the columns in parallel."""
        if not self._do(OPEN_NODE, node[None], work):
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
        return self._do(CUT_COLUMN, node[None], own, f), own.best

    def children(self, node: Any, found: tuple[int, Any], at: int) -> tuple[Any, Any]:
        """Make the cut; the two sides of the node, which will stand at `at`."""
        f, best = found
        nodes, work = np.empty((3, NODE_FIELDS), dtype=np.int32), self._scratch(node)
        nodes[0], work.best[:] = node, best
        self._do(MARK_ROWS, nodes, work, f)
        map_items(lambda j: self._do(DIVIDE_LIST, node[None], self._scratch(node), j), n_row_lists(self.splitter))
        node[:] = nodes[0]
        node[CHILD] = at
        return nodes[1], nodes[2]

    def _scratch(self, node: Any) -> Scratch:
        return scratch(int(n_statistics(self.criterion)), int(node[END] - node[BEGIN]), self.columns)

    def _do(self, job: int, nodes: Indices, work: Scratch, f: int = -1) -> int:
        loop = _grow_allocating if isinstance(self.criterion, ALLOCATING_CRITERIA) else _grow
        return int(loop(self.splitter, self.criterion, self.rules, work, row_list(self.splitter), nodes, job, f))


def _grow_loop(
    splitter: Any, criterion: Any, rules: Any, work: Any, rows: Indices, nodes: Indices, job: int, f: int
) -> int:
    """The subtree below nodes[0], depth first; the number of nodes. Or one step of it, as the job says."""
    held, used = 1, 1
    sums, best, columns, stack = work.sums, work.best, work.columns, work.stack
    stack[0] = 0
    limit = rules.features if rules.features > 0 else len(columns)
    while held > 0:
        held -= 1
        at = stack[held]
        lo, hi, depth = np.int64(nodes[at, BEGIN]), np.int64(nodes[at, END]), np.int64(nodes[at, DEPTH])
        if job == DIVIDE_LIST:
            divide_list(splitter, f, lo, hi, work)
            return 0
        if job != MARK_ROWS:
            total = 0.0
            if job != CUT_COLUMN:
                nodes[at, FEATURE] = -1
                accumulate(criterion, rows, lo, hi, sums)
                mixture = abs(impurity(criterion, sums))
                if depth >= rules.depth or hi - lo < rules.least_split or hi - lo < 2 * rules.least_leaf:
                    mixture = 0.0
                total = total_weight(criterion, sums)
                best[0], best[3], best[4] = -np.inf, RELATIVE_TIE * total * mixture, nodes[at, DRAW_KEY]
                if rules.features > 0:
                    for i in range(len(columns)):
                        columns[i] = i
                if job == OPEN_NODE:
                    if rules.features > 0:
                        for i in range(len(columns)):
                            _draw_column(rules.seed, nodes[at, DRAW_KEY], i, columns)
                    return 1 if mixture > PURE_IMPURITY and mixture > rules.least_impurity else 0
                if mixture <= PURE_IMPURITY or mixture <= rules.least_impurity:
                    if job == CHOOSE_COLUMN:
                        return -1
                    continue
            else:
                total = total_weight(criterion, sums)
            feature, tried = -1, 0
            for i in range(len(columns)):
                if rules.features > 0 and job != CUT_COLUMN:
                    _draw_column(rules.seed, nodes[at, DRAW_KEY], i, columns)
                j, before = f if job == CUT_COLUMN else columns[i], best[0]
                if search_split(splitter, criterion, j, lo, hi, rules, total, work):
                    tried += 1
                if job == CUT_COLUMN:
                    return tried
                if best[0] > before:
                    feature = j
                if tried >= limit:
                    break
            if best[0] < rules.least_gain:
                feature = -1
            if job == CHOOSE_COLUMN:
                return feature
            if feature < 0:
                continue
        else:
            feature = f
        middle = mark_split(splitter, criterion, feature, lo, hi, work, nodes[at])
        nodes[at, FEATURE], nodes[at, MISSING_LEFT], nodes[at, CHILD] = feature, np.int64(best[2]), used
        for side in range(2):
            nodes[used + side, FEATURE] = -1
            nodes[used + side, BEGIN] = lo if side == 0 else middle
            nodes[used + side, END] = middle if side == 0 else hi
            nodes[used + side, DEPTH] = depth + 1
            nodes[used + side, DRAW_KEY] = _child_key(nodes[at, DRAW_KEY], side)
        if job == MARK_ROWS:
            return 0
        for j in range(n_row_lists(splitter)):
            divide_list(splitter, j, lo, hi, work)
        larger = 0 if middle - lo > hi - middle else 1
        stack[held], stack[held + 1] = used + larger, used + 1 - larger
        held += 2
        used += 2
    return used


JIT_OPTIONS = {"error_model": "numpy", "fastmath": FASTMATH_INF}
ALLOCATING_CRITERIA = (AbsoluteError, MultiOutput)  # their rules make arrays; others need no reference counting
_grow = jit(reference_counting=False, **JIT_OPTIONS)(_grow_loop)
_grow_allocating = jit(**JIT_OPTIONS)(_grow_loop)


@jit
def _child_key(key, side):
    """A number for a child: the way from the root decides it, not the rows, so that weights mean repetition."""
    return np.int32(mix_bits(np.uint64(2 * np.int64(key) + side + 1) * GOLDEN_RATIO_64) >> np.uint64(33))


@jit
def _draw_column(seed, key, i, columns):
    """Put the next of the columns, in an order that the seed and the node's key decide, in place i."""
    state = np.uint64(seed) * GOLDEN_RATIO_64 + np.uint64(np.int64(key)) + np.uint64(i + 1) * GOLDEN_RATIO_64
    j = i + np.int64((mix_bits(state) >> np.uint64(32)) * np.uint64(len(columns) - i) >> np.uint64(32))
    columns[i], columns[j] = columns[j], columns[i]
