"""A criterion for several outputs at once: the mean of the criteria of the outputs.

The statistics of the outputs follow one another; the targets are stacked, (outputs, n), in one criterion, whose kind
all outputs share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Indices
from fivefold.partition.criteria.base import (
    Criterion,
    accumulate,
    add_to_bins,
    impurity,
    n_statistics,
    n_targets,
    output_criterion,
    row_target,
    row_weight,
    score_additive_bins,
    score_bin_cuts,
    score_cuts,
    split_gain,
    total_weight,
)


class MultiOutput(NamedTuple):
    """The same criterion for every output."""

    stacked: Criterion  # its targets are (outputs, n)
    start: Indices  # (outputs + 1,) int64: where the statistics of each output begin


def multi_output(stacked: Criterion) -> MultiOutput:
    """The criterion of all outputs, from one that holds the targets of all."""
    widths = [n_statistics(output_criterion(stacked, j)) for j in range(len(stacked.y))]
    return MultiOutput(stacked, np.concatenate([[0], np.cumsum(widths)]).astype(np.int64))


@n_statistics.rule(MultiOutput)
def _(c):
    return c.start[len(c.start) - 1]


@accumulate.rule(MultiOutput)
def _(c, order, lo, hi, sums):
    for j in range(len(c.start) - 1):
        accumulate(output_criterion(c.stacked, j), order, lo, hi, sums[c.start[j] : c.start[j + 1]])


@impurity.rule(MultiOutput)
def _(c, sums):
    total, outputs = 0.0, len(c.start) - 1
    for j in range(outputs):
        total += impurity(output_criterion(c.stacked, j), sums[c.start[j] : c.start[j + 1]])
    return total / outputs


@total_weight.rule(MultiOutput)
def _(c, sums):
    return total_weight(output_criterion(c.stacked, 0), sums[: c.start[1]])


@score_cuts.rule(MultiOutput)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    m, outputs = mid - lo, len(c.start) - 1
    total = np.zeros(m)
    for j in range(outputs):
        a, b = c.start[j], c.start[j + 1]
        score_cuts(
            output_criterion(c.stacked, j),
            order,
            lo,
            mid,
            hi,
            missing_left,
            sums[a:b],
            left[a:b],
            right[a:b],
            gain,
            weight,
        )
        for i in range(m):
            total[i] += gain[i]
    for i in range(m):
        gain[i] = total[i] / outputs


@add_to_bins.rule(MultiOutput)
def _(c, bins, rows, lo, hi, table):
    for j in range(len(c.start) - 1):
        add_to_bins(output_criterion(c.stacked, j), bins, rows, lo, hi, table[:, c.start[j] : c.start[j + 1]])


@split_gain.rule(MultiOutput)
def _(c, left, sums):
    total, outputs = 0.0, len(c.start) - 1
    for j in range(outputs):
        a, b = c.start[j], c.start[j + 1]
        total += split_gain(output_criterion(c.stacked, j), left[a:b], sums[a:b])
    return total / outputs


score_bin_cuts.rule(MultiOutput)(score_additive_bins)


@row_weight.rule(MultiOutput)
def _(c, row):
    return c.stacked.w[row]


@n_targets.rule(MultiOutput)
def _(c):
    count = 0
    for j in range(len(c.start) - 1):
        count += n_targets(output_criterion(c.stacked, j))
    return count


@row_target.rule(MultiOutput)
def _(c, row, j):
    k = 0
    while j >= n_targets(output_criterion(c.stacked, k)):
        j -= n_targets(output_criterion(c.stacked, k))
        k += 1
    return row_target(output_criterion(c.stacked, k), row, j)
