"""Risks that are linear on either side of a kink, minimised exactly by the Frisch-Newton interior point method.

    F(x) = sum_i max(low_i r_i, high_i r_i) + sum_j l1_j |x_j| + 1/2 sum_j ridge_j x_j^2,    r = y - Zx

low < 0 < high are the slopes of row i: (q - 1) s and q s for the quantile q. Splitting r = u - v, with one dual
variable a per row, the minimum is where

    Z'a + e = ridge x,    low <= a <= high,    (high - a) u = 0,    (a - low) v = 0,

e being the duals of the L1 terms, which are treated as additional rows with target zero. The method holds both products
at mu > 0 and lets mu fall: Newton's step is a weighted least squares problem with weights
1 / (u / (high - a) + v / (a - low)), predicted with mu = 0 first (Mehrotra, 1992). With fewer rows than coefficients
its normal equations are solved through a matrix of rows by rows. When the gap is small the rows on the kink can be
identified; solving for them alone gives the minimum to rounding, and its duals prove it.

Portnoy & Koenker (1997), after Frisch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.optimize import lsq_linear

from fivefold.core.types import Array, Indices
from fivefold.optim.design import Design
from fivefold.optim.dual.interior_point import MIN_SLACK_SHARE, longest_step
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import Objective
from fivefold.optim.smooth.newton import inverse_solver

STEP_TO_BOUNDARY = 0.9995  # share of the way to the nearest bound that a step goes
POLISH_GAP = 1e-5  # duality gap, as a share of the value, below which the rows on the kink can be identified
MAX_STALLED_STEPS = 6  # steps in a row without a smaller gap, after which the rest is rounding
VALUE_ROUNDING = 1e-14  # as a share of the value at the start: a smaller difference is rounding
SLOPE_ROUNDING = 1e-12  # as a share of the slopes of all rows: a smaller subgradient is rounding
ZERO_RESIDUAL = 1e-9  # as a share of target and prediction: a smaller residual counts as zero


@dataclass(frozen=True)
class PiecewiseLinearRisk(Objective):
    """F of the module's text; `l1` and `ridge` have one number per coefficient."""

    design: Design
    y: Array
    low: Array  # (n,), negative
    high: Array  # (n,), positive
    l1: Array  # (size,)
    ridge: Array  # (size,)

    def value(self, x: Array) -> float:
        r = self.residual(x)
        return float(np.maximum(self.low * r, self.high * r).sum() + self.l1 @ np.abs(x) + 0.5 * self.ridge @ x**2)

    def violation(self, x: Array) -> float:
        """Size of the smallest subgradient: on a kink any slope between the two sides may be taken."""
        r = self.residual(x)
        kink = np.abs(r) <= ZERO_RESIDUAL * (np.abs(self.y) + np.abs(self.y - r))
        zero = (np.abs(x) <= ZERO_RESIDUAL * float(np.abs(x).max(initial=0.0))) & (self.l1 > 0)
        g = self.ridge * x + np.where(zero, 0.0, self.l1 * np.sign(x))
        g -= self.design.transpose(np.where(kink, 0.0, np.where(r > 0, self.high, self.low)))
        Z = self.design.rows(np.flatnonzero(kink))
        slopes = np.linalg.lstsq(Z[:, ~zero].T, g[~zero])[0] if kink.any() and not zero.all() else np.zeros(len(Z))
        left = g - np.clip(slopes, self.low[kink], self.high[kink]) @ Z
        left[zero] -= np.clip(left[zero], -self.l1[zero], self.l1[zero])
        most = float(np.abs(left).max(initial=0.0))
        if most <= SLOPE_ROUNDING * float((self.high - self.low).sum()) or not (kink.any() or zero.any()):
            return most  # usually the slopes that make the other coefficients' zero are unique, and within their bounds
        A = np.column_stack([Z.T, np.eye(len(x))[:, zero]])
        bounds = np.append(self.low[kink], -self.l1[zero]), np.append(self.high[kink], self.l1[zero])
        # exact, in as many steps as there are free slopes
        found = lsq_linear(A, g, bounds, method="bvls" if A.shape[1] <= 4 * len(x) else "trf")
        return float(np.abs(found.fun).max(initial=0.0))

    def residual(self, x: Array) -> Array:
        """y - Zx."""
        return self.y - self.design.predictor(x)


