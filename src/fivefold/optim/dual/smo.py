"""Sequential minimal optimisation in working sets, with rows of the Gram matrix made when wanted.

A round takes the multipliers that violate the optimality conditions most, beside half of those of the round before,
and makes the block of the Gram matrix between them. In it each step takes the multiplier with the largest slope upwards
and the partner with which the objective falls most, and moves both to the minimum along their line, until the block
satisfies the conditions nearly. Then the residuals of all multipliers are brought up to date, by the rows of those that
moved: on all threads, and each row once per round instead of once per step. All that is not in the working set is set
aside meanwhile, so there is no further shrinking. Where the rows are float64, the linear system of the multipliers
inside the box gives the last digits (`dual_polish`).

Platt (1998); Joachims (1999); Fan, Chen & Lin (2005); Wen et al. (2018).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.kernels.row_cache import RowSource
from fivefold.optim.dual.dual_polish import polish_multipliers
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo_loops import CONVERGED, assess, block_steps

WORKING_ROWS = 1024  # multipliers of a working set
EXACT_ROWS = 2000  # up to this many, rows are float64, made at the start if they fit the cache, and polished
MIN_CACHE = 2**21  # bytes: a matrix of 500 rows, which is made whatever the cache is
NARROW_TOLERANCE = 1e-4  # smaller tolerances need rows in float64: float32 leaves the objective six digits
# Steps in a working set end at this share of the violation of all, or of the tolerance: the others would undo more
BLOCK_VIOLATION, BLOCK_TOLERANCE = 0.1, 0.5
MIN_CURVATURE = {8: 1e-12, 4: 1e-7}  # along a pair, as a share of the largest entry, by the bytes of an entry
ROUNDING = {8: 1e-12, 4: 1e-6}  # the least tolerance, as a share of the largest target, by the bytes of an entry
MIN_SQUARED_MARGIN = 1e-10  # as a share of the largest entry: below it the classes count as not separable
NO_STEP_LIMIT = 1 << 62
MAX_STEPS, MAX_STEPS_PER_ROW = 3_000_000, 1000  # without a limit of the caller: columns of unlike scale never converge
MONITOR_STEPS = 10_000  # steps between two reports, at most
MAX_TIGHTENINGS = 8  # of the tolerance by ten, until the duality gap is small enough
MIN_TIGHTENING_STEPS = 1000  # a tightening takes at most as many steps as the descent took before, and this many

Monitor = Callable[[Doubles, float], bool]  # the multipliers and the violation; True ends the descent


def row_type(n: int, tol: float) -> np.dtype[np.float64] | np.dtype[np.float32]:
    """The type of rows for a problem of this size, to be solved to this tolerance."""
    return np.dtype(np.float64) if n <= EXACT_ROWS or tol < NARROW_TOLERANCE else np.dtype(np.float32)


def minimise_dual(
    dual: KernelDual,
    source: RowSource,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    cache_bytes: float = 2e8,
    start: Doubles | None = None,
    residuals: Doubles | None = None,
    polish: bool = True,
    monitor: Monitor | None = None,
) -> DualSolution:
    """Minimise until no pair violates the optimality conditions by `tol`, nor the gap is above `tol` of the value.

    `start` is another point to start from, such as the solution of a similar problem: it is in the box, and its sums
    are those of `dual.start`. `residuals` are those of the start, where they are known. `polish` asks for the last
    digits where the rows are float64.
    """
    least = ROUNDING[source.dtype.itemsize] * max(1.0, float(np.abs(dual.t).max(initial=0.0)))
    given = tol = max(tol, least)
    b0 = dual.start if start is None else start
    b = np.zeros(dual.n) if b0 is None else np.array(b0, dtype=np.float64)
    whole = source.n <= EXACT_ROWS and 8 * source.n**2 <= max(cache_bytes, MIN_CACHE)
    descent = (_WholeDescent if whole else _Descent)(dual, source, cache_bytes, max_iter, monitor)
    descent.begin(b, residuals)
    reason = descent.run(tol)
    if polish and reason == "converged" and source.dtype == np.float64:
        descent.polish()
    found = descent.solution(reason)
    for _ in range(MAX_TIGHTENINGS if reason == "converged" else 0):
        if not found.gap > given * (abs(found.value) + found.gap + given * float(np.abs(found.b).sum())):
            break
        before = descent.steps
        tol = max(0.1 * tol, least)
        reason = descent.run(tol, steps=before + MIN_TIGHTENING_STEPS)
        if descent.steps == before:
            break
        found = descent.solution(reason)
    return found


class _Descent:
    """The state of a descent: the multipliers, their residuals, and the rows at hand."""

    def __init__(
        self, dual: KernelDual, source: RowSource, cache_bytes: float, max_iter: int, monitor: Monitor | None
    ) -> None:
        self.dual, self.source, self.budget = dual, source, cache_bytes
        self.limit = MAX_STEPS + MAX_STEPS_PER_ROW * dual.n if max_iter < 0 else max_iter
        self.monitor, self.steps, self.rows_made, self.indefinite = monitor, 0, 0, False
        self.diagonal = source.diagonal()
        self.ridge = np.zeros(dual.n) if dual.ridge is None else dual.ridge
        entry = max(float(self.diagonal.max(initial=0.0)), float(np.abs(self.diagonal).max(initial=0.0)) * 1e-3)
        self.entry = entry
        self.least = (entry or 1.0) * MIN_CURVATURE[source.dtype.itemsize]

    def begin(self, b: Doubles, residuals: Doubles | None) -> None:
        """Start at b."""
        self.b, self.cache = b, self.source.cached(self.budget)
        self.working = np.empty(0, dtype=np.int64)  # the working set, those that came last at the end
        if residuals is not None:
            self.f = np.array(residuals)
        else:
            self.f = self.dual.t - self.ridge * b
            used = np.flatnonzero(b)
            if len(used):
                self.cache.subtract(self.f, used, b[used], self.dual.is_free(b)[used])

    def run(self, tol: float, steps: int = NO_STEP_LIMIT) -> str:
        """At most `steps` steps, until the conditions are satisfied to `tol`; returns why it ended."""
        dual, end = self.dual, min(self.steps + steps, self.limit)
        reported = self.steps
        while True:
            u, down = dual.slopes(self.b, self.f)
            violation = dual.violation(self.b, self.f)
            if violation < tol:
                return "converged"
            if self.steps >= end:
                return "max_iter" if self.steps >= self.limit else "converged"
            before = self.steps
            self._solve_block(u, down, max(BLOCK_TOLERANCE * tol, BLOCK_VIOLATION * violation), end)
            if self.steps == before:
                return "converged"  # rounding leaves nothing to gain
            if self._diverges():
                return "unbounded"
            if self.steps >= reported + MONITOR_STEPS:
                reported = self.steps
                if (reason := self._report()) != "paused":
                    return reason

    def _solve_block(self, u: Doubles, down: Doubles, tol: float, end: int) -> None:
        """One round: choose a working set, take steps in it, and bring the residuals up to date."""
        dual = self.dual
        chosen = np.sort(self._choose(u, down))
        K = self.source.matrix(chosen)
        b, f = self.b[chosen], self.f[chosen]
        ends = np.searchsorted(chosen, dual.group_ends)
        self._take_steps(K, chosen, b, f, ends, tol, end - self.steps)
        moved = np.flatnonzero(b != self.b[chosen])
        changed, change = chosen[moved], (b - self.b[chosen])[moved]
        self.b[chosen] = b
        self.cache.subtract(self.f, changed, change, dual.is_free(self.b)[changed])
        self.f[changed] -= self.ridge[changed] * change
        self.rows_made = self.cache.made

    def _choose(self, u: Doubles, down: Doubles) -> Indices:
        """The working set: half of the last one, free multipliers first, and those that violate most in each group."""
        dual = self.dual
        free = dual.is_free(self.b)[self.working]
        kept = np.concatenate([self.working[~free], self.working[free]])[-WORKING_ROWS // 2 :]
        known = np.zeros(dual.n, dtype=bool)
        known[kept] = True
        room = (WORKING_ROWS - len(kept)) // (2 * len(dual.group_ends))
        parts = [kept]
        for g in dual.group_slices:
            top, bottom = (float(u[g].max()), float(down[g].min())) if dual.equality else (0.0, 0.0)
            risers = _largest(np.where(known[g], -np.inf, u[g]), room, bottom) + g.start
            known[risers] = True
            fallers = _largest(np.where(known[g], -np.inf, -down[g]), room, -top) + g.start
            known[fallers] = True
            parts += [risers, fallers]
        self.working = np.concatenate(parts)
        return self.working

    def _take_steps(
        self, K: Matrix, chosen: Indices | slice, b: Doubles, f: Doubles, ends: Indices, tol: float, limit: int
    ) -> int:
        """Steps among the chosen multipliers, whose block is K; b and f change in place."""
        dual = self.dual
        status, taken, indefinite = block_steps(
            K, dual.low[chosen], dual.high[chosen], self.ridge[chosen], b, f, ends, dual.equality,
            float(dual.tube_width), self.least, float(tol), limit,
        )  # fmt: skip
        self.steps, self.indefinite = self.steps + int(taken), self.indefinite or bool(indefinite)
        return int(status)

    def _diverges(self) -> bool:
        """Do the convex hulls that b puts weights on touch? Their distance is twice the margin, at least."""
        if not self.dual.may_diverge:
            return False
        total = float(np.abs(self.b).sum())
        return 4.0 * float(self.b @ (self.dual.t - self.f)) < MIN_SQUARED_MARGIN * self.entry * total**2

    def _report(self) -> str:
        """Tell the monitor; "paused" if the descent goes on."""
        if self.monitor is None:
            return "paused"
        try:
            return "stopped" if self.monitor(self.b, self.dual.value(self.b, self.f)) else "paused"
        except KeyboardInterrupt:
            return "interrupted"

    def polish(self) -> None:
        """The last digits of the multipliers."""
        b, f = polish_multipliers(self.dual, self.cache.rows, self.b, self.f, self.ridge)
        self.b[:], self.f[:] = b, f

    def solution(self, reason: str) -> DualSolution:
        """What was found."""
        dual = self.dual
        ends = dual.group_ends
        offsets, about = np.empty(len(ends)), np.empty(4)
        assess(
            dual.t, dual.low, dual.high, self.ridge, self.b, self.f, ends, dual.equality, float(dual.tube_width),
            offsets, about,
        )  # fmt: skip
        value, gap, violation, norm = about.tolist()
        return DualSolution(
            self.b, self.f, offsets, value, gap, violation, self.steps, self.rows_made, reason, norm, self.indefinite
        )


class _WholeDescent(_Descent):
    """The descent of a small problem, all rows of whose Gram matrix are made at the start."""

    def begin(self, b: Doubles, residuals: Doubles | None) -> None:
        dual = self.dual
        self.G, self.rows_made, self.b = self.source.matrix(), dual.n, b
        if residuals is not None:
            self.f = np.array(residuals)
        else:
            self.f = dual.t - self.ridge * b - (self.G @ b if b.any() else 0.0)

    def run(self, tol: float, steps: int = NO_STEP_LIMIT) -> str:
        dual, end = self.dual, min(self.steps + steps, self.limit)
        while True:
            limit = min(end - self.steps, MONITOR_STEPS) if dual.may_diverge else end - self.steps
            status = self._take_steps(self.G, slice(None), self.b, self.f, dual.group_ends, tol, limit)
            if status == CONVERGED or self.steps >= end:
                return "max_iter" if status != CONVERGED and self.steps >= self.limit else "converged"
            if self._diverges():
                return "unbounded"

    def polish(self) -> None:
        b, f = polish_multipliers(self.dual, lambda wanted: self.G[wanted], self.b, self.f, self.ridge)
        self.b[:], self.f[:] = b, f


def _largest(values: Doubles, count: int, above: float) -> Indices:
    """Where the largest `count` values are, among those larger than `above`."""
    found = np.flatnonzero(values > above)
    if len(found) > count:
        found = found[np.argpartition(-values[found], count)[:count]] if count else found[:0]
    return found
