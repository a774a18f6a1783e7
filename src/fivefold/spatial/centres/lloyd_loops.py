"""Compiled loops of Lloyd's algorithm: points that may have to change their centre, and those that do.

`assign_parts` goes through the parts of the rows on a team of threads; each part has sums of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Vector, Weights
from fivefold.spatial.row_loops import ROW_LANES, Rows, nearest_two, squared_distance, transfer_row

BOUND_SAFETY = 1 - 1e-9  # share of a bound that is relied on: the rest covers rounding
TIE_RATIO = 1 - 1e-12  # a later centre wins only if its squared distance is below this share of the smallest so far
HUGE = 1e300  # in place of infinity, as the loops assume finite numbers
ASSIGN, LIST = range(2)  # kinds of passes: all of it, or the distances of all points to their own centres


class AssignmentPass(NamedTuple):
    """A pass over all points: centres, bounds, sums per part, and scratch per thread."""

    rows: Rows
    w: Weights  # (n,)
    ends: Indices  # (parts + 1,) int64: part p is rows ends[p]..ends[p + 1]
    C: Matrix  # (K, d)
    norms: Vector  # (K,)
    gap: Vector  # (K,): half the distance from each centre to the next
    move: Vector  # (K,): how far each centre moved
    top: Vector  # (3,): the largest move, the number of its centre, and the second largest move
    reach: float  # the largest |c|^2
    rounding: float  # that of Codebook
    code: Matrix  # those of Codebook
    half: Vector
    labels: Codes  # (n,) int32
    upper: Doubles  # (n,)
    lower: Doubles  # (n,)
    counts: Indices  # (parts, 3) int64: rows that changed, that were compared, that were undecided
    members: Indices  # (parts, K + 1) int64
    weight: Doubles  # (parts, K + 1)
    sums: Doubles  # (parts, K + 1, d)
    ids: Indices  # (threads, rows + 1) int64
    first: Array  # (threads, blocks, ROW_LANES): what `nearest_two` finds, as are the next three
    second: Array
    which: Array
    norm: Array
    Z: Array  # (threads, d, ROW_LANES)
    v: Array  # (threads, ROW_LANES or K)
    u: Array  # (threads, ROW_LANES)


@jit(reference_counting=False)
def assign_parts(team, state, kind):
    """Give all points to their nearest centres, or compute the distances to their own."""
    share_tasks(team, state, kind, len(state.ends) - 1)


@run_task.rule(AssignmentPass)
def _assign_part(state, kind, i, rank):
    ids, lo, hi = state.ids[rank], state.ends[i], state.ends[i + 1]
    members, weight, sums = state.members[i], state.weight[i], state.sums[i]
    m = _list_doubtful(
        state.rows, state.C, state.norms, state.gap, state.move, state.top, state.labels, state.upper, state.lower,
        lo, hi, ids,
    )  # fmt: skip
    if kind == ASSIGN:
        for k in range(len(members)):
            members[k], weight[k] = 0, 0.0
            for j in range(sums.shape[1]):
                sums[k, j] = 0.0
        found = state.first[rank], state.second[rank], state.which[rank], state.norm[rank]
        nearest_two(state.rows, ids, m, state.code, state.half, state.Z[rank], state.v[rank], state.u[rank], found)
        changed, undecided = _assign_rows(
            state.rows, state.w, state.C, state.norms, state.reach, state.rounding, ids, m, found, state.labels,
            state.upper, state.lower, members, weight, sums,
        )  # fmt: skip
        state.counts[i, 0], state.counts[i, 1], state.counts[i, 2] = changed, m, undecided


@jit(fastmath=FAST, error_model="numpy")
def _list_doubtful(rows, C, norms, gap, move, top, labels, upper, lower, lo, hi, ids):
    """Update the bounds of rows lo..hi and list in ids the rows that may have to change; return how many.

    top holds the largest move, the number of its centre, and the second largest move.
    """
    m = 0
    for i in range(lo, hi):
        k = np.int64(labels[i])
        keep = False
        if k >= 0:
            u = upper[i] + move[k]
            l = lower[i] - (top[2] if k == top[1] else top[0])
            bound = BOUND_SAFETY * max(gap[k], l)
            if u >= bound:
                u = np.sqrt(squared_distance(rows, i, C, norms, k))
            keep = u < bound
            upper[i] = u
            lower[i] = l
        ids[m] = i
        m += 0 if keep else 1
    return m


@jit(fastmath=FAST, error_model="numpy")
def _assign_rows(rows, w, C, norms, reach, rounding, ids, m, found, labels, upper, lower, members, weight, sums):
    """Give rows ids[:m] to their nearest centre, and add the changes to members, weight and sums.

    These three have an extra entry K, for rows that had no centre yet. found is what `nearest_two` finds, reach
    the largest |c|^2, rounding that of Codebook. Returns how many rows changed, and how many were undecided.
    """
    K = len(norms)
    changed, opened = 0, 0
    for t in range(m):
        r, b, i = ids[t], t // ROW_LANES, t % ROW_LANES
        near, next_, norm = np.float64(found[0][b, i]), np.float64(found[1][b, i]), np.float64(found[3][b, i])
        k, old = int(found[2][b, i]), int(labels[r])
        error = 2 * rounding * (np.sqrt(reach * norm) + 0.5 * reach)
        if next_ - near > error:
            error += rounding * norm
            first, second = max(0.0, 2 * near + norm + error), max(0.0, 2 * next_ + norm - error)
        else:
            opened += 1
            first, second = HUGE, HUGE
            for c in range(K):
                s = squared_distance(rows, r, C, norms, c)
                if s < TIE_RATIO * first:
                    first, second, k = s, first, c
                elif s < second:
                    second = s
        upper[r], lower[r] = np.sqrt(first), np.sqrt(second)
        if k != old:
            changed += 1
            labels[r] = k
            old = old if old >= 0 else K
            members[k] += 1
            members[old] -= 1
            weight[k] += w[r]
            weight[old] -= w[r]
            transfer_row(rows, r, w[r], sums, k, old)
    return changed, opened
