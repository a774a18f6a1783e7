"""The dual problem of kernel machines: a quadratic over a box, with sums that are given.

    min over b of   1/2 b'(G + R) b - t'b + tube |b|_1      low <= b <= high,  sums over groups as at the start

G is the Gram matrix and R a diagonal. Signs are part of b, so the family of support vector machines is a table:

    machine            t           low, high              tube   R      groups        start
    SVC                y           0, C w or -C w, 0      0      0      one           0
    two-norm SVC       y           the same, infinite     0      1/(C w) one          0
    SVR                targets     -C w, C w              eps    0      one           0
    one-class          0           0, w                   0      0      one           the first nu of the weight at w
    SVDD               k(x, x)/2   0, w/(nu n)            0      0      one           the same, scaled
    nu-SVC             0           as SVC, C = 1          0      0      one per class each class at nu/2 of the weight
    nu-SVR, 2n terms   targets     0, C w and -C w, 0     0      0      one per sign  each sign at nu/2 of the weight
    ranking            1           0, C                   0      0      none          0

With the residual f = t - (G + R) b the slope to the right of b_i is u_i = f_i - tube or f_i + tube, by the side of zero
it starts from, and l_i likewise to the left. At the minimum a number c per group, the offset of the machine, separates
them: u_i <= c for every b_i that may rise, and c <= l_i for every one that may fall. For any c

    gap = sum over i of   max over b in the box of ((f_i - c) b - tube |b|)   -   ((f_i - c) b_i - tube |b_i|)

is at least the distance of b from the minimum: the difference of the primal and the dual value. Where there is no upper
bound the maximum is over the squared loss of R instead.

Cortes & Vapnik (1995); Schoelkopf, Smola, Williamson & Bartlett (2000); Tax & Duin (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from fivefold.core.types import Array, Doubles, Indices, Mask
from fivefold.optim.dual.smo_loops import GAP, NO_BOUND, VIOLATION, assess, find_slopes

EVERY = slice(None)


@dataclass(frozen=True)
class KernelDual:
    """The problem without its Gram matrix."""

    t: Doubles
    low: Doubles
    high: Doubles
    tube_width: float = 0.0
    ridge: Doubles | None = None
    group_sizes: tuple[int, ...] = ()  # multipliers of a group stand side by side; () is one group
    equality: bool = True  # False: the sums are free
    start: Doubles | None = None

    @property
    def n(self) -> int:
        return len(self.t)

    @cached_property
    def group_slices(self) -> list[slice]:
        """The multipliers of each group."""
        sizes = self.group_sizes or (self.n,)
        return [slice(end - size, end) for end, size in zip(accumulate(sizes), sizes, strict=True)]

    @cached_property
    def group_ends(self) -> Indices:
        """Where the groups end."""
        return np.array([g.stop for g in self.group_slices])

    @cached_property
    def diagonal_shift(self) -> Doubles:
        """R."""
        return np.zeros(self.n) if self.ridge is None else self.ridge

    @cached_property
    def may_diverge(self) -> bool:
        """Can the objective fall without end?"""
        return self.ridge is None and not self._is_bounded

    def without(self, out: Mask) -> KernelDual:
        """The problem in which the multipliers `out` are held at zero."""
        made = object.__new__(KernelDual)  # a copy with what was derived from it, which stays true
        made.__dict__.update(self.__dict__, low=np.where(out, 0.0, self.low), high=np.where(out, 0.0, self.high))
        return made

    def slopes(self, b: Doubles, f: Doubles) -> tuple[Doubles, Doubles]:
        """u and l; -inf and inf where a multiplier may not rise or fall."""
        u, down = np.empty(self.n), np.empty(self.n)
        find_slopes(b, f, self.low, self.high, float(self.tube_width), u, down)
        return u, down

    def is_free(self, b: Doubles, chosen: Indices | slice = EVERY) -> Mask:
        """Which multipliers, all or some, are inside the box, and not at the kink of the tube?"""
        b = b[chosen]
        inside: Mask = (b > self.low[chosen]) & (b < self.high[chosen])
        return inside & (b != 0) if self.tube_width > 0 else inside

    def offsets(self, b: Doubles, f: Doubles) -> Doubles:
        """c of each group: the mean slope of its free multipliers, or the middle of where it may be."""
        u, down = self.slopes(b, f)
        free = self.is_free(b)
        return np.array([_offset(u[g], down[g], free[g]) if self.equality else 0.0 for g in self.group_slices])

    def violation(self, b: Doubles, f: Doubles) -> float:
        """The largest u_i - l_j within a group; without equality the largest slope that could be followed."""
        return float(self.assessment(b, f)[1][VIOLATION])

    def assessment(self, b: Doubles, f: Doubles) -> tuple[Doubles, Doubles]:
        """The offsets, and value, gap, violation and b'Gb, in one pass."""
        offsets, out = np.empty(len(self.group_ends)), np.empty(4)
        assess(
            self.t, self.low, self.high, self.diagonal_shift, b, f, self.group_ends, self.equality,
            float(self.tube_width), offsets, out,
        )  # fmt: skip
        if not self._is_bounded:
            out[GAP] = self.gap(b, f, offsets)
        return offsets, out

    def value(self, b: Doubles, f: Doubles) -> float:
        """The objective."""
        return float(-0.5 * (b @ (self.t + f)) + self.tube_width * np.abs(b).sum())

    @cached_property
    def _is_bounded(self) -> bool:
        return float(self.high.max(initial=0.0)) < NO_BOUND and float(self.low.min(initial=0.0)) > -NO_BOUND

    def gap(self, b: Doubles, f: Doubles, offsets: Doubles) -> float:
        """The primal less the dual value: no less than the distance of b from the minimum, or infinite."""
        c: Doubles | float = offsets[0]
        if len(offsets) > 1:
            c = np.repeat(offsets, self.group_sizes)
        r, e = f - c, self.tube_width
        here = r * b - e * np.abs(b)
        if self._is_bounded:
            reach = np.maximum(np.maximum(self.high * (r - e), self.low * (r + e)), 0.0)
            return float(reach.sum() - here.sum())
        if self.ridge is None:
            return float("inf")
        bounded = np.maximum(self.high, -self.low) < NO_BOUND
        reach = np.where(bounded, np.maximum(self.high * (r - e), self.low * (r + e)).clip(min=0.0), 0.0)
        loose = r + self.ridge * b  # the residual without R
        side = np.where(self.high > 0, loose, -loose)
        ridge = np.where(bounded, 1.0, self.ridge)
        squared = 0.5 * (side.clip(min=0.0) - ridge * np.abs(b)) ** 2 / ridge + (-side).clip(min=0.0) * np.abs(b)
        return float(np.where(bounded, reach - here, squared).sum())