class PrimalDualIterate(NamedTuple):
    """A point strictly inside the bounds; the L1 terms are rows n, n + 1, ... of a, u and v."""

    x: Array
    a: Array
    u: Array
    v: Array


@dataclass(frozen=True)
class FrischNewton(Solver):
    """A step is one predicted and corrected Newton step; near the end it also tries the exact minimum."""

    accepts = (PiecewiseLinearRisk,)

    def start(self, objective: PiecewiseLinearRisk, x0: Array) -> State:
        box = _PrimalDualProblem.of(objective)
        r = box.residual(x0)
        margin = float((box.high - box.low) @ np.abs(r)) / box.width or 1.0
        inside = PrimalDualIterate(x0, np.zeros(len(r)), np.maximum(r, 0) + margin, np.maximum(-r, 0) + margin)
        value = objective.value(x0)
        return State(x0, value, np.inf, (box, inside, np.inf, 0, value))

    def step(self, objective: PiecewiseLinearRisk, state: State) -> State:
        box, inside, least, idle, first = state.memory
        inside = box.newton_step(inside)
        gap = box.gap(inside)
        idle = 0 if gap < least else idle + 1
        if idle == MAX_STALLED_STEPS:
            raise NoDescentError
        x, value, violation = inside.x, objective.value(inside.x), gap
        if gap <= POLISH_GAP * max(value, POLISH_GAP * first):
            corner = box.exact_minimum(inside)
            if corner is not None and (exact := objective.value(corner)) <= value + VALUE_ROUNDING * first:
                proven = objective.violation(corner) <= ZERO_RESIDUAL * box.width
                x, value, violation = corner, exact, 0.0 if proven else gap
        return State(x, value, violation, (box, inside, min(gap, least), idle, first))


