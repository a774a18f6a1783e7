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

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fivefold.core.parallel import scratch
from fivefold.core.types import Doubles, Indices, Mask, Matrix
from fivefold.kernels.row_cache import RowSource
from fivefold.optim.dual.dual_polish import polish_multipliers
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo_loops import CHUNK_COLUMNS, CONVERGED, INDEFINITE, STEPS, pair_steps, single_steps
from fivefold.optim.dual.working_set_loops import BUCKETS, choose_working_set, code_sides, keep_changes, mark_violations

WORKING_ROWS = 1024  # multipliers of a working set
EXACT_ROWS = 2000  # up to this many, rows are float64, made at the start if they fit the cache, and polished
MIN_CACHE = 2**21  # bytes: a matrix of 500 rows, which is made whatever the cache is
NARROW_TOLERANCE = 1e-4  # smaller tolerances need rows in float64: float32 leaves the objective six digits
# Steps follow the residuals in float32 to tolerances above this share of the largest: five times what 10,000 roundings
# of 6e-8, upwards or downwards by chance, add up to
NARROW_STEPS = 3e-5
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
) -> DualSolution:
    """The minimum of one problem; see `DualSolver`."""
    return DualSolver(source, tol, max_iter, cache_bytes).minimise(dual, start)


class DualSolver:
    """Minimises problems with the same Gram matrix; rows are kept from one to the next.

    A descent ends when no pair violates the optimality conditions by `tol`, nor the gap is above `tol` of the value.
    """

    def __init__(self, source: RowSource, tol: float = 1e-3, max_iter: int = -1, cache_bytes: float = 2e8) -> None:
        self.source, self.tol, self.max_iter = source, tol, max_iter
        self.diagonal, size = source.diagonal(), source.dtype.itemsize
        self.entry = max(float(self.diagonal.max(initial=0.0)), -1e-3 * float(self.diagonal.min(initial=0.0)))
        self.least, self.rounding = (self.entry or 1.0) * MIN_CURVATURE[size], ROUNDING[size]
        self.is_exact = source.dtype == np.float64
        self.G: Doubles | None = None
        if len(source) <= EXACT_ROWS and 8 * len(source) ** 2 <= max(cache_bytes, MIN_CACHE):
            self.G = source.matrix().astype(np.float64, copy=False)
        else:
            self.cache = source.cached(cache_bytes)

    def minimise(
        self,
        dual: KernelDual,
        start: Doubles | None = None,
        near: DualSolution | None = None,
        polish: bool = True,
        monitor: Monitor | None = None,
    ) -> DualSolution:
        """The minimum.

        `start` is another point to start from, such as the solution of a similar problem: it is in the box, and its
        sums are those of `dual.start`. `near` is the solution of such a problem with the same t: its residuals save
        most of the work for those of the start. `polish` asks for the last digits where the rows are float64.
        """
        least = self.rounding * max(1.0, float(np.abs(dual.t).max(initial=0.0)))
        given = tol = max(self.tol, least)
        b0 = dual.start if start is None else start
        b = np.zeros(dual.n) if b0 is None else np.array(b0, dtype=np.float64)
        descent = (_Descent if self.G is None else _WholeDescent)(self, dual, b, near, monitor)
        reason = descent.run(tol)
        if polish and reason == "converged" and self.is_exact:
            descent.polish()
        found = descent.solution(reason)
        for _ in range(MAX_TIGHTENINGS if reason == "converged" else 0):
            if not found.gap > given * abs(found.value):
                break
            if not found.gap > given * (abs(found.value) + found.gap + given * float(np.abs(found.b).sum())):
                break
            before = descent.steps
            tol = max(0.1 * tol, least)
            reason = descent.run(tol, steps=before + MIN_TIGHTENING_STEPS)
            if descent.steps == before:
                break
            found = descent.solution(reason)
        return found

    def rows(self, wanted: Indices) -> Matrix | None:
        """Rows of G, or None if there is no room for all of them."""
        return self.cache.rows(wanted) if self.G is None else self.G[wanted]


