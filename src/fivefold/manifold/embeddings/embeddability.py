"""How far distances are from those of points in a space, and how well places reproduce them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Doubles, Matrix
from fivefold.spatial.distances import squared_distances

ZERO = 1e-9  # share of the largest eigenvalue below which one counts as zero, whatever its sign


@dataclass(frozen=True)
class Embeddability:
    """Eigenvalues of centred scalar products, those below zero, and what places leave unexplained."""

    values: Doubles  # (n,) largest first
    negative_count: int
    negative_mass: float  # share of negative eigenvalues in the sum of all sizes
    residual_variance: float  # 1 - squared correlation of distances with those of the places

    @classmethod
    def of(cls, values: Doubles, D: Doubles, embedding: Matrix) -> Embeddability:
        """From all eigenvalues, the distances, and the places of the rows."""
        sizes: Doubles = np.abs(values)
        negative = values < -ZERO * sizes.max(initial=0.0)
        mass = float(sizes[negative].sum() / max(float(sizes.sum()), np.finfo(float).tiny))
        return cls(values, int(negative.sum()), mass, residual_variance(D, embedding))


def residual_variance(D: Doubles, embedding: Matrix) -> float:
    """1 - r^2 of given distances and distances of places, over all pairs; zero where both are constant."""
    pairs = np.triu_indices(len(D), 1)
    given, found = D[pairs], np.sqrt(squared_distances(np.asarray(embedding, dtype=np.float64)))[pairs]
    given, found = given - given.mean(), found - found.mean()
    scale = float((given @ given) * (found @ found))
    if scale == 0.0:
        return 0.0 if not (given.any() or found.any()) else 1.0
    return max(0.0, 1.0 - float(given @ found) ** 2 / scale)
