"""What more columns do to neighbourhoods: bins multiply, most are empty, and all distances become alike.

    bins              b^d
    occupied share    share of the bins that hold a row: at most n / b^d, so that it falls exponentially
    nearest / farthest   mean over rows of the ratio of both distances: tends to one
    spread            standard deviation of the distances of pairs over their mean: falls as 1 / sqrt(d)

Bellman (1961); Beyer, Goldstein, Ramakrishnan & Shaft (1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.random_state import check_random_state
from fivefold.core.types import Doubles
from fivefold.density.histogram_density import OccupiedBins
from fivefold.spatial.distances import squared_distances

QUERY_ROWS = 200  # rows whose distances to all others are computed


@dataclass(frozen=True)
class DimensionEffects:
    """What was counted for each number of columns."""

    dimensions: tuple[int, ...]
    bins_per_column: int
    rows: int
    bins: Doubles  # b^d
    occupied: Doubles  # share of the bins that hold rows
    nearest_to_farthest: Doubles
    spread: Doubles  # of distances, as a share of their mean

    def __str__(self) -> str:
        lines = [f"{'columns':>8}{'bins':>12}{'occupied':>12}{'near/far':>10}{'spread':>8}"]
        rows = zip(self.dimensions, self.bins, self.occupied, self.nearest_to_farthest, self.spread, strict=True)
        return "\n".join([*lines, *(f"{d:>8}{b:>12.4g}{o:>12.3g}{r:>10.3f}{s:>8.3f}" for d, b, o, r, s in rows)])


def curse_of_dimensionality(
    dimensions: Sequence[int] = (1, 2, 3, 4, 6, 8, 10, 15, 20),
    *,
    n_samples: int = 1000,
    bins: int = 10,
    random_state: int = 0,
) -> DimensionEffects:
    """Rows drawn evenly from the unit cube of each number of columns, counted in bins, and their distances.

    Examples
    --------
    >>> print(curse_of_dimensionality((1, 2, 4, 8), n_samples=500))
     columns        bins    occupied  near/far  spread
           1          10           1     0.001   0.705
           2         100           1     0.023   0.477
           4       1e+04      0.0492     0.102   0.318
           8       1e+08       5e-06     0.250   0.218
    """
    rng = check_random_state(random_state)
    edges = np.linspace(0.0, 1.0, bins + 1)
    occupied, ratios, spreads = [], [], []
    for d in dimensions:
        X = rng.uniform(size=(n_samples, d))
        found = OccupiedBins.of(X, np.ones(n_samples), (edges,) * d)
        occupied.append(len(found.mass) / found.count)
        D = np.sqrt(squared_distances(X[:QUERY_ROWS], X))
        D = D[np.arange(n_samples) != np.arange(len(D))[:, None]].reshape(len(D), -1)  # without the row itself
        ratios.append(float((D.min(axis=1) / D.max(axis=1)).mean()))
        spreads.append(float(D.std() / D.mean()))
    return DimensionEffects(
        dimensions=tuple(dimensions),
        bins_per_column=bins,
        rows=n_samples,
        bins=np.array([float(bins) ** d for d in dimensions]),
        occupied=np.array(occupied),
        nearest_to_farthest=np.array(ratios),
        spread=np.array(spreads),
    )
