"""The E-step of a mixture of Gaussians with full covariances, in compiled code on a team of threads.

Each task takes a part of the rows, block by block: log densities, responsibilities, and the sums of the M-step about
the present means. Parts have sums of their own, which are added in their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.numerics.softmax import softmax_loop
from fivefold.core.parallel import BLOCK_ROWS, aligned, row_parts, run_team, scratch, team_size, whole_lines
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Array, Doubles, Indices, Matrix, Vector, Weights
from fivefold.distributions.covariances.gaussian_loops import TILE_POINTS, add_full, log_full

LOG_ZERO = -1e290  # the logarithm of zero in place of -inf, as loops assume finite numbers
PART_ROWS = 2 * BLOCK_ROWS  # rows of a part, at least
MAX_BLOCK_POINTS = 1024  # points that are worked on together
SECONDS_PER_TERM = 2e-10  # time per row, component and pair of columns: what decides how many threads pay


class MixtureStep(NamedTuple):
    """Rows, components, sums of parts, and scratch of threads."""

    X: Matrix  # (n, d)
    w: Weights  # (n,)
    ends: Indices  # (parts + 1,) int64: part p is rows ends[p]..ends[p + 1]
    mean: Matrix  # (K, d)
    factor: Array  # (K, d, d padded to a multiple of four)
    level: Vector  # (K,): log weight times density at the mean
    weight: Doubles  # (parts, K or more)
    first: Doubles  # (parts, K, d)
    second: Doubles  # (parts, K, d, d padded)
    value: Doubles  # (parts,): the log-likelihood; NaN where an entry is missing
    Z: Doubles  # (threads, d, points): scratch, as what follows
    L: Doubles  # (threads, K, points)
    R: Doubles  # (threads, K, points)
    L_bits: Array  # the same memory as int64
    R_bits: Array
    D: Doubles  # (threads, d padded, TILE_POINTS)
    lanes: Doubles  # (threads, 2, TILE_POINTS)
    points: Doubles  # (threads, 3, points)


def full_covariance_step(
    X: Matrix, w: Weights, mean: Matrix, factor: Array, level: Vector
) -> tuple[Vector, Doubles, Doubles, float]:
    """Sums of responsibilities, and of first and second moments about the means; the log-likelihood.

    It is NaN if an entry is missing.
    """
    (n, d), K, padded = X.shape, len(mean), factor.shape[2]
    cut = row_parts(n, PART_ROWS)
    size = min(len(cut), team_size(n * K * d * (d + 4) * SECONDS_PER_TERM))
    block = min(MAX_BLOCK_POINTS, -(-n // TILE_POINTS) * TILE_POINTS)
    weight, D = aligned((len(cut), whole_lines(K))), aligned((size, padded, TILE_POINTS))
    weight[:], D[:] = 0.0, 0.0
    L, R = (scratch(f"mixture {name}", size, K, block) for name in "LR")
    state = MixtureStep(
        X=X,
        w=np.ascontiguousarray(w, dtype=np.float64),
        ends=np.array([0, *(hi for _, hi in cut)]),
        mean=np.ascontiguousarray(mean),
        factor=factor,
        level=level,
        weight=weight,
        first=np.zeros((len(cut), K, d)),
        second=np.zeros((len(cut), K, d, padded)),
        value=np.zeros(len(cut)),
        Z=scratch("mixture Z", size, d, block),
        L=L,
        R=R,
        L_bits=L.view(np.int64),
        R_bits=R.view(np.int64),
        D=D,
        lanes=aligned((size, 2, TILE_POINTS)),
        points=aligned((size, 3, block)),
    )
    run_team(_step, state, size=size)
    return weight[:, :K].sum(axis=0), state.first.sum(axis=0), state.second.sum(axis=0), float(state.value.sum())


@jit(reference_counting=False)
def _step(team, state):
    share_tasks(team, state, 0, len(state.ends) - 1)


@run_task.rule(MixtureStep)
def _part(state, kind, i, rank):
    X, Z, L, R, D = state.X, state.Z[rank], state.L[rank], state.R[rank], state.D[rank]
    v, top, acc = state.points[rank, 0], state.points[rank, 1], state.points[rank, 2]
    for start in range(state.ends[i], state.ends[i + 1], len(v)):
        count = min(len(v), state.ends[i + 1] - start)
        if _copy_columns(X, state.w, start, count, Z, v):
            state.value[i] = np.nan
            return
        log_full(Z, state.mean, state.factor, state.level, D, state.lanes[rank, 0], state.lanes[rank, 1], L)
        for k in range(len(L)):
            for j in range(len(v)):
                L[k, j] = max(L[k, j], LOG_ZERO)
        state.value[i] += softmax_loop(L, state.L_bits[rank], v, top, acc, R, state.R_bits[rank])
        add_full(
            Z, R, state.mean, D, state.lanes[rank, 0], state.lanes[rank, 1], state.weight[i], state.first[i],
            state.second[i],
        )  # fmt: skip


@jit
def _copy_columns(X, w, start, count, Z, v):
    """Copy rows into the columns of Z, and zeros of weight zero after them; is an entry missing?"""
    total = 0.0
    for j in range(len(v)):
        v[j] = w[start + j] if j < count else 0.0
        for a in range(len(Z)):
            x = X[start + j, a] if j < count else 0.0
            Z[a, j] = x
            total += x
    return total != total
