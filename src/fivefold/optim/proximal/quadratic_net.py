"""A quadratic with an L1 and an L2 penalty, minimised exactly.

    F(x) = 1/2 x'Gx - q'x + sum_j l1_j |x_j| + l2_j/2 x_j^2

Rounds of a few passes of coordinate descent, then the minimum for the present signs, from one Cholesky factor: if no
sign changes, and no column at zero would leave it, it is the minimum. Where a few rounds do not get there, because the
penalty is weak or columns are dependent, Newton steps on the dual do (semismooth_newton).

G is given as a matrix, or as G = Z'Z, q = Z'y where Z has fewer rows than columns: a step along one coordinate then
costs as much as Z has rows, and G is never made.

Friedman, Hastie & Tibshirani (2010); Li, Sun & Toh (2018).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from fivefold.core.types import Array, Indices
from fivefold.optim.proximal.coordinate_descent_loops import column_passes, gram_passes
from fivefold.optim.proximal.semismooth_newton import gram_root, semismooth_newton

MAX_ROUNDS = 3  # rounds of passes and an exact step before Newton steps take over
FIRST_PASSES = 8  # passes before the first exact step, doubled in each round
COLUMNS_PER_PASS = 16  # a Cholesky factor of k columns costs as much as k / 16 passes
ROUNDING_GAIN = 1e-24  # as a share of the largest gain from zero: a smaller gain of a coordinate is rounding
GRADIENT_ROUNDING = 1e-12  # as a share of the largest gradient: one that exceeds l1 by less counts as equal to l1
MAX_FACES = 10  # minima over one sign pattern after another
SIDE = 1e-150  # size of a coordinate of which only the sign is known yet; products with it do not vanish
DIAGONAL_SHIFT = 1e-10  # share of the largest diagonal entry that is added where columns are dependent


class Quadratic(ABC):
    """1/2 x'Gx - q'x."""

    q: Array
    diagonal: Array  # of G

    @abstractmethod
    def pull(self, x: Array) -> Array:
        """q - Gx, minus the gradient."""

    @abstractmethod
    def block(self, A: Indices) -> Array:
        """G among the columns A."""

    @abstractmethod
    def root(self) -> Array:
        """Z with Z'Z = G."""

    @abstractmethod
    def max_face(self, l2: Array) -> int:
        """The largest number of columns with a factor of their own; more of them have no unique minimum."""

    @abstractmethod
    def passes(
        self, x: Array, l1: Array, l2: Array, positive: bool, order: Indices, tolerance: float, count: int
    ) -> None:
        """Passes over the coordinates of `order`, x in place, until none gains more than the tolerance."""


class GramQuadratic(Quadratic):
    """G as a matrix (d, d)."""

    def __init__(self, G: Array, q: Array) -> None:
        self.G, self.q, self.diagonal = G, q, G.diagonal()

    def pull(self, x: Array) -> Array:
        return self.q - self.G @ x

    def block(self, A: Indices) -> Array:
        return self.G[A[:, None], A]

    def root(self) -> Array:
        return gram_root(self.G)

    def max_face(self, l2: Array) -> int:
        return len(self.q)

    def passes(
        self, x: Array, l1: Array, l2: Array, positive: bool, order: Indices, tolerance: float, count: int
    ) -> None:
        gram_passes(self.G, self.pull(x), x, l1, l2, positive, order, tolerance, count)


class FactorQuadratic(Quadratic):
    """G = Z'Z and q = Z'y; `columns` are those of Z, as the rows of an array (d, r)."""

    def __init__(self, columns: Array, y: Array) -> None:
        self.columns, self.y, self.q = columns, y, columns @ y
        self.diagonal = np.einsum("ij,ij->i", columns, columns)

    def residual(self, x: Array) -> Array:
        """y - Zx."""
        on = np.flatnonzero(x)
        return self.y - x[on] @ self.columns[on]

    def pull(self, x: Array) -> Array:
        return self.columns @ self.residual(x)

    def block(self, A: Indices) -> Array:
        Z = self.columns[A]
        return Z @ Z.T

    def root(self) -> Array:
        return self.columns.T

    def max_face(self, l2: Array) -> int:
        return len(self.q) if l2.min(initial=np.inf) > 0 else len(self.y)

    def passes(
        self, x: Array, l1: Array, l2: Array, positive: bool, order: Indices, tolerance: float, count: int
    ) -> None:
        column_passes(self.columns, self.diagonal, self.residual(x), x, l1, l2, positive, order, tolerance, count)


