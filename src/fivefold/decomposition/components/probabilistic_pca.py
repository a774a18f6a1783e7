"""The density of probabilistic PCA: k variances along orthonormal axes, one noise variance everywhere else.

    x = mean + scale * (V^T z + e),    z_j ~ N(0, variance_j - noise),    e ~ N(0, noise I)

so the covariance is V^T diag(variance - noise) V + noise I, in units of `scale`. Its inverse and its determinant
follow from the k variances and the noise, and no (d, d) matrix is factored.

Tipping & Bishop (1999), Probabilistic Principal Component Analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.sparse import issparse

from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_numpy
from fivefold.core.parallel import map_parts
from fivefold.core.types import Table
from fivefold.decomposition.components.n_components import ComponentRule, Scree
from fivefold.decomposition.components.projection import ArrayOrTensor, AxisProjection
from fivefold.decomposition.components.svd_solvers import Decomposition

DENSE_BLOCK_ROWS = 256  # rows of a sparse matrix that are made dense at a time
MAX_NEAR_DEVIATIONS = 32.0  # a mean nearer to zero, in standard deviations, costs coordinates at most 1.5 digits


@dataclass(frozen=True)
class PPCAModel:
    """The affine map to k coordinates, their variances, and the variance of everything else."""

    projection: AxisProjection
    singular: ArrayOrTensor  # (k,) singular values
    variance: ArrayOrTensor  # (k,)
    share: ArrayOrTensor  # (k,) of the total variance
    noise: float  # variance along every other direction
    scree: Scree

    @classmethod
    def fit(cls, X: Table, found: Decomposition, rule: ComponentRule | None, whiten: bool) -> PPCAModel:
        """The model of X from its decomposition, with as many axes as the rule keeps, or all without a rule."""
        n, rank = X.shape[0], min(X.shape)
        values = to_numpy(found.values).astype(np.float64) ** 2
        scree = Scree(values, float(values.sum()) if len(values) == rank else found.total, n)
        k = len(found.axes) if rule is None else rule(scree)
        scale = None if found.scale is None else like(found.scale, X)
        variance = like(values[:k] / (n - 1), X)
        stretch = _clipped(variance**0.5, _epsilon(variance)) if whiten else None
        noise = float(scree.distortion[k] / (rank - k) / (n - 1)) if k < rank else 0.0
        offset = np.abs(to_numpy(found.mean / (1.0 if scale is None else scale))) @ np.abs(to_numpy(found.axes[:k])).T
        near = bool((offset <= MAX_NEAR_DEVIATIONS * np.sqrt(values[:1] / (n - 1))).all())
        projection = AxisProjection(like(found.axes[:k], X), like(found.mean, X), scale, stretch, near)
        return cls(
            projection=projection,
            singular=like(found.values[:k], X),
            variance=variance,
            share=like(scree.shares[:k], X),
            noise=noise,
            scree=scree,
        )

    @property
    def n_components(self) -> int:
        return len(self.projection.axes)

    def covariance(self) -> ArrayOrTensor:
        """Covariance (d, d) of the density: variance along the axes, noise in all other directions."""
        V, spread = self.projection.axes, self._spread()
        return self._in_units((V.T * (spread - self.noise)) @ V + self.noise * self._identity(), 1)

    def precision(self) -> ArrayOrTensor:
        """Inverse (d, d) of the covariance."""
        self._refuse_flat()
        V, rest = self.projection.axes, 1 / self.noise if self.noise > 0 else 0.0
        return self._in_units((V.T * (1 / self._spread() - rest)) @ V + rest * self._identity(), -1)

    def log_prob(self, X: Table) -> ArrayOrTensor:
        """Log density of each row."""
        self._refuse_flat()
        p, spread = self.projection, self._spread()
        V, (k, d) = p.axes, p.axes.shape
        xp = namespace(V)
        size = d * log(2 * pi) + float(xp.sum(xp.log(spread))) + (d - k) * (log(self.noise) if d > k else 0.0)
        units = 0.0 if p.scale is None else float(xp.sum(xp.log(p.scale)))

        @np.errstate(invalid="ignore", over="ignore")
        def part(rows: ArrayOrTensor) -> ArrayOrTensor:
            Z = rows - p.mean if p.scale is None else (rows - p.mean) / p.scale
            T = Z @ V.T  # (m, k)
            squares = xp.sum(T * T / spread, axis=1)
            if d > k:
                squares = squares + xp.sum((Z - T @ V) ** 2, axis=1) / self.noise
            return -0.5 * (squares + size) - units

        if is_tensor(X):
            return part(X)
        if issparse(X):
            return np.concatenate(
                [part(X[a : a + DENSE_BLOCK_ROWS].toarray()) for a in range(0, X.shape[0], DENSE_BLOCK_ROWS)]
            )
        return np.concatenate(map_parts(lambda lo, hi: part(X[lo:hi]), len(X)))

    def _spread(self) -> ArrayOrTensor:
        """Variances of the density along the axes: never below the noise or rounding."""
        if not self.n_components:
            return self.variance
        rounding = _epsilon(self.variance) * self.projection.axes.shape[1] * float(self.variance[0])
        return _clipped(self.variance, max(self.noise, rounding))

    def _identity(self) -> ArrayOrTensor:
        return like(np.eye(self.projection.axes.shape[1]), self.projection.axes)

    def _in_units(self, C: ArrayOrTensor, power: int) -> ArrayOrTensor:
        """A matrix (d, d) of scaled columns in the units of the table, or with power -1 of their inverses."""
        scale = self.projection.scale
        return C if scale is None else C * (scale[:, None] * scale) ** power

    def _refuse_flat(self) -> None:
        k, d = self.projection.axes.shape
        if (k < d and self.noise <= 0) or (k > 0 and float(self.variance[0]) <= 0):
            raise ValueError(
                f"PCA: the {k} components hold all the variance of the {d} columns, so the density is zero almost "
                "everywhere. Keep fewer components, so that the rest is noise, or drop constant columns"
            )


def _epsilon(a: ArrayOrTensor) -> float:
    return float(namespace(a).finfo(a.dtype).eps)


def _clipped(a: ArrayOrTensor, low: float) -> ArrayOrTensor:
    return namespace(a).clip(a, low, None)  # NumPy before 2.1 requires both bounds, as positional arguments
