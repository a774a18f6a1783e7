"""What proposes and makes the splits of a node: the rules that a kind of splitter has.

A node is a range lo..hi of the splitter's own lists of rows.

    listed(s)                                          the first list of rows
    lists(s)                                           how many lists `divide` has to work through
    cut(s, criterion, f, lo, hi, rules, total, work)   fill work.best if a cut of column f beats it; can f be cut?
    mark(s, criterion, f, lo, hi, work, node)          say which rows go left by work.best; where the others will begin
    divide(s, j, lo, hi, work)                         list j with the rows that go left first

A splitter with a single list divides it in `mark` and has no lists left. `mark` notes in the node the rows on either
side of the cut, which decide its threshold.

    splitter     works on                               for
    Presorted    every column sorted once               one exact tree
    Qualified    the same, with categories and bounds   tables with categories, constraints of monotony
    Sampled      ranks and bins shared by many trees    forests
    Assorted     the same, with categories              forests of tables with categories
    Drawn        values, thresholds drawn at random     extremely random trees
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Array, Codes, Indices, Weights

STACK_SIZE = 128  # smaller side first: a stack of nodes holds at most log2(n)
RELATIVE_TIE = 1e-10  # of the impurity of a node: gains that differ by less are equal, and the first wins
GOLDEN_RATIO_64 = np.uint64(0x9E3779B97F4A7C15)


class GrowthLimits(NamedTuple):
    """When to stop, and which columns to try."""

    depth: int = 2**31 - 1
    least_split: int = 2  # rows of a node that may be divided
    least_leaf: int = 1
    least_weight: float = 0.0
    least_gain: float = -np.inf  # total fall of the impurity
    features: int = 0  # columns tried at a node, chosen at random; 0 for all
    seed: int = 0
    least_impurity: float = 0.0  # nodes of no more are leaves
    doubt: float = 0.0  # what missing values must tell, in chi-squares, before they may leave the side of most rows


class Scratch(NamedTuple):
    """Working memory of one thread: statistics (q,), and room for the rows of the largest node (m,)."""

    sums: Any
    left: Any
    right: Any
    best: Any  # gain, place, missing left of a cut; gain that is rounding; key; fraction drawn; answers of the sides
    gain: Any
    weight: Any
    order: Any
    rank: Any
    columns: Any  # (d,)
    stack: Any


class ColumnConstraints(NamedTuple):
    """What columns hold and how the answer may follow them; bounds of a node stand where its rows begin."""

    levels: Indices  # (d,) int64: categories of a column, 0 for numbers
    sign: Indices  # (d,) int64: 1 where the answer must rise with the column, -1 where it must fall
    low: Array  # (n,) bounds of the answer
    high: Any
    unit: float  # weight of one row, as evidence about a level


def column_constraints(w: Weights, levels: Codes, sign: Any) -> ColumnConstraints:
    """No bounds yet."""
    bounds = np.full(len(w), -np.inf), np.full(len(w), np.inf)
    return ColumnConstraints(levels.astype(np.int64), sign.astype(np.int64), *bounds, unit_weight(w))


def unit_weight(w: Weights) -> float:
    """The weight of one row, as evidence: weights (n,) that are whole numbers count rows; of others the mean is one."""
    return 1.0 if w.dtype.kind == "i" or (w == np.rint(w)).all() else float(w.mean())


def scratch(statistics: int, rows: int, columns: int) -> Scratch:
    """Fresh working memory."""
    sums, (gain, weight), (order, rank) = (
        np.zeros((3, statistics)),
        np.empty((2, rows)),
        np.empty((2, rows), dtype=np.int32),
    )
    best, stack = np.array([-np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(STACK_SIZE, dtype=np.int64)
    return Scratch(sums[0], sums[1], sums[2], best, gain, weight, order, rank, np.arange(columns), stack)


@generic
def row_list(splitter: Any) -> Any:
    """The rows, those of a node together."""


@generic
def n_row_lists(splitter: Any) -> int:
    """How many lists have to be divided after a cut was marked."""
    raise NotImplementedError


@generic(inline=True)
def search_split(splitter: Any, criterion: Any, f: int, lo: int, hi: int, rules: Any, total: float, work: Any) -> bool:
    """Fill work.best if a cut of column f beats it; has the column two values?"""
    raise NotImplementedError


@generic(inline=True)
def mark_split(splitter: Any, criterion: Any, f: int, lo: int, hi: int, work: Any, node: int) -> int:
    """Say which rows go left by the cut of work.best in column f; where the right side will begin."""
    raise NotImplementedError


@generic
def divide_list(splitter: Any, j: int, lo: int, hi: int, work: Any) -> None:
    """Put the rows that go left first in list j."""


@jit
def mix_bits(state):
    """The next of a sequence of 64-bit numbers (Steele, Lea & Flood, 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
