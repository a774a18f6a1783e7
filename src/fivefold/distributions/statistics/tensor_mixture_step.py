"""Sums of Gaussian mixtures and classes on a CUDA tensor by fused kernels, a run of rows at a time."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.triton_support import has_kernels, padded
from fivefold.core.numerics.arrays import AnyArray, like, numpy_dtype
from fivefold.core.numerics.tensors import is_one, row_cuts
from fivefold.core.types import Array, Matrix, Vector
from fivefold.distributions.covariances.covariance_matrices import Covariance, FullCovariance, TiedCovariance
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI
from fivefold.distributions.covariances.tensor_densities import MAX_SQUARED_DEVIATIONS
from fivefold.distributions.statistics.moments import GroupMoments, or_one

MAX_CANCELLATION = 256.0  # squares about one centre over scatter: with sums good to 5e-8, variances are to 1e-5


def gaussian_step(
    mean: Matrix, covariance: Covariance, log_weights: Vector, X: AnyArray, w: AnyArray, by_column: bool
) -> tuple[GroupMoments, float] | None:
    """Moments under the responsibilities, and the weighted log-likelihood; None where there are no kernels."""
    if not has_kernels(X):
        return None
    from fivefold.distributions.covariances.gaussian_kernels import posterior_rows, scatter_sums

    level = np.maximum(log_weights - 0.5 * (X.shape[1] * LOG_2PI + covariance.log_det), -1e30)
    v, factor = None if is_one(w) else w.to(X.dtype), _factors(mean, covariance)
    if factor.ndim == 2 and (found := _diagonal_step(mean, factor, level, X, v)) is not None:
        return found
    levels, means, factors = like(level, X), like(mean, X), like(factor, X)
    sums: AnyArray = (0.0, 0.0, 0.0, 0.0)
    for a, b in row_cuts(X, 2 * len(mean)):
        R, gained = posterior_rows(X[a:b], factors, means, levels, None if v is None else v[a:b])
        part = scatter_sums(X[a:b], means, R, by_column, gained)
        sums = tuple(total + more for total, more in zip(sums, part, strict=True))
    weight, first, second, value = sums
    centre = mean.astype(numpy_dtype(X.dtype)).astype(np.float64)  # as the kernels had them
    return about_means(centre, weight, first, second), float(value[0])


def _diagonal_step(
    mean: Matrix, factor: Matrix, level: Vector, X: AnyArray, v: AnyArray | None
) -> tuple[GroupMoments, float] | None:
    """The same for independent columns in one pass; None where sums about one centre would cancel too many digits."""
    from fivefold.distributions.covariances.diagonal_kernels import MAX_KERNEL_NUMBERS, diagonal_sums

    centre = mean.mean(axis=0).astype(numpy_dtype(X.dtype)).astype(np.float64)  # as the kernel has it
    M, precision = mean - centre, factor**2
    far = (M**2 * precision).sum(axis=1)
    if padded(len(mean)) * padded(X.shape[1]) > MAX_KERNEL_NUMBERS or far.max() > MAX_SQUARED_DEVIATIONS:
        return None
    slope, bend, levels = like(M * precision, X), like(0.5 * precision, X), like(level - 0.5 * far, X)
    weight, first, second, value = diagonal_sums(X, like(centre, X), slope, bend, levels, v)
    shift = first / or_one(weight)[:, None]
    scatter = second - first * shift
    if not (second <= MAX_CANCELLATION * scatter).all():
        return None
    return about_means(np.broadcast_to(centre, mean.shape), weight, first, second), value


def _factors(mean: Matrix, covariance: Covariance) -> Array:
    """P_k (K, d, d), or where columns are independent their diagonals (K, d)."""
    if isinstance(covariance, FullCovariance):
        return covariance.factor
    if isinstance(covariance, TiedCovariance):
        return np.broadcast_to(covariance.factor, (len(mean), *covariance.factor.shape))
    factor = covariance.precision_factor
    return factor if factor.ndim == 2 else np.repeat(factor[:, None], mean.shape[1], axis=1)


def about_means(centre: Matrix, weight: Vector, first: Matrix, second: Array) -> GroupMoments:
    """Moments of K groups from sums of r, r z and r z z' (K, d, d), or r z^2 (K, d), z = x - centre."""
    shift = first / or_one(weight)[:, None]
    mean = np.where(weight[:, None] > 0, centre + shift, 0.0)
    if second.ndim == 3:
        return GroupMoments(weight, weight, mean, second - first[:, :, None] * shift[:, None, :], weight)
    count: Array = np.repeat(weight[:, None], mean.shape[1], axis=1)
    return GroupMoments(weight, count, mean, np.maximum(second - first * shift, 0.0), count)
