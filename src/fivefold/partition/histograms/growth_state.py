"""The memory in which a histogram tree grows: rows, nodes, histograms, and what threads share while they divide nodes.

Compiled loops read and write it (growth_loops.py); `HistogramGrower` makes it once for all trees of a fit. Each array
that is passed on costs time when loops are compiled, so numbers of one kind share an array and have named columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.parallel import aligned
from fivefold.core.types import Array, Codes, Doubles, Indices
from fivefold.partition.histograms.histogram_loops import BINS_PER_COLUMN, CUT_NUMBERS, GATHER_ROWS, GROUPS_PER_PASS

SET_WORDS = BINS_PER_COLUMN // 64  # words that say which bins go left, one bit per bin

# Columns of `nodes`; LEFT and RIGHT are the children's places in the list, -1 before they are worked out; INDEX is the
# number of a node in the tree; rows LO..HI are in row list BUFFER; BINS_LEFT says which bins go left of its cut. QUEUED
# and ORDER do not belong to the node of their row: a heap of nodes to be divided, and the nodes by their INDEX
LO, HI, DEPTH, PARENT, LEFT, RIGHT, BUFFER, TABLE, INDEX, PATH, DIVIDED, QUEUED, ORDER, BINS_LEFT = range(14)
NODE_FIELDS = BINS_LEFT + SET_WORDS
# Columns of `numbers`: the six of a node (histogram_loops), then its best cut
CUT = 6
# Places of `counters`; from FREE on, a stack of the tables that are free
N_NODES, N_LEAVES, N_QUEUED, N_FREE, N_WAVE, N_INDICES, STEP, SEED = range(8)
MAX_LEAVES, MAX_DEPTH, MAX_QUEUED_TABLES, THREADS, N_ROWS, ROWS_ELSEWHERE, FIRST_PARTIAL, FREE = range(8, 16)
# Columns of `wave`, the nodes that are being divided: parts of the rows, tasks per part (chunks of the columns), its
# table and its first table for parts, whether its children get histograms and each side a search; from COUNTS on, the
# rows of each part that go left
NODE, PARTS, CHUNKS, SMALL_TABLE, PARTIAL, DEEPER, SEARCH_LEFT, SEARCH_RIGHT, LEFT_IS_SMALL, COUNTS = range(10)
# Columns of `tasks`: a place in the wave; a part of rows and a chunk of columns, or a range of columns; how many rows a
# task on rows takes about as long as; and from FOUND_BINS on, per side, the bins that go left of the best cut
PLACE, FIRST, LAST, COST, FOUND_BINS = range(5)
TASK_FIELDS = 16  # two cache lines: threads write to the tasks of a search
# A thread's scratch: gathered rows, and per bin whether it goes left
GOES_LEFT = (2 + GROUPS_PER_PASS) * GATHER_ROWS
SCRATCH = GOES_LEFT + BINS_PER_COLUMN


class GrowingTree(NamedTuple):
    """Nodes, those that are being divided, and tasks."""

    nodes: Indices  # (m, NODE_FIELDS) int64
    numbers: Doubles  # (m, CUT + CUT_NUMBERS)
    counters: Indices  # (FREE + tables,) int64
    terms: Doubles  # (SEARCH_TERMS,): limits and units of the search
    wave: Indices  # (width, COUNTS + threads) int64
    tasks: Indices  # (tasks, TASK_FIELDS) int64
    found: Doubles  # (tasks, 2, CUT_NUMBERS): per side, the best cut of the columns of a task
    allowed: Codes  # (width, 2, d) uint8: per side, 1 for columns that it may use
    columns: Indices  # (d, 3) int64: SIZE, CATEGORICAL, SIGN


class GrowthState(NamedTuple):
    """A tree that grows, and the data that it grows from."""

    tree: GrowingTree
    rows: Indices  # (3, n) int32: rows in the order of the nodes, in two lists, and scratch
    words: Codes  # (n * groups,) int64: the codes of a row, a group of columns per word
    codes: Codes  # (d, n) uint8: the same by column
    packed: Indices  # (2 n,) int64: rounded gradient, and curvature beside count, of each row
    tables: Indices  # (tables, groups * COLUMNS_PER_WORD * BINS_PER_COLUMN * 2) int64: histograms
    scratch: Indices  # (threads, SCRATCH) int64
    lines: Indices  # (threads, SEARCH_LINES, BINS_PER_COLUMN) int64: scratch of searches
    gains: Doubles  # (threads, BINS_PER_COLUMN)
    g: Array  # (n,)
    h: Array  # (n,)
    repeats: Indices  # (n,) int32
    extents: Doubles  # (blocks, 2): the largest gradient and the sum of curvatures
    totals: Indices  # (blocks, 2) int64: sums of the rounded numbers
    value: Array  # (m,): values of leaves,
    out: Array  # (n,): and what they are added to


def with_nodes(tree: GrowingTree, count: int) -> GrowingTree:
    """The tree with room for this many nodes; pages that are not used cost no memory."""
    return tree._replace(
        nodes=np.empty((count, NODE_FIELDS), dtype=np.int64), numbers=np.empty((count, CUT + CUT_NUMBERS))
    )


def growing_tree(columns: Indices, terms: Doubles, limits: list[int], tables: int, width: int) -> GrowingTree:
    """A tree without room for nodes; `limits` are MAX_LEAVES to ROWS_ELSEWHERE; `width` nodes are divided at once."""
    d, threads = len(columns), limits[THREADS - MAX_LEAVES]
    counters = np.zeros(FREE + tables, dtype=np.int64)
    counters[MAX_LEAVES:FIRST_PARTIAL], counters[FIRST_PARTIAL] = limits, tables
    tasks = max(3 * threads + (width + 1) * d, 64)  # a wave has at most three parts per thread, and a task per column
    return GrowingTree(
        nodes=np.empty((0, NODE_FIELDS), dtype=np.int64),
        numbers=np.empty((0, CUT + CUT_NUMBERS)),
        counters=counters,
        terms=terms,
        wave=np.zeros((width, COUNTS + threads), dtype=np.int64),
        tasks=aligned((tasks, TASK_FIELDS), np.int64),
        found=aligned((tasks, 2, CUT_NUMBERS)),
        allowed=np.ones((width, 2, d), dtype=np.uint8),
        columns=columns,
    )
