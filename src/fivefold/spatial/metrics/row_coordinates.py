"""Coordinates in which a metric is a plain one: columns scaled, rotated, or rows brought to unit length.

Rows are taken relative to an origin before they are scaled or rotated, so that columns far from zero cost no digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from fivefold.core.numerics.products import affine
from fivefold.core.types import Array, Matrix, Vector
from fivefold.spatial.points import squared_norms

NEGATIVE_SHARE = 1e-10  # an eigenvalue below minus this share of the largest is negative, and not rounding


@dataclass(frozen=True)
class LinearCoordinates:
    """(x - origin) scaled column by column, or multiplied by a matrix."""

    origin: Vector  # (d,)
    factor: Array  # (d,) or (d, d)

    def __call__(self, X: Matrix, queries: bool = False) -> Matrix:
        X = np.asarray(X, dtype=np.float64)
        return (X - self.origin) * self.factor if self.factor.ndim == 1 else affine(X, self.origin, self.factor)


@dataclass(frozen=True)
class Directions:
    """Rows of unit length, about their own means if `centred`.

    Rows of zeros have no direction: two more columns put them at a right angle to all others, and queries of zeros at a
    right angle to them.
    """

    centred: bool

    def __call__(self, X: Matrix, queries: bool = False) -> Matrix:
        X = np.asarray(X, dtype=np.float64)
        if self.centred:
            X = X - X.mean(axis=1, keepdims=True)
        size = np.abs(X).max(axis=1, initial=0.0)
        Z = X / np.where(size > 0, size, 1.0)[:, None]  # so that squares neither overflow nor vanish
        out = np.zeros((len(X), X.shape[1] + 2))
        out[:, :-2] = Z / np.where(size > 0, np.sqrt(squared_norms(Z)), 1.0)[:, None]
        out[size == 0, -1 if queries else -2] = 1.0
        return out


def mahalanobis_coordinates(X: Matrix, V: Matrix | None, VI: Matrix | None) -> LinearCoordinates:
    """Coordinates whose Euclidean distance is sqrt((x - y)' VI (x - y)); VI is by default the inverse of V, V the
    covariance of X.
    """
    d = X.shape[1]
    if VI is None:
        given: Matrix = np.cov(X, rowvar=False) if V is None else V
        values, vectors = _spectrum(given, d, "V" if V is not None else "the covariance of the rows")
        if values.min() <= np.finfo(float).eps * d * values.max():
            raise ValueError(
                "metric='mahalanobis': the covariance is singular, so it has no inverse. Pass "
                "metric_params={'VI': ...}, for example a pseudo-inverse, or leave out columns that depend on others"
            )
        factor: Matrix = vectors / np.sqrt(values)
    else:
        values, vectors = _spectrum(VI, d, "VI")
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
    return LinearCoordinates(column_means(X), np.ascontiguousarray(factor))


def column_means(X: Matrix) -> Vector:
    """The mean of each column in double precision; zero where it is not finite."""
    return np.nan_to_num(np.asarray(X).mean(axis=0, dtype=np.float64), posinf=0.0, neginf=0.0)


def _spectrum(matrix: Matrix, d: int, name: str) -> tuple[Vector, Matrix]:
    M = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
    if M.shape != (d, d):
        raise ValueError(f"metric='mahalanobis': {name} has shape {M.shape}; {d} columns need ({d}, {d})")
    values, vectors = eigh(0.5 * (M + M.T))
    if values.min() < -NEGATIVE_SHARE * max(values.max(), 0.0):
        raise ValueError(
            f"metric='mahalanobis': {name} has the negative eigenvalue {values.min():.3g}, so squared distances could "
            "be negative. Pass a positive semi-definite matrix"
        )
    return values, vectors
