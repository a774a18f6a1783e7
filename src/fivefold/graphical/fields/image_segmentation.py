"""Segmentation of a picture by a Potts energy: levels that are near the pixels and rarely change.

    E(S) = sum_pixels (I - S)^2 + weight sum_{neighbours} [S != S']

p(S) ~ exp(-E(S)), so the best segmentation is the mode of a pairwise field. Potts messages take as many steps as there
are levels, so all 256 grey values are possible. A larger weight gives fewer, larger segments; with weight 0, S = I.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fivefold.core.types import Codes, Doubles, Indices
from fivefold.graphical.fields.pairwise_field import Neighbours, PairwiseField, grid_edges
from fivefold.inference.approximate.gibbs_sampling import iterated_modes
from fivefold.inference.factors.configurations import most_probable
from fivefold.inference.factors.factor import Factor

SegmentationMethod = Literal["max_product", "modes", "exact"]
LARGEST_EXPONENT = 600.0  # of a potential that is still a plain number


@dataclass(frozen=True)
class Segmentation:
    """The level of each pixel, and the energy of all."""

    labels: Codes  # (height, width): numbers of levels
    levels: Doubles
    energy: float
    edges: Indices  # pairs of neighbours

    @property
    def image(self) -> Doubles:
        """(height, width) levels."""
        return self.levels[self.labels]

    @cached_property
    def segments(self) -> Codes:
        """(height, width) numbers of connected pixels of one level."""
        flat = self.labels.ravel()
        a, b = self.edges[flat[self.edges[:, 0]] == flat[self.edges[:, 1]]].T
        links = coo_array((np.ones(len(a)), (a, b)), shape=(len(flat), len(flat)))
        found: Codes = connected_components(links, directed=False)[1].reshape(self.labels.shape)
        return found


def potts_energy(picture: ArrayLike, levels: ArrayLike, weight: float, edges: Indices) -> float:
    """The energy of a picture of levels; `weight` per pair of neighbours that differ."""
    I, S = np.asarray(picture, dtype=np.float64).ravel(), np.asarray(levels, dtype=np.float64).ravel()
    return float(((I - S) ** 2).sum() + weight * (S[edges[:, 0]] != S[edges[:, 1]]).sum())


def segment_image(
    picture: ArrayLike,
    weight: float,
    *,
    levels: ArrayLike | None = None,
    neighbours: Neighbours = 4,
    both_ways: bool = False,
    method: SegmentationMethod = "max_product",
    **options: Any,
) -> Segmentation:
    """Levels of low energy for a picture (height, width); 0 to 255 unless `levels` are given.

    `both_ways` counts every pair of neighbours twice, as sums over all pixels and all their neighbours do. Methods:
    "max_product" (messages, then a climb), "modes" (each pixel's best level in turn, from the picture itself), "exact"
    (elimination, for narrow pictures of few levels).

    Examples
    --------
    >>> found = segment_image([[10, 12], [200, 202]], 2.0, both_ways=True)
    >>> found.image, found.energy
    (array([[ 11.,  11.],
           [201., 201.]]), 12.0)
    """
    I = np.asarray(picture, dtype=np.float64)
    grey = np.arange(256.0) if levels is None else np.asarray(levels, dtype=np.float64)
    if I.ndim != 2 or not I.size or not np.isfinite(I).all():
        raise ValueError("a picture is (height, width) finite numbers")
    if method not in get_args(SegmentationMethod):
        raise ValueError(f"method={method!r}: one of {', '.join(get_args(SegmentationMethod))}")
    if weight < 0:
        raise ValueError(f"weight={weight}: neighbours that differ cost 0 or more")
    per_pair = weight * (2 if both_ways else 1)
    edges = grid_edges(I.shape[0], I.shape[1], neighbours)
    costs = (I.ravel()[:, None] - grey) ** 2
    pairs = np.where(np.eye(len(grey), dtype=bool), 0.0, per_pair)
    if method == "exact":
        states = _exact(costs, pairs, edges)
    else:
        field = PairwiseField(-costs, edges, -pairs, logs=True)
        start = costs.argmin(axis=1)
        found = field.mode(**options).states if method == "max_product" else iterated_modes(field.flat, start)[0]
        states = min((found, start), key=lambda x: potts_energy(I, grey[x], per_pair, edges))
    return Segmentation(states.reshape(I.shape), grey, potts_energy(I, grey[states], per_pair, edges), edges)


def _exact(costs: Doubles, pairs: Doubles, edges: Indices) -> Codes:
    """States of least energy, by elimination; refused where its tables are too large."""
    n, K = costs.shape
    unit = max(float(costs.max()), float(pairs.max()), 1.0) / LARGEST_EXPONENT  # the same states are best in any unit
    factors = [Factor((i,), np.exp(-row / unit)) for i, row in enumerate(costs)]
    factors += [Factor((i, j), np.exp(-pairs / unit)) for i, j in edges.tolist()]
    best = most_probable(factors, [K] * n).states
    return np.array([best[i] for i in range(n)])
