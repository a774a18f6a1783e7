"""Compiled loops of Lloyd's algorithm for small tables: every row is compared with every centre by plain differences.

What bounds, single precision and teams of threads save there is less than what it takes to prepare them. Labels, sums
and distances are those of lloyd_loops.py to the last bit: the same rows move, in the same order.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.spatial.centres.lloyd_loops import HUGE, TIE_RATIO
from fivefold.spatial.row_loops import squared_distance, transfer_row


@jit(fastmath=FAST, error_model="numpy")
def move_rows(rows, w, C, labels, members, weight, sums):
    """Give each row to its nearest centre, as `_assign_rows` does with undecided rows; how many changed theirs.

    members, weight and sums have an extra entry, for rows that had no centre yet. The changes are added to members;
    weight and sums receive the changes alone.
    """
    K, changed = C.shape[0], 0
    for k in range(K + 1):
        weight[k] = 0.0
        for j in range(sums.shape[1]):
            sums[k, j] = 0.0
    for i in range(len(labels)):
        first, k, old = HUGE, 0, np.int64(labels[i])
        for c in range(K):
            s = squared_distance(rows, i, C, weight, c)
            if s < TIE_RATIO * first:
                first, k = s, c
        if k != old:
            changed += 1
            labels[i] = k
            old = old if old >= 0 else K
            members[k] += 1
            members[old] -= 1
            weight[k] += w[i]
            weight[old] -= w[i]
            transfer_row(rows, i, w[i], sums, k, old)
    return changed


@jit(fastmath=FAST, error_model="numpy")
def own_distances(rows, C, norms, labels, out):
    """out (n,): the distance of each row to its own centre."""
    for i in range(len(labels)):
        out[i] = np.sqrt(squared_distance(rows, i, C, norms, np.int64(labels[i])))


@jit(error_model="numpy")
def add_moves(members, changed_weight, changed_sums, weight, sums, peak, least_share):
    """Add changes to the weights and sums of clusters; has one that keeps rows lost too many digits by then?

    That is, less than a share of the largest weight it ever had, `peak`, is left.
    """
    lost = False
    for k in range(len(weight)):
        weight[k] += changed_weight[k]
        for j in range(sums.shape[1]):
            sums[k, j] += changed_sums[k, j]
        if members[k] == 0:
            weight[k] = 0.0
            for j in range(sums.shape[1]):
                sums[k, j] = 0.0
        peak[k] = max(peak[k], weight[k])
        lost |= members[k] > 0 and weight[k] < least_share * peak[k]
    return lost


@jit(error_model="numpy")
def cluster_means(members, weight, sums, new):
    """new: the mean of each cluster, of an empty one that of the heaviest; returns their sum of squares about all."""
    total, heaviest, filled = 0.0, 0, True
    for k in range(len(weight)):
        total += weight[k]
        heaviest = k if weight[k] > weight[heaviest] else heaviest
        filled = filled and members[k] > 0
        for j in range(sums.shape[1]):
            new[k, j] = sums[k, j] / weight[k] if members[k] > 0 else 0.0
    if not filled:
        for k in range(len(weight)):
            if members[k] == 0:
                for j in range(sums.shape[1]):
                    new[k, j] = new[heaviest, j]
    between = 0.0
    for j in range(sums.shape[1]):
        middle = 0.0
        for k in range(len(weight)):
            middle += sums[k, j]
        middle /= total
        for k in range(len(weight)):
            between += weight[k] * (new[k, j] - middle) ** 2
    return between