@dataclass(frozen=True)
class OptimalityReport:
    """How far multipliers are from the optimality conditions of Karush, Kuhn and Tucker."""

    violation: float  # the largest u_i - l_j
    worst_pair: tuple[int, int]  # which rise and fall would lower the objective fastest
    out_of_box: float  # the largest distance of a multiplier from its bounds
    sum_error: tuple[float, ...]  # of each group
    n_free: int
    n_bounded: int  # at a bound other than zero
    n_zero: int
    gap: float
    value: float

    def __str__(self) -> str:
        return (
            f"violation {self.violation:.3g} (multipliers {self.worst_pair[0]} and {self.worst_pair[1]}), duality gap "
            f"{self.gap:.3g} of a value of {self.value:.6g}; {self.n_free} multipliers inside the box, "
            f"{self.n_bounded} at a bound, {self.n_zero} zero; the box is left by {self.out_of_box:.3g}, the sums by "
            f"{max(self.sum_error, default=0.0):.3g}"
        )


def check_optimality(dual: KernelDual, b: Doubles, f: Doubles) -> OptimalityReport:
    """The conditions of the minimum at multipliers b with residuals f, one by one."""
    u, down = dual.slopes(b, f)
    worst = max(dual.group_slices, key=lambda g: float(u[g].max() - down[g].min()))
    pair = (worst.start + int(u[worst].argmax()), worst.start + int(down[worst].argmin()))
    start = np.zeros(dual.n) if dual.start is None else dual.start
    sums = tuple(abs(float(b[g].sum() - start[g].sum())) for g in dual.group_slices) if dual.equality else ()
    free = dual.is_free(b)
    return OptimalityReport(
        violation=dual.violation(b, f),
        worst_pair=pair,
        out_of_box=float(np.maximum(dual.low - b, b - dual.high).max(initial=0.0)),
        sum_error=sums,
        n_free=int(free.sum()),
        n_bounded=int((~free & (b != 0)).sum()),
        n_zero=int((b == 0).sum()),
        gap=dual.gap(b, f, dual.offsets(b, f)),
        value=dual.value(b, f),
    )


@dataclass(frozen=True)
class DualSolution:
    """Multipliers at the minimum, and how sure that is."""

    b: Doubles
    f: Doubles
    offsets: Doubles  # of each group
    value: float
    gap: float
    violation: float
    steps: int
    rows_made: int
    reason: str  # "converged", "max_iter", "interrupted", "stopped", "unbounded"
    squared_norm: float = 0.0  # b'Gb
    indefinite: bool = False  # was a curvature below zero met?


def _offset(u: Array, down: Array, free: Mask) -> float:
    if free.any():
        return float(u[free].mean())
    top, bottom = float(u.max()), float(down.min())
    if np.isinf(top) or np.isinf(bottom):  # every multiplier is at the same side of its box
        return bottom if np.isinf(top) else top
    return 0.5 * (top + bottom)
