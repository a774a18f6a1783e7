"""A ring of units for the travelling salesman: a map that closes, pulled towards the cities; the tour is read off it.

Units on a ring compete for cities, and the winner takes its neighbours on the ring along, ever fewer of them. In the
end each city has a place along the ring, and the order of these places is a short tour. Durbin & Willshaw (1987);
Angeniol, de la Croix Vaubois & Le Texier (1988).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.competitive.units.competition_loops import map_pass
from fivefold.competitive.units.row_passes import falling
from fivefold.core.random_state import check_random_state
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices, UserTable
from fivefold.spatial.distances import squared_distances

UNITS_PER_CITY = 3
FIRST_WIDTH, LAST_WIDTH = 0.1, 0.5  # of the neighbourhood: a share of the ring, and steps between units


@dataclass(frozen=True)
class Tour:
    """A closed way through all cities."""

    order: Indices  # (n,) numbers of cities; the way goes back to the first
    length: float
    ring: Doubles  # (K, 2) where the units ended


def ring_tour(cities: UserTable, *, n_passes: int = 100, random_state: int = 0) -> Tour:
    """A short tour through cities (n, d), each visited once.

    Examples
    --------
    >>> from fivefold.competitive import ring_tour
    >>> tour = ring_tour([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> sorted(tour.order.tolist()), tour.length
    ([0, 1, 2, 3], 4.0)
    """
    X = np.ascontiguousarray(cities, dtype=np.float64)
    if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
        raise ValueError(f"ring_tour needs a table of finite coordinates, a row per city; got shape {X.shape}")
    rng, K = check_random_state(random_state), UNITS_PER_CITY * len(X)
    refuse_square("ring_tour", K, 3, "Make tours of parts of the cities, and join them", "units on the ring")
    origin = X.mean(axis=0)
    scale = float(np.abs(X - origin).max()) or 1.0
    Z, around = (X - origin) / scale, 2 * np.pi * np.arange(K) / K
    M = 1e-3 * rng.standard_normal((Z.shape[1], K))
    M[:2] += 0.5 * np.stack([np.cos(around), np.sin(around)])[: len(M)]
    steps = np.arange(K)
    steps = np.minimum(steps, K - steps)  # along the ring
    gaps = steps[np.abs(np.subtract.outer(np.arange(K), np.arange(K)))].astype(np.float64)
    for t in range(n_passes):
        sigma = falling(max(FIRST_WIDTH * K, LAST_WIDTH), LAST_WIDTH, t, n_passes)
        map_pass(Z, np.ones(len(Z)), rng.permutation(len(Z)), M, np.exp(-0.5 * (gaps / sigma) ** 2), 0.8)
    order = np.argsort(_places(Z, M.T), kind="stable")
    way = X[np.append(order, order[0])]
    return Tour(order, float(np.sqrt(np.square(np.diff(way, axis=0)).sum(axis=1)).sum()), origin + scale * M.T)


def _places(Z: Doubles, ring: Doubles) -> Doubles:
    """The place of each city along the ring: that of its nearest unit, and between units by the nearest point."""
    winner = squared_distances(Z, ring).argmin(axis=1)
    K, best, place = len(ring), np.full(len(Z), np.inf), np.zeros(len(Z))
    for side in (-1, 0):
        start, end = ring[(winner + side) % K], ring[(winner + side + 1) % K]
        along = end - start
        size = np.maximum(np.square(along).sum(axis=1), 1e-300)
        t = np.clip(((Z - start) * along).sum(axis=1) / size, 0.0, 1.0)
        gap = np.square(Z - start - t[:, None] * along).sum(axis=1)
        place = np.where(gap < best, winner + side + t, place)
        best = np.minimum(gap, best)
    return place % K
