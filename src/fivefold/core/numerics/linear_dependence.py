"""Which columns of a matrix are linear combinations of others."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from fivefold.core.types import Array

MIN_COEFFICIENT = 1e-7  # smallest coefficient, for columns of unit length, that counts as part of a combination


def linear_dependencies(A: Array, tol: float = 1e-10) -> dict[int, tuple[int, ...]]:
    """Columns that are combinations of columns before them, and of which.

    Column by column: the part orthogonal to the independent columns so far, relative to the column, is compared with
    tol.

    >>> linear_dependencies(np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]))
    {1: (0,), 3: (0, 2)}
    """
    size = np.linalg.norm(A, axis=0)
    U = A / np.where(size > 0, size, 1.0)
    kept: list[int] = []
    found: dict[int, tuple[int, ...]] = {}
    Q = np.empty((0, len(A)))
    for j, u in enumerate(U.T):
        left = orthogonal_part(Q, u)
        length = float(np.linalg.norm(left))
        if length > tol:
            kept.append(j)
            Q = np.vstack([Q, left / length])
        else:
            share = linalg.solve_triangular(Q @ U[:, kept], Q @ u, check_finite=False) if kept and size[j] else []
            found[j] = tuple(i for i, part in zip(kept, share, strict=False) if abs(part) > MIN_COEFFICIENT)
    return found


def orthogonal_part(F: Array, x: Array) -> Array:
    """The part of x orthogonal to the orthonormal rows of F; twice, so that rounding leaves nothing."""
    x = x - (F @ x) @ F
    return x - (F @ x) @ F
