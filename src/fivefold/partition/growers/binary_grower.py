"""Growing binary trees: exact single trees, trees of forests, and trees with random thresholds.

    grow(X, criterion, rules) -> GrownTree(tree, leaf of each row)

A node is a range of lists of rows. The best cut over its columns divides it, until one of the limits forbids it: depth,
rows, weight, purity, gain. The columns of a large node are searched in parallel; each subtree below the large nodes is
grown by one thread. The order of both is decided by the data, so the tree does not depend on the number of threads.
With a limit on leaves, the node that gains most is divided next.

All compiled code is one loop, `_grow_loop`, which Python can also run for a single step (see the table of jobs there):
every further function called from Python would compile the criterion and the splitter again.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Doubles, Indices, Table
from fivefold.partition.column_access import to_dense
from fivefold.partition.criteria.base import Criterion, accumulate, impurity, n_statistics, total_weight
from fivefold.partition.criteria.multi_output import MultiOutput
from fivefold.partition.criteria.order_statistics import AbsoluteError
from fivefold.partition.splitters.base import (
    BEGIN,
    BEST_DRAW_KEY,
    BEST_GAIN,
    BEST_MISSING_LEFT,
    BEST_TIE,
    CHILD,
    DEPTH,
    DRAW_KEY,
    END,
    FEATURE,
    GOLDEN_RATIO_64,
    MISSING_LEFT,
    NODE_FIELDS,
    RELATIVE_TIE,
    ColumnConstraints,
    GrowthLimits,
    Scratch,
    Splitter,
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
from fivefold.partition.tree_arrays.binary_tree import GrownTree, assemble_tree

PURE_IMPURITY = 2.3e-16  # impurities below this are rounding
NODE_DIVISOR = 12  # nodes with at least 1/NODE_DIVISOR of the rows
MIN_NODE_ROWS = 4096  # and at least this many rows are divided by all threads; smaller ones by one thread

GROW_SUBTREE, OPEN_NODE, CUT_COLUMN, CHOOSE_COLUMN, MARK_ROWS, DIVIDE_LIST = range(6)  # jobs of `_grow_loop`
NO_LIMITS = GrowthLimits()


def grow(
    X: Table,
    criterion: Criterion,
    rules: GrowthLimits = NO_LIMITS,
    *,
    leaves: int = 0,
    columns: PresortedSplitter | None = None,
    constraints: ColumnConstraints | None = None,
) -> GrownTree:
    """The tree of X (n, d), dense or sparse, under a criterion.

    `leaves` limits the number of leaves, the nodes that gain most being divided first; 0 for no limit. `columns`, from
    `presort(X)`, saves the sorting where many trees grow from the same rows. `constraints` says which columns hold
    categories, and along which the answer is monotonic.
    """
    columns = presort(X) if columns is None else columns.copy()
    splitter: Splitter = columns if constraints is None else categorical_splitter(columns, constraints)
    n, d = X.shape
    worker = _NodeWorker(splitter, criterion, rules, d)
    nodes = _best_first(worker, n, leaves) if leaves else _depth_first(worker, n)
    return assemble_tree(nodes, columns.order[0], X, None if constraints is None else constraints.levels)


def grow_forest_tree(
    X: Table,
    ranked: ColumnRanks,
    rows: Indices,
    criterion: Criterion,
    rules: GrowthLimits,
    *,
    codes: CategoryCodes | None = None,
    unit: float = 1.0,
) -> GrownTree:
    """The tree of some rows of X, whose columns were ranked, and their categories coded, once for all trees."""
    splitter: Splitter = forest_splitter(ranked, rows, n_statistics(criterion))
    if codes is not None:
        splitter = mixed_forest_splitter(splitter, codes, unit)
    nodes = _NodeWorker(splitter, criterion, rules, len(ranked.bins)).grow_subtree(_root(len(rows)))
    return assemble_tree(nodes, rows, X, None if codes is None else codes.levels)


def grow_random_tree(
    X: Table,
    rows: Indices,
    criterion: Criterion,
    rules: GrowthLimits,
    *,
    leaves: int = 0,
    values: Array | None = None,
    constraints: ColumnConstraints | None = None,
) -> GrownTree:
    """The tree of some rows of X, its thresholds drawn at random; `rows` (int32) is reordered in place.

    `values`, from `to_dense(X)`, is passed where many trees grow from the same table, each by one thread.
    """
    d, alone = X.shape[1], values is None
    if constraints is None:
        constraints = column_constraints(np.ones(len(rows)), np.zeros(d), np.zeros(d))
    table = to_dense(X) if values is None else values
    splitter = RandomThresholds(rows, table, np.zeros(len(rows)), np.empty_like(rows), constraints)
    worker, n = _NodeWorker(splitter, criterion, rules, d), len(rows)
    if leaves:
        nodes = _best_first(worker, n, leaves)
    elif alone:
        nodes = _depth_first(worker, n)
    else:
        nodes = worker.grow_subtree(_root(n))
    return assemble_tree(nodes, rows, X, constraints.levels, splitter.threshold)


def _root(n: int) -> Indices:
    node = np.zeros(NODE_FIELDS, dtype=np.int32)
    node[END] = n
    return node


def _depth_first(worker: _NodeWorker, n: int) -> Indices:
    """Nodes (m, NODE_FIELDS): large nodes are divided here, the subtrees below them grown in parallel."""
    tasks, stack = list[int](), [0]
    top: list[Indices] = [_root(n)]
    while stack:
        at = stack.pop()
        node = top[at]
        if node[END] - node[BEGIN] < max(n // NODE_DIVISOR, MIN_NODE_ROWS):
            tasks.append(at)
        elif found := worker.best_split(node):
            top += worker.make_children(node, found, len(top))
            stack += [len(top) - 1, len(top) - 2]
    grown = map_items(lambda i: worker.grow_subtree(top[tasks[i]]), len(tasks))
    return _join_subtrees(top, tasks, grown)


def _join_subtrees(top: list[Indices], tasks: list[int], grown: list[Indices]) -> Indices:
    """All nodes: the subtrees are attached to the nodes they grew from."""
    tables: list[Indices] = [np.array(top, dtype=np.int32)]
    base = len(top)
    for at, nodes in zip(tasks, grown, strict=True):
        nodes[:, CHILD] += np.where(nodes[:, FEATURE] >= 0, base - 1, 0).astype(np.int32)
        tables[0][at] = nodes[0]
        tables.append(nodes[1:])
        base += len(nodes) - 1
    return np.concatenate(tables)


def _best_first(worker: _NodeWorker, n: int, leaves: int) -> Indices:
    """Nodes (m, NODE_FIELDS): the node that gains most is divided next, until there are as many leaves as allowed."""
    nodes, queue = [_root(n)], list[tuple[float, int, FoundSplit]]()

    def consider(at: int) -> None:
        if found := worker.best_split(nodes[at]):
            heapq.heappush(queue, (-found.best[BEST_GAIN], at, found))

    consider(0)
    while queue and len(nodes) < 2 * leaves - 1:
        _, at, found = heapq.heappop(queue)
        nodes += worker.make_children(nodes[at], found, len(nodes))
        consider(len(nodes) - 2)
        consider(len(nodes) - 1)
    return np.array(nodes)


class FoundSplit(NamedTuple):
    """The best cut of a node: its column, and the slots of `Scratch.best`."""

    column: int
    best: Doubles


class _NodeWorker:
    """Divides the nodes of one tree: a whole subtree in one thread, or one node on all threads."""

    def __init__(self, splitter: Splitter, criterion: Criterion, rules: GrowthLimits, columns: int) -> None:
        self.splitter, self.criterion, self.rules, self.columns = splitter, criterion, rules, columns

    def grow_subtree(self, root: Indices) -> Indices:
        """All nodes from this one down."""
        nodes = np.empty((max(2 * int(root[END] - root[BEGIN]), 1), NODE_FIELDS), dtype=np.int32)
        nodes[0] = root
        return nodes[: self._run(GROW_SUBTREE, nodes, self._scratch(root))].copy()

    def best_split(self, node: Indices) -> FoundSplit | None:
        """The best cut of a node, or None."""
        node[FEATURE] = -1
        work, rows = self._scratch(node), node[END] - node[BEGIN]
        in_parallel = rows >= MIN_NODE_ROWS and n_row_lists(self.splitter)
        f = self._search_in_parallel(node, work) if in_parallel else self._run(CHOOSE_COLUMN, node[None], work)
        return FoundSplit(f, work.best) if f >= 0 else None

    def _search_in_parallel(self, node: Indices, work: Scratch) -> int:
        """The column of the best cut, or -1; the columns are searched in parallel."""
        if not self._run(OPEN_NODE, node[None], work):
            return -1
        limit, results = self.rules.n_columns or self.columns, list[tuple[int, Doubles]]()
        while (tried := sum(cuttable for cuttable, _ in results)) < limit and len(results) < self.columns:
            batch = work.columns[len(results) :][: limit - tried]  # columns without a cut do not count
            results += map_items(partial(self._column, node, work, batch), len(batch))
        most = max(best[BEST_GAIN] for _, best in results)
        i = next(i for i, (_, best) in enumerate(results) if best[BEST_GAIN] >= most - work.best[BEST_TIE])
        work.best[:] = results[i][1]
        return int(work.columns[i]) if work.best[BEST_GAIN] >= max(self.rules.min_gain, -1e300) else -1

    def _column(self, node: Indices, work: Scratch, columns: Indices, i: int) -> tuple[int, Doubles]:
        """Whether columns[i] can be cut, and its best cut."""
        own, f = self._scratch(node), int(columns[i])
        own.sums[:], own.best[:] = work.sums, work.best
        return self._run(CUT_COLUMN, node[None], own, f), own.best

    def make_children(self, node: Indices, found: FoundSplit, at: int) -> tuple[Indices, Indices]:
        """Make the cut; the two children of the node, which will be nodes `at` and `at + 1`."""
        nodes, work = np.empty((3, NODE_FIELDS), dtype=np.int32), self._scratch(node)
        nodes[0], work.best[:] = node, found.best
        self._run(MARK_ROWS, nodes, work, found.column)
        map_items(lambda j: self._run(DIVIDE_LIST, node[None], self._scratch(node), j), n_row_lists(self.splitter))
        node[:] = nodes[0]
        node[CHILD] = at
        return nodes[1], nodes[2]

    def _scratch(self, node: Indices) -> Scratch:
        return scratch(int(n_statistics(self.criterion)), int(node[END] - node[BEGIN]), self.columns)

    def _run(self, job: int, nodes: Indices, work: Scratch, f: int = -1) -> int:
        loop = _grow_allocating if isinstance(self.criterion, ALLOCATING_CRITERIA) else _grow
        return int(loop(self.splitter, self.criterion, self.rules, work, row_list(self.splitter), nodes, job, f))


# What each job of the loop does with nodes[0], reading the column f or not, and what it returns:
#
#   job             does                                                            f    returns
#   GROW_SUBTREE    grows everything below the node, depth first                    -    number of nodes
#   OPEN_NODE       fills work.sums, work.best, work.columns                        -    1 if it may be divided, else 0
#   CUT_COLUMN      searches column f, after OPEN_NODE, into work.best              yes  1 if f can be cut, else 0
#   CHOOSE_COLUMN   OPEN_NODE, then searches all columns into work.best             -    column of the best cut, or -1
#   MARK_ROWS       marks the rows that work.best sends left, fills nodes[1:3]      yes  0
#   DIVIDE_LIST     divides list f of rows by these marks                           yes  0
def _grow_loop(
    splitter: Any, criterion: Any, rules: GrowthLimits, work: Scratch, rows: Indices, nodes: Indices, job: int, f: int
) -> int:
    """The subtree below nodes[0], or one step of growing it, as the table of jobs says."""
    held, used = 1, 1
    sums, best, columns, stack = work.sums, work.best, work.columns, work.stack
    stack[0] = 0
    limit = rules.n_columns if rules.n_columns > 0 else len(columns)
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
                if depth >= rules.max_depth or hi - lo < rules.min_split or hi - lo < 2 * rules.min_leaf:
                    mixture = 0.0
                total = total_weight(criterion, sums)
                best[BEST_GAIN], best[BEST_TIE] = -np.inf, RELATIVE_TIE * total * mixture
                best[BEST_DRAW_KEY] = nodes[at, DRAW_KEY]
                if rules.n_columns > 0:
                    for i in range(len(columns)):
                        columns[i] = i
                if job == OPEN_NODE:
                    if rules.n_columns > 0:
                        for i in range(len(columns)):
                            _draw_column(rules.seed, nodes[at, DRAW_KEY], i, columns)
                    return 1 if mixture > PURE_IMPURITY and mixture > rules.min_impurity else 0
                if mixture <= PURE_IMPURITY or mixture <= rules.min_impurity:
                    if job == CHOOSE_COLUMN:
                        return -1
                    continue
            else:
                total = total_weight(criterion, sums)
            feature, tried = -1, 0
            for i in range(len(columns)):
                if rules.n_columns > 0 and job != CUT_COLUMN:
                    _draw_column(rules.seed, nodes[at, DRAW_KEY], i, columns)
                j, before = f if job == CUT_COLUMN else columns[i], best[BEST_GAIN]
                if search_split(splitter, criterion, j, lo, hi, rules, total, work):
                    tried += 1
                if job == CUT_COLUMN:
                    return tried
                if best[BEST_GAIN] > before:
                    feature = j
                if tried >= limit:
                    break
            if best[BEST_GAIN] < rules.min_gain:
                feature = -1
            if job == CHOOSE_COLUMN:
                return feature
            if feature < 0:
                continue
        else:
            feature = f
        middle = mark_split(splitter, criterion, feature, lo, hi, work, nodes[at])
        nodes[at, FEATURE], nodes[at, MISSING_LEFT], nodes[at, CHILD] = feature, np.int64(best[BEST_MISSING_LEFT]), used
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
ALLOCATING_CRITERIA = (AbsoluteError, MultiOutput)  # they make arrays; others need no reference counting
_grow = jit(reference_counting=False, **JIT_OPTIONS)(_grow_loop)
_grow_allocating = jit(**JIT_OPTIONS)(_grow_loop)


@jit
def _child_key(key, side):
    """The draw key of a child: decided by the path from the root, not by the rows, so that weights mean repetition."""
    return np.int32(mix_bits(np.uint64(2 * np.int64(key) + side + 1) * GOLDEN_RATIO_64) >> np.uint64(33))


@jit
def _draw_column(seed, key, i, columns):
    """Put a column drawn from columns[i:] at place i; the seed and the draw key of the node decide which."""
    state = np.uint64(seed) * GOLDEN_RATIO_64 + np.uint64(np.int64(key)) + np.uint64(i + 1) * GOLDEN_RATIO_64
    j = i + np.int64((mix_bits(state) >> np.uint64(32)) * np.uint64(len(columns) - i) >> np.uint64(32))
    columns[i], columns[j] = columns[j], columns[i]
