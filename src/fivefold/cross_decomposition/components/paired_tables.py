"""Two tables of the same rows, centred and scaled, and the few rows that stand for them.

Everything that canonical correlations and partial least squares ask of the tables X and Y is an inner product of
columns. The triangular factor R of [X Y] = QR has the same inner products and d + q rows, however long the tables are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Doubles, Vector, Weights

MIN_PART_RATIO = 4  # rows per column of a part whose triangular factor is taken, at least


@dataclass(frozen=True)
class Standardisation:
    """Mean and standard deviation of each column; a constant column is divided by one."""

    mean: Vector  # (d,)
    scale: Vector  # (d,)

    @classmethod
    def of(cls, X: Array, w: Weights, scale: bool) -> Standardisation:
        """Of the rows, each counted w times; the deviation divides by one less than their number."""
        X, total = X.astype(np.float64, copy=False), float(w.sum())
        mean = w @ X / total
        if not scale:
            return cls(mean, np.ones_like(mean))
        Z = X - mean
        spread = np.sqrt(w @ (Z * Z) / (total - 1 if total > 1 else total))
        floor = np.finfo(X.dtype).eps * np.abs(X).max(axis=0, initial=0.0)  # what rounding leaves of a constant column
        return cls(mean, np.where(spread > floor, spread, 1.0))

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
    R: Doubles = linalg.qr(A, mode="r", check_finite=False)[0]
    return R[: A.shape[1]]
