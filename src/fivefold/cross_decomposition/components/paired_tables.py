"""Two tables of the same rows, centred and scaled, and the few rows that stand for them.

Everything that canonical correlations and partial least squares ask of the tables X and Y is an inner product of
columns. The triangular factor R of [X Y] = QR has the same inner products and d + q rows, however long the tables are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqrf

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Doubles, Vector, Weights

LAPACK_BLOCK = 64  # columns that LAPACK works on together, for its scratch
MIN_PART_RATIO = 4  # rows per column of a part whose triangular factor is taken, at least


@dataclass(frozen=True)
class Standardisation:
    """Mean and standard deviation of each column; a constant column is divided by one."""

    mean: Vector  # (d,)
    scale: Vector  # (d,)

    @classmethod
    def of(cls, X: Array, w: Weights, scale: bool) -> tuple[Standardisation, Doubles]:
        """Of the rows, each counted w times, and the rows in its units; a deviation divides by one less than their
        number.
        """
        X, total = X.astype(np.float64, copy=False), float(w.sum())
        mean = w @ X / total
        Z: Doubles = X - mean
        if not scale:
            return cls(mean, np.ones_like(mean)), Z
        spread = np.sqrt(w @ (Z * Z) / (total - 1 if total > 1 else total))
        largest = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
        found = cls(mean, np.where(spread > np.finfo(X.dtype).eps * largest, spread, 1.0))  # rounding is no spread
        Z /= found.scale
        return found, Z

    def apply(self, X: Array) -> Doubles:
        """Rows in units of the deviations, about the mean."""
        Z: Doubles = (np.asarray(X, dtype=np.float64) - self.mean) / self.scale
        return Z

    def restore(self, Z: Array) -> Array:
        """The rows that `apply` turns into these."""
        return Z * self.scale + self.mean


def reduced(X: Doubles, Y: Doubles, w: Weights) -> tuple[Doubles, Doubles]:
    """Tables with the inner products that the columns of X and Y have over rows counted w times, in few rows."""
    A, d = np.column_stack([X, Y]), X.shape[1]
    if not (w == 1).all():
        A *= np.sqrt(w)[:, None]
    if len(A) > MIN_PART_RATIO * A.shape[1]:
        parts = map_parts(lambda lo, hi: _triangular_factor(A[lo:hi]), len(A), rows=max(8192, 64 * A.shape[1]))
        A = parts[0] if len(parts) == 1 else _triangular_factor(np.concatenate(parts))
    return np.ascontiguousarray(A[:, :d]), np.ascontiguousarray(A[:, d:])


def _triangular_factor(A: Doubles) -> Doubles:
    R: Doubles = np.triu(dgeqrf(A, lwork=LAPACK_BLOCK * A.shape[1])[0][: A.shape[1]])
    return R
