"""One machine for all classes, on a Gram matrix: those of Crammer and Singer, and of Weston and Watkins.

    primal    min over f of  1/2 sum over k of |f_k|^2 + sum of s_i loss_i

              Crammer-Singer    loss_i = max over k != y_i of max(0, 1 - (f_{y_i} - f_k)(x_i))
              Weston-Watkins    loss_i = sum over k != y_i of max(0, 2 - (f_{y_i} - f_k)(x_i))

    dual      min over A of  1/2 sum over k of a_k'G a_k + margin sum of a_ik over k != y_i
              f_k = sum over i of a_ik k(x_i, .)

with multipliers of a row that sum to zero, -s_i <= a_ik <= 0 for k != y_i, and 0 <= a_ik <= t_i for its own class: t_i
is s_i for Crammer and Singer, and (K - 1) s_i for Weston and Watkins, and that is all they differ in. A step minimises
over the multipliers of the row that violates its conditions most; with slopes g and b_k = g_k - G_ii a_k they are

    a_k = (beta - b_k) / G_ii within their box        beta such that they sum to zero

Once it is known which multipliers are inside their boxes, a linear system gives them to the last digits. The sum of the
primal and the dual value is the duality gap.

Weston & Watkins (1999); Crammer & Singer (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.types import Codes, Doubles, Indices, Mask
from fivefold.optim.dual.multiclass_loops import multiclass_steps
from fivefold.optim.dual.smo import MAX_STEPS, MAX_STEPS_PER_ROW

STEPS_PER_REPORT = 2000
MAX_FREE = 1500  # multipliers inside their boxes: with more of them the linear system takes longer than the steps
MAX_POLISH_ROUNDS = 25  # each puts at least one more multiplier on its bound
BOUND_ROUNDING = 1e-12  # of the width of a box: multipliers so close to a bound are put on it
MAX_TIGHTENINGS = 8  # of the tolerance by ten, until the gap is exact
MIN_TIGHTENING_STEPS = 1000  # a tightening takes at most twice the steps before it, and this many
EXACT_GAP = 1e-12  # as a share of the value
SINGULAR_RIDGE = 1e-10  # added to the diagonal of the linear system, as a share of its largest entry
MIN_DIAGONAL = 1e-12  # of a Gram matrix, as a share of its largest entry

Monitor = Callable[[float], bool]  # the largest violation; True ends the descent


@dataclass(frozen=True)
class MultiClassDual:
    """The problem of n rows with codes y of K classes."""

    G: Doubles  # (n, n)
    y: Codes
    s: Doubles  # (n,) the cost of a unit of loss
    classes: int
    every_class: bool  # Weston and Watkins: losses of all other classes count, not the largest alone

    @property
    def margin(self) -> float:
        return 2.0 if self.every_class else 1.0

    @property
    def own_factor(self) -> float:
        """Width of the box of a row's own class, in units of s."""
        return self.classes - 1.0 if self.every_class else 1.0

    @property
    def others(self) -> Mask:
        """(n, K): is it another class than the row's own?"""
        return np.asarray(self.y[:, None] != np.arange(self.classes))

    def gap(self, A: Doubles, F: Doubles) -> tuple[float, float]:
        """The primal value, and by how much it may exceed the minimum."""
        others = self.others
        short = np.where(others, self.margin + F - F[np.arange(len(F)), self.y][:, None], 0.0).clip(min=0.0)
        losses = float(self.s @ (short.sum(axis=1) if self.every_class else short.max(axis=1)))
        half = 0.5 * float((A * F).sum())
        return half + losses, 2 * half + losses + self.margin * float(A[others].sum())


@dataclass(frozen=True)
class MultiClassSolution:
    """Multipliers, the answers G A, and how sure it is that they are best."""

    A: Doubles  # (n, K)
    F: Doubles  # (n, K)
    value: float  # of the primal
    gap: float
    steps: int
    reason: str  # "converged", "max_iter", "stopped"


