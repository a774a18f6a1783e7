"""Coordinate descent for least squares with an elastic-net penalty, exact where it stops.

    F(x) = 1/2 |y - Zx|^2 + l1 sum_j |x_j| + l2/2 sum_j |x_j|^2

x_j is a number, not negative if `positive`, or a row of numbers, one per target. A step

    1. takes as working set W the coordinates that are not zero and those closest to leaving zero,
    2. minimises F over W from the Gram matrix of its columns: passes over the coordinates, each to its own minimum,
       then the minimum for the present signs, from one Cholesky factor: if no sign changes it is the minimum over W.
       If a few rounds of this do not converge, because the penalty is weak or columns are dependent, Newton steps on
       the dual do (semismooth_newton). A W too large for a Gram matrix is minimised through the residual, with passes
       extrapolated from the last five,
    3. computes the gradient of every column, and drops those that the duality gap proves to be zero at the minimum.

Where Z'Z is available W holds every column. The violation is the duality gap, an upper bound of F(x) less its minimum,
from the dual point that is a multiple of the residual.

Friedman, Hastie & Tibshirani (2010); Fercoq, Gramfort & Salmon (2015) for step 3; Bertrand & Massias (2021).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from fivefold.core.types import Array, Indices
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import Objective
from fivefold.optim.proximal.coordinate_descent_loops import group_passes
from fivefold.optim.proximal.quadratic_net import (
    DIAGONAL_SHIFT,
    FIRST_PASSES,
    MAX_ROUNDS,
    ROUNDING_GAIN,
    FactorQuadratic,
    GramQuadratic,
    Quadratic,
    largest_gain,
    row_lengths,
    solve_quadratic_net,
)
from fivefold.optim.proximal.semismooth_newton import gram_root, semismooth_newton

MAX_ROUNDS_LARGE = 100  # the same where Newton's system would be too large
MIN_L2 = 1e-100  # a smaller l2 is not divided by
MIN_WORKING_SET = 64  # columns of a working set, at least
MAX_GRAM_COLUMNS = 4096  # columns of a Gram matrix, at most
FACTOR_WIDTH = 2  # columns per row of a working set, from which its Gram matrix costs more than it saves
OPTIMALITY_ROUNDING = 1e-10  # as a share of the largest gradient from zero: a smaller violation is rounding
MAX_NEWTON_UNKNOWNS = 1500  # unknowns of Newton's system where each x_j is a row
MAX_FACE_NEWTON_STEPS = 12  # Newton steps over the rows that are not zero
SLOPE_SHARE = 0.5  # a Newton step over these rows must leave less than this share of the slope
EXTRAPOLATION_DEPTH = 5  # passes that an extrapolation combines


class ResidualPoint(NamedTuple):
    """x, the correlations Z'(y - Zx) of the columns with the residual, and |y - Zx|^2."""

    x: Array  # (d,) or (d, T)
    correlations: Array
    residual_square: float


class ColumnProducts(ABC):
    """Columns and target as coordinate descent sees them."""

    has_gram: bool  # is the whole of Z'Z stored?
    rows: int  # number of rows of Z; 0 where they are not stored
    target_square: float  # |y|^2
    norms: Array  # (d,), |z_j|^2

    q: Array  # Z'y
    last: ResidualPoint | None = None  # a path, and the loop of a solver, ask for the same point several times

    def at(self, x: Array, among: Indices | None = None) -> ResidualPoint:
        """The point x; with `among` possibly the correlations of these columns only, and zero elsewhere."""
        if self.last is not None and (self.last.x is x or np.array_equal(self.last.x, x)):
            return self.last
        point, complete = self.residual_point(x, among)
        if complete:
            self.last = point
        return point

    @abstractmethod
    def residual_point(self, x: Array, among: Indices | None) -> tuple[ResidualPoint, bool]:
        """The point x, and whether it has the correlations of every column."""

    @abstractmethod
    def gram_block(self, W: Indices) -> tuple[Array, Array]:
        """Z'Z among the columns W, and their Z'y."""

    def factor(self, W: Indices) -> FactorQuadratic | None:
        """The columns W themselves, where they are stored and each has one coefficient."""
        return None

    @abstractmethod
    def passes(
        self, x: Array, W: Indices, l1: float, l2: float, positive: bool, tolerance: float
    ) -> Callable[[], bool]:
        """A function that makes one pass over W through the residual, x in place; true if nothing was gained."""