def solve_quadratic_net(
    quadratic: Quadratic,
    l1: float | Array,
    l2: float | Array,
    x0: Array,
    *,
    positive: bool = False,
    order: Indices | None = None,
    rounds: int = MAX_ROUNDS,
) -> Array:
    """The minimum of F from x0, strengths a number, or one per coordinate.

    Call it within core.blas_threads.one_blas_thread: the factors are small.
    """
    q, d = quadratic.q, len(quadratic.q)
    x: Array = np.array(x0, dtype=np.float64)
    l1, l2 = (np.full(d, v) if np.ndim(v) == 0 else np.array(v, dtype=np.float64) for v in (l1, l2))
    order = np.arange(d) if order is None else order
    tolerance = ROUNDING_GAIN * largest_gain(quadratic.diagonal, q, l2)

    def drawn(x: Array) -> Array:
        """The side to which each coordinate at zero is drawn by a gradient beyond its l1; 0 for all others."""
        terms = max(float(np.abs(q).max(initial=0.0)), float((quadratic.diagonal * np.abs(x)).max(initial=0.0)))
        g, edge = quadratic.pull(x) - l2 * x, l1 + GRADIENT_ROUNDING * terms
        return np.where((x == 0) & ((g if positive else np.abs(g)) > edge), np.sign(g), 0.0)

    def finish(x: Array) -> tuple[Array, bool]:
        """The minimum, if few changes of signs lead to it: from each face all wrong ones go, or those drawn join.

        Where F ends up is known only there, so that any other point is of no use.
        """
        v = x
        for _ in range(MAX_FACES):
            v, exact = _on_face(quadratic, l1, l2, v, all_at_once=True)
            if exact:
                sides = drawn(v)
                if not sides.any():
                    return v, True
                v = v + SIDE * sides
        return x, False

    for i in range(rounds):
        count = (FIRST_PASSES << i) + int(np.count_nonzero(x)) // COLUMNS_PER_PASS
        quadratic.passes(x, l1, l2, positive, order, tolerance, count)
        x, exact = _on_face(quadratic, l1, l2, x)
        if exact and not drawn(x).any():
            return x
    return semismooth_newton(quadratic.root(), q, l1, l2, x, positive=positive, finish=finish)


def _on_face(quadratic: Quadratic, l1: Array, l2: Array, x: Array, *, all_at_once: bool = False) -> tuple[Array, bool]:
    """The minimum over the coordinates that are not zero, if no sign changes on the way; else where the first does.

    With `all_at_once` it is the minimum less all coordinates whose sign changes: fewer faces, but F may be larger.
    """
    A = np.flatnonzero((x != 0) | ((l1 == 0) & (quadratic.diagonal + l2 > 0)))
    if not len(A):
        return x, True
    if len(A) > quadratic.max_face(l2[A]):
        return x, False
    v, H, edge = x[A], quadratic.block(A), l1[A]
    H.reshape(-1)[:: len(A) + 1] += l2[A]  # the diagonal
    rhs, out = quadratic.q[A] - edge * np.sign(v), x.copy()
    factor, failed = dpotrf(H)
    if not failed:
        u = dpotrs(factor, rhs)[0]
    else:  # dependent columns: the nearest minimum
        shifted = H.copy()
        shifted.reshape(-1)[:: len(A) + 1] += DIAGONAL_SHIFT * H.diagonal().max()
        factor, u = dpotrf(shifted)[0], v
        for _ in range(3):
            u = u + dpotrs(factor, rhs - H @ u)[0]
    crossing = (edge > 0) & (u * v <= 0)
    if not crossing.any():
        out[A] = u
        return out, True
    if all_at_once:
        out[A] = np.where(crossing, 0.0, u)
        return out, False
    t = np.divide(v, v - u, out=np.ones_like(v), where=crossing)
    step = float(t.min())
    out[A] = np.where(crossing & (t == step), 0.0, v + step * (u - v))
    return out, False


def row_lengths(x: Array) -> Array:
    """|x_j| of numbers or of rows."""
    return np.abs(x) if x.ndim == 1 else np.sqrt(np.einsum("jt,jt->j", x, x))


def largest_gain(diagonal: Array, q: Array, l2: Array) -> float:
    """The largest decrease that one coordinate can bring from zero, by the diagonal of G."""
    curvature = diagonal + l2
    return float(
        np.divide(row_lengths(q) ** 2, curvature, out=np.zeros(len(curvature)), where=curvature > 0).max(initial=0.0)
    )
