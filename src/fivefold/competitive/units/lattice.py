"""Lattices of units: the place of each unit, distances between places, and which units are neighbours.

Places are counted in steps between neighbours. In a hexagonal lattice every other row is moved by half a step, and rows
are sqrt(3) / 2 apart, so that a unit inside has six neighbours at distance one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from fivefold.core.types import Mask, Matrix
from fivefold.spatial.distances import squared_distances

LatticeKind = Literal["rectangular", "hexagonal"]
Neighborhood = Literal["gaussian", "normalised_gaussian", "bubble"]
NEIGHBOUR_DISTANCE = 1.01  # steps between neighbours at most: one, and its rounding


@dataclass(frozen=True)
class Lattice:
    """n_rows x n_columns units, counted row by row."""

    n_rows: int
    n_columns: int
    kind: LatticeKind = "rectangular"

    @property
    def size(self) -> int:
        return self.n_rows * self.n_columns

    @cached_property
    def places(self) -> Matrix:
        """Row and column of each unit (K, 2)."""
        i, j = (index.ravel().astype(np.float64) for index in np.indices((self.n_rows, self.n_columns)))
        if self.kind == "hexagonal":
            return np.column_stack([i * np.sqrt(0.75), j + 0.5 * (i % 2)])
        return np.column_stack([i, j])

    @cached_property
    def squares(self) -> Matrix:
        """Squared distances between places (K, K)."""
        return squared_distances(self.places)

    @property
    def neighbours(self) -> Mask:
        """Which units are one step apart (K, K)."""
        near: Mask = self.squares < NEIGHBOUR_DISTANCE**2
        np.fill_diagonal(near, False)
        return near

    def influence(self, sigma: float, form: Neighborhood) -> Matrix:
        """How far each unit follows each winner (K, K): e(l, i), which falls with the distance of their places."""
        if form == "bubble":
            return (self.squares <= sigma * sigma).astype(np.float64)
        found: Matrix = np.exp(self.squares / (-2 * sigma * sigma))
        return found / (np.sqrt(2 * np.pi) * sigma) if form == "normalised_gaussian" else found
