"""The questions of a node, in compiled loops: what each column offers, and the rows of every branch.

A node has its rows, and for every column the list of those whose value is known, in the order of the codes. Equal codes
stand together, so a pass over a list sees all values of a column; the lists of the branches are parts of those of the
node, and nothing is sorted again. A row may be in several branches by fractions: weights are those at the node at hand.

    cut_by_threshold   the best threshold of each column: fall of the impurity, split information, where it is
    parted_by_value    the same for a branch a value, and for one value against the rest
    sent               the branch of each row
    poured             the rows of each branch, and their statistics
    divided            the lists of each branch
    agreed             how much weight the best question about each column sends as the question at hand does
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.partition.criteria.base import accumulate, impurity, score_cuts, total_weight
from fivefold.partition.splitters.base import RELATIVE_TIE

WEIGHT_TOLERANCE = 1e-9  # weights are sums of fractions
AGREEMENT_TOLERANCE = 1e-10  # a share of an agreement that is rounding
NO_BRANCH, ALL_BRANCHES = -2, -1  # sides of rows

# Columns of what is offered
GAIN, BITS, CODE_BELOW, CODE_ABOVE = range(4)
# Columns of what agrees
AGREEMENT, MAJORITY, KNOWN_WEIGHT, BELOW, ABOVE, BRANCH_BELOW = range(6)


class SplitLimits(NamedTuple):
    """What a question must keep to."""

    least_leaf: float  # weight of a branch
    share: float  # of the known weight, on each side of a threshold
    most: float  # of that, not more
    charged: bool  # the choice of a threshold costs bits
    least_gain: float  # a unit of weight


class SplitBuffers(NamedTuple):
    """Working memory: statistics (q,), and a number for each row (n,)."""

    sums: Any
    left: Any
    right: Any
    gain: Any
    weight: Any


@jit(error_model="numpy")
def search_thresholds(criterion, codes, columns, order, lo, known, total, terms, room, out):
    """The best threshold of each of some columns: gain, bits, and the codes on either side.

    The gain is a unit of the weight `total` of the node, and stays where there is no question.
    """
    gain, weight = room.gain, room.weight
    for f in range(len(columns)):
        j = columns[f]
        m, code, rows = known[j], codes[j], order[j]
        if m < 2 or code[rows[lo]] == code[rows[lo + m - 1]]:
            continue
        accumulate(criterion, rows, lo, lo + m, room.sums)
        W = total_weight(criterion, room.sums)
        least = max(terms.least_leaf, min(terms.share * W, terms.most)) - WEIGHT_TOLERANCE
        score_cuts(criterion, rows, lo, lo + m, lo + m, False, room.sums, room.left, room.right, gain, weight)
        most, tried = -np.inf, 0
        for i in range(m - 1):
            if code[rows[lo + i]] == code[rows[lo + i + 1]] or weight[i] < least or W - weight[i] < least:
                gain[i] = -np.inf
            else:
                tried += 1
                most = max(most, gain[i])
        if tried == 0:
            continue
        slack, i = RELATIVE_TIE * max(W * impurity(criterion, room.sums) - most, 1.0), 0
        while gain[i] < most - slack:
            i += 1
        worth = (gain[i] - (np.log2(tried) if terms.charged else 0.0)) / total
        if worth >= terms.least_gain:
            whole = max(total, W)
            out[j, GAIN], out[j, CODE_BELOW], out[j, CODE_ABOVE] = worth, code[rows[lo + i]], code[rows[lo + i + 1]]
            out[j, BITS] = (
                entropy_term(weight[i] / whole)
                + entropy_term((W - weight[i]) / whole)
                + entropy_term((whole - W) / whole)
            )


@jit(error_model="numpy")
def search_value_splits(criterion, codes, columns, order, lo, known, total, terms, against_rest, room, out):
    """The same for a branch a value, or the best value against the rest: its code is noted."""
    part, rest, sums = room.left, room.right, room.sums
    for f in range(len(columns)):
        j = columns[f]
        m, code, rows = known[j], codes[j], order[j]
        if m < 2 or code[rows[lo]] == code[rows[lo + m - 1]]:
            continue
        accumulate(criterion, rows, lo, lo + m, sums)
        W, enough, begin = total_weight(criterion, sums), terms.least_leaf - WEIGHT_TOLERANCE, lo
        whole = max(total, W)
        left, held, inside, said, which = 0.0, 0, 0.0, entropy_term((whole - W) / whole), 0
        for i in range(lo, lo + m):
            if i + 1 < lo + m and code[rows[i]] == code[rows[i + 1]]:
                continue
            accumulate(criterion, rows, begin, i + 1, part)
            weight, begin = total_weight(criterion, part), i + 1
            impure = weight * impurity(criterion, part)
            if not against_rest:
                left += impure
                held += weight >= enough
                said += entropy_term(weight / whole)
            elif weight >= enough and W - weight >= enough:
                for k in range(len(part)):
                    rest[k] = sums[k] - part[k]
                impure += total_weight(criterion, rest) * impurity(criterion, rest)
                if held == 0 or impure < left - RELATIVE_TIE * max(left, 1.0):
                    left, held, inside, which = impure, 2, weight, code[rows[i]]
        worth = (W * impurity(criterion, sums) - left) / total
        if held >= 2 and worth >= terms.least_gain:
            out[j, GAIN], out[j, CODE_BELOW], out[j, BITS] = worth, which, said
            if against_rest:
                out[j, BITS] += entropy_term(inside / whole) + entropy_term((W - inside) / whole)


@jit(error_model="numpy")
def entropy_term(p):
    """-p log2 p."""
    return -p * np.log2(p) if p > 0.0 else 0.0


@jit
def table_by_code(criterion, code, rows, lo, m, present, table):
    """The codes of a list of rows and the statistics of each; their number."""
    at, found = 0, 0
    for i in range(m):
        if i + 1 == m or code[rows[lo + i]] != code[rows[lo + i + 1]]:
            accumulate(criterion, rows, lo + at, lo + i + 1, table[found])
            present[found] = code[rows[lo + i]]
            at, found = i + 1, found + 1
    return found


@jit
def assign_branches(code, discrete, key, rows, w, side, branch, weight):
    """The branch of each row by the branches of the codes, or by the last codes of the branches; rows without one.

    `branch` lists them, `side` has them by row; `weight` is summed by branch.
    """
    lost = 0
    for i in range(len(rows)):
        c, b = code[rows[i]], -1
        if c >= 0 and discrete:
            b = key[c]
        elif c >= 0:
            b = 0
            for k in range(len(key)):
                b += c > key[k]
        branch[i] = b
        side[rows[i]] = b
        if b >= 0:
            weight[b] += w[i]
        else:
            lost += 1
    return lost


@jit(error_model="numpy")
def distribute_rows(criterion, rows, at, into, w, side, ends, out_rows, out_w, sums, weight, total):
    """Rows rows[at] by the branches `into`, with statistics, weight and weight times impurity of each branch.

    Those of branch b are out_rows[ends[b] : ends[b + 1]].
    """
    B = len(sums)
    for i in range(len(rows)):
        side[rows[i]] = NO_BRANCH
    for i in range(len(at)):
        row = rows[at[i]]
        side[row] = into[i] if side[row] == NO_BRANCH else ALL_BRANCHES
        ends[into[i] + 1] += 1
    for b in range(B):
        ends[b + 1] += ends[b]
    for i in range(len(at)):
        place = ends[into[i]]
        out_rows[place], out_w[place] = rows[at[i]], w[i]
        ends[into[i]] += 1
    for b in range(B, 0, -1):
        ends[b] = ends[b - 1]
    ends[0] = 0
    for b in range(B):
        for i in range(ends[b], ends[b + 1]):
            criterion.w[out_rows[i]] = out_w[i]
        accumulate(criterion, out_rows, ends[b], ends[b + 1], sums[b])
        weight[b] = total_weight(criterion, sums[b])
        total[b] = weight[b] * impurity(criterion, sums[b]) if weight[b] > 0.0 else 0.0


@jit
def divide_row_lists(order, lo, known, side, begin, out, counts):
    """The lists of the branches, from begin[b] on in `out`, and how many rows each has; none where begin[b] < 0."""
    B = len(begin)
    for j in range(len(order)):
        for i in range(lo, lo + known[j]):
            row = order[j, i]
            b = side[row]
            if b >= 0:
                if begin[b] >= 0:
                    out[j, begin[b] + counts[b, j]] = row
                    counts[b, j] += 1
            elif b == ALL_BRANCHES:
                for b in range(B):
                    if begin[b] >= 0:
                        out[j, begin[b] + counts[b, j]] = row
                        counts[b, j] += 1


@jit
def surrogate_agreement(codes, discrete, order, lo, known, side, w, feature, agreement, low, high, out):
    """For each column the weight that its best question sends as `side` says, and that of the larger side.

    A threshold is told by the codes around it and the side of values up to it.
    """
    for j in range(len(codes)):
        code, rows = codes[j], order[j]
        zero, one = 0.0, 0.0
        for i in range(lo, lo + known[j]):
            if side[rows[i]] == 0:
                zero += w[rows[i]]
            elif side[rows[i]] == 1:
                one += w[rows[i]]
        out[j, AGREEMENT], out[j, MAJORITY], out[j, KNOWN_WEIGHT] = 0.0, max(zero, one), zero + one
        if j == feature or zero + one <= 0.0:
            continue
        a, b, last, cuts, most = 0.0, 0.0, -1, 0, 0.0
        for i in range(lo, lo + known[j]):
            row = rows[i]
            if side[row] < 0:
                continue
            if last >= 0 and code[row] != last:
                if discrete[j]:
                    out[j, AGREEMENT] += max(a, b)
                    a, b = 0.0, 0.0
                else:
                    agreement[cuts], low[cuts], high[cuts] = a + one - b, last, code[row]
                    most = max(most, max(agreement[cuts], zero + one - agreement[cuts]))
                    cuts += 1
            last = code[row]
            if side[row] == 0:
                a += w[row]
            else:
                b += w[row]
        if discrete[j]:
            out[j, AGREEMENT] += max(a, b)
        for i in range(cuts):
            least = most * (1.0 - AGREEMENT_TOLERANCE)
            if agreement[i] >= least or zero + one - agreement[i] >= least:
                first = 0 if agreement[i] >= least else 1
                out[j, AGREEMENT] = agreement[i] if first == 0 else zero + one - agreement[i]
                out[j, BELOW], out[j, ABOVE], out[j, BRANCH_BELOW] = low[i], high[i], first
                break
