"""Moments of groups of the rows of a tensor: sums on its device, in float64, and the result on the host.

By column, sums of z and z^2 by group are two products with the weights, z = x - origin. Where a group is so far from
the origin for its spread that its squares cancel, and for pairs of columns, sums are taken about the mean of the group.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.triton_support import has_kernels, padded
from fivefold.core.numerics.arrays import AnyArray, like, namespace, to_device_of, to_numpy
from fivefold.core.numerics.tensors import cross_sums, is_one, on_host, row_cuts
from fivefold.core.types import Array, Doubles
from fivefold.distributions.family import GroupWeights, RowWeights, sum_stats
from fivefold.distributions.statistics.counts import group_matrix
from fivefold.distributions.statistics.moments import MISSING_MESSAGE, GroupMoments, or_one
from fivefold.distributions.statistics.tensor_mixture_step import about_means

PILOT_ROWS = 64  # rows whose mean is the origin of sums by column
MAX_KERNEL_GROUPS = 2048  # groups whose pairs of columns a kernel sums: more are gathered one by one
MAX_KERNEL_SUMS = 4096  # groups times columns that a kernel holds
MAX_CANCELLATION = {4: 64.0, 8: 1e4}  # squares over scatter, by the bytes of a number: at most a share of its digits


def tensor_group_moments(X: AnyArray, R: RowWeights, by_column: bool) -> GroupMoments:
    """Moments of the rows of X under the weights R, a matrix (n, K) or groups, arrays or tensors."""
    if isinstance(R, GroupWeights):
        R = GroupWeights(to_device_of(R.codes, X), to_device_of(R.weights, X), R.count)
        if not by_column:
            return sum_stats([_pairs_of_groups(X[a:b], R[a:b]) for a, b in row_cuts(X, 3 * X.shape[1])])
    else:
        R = like(R, X)
    K, d = R.shape[1], X.shape[1]
    if by_column and (moments := _columns_about_origin(X, R)) is not None:
        return moments
    return sum_stats([_about_means(X[a:b], group_matrix(R[a:b], X), by_column) for a, b in row_cuts(X, K + 4 * d)])


def _columns_about_origin(X: AnyArray, R: RowWeights) -> GroupMoments | None:
    """Moments by column from sums about one origin; None where entries are missing or too many digits cancel."""
    K, d = R.shape[1], X.shape[1]
    if isinstance(R, GroupWeights) and padded(K) * padded(d) <= MAX_KERNEL_SUMS and has_kernels(X):
        first, second, weight, centre = _kernel_sums(X, R)
    else:
        origin, sums = X[:PILOT_ROWS].mean(dim=0), (0.0, 0.0, 0.0)
        for a, b in row_cuts(X, K + 2 * d):
            W, Z = group_matrix(R[a:b], X), X[a:b] - origin
            weights = W.sum(dim=0, dtype=namespace(X).float64)
            part = cross_sums(W, Z), cross_sums(W, Z.square_()), weights
            sums = tuple(total + more for total, more in zip(sums, part, strict=True))
        first, second, weight, centre = (on_host(total) for total in (*sums, origin))
    if np.isnan(first).any():
        return None
    count: Array = np.repeat(weight[:, None], d, axis=1)
    shift = first / or_one(count)
    scatter = second - first * shift
    if (second > MAX_CANCELLATION[X.element_size()] * scatter).any():
        return None
    return GroupMoments(weight, count, np.where(count > 0, centre + shift, 0.0), scatter, count)


def _kernel_sums(X: AnyArray, R: GroupWeights) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Sums of z and z^2 by group, the weights and the origin, by one kernel."""
    from fivefold.core.numerics.gram_kernels import group_sums

    return group_sums(X, R.codes, _weights(X, R), R.count)


def _weights(X: AnyArray, R: GroupWeights) -> AnyArray | None:
    """The weights of the rows in the type of X; None where all are one."""
    weights: AnyArray = R.weights
    return None if is_one(weights) else weights.to(X.dtype)


def _about_means(X: AnyArray, R: AnyArray, by_column: bool) -> GroupMoments:
    """Moments of one run of rows: means first, then sums about them, one group after the other."""
    xp = namespace(X)
    missing = X.isnan()
    if not by_column and missing.any():
        raise ValueError(MISSING_MESSAGE.format(int(to_numpy(missing.any(dim=0)).argmax())))
    weight = on_host(R.sum(dim=0, dtype=xp.float64))
    count = on_host(cross_sums(R, (~missing).to(X.dtype)))  # (K, d)
    origin = X[0].nan_to_num()
    shift = on_host(cross_sums(R, (X - origin).masked_fill_(missing, 0.0))) / or_one(count)
    scatter = []
    for k in range(R.shape[1]):
        Z = (X - (origin + like(shift[k], X))).masked_fill_(missing, 0.0)
        r = R[:, k : k + 1]
        scatter.append(on_host(cross_sums(r, Z.square_())[0] if by_column else cross_sums(r * Z, Z)))
    mean = np.where(count > 0, on_host(origin) + shift, 0.0)
    count = count if by_column else weight
    return GroupMoments(weight, count, mean, np.stack(scatter), count)


def _pairs_by_kernel(X: AnyArray, R: GroupWeights) -> GroupMoments | None:
    """The same by one kernel, about the means of a few rows of each group; None where entries are missing."""
    from fivefold.distributions.covariances.group_kernels import group_scatter_sums

    weight, first, second, centre = group_scatter_sums(X, R.codes, _weights(X, R), R.count)
    moments = about_means(centre, weight, first, second)
    return None if np.isnan(moments.mean).any() else moments


def _pairs_of_groups(X: AnyArray, R: GroupWeights) -> GroupMoments:
    """Moments of one run of rows: they are gathered by group, then one product per group, about its mean."""
    xp, d = namespace(X), X.shape[1]
    if R.count <= MAX_KERNEL_GROUPS and has_kernels(X) and (moments := _pairs_by_kernel(X, R)) is not None:
        return moments
    ends = np.cumsum(to_numpy(xp.bincount(R.codes, minlength=R.count)))
    order = xp.argsort(R.codes, stable=True)
    weight, mean, scatter = np.zeros(R.count), np.zeros((R.count, d)), np.zeros((R.count, d, d))
    for k in np.flatnonzero(np.diff(ends, prepend=0)):
        rows = order[ends[k - 1] if k else 0 : ends[k]]
        Z, v = X[rows], R.weights[rows].to(X.dtype)[:, None]
        weight[k] = float(v.sum(dtype=xp.float64))
        origin = Z[0].clone()
        Z -= origin
        shift = cross_sums(v, Z)[0] / weight[k]
        Z -= shift.to(X.dtype)
        mean[k] = on_host(origin) + on_host(shift)
        scatter[k] = on_host(cross_sums(v * Z, Z))
    if np.isnan(mean).any() and X.isnan().any():
        raise ValueError(MISSING_MESSAGE.format(int(to_numpy(X.isnan().any(dim=0)).argmax())))
    return GroupMoments(weight, weight, mean, scatter, weight)
