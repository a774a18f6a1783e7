"""Blocks of points in columns: which entries are missing, and scratch that loops over tiles of them need."""

from __future__ import annotations

from math import isnan

import numpy as np

from fivefold.core.parallel import scratch
from fivefold.core.types import Indices, Mask, Matrix
from fivefold.distributions.covariances.gaussian_loops import TILE_POINTS


def is_complete(Z: Matrix) -> bool:
    """Whether no entry is missing."""
    return not isnan(Z.sum())


def zero_tile(d: int) -> Matrix:
    """Scratch (d, TILE_POINTS) of zeros, with d rounded up to a multiple of four."""
    D = scratch("tile", d + -d % 4, TILE_POINTS)
    D[:] = 0.0  # finite numbers past the last point, which are multiplied by a weight of zero
    return D


def missing_patterns(Z: Matrix) -> tuple[Indices, Mask, Mask]:
    """Points ordered by which entries they have: the order (m,), these entries (m, d), where they change (m,)."""
    seen = ~np.isnan(Z)
    order = np.lexsort(seen)
    seen = np.ascontiguousarray(seen[:, order].T)
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (seen[1:] != seen[:-1]).any(axis=1)
    return order, seen, fresh
