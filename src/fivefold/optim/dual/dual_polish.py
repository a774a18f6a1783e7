"""The last digits of the multipliers of a kernel machine, once it is known which of them lie inside the box.

Inside the box the slopes are equal to the offset of the group: a linear system in the multipliers F and the offsets c,

    (G + R)_FF d + E c = f_F - tube sign(b_F)        E'd = 0        E_ig = 1 for i in group g

A multiplier that the solution would push out of the box stops at its bound and leaves F; one at a bound whose slope
calls it back enters F. A round that does not lower the violation is discarded.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.optim.dual.kernel_dual import KernelDual
from fivefold.optim.dual.smo_loops import NO_BOUND

MAX_ROUNDS = 300  # solutions of the system, each with other multipliers inside the box
MAX_IDLE_ROUNDS = 8  # rounds in a row that hit no bound and do not lower the violation
MAX_FREE = 1000  # multipliers inside the box: with more of them the system takes longer than it is worth
NEGLIGIBLE = 1e-13  # a violation of this share of the largest residual or target is rounding
INCONSISTENT = 1e-9  # a residual of the system of this share of its right side: it has no solution
DEPENDENT = 1e-11  # pivots below this share of the largest one are zero

RowsAtHand = Callable[[Indices], Matrix | None]  # rows of the Gram matrix, or None where there is no room for them


def polish_multipliers(dual: KernelDual, rows: RowsAtHand, b: Doubles, f: Doubles) -> tuple[Doubles, Doubles]:
    """Multipliers and residuals with the smallest violation found."""
    best, lowest = (b, f), dual.violation(b, f)
    rounding = NEGLIGIBLE * max(float(np.abs(f).max()), float(np.abs(dual.t).max()), dual.tube_width)
    b, f = b.copy(), f.copy()
    idle = 0
    for _ in range(MAX_ROUNDS):
        if lowest <= rounding or idle > MAX_IDLE_ROUNDS:
            break
        free = np.flatnonzero(dual.is_free(b))
        if not 0 < len(free) <= MAX_FREE:
            break
        if (K := rows(free)) is None:
            break
        step = _system_step(dual, K, free, b, f)
        blocked = _move(dual, free, step, b)
        f -= step @ K  # `step` was shortened to what was taken
        if dual.ridge is not None:
            f[free] -= step * dual.ridge[free]
        violation = dual.violation(b, f)
        idle = 0 if blocked or violation < lowest else idle + 1
        if violation < lowest:
            best, lowest = (b.copy(), f.copy()), violation
        if not blocked and (lowest <= rounding or not _release(dual, rows, b, f, rounding)):
            break
    return best


def _system_step(dual: KernelDual, K: Matrix, free: Indices, b: Doubles, f: Doubles) -> Doubles:
    """Changes of the free multipliers that make their slopes equal.

    Where the system has no solution, what is left of its right side is a direction without curvature in which the
    objective falls: the way goes along it, to the first bound.
    """
    cuts = np.searchsorted(free, dual.group_ends).tolist() if dual.equality else []
    groups = [slice(first, last) for first, last in pairwise([0, *cuts]) if last > first]
    m, p = len(free), len(groups)
    A = np.zeros((m + p, m + p))
    A[:m, :m] = K.take(free, 1)
    diagonal = A.reshape(-1)[: m * (m + p) : m + p + 1]
    if dual.ridge is not None:
        diagonal += dual.ridge[free]
    size = max(float(np.abs(diagonal).max()), 1e-300)  # the rows of ones are given the size of the others
    for g, members in enumerate(groups):
        A[members, m + g] = A[m + g, members] = size
    side = np.zeros(m + p)
    side[:m] = f[free] - dual.tube_width * np.sign(b[free]) if dual.tube_width > 0 else f[free]
    most = max(float(np.abs(side).max()), 1e-300)
    _, _, solved, info = lapack.dgesv(A.T, side)  # symmetric, and in the order of LAPACK
    if info == 0 and np.isfinite(solved).all() and np.abs(A @ solved - side).max() <= INCONSISTENT * most:
        return np.asarray(solved[:m])
    solved = lapack.dgelsy(A.T, side, np.zeros(m + p, dtype=np.int32), DEPENDENT, 70 * (m + p + 1))[1]
    left = (side - A @ solved)[:m]
    if np.abs(left).max() <= INCONSISTENT * most:
        return np.asarray(solved[:m])
    return np.asarray(left * (NO_BOUND / 1e10 / np.abs(left).max()))


def _move(dual: KernelDual, free: Indices, step: Doubles, b: Doubles) -> bool:
    """Take the step as far as the first bound; is there one? `step` becomes what was taken."""
    old = b[free]
    low, high = dual.low[free], dual.high[free]
    if dual.tube_width > 0:
        low, high = np.where(old > 0, 0.0, low), np.where(old < 0, 0.0, high)
    room = np.divide(np.where(step > 0, high, low) - old, step, out=np.full(len(step), np.inf), where=step != 0)
    share = float(room.min())
    if share >= 1.0:
        b[free] = old + step
        return False
    if share * np.abs(step).max() > NO_BOUND / 1e20:  # along a direction without a bound: leave it
        step[:] = 0.0
        return False
    first = room <= share * (1 + 1e-12)
    step *= max(share, 0.0)
    new = np.clip(old + step, low, high)
    new[first] = np.where(step[first] > 0, high[first], np.where(step[first] < 0, low[first], new[first]))
    b[free] = new
    step[:] = new - old
    return True


def _release(dual: KernelDual, rows: RowsAtHand, b: Doubles, f: Doubles, rounding: float) -> bool:
    """One step along the most violating pair, which frees a multiplier at its bound; False if none violates."""
    u, down = dual.slopes(b, f)
    worst = max(dual.group_slices, key=lambda g: float(u[g].max() - down[g].min()))
    i, j = worst.start + int(u[worst].argmax()), worst.start + int(down[worst].argmin())
    rise = u[i] - down[j]
    if not dual.equality or not rise > rounding:
        return False
    if (K := rows(np.array([i, j]))) is None:
        return False
    ridge = dual.diagonal_shift
    curvature = K[0, i] + K[1, j] - 2 * K[0, j] + ridge[i] + ridge[j]
    e = dual.tube_width
    above = 0.0 if e > 0 and b[i] < 0 else dual.high[i]
    below = 0.0 if e > 0 and b[j] > 0 else dual.low[j]
    room = min(above - b[i], b[j] - below)
    step = min(rise / curvature, room) if curvature > 0 else room
    b[i] = above if step == above - b[i] else b[i] + step
    b[j] = below if step == b[j] - below else b[j] - step
    f -= step * (K[0] - K[1])
    f[i] -= step * ridge[i]
    f[j] += step * ridge[j]
    return True
