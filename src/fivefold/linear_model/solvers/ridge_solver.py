"""Least squares with a penalty on the length of the coefficients, solved directly.

    min over W, b of   sum_i s_i |y_i - W' x_i - b|^2 + sum_t alpha_t |w_t|^2

With Z and T the rows of X and Y less their weighted means, scaled by the roots of their weights, the
intercept b drops out and

    W = (Z'Z + alpha I)^-1 Z'T  =  Z' (Z Z' + alpha I)^-1 T

Z'Z and Z'T are moments of the columns, so one pass and one Cholesky factorisation serve every output; with more
columns than rows the second form is smaller. A system too near to singular is solved from the singular values of Z.
With eigenvalues l_k of Z'Z and c = V'Z'T along their axes the surface without negative coefficients minimises
|diag(l + alpha)^(1/2) V'w - diag(l + alpha)^(-1/2) c|^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, svd
from scipy.linalg.lapack import dpocon
from scipy.sparse import diags_array, issparse
from scipy.sparse.linalg import lsqr

from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import centred_operator, cross_product
from fivefold.core.numerics.table_moments import cross_moments
from fivefold.core.types import Array, Matrix, Table, Vector, Weights
from fivefold.linear_model.solvers.least_squares_solver import (
    LSQR_TOL,
    MAX_DENSE_ENTRIES,
    MAX_MOMENT_COLUMNS,
    OVERFLOW_MESSAGE,
    solve_nonnegative,
)

SINGULAR_RCOND = 1e-10  # a Cholesky factor of a smaller reciprocal condition has lost at least six digits


@dataclass(frozen=True)
class RidgeSolution:
    """Coefficients about the means, and the route that found them."""

    W: Array  # (d, t)
    centre: Array  # (d,) zero without an intercept
    offset: Array  # (t,) the height at the centre
    route: str


def by_cholesky(X: Table, Y: Array, w: Array | None, alpha: Array, centred: bool) -> RidgeSolution:
    """From moments of columns, or from products of rows if there are fewer rows."""
    n, d = X.shape
    if issparse(X) and min(n, d) > MAX_MOMENT_COLUMNS:
        return _by_lsqr(X, Y, w, alpha, centred)
    try:
        if d > n and not is_chunked(X):
            return _from_rows(X, Y, w, alpha, centred)
        m = cross_moments(X, Y, w)
        if not np.isfinite(m.mean).all():
            raise ValueError(OVERFLOW_MESSAGE)
        m = m if centred else m.about_zero()
        return RidgeSolution(_solve(m.scatter, m.cross, alpha), m.mean, m.offset, "cholesky")
    except LinAlgError:
        return by_svd(X, Y, w, alpha, centred)


def by_svd(X: Table, Y: Array, w: Array | None, alpha: Array, centred: bool) -> RidgeSolution:
    """From the singular values of Z; where alpha is zero, the shortest least squares solution."""
    if is_chunked(X):
        return _by_axes(X, Y, w, alpha, centred)
    X, Y, w = map(to_numpy, (X, Y, w))
    if issparse(X):
        if X.shape[0] * X.shape[1] > MAX_DENSE_ENTRIES:
            return _by_lsqr(X, Y, w, alpha, centred)
        X = X.toarray()
    centre, offset = weighted_means(X, Y, w, centred)
    root = 1.0 if w is None else np.sqrt(w)[:, None]
    Z, T = root * (X - centre), root * (Y - offset)
    U, s, Vt = svd(Z, full_matrices=False)
    s = np.where(s > max(Z.shape) * np.finfo(np.float64).eps * s[0], s, 0)[:, None]
    shrunk = s**2 + alpha  # (k, t)
    gain = np.divide(s, shrunk, out=np.zeros_like(shrunk), where=shrunk > 0)
    return RidgeSolution(Vt.T @ (gain * (U.T @ T)), centre, offset, "svd")


def _by_axes(X: Table, Y: Array, w: Array | None, alpha: Array, centred: bool) -> RidgeSolution:
    """From the eigenvalues of the moments, for a table in chunks: half the digits of singular values."""
    m = cross_moments(X, Y, w)
    m = m if centred else m.about_zero()
    values, axes = eigen(m.scatter)
    values = np.where(values > len(values) * np.finfo(np.float64).eps * values[0], values, 0.0)[:, None]
    shrunk, inside = values + alpha, axes.T @ m.cross
    gain = np.divide(inside, shrunk, out=np.zeros_like(inside), where=(shrunk > 0) & (values > 0))
    return RidgeSolution(axes @ gain, m.mean, m.offset, "svd")


def by_nonnegative(X: Table, Y: Array, w: Array | None, alpha: Array, centred: bool) -> RidgeSolution:
    """No coefficient below zero, from the moments of the columns."""
    if issparse(X) and X.shape[1] > MAX_MOMENT_COLUMNS:
        raise ValueError(
            f"positive=True takes a sparse table of at most {MAX_MOMENT_COLUMNS} columns; it has {X.shape[1]}"
        )
    m = cross_moments(X, Y, w)
    if not np.isfinite(m.mean).all():
        raise ValueError(OVERFLOW_MESSAGE)
    m = m if centred else m.about_zero()
    values, axes = eigen(m.scatter)
    values = np.where(values > len(values) * np.finfo(np.float64).eps * values[0], values, 0.0)
    inside = axes.T @ m.cross  # (d, t)
    W = np.empty_like(m.cross)
    for penalty in np.unique(alpha):
        those, size = alpha == penalty, np.sqrt(values + penalty)
        used = size > 0
        root = size[used, None] * axes.T[used]
        W[:, those] = solve_nonnegative(root, inside[np.ix_(used, those)] / size[used, None])
    return RidgeSolution(W, m.mean, m.offset, "nnls")


def _from_rows(X: Table, Y: Array, w: Array | None, alpha: Array, centred: bool) -> RidgeSolution:
    centre, offset = weighted_means(X, Y, w, centred)
    root = 1.0 if w is None else np.sqrt(w)[:, None]
    K, back = row_gram(X, w, centre)
    return RidgeSolution(back(_solve(K, root * (Y - offset), alpha)), centre, offset, "cholesky")


def row_gram(X: Table, w: Array | None, centre: Array) -> tuple[Array, Callable[[Array], Array]]:
    """ZZ' (n, n), and A -> Z'A; a sparse X stays sparse."""
    root = np.ones((X.shape[0], 1)) if w is None else np.sqrt(w)[:, None]
    if not issparse(X):
        Z = root * (X - centre)
        return cross_product(Z.T, Z.T), lambda A: Z.T @ A
    X = X.astype(np.float64)
    along_centre = X @ centre
    K = (X @ X.T).toarray() - along_centre - along_centre[:, None] + centre @ centre

    def back(A: Matrix) -> Matrix:
        return np.asarray(X.T @ (root * A) - np.outer(centre, np.sum(root * A, axis=0)))

    return root * K * root.T, back


def _by_lsqr(X: Table, Y: Array, w: Array | None, alpha: Array, centred: bool) -> RidgeSolution:
    """A sparse table too wide and too long for products, by Golub-Kahan bidiagonalisation."""
    centre, offset = weighted_means(X, Y, w, centred)
    root = np.ones(len(Y)) if w is None else np.sqrt(w)
    Z = diags_array(root) @ (centred_operator(X, centre, np.ones(len(centre))) if centred else X)
    limits = {"atol": LSQR_TOL, "btol": LSQR_TOL, "conlim": 0, "iter_lim": 4 * sum(X.shape)}
    columns = zip((root[:, None] * (Y - offset)).T, np.sqrt(alpha), strict=True)
    W = np.stack([lsqr(Z, t, damp=damp, **limits)[0] for t, damp in columns], axis=1)
    if not np.isfinite(W).all():
        raise ValueError(OVERFLOW_MESSAGE)
    return RidgeSolution(W, centre, offset, "lsqr")


def weighted_means(X: Table, Y: Array, w: Array | None, centred: bool) -> tuple[Array, Array]:
    """Weighted means of columns and targets, or zero."""
    if not centred:
        return np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    s = np.ones(len(Y)) if w is None else w
    return (X.T @ s) / s.sum(), (s @ Y) / s.sum()


def _solve(A: Array, B: Array, alpha: Array) -> Array:
    """(A + alpha_t I)^-1 b_t for each column t, with one factorisation for each distinct alpha."""
    out = np.empty_like(B)
    for penalty in np.unique(alpha):
        those = alpha == penalty
        C = A + penalty * np.eye(len(A))
        scale = 1 / np.sqrt(np.maximum(C.diagonal(), np.finfo(np.float64).tiny))  # columns of unit size:
        C *= scale * scale[:, None]  # then the condition does not depend on the units
        factor, lower = cho_factor(C, lower=True)
        if dpocon(factor, np.abs(C).sum(axis=0).max(), uplo="L")[0] < SINGULAR_RCOND:
            raise LinAlgError("too near to singular for a Cholesky factor")
        out[:, those] = scale[:, None] * cho_solve((factor, lower), scale[:, None] * B[:, those])
    return out


RidgeRoute = Callable[[Table, Matrix, Weights | None, Vector, bool], RidgeSolution]
SOLVERS: dict[str, RidgeRoute] = {
    "svd": by_svd,
    **dict.fromkeys(("auto", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"), by_cholesky),
}
