"""Statistics of the two sides of a node that a threshold divides, without an order of its rows.

    sides(c, rows, lo, hi, x, bar, order, sums, left, right)

x[i] is the value of row rows[lo + i]; rows with x <= bar go left. `sums` are the statistics of the node: where they
add, those on the right are what is left of them. `order[lo:hi]` is scratch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.compile import generic, jit
from fivefold.partition.alike import Alike
from fivefold.partition.class_criteria import LOW, Entropy, Gini, Mistakes, Risk, TwoClasses, TwoCounts
from fivefold.partition.criteria import accumulate, output
from fivefold.partition.number_criteria import Deviance, Squares
from fivefold.partition.order_criteria import Absolute, Extremes
from fivefold.partition.several import Several


@generic
def sides(
    c: Any, rows: Any, lo: int, hi: int, x: Any, bar: float, order: Any, sums: Any, left: Any, right: Any
) -> None:
    """Fill the statistics of both sides."""


@jit
def _rest(sums, left, right):
    for q in range(len(sums)):
        right[q] = sums[q] - left[q]


@sides.rule(TwoClasses)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, count, ones = rows[lo:hi], np.int64(0), np.int64(0)
    for i in range(len(some)):
        goes = np.int64(x[i] <= bar)
        count += goes
        ones += goes * c.y[some[i]]
    left[0], left[1] = count, ones
    _rest(sums, left, right)


@sides.rule(TwoCounts)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, both = rows[lo:hi], np.int64(0)
    for i in range(len(some)):
        packed = c.packed[some[i]]
        both += packed if x[i] <= bar else np.int64(0)
    left[0], left[1] = both & LOW, both >> 32
    _rest(sums, left, right)


@sides.rule(Gini, Entropy, Mistakes)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    for k in range(c.classes):
        left[k] = 0.0
    some = rows[lo:hi]
    for i in range(len(some)):
        w = c.w[some[i]]
        left[c.y[some[i]]] += w if x[i] <= bar else 0.0
    _rest(sums, left, right)


@sides.rule(Risk)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    for k in range(len(left)):
        left[k] = 0.0
    for i in range(hi - lo):
        if x[i] <= bar:
            w, y = c.w[rows[lo + i]], c.y[rows[lo + i]]
            left[0] += w
            for k in range(len(c.loss)):
                left[1 + k] += w * c.loss[k, y]
    _rest(sums, left, right)


@sides.rule(Squares)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, a, b, q = rows[lo:hi], 0.0, 0.0, 0.0
    for i in range(len(some)):
        y, w = c.y[some[i]], c.w[some[i]]
        w = w if x[i] <= bar else 0.0
        a += w
        b += w * y
        q += w * y * y
    left[0], left[1], left[2] = a, b, q
    _rest(sums, left, right)


@sides.rule(Alike)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, total = rows[lo:hi], 0.0
    for i in range(len(some)):
        w = c.w[some[i]]
        total += w if x[i] <= bar else 0.0
    left[0] = total
    _rest(sums, left, right)


@sides.rule(Several)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    for j in range(len(c.start) - 1):
        a, b = c.start[j], c.start[j + 1]
        sides(output(c.every, j), rows, lo, hi, x, bar, order, sums[a:b], left[a:b], right[a:b])


@sides.rule(Absolute, Deviance, Extremes)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    start, end = lo, hi
    for i in range(hi - lo):
        if x[i] <= bar:
            order[start] = rows[lo + i]
            start += 1
        else:
            end -= 1
            order[end] = rows[lo + i]
    accumulate(c, order, lo, start, left)
    accumulate(c, order, start, hi, right)
