"""Second moments of a table in one pass over blocks of rows, merged as Chan, Golub & LeVeque (1979) do."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf
from scipy.sparse import issparse

from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.compilation.triton_support import has_kernels
from fivefold.core.numerics.arrays import AnyArray, is_tensor, namespace, to_device_of
from fivefold.core.numerics.products import centred_blocks, row_blocks
from fivefold.core.numerics.tensors import cross_sums, on_host, row_cuts
from fivefold.core.parallel import MIN_PART_ROWS, map_parts
from fivefold.core.types import Array, Sparse, Table, Target, Weights

MIN_SINGLE_RCOND = 1e-3  # reciprocal condition of columns of unit length, below which products in float32 do not do
MAX_CONDITION_COLUMNS = 512  # columns up to which the condition is looked at: of more it takes as long as the sums
PILOT_ROWS = 64  # rows whose mean is the origin of a part's sums: close enough to the part's own mean
MAX_SQUARED_MEAN_RATIO = 16.0  # variances: sums about zero lose at most a digit if no squared mean exceeds this many
MIN_ROWS_PER_COLUMN = 16  # rows per column that a part has at least, so that its (d, d) sums are small beside its rows


class TableMoments(NamedTuple):
    """Total weight, mean (d,) and scatter (d, d), the weighted sum of (x - mean)(x - mean)^T."""

    weight: float
    mean: AnyArray
    scatter: AnyArray


def weighted_moments(
    X: Table, w: Weights | None = None, *, products: type[np.floating[Any]] = np.float64
) -> TableMoments:
    """Moments of the rows of an array or a sparse matrix, each counted w times (once by default).

    One pass. NumPy arrays are summed in float64 about the mean of a few rows, so that data far from zero
    lose nothing; with products=float32 the products within a block are float32, and twice as fast.
    """
    if is_chunked(X):
        return sum_over_chunks(partial(weighted_moments, products=products), X, w, merge=_merged)
    if issparse(X):
        return _sparse_moments(X, w)
    if is_tensor(X):
        return _tensor_moments(X, w)
    root = None if w is None else np.sqrt(w, dtype=products)
    part = partial(_part_moments, X, root, np.dtype(products))
    return reduce(_merged, map_parts(part, len(X), rows=max(MIN_PART_ROWS, MIN_ROWS_PER_COLUMN * X.shape[1])))


@np.errstate(invalid="ignore")  # infinite rows give NaN, without a warning
def _part_moments(X: Array, root: Weights | None, kind: np.dtype[Any], lo: int, hi: int) -> TableMoments:
    d = X.shape[1]
    centre, at_zero = _origin(X, root, kind, lo, hi)
    weight, total, S, G = 0.0, np.zeros(d), np.zeros((d, d)), np.empty((d, d), dtype=kind)
    for a, b, Z in row_blocks(X, lo, hi) if at_zero else centred_blocks(X, centre, lo, hi):
        v = np.ones(b - a, dtype=kind) if root is None else root[a:b]
        if root is not None:
            Z *= v[:, None]
        total += v @ Z  # before the product: it brings the block into the cache
        weight += float(v @ v)
        S += np.matmul(Z.T, Z, out=G)
    S -= np.outer(total, total / weight)
    return TableMoments(weight, total / weight + (0.0 if at_zero else centre), S)


def _origin(X: Array, root: Weights | None, kind: np.dtype[Any], lo: int, hi: int) -> tuple[Array, bool]:
    """The mean of the first rows of a part, about which it is summed; are sums about zero as good?"""
    pilot = X[lo : min(lo + PILOT_ROWS, hi)].astype(np.float64)
    centre = pilot.mean(axis=0).astype(kind)
    near = root is None and X.dtype == kind and bool((centre**2 <= MAX_SQUARED_MEAN_RATIO * pilot.var(axis=0)).all())
    return centre, near


def _merged(one: TableMoments, other: TableMoments) -> TableMoments:
    weight = one.weight + other.weight
    gap = other.mean - one.mean
    scatter = one.scatter + other.scatter + np.outer(gap, gap * (one.weight * other.weight / weight))
    return TableMoments(weight, one.mean + gap * (other.weight / weight), scatter)


def _sparse_moments(X: Sparse, w: Weights | None) -> TableMoments:
    X = X.astype(np.float64)
    v = np.ones(X.shape[0]) if w is None else w
    weight = float(v.sum())
    mean = (X.T @ v) / weight
    return TableMoments(weight, mean, (X.T @ X.multiply(v[:, None]).tocsr()).toarray() - weight * np.outer(mean, mean))


def _tensor_moments(X: AnyArray, w: Weights | None) -> TableMoments:
    """Moments on the device of X, in float64: sums of runs of rows about the mean of a few, in the precision of X."""
    if w is None and has_kernels(X):
        from fivefold.core.numerics.gram_kernels import gram_sums

        sums, n = gram_sums(X, None), len(X)
        scatter = sums.scatter - np.outer(sums.first, sums.first / n)
        return TableMoments(n, to_device_of(sums.centre + sums.first / n, X), to_device_of(scatter, X))
    xp, (centre, at_zero) = namespace(X), _tensor_origin(X)
    weight, total, S, w = 0.0, 0.0, 0.0, None if w is None else to_device_of(w, X)
    for a, b in row_cuts(X, 1 if at_zero and w is None else 2 * X.shape[1]):
        V = xp.ones((b - a, 1), dtype=X.dtype, device=X.device) if w is None else w[a:b, None].to(X.dtype) ** 0.5
        Z = X[a:b] if at_zero else X[a:b] - centre
        Z = Z if w is None else Z * V
        total, S = total + cross_sums(V, Z)[0], S + cross_sums(Z, Z)
        weight += float(b - a if w is None else w[a:b].sum())
    S = S - xp.outer(total, total / weight)
    return TableMoments(weight, total / weight + (0.0 if at_zero else centre.to(xp.float64)), S)


def _tensor_origin(X: AnyArray) -> tuple[AnyArray, bool]:
    """The mean of the first rows, about which sums are taken; are sums about zero as good?"""
    pilot = X[:PILOT_ROWS].to(namespace(X).float64)
    mean = pilot.mean(dim=0)
    near = (mean**2 <= MAX_SQUARED_MEAN_RATIO * pilot.var(dim=0, correction=0)).all()
    return mean.to(X.dtype), bool(near)


class CrossMoments(NamedTuple):
    """Moments of rows x beside targets y: all that least squares needs from a table."""

    weight: float
    mean: Array  # (d,) of x
    scatter: Array  # (d, d) weighted sum of (x - mean)(x - mean)^T
    offset: Array  # (t,) mean of y
    cross: Array  # (d, t) weighted sum of (x - mean)(y - offset)^T
    spread: Array  # (t,) weighted sum of (y - offset)^2

    def about_zero(self) -> CrossMoments:
        """The same sums with zero in place of the means."""
        return CrossMoments(
            weight=self.weight,
            mean=np.zeros_like(self.mean),
            scatter=self.scatter + self.weight * np.outer(self.mean, self.mean),
            offset=np.zeros_like(self.offset),
            cross=self.cross + self.weight * np.outer(self.mean, self.offset),
            spread=self.spread + self.weight * self.offset**2,
        )

    def merged(self, other: CrossMoments) -> CrossMoments:
        """The moments of the rows of both."""
        x = _merged(TableMoments(*self[:3]), TableMoments(*other[:3]))
        mean_shift, target_shift = other.mean - self.mean, other.offset - self.offset
        share, merge_weight = other.weight / x.weight, self.weight * other.weight / x.weight
        return CrossMoments(
            weight=x.weight,
            mean=x.mean,
            scatter=x.scatter,
            offset=self.offset + share * target_shift,
            cross=self.cross + other.cross + np.outer(mean_shift, merge_weight * target_shift),
            spread=self.spread + other.spread + merge_weight * target_shift**2,
        )


def cross_moments(X: Table, Y: Target, w: Weights | None = None) -> CrossMoments:
    """Moments of the rows of an array or a sparse matrix and of their targets Y (n, t), each counted w times.

    One pass, in float64, about the means of a few rows; no joint matrix (X, Y) is built.
    """
    if is_chunked(X):
        return sum_over_chunks(cross_moments, X, Y, w, merge=CrossMoments.merged)
    if issparse(X):
        return _sparse_cross(X, Y.astype(np.float64, copy=False), w)
    if is_tensor(X):
        return _tensor_cross(X, Y, w)
    root = None if w is None else np.sqrt(w)
    return reduce(
        CrossMoments.merged,
        map_parts(partial(_part_cross, X, Y, root), len(X), rows=max(MIN_PART_ROWS, MIN_ROWS_PER_COLUMN * X.shape[1])),
    )


@np.errstate(invalid="ignore", over="ignore")
def _part_cross(X: Array, Y: Target, root: Weights | None, lo: int, hi: int) -> CrossMoments:
    d, t = X.shape[1], Y.shape[1]
    centre, at_zero = _origin(X, root, np.dtype(np.float64), lo, hi)
    target = Y[lo : min(lo + PILOT_ROWS, hi)].mean(axis=0, dtype=np.float64)
    weight, sums, spread = 0.0, np.zeros(t), np.zeros(t)
    C, S, G = np.zeros((1 + t, d)), np.zeros((d, d)), np.empty((d, d))
    for a, b, Z in row_blocks(X, lo, hi) if at_zero else centred_blocks(X, centre, lo, hi):
        V = np.empty((1 + t, b - a))  # ones and targets: one product sums both
        V[0] = 1.0
        np.subtract(Y[a:b].T, target[:, None], out=V[1:])
        if root is not None:
            Z *= root[a:b, None]
            V *= root[a:b]
        weight += float(V[0] @ V[0])
        sums += V[1:] @ V[0]
        spread += np.einsum("ij,ij->i", V[1:], V[1:])
        C += V @ Z  # before the larger product: it brings the block into the cache
        S += np.matmul(Z.T, Z, out=G)
    mean, offset = C[0] / weight, sums / weight
    S -= np.outer(C[0], mean)
    cross = C[1:].T - np.outer(mean, sums)
    spread -= sums * offset
    return CrossMoments(
        weight=weight,
        mean=mean + (0.0 if at_zero else centre),
        scatter=S,
        offset=target + offset,
        cross=cross,
        spread=spread,
    )


def _tensor_cross(X: AnyArray, Y: AnyArray, w: AnyArray | None) -> CrossMoments:
    """As `_tensor_moments`, with the targets beside the ones in one product; the sums are NumPy arrays.

    Products of columns that nearly depend on one another are taken again in float64: those of float32 could not tell.
    """
    single = X.element_size() == 4
    if single and w is None and Y.shape[1] == 1 and has_kernels(X):
        found = _kernel_cross(X, Y)
    else:
        found = _cross_in_runs(X, Y, w, X.dtype)
    if single and np.isfinite(found.scatter).all() and _nearly_dependent(found.scatter):
        return _cross_in_runs(X, Y, w, namespace(X).float64)
    return found


def _cross_in_runs(X: AnyArray, Y: AnyArray, w: AnyArray | None, dtype: Any) -> CrossMoments:
    """Moments from products of runs of rows in this type, a type of torch."""
    t, xp, (centre, at_zero), target = Y.shape[1], namespace(X), _tensor_origin(X), Y[:PILOT_ROWS].mean(dim=0)
    sums: AnyArray = (0.0, 0.0, 0.0)
    for a, b in row_cuts(X, t + 1 if at_zero and w is None and dtype == X.dtype else 4 * X.shape[1] + t + 1):
        V = xp.ones((b - a, 1 + t), dtype=dtype, device=X.device)
        V[:, 1:] = Y[a:b] - target
        Z = X[a:b].to(dtype) if at_zero else X[a:b].to(dtype) - centre
        v = None if w is None else w[a:b, None].to(dtype)
        W = Z if v is None else Z * v
        part = cross_sums(W, Z), cross_sums(V, W), cross_sums(V if v is None else V * v, V)
        sums = tuple(total + more for total, more in zip(sums, part, strict=True))
    S, C, G, centre, target = map(on_host, (*sums, centre, target))
    return _from_sums(S, C, G, 0.0 * centre if at_zero else centre, target)


def _nearly_dependent(scatter: Array) -> bool:
    """Do columns depend on one another as far as sums of products in float32 can tell?"""
    if len(scatter) > MAX_CONDITION_COLUMNS:
        return False
    scale = np.sqrt(np.maximum(scatter.diagonal(), np.finfo(np.float64).tiny))
    S = scatter / scale / scale[:, None]
    largest = np.abs(S).sum(axis=0).max()  # no eigenvalue is larger
    _, failed = dpotrf(S - MIN_SINGLE_RCOND * largest * np.eye(len(S)))
    if not failed:  # all eigenvalues are above this share of it, found in a fraction of the time they take
        return False
    values = np.linalg.eigvalsh(S)
    return bool(values[0] < MIN_SINGLE_RCOND * values[-1])


def _kernel_cross(X: AnyArray, Y: AnyArray) -> CrossMoments:
    """The same for one target by one kernel."""
    from fivefold.core.numerics.gram_kernels import gram_sums

    sums = gram_sums(X, Y[:, 0].to(X.dtype).contiguous())
    G = np.array([[len(X), sums.once], [sums.once, sums.twice]])
    return _from_sums(sums.scatter, np.stack([sums.first, sums.cross]), G, sums.centre, np.array([sums.level]))


def _from_sums(S: Array, C: Array, G: Array, centre: Array, target: Array) -> CrossMoments:
    """Moments from Z^T Z, (1, V)^T Z and (1, V)^T (1, V), Z about the centre and V about the target."""
    weight = float(G[0, 0])
    mean, offset = C[0] / weight, G[0, 1:] / weight
    return CrossMoments(
        weight=weight,
        mean=mean + centre,
        scatter=S - np.outer(C[0], mean),
        offset=target + offset,
        cross=C[1:].T - np.outer(mean, G[0, 1:]),
        spread=G.diagonal()[1:] - G[0, 1:] * offset,
    )


def _sparse_cross(X: Sparse, Y: Array, w: Weights | None) -> CrossMoments:
    weight, mean, scatter = _sparse_moments(X, w)
    v = np.ones(X.shape[0]) if w is None else w
    offset = v @ Y / weight
    T = Y - offset
    cross = X.T.astype(np.float64) @ (v[:, None] * T)
    return CrossMoments(
        weight=weight,
        mean=mean,
        scatter=scatter,
        offset=offset,
        cross=cross - np.outer(mean, v @ T),
        spread=v @ T**2,
    )
