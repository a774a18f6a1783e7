"""What a bootstrap over rows draws: single rows, or what holds together the rows that depend on one another.

    rows     each row, if rows are independent
    groups   all rows of a group
    blocks   runs of ceil(sqrt(n)) rows in order of time, so that neighbours stay together

More than MAX_UNITS rows or groups are dealt at random into MAX_UNITS units: the mean of the losses keeps its
distribution, and a draw costs no more than one of MAX_UNITS rows. Blocks are never joined; there are at most sqrt(n).

Künsch (1989) for blocks.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Codes, Matrix, Vector

MAX_UNITS = 2_000  # units that are drawn


def row_units(n: int, rng: np.random.Generator) -> Codes:
    """The unit of each of n independent rows."""
    return np.arange(n) if n <= MAX_UNITS else rng.permutation(n) % MAX_UNITS


def group_units(groups: NDArray[Any], rng: np.random.Generator) -> Codes:
    """The unit of each row: its group, or the unit its group was dealt into."""
    names, codes = np.unique(groups, return_inverse=True)
    return row_units(len(names), rng)[codes]


def time_units(time: NDArray[Any]) -> Codes:
    """The block of each row, given the times of the rows.

    Examples
    --------
    >>> time_units(np.array([5, 1, 2, 8, 9]))
    array([0, 0, 0, 1, 1])
    """
    n = len(time)
    position = np.empty(n, dtype=np.int64)
    position[np.argsort(time, kind="stable")] = np.arange(n)
    return position // block_rows(n)


def block_rows(n: int) -> int:
    """Rows per block of n rows in order of time."""
    return ceil(sqrt(n))


def unit_sums(losses: Matrix, units: Codes) -> tuple[Matrix, Vector]:
    """The sum of the losses (n, K) and the number of rows of every unit, (U, K) and (U,)."""
    sizes = np.bincount(units).astype(float)
    return np.column_stack([np.bincount(units, column) for column in losses.T]), sizes
