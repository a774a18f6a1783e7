"""Shapes in which entries of a table and probabilities broadcast with the parameters (K, d) of independent columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array


def entries(X: ArrayLike) -> Array:
    """A table (n, d) as (n, 1, d)."""
    return np.atleast_2d(np.asarray(X, dtype=np.float64))[:, None, :]


def levels(q: ArrayLike) -> Array:
    """Probabilities (m,) as (m, 1, 1)."""
    found = np.atleast_1d(np.asarray(q, dtype=np.float64))[:, None, None]
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError("quantiles are asked for probabilities between 0 and 1")
    return found