class _Descent:
    """The state of a descent: the multipliers and their residuals."""

    def __init__(
        self, solver: DualSolver, dual: KernelDual, b: Doubles, near: DualSolution | None, monitor: Monitor | None
    ) -> None:
        self.solver, self.dual, self.b, self.monitor = solver, dual, b, monitor
        self.limit = MAX_STEPS + MAX_STEPS_PER_ROW * dual.n if solver.max_iter < 0 else solver.max_iter
        self.steps, self.indefinite = 0, False
        self.made_before = -dual.n if solver.G is not None else solver.cache.made
        self.ridge = dual.diagonal_shift
        self.working = np.empty(0, dtype=np.int64)  # the working set, those that came last at the end
        n = dual.n if solver.G is None else 0
        self.rows = np.empty(n, dtype=np.int64)  # scratch of its choice
        self.sides, self.marks = np.empty(n, dtype=np.uint8), np.empty((2, n), dtype=np.uint8)  # see the loops
        self.f, change = (dual.t.copy(), b) if near is None else (near.f.copy(), b - near.b)
        changed = np.flatnonzero(change)
        if len(changed):
            self._subtract(changed, change[changed], self.dual.is_free(self.b, changed))

    def _subtract(self, changed: Indices, change: Doubles, free: Mask) -> None:
        """Bring the residuals up to date; rows of free multipliers are kept."""
        if self.solver.G is None:
            self.solver.cache.subtract(self.f, changed, change, free)
        else:
            self.f -= change @ self.solver.G[changed]
        if self.dual.ridge is not None:
            self.f[changed] -= self.dual.ridge[changed] * change

    def run(self, tol: float, steps: int = NO_STEP_LIMIT) -> str:
        """At most `steps` steps, until the conditions are satisfied to `tol`; returns why it ended."""
        dual, end = self.dual, min(self.steps + steps, self.limit)
        code_sides(self.b, dual.low, dual.high, self.sides)
        reported = self.steps
        while True:
            violation = self._mark_violations(tol)
            if violation < tol:
                return "converged"
            if self.steps >= end:
                return "max_iter" if self.steps >= self.limit else "converged"
            before = self.steps
            self._solve_block(max(BLOCK_TOLERANCE * tol, BLOCK_VIOLATION * violation), end)
            if self.steps == before:
                return "converged"  # rounding leaves nothing to gain
            if self._diverges():
                return "unbounded"
            if self.steps >= reported + MONITOR_STEPS:
                reported = self.steps
                if (reason := self._report()) != "paused":
                    return reason

    def _solve_block(self, tol: float, end: int) -> None:
        """One round: choose a working set, take steps in it, and bring the residuals up to date."""
        dual, tube_width, size = self.dual, float(self.dual.tube_width), WORKING_ROWS
        order, parts, ends = np.empty(size, dtype=np.int64), np.empty((5, size)), np.empty_like(dual.group_ends)
        m = choose_working_set(
            self.b, self.f, dual.low, dual.high, self.ridge, self.sides, tube_width, dual.group_ends, self.working,
            self.marks, order, self.rows, parts, ends, np.empty((2, BUCKETS), np.int64), scratch("violations", dual.n),
        )  # fmt: skip
        self.working, chosen = order[:m], self.rows[:m]
        self._take_steps(self.solver.source.matrix(chosen), list(parts[:, :m]), ends, tol, end - self.steps)
        changed, change, free = np.empty(m, dtype=np.int64), np.empty(m), np.empty(m, dtype=bool)
        count = keep_changes(parts, chosen, tube_width, self.b, self.sides, changed, change, free)
        self._subtract(changed[:count], change[:count], free[:count])

    def _mark_violations(self, tol: float) -> float:
        """The largest violation; where it is not below `tol`, those of all are marked for the choice of a set."""
        dual, extremes = self.dual, np.empty((2, len(self.dual.group_ends)))
        scales = float(dual.tube_width), dual.group_ends, dual.equality, tol
        return float(mark_violations(self.f, self.sides, *scales, extremes, self.marks))

    def _take_steps(self, K: Matrix, parts: Sequence[Doubles], ends: Indices, tol: float, limit: int) -> int:
        """Steps among multipliers with block K; `parts` are their b, f, bounds and ridge.

        b changes in place, f too where steps are float64.
        """
        counters = np.zeros(2, dtype=np.int64)
        b, f, low, high, ridge = parts
        rest = counters, float(self.dual.tube_width), self.solver.least, float(tol), limit
        if self.dual.equality:
            starts, group_starts = _chunks(ends)
            f = f.astype(self._step_type(K, f, tol), copy=False)
            shifts, extremes = np.empty((3, len(b)), f.dtype), np.empty((2, len(starts) - 1), f.dtype)
            status = pair_steps(K, low, high, ridge, b, f, *shifts, starts, group_starts, *extremes, *rest)
        else:
            status = single_steps(K, low, high, ridge, b, f, *rest)
        self.steps += int(counters[STEPS])
        self.indefinite = self.indefinite or bool(counters[INDEFINITE])
        return int(status)

    def _step_type(self, K: Matrix, f: Doubles, tol: float) -> np.dtype[Any]:
        """The type in which steps follow the residuals; those of all multipliers are brought up to date in float64."""
        narrow = K.dtype == np.float32 and NARROW_STEPS * float(np.abs(f).max()) < tol
        return np.dtype(np.float32 if narrow else np.float64)

    def _diverges(self) -> bool:
        """Do the convex hulls that b puts weights on touch? Their distance is twice the margin, at least."""
        if not self.dual.may_diverge:
            return False
        total = float(np.abs(self.b).sum())
        return 4.0 * float(self.b @ (self.dual.t - self.f)) < MIN_SQUARED_MARGIN * self.solver.entry * total**2

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
        self.b, self.f = polish_multipliers(self.dual, self.solver.rows, self.b, self.f)

    def solution(self, reason: str) -> DualSolution:
        """What was found."""
        offsets, about = self.dual.assessment(self.b, self.f)
        value, gap, violation, norm = about.tolist()
        made = (self.solver.cache.made if self.solver.G is None else 0) - self.made_before
        return DualSolution(
            self.b, self.f, offsets, value, gap, violation, self.steps, made, reason, norm, self.indefinite
        )


class _WholeDescent(_Descent):
    """The descent of a small problem, all rows of whose Gram matrix are made at the start."""

    def run(self, tol: float, steps: int = NO_STEP_LIMIT) -> str:
        dual, end, G = self.dual, min(self.steps + steps, self.limit), self.solver.G
        parts = self.b, self.f, dual.low, dual.high, self.ridge
        while G is not None:
            limit = min(end - self.steps, MONITOR_STEPS) if dual.may_diverge else end - self.steps
            status = self._take_steps(G, parts, dual.group_ends, tol, limit)
            if status == CONVERGED or self.steps >= end:
                return "max_iter" if status != CONVERGED and self.steps >= self.limit else "converged"
            if self._diverges():
                break
        return "unbounded"


def _chunks(ends: Indices) -> tuple[Indices, Indices]:
    """Where chunks of columns start, none of which crosses from one group to the next, and groups of chunks."""
    starts, group_starts, at = [0], [0], 0
    for end in ends.tolist():
        starts += [*range(at + CHUNK_COLUMNS, end, CHUNK_COLUMNS), end] if end > at else []
        group_starts.append(len(starts) - 1)
        at = end
    return np.array(starts), np.array(group_starts)