@dataclass(frozen=True)
class ElasticNetObjective(Objective):
    """F of the module's text."""

    data: ColumnProducts
    l1: float
    l2: float = 0.0
    positive: bool = False

    def value(self, x: Array) -> float:
        return self.value_at(self.data.at(x))

    def violation(self, x: Array) -> float:
        return self.gap_at(self.data.at(x))

    def value_at(self, point: ResidualPoint) -> float:
        """F where the correlations are known."""
        return 0.5 * (point.residual_square + self.l2 * _dot(point.x, point.x)) + self.l1 * float(
            row_lengths(point.x).sum()
        )

    def gap_at(self, point: ResidualPoint) -> float:
        """The duality gap where the correlations are known: the smaller of two bounds.

        One scales the residual until no correlation exceeds l1; the other leaves it and pays for the excess, which
        needs l2 > 0. Without any penalty there is no bound, and the largest gain of one coordinate is returned instead.
        """
        x, pull, square = point
        if self.l1 == 0 and self.l2 == 0:
            gains = np.divide(row_lengths(pull) ** 2, self.data.norms, out=np.zeros(len(x)), where=self.data.norms > 0)
            return float(gains.max(initial=0.0))
        l1_part, l2_part, along = self.l1 * float(row_lengths(x).sum()), self.l2 * _dot(x, x), _dot(x, pull)
        c = self.dual_scale(point)
        gap = 0.5 * (1 - c) ** 2 * square + l1_part - c * along + 0.5 * (1 + c**2) * l2_part
        if self.l2 > MIN_L2:
            excess = np.maximum(self._sizes(pull) - self.l1, 0.0)
            gap = min(gap, l1_part + 0.5 * l2_part - along + _dot(excess, excess) / (2 * self.l2))
        return max(gap, 0.0)

    def dual_scale(self, point: ResidualPoint) -> float:
        """The multiple of the residual that is a dual point."""
        most = float(self.pulls(point).max(initial=0.0))
        return 1.0 if most <= self.l1 else self.l1 / most

    def pulls(self, point: ResidualPoint) -> Array:
        """How strongly each coordinate is pulled from zero; up to l1 it stays there."""
        return self._sizes(point.correlations - self.l2 * point.x)

    def unscreened(self, point: ResidualPoint, gap: float) -> Indices:
        """Coordinates that gap-safe screening cannot prove to be zero at the minimum."""
        reach = np.sqrt(2 * gap * (self.data.norms + self.l2))
        return np.flatnonzero(
            (self.dual_scale(point) * self.pulls(point) + reach >= self.l1) | (row_lengths(point.x) > 0)
        )

    def _sizes(self, v: Array) -> Array:
        return v if self.positive else row_lengths(v)


@dataclass(frozen=True)
class CoordinateDescent(Solver):
    """With `rng` a pass visits the coordinates in random order; `limit` bounds the Gram matrix of a working set."""

    rng: np.random.RandomState | None = None
    limit: int = MAX_GRAM_COLUMNS

    accepts = (ElasticNetObjective,)

    def start(self, objective: ElasticNetObjective, x0: Array) -> State:
        point = objective.data.at(x0)
        gap = objective.gap_at(point)
        return State(x0, objective.value_at(point), gap, (point, None, 0))

    def step(self, objective: ElasticNetObjective, state: State) -> State:
        point, alive, size = state.memory
        W, data = self._working_set(objective, point, alive, size), objective.data
        x = point.x.copy()
        factor = data.factor(W) if 0 < FACTOR_WIDTH * data.rows <= len(W) else None
        if factor is not None:
            x[W] = self._solve_number_net(factor, objective, x[W])
        elif data.has_gram or len(W) <= self.limit:
            G, q = data.gram_block(W)
            x[W] = self._solve(G, q, objective, x[W])
        else:
            x = self._by_residual(objective, x, W)
        new = data.at(x, alive)
        value, gap = objective.value_at(new), objective.gap_at(new)
        if np.array_equal(x, point.x) or (len(W) == len(x) and value >= state.value and gap >= state.violation):
            raise NoDescentError
        alive = None if data.has_gram else objective.unscreened(new, gap)
        return State(x, value, gap, (new, alive, len(W)))

    def _working_set(
        self, objective: ElasticNetObjective, point: ResidualPoint, alive: Indices | None, size: int
    ) -> Indices:
        d = len(point.x)
        if objective.data.has_gram:
            return np.arange(d)
        among = np.arange(d) if alive is None else alive
        on = row_lengths(point.x)[among] > 0
        # A nearly perfect fit uses almost as many columns as there are rows. If a working set was too small for it, one
        # that is only a little larger would be too small again.
        if 2 * on.sum() > objective.data.rows:
            size = max(size, min(4 * size, self.limit))
        wanted = max(MIN_WORKING_SET, int(1.5 * on.sum()), size)
        if wanted >= len(among):
            return among
        pull = np.where(on, np.inf, objective.pulls(point)[among])
        return np.sort(among[np.argpartition(-pull, wanted)[:wanted]])

    def _order(self, size: int) -> Indices:
        return np.arange(size) if self.rng is None else self.rng.permutation(size)

    def _solve_number_net(self, quadratic: Quadratic, objective: ElasticNetObjective, x: Array) -> Array:
        order, positive = self._order(len(x)), objective.positive
        return solve_quadratic_net(quadratic, objective.l1, objective.l2, x, positive=positive, order=order)

    def _solve(self, G: Array, q: Array, objective: ElasticNetObjective, x: Array) -> Array:
        """The minimum over the columns of G."""
        if q.ndim == 1:
            return self._solve_number_net(GramQuadratic(G, q), objective, x)
        l1, l2, order = objective.l1, objective.l2, self._order(len(q))
        tolerance = ROUNDING_GAIN * largest_gain(G.diagonal(), q, np.full(len(q), l2))
        x, g = x.copy(), q - G @ x

        def one_pass() -> bool:
            np.subtract(q, G @ x, out=g)
            return bool(group_passes(G, g, x, l1, l2, order, tolerance, FIRST_PASSES) < FIRST_PASSES)

        def value(v: Array) -> float:
            return 0.5 * _dot(v, G @ v) - _dot(q, v) + l1 * float(row_lengths(v).sum()) + 0.5 * l2 * _dot(v, v)

        def settled(v: Array) -> tuple[Array, bool]:
            v = _on_smooth_face(G, q, l1, l2, v)
            return v, bool(_off_rows(G, q, l1, l2, v).max() <= OPTIMALITY_ROUNDING * row_lengths(q).max())

        unknowns = q.shape[1] * min(len(q), objective.data.rows or len(q))
        rounds = MAX_ROUNDS_LARGE if unknowns > MAX_NEWTON_UNKNOWNS else MAX_ROUNDS
        if accelerate_passes(one_pass, x, value, rounds) or rounds == MAX_ROUNDS_LARGE:
            return x
        strengths = np.full(len(q), l1), np.full(len(q), l2)
        return semismooth_newton(gram_root(G), q, *strengths, x, positive=False, finish=settled)

    def _by_residual(self, objective: ElasticNetObjective, x: Array, W: Indices) -> Array:
        l1, l2, data = objective.l1, objective.l2, objective.data
        tolerance = ROUNDING_GAIN * data.target_square
        one_pass = data.passes(x, W[self._order(len(W))], l1, l2, objective.positive, tolerance)
        accelerate_passes(one_pass, x, objective.value, MAX_ROUNDS_LARGE)
        return x


