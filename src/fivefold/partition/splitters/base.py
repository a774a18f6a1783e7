"""What proposes and makes the splits of a node: the functions that every splitter implements.

A node is a range lo..hi of the splitter's own lists of rows.

    row_list(s)                                                 the first list of rows
    n_row_lists(s)                                              how many lists `divide_list` has to work through
    search_split(s, criterion, f, lo, hi, rules, total, work)   fill work.best if a cut of column f beats it; can f be
                                                                cut?
    mark_split(s, criterion, f, lo, hi, work, node)             mark the rows that work.best sends left; return where
                                                                the right side will begin
    divide_list(s, j, lo, hi, work)                             put the rows that go left first in list j

A splitter with a single list divides it in `mark_split`, and `n_row_lists` is 0. `mark_split` notes in the node the
rows on either side of the cut, which decide its threshold.

    splitter              works on                                used for
    PresortedSplitter     every column sorted once                single exact trees
    CategoricalSplitter   the same, with categories and bounds    tables with categories, monotonic constraints
    ForestSplitter        ranks and bins shared by many trees     forests
    MixedForestSplitter   the same, with categories               forests of tables with categories
    RandomThresholds      values, one random threshold per column extremely randomised trees

`Scratch.best` describes the best cut found so far, by the slots BEST_GAIN to BEST_RIGHT_ANSWER. It is one array of
doubles because loops compiled without reference counting cannot build tuples of mixed types.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Array, Doubles, Indices, Weights
from fivefold.partition.criteria.base import Criterion

STACK_SIZE = 128  # nodes: the smaller side is grown first, so the stack holds at most log2(n) of them
RELATIVE_TIE = 1e-10  # share of a node's impurity: gains that differ by less are equal, and the first wins
GOLDEN_RATIO_64 = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, odd: the step of splitmix64

# Fields of a node while it grows (int32): the column of its cut, the rows on either side of the cut, whether missing
# values go left, its left child (the right one follows it), its range of the lists of rows, its depth, and the key that
# seeds its random draws
FEATURE, ROW_BELOW, ROW_ABOVE, MISSING_LEFT, CHILD, BEGIN, END, DEPTH, DRAW_KEY = range(9)
NODE_FIELDS = 9

# Slots of Scratch.best
BEST_GAIN = 0  # total fall of the impurity; -inf before any cut is found
BEST_CUT = 1  # position in a sorted column, rank, number of levels on the left, or threshold: the splitter knows which
BEST_MISSING_LEFT = 2  # 1 where missing values go left
BEST_TIE = 3  # gains that differ by less are equal
BEST_DRAW_KEY = 4  # key of the node, which seeds its random draws
BEST_ORDER = 5  # the target that put the levels in order, or the fraction that was drawn
BEST_LEFT_ANSWER, BEST_RIGHT_ANSWER = 6, 7  # answers of the sides, where the column is constrained to be monotonic
BEST_SLOTS = 8


Splitter: TypeAlias = Any  # a named tuple of this folder: compiled code chooses functions by its type


class GrowthLimits(NamedTuple):
    """When to stop, and which columns to try."""

    max_depth: int = 2**31 - 1
    min_split: int = 2  # minimum rows of a node that is divided
    min_leaf: int = 1  # minimum rows of a leaf
    min_weight: float = 0.0  # minimum weight of a leaf
    min_gain: float = -np.inf  # minimum total fall of the impurity
    n_columns: int = 0  # columns tried per node, chosen at random; 0 for all
    seed: int = 0
    min_impurity: float = 0.0  # a node with no more impurity is a leaf
    missing_chi_square: float = 0.0  # missing values go with the majority unless they differ from the others by more


class Scratch(NamedTuple):
    """Working memory of one thread: statistics (q,), and room for the rows of the largest node (m,)."""

    sums: Doubles
    left: Doubles
    right: Doubles
    best: Doubles  # (BEST_SLOTS,)
    gain: Doubles
    weight: Doubles
    order: Indices
    rank: Indices
    columns: Indices  # (d,)
    stack: Indices


class ColumnConstraints(NamedTuple):
    """Which columns hold categories, and along which the answer is monotonic; the bounds of a node's answer are stored
    at the position where its rows begin.
    """

    levels: Indices  # (d,) int64: number of categories of a column, 0 for numbers
    sign: Indices  # (d,) int64: 1 where the answer must rise with the column, -1 where it must fall
    low: Array  # (n,) lower bounds of the answer
    high: Array  # (n,) upper bounds
    unit: float  # weight of one row, as evidence about a level


def column_constraints(w: Weights, levels: Indices, sign: Array | Indices) -> ColumnConstraints:
    """Constraints on the columns, with no bounds on the answer yet."""
    bounds = np.full(len(w), -np.inf), np.full(len(w), np.inf)
    return ColumnConstraints(levels.astype(np.int64), sign.astype(np.int64), *bounds, unit_weight(w))


def unit_weight(w: Weights) -> float:
    """The weight that counts as one row of evidence: 1 where the weights (n,) are whole numbers, else their mean."""
    return 1.0 if w.dtype.kind == "i" or (w == np.rint(w)).all() else float(w.mean())


def scratch(statistics: int, rows: int, columns: int) -> Scratch:
    """Fresh working memory."""
    sums, left, right = np.zeros((3, statistics))
    gain, weight = np.empty((2, rows))
    order, rank = np.empty((2, rows), dtype=np.int32)
    best = np.zeros(BEST_SLOTS)
    best[BEST_GAIN] = -np.inf
    return Scratch(
        sums=sums,
        left=left,
        right=right,
        best=best,
        gain=gain,
        weight=weight,
        order=order,
        rank=rank,
        columns=np.arange(columns),
        stack=np.zeros(STACK_SIZE, dtype=np.int64),
    )


@generic
def row_list(splitter: Splitter) -> Indices:
    """The rows; those of a node stand together."""
    raise NotImplementedError


@generic
def n_row_lists(splitter: Splitter) -> int:
    """How many lists have to be divided after a cut has been marked."""
    raise NotImplementedError


@generic(inline=True)
def search_split(
    splitter: Splitter, criterion: Criterion, f: int, lo: int, hi: int, rules: GrowthLimits, total: float, work: Scratch
) -> bool:
    """Fill work.best if a cut of column f beats it; has the column two values?"""
    raise NotImplementedError


@generic(inline=True)
def mark_split(splitter: Splitter, criterion: Criterion, f: int, lo: int, hi: int, work: Scratch, node: Indices) -> int:
    """Mark the rows that the cut work.best of column f sends left; return where the right side will begin."""
    raise NotImplementedError


@generic
def divide_list(splitter: Splitter, j: int, lo: int, hi: int, work: Scratch) -> None:
    """Put the rows that go left first in list j."""


@jit
def mix_bits(state):
    """The next of a sequence of 64-bit numbers (Steele, Lea & Flood, 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
