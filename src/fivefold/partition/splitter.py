"""What proposes and makes the splits of a node: the rules that a kind of splitter has.

A node is a range lo..hi of the splitter's own list of rows.

    listed(s)                                          the list of rows
    cut(s, criterion, f, lo, hi, rules, total, work)   fill work.best if a cut of column f beats it; was there any?
    apart(s, f, lo, hi, work, at, nodes)               make the cut in work.best; where its right side begins

`apart` also notes in the node the rows on either side of the cut, which decide the threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import generic

STACK = 128  # smaller side first: a stack of nodes holds at most log2(n)


TIE = 1e-10  # of the impurity of a node: gains that differ by less are equal, and the first wins


class Rules(NamedTuple):
    """When to stop, and which columns to try."""

    depth: int = 2**31 - 1
    least_split: int = 2  # rows of a node that may be divided
    least_leaf: int = 1
    least_weight: float = 0.0
    least_gain: float = -np.inf  # total fall of the impurity
    features: int = 0  # columns tried at a node, chosen at random; 0 for all
    seed: int = 0


class Scratch(NamedTuple):
    """Working memory of one thread: statistics (q,), and room for the rows of the largest node (m,)."""

    sums: Any
    left: Any
    right: Any
    best: Any  # gain, place of the cut, missing left; and the gain below which a difference is rounding
    gain: Any
    weight: Any
    order: Any
    rank: Any
    columns: Any  # (d,)
    stack: Any


def scratch(statistics: int, rows: int, columns: int) -> Scratch:
    """Fresh working memory."""
    sums, (gain, weight), (order, rank) = (
        np.zeros((3, statistics)),
        np.empty((2, rows)),
        np.empty((2, rows), dtype=np.int32),
    )
    stack = np.zeros(STACK, dtype=np.int64)
    return Scratch(
        sums[0],
        sums[1],
        sums[2],
        np.array([-np.inf, 0.0, 0.0, 0.0]),
        gain,
        weight,
        order,
        rank,
        np.arange(columns),
        stack,
    )


@generic
def listed(splitter: Any) -> Any:
    """The rows, those of a node together."""


@generic
def cut(splitter: Any, criterion: Any, f: int, lo: int, hi: int, rules: Any, total: float, work: Any) -> bool:
    """Fill work.best if a cut of column f beats it; was there a cut at all?"""
    raise NotImplementedError


@generic
def apart(splitter: Any, f: int, lo: int, hi: int, work: Any, at: int, nodes: Any) -> int:
    """Make the cut of work.best in column f; where the right side begins."""
    raise NotImplementedError