def _on_smooth_face(G: Array, q: Array, l1: float, l2: float, x: Array) -> Array:
    """Newton's method over the rows that are not zero, where the penalty is smooth, as long as it helps."""
    A = np.flatnonzero(x.any(axis=1))
    k, T = len(A), x.shape[1]
    if not k:
        return x
    H0, b, v, off = G[A[:, None], A], q[A], x[A], np.inf
    for _ in range(MAX_FACE_NEWTON_STEPS):
        size = row_lengths(v)[:, None]
        u = v / size
        slope = H0 @ v - b + l2 * v + l1 * u
        if not float(np.abs(slope).max()) < SLOPE_SHARE * off:
            break
        off, best = float(np.abs(slope).max()), v
        H = np.einsum("ij,st->isjt", H0, np.eye(T))
        H[np.arange(k), :, np.arange(k), :] += (l2 + l1 / size)[:, :, None] * np.eye(T) - (
            l1 / size[:, :, None] * u[:, :, None] * u[:, None, :]
        )
        H = H.reshape(k * T, k * T)
        H.reshape(-1)[:: k * T + 1] += DIAGONAL_SHIFT * H0.diagonal().max()
        factor, failed = dpotrf(H)
        if failed:
            break
        v = v - dpotrs(factor, slope.ravel())[0].reshape(k, T)
        if ((v * u).sum(axis=1) <= 0).any():  # a row went through zero: it may belong there
            break
    out = x.copy()
    out[A] = best
    return out


def _off_rows(G: Array, q: Array, l1: float, l2: float, x: Array) -> Array:
    """By how much each row violates its optimality condition."""
    pull, size = q - G @ x - l2 * x, row_lengths(x)
    on = np.where(size > 0, size, 1.0)[:, None]
    return np.where(size > 0, row_lengths(pull - l1 * x / on), np.maximum(row_lengths(pull) - l1, 0.0))


def accelerate_passes(one_pass: Callable[[], bool], x: Array, value: Callable[[Array], float], rounds: int) -> bool:
    """Passes that change x in place, until one gains nothing; every few passes an affine combination, if it is lower.

    The combination of the last EXTRAPOLATION_DEPTH passes has weights that sum to one and make their differences cancel
    (Anderson, 1965). Returns whether a pass gained nothing.
    """
    for _ in range(rounds):
        seen = [x.copy()]
        for _ in range(EXTRAPOLATION_DEPTH):
            if one_pass():
                return True
            seen.append(x.copy())
        D = np.diff(np.array(seen).reshape(EXTRAPOLATION_DEPTH + 1, -1), axis=0)  # (EXTRAPOLATION_DEPTH, d)
        C = D @ D.T
        C[np.diag_indices_from(C)] += 1e-12 * np.trace(C)
        c = np.linalg.solve(C, np.ones(EXTRAPOLATION_DEPTH)) if C[0, 0] > 0 else np.zeros(EXTRAPOLATION_DEPTH)
        if c.sum() != 0:
            mixed = np.tensordot(c / c.sum(), np.array(seen[1:]), axes=1)
            if value(mixed) < value(x):
                x[...] = mixed
    return False


def _dot(a: Array, b: Array) -> float:
    return float(np.vdot(a, b))