@dataclass(frozen=True)
class _PrimalDualProblem:
    """Rows and L1 terms together: targets y and bounds low and high, whose distance is the weight of a row."""

    objective: PiecewiseLinearRisk
    y: Array
    low: Array
    high: Array
    l1_rows: Indices  # the coefficients with an L1 penalty

    @classmethod
    def of(cls, objective: PiecewiseLinearRisk) -> _PrimalDualProblem:
        l1_rows = np.flatnonzero(objective.l1 > 0)
        strength, zero = objective.l1[l1_rows], np.zeros(len(l1_rows))
        ends = np.append(objective.low, -strength), np.append(objective.high, strength)
        return cls(objective, np.append(objective.y, zero), *ends, l1_rows)

    @property
    def width(self) -> float:
        return float((self.high - self.low).sum())

    def residual(self, x: Array) -> Array:
        return np.append(self.objective.residual(x), -x[self.l1_rows])

    def transpose(self, a: Array) -> Array:
        n = len(self.objective.y)
        out = self.objective.design.transpose(a[:n])
        out[self.l1_rows] += a[n:]
        return out

    def design_product(self, x: Array) -> Array:
        return np.append(self.objective.design.predictor(x), x[self.l1_rows])

    def slacks(self, at: PrimalDualIterate) -> tuple[Array, Array]:
        """Distances to the upper and to the lower bounds; where rounding leaves none, what rounding can hide."""
        least = MIN_SLACK_SHARE * (self.high - self.low)
        return np.maximum(self.high - at.a, least), np.maximum(at.a - self.low, least)

    def gap(self, at: PrimalDualIterate) -> float:
        """The duality gap, at a dual point that satisfies its equation."""
        return float((self.high - at.a) @ at.u + (at.a - self.low) @ at.v)

    def newton_step(self, at: PrimalDualIterate) -> PrimalDualIterate:
        ridge = self.objective.ridge
        (s, t), weight = self.slacks(at), self.high - self.low
        D = 1.0 / (at.u / s + at.v / t)
        solve = self._direction_solver(D)
        r, off = self.residual(at.x), self.transpose(at.a) - ridge * at.x

        def move(up: float | Array, down: float | Array) -> tuple[Array, Array, Array, Array]:
            dx, da = solve(r - up / s + down / t, off)
            return dx, da, (up - at.u * s + at.u * da) / s, (down - at.v * t - at.v * da) / t

        _, da, du, dv = move(0.0, 0.0)
        length = _damped(longest_step((s, -da), (t, da), (at.u, du), (at.v, dv)))
        now = self.gap(at)
        then = float((s - length * da) @ (at.u + length * du) + (t + length * da) @ (at.v + length * dv))
        mu = (max(then, 0.0) / now) ** 2 * then / (2 * weight.sum()) * weight
        dx, da, du, dv = move(mu + da * du, mu - da * dv)
        inner, outer = _damped(longest_step((s, -da), (t, da))), _damped(longest_step((at.u, du), (at.v, dv)))
        if ridge.any():  # x is in both equations: one length for both
            inner = outer = min(inner, outer)
        return PrimalDualIterate(at.x + outer * dx, at.a + inner * da, at.u + outer * du, at.v + outer * dv)

    def _direction_solver(self, D: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
        """(c, off) -> dx, da with Z'da + off = ridge dx and da = D (c - Z dx), the L1 terms among the rows of Z."""
        n, Z = len(self.objective.y), self._wide_rows
        own = self.objective.ridge.copy()  # weights that concern one coefficient alone
        own[self.l1_rows] += D[n:]
        if Z is not None:
            return self._wide_solver(Z, D, own)
        H = self.objective.design.gram(D[:n])
        H[np.diag_indices_from(H)] += own
        inverse = inverse_solver(H)

        def solve(c: Array, off: Array) -> tuple[Array, Array]:
            dx = inverse(self.transpose(D * c) + off)
            return dx, D * (c - self.design_product(dx))

        return solve

    def _wide_solver(self, Z: Array, D: Array, own: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
        """The same through the duals of the n rows: (1/D + Z own^-1 Z') da = c - Z own^-1 off."""
        n, some, flat = len(Z), np.flatnonzero(own > 0), np.flatnonzero(own == 0)
        A, U = Z[:, some], Z[:, flat]
        scaled = A / np.sqrt(own[some])
        S = scaled @ scaled.T
        S.reshape(-1)[:: n + 1] += 1.0 / D[:n]
        inverse = inverse_solver(S)
        SU = np.array([inverse(column) for column in U.T]).reshape(len(flat), n).T

        def solve(c: Array, off: Array) -> tuple[Array, Array]:
            dx, off = np.zeros(len(off)), off.copy()
            off[self.l1_rows] += D[n:] * c[n:]
            da = inverse(c[:n] - A @ (off[some] / own[some]))
            if len(flat):  # coefficients without a penalty: U'da + off = 0
                dx[flat] = np.linalg.solve(U.T @ SU, U.T @ da + off[flat])
                da = da - SU @ dx[flat]
            dx[some] = (off[some] + da @ A) / own[some]
            return dx, np.append(da, D[n:] * (c[n:] - dx[self.l1_rows]))

        return solve

    @cached_property
    def _wide_rows(self) -> Array | None:
        """The rows of a dense table with fewer of them than penalised coefficients."""
        objective = self.objective
        penalised = np.count_nonzero((objective.l1 > 0) | (objective.ridge > 0))
        wide = len(objective.y) < penalised and not objective.design.sparse
        return objective.design.rows(slice(None)) if wide else None

    def exact_minimum(self, at: PrimalDualIterate) -> Array | None:
        """The minimum if the rows that seem to be on the kink are, and those alone."""
        objective, p = self.objective, len(at.x)
        if not objective.ridge.any():
            return self._corner(at) if self._wide_rows is None else self._corner_of_few(at)
        inner = np.minimum(self.high - at.a, at.a - self.low) / (self.high - self.low)
        on = np.flatnonzero(np.maximum(at.u, at.v) / max(float(np.abs(self.y).max()), 1e-300) < inner)
        if len(on) > p:
            return None
        a = np.where(at.u > at.v, self.high, self.low)
        a[on] = 0.0
        A = self._rows(on)
        K = np.block([[np.diag(objective.ridge), -A.T], [A, np.zeros((len(on), len(on)))]])
        found = _scaled_solution(K, np.append(self.transpose(a), self.y[on]))
        return None if found is None else found[:p]

    def _corner_of_few(self, at: PrimalDualIterate) -> Array:
        """The corner among as many coefficients as there are rows, those least like zero; the others are zero."""
        objective, n, d = self.objective, len(self.objective.y), self.objective.design.X.shape[1]
        loosest = np.argsort(-self._looseness(at)[n:], kind="stable")[:n]
        kept = np.sort(np.append(np.flatnonzero(objective.l1 == 0), self.l1_rows[loosest]))
        design = objective.design.columns(kept[kept < d])
        part = replace(objective, design=design, l1=objective.l1[kept], ridge=objective.ridge[kept])
        rows = np.append(np.arange(n), n + np.sort(loosest))
        x = np.zeros(len(at.x))
        x[kept] = _PrimalDualProblem.of(part)._corner(PrimalDualIterate(at.x[kept], at.a[rows], at.u[rows], at.v[rows]))
        return x

    def _looseness(self, at: PrimalDualIterate) -> Array:
        """How freely each row leaves its kink, per unit of its weight."""
        s, t = self.slacks(at)
        return np.maximum((self.high - self.low) * (at.u / s + at.v / t), np.finfo(np.float64).tiny)

    def _corner(self, at: PrimalDualIterate) -> Array:
        """The point that fits as many rows as there are directions; the shortest one where columns are dependent."""
        stiff, p = 1.0 / self._looseness(at), len(at.x)
        some = np.argsort(-stiff, kind="stable")[: 4 * p + 8]
        A = self._rows(some)
        rank = int(np.linalg.matrix_rank(A / np.maximum(np.abs(A).max(axis=0), np.finfo(np.float64).tiny)))
        order = qr((np.sqrt(stiff[some] / stiff[some[0]])[:, None] * A).T, mode="r", pivoting=True)[1]
        basis = some[order[:rank]]
        found = _scaled_solution(self._rows(basis), self.y[basis]) if rank == p else None
        return np.linalg.lstsq(self._rows(basis), self.y[basis])[0] if found is None else found

    def _rows(self, which: Indices) -> Array:
        n, p = len(self.objective.y), self.objective.design.size
        out = np.zeros((len(which), p))
        data = which < n
        out[data] = self.objective.design.rows(which[data])
        out[~data, self.l1_rows[which[~data] - n]] = 1.0
        return out


def _damped(longest: float) -> float:
    """The share of a step to take, where the longest share that stays inside is given."""
    return min(1.0, STEP_TO_BOUNDARY * longest)


def _scaled_solution(A: Array, b: Array) -> Array | None:
    """A^-1 b after scaling rows and columns to unit size, or None where A is singular."""
    if A.shape[0] != A.shape[1] or not len(A):
        return None
    row = np.maximum(np.abs(A).max(axis=1), np.finfo(np.float64).tiny)
    column = np.maximum(np.abs(A / row[:, None]).max(axis=0), np.finfo(np.float64).tiny)
    try:
        x = np.linalg.solve(A / row[:, None] / column, b / row) / column
    except np.linalg.LinAlgError:
        return None
    return x if np.isfinite(x).all() else None
