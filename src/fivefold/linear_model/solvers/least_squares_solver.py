"""Least squares by three routes, the cheapest that keeps the digits.

    min over W, b of   sum_i s_i |y_i - W' x_i - b|^2

With Z and T the rows of X and Y less their weighted means, scaled by the roots of their weights, W solves
Z'Z W = Z'T and b follows from the means.

- "cholesky": moments in one pass, Z'Z = R'R with columns scaled to unit length. The digits lost are those of the
  condition of Z'Z, which is estimated; where some are lost one correction from recomputed residuals gets them back.
- "qr": R of (Z, T) by Householder reflections over blocks of rows, then with columns pivoted. The digits lost are those
  of the condition of Z, half as many. Columns that depend on others show as zeros on the diagonal of R; then the
  shortest solution is taken.
- "refined": a small table goes through "qr" and is then corrected from residuals held with twice the digits, the
  unknowns being residuals and coefficients together, so that the answer is that of the table as it is given.
- "eigen": a sparse table too large for "qr" whose columns are dependent, by the eigenvectors of Z'Z.
- "lsqr": a sparse table too wide for its moments, by Golub-Kahan bidiagonalisation.

Golub (1965); Bjorck (1967); Demmel et al. (2012) for QR over blocks; Paige & Saunders (1982).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, solve_triangular, svd
from scipy.linalg.lapack import dgeqrf, dpocon
from scipy.optimize import nnls
from scipy.sparse import diags_array, issparse
from scipy.sparse.linalg import lsqr

from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks, sum_pairs
from fivefold.core.numerics.arrays import AnyArray, is_tensor, namespace, to_device_of, to_numpy
from fivefold.core.numerics.double_double import DoubleDouble, to_double_double
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import centred_blocks, centred_operator
from fivefold.core.numerics.table_moments import CrossMoments, cross_moments
from fivefold.core.numerics.tensors import cross_sums, on_host, row_cuts
from fivefold.core.parallel import MIN_PART_ROWS, map_parts
from fivefold.core.types import Array, Matrix, Table, Vector

EPS = float(np.finfo(np.float64).eps)
MAX_ENTRIES_EXTENDED = 2**14  # "small" tables have at most this many entries: twice the digits cost them little
# by the reciprocal condition of Z'Z, columns of unit length:
EXTENDED_RCOND = 1e-4  # below it a small table takes the route "refined"
SMALL_CORRECTION_RCOND = 1e-2  # below it the solution of a small table is corrected once from its residuals
CORRECTION_RCOND = 1e-4  # below it that of a larger table is
MIN_MOMENT_RCOND = 1e-9  # below it the moments are too inaccurate, and QR is used
RESUM_SHARE = 1e-6  # residual squares below this share of the target's are summed again, from the residuals
MAX_DENSE_ENTRIES = 2**24  # a sparse table of at most this many entries may be made dense
MAX_MOMENT_COLUMNS = 4096  # the (d, d) moments of a sparse table are computed up to this many columns
LSQR_TOL = 1e-13  # relative residual at which bidiagonalisation stops
MAX_CORRECTIONS = 30  # corrections, at most; each gains the digits that the condition of Z leaves, so a few suffice


OVERFLOW_MESSAGE = "sums over the rows of X overflow; divide the columns by a scale first"


@dataclass(frozen=True)
class LeastSquaresSolution:
    """The least squares surface, and what its summary needs."""

    W: Array  # (d, t)
    centre: Array  # (d,) zero without an intercept
    offset: Array  # (t,) the height at the centre
    intercept: Array  # (t,) the height at zero
    weight: float  # of all rows
    root: Array  # (k, d), root'root = Z'Z
    rank: int
    rest: Array  # (t,) weighted squares of the residuals
    spread: Array  # (t,) weighted squares of T
    route: str


def least_squares(X: Table, Y: Array, w: Array | None, centred: bool) -> LeastSquaresSolution:
    """The shortest W that minimises the squares, by the cheapest route that keeps the digits."""
    n, d = X.shape
    if issparse(X) and d > MAX_MOMENT_COLUMNS:
        return _by_lsqr(X, Y, w, centred)
    chunked = is_chunked(X)
    small = n * (d + 1) * Y.shape[1] <= MAX_ENTRIES_EXTENDED and not issparse(X) and not chunked
    if small:
        X, Y, w = map(to_numpy, (X, Y, w))
    if n > d:
        moments = cross_moments(X, Y, w)
        if not np.isfinite(moments.mean).all():
            raise ValueError(OVERFLOW_MESSAGE)
        try:
            return _by_cholesky(X, Y, w, moments if centred else moments.about_zero(), small)
        except LinAlgError:
            pass
    if issparse(X) or chunked:
        if chunked or n * d > MAX_DENSE_ENTRIES:
            return _by_axes(X, Y, w, centred)
        X = X.toarray()
    X, Y, w = map(to_numpy, (X, Y, w))
    return _by_qr(X.astype(np.float64, copy=False), Y, w, centred, small, np.finfo(X.dtype).eps)


def qr_root(X: Array, w: Array | None, centred: bool) -> tuple[Array, Array]:
    """R with R'R = Z'Z, by QR, in which constant columns are zero; and the means taken off."""
    n, d = X.shape
    centre = np.average(X, axis=0, weights=w) if centred else np.zeros(d)
    one = int(centred)
    R = _in_parts(X, np.empty((n, 0)), w, centre, np.empty(0), one)[1][one:, one:]
    weight = float(n if w is None else w.sum())
    return np.where(np.linalg.norm(R, axis=0) > _rounding_length(centre, weight), R, 0.0), centre


def inverse_gram(fit: LeastSquaresSolution) -> Matrix:
    """(Z'Z)^-1, or its pseudo-inverse if columns depend on each other."""
    if fit.rank == fit.root.shape[1] and fit.route != "eigen":  # then root is a triangle
        size = np.linalg.norm(fit.root, axis=0)
        V = solve_triangular(fit.root / size, np.eye(len(size)), check_finite=False) / size[:, None]
        return np.asarray(V @ V.T)
    _, values, axes = svd(fit.root, full_matrices=False, check_finite=False)
    V = axes[: fit.rank] / values[: fit.rank, None]
    return np.asarray(V.T @ V)


def solve_nonnegative(root: Array, rhs: Array) -> Array:
    """W >= 0 that minimises |root W - rhs|^2, output by output, with columns of unit length: Lawson & Hanson (1974)."""
    if not len(root):  # no column varies: SciPy would return uninitialised memory
        return np.zeros((root.shape[1], rhs.shape[1]))
    size = np.linalg.norm(root, axis=0)
    size[size == 0] = 1.0
    return np.stack([nnls(root / size, column)[0] / size for column in rhs.T], axis=1)


def _by_cholesky(X: Table, Y: Array, w: Array | None, m: CrossMoments, small: bool) -> LeastSquaresSolution:
    size = np.sqrt(np.maximum(m.scatter.diagonal(), 0.0))
    if not (size > _rounding_length(m.mean, m.weight)).all():  # also if the sums overflowed
        raise LinAlgError("a column is constant")
    C = m.scatter / size / size[:, None]
    factor = cho_factor(C, check_finite=False)
    condition = dpocon(factor[0], np.abs(C).sum(axis=0).max())[0]
    if not condition >= (EXTENDED_RCOND if small else MIN_MOMENT_RCOND):
        raise LinAlgError("too near to singular for moments")

    def solve(cross: Matrix) -> Matrix:
        return cho_solve(factor, cross / size[:, None], check_finite=False) / size[:, None]

    W = solve(m.cross)
    rest = m.spread - np.einsum("ij,ij->j", W, m.cross)
    if condition < (SMALL_CORRECTION_RCOND if small else CORRECTION_RCOND) or (rest < RESUM_SHARE * m.spread).any():
        W = W + solve(_residuals(X, Y, w, m, W)[0])
        rest = _residuals(X, Y, w, m, W)[1]
    root = np.triu(factor[0]) * size
    return _from_moments(m, W, root, len(W), rest, "cholesky")


def _residuals(X: Table, Y: Array, w: Array | None, m: CrossMoments, W: Array) -> tuple[Array, Array]:
    """Z'(T - Z W), which is zero at the solution, and the weighted squares of the residuals."""
    if is_chunked(X):
        found: tuple[Array, Array] = sum_over_chunks(
            lambda X, Y, w: _residuals(X, Y, w, m, W), X, Y, w, merge=sum_pairs
        )
        return found
    if issparse(X):
        E = Y - m.offset - (X @ W - m.mean @ W)
        S = E if w is None else w[:, None] * E
        return X.T @ S - np.outer(m.mean, S.sum(axis=0)), np.einsum("ij,ij->j", S, E)

    if is_tensor(X):
        return _residuals_of_tensor(X, Y, w, m, W)

    def part(lo: int, hi: int) -> tuple[Array, Array]:
        products, squares = np.zeros_like(W), np.zeros(W.shape[1])
        for a, b, Z in centred_blocks(X, m.mean, lo, hi):
            E = Y[a:b] - m.offset - Z @ W
            S = E if w is None else w[a:b, None] * E
            products += Z.T @ S
            squares += np.einsum("ij,ij->j", S, E)
        return products, squares

    parts = map_parts(part, len(X))
    return reduce(np.add, (p for p, _ in parts)), reduce(np.add, (s for _, s in parts))


def _residuals_of_tensor(
    X: AnyArray, Y: AnyArray, w: AnyArray | None, m: CrossMoments, W: Matrix
) -> tuple[Array, Array]:
    """The same on the device of X, in float64 whatever its type: corrections need the digits."""
    double = namespace(X).float64
    mean, offset, coef = (to_device_of(part, X) for part in (m.mean, m.offset, W))
    products, squares = 0.0, 0.0
    for a, b in row_cuts(X, 4 * (X.shape[1] + W.shape[1])):
        Z = X[a:b].to(double) - mean
        E = Y[a:b].to(double) - offset - Z @ coef
        S = E if w is None else w[a:b, None].to(double) * E
        products, squares = products + cross_sums(Z, S), squares + (S * E).sum(dim=0)
    return on_host(products), on_host(squares)


def _by_qr(X: Array, Y: Array, w: Array | None, centred: bool, small: bool, eps: float) -> LeastSquaresSolution:
    n, d = X.shape
    weight = float(n if w is None else w.sum())
    centre, offset = (np.average(A, axis=0, weights=w) if centred else np.zeros(A.shape[1]) for A in (X, Y))
    spread = np.einsum("ij,ij->j", Y - offset, (Y - offset) * (1.0 if w is None else w[:, None]))
    one = int(centred)  # number of columns of ones, which stand first
    Q, R, rest = (_whole if small else _in_parts)(X, Y, w, centre, offset, one)
    if not np.isfinite(np.vdot(R, R)):  # lengths of its columns are compared
        raise ValueError(OVERFLOW_MESSAGE)
    root, rhs = R[one : one + d, one : one + d], R[one : one + d, one + d :]
    root = np.where(np.linalg.norm(root, axis=0) > _rounding_length(centre, weight), root, 0.0)
    W, rank, left = _shortest(root, rhs, 10 * eps * np.sqrt(max(n, d)))
    found = LeastSquaresSolution(
        W=W,
        centre=centre,
        offset=offset,
        intercept=offset - centre @ W,
        weight=weight,
        root=root,
        rank=rank,
        rest=rest + left,
        spread=spread,
        route="qr",
    )
    return _refined(found, X, Y, w, Q, R[:, : one + d]) if small and rank == d else found


def _whole(X: Array, Y: Array, w: Array | None, centre: Array, offset: Array, one: int) -> tuple[Array, Array, Array]:
    """Q (n, k) of (1, Z), R of (1, Z, T) and the squares of T outside of Q."""
    A = _rows(X, Y, w, centre, offset, one, 0, len(X))
    Z, T = np.split(A, [one + X.shape[1]], axis=1)
    Q, R = qr(Z, mode="economic", check_finite=False)
    inside = Q.T @ T
    return Q, np.column_stack([R, inside]), np.sum((T - Q @ inside) ** 2, axis=0)


def _in_parts(
    X: Array, Y: Array, w: Array | None, centre: Array, offset: Array, one: int
) -> tuple[Array, Array, Array]:
    """The same without Q: R of each part of the rows, then R of all of these."""
    k = one + X.shape[1]

    def part(lo: int, hi: int) -> Matrix:
        return _triangle(_rows(X, Y, w, centre, offset, one, lo, hi))

    parts = map_parts(part, len(X), rows=max(MIN_PART_ROWS, 4 * k))
    R = _triangle(np.vstack(parts)) if len(parts) > 1 else parts[0]
    return R[:0], R[:k], np.sum(R[k:, k:] ** 2, axis=0)


def _triangle(A: Matrix) -> Matrix:
    """R of A; A is overwritten."""
    return np.triu(dgeqrf(A, lwork=64 * A.shape[1], overwrite_a=True)[0][: min(A.shape)])


def _rows(X: Array, Y: Array, w: Array | None, centre: Array, offset: Array, one: int, lo: int, hi: int) -> Array:
    """Rows of (1, X - centre, Y - offset), scaled by the roots of their weights."""
    k = one + X.shape[1]
    A = np.empty((hi - lo, k + Y.shape[1]), order="F")
    A[:, :one] = 1.0
    A[:, one:k] = X[lo:hi] - centre
    A[:, k:] = Y[lo:hi] - offset
    if w is not None:
        A *= np.sqrt(w[lo:hi])[:, None]
    return A


def _shortest(root: Array, rhs: Array, tol: float) -> tuple[Array, int, Array]:
    """The shortest W that minimises |root W - rhs|^2, the rank of root, and the squares of the residuals."""
    d = root.shape[1]
    size = np.linalg.norm(root, axis=0)
    size[size == 0] = 1.0
    Q, R, order = qr(root / size, mode="economic", pivoting=True, check_finite=False)
    rank = int(np.sum(np.abs(R.diagonal()) > tol))
    inside = Q.T @ rhs
    left = np.sum((rhs - Q[:, :rank] @ inside[:rank]) ** 2, axis=0)
    if rank == d:
        W = np.empty_like(inside)
        W[order] = solve_triangular(R, inside, check_finite=False)
        return W / size[:, None], rank, left
    M = np.empty((rank, d))
    M[:, order] = R[:rank]
    Q, R = qr((M * size).T, mode="economic", check_finite=False)
    return Q @ solve_triangular(R, inside[:rank], trans="T", check_finite=False), rank, left


def _refined(
    found: LeastSquaresSolution, X: Array, Y: Array, w: Array | None, Q: Array, R: Array
) -> LeastSquaresSolution:
    """Each output corrected until residuals of twice the digits show nothing left to correct."""
    each = [_corrected(found, X, Y[:, k], w, Q, R, k) for k in range(Y.shape[1])]
    coef, intercept, offset, rest = (np.stack(part) for part in zip(*each, strict=True))
    return replace(found, W=coef.T, intercept=intercept, offset=offset, rest=rest, route="refined")


def _corrected(
    found: LeastSquaresSolution, X: Array, y: Array, w: Array | None, Q: Array, R: Array, k: int
) -> tuple[Array, Array, Array, Array]:
    """Coefficients, heights at zero and at the centre, squares: r + b + X a = y and (1, X)'S r = 0 solved together.

    With f and g the residuals of the two, and (1, Z) = QR, the correction is R da = Q'f - h and dr = f - QQ'f + Qh
    with R'h = g, all about the centre; rows scaled by the roots of their weights.
    """
    one = R.shape[1] - X.shape[1]
    s = np.ones(len(X)) if w is None else w
    root = np.sqrt(s)
    a = to_double_double(found.W[:, k])
    b = to_double_double(found.offset[k]) - a.times(found.centre).sum()
    r = to_double_double(y) - b - _product(X, a)
    last = np.inf
    for _ in range(MAX_CORRECTIONS):
        f = root * (to_double_double(y) - r - b - _product(X, a)).rounded()
        q = r.times(s)
        total = q.sum()
        g = -(q[:, None].times(X).sum() - total.times(found.centre)).rounded()
        g = np.append(-total.rounded(), g) if one else g
        inside = Q.T @ f
        h = solve_triangular(R, g, trans="T", check_finite=False)
        step = float(np.linalg.norm(inside - h))
        if not step < last / 2 or step == 0:
            break
        last = step
        da = solve_triangular(R, inside - h, check_finite=False)
        r = r + to_double_double((f - Q @ (inside - h)) / root)
        a = a + to_double_double(da[one:])
        if one:
            b = b + to_double_double(da[0]) - to_double_double(da[one:]).times(found.centre).sum()
    return a.rounded(), b.rounded(), (b + a.times(found.centre).sum()).rounded(), s @ r.rounded() ** 2


def _product(X: Array, a: DoubleDouble) -> DoubleDouble:
    """X a with twice the digits."""
    return a[:, None].times(X.T).sum()


def _by_axes(X: Table, Y: Array, w: Array | None, centred: bool) -> LeastSquaresSolution:
    m = cross_moments(X, Y, w)
    m = m if centred else m.about_zero()
    values, axes = eigen(m.scatter)
    rank = int(np.sum(values > 10 * EPS * len(values) * values[0]))
    root = np.sqrt(values[:rank])[:, None] * axes.T[:rank]
    W = root.T @ (root @ m.cross / values[:rank, None] ** 2)
    rest = _residuals(X, Y, w, m, W)[1]
    return _from_moments(m, W, root, rank, rest, "eigen")


def _from_moments(
    m: CrossMoments, W: Matrix, root: Matrix, rank: int, rest: Vector, route: str
) -> LeastSquaresSolution:
    return LeastSquaresSolution(
        W=W,
        centre=m.mean,
        offset=m.offset,
        intercept=m.offset - m.mean @ W,
        weight=m.weight,
        root=root,
        rank=rank,
        rest=rest,
        spread=m.spread,
        route=route,
    )


def _by_lsqr(X: Table, Y: Array, w: Array | None, centred: bool) -> LeastSquaresSolution:
    n, d = X.shape
    s = np.ones(n) if w is None else w
    weight = float(s.sum())
    zero = np.zeros(d)
    centre, offset = (X.T @ s / weight, s @ Y / weight) if centred else (zero, np.zeros(Y.shape[1]))
    root = np.sqrt(s)
    Z = diags_array(root) @ centred_operator(X, centre, np.ones(d)) if centred else diags_array(root) @ X
    T = root[:, None] * (Y - offset)
    W = np.stack([lsqr(Z, t, atol=LSQR_TOL, btol=LSQR_TOL, conlim=0, iter_lim=4 * (n + d))[0] for t in T.T], axis=1)
    if not np.isfinite(W).all():
        raise ValueError(OVERFLOW_MESSAGE)
    rest, spread = np.sum((T - Z @ W) ** 2, axis=0), np.sum(T**2, axis=0)
    return LeastSquaresSolution(
        W=W,
        centre=centre,
        offset=offset,
        intercept=offset - centre @ W,
        weight=weight,
        root=np.empty((0, d)),
        rank=min(n, d),
        rest=rest,
        spread=spread,
        route="lsqr",
    )


def _rounding_length(centre: Vector, weight: float) -> Vector:
    """The length that rounding alone gives to a constant column."""
    return 4 * EPS * np.abs(centre) * np.sqrt(weight)
