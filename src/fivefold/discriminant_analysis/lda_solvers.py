"""The metric of linear discriminant analysis: slopes Sigma^-1 m_k and the axes along which the means spread.

svd    Sigma = pooled scatter / n. Columns are scaled to unit spread within classes, directions with no spread
       dropped, the rest whitened; the axes are the singular vectors of the whitened class means.
lsqr   Sigma = sum_k P_k Sigma_k, each shrunk or estimated; slopes by least squares, so Sigma may be singular.
       Axes are V = slopes' U / sqrt(l) for the eigenpairs (l, U) of the means' products in the metric.
eigen  the same Sigma; axes are all solutions of (Sigma_total - Sigma) v = l Sigma v with v' Sigma v = 1, outside
       the null space of Sigma.

The scatter within classes has the squares of the singular values of the centred rows for eigenvalues. Squares of
small values are lost in rounding; where that matters, and where there are few rows for the number of columns, the rows
themselves are decomposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, lstsq, svd

from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.numerics.eigenpairs import fix_signs
from fivefold.core.types import Matrix, Vector
from fivefold.discriminant_analysis.shrinkage import Shrinkage
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian, GroupMoments, GroupWeights

MIN_CORRELATION_EIG = 1e-5  # a smaller eigenvalue of a correlation matrix has lost five digits or more


@dataclass(frozen=True)
class DiscriminantMetric:
    """Class means, and their slopes and axes in the metric of the shared covariance."""

    means: Matrix  # (K, d)
    centre: Vector  # (d,)
    slope: Matrix  # (K, d) Sigma^-1 (means - centre)
    common: Vector  # (d,) Sigma^-1 centre, or zero
    axes: Matrix  # (d, r)
    spread: Vector  # (r,) of the means along the axes
    origin: Vector  # (d,) what `transform` adds to x - centre
    covariance: Matrix | None  # (d, d)


def by_svd(
    X: Matrix, R: GroupWeights, priors: Vector, rule: Shrinkage, tol: float, store_covariance: bool
) -> DiscriminantMetric:
    """Whiten by the spread within classes."""
    rule.refuse_for("svd", "take solver='lsqr' or 'eigen'")
    d = X.shape[1]
    compact = store_covariance or R.count * d <= len(X) or is_chunked(X)
    stats = sum_over_chunks(Gaussian(Full() if compact else Diagonal()).stats, X, R)
    centre = priors @ stats.mean
    M = stats.mean - centre
    W = _within(X, R, stats, tol)  # (d, r)
    _, s, Vt = svd(np.sqrt(priors)[:, None] * M @ W, full_matrices=False)
    axes = _as_columns(Vt[s > tol * s[0]] @ W.T)
    covariance = np.tensordot(priors / stats.weight, stats.scatter, 1) if store_covariance else None
    return DiscriminantMetric(
        means=stats.mean,
        centre=centre,
        slope=M @ axes @ axes.T,
        common=np.zeros(d),
        axes=axes,
        spread=s**2,
        origin=np.zeros(d),
        covariance=covariance,
    )


def by_least_squares(
    X: Matrix, R: GroupWeights, priors: Vector, rule: Shrinkage, tol: float, store_covariance: bool
) -> DiscriminantMetric:
    """Slopes by least squares."""
    stats = sum_over_chunks(Gaussian(Full()).stats, X, R)
    if not stats.scatter.any():
        raise _no_spread()
    centre = priors @ stats.mean
    M = stats.mean - centre
    sigma = np.tensordot(priors, rule(X, R, stats), 1)
    *slope, common = np.ascontiguousarray(lstsq(sigma, np.vstack([M, centre]).T)[0].T)
    root = np.sqrt(priors)[:, None]
    spread, U = eigh(root * M @ (root * slope).T)
    kept = spread > np.finfo(np.float64).eps * R.count * spread[-1]
    axes = _as_columns(((U[:, kept] / np.sqrt(spread[kept])).T @ (root * slope))[::-1])
    return DiscriminantMetric(
        means=stats.mean,
        centre=centre,
        slope=np.array(slope),
        common=common,
        axes=axes,
        spread=spread[kept][::-1],
        origin=centre,
        covariance=sigma,
    )


def by_eigenvectors(
    X: Matrix, R: GroupWeights, priors: Vector, rule: Shrinkage, tol: float, store_covariance: bool
) -> DiscriminantMetric:
    """All axes, from a generalised eigenproblem."""
    stats = sum_over_chunks(Gaussian(Full()).stats, X, R)
    centre = priors @ stats.mean
    M = stats.mean - centre
    sigma = np.tensordot(priors, rule(X, R, stats), 1)
    (total,) = rule(X, GroupWeights(0 * R.codes, R.weights, 1), pooled_moments(stats))
    scale, values, V = _correlation(sigma)
    W = _whitening(scale, np.sqrt(values), V, np.sqrt(len(V) * np.finfo(np.float64).eps))
    if (missing := len(sigma) - W.shape[1]) > 0:
        warn(
            f"LinearDiscriminantAnalysis: {missing} of {len(sigma)} directions are dropped, because no class varies "
            "along them: the covariance within classes is singular. Drop columns, or give shrinkage"
        )
    spread, U = eigh(W.T @ (total - sigma) @ W)
    V = _as_columns(U[:, ::-1].T @ W.T)
    return DiscriminantMetric(
        means=stats.mean,
        centre=centre,
        slope=M @ V @ V.T,
        common=V @ (V.T @ centre),
        axes=V,
        spread=spread[::-1],
        origin=centre,
        covariance=sigma,
    )


SOLVERS: dict[str, Callable[..., DiscriminantMetric]] = {
    "svd": by_svd,
    "lsqr": by_least_squares,
    "eigen": by_eigenvectors,
}


def pooled_moments(stats: GroupMoments) -> GroupMoments:
    """The moments of all groups together."""
    n = stats.weight.sum(keepdims=True)
    mean = stats.weight @ stats.mean / n
    M = stats.mean - mean
    return GroupMoments(n, n, mean[None], stats.scatter.sum(0, keepdims=True) + (stats.weight * M.T @ M)[None], n)


def _within(X: Matrix, R: GroupWeights, stats: GroupMoments, tol: float) -> Matrix:
    """The whitening of the rows within their classes."""
    n = float(R.weights.sum())
    S = stats.scatter.sum(0) / n
    if S.ndim == 2:
        scale, values, V = _correlation(S)
        if is_chunked(X) or not ((values > tol**2) & (values < MIN_CORRELATION_EIG)).any():
            return _whitening(scale, np.sqrt(values), V, tol)
    X, R = to_numpy(X), GroupWeights(to_numpy(R.codes), to_numpy(R.weights), R.count)
    scale = _or_one(np.sqrt(np.einsum("ii->i", S) if S.ndim == 2 else S))
    Z = (X - stats.mean[R.codes]) * np.sqrt(R.weights / n)[:, None] / scale
    _, s, Vt = svd(Z, full_matrices=False)
    return _whitening(scale, s, Vt.T, tol)


def _correlation(S: Matrix) -> tuple[Vector, Vector, Matrix]:
    """Spread of the columns (d,), and eigenvalues and eigenvectors of their correlation."""
    scale = _or_one(np.sqrt(S.diagonal()))
    values, V = eigh(S / (scale * scale[:, None]))
    return scale, np.maximum(values, 0), V


def _whitening(scale: Vector, s: Vector, V: Matrix, tol: float) -> Matrix:
    """W (d, r) with W' Sigma W = I: the directions V of spread s above tol in scaled columns."""
    kept = s > tol
    if not kept.any():
        raise _no_spread()
    return V[:, kept] / scale[:, None] / s[kept]


def _no_spread() -> ValueError:
    return ValueError(
        "LinearDiscriminantAnalysis: no column varies within the classes; the number of samples must be more than the "
        "number of classes, and some class needs distinct rows"
    )


def _as_columns(axes: Matrix) -> Matrix:
    """Transpose axes in rows to columns, each with its largest entry positive."""
    return np.ascontiguousarray(fix_signs(axes).T)


def _or_one(scale: Vector) -> Vector:
    """The scale, with one in place of zero."""
    return np.where(scale > 0, scale, 1.0)
