"""Sequential minimal optimisation with second-order pairs, shrinking, and rows of the Gram matrix made when wanted.

Each step takes the multiplier with the largest slope upwards and the partner with which the objective falls most, and
moves both to the minimum along their line. Multipliers at a bound that no pair wants any more are set aside, and their
columns with them; at the end the residuals of those are computed, and the work goes on with all if one of them was set
aside too early. Where the rows are all at hand in float64, the linear system of the multipliers inside the box gives
the last digits (`dual_polish`).

Platt (1998); Fan, Chen & Lin (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from fivefold.core.compilation.jit import CompiledLoop
from fivefold.core.types import Doubles, Indices
from fivefold.kernels.row_cache import MatrixRows, RowCache, RowSource
from fivefold.optim.dual.dual_polish import polish_multipliers
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo_loops import (
    CHUNK_COLUMNS,
    CONVERGED,
    INDEFINITE,
    ROWS_MISSING,
    STEPS,
    WANTED,
    CachedRows,
    Chunks,
    Multipliers,
    assess,
    find_extremes,
    pair_steps,
    set_all_shifts,
    single_steps,
    whole_steps,
)

BATCH_ROWS = 8  # rows made at a time, on all threads
WHOLE_MATRIX_ROWS = 500  # up to this many, all rows are made at the start
EXACT_ROWS = 2000  # up to this many, rows are float64 and the multipliers are polished
NARROW_TOLERANCE = 1e-4  # smaller tolerances need rows in float64: float32 leaves the objective six digits
SHRINK_STEPS = 1000  # steps between two attempts to set multipliers aside
SHRINK_SHARE = 0.9  # columns are dropped if at most this share stays
MIN_CURVATURE = {8: 1e-12, 4: 1e-7}  # along a pair, as a share of the largest entry, by the bytes of an entry
ROUNDING = {8: 1e-12, 4: 1e-6}  # the least tolerance, as a share of the largest target, by the bytes of an entry
MIN_SQUARED_MARGIN = 1e-10  # as a share of the largest entry: below it the classes count as not separable
NO_STEP_LIMIT = 1 << 62
MAX_STEPS, MAX_STEPS_PER_ROW = 3_000_000, 1000  # without a limit of the caller: columns of unlike scale never converge
MONITOR_STEPS = 10_000  # steps between two reports
MAX_TIGHTENINGS = 8  # of the tolerance by ten, until the duality gap is small enough
MIN_TIGHTENING_STEPS = 1000  # a tightening takes at most as many steps as the descent took before, and this many

_FORMS: dict[tuple[str, int], Callable[..., int]] = {}

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
    shrinking: bool = True,
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
    whole = source.n <= WHOLE_MATRIX_ROWS
    descent = (_WholeDescent if whole else _Descent)(dual, source, cache_bytes, max_iter, monitor)
    descent.begin(b, residuals)
    reason = descent.run(tol, shrinking and not whole)
    if polish and reason == "converged" and source.dtype == np.float64:
        descent.polish()
    found = descent.solution(reason)
    for _ in range(MAX_TIGHTENINGS if reason == "converged" else 0):
        if not found.gap > given * (abs(found.value) + found.gap + given * float(np.abs(found.b).sum())):
            break
        before = descent.steps
        tol = max(0.1 * tol, least)
        reason = descent.run(tol, shrinking=False, steps=before + MIN_TIGHTENING_STEPS)
        if descent.steps == before:
            break
        found = descent.solution(reason)
    return found


class _Descent:
    """The state of a descent: the columns that are worked on, and the rows at hand."""

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
        self.least = source.dtype.type((entry or 1.0) * MIN_CURVATURE[source.dtype.itemsize])

    def begin(self, b: Doubles, residuals: Doubles | None) -> None:
        """Start at b with all columns."""
        self.b = b
        if residuals is not None:
            self.f = np.array(residuals)
        else:
            self.f = self.dual.t - self.ridge * b
            used = np.flatnonzero(b)
            if len(used):
                self.f -= self.source.weighted_sums(np.arange(self.dual.n), used, b[used])
        self.cache = RowCache(self.source, self.budget, 4 * BATCH_ROWS)
        self._take_columns(np.arange(self.dual.n), self.b, self.f)

    def _take_columns(self, active: Indices, b: Doubles, f: Doubles) -> None:
        """Work on these columns, for which the cache is ready."""
        dual, kind = self.dual, self.cache.Q.dtype
        diagonal = (self.diagonal + self.ridge)[active].astype(kind)
        self.active = active
        self.m = Multipliers(
            b, f, dual.low[active], dual.high[active], self.ridge[active], diagonal,
            np.empty(len(active), kind), np.empty(len(active), kind),
        )  # fmt: skip
        self.chunks = _chunks(active, dual.group_slices)
        set_all_shifts(b, self.m.low, self.m.high, dual.tube_width, self.m.rise, self.m.fall)

    def run(self, tol: float, shrinking: bool, steps: int = NO_STEP_LIMIT) -> str:
        """At most `steps` steps, until all columns satisfy the conditions to `tol`; returns why it ended."""
        end = self.steps + steps
        wait = min(SHRINK_STEPS, self.dual.n)
        while True:
            reason = self._run_columns(tol, min(end, self.steps + (wait if shrinking else MONITOR_STEPS)))
            if reason == "paused":
                if shrinking:
                    wait = wait if self._shrink() else 2 * wait
                reason = "converged" if self.steps >= end else self._report()
                self._write_back()
                if self._diverges():
                    reason = "unbounded"
                if reason == "paused":
                    continue
            self._write_back()
            if len(self.active) == self.dual.n:
                return reason
            self._restore_columns()
            if reason != "converged":
                return reason
            if self.dual.violation(self.b, self.f) < tol:
                return reason
            shrinking = False

    def _run_columns(self, tol: float, pause: int) -> str:
        """Steps on the columns at hand."""
        loop = pair_steps if self.dual.equality else single_steps
        m, chunks, cache = self.m, self.chunks, self.cache
        counters = np.array([self.steps, 0, 0])
        wanted = np.empty(min(BATCH_ROWS, cache.capacity // 2 + 1), dtype=np.int64)
        find_extremes(m.f, m.rise, m.fall, chunks.starts, chunks.tops, chunks.bottoms)
        args = [m, CachedRows(cache.Q, cache.slot_of, cache.last_use), chunks, wanted, counters, self.dual.tube_width]
        args += [self.least, float(tol), min(pause, self.limit)]
        steps = _compiled_form(loop, cache.Q.dtype.itemsize, args)
        while (status := steps(*args)) == ROWS_MISSING:
            cache.fetch(wanted[: counters[WANTED]].copy(), int(counters[STEPS]))
        self.steps, self.rows_made = int(counters[STEPS]), self.rows_made + cache.made
        cache.made, self.indefinite = 0, self.indefinite or bool(counters[INDEFINITE])
        if status == CONVERGED:
            return "converged"
        return "max_iter" if self.steps >= self.limit else "paused"

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

    def _shrink(self) -> bool:
        """Set aside the multipliers that no violating pair can contain; False if too few are."""
        m = self.m
        u, down = m.f + m.rise, m.f + m.fall
        keep = np.empty(len(m.b), dtype=bool)
        for first, last in pairwise(self.chunks.starts[self.chunks.group_starts]):
            g = slice(first, last)
            keep[g] = (u[g] >= down[g].min()) | (down[g] <= u[g].max())
        kept = np.flatnonzero(keep)
        if len(kept) > SHRINK_SHARE * len(m.b):
            return False
        self._write_back()
        self.cache.restrict(kept)
        self._take_columns(self.active[kept], m.b[kept], m.f[kept])
        return True

    def _write_back(self) -> None:
        if self.m.b is not self.b:
            self.b[self.active], self.f[self.active] = self.m.b, self.m.f

    def _restore_columns(self) -> None:
        """Residuals of the columns set aside, and all columns again, with an empty cache."""
        aside = np.ones(self.dual.n, dtype=bool)
        aside[self.active] = False
        rest, used = np.flatnonzero(aside), np.flatnonzero(self.b)
        sums = self.source.weighted_sums(rest, used, self.b[used])
        self.f[rest] = self.dual.t[rest] - self.ridge[rest] * self.b[rest] - sums
        self.cache = RowCache(self.source, self.budget, 4 * BATCH_ROWS)
        self._take_columns(np.arange(self.dual.n), self.b, self.f)

    def polish(self) -> None:
        """The last digits of the multipliers, where the rows of those inside the box are at hand."""
        free = np.flatnonzero(self.dual.is_free(self.b))
        cache = self.cache
        missing = free[cache.slot_of[free] < 0]
        if len(missing):
            if cache.capacity < len(free):
                return
            cache.fetch(missing, self.steps)
        if (cache.slot_of[free] < 0).any():
            return

        def rows(wanted: Indices) -> Doubles:
            absent = wanted[cache.slot_of[wanted] < 0]
            if len(absent):
                cache.fetch(absent, self.steps)
            return cache.Q[cache.slot_of[wanted]]

        b, f = polish_multipliers(self.dual, rows, self.b, self.f, self.ridge)
        self.b[:], self.f[:] = b, f
        set_all_shifts(b, self.m.low, self.m.high, self.dual.tube_width, self.m.rise, self.m.fall)

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
        n, dual = self.dual.n, self.dual
        if isinstance(self.source, MatrixRows):
            self.G = np.ascontiguousarray(self.source.G, dtype=np.float64)
        else:
            self.G = np.empty((n, n))
            self.source.fill(np.arange(n), np.arange(n), self.G)
            self.rows_made = n
        self.b = b
        if residuals is not None:
            self.f = np.array(residuals)
        else:
            self.f = dual.t - self.ridge * b - (self.G @ b if b.any() else 0.0)

    def run(self, tol: float, shrinking: bool, steps: int = NO_STEP_LIMIT) -> str:
        dual, end = self.dual, min(self.steps + steps, self.limit)
        while True:
            limit = min(end - self.steps, MONITOR_STEPS) if dual.may_diverge else end - self.steps
            status = self._whole_steps(tol, limit)
            if status == CONVERGED or self.steps >= end:
                return "max_iter" if status != CONVERGED and self.steps >= self.limit else "converged"
            if self._diverges():
                return "unbounded"

    def _whole_steps(self, tol: float, limit: int) -> int:
        dual = self.dual
        status, taken, indefinite = whole_steps(
            self.G, dual.low, dual.high, self.ridge, self.b, self.f, dual.group_ends, dual.equality,
            float(dual.tube_width), self.least, float(tol), limit,
        )  # fmt: skip
        self.steps, self.indefinite = self.steps + int(taken), self.indefinite or bool(indefinite)
        return int(status)

    def polish(self) -> None:
        b, f = polish_multipliers(self.dual, lambda wanted: self.G[wanted], self.b, self.f, self.ridge)
        self.b[:], self.f[:] = b, f


def _compiled_form(loop: CompiledLoop, itemsize: int, args: list[Any]) -> Callable[..., int]:
    """The form of a loop for rows of this type; to find it by the types of the arguments takes long."""
    key = loop.__name__, itemsize
    if key not in _FORMS:
        _FORMS[key] = loop.for_types_of(*args)
    return _FORMS[key]


def _chunks(active: Indices, groups: list[slice]) -> Chunks:
    """Chunks of the columns that are worked on; none crosses from one group to the next."""
    ends = np.searchsorted(active, [g.stop for g in groups])
    starts, group_starts, at = [0], [0], 0
    for end in ends:
        starts += [*range(at + CHUNK_COLUMNS, int(end), CHUNK_COLUMNS), int(end)]
        group_starts.append(len(starts) - 1)
        at = int(end)
    count = len(starts) - 1
    return Chunks(np.array(starts), np.array(group_starts), np.empty(count), np.empty(count), np.empty(count))
