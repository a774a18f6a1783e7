"""Affine maps of rows, block by block: x -> (x - centre) A + shift.

Rows are centred before the product, in float64, so data far from zero cost no digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.numerics.linalg import centred_blocks
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array


def affine(X: Array, centre: Array, A: Array, shift: Any = 0.0) -> Array:
    """(X - centre) @ A + shift for A (d,) or (d, k), in the type of X."""
    A = np.ascontiguousarray(A)
    out = np.empty((len(X), *A.shape[1:]), dtype=X.dtype)

    def part(lo: int, hi: int) -> None:
        for a, b, Z in centred_blocks(X, centre, lo, hi):
            out[a:b] = Z @ A + shift

    map_parts(part, len(X))
    return out
