"""Where EM starts: rows given to components.

    kmeans             the clusters of k-means from k-means++ seeds
    k-means++          each row to the nearest of K k-means++ seeds
    random_from_data   each row to the nearest of K rows drawn at random, all different
    random             random responsibilities

Draws are made along a canonical order of the rows, by weight, and equal rows share what is random, so neither the
order of rows nor repetition in place of weight changes a start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fivefold.core.types import Array, Matrix, Rng
from fivefold.distributions.family import GroupWeights
from fivefold.spatial.centres.lloyd import alternate_updates
from fivefold.spatial.centres.seeding import distinct_seeds, plusplus_seeds
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.points import Points

KMEANS_TOL = 1e-4  # k-means stops when the centres move less than this share of the mean variance
KMEANS_MAX_ITER = 300  # and after so many steps


def kmeans_start(points: Points, K: int, rng: Rng) -> GroupWeights:
    seeds = points.rows_as_given(plusplus_seeds(points, K, rng))
    return GroupWeights(
        alternate_updates(points, seeds, KMEANS_TOL * points.variance, KMEANS_MAX_ITER).labels.astype(np.int64),
        points.w,
        K,
    )


def seeds_start(points: Points, K: int, rng: Rng) -> GroupWeights:
    return _nearest(points, points.rows_as_given(plusplus_seeds(points, K, rng)))


def rows_start(points: Points, K: int, rng: Rng) -> GroupWeights:
    return _nearest(points, points.rows_as_given(distinct_seeds(points, K, rng)))


def random_start(points: Points, K: int, rng: Rng) -> Any:
    rank = _ranks(points)
    R = rng.uniform(size=(int(rank.max()) + 1, K))[rank]  # (n, K)
    return R * (points.w / R.sum(axis=1))[:, None]


STARTS: dict[str, Callable[[Points, int, Any], Any]] = {
    "kmeans": kmeans_start,
    "k-means++": seeds_start,
    "random_from_data": rows_start,
    "random": random_start,
}


def blurred_start(R: Matrix, points: Points, rng: Rng, share: float) -> Any:
    """A `share` of every row spread at random: no two components start alike, and none with a probability of zero."""
    R = R.to_matrix() if isinstance(R, GroupWeights) else R
    return (1 - share) * R + share * random_start(points, R.shape[1], rng)


def labelled_start(R: Any, points: Points, allowed: Any) -> GroupWeights:
    """A start that agrees with what is known: centres of labelled rows, others from R, each row to the nearest allowed.

    Of the centres of R those nearest to a labelled one give way to it.
    """
    X, R = points.table, R.to_matrix() if isinstance(R, GroupWeights) else R
    told = allowed * np.where(allowed.sum(axis=1) == 1, points.w, 0.0)[:, None]
    known = told.sum(axis=0) > 0
    free = (R.T @ X) / np.maximum(R.sum(axis=0), np.finfo(float).tiny)[:, None]
    centres = (told.T @ X) / np.where(known, told.sum(axis=0), 1)[:, None]
    spare = list(range(len(centres)))
    for k in np.flatnonzero(known):
        spare.pop(int(((free[spare] - centres[k]) ** 2).sum(axis=1).argmin()))
    centres[~known] = free[spare]
    distances = np.where(allowed, squared_distances(X, centres), np.inf)
    return GroupWeights(distances.argmin(axis=1), points.w, len(centres))


def mean_imputed(X: Array, w: Array) -> Array:
    """X in float64 with the mean of the column for missing entries."""
    missing = np.isnan(X)
    if not missing.any():
        return np.asarray(X, dtype=np.float64)
    seen = np.where(missing, 0.0, X)
    return np.where(missing, (w @ seen) / (w @ ~missing), X).astype(np.float64)


def _ranks(points: Points) -> Any:
    """The place of each row's value among the distinct rows, along their order (n,)."""
    Z = points.table[points.order]
    fresh = np.concatenate([[False], (Z[1:] != Z[:-1]).any(axis=1)])
    rank = np.empty(points.n, dtype=np.int64)
    rank[points.order] = np.cumsum(fresh)
    return rank


def _nearest(points: Points, centres: Array) -> GroupWeights:
    return GroupWeights(squared_distances(points.table, centres).argmin(axis=1), points.w, len(centres))