@on_one_blas_thread
def minimise_multiclass(
    dual: MultiClassDual, tol: float, max_iter: int, monitor: Monitor | None = None
) -> MultiClassSolution:
    """Minimise until no row violates its conditions by `tol`; -1 as max_iter is a generous limit."""
    if max_iter < 0:
        max_iter = MAX_STEPS + MAX_STEPS_PER_ROW * len(dual.y)
    G = dual.G
    least = max(MIN_DIAGONAL * float(G.diagonal().max(initial=0.0)), np.finfo(np.float64).tiny)
    if (G.diagonal() < least).any():
        G = G.copy()
        np.fill_diagonal(G, np.maximum(G.diagonal(), least))
    dual, shape = replace(dual, G=G), (len(dual.y), dual.classes)
    found = MultiClassSolution(np.zeros(shape), np.zeros(shape), np.inf, np.inf, 0, "converged")
    found = _descend(dual, found, tol, max_iter, monitor)
    for _ in range(MAX_TIGHTENINGS):
        if found.reason != "converged":
            break
        found = _polished(dual, found)
        if found.gap <= EXACT_GAP * found.value:
            break
        tol, steps = 0.1 * tol, 2 * found.steps + MIN_TIGHTENING_STEPS
        closer = _descend(dual, found, tol, min(steps, max_iter), monitor)
        found = replace(closer, reason="converged") if closer.reason == "max_iter" else closer
    return found


def _descend(
    dual: MultiClassDual, start: MultiClassSolution, tol: float, max_iter: int, monitor: Monitor | None
) -> MultiClassSolution:
    """Steps on one row after the other until none violates its conditions by `tol`."""
    A, F, steps, reason = start.A.copy(), start.F.copy(), start.steps, "converged"
    while True:
        most = min(STEPS_PER_REPORT, max_iter - steps)
        done, left = multiclass_steps(dual.G, dual.y, dual.s, dual.own_factor, A, F, dual.margin, tol, most)
        steps += int(done)
        if left <= tol:
            break
        if steps >= max_iter:
            reason = "max_iter"
            break
        if monitor is not None and monitor(float(left)):
            reason = "stopped"
            break
    F = dual.G @ A  # the running value accumulates rounding
    return MultiClassSolution(A, F, *dual.gap(A, F), steps, reason)


def _polished(dual: MultiClassDual, found: MultiClassSolution) -> MultiClassSolution:
    """The minimum over the multipliers inside their boxes, as far as it lowers the gap."""
    others, top = dual.others, dual.own_factor * dual.s[:, None]
    low, high = np.where(others, -dual.s[:, None], 0.0), np.where(others, 0.0, top)
    edge = BOUND_ROUNDING * (high - low)
    best, A = found, found.A
    for _ in range(MAX_POLISH_ROUNDS):
        A = np.where(A - low <= edge, low, np.where(high - A <= edge, high, A))
        free = (A > low) & (A < high)
        free &= free.sum(axis=1, keepdims=True) > 1
        if not 0 < free.sum() <= MAX_FREE:
            break
        step = np.zeros_like(A)
        step[free] = _face_step(dual, np.where(others, dual.margin, 0.0) + dual.G @ A, free)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (high - A) / step, np.where(step < 0, (low - A) / step, np.inf))
        share = min(1.0, float(room.min()))
        A = np.clip(A + share * step, low, high)
        F = dual.G @ A
        value, gap = dual.gap(A, F)
        if gap < best.gap:
            best = replace(found, A=A, F=F, value=value, gap=gap)
        if share == 1.0:
            break
    return best


def _face_step(dual: MultiClassDual, g: Doubles, free: Mask) -> Doubles:
    """Newton's step of the free multipliers, whose sums within a row stay: slopes become equal within each row."""
    rows, classes = np.nonzero(free)
    position: Indices = np.unique(rows, return_inverse=True)[1]
    m, r = len(rows), int(position.max()) + 1
    K = np.zeros((m + r, m + r))
    K[:m, :m] = dual.G[np.ix_(rows, rows)] * (classes[:, None] == classes)
    K[np.arange(m), np.arange(m)] += SINGULAR_RIDGE * float(K.diagonal().max())  # the Gram matrix may be singular
    K[np.arange(m), m + position] = K[m + position, np.arange(m)] = 1.0
    return np.linalg.solve(K, np.concatenate([-g[rows, classes], np.zeros(r)]))[:m]
