"""The best two groups of the values of discrete columns, in compiled loops.

For two classes, or numbers, the best of all groupings cuts the values ordered by the mean of the target; for more
classes all groupings of a few values are tried, the sums of each computed from those of a grouping with one value less.

Breiman et al. (1984), section 4.2.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices
from fivefold.partition.criteria.base import accumulate, impurity, total_weight
from fivefold.partition.sort_loops import heap_sort
from fivefold.partition.splitters.base import RELATIVE_TIE
from fivefold.partition.splitters.multiway_loops import (
    BITS,
    CODE_ABOVE,
    GAIN,
    WEIGHT_TOLERANCE,
    entropy_term,
    table_by_code,
)

MAX_VALUES_EXHAUSTIVE = 8  # columns with at most this many values have all their groupings tried: 127
MEAN_RESOLUTION = 1e9  # means are rounded to 1/1e9, so that equal means stay equal


class GroupBuffers(NamedTuple):
    """The number of classes, and working memory for columns of v values."""

    classes: int  # 0 for numbers
    table: Array  # (v, q)
    present: Indices  # (v,) int64
    mean: Array  # (v,)
    order: Indices  # (v,) int64
    sums: Array  # (2 ** (MAX_VALUES_EXHAUSTIVE - 1), q) of all groups without the last value


def group_buffers(levels: int, width: int, classes: int) -> GroupBuffers:
    """Working memory for columns of this many values and this many statistics."""
    whole = np.empty((2, levels), dtype=np.int64)
    return GroupBuffers(
        classes=classes,
        table=np.zeros((levels, width)),
        present=whole[0],
        mean=np.zeros(levels),
        order=whole[1],
        sums=np.zeros((2 ** (MAX_VALUES_EXHAUSTIVE - 1), width)),
    )


@jit(error_model="numpy")
def search_value_groups(criterion, codes, columns, order, lo, known, total, terms, room, groups, start, key, out):
    """Gain and bits of the best two groups of each of `columns`; the group of each code from key[start[j]] on.

    Columns with many values of more than two classes are left undecided: out[j, CODE_ABOVE] is set to one.
    """
    part, rest, sums, table = room.left, room.right, room.sums, groups.table
    for f in range(len(columns)):
        j = columns[f]
        m, code, rows = known[j], codes[j], order[j]
        if m < 2 or code[rows[lo]] == code[rows[lo + m - 1]]:
            continue
        values = table_by_code(criterion, code, rows, lo, m, groups.present, table)
        if groups.classes > 2 and values > MAX_VALUES_EXHAUSTIVE:
            out[j, CODE_ABOVE] = 1.0
            continue
        accumulate(criterion, rows, lo, lo + m, sums)
        W, enough, count = total_weight(criterion, sums), terms.min_leaf - WEIGHT_TOLERANCE, values - 1
        if groups.classes > 2:
            count = (1 << count) - 1
        else:
            order_values(criterion, values, groups)
        left, inside, chosen = 0.0, 0.0, -1
        for k in range(len(part)):
            part[k] = 0.0
        for i in range(count):
            add_group(i, groups, part)
            L = total_weight(criterion, part)
            if L < enough or W - L < enough:
                continue
            for k in range(len(part)):
                rest[k] = sums[k] - part[k]
            impure = L * impurity(criterion, part) + total_weight(criterion, rest) * impurity(criterion, rest)
            if chosen < 0 or impure < left - RELATIVE_TIE * max(left, 1.0):
                left, inside, chosen = impure, L, i
        worth = (W * impurity(criterion, sums) - left) / total
        if chosen < 0 or worth < terms.min_gain:
            continue
        whole = max(total, W)
        out[j, GAIN] = worth
        out[j, BITS] = (
            entropy_term(inside / whole) + entropy_term((W - inside) / whole) + entropy_term((whole - W) / whole)
        )
        for v in range(values):
            if groups.classes > 2:
                key[start[j] + groups.present[v]] = 1 - (((chosen + 1) >> v) & 1)
            else:
                key[start[j] + groups.present[groups.order[v]]] = v > chosen


@jit(error_model="numpy")
def order_values(criterion, values, groups):
    """Order values by the mean of the target, or the share of the first class."""
    at = 1 if groups.classes == 0 else 0
    for v in range(values):
        groups.mean[v] = np.floor(
            groups.table[v, at] / total_weight(criterion, groups.table[v]) * MEAN_RESOLUTION + 0.5
        )
        groups.order[v] = v
    heap_sort(groups.mean, groups.order, 0, values)


@jit
def add_group(i, groups, part):
    """The sums of group i: the first i + 1 values in order, or the values whose bits are set in i + 1."""
    if groups.classes <= 2:
        for k in range(len(part)):
            part[k] += groups.table[groups.order[i], k]
        return
    v, s = 0, i + 1
    while not (s >> v) & 1:
        v += 1
    for k in range(len(part)):
        before = groups.sums[s & (s - 1), k] if s & (s - 1) else 0.0
        part[k] = before + groups.table[v, k]
        groups.sums[s, k] = part[k]
