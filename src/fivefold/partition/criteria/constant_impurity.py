"""A criterion without a target: every node is as impure as any other, until its rows are all equal.

With one column and one threshold drawn at random per node, trees isolate rows: outliers are alone after few cuts.

Liu, Ting & Zhou (2008).
"""

from __future__ import annotations

from typing import NamedTuple

from fivefold.core.types import Array
from fivefold.partition.criteria.base import accumulate, impurity, n_statistics, row_target, row_weight, total_weight


class ConstantImpurity(NamedTuple):
    """Weights of rows, and nothing else."""

    w: Array  # (n,) float64


@n_statistics.rule(ConstantImpurity)
def _(c):
    return 1


@accumulate.rule(ConstantImpurity)
def _(c, order, lo, hi, sums):
    total = 0.0
    for i in range(lo, hi):
        total += c.w[order[i]]
    sums[0] = total


@impurity.rule(ConstantImpurity)
def _(c, sums):
    return 1.0


@total_weight.rule(ConstantImpurity)
def _(c, sums):
    return sums[0]


@row_weight.rule(ConstantImpurity)
def _(c, row):
    return c.w[row]


@row_target.rule(ConstantImpurity)
def _(c, row, j):
    return 0.0
