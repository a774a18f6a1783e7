"""Weighted points on the device of a tensor: what Points is for arrays, with the same order and the same draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.numerics.arrays import AnyArray, is_tensor, like, namespace, to_device_of, to_numpy
from fivefold.core.numerics.tensors import cross_sums, on_host, one_hot, ones_beside, row_cuts
from fivefold.core.types import Doubles, Indices, Matrix, Table, Vector, Weights
from fivefold.spatial.points import Points, WeightedPoints, fixed_direction
from fivefold.spatial.row_sampling import RUN_LENGTH

PILOT_ROWS = 2048  # rows whose mean is the origin of the sums that give the mean
MAX_SQUARED_MEAN_RATIO = 16.0  # squared mean over variance: rows nearer to zero are compared without taking it off
AnyPoints: TypeAlias = Any  # Points or TensorPoints, which have the same methods on arrays of their library


def memory_points(X: Table, w: Weights | None = None) -> AnyPoints:
    """The rows of an array, a sparse matrix or a tensor, each counted w times (once by default)."""
    return TensorPoints.of(X, w) if is_tensor(X) else Points.of(X, w)


@dataclass(frozen=True)
class TensorPoints(WeightedPoints):
    """Rows of a tensor about an origin, the weight of each, and their spread; small results are NumPy arrays."""

    table: AnyArray  # (n, d)
    w: AnyArray  # (n,) float64
    origin: Vector  # (d,) the mean
    scatter: float  # sum of w |x - mean|^2

    @classmethod
    def of(cls, X: AnyArray, w: AnyArray | None = None) -> TensorPoints:
        """The rows of X, each counted w times (once by default)."""
        w = ones_beside(X) if w is None else to_device_of(w, X)
        pilot = X[:PILOT_ROWS].mean(dim=0)
        first, second, total = 0.0, 0.0, float(w.sum())
        for a, b in row_cuts(X, 3 * X.shape[1]):
            Z, v = X[a:b] - pilot, w[a:b, None].to(X.dtype)
            first = first + cross_sums(v, Z)[0]
            second = second + cross_sums(v, Z.square_()).sum()
        shift = on_host(first) / total
        scatter = max(float(second) - total * float(shift @ shift), 0.0)
        return cls(X, w, on_host(pilot) + shift, scatter)

    @cached_property
    def near(self) -> bool:
        """Is the mean so near to zero that rows can be compared as they are?"""
        return float(self.origin @ self.origin) <= MAX_SQUARED_MEAN_RATIO * self.variance

    def rows(self, a: int, b: int) -> AnyArray:
        """Rows a..b relative to the origin."""
        return self.table[a:b] - like(self.origin, self.table)

    @cached_property
    def keys(self) -> AnyArray:
        """A number for each row that depends only on its values: its place along a fixed random direction (n,)."""
        xp, direction = namespace(self.table), like(fixed_direction(self.width), self.w)
        cuts = row_cuts(self.table, 4 * self.width)
        return xp.concat([self.rows(a, b).to(xp.float64) @ direction for a, b in cuts])

    @cached_property
    def order(self) -> AnyArray:
        """The rows in the order of their keys: equal rows are neighbours."""
        return self.keys.argsort()

    def equal_rows(self, row: int, among: Indices | None = None) -> Indices:
        """The rows, of all or `among` some, with the same values as this one."""
        some = self.table if among is None else self.table[to_device_of(among, self.table)]
        same = to_numpy((some == self.table[row]).all(dim=1).nonzero()[:, 0])
        return same if among is None else among[same]

    def rows_as_given(self, ids: Indices) -> Matrix:
        """Some rows as they were given (m, d)."""
        return to_numpy(self.table[to_device_of(ids, self.table)])

    def sums(self, labels: AnyArray, K: int) -> Doubles:
        """The weighted sum of the rows of each label, relative to the origin (K, d)."""
        total: AnyArray = 0.0
        X = self.table
        for a, b in row_cuts(X, K + self.width):
            total = total + cross_sums(one_hot(labels[a:b], K, X, self.w[a:b]), self.rows(a, b))
        return np.asarray(on_host(total), dtype=np.float64)

    def draw(self, mass: AnyArray, uniforms: Vector) -> Indices:
        """Rows at the given quantiles of `mass` (n,) along the order, as `draw_rows` finds them."""
        xp, n = namespace(self.table), self.n
        runs = mass.new_zeros(-(-n // RUN_LENGTH) * RUN_LENGTH)
        runs[:n] = mass[self.order]
        runs = runs.view(-1, RUN_LENGTH)
        sums = runs.sum(dim=1)
        ends = sums.cumsum(dim=0)
        target = like(uniforms, ends) * ends[-1]
        run = xp.searchsorted(ends, target, right=True).clamp_(max=len(runs) - 1)
        rest = target - (ends[run] - sums[run])
        place = (runs[run].cumsum(dim=1) <= rest[:, None]).sum(dim=1)
        return to_numpy(self.order[(run * RUN_LENGTH + place).clamp_(max=n - 1)])
