"""Multiway splits in compiled loops: the best split of every column of a node, and the rows of every branch.

A node has its rows and, per column, the list of those whose value is known, in the order of the codes. Equal codes
stand together, so one pass over a list sees all values of a column; the lists of the branches are parts of those of the
node, and nothing is sorted again. A row may be in several branches by fractions: its weights are those in this node.

    search_thresholds     the best threshold of each column: gain, split information, position
    search_value_splits   the same with one branch per value, or one value against the rest
    table_by_code         statistics of a column by value
    assign_branches       the branch of each row
    distribute_rows       the rows of each branch, and their statistics
    divide_row_lists      the lists of each branch
    surrogate_agreement   how much weight the best question about each column sends the same way as a given question,
                          and the columns of the best of these
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Doubles, Indices
from fivefold.partition.criteria.base import accumulate, impurity, score_cuts, total_weight
from fivefold.partition.splitters.base import RELATIVE_TIE

WEIGHT_TOLERANCE = 1e-9  # weights that differ by less are equal: they are sums of fractions
MIN_ADVANTAGE = 1e-9  # share of the known weight by which an agreement must exceed the majority: more than rounding
AGREEMENT_TOLERANCE = 1e-10  # relative difference of two agreements that is rounding
NO_BRANCH, ALL_BRANCHES = -2, -1  # what `side` holds for rows that are in no branch, or in all of them by fractions

# Columns of the table of candidate splits, one row per column of the data
GAIN, BITS, CODE_BELOW, CODE_ABOVE = range(4)
# Columns of the table of surrogates, one row per column of the data
AGREEMENT, MAJORITY, KNOWN_WEIGHT, BELOW, ABOVE, BRANCH_BELOW = range(6)


class SplitLimits(NamedTuple):
    """What a question must keep to."""

    min_leaf: float  # minimum weight of a branch
    min_side_share: float  # minimum share of the known weight on each side of a threshold,
    max_side_weight: float  # but no more than this weight is required
    threshold_cost: bool  # choosing a threshold costs log2(candidates) bits
    min_gain: float  # per unit of weight


class AgreementBuffers(NamedTuple):
    """Working memory for the thresholds of a column (n,): weights of both sides below them, codes on either side.

    And the columns of the best surrogates, and their agreements in units of nine digits: as many as are kept.
    """

    zero: Doubles
    one: Doubles
    low: Indices
    high: Indices
    best: Indices
    share: Doubles


class SplitBuffers(NamedTuple):
    """Working memory: statistics (q,), and one number per row (n,)."""

    sums: Doubles
    left: Doubles
    right: Doubles
    gain: Doubles
    weight: Doubles


@jit(error_model="numpy")
def search_thresholds(criterion, codes, columns, order, lo, known, total, terms, room, out):
    """The best threshold of each of `columns`: gain, bits, and the codes on either side, written into `out`.

    Gains are per unit of the weight `total` of the node. The row of a column that cannot be cut is left unchanged.
    """
    gain, weight = room.gain, room.weight
    for f in range(len(columns)):
        j = columns[f]
        m, code, rows = known[j], codes[j], order[j]
        if m < 2 or code[rows[lo]] == code[rows[lo + m - 1]]:
            continue
        accumulate(criterion, rows, lo, lo + m, room.sums)
        W = total_weight(criterion, room.sums)
        least = max(terms.min_leaf, min(terms.min_side_share * W, terms.max_side_weight)) - WEIGHT_TOLERANCE
        score_cuts(criterion, rows, lo, lo + m, lo + m, False, room.sums, room.left, room.right, gain, weight)
        most, tried = -np.inf, 0
        here = code[rows[lo]]
        for i in range(m - 1):
            above = code[rows[lo + i + 1]]
            if here == above or weight[i] < least or W - weight[i] < least:
                gain[i] = -np.inf
            else:
                tried += 1
                most = max(most, gain[i])
            here = above
        if tried == 0:
            continue
        slack, i = RELATIVE_TIE * max(W * impurity(criterion, room.sums) - most, 1.0), 0
        while gain[i] < most - slack:
            i += 1
        worth = (gain[i] - (np.log2(tried) if terms.threshold_cost else 0.0)) / total
        if worth >= terms.min_gain:
            whole = max(total, W)
            out[j, GAIN], out[j, CODE_BELOW], out[j, CODE_ABOVE] = worth, code[rows[lo + i]], code[rows[lo + i + 1]]
            out[j, BITS] = (
                entropy_term(weight[i] / whole)
                + entropy_term((W - weight[i]) / whole)
                + entropy_term((whole - W) / whole)
            )


@jit(error_model="numpy")
def search_value_splits(criterion, codes, columns, order, lo, known, total, terms, against_rest, room, out):
    """The same with one branch per value, or for the best value against the rest, whose code is noted."""
    part, rest, sums = room.left, room.right, room.sums
    for f in range(len(columns)):
        j = columns[f]
        m, code, rows = known[j], codes[j], order[j]
        if m < 2 or code[rows[lo]] == code[rows[lo + m - 1]]:
            continue
        accumulate(criterion, rows, lo, lo + m, sums)
        W, enough, begin = total_weight(criterion, sums), terms.min_leaf - WEIGHT_TOLERANCE, lo
        whole = max(total, W)
        left, held, inside, bits, which = 0.0, 0, 0.0, entropy_term((whole - W) / whole), 0
        for i in range(lo, lo + m):
            if i + 1 < lo + m and code[rows[i]] == code[rows[i + 1]]:
                continue
            accumulate(criterion, rows, begin, i + 1, part)
            weight, begin = total_weight(criterion, part), i + 1
            impure = weight * impurity(criterion, part)
            if not against_rest:
                left += impure
                held += weight >= enough
                bits += entropy_term(weight / whole)
            elif weight >= enough and W - weight >= enough:
                for k in range(len(part)):
                    rest[k] = sums[k] - part[k]
                impure += total_weight(criterion, rest) * impurity(criterion, rest)
                if held == 0 or impure < left - RELATIVE_TIE * max(left, 1.0):
                    left, held, inside, which = impure, 2, weight, code[rows[i]]
        worth = (W * impurity(criterion, sums) - left) / total
        if held >= 2 and worth >= terms.min_gain:
            out[j, GAIN], out[j, CODE_BELOW], out[j, BITS] = worth, which, bits
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
    """Find the branch of each row, and return how many rows have none.

    `key` holds the branch of each code of a discrete column, or the last code of each branch of a numeric one.
    `branch` is filled in the order of `rows`, `side` by row number; `weight` is summed by branch.
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
    """Group the rows rows[at] by their branches `into`; statistics, weight and weight times impurity of each branch.

    The rows of branch b are out_rows[ends[b] : ends[b + 1]].
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
    """The lists of each branch b, from begin[b] on in `out`, and how many rows each holds; none where begin[b] < 0."""
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
def surrogate_agreement(codes, discrete, order, lo, known, side, w, feature, room, out):
    """Per column, the weight that its best question sends the same way as `side`, and the weight of the larger side.

    A threshold is described by the codes on either side of it and the branch of values up to it. Returns the number of
    surrogates whose columns are in `room.best`.
    """
    for j in range(len(codes)):
        code, rows = codes[j], order[j]
        zero, one, a, b, last, cuts, by_value = 0.0, 0.0, 0.0, 0.0, -1, 0, 0.0
        for i in range(lo, lo + known[j]):
            row = rows[i]
            if side[row] < 0:
                continue
            if last >= 0 and code[row] != last:
                if discrete[j]:
                    by_value += max(a, b)
                    a, b = 0.0, 0.0
                else:
                    room.zero[cuts], room.one[cuts], room.low[cuts], room.high[cuts] = zero, one, last, code[row]
                    cuts += 1
            last = code[row]
            weight_zero, weight_one = w[row] * (side[row] == 0), w[row] * (side[row] == 1)
            zero, one, a, b = zero + weight_zero, one + weight_one, a + weight_zero, b + weight_one
        out[j, AGREEMENT], out[j, MAJORITY], out[j, KNOWN_WEIGHT] = 0.0, max(zero, one), zero + one
        if j == feature or zero + one <= 0.0:
            continue
        if discrete[j]:
            out[j, AGREEMENT] = by_value + max(a, b)
        best_agreement(room, cuts, zero, one, out[j])
    return rank_surrogates(out, room.best, room.share)


@jit
def best_agreement(room, cuts, zero, one, out):
    """The first threshold whose agreement is greatest; `zero` and `one` are the weights of the sides of all rows."""
    most = 0.0
    for i in range(cuts):
        room.zero[i] = room.zero[i] + one - room.one[i]
        most = max(most, max(room.zero[i], zero + one - room.zero[i]))
    least = most * (1.0 - AGREEMENT_TOLERANCE)
    for i in range(cuts):
        agreement = room.zero[i]
        if agreement >= least or zero + one - agreement >= least:
            first = 0 if agreement >= least else 1
            out[AGREEMENT] = agreement if first == 0 else zero + one - agreement
            out[BELOW], out[ABOVE], out[BRANCH_BELOW] = room.low[i], room.high[i], first
            return


@jit
def rank_surrogates(table, best, shares):
    """The columns of a table of surrogates that agree more than the majority, best first, in `best`; their number.

    Of equal ones, to nine digits, the first comes first.
    """
    found = 0
    for j in range(len(table)):
        agreement, known = table[j, AGREEMENT], table[j, KNOWN_WEIGHT]
        if not agreement > table[j, MAJORITY] + MIN_ADVANTAGE * known:
            continue
        share = np.rint(agreement / known * 1e9)
        at = found
        while at > 0 and shares[at - 1] < share:
            at -= 1
        if at == len(best):
            continue
        found = min(found + 1, len(best))
        for k in range(found - 1, at, -1):
            best[k], shares[k] = best[k - 1], shares[k - 1]
        best[at], shares[at] = j, share
    return found
