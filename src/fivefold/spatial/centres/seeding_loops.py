"""Compiled loops of greedy k-means++, on a team of threads: rows are tried as seeds, and the best one is kept.

For each row tried, the squared distance of every point to its nearest seed is computed as if the row were one; the row
that leaves the smallest weighted sum is kept. Weight times distance is then put in the order in which rows are drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Doubles, Indices, Matrix, Vector
from fivefold.spatial.row_loops import ROW_LANES, Rows, try_seeds
from fivefold.spatial.row_sampling import RUN_LENGTH

TIE_TOLERANCE = 1e-12  # seeds whose sums differ by no more than this share are equally good: the first drawn is taken
TRY, KEEP, ARRANGE = range(3)  # kinds of tasks, on parts of the rows; ARRANGE: on parts of their order


class SeedTrial(NamedTuple):
    """Points, rows tried as their next seed, and what threads write."""

    rows: Rows
    ends: Indices  # (parts + 1,) int64: part p is blocks ends[p]..ends[p + 1] of ROW_LANES rows
    order: Indices  # (n,) int64: rows as they are drawn
    w: Doubles  # (blocks, ROW_LANES)
    nearest: Doubles  # (blocks, ROW_LANES): squared distance to the nearest seed so far
    after: Doubles  # (trials, blocks, ROW_LANES): and with each row tried
    mass: Vector  # (n,): weight times squared distance,
    arranged: Vector  # (n or more,): along the order,
    run_sums: Vector  # (runs,): and its sums by run
    C: Matrix  # the rows tried, as in Codebook
    norms: Vector  # (trials,)
    potential: Doubles  # (parts, trials or more): sums of each part
    Z: Doubles  # (threads, d, ROW_LANES): scratch
    acc: Doubles  # (threads, ROW_LANES or trials): scratch
    best: Indices  # (1,) int64: which of the rows tried is kept


@jit(reference_counting=False)
def add_best_seed(team, state):
    """Try all rows and keep the best of them; its number."""
    parts = len(state.ends) - 1
    share_tasks(team, state, np.int64(TRY), parts)  # not a constant: compiled once for the three kinds
    sums, top = state.potential[0], 0
    for t in range(len(state.norms)):
        for p in range(1, parts):
            sums[t] += state.potential[p, t]
        top = t if sums[t] < sums[top] else top
    best = 0
    while sums[best] > sums[top] * (1 + TIE_TOLERANCE):
        best += 1
    state.best[0] = best
    share_tasks(team, state, np.int64(KEEP), parts)
    share_tasks(team, state, np.int64(ARRANGE), parts)
    return best


@run_task.rule(SeedTrial)
def _task(state, kind, i, rank):
    first, last, n = state.ends[i], state.ends[i + 1], len(state.order)
    lo, hi = first * ROW_LANES, min(last * ROW_LANES, n)
    if kind == TRY:
        for t in range(len(state.norms)):
            state.potential[i, t] = 0.0
        try_seeds(
            state.rows, first, last, state.w, state.nearest, state.C, state.norms, state.Z[rank], state.acc[rank],
            state.after, state.potential[i],
        )  # fmt: skip
    elif kind == KEEP:
        nearest, after = state.nearest.reshape(-1), state.after[state.best[0]].reshape(-1)
        w, mass = state.w.reshape(-1), state.mass
        for r in range(lo, hi):
            nearest[r] = after[r]
            mass[r] = w[r] * after[r]
    else:
        for run in range(lo // RUN_LENGTH, (hi + RUN_LENGTH - 1) // RUN_LENGTH):  # parts are cut at ends of runs
            total = 0.0
            for at in range(run * RUN_LENGTH, min((run + 1) * RUN_LENGTH, hi)):
                state.arranged[at] = state.mass[state.order[at]]
                total += state.arranged[at]
            state.run_sums[run] = total
