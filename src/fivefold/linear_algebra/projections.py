"""Projection of a vector onto the direction of another.

    scalar     |v| cos(theta) = v.w / |w|        the length of the shadow, negative where it points away
    vector     (v.w / w.w) w                     the shadow
    residual   v - (v.w / w.w) w                 orthogonal to w: the triangle has a right angle

The score of a row on a principal component and on a discriminant direction is the scalar projection onto it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array
from fivefold.linear_algebra.matrix_input import vector


@dataclass(frozen=True)
class Projection:
    """v = vector + residual, the first along w, the second orthogonal to it."""

    v: Array
    w: Array
    scalar: float
    vector: Array
    residual: Array

    @property
    def angle(self) -> float:
        """Between v and w, in radians; not a number where v is zero."""
        length = float(np.linalg.norm(self.residual))
        return float(np.arctan2(length, self.scalar)) if np.any(self.v) else float("nan")

    def __str__(self) -> str:
        return (
            f"scalar projection {self.scalar:.6g}, vector projection {_written(self.vector)}, "
            f"residual {_written(self.residual)} of length {np.linalg.norm(self.residual):.6g}, "
            f"angle {np.degrees(self.angle):.4g} degrees"
        )


def project(v: ArrayLike, w: ArrayLike) -> Projection:
    """Project v onto the direction of w.

    Examples
    --------
    >>> print(project([3, 4], [2, 0]))
    scalar projection 3, vector projection [3 0], residual [0 4] of length 4, angle 53.13 degrees
    >>> project([3, 4], [2, 0]).vector
    array([3., 0.])
    """
    a, b = vector(v, "v"), vector(w, "w")
    if len(a) != len(b):
        raise ValueError(f"v and w must have one size; got {len(a)} and {len(b)}")
    size = float(np.abs(b).max())
    if size == 0:
        raise ValueError("w must not be zero: it has no direction to project on")
    unit = b / size  # avoids the square of a large or small number
    unit = unit / np.linalg.norm(unit)
    scalar = float(a @ unit)
    residual = a - scalar * unit
    rest = float(residual @ unit)  # what rounding left along w
    return Projection(a, b, scalar + rest, (scalar + rest) * unit, residual - rest * unit)


def _written(v: Array) -> str:
    return "[" + " ".join(f"{value + 0.0:.6g}" for value in v) + "]"
