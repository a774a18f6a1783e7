"""Validation of matrices and vectors: real, finite numbers of the expected shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array


def matrix(A: ArrayLike, name: str = "A", *, square: bool = False) -> Array:
    """A finite matrix of floats, or a ValueError that names what is wrong."""
    M = _numbers(A, name)
    if M.ndim != 2 or M.size == 0:
        raise ValueError(f"{name} must be a matrix, rows of numbers; got shape {M.shape}")
    if square and len(M) != M.shape[1]:
        raise ValueError(f"{name} must be square; got {len(M)} x {M.shape[1]}")
    return _finite(M, name)


def vector(v: ArrayLike, name: str) -> Array:
    """A finite vector of floats."""
    u = _numbers(v, name)
    if u.ndim != 1 or u.size == 0:
        raise ValueError(f"{name} must be a vector; got shape {u.shape}")
    return _finite(u, name)


def format_matrix(M: Array, bar_before: int | None = None) -> str:
    """The matrix as text, one line per row, with a bar before the column `bar_before`."""
    cells = [[f"{value + 0.0:.4g}" for value in row] for row in M]  # + 0.0 turns -0 into 0
    widths = [max(len(row[j]) for row in cells) for j in range(M.shape[1])]
    lines = []
    for row in cells:
        parts = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        if bar_before is not None:
            parts.insert(bar_before, "|")
        lines.append("[ " + "  ".join(parts) + " ]")
    return "\n".join(lines)


def _numbers(A: ArrayLike, name: str) -> Array:
    try:
        if np.iscomplexobj(A):
            raise TypeError("got complex ones")
        return np.array(A, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers, the same number in every row ({error})") from None


def _finite(M: Array, name: str) -> Array:
    if not np.isfinite(M).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(M))[0])
        raise ValueError(f"{name} must be finite; {name}{list(where)} is {M[where]}")
    return M
