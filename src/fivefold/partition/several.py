"""A criterion for several outputs at once: the mean of theirs.

Statistics of the outputs stand one after another; the targets are stacked, (outputs, n), in one criterion of the kind
that every output has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.partition.criteria import (
    accumulate,
    aim,
    aims,
    bin_by_bin,
    heft,
    impurity,
    merit,
    output,
    scores,
    sweep,
    tally,
    weigh,
    width,
)


class Several(NamedTuple):
    """The same criterion for every output."""

    every: Any  # a criterion whose targets are (outputs, n)
    start: Any  # (outputs + 1,) int64: where the statistics of each begin


def several(every: Any) -> Several:
    """The criterion of all outputs, from one that holds the targets of all."""
    widths = [width(output(every, j)) for j in range(len(every.y))]
    return Several(every, np.concatenate([[0], np.cumsum(widths)]).astype(np.int64))


@width.rule(Several)
def _(c):
    return c.start[len(c.start) - 1]


@accumulate.rule(Several)
def _(c, order, lo, hi, sums):
    for j in range(len(c.start) - 1):
        accumulate(output(c.every, j), order, lo, hi, sums[c.start[j] : c.start[j + 1]])


@impurity.rule(Several)
def _(c, sums):
    total, outputs = 0.0, len(c.start) - 1
    for j in range(outputs):
        total += impurity(output(c.every, j), sums[c.start[j] : c.start[j + 1]])
    return total / outputs


@heft.rule(Several)
def _(c, sums):
    return heft(output(c.every, 0), sums[: c.start[1]])


@scores.rule(Several)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    m, outputs = mid - lo, len(c.start) - 1
    total = np.zeros(m)
    for j in range(outputs):
        a, b = c.start[j], c.start[j + 1]
        scores(output(c.every, j), order, lo, mid, hi, missing_left, sums[a:b], left[a:b], right[a:b], gain, weight)
        for i in range(m):
            total[i] += gain[i]
    for i in range(m):
        gain[i] = total[i] / outputs


@tally.rule(Several)
def _(c, bins, rows, lo, hi, table):
    for j in range(len(c.start) - 1):
        tally(output(c.every, j), bins, rows, lo, hi, table[:, c.start[j] : c.start[j + 1]])


@merit.rule(Several)
def _(c, left, sums):
    total, outputs = 0.0, len(c.start) - 1
    for j in range(outputs):
        a, b = c.start[j], c.start[j + 1]
        total += merit(output(c.every, j), left[a:b], sums[a:b])
    return total / outputs


sweep.rule(Several)(bin_by_bin)


@weigh.rule(Several)
def _(c, row):
    return c.every.w[row]


@aims.rule(Several)
def _(c):
    count = 0
    for j in range(len(c.start) - 1):
        count += aims(output(c.every, j))
    return count


@aim.rule(Several)
def _(c, row, j):
    k = 0
    while j >= aims(output(c.every, k)):
        j -= aims(output(c.every, k))
        k += 1
    return aim(output(c.every, k), row, j)
