"""Where EM starts: rows given to components.

    kmeans             the clusters of k-means from k-means++ seeds
    k-means++          each row to the nearest of K k-means++ seeds
    random_from_data   each row to the nearest of K distinct rows drawn at random
    random             random responsibilities

Rows are drawn by weight along a canonical order, and equal rows share their random numbers, so neither the order of
the rows nor repeating a row instead of weighting it changes a start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.chunks.chunked_array import (
    ChunkedArray,
    Rows,
    is_chunked,
    rows_of,
    sum_over_chunks,
    uniform_by_row,
)
from fivefold.core.numerics.arrays import is_tensor, to_device_of, to_numpy
from fivefold.core.types import Indices, Mask, Matrix, Rng, Weights
from fivefold.distributions.family import GroupWeights, RowWeights
from fivefold.distributions.gaussian import Diagonal, Gaussian
from fivefold.spatial.centres.chunked_lloyd import (
    ChunkedPoints,
    chunked_distinct_seeds,
    chunked_lloyd,
    chunked_seeds,
)
from fivefold.spatial.centres.lloyd import alternate_updates
from fivefold.spatial.centres.seeding import distinct_seeds, plusplus_seeds
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.points import Points

AnyPoints: TypeAlias = Points | ChunkedPoints

KMEANS_TOL = 1e-4  # k-means stops when the squared moves of the centres sum to at most this share of the mean variance
KMEANS_MAX_ITER = 300  # steps of k-means at most


def kmeans_start(points: AnyPoints, K: int, rng: Rng) -> GroupWeights:
    if isinstance(points, ChunkedPoints):
        seeds = chunked_seeds(points, K, rng)
        found = chunked_lloyd(points, seeds, KMEANS_TOL * points.variance, KMEANS_MAX_ITER)
        return _nearest(points, found.centres)
    seeds = points.rows_as_given(plusplus_seeds(points, K, rng))
    clusters = alternate_updates(points, seeds, KMEANS_TOL * points.variance, KMEANS_MAX_ITER)
    labels = clusters.labels
    return GroupWeights(labels.long() if is_tensor(labels) else labels.astype(np.int64), points.w, K)


def seeds_start(points: AnyPoints, K: int, rng: Rng) -> GroupWeights:
    if isinstance(points, ChunkedPoints):
        return _nearest(points, chunked_seeds(points, K, rng))
    return _nearest(points, points.rows_as_given(plusplus_seeds(points, K, rng)))


def rows_start(points: AnyPoints, K: int, rng: Rng) -> GroupWeights:
    if isinstance(points, ChunkedPoints):
        return _nearest(points, chunked_distinct_seeds(points, K, rng))
    return _nearest(points, points.rows_as_given(distinct_seeds(points, K, rng)))


def random_start(points: AnyPoints, K: int, rng: Rng) -> Matrix:
    if isinstance(points, ChunkedPoints):
        return random_shares(points.w, K, int(rng.randint(2**31 - 1)))
    rank = _ranks(points)
    R = to_device_of(rng.uniform(size=(int(rank.max()) + 1, K)), points.table)[rank]  # (n, K)
    return R * (points.w / R.sum(axis=1))[:, None]


STARTS: dict[str, Callable[[AnyPoints, int, Rng], RowWeights]] = {
    "kmeans": kmeans_start,
    "k-means++": seeds_start,
    "random_from_data": rows_start,
    "random": random_start,
}


def blurred_start(R: RowWeights, points: AnyPoints, rng: Rng, share: float) -> Matrix:
    """R with a `share` of every row spread at random: no two components are equal, and no level has probability 0."""
    if isinstance(points, ChunkedPoints):
        return _blurred_chunks(R, points, int(rng.randint(2**31 - 1)), share)
    R = R.to_matrix() if isinstance(R, GroupWeights) else R
    return (1 - share) * R + share * random_start(points, R.shape[1], rng)


def labelled_start(R: RowWeights, points: Points, allowed: Mask) -> GroupWeights:
    """A start that agrees with the labels: each row goes to the nearest centre that is allowed for it.

    The centre of a component with labelled rows is their mean; the other centres are those of R, without the ones
    nearest to the labelled centres.
    """
    X, R = points.table, R.to_matrix() if isinstance(R, GroupWeights) else R
    labelled = allowed * np.where(allowed.sum(axis=1) == 1, points.w, 0.0)[:, None]
    known = labelled.sum(axis=0) > 0
    free = (R.T @ X) / np.maximum(R.sum(axis=0), np.finfo(float).tiny)[:, None]
    centres = (labelled.T @ X) / np.where(known, labelled.sum(axis=0), 1)[:, None]
    spare = list(range(len(centres)))
    for k in np.flatnonzero(known):
        spare.pop(int(((free[spare] - centres[k]) ** 2).sum(axis=1).argmin()))
    centres[~known] = free[spare]
    distances = np.where(allowed, squared_distances(X, centres), np.inf)
    return GroupWeights(distances.argmin(axis=1), points.w, len(centres))


def mean_imputed(X: Matrix, w: Weights) -> Matrix:
    """X in float64, with missing entries replaced by the mean of their column; a tensor, which has none, as it is."""
    if is_tensor(X):
        return X
    if is_chunked(X):
        mean = sum_over_chunks(Gaussian(Diagonal()).stats, X, w[:, None]).mean[0]
        filled: Any = X
        return filled.map(lambda X: np.where(np.isnan(X), mean, X).astype(np.float64, copy=False))
    missing = np.isnan(X)
    if not missing.any():
        return np.asarray(X, dtype=np.float64)
    seen = np.where(missing, 0.0, X)
    return np.where(missing, (w @ seen) / (w @ ~missing), X).astype(np.float64)


def _ranks(points: Points) -> Indices:
    """The place of each row among the distinct rows in canonical order (n,)."""
    Z, order = to_numpy(points.table[points.order]), to_numpy(points.order)
    fresh = np.concatenate([[False], (Z[1:] != Z[:-1]).any(axis=1)])
    rank = np.empty(points.n, dtype=np.int64)
    rank[order] = np.cumsum(fresh)
    return to_device_of(rank, points.table)


def random_shares(w: Any, K: int, seed: int) -> Any:
    """Weights of the rows of a table in chunks, divided at random among K components (n, K)."""

    def pick(rows: Rows) -> Matrix:
        v = rows_of(w, rows)
        R = uniform_by_row(seed, rows.start * K, len(v) * K).reshape(-1, K)
        return R * (v / R.sum(axis=1))[:, None]

    return ChunkedArray(w.rows, pick, np.ones((1, K)))


def _blurred_chunks(R: RowWeights, points: ChunkedPoints, seed: int, share: float) -> Any:
    random = random_shares(points.w, R.shape[1], seed)

    def pick(rows: Rows) -> Matrix:
        here = rows_of(R, rows)
        here = here.to_matrix() if isinstance(here, GroupWeights) else here
        return (1 - share) * here + share * rows_of(random, rows)

    return ChunkedArray(points.w.rows, pick, random.example)


def _nearest(points: AnyPoints, centres: Matrix) -> GroupWeights:
    if isinstance(points, ChunkedPoints):
        return GroupWeights(points.labels(centres), points.w, len(centres))  # type: ignore[arg-type]  # codes in chunks
    return GroupWeights(squared_distances(points.table, centres).argmin(axis=1), points.w, len(centres))
