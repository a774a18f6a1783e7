"""Lloyd's assignment on the device of a tensor: all rows are compared with all centres, a run of rows at a time.

    argmin_k |x - c_k|^2 = argmin_k |c_k|^2 / 2 - c_k.x

Sums and counts of the clusters come to the host once per step; nothing else does.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.triton_support import has_kernels
from fivefold.core.numerics.arrays import AnyArray, like, namespace, numpy_dtype, to_device_of, to_numpy
from fivefold.core.numerics.tensors import is_one, on_host, row_cuts, weight_by_code
from fivefold.core.types import Array, Indices, Matrix
from fivefold.spatial.points import squared_norms
from fivefold.spatial.tensor_points import TensorPoints

EQUAL_DISTANCE_RATIO = 1 - 1e-9  # a row is as far as the farthest if its squared distance is at least this share of it


class TensorAssignment:
    """Which centre each row of a tensor belongs to, kept up to date while the centres move."""

    def __init__(self, points: TensorPoints, K: int) -> None:
        self.points, self.K = points, K
        xp, X = namespace(points.table), points.table
        self.labels = xp.full((points.n,), -1, dtype=xp.int32, device=X.device)
        self.members: Indices = np.zeros(K, np.int64)
        self.weight: Array = np.zeros(K)
        self.sums: Array = np.zeros((K, points.width))

    def assign(self, C: Matrix) -> int:
        """Give each row to its nearest centre; return how many rows changed their centre."""
        if has_kernels(self.points.table):
            return self._assign_by_kernel(C)
        found = nearest_of_tensor(self.points, C)
        changed = int((found != self.labels).sum())
        self.labels = found
        if changed:
            self._sum_up()
        return changed

    def _assign_by_kernel(self, C: Matrix) -> int:
        """Labels, and sums and counts of the clusters, in one pass over the rows; the host waits once."""
        from fivefold.spatial.centres.nearest_kernels import assign_and_sum

        points, X = self.points, self.points.table
        w = None if is_one(points.w) else points.w.to(X.dtype)
        self.labels, changed, sums = assign_and_sum(X, points.origin, C, self.labels, w)
        if sums is not None:
            counts, self.weight, total = sums
            rounded = points.origin.astype(numpy_dtype(X.dtype)).astype(np.float64)  # the origin as the kernel had it
            self.members = counts.astype(np.int64)
            self.sums = total + self.weight[:, None] * (rounded - points.origin)
        elif changed:
            self._sum_up()
        return changed

    def _sum_up(self) -> None:
        points = self.points
        self.weight = weight_by_code(self.labels, points.w, self.K)
        self.members = to_numpy(namespace(points.table).bincount(self.labels, minlength=self.K))
        self.sums = points.sums(self.labels, self.K)

    def squared_distances(self, C: Matrix) -> AnyArray:
        """Squared distance of each row to its centre (n,), in float64."""
        points, xp = self.points, namespace(self.points.table)
        out = xp.empty(points.n, dtype=xp.float64, device=points.table.device)
        centres = like(C, points.table)
        for a, b in row_cuts(points.table, 4 * points.width):
            gaps = points.rows(a, b) - centres[self.labels[a:b]]
            xp.sum(gaps.square_(), dim=1, dtype=xp.float64, out=out[a:b])
        return out

    def refill_empty(self, C: Matrix) -> int:
        """Give each empty cluster the row farthest from its centre; return how many rows moved.

        Rows equal to it move with it; a row that would leave its own cluster empty is passed over.
        """
        if self.members.all():
            return 0
        points, moved, labels = self.points, 0, to_numpy(self.labels).copy()
        far, keys = on_host(self.squared_distances(C)), to_numpy(points.keys)
        members = self.members.copy()
        for k in np.flatnonzero(members == 0):
            while (top := far.max()) > 0:
                tied = np.flatnonzero(far >= EQUAL_DISTANCE_RATIO * top)
                same = points.equal_rows(int(tied[keys[tied].argmin()]), tied)
                far[same] = 0.0
                old = labels[same[0]]
                if members[old] > len(same):
                    labels[same] = k
                    members[old] -= len(same)
                    members[k] += len(same)
                    moved += len(same)
                    break
        self.labels = to_device_of(labels, self.labels)
        self._sum_up()
        return moved

    def record_moves(self, change: Matrix) -> float:
        """The sum of the squared moves of the centres."""
        return float(squared_norms(change).sum())


def nearest_of_tensor(points: TensorPoints, C: Matrix) -> AnyArray:
    """The nearest of the centres C (K, d), relative to the origin, for each row: int32, of equally near the first."""
    xp, X = namespace(points.table), points.table
    if has_kernels(X):
        from fivefold.spatial.centres.nearest_kernels import assign_and_sum

        before = xp.zeros(points.n, dtype=xp.int32, device=X.device)
        return assign_and_sum(X, points.origin, C, before, None)[0]
    level = 0.5 * squared_norms(C) + (C @ points.origin if points.near else 0.0)
    half, slope = like(level, X), like(-C.T, X)
    out = xp.empty(points.n, dtype=xp.int32, device=X.device)
    for a, b in row_cuts(X, len(C) + points.width):
        rows = X[a:b] if points.near else points.rows(a, b)
        out[a:b] = xp.addmm(half, rows, slope).argmin(dim=1)
    return out
