"""Compiled loop of Lloyd's algorithm for two centres and dense rows: each row is on one side of a plane.

    x.v - b,   v = c_1 - c_0,   b = (|c_1|^2 - |c_0|^2) / 2        above zero: the second centre is nearer

While the plane moves, x.v - b changes by at most |x| |v' - v| + |b' - b|. A row whose distance to zero is larger than
the sum of these since it was last looked at keeps its centre; to tell takes two numbers of the row instead of all.
Labels and sums are those of lloyd_loops.py to the last bit: the same rows move, in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Vector, Weights
from fivefold.spatial.centres.lloyd_loops import BOUND_SAFETY, TIE_RATIO
from fivefold.spatial.row_loops import Rows, squared_distance, transfer_row

# Below this share of |x|^2 + |c_0|^2 + |c_1|^2 the sign of x.v - b is not relied on: four times what TIE_RATIO calls
# a tie, and per coordinate what rounding may add
DOUBT, DOUBT_PER_COLUMN = 4e-12, 8 * 2.0**-53


class PlanePass(NamedTuple):
    """A pass over all points: the plane, how far rows are from it, and sums per part."""

    rows: Rows  # dense ones
    w: Weights  # (n,)
    ends: Indices  # (parts + 1,) int64: part p is rows ends[p]..ends[p + 1]
    C: Matrix  # (2, d)
    norms: Vector  # (2,) |c|^2
    normal: Vector  # (d,): v
    level: float  # b
    turn: float  # the sum of |v' - v| since the start
    shift: float  # the sum of |b' - b|
    labels: Codes  # (n,) int32; -1 before the first pass
    length: Doubles  # (n,): |x|, set by the first pass
    reach: Doubles  # (n,): a row keeps its centre while this is more than |x| turn + shift
    counts: Indices  # (parts, 3) int64: rows that changed, that were looked at, that were compared with both centres
    members: Indices  # (parts, 3) int64
    weight: Doubles  # (parts, 3)
    sums: Doubles  # (parts, 3, d)


@jit(reference_counting=False)
def pass_over_plane(team, state):
    """Give all points to the nearer of the two centres."""
    share_tasks(team, state, 0, len(state.ends) - 1)


@run_task.rule(PlanePass)
def _part(state, kind, i, rank):
    members, weight, sums = state.members[i], state.weight[i], state.sums[i]
    for k in range(3):
        members[k], weight[k] = 0, 0.0
        for j in range(sums.shape[1]):
            sums[k, j] = 0.0
    changed, seen, opened = _assign_by_plane(
        state.rows, state.w, state.C, state.norms, state.normal, state.level, state.turn, state.shift, state.labels,
        state.length, state.reach, state.ends[i], state.ends[i + 1], members, weight, sums,
    )  # fmt: skip
    state.counts[i, 0], state.counts[i, 1], state.counts[i, 2] = changed, seen, opened


@jit(fastmath=FAST, error_model="numpy")
def _assign_by_plane(
    rows, w, C, norms, normal, level, turn, shift, labels, length, reach, lo, hi, members, weight, sums
):
    changed, seen, opened = 0, 0, 0
    X, origin, d = rows.X, rows.origin, len(normal)
    doubt, base = DOUBT + d * DOUBT_PER_COLUMN, norms[0] + norms[1]
    for i in range(lo, hi):
        old = np.int64(labels[i])
        if BOUND_SAFETY * reach[i] > length[i] * turn + shift:
            continue
        seen += 1
        s = -level
        if old < 0:
            size = 0.0
            for j in range(d):
                z = X[i, j] - origin[j]
                size += z * z
                s += z * normal[j]
            length[i] = np.sqrt(size)
        else:
            for j in range(d):
                s += (X[i, j] - origin[j]) * normal[j]
        if abs(s) > doubt * (length[i] * length[i] + base):
            k = 1 if s > 0 else 0
            reach[i] = abs(s) + length[i] * turn + shift
        else:
            opened += 1
            near = squared_distance(rows, i, C, norms, 0)
            k = 1 if squared_distance(rows, i, C, norms, 1) < TIE_RATIO * near else 0
            reach[i] = 0.0
        if k != old:
            changed += 1
            labels[i] = k
            old = np.int64(2) if old < 0 else old
            members[k] += 1
            members[old] -= 1
            weight[k] += w[i]
            weight[old] -= w[i]
            transfer_row(rows, i, w[i], sums, k, old)
    return changed, seen, opened
