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

from fivefold.distributions.family import Array, Groups
from fivefold.spatial.lloyd import lloyd
from fivefold.spatial.seeding import canonical_order, draw, plus_plus, squared_distances

ROUGH = 1e-4  # k-means stops when the centres move less than this share of the mean variance
RUNS = 300  # and after so many steps


def kmeans(X: Array, w: Array, K: int, rng: Any, order: Any) -> Groups:
    mean = (w @ X) / w.sum()
    spread = float(((w @ (X - mean) ** 2) / w.sum()).mean())
    return _nearest(X, w, lloyd(X, w, X[plus_plus(X, w, K, rng, order)], ROUGH * spread, RUNS).centres)


def seeds(X: Array, w: Array, K: int, rng: Any, order: Any) -> Groups:
    return _nearest(X, w, X[plus_plus(X, w, K, rng, order)])


def rows(X: Array, w: Array, K: int, rng: Any, order: Any) -> Groups:
    rank, mass, chosen = ranks(X, order), w.copy(), []
    for uniform in rng.uniform(size=(K, 1)):
        chosen.append(int(draw(order, mass if mass.any() else w, uniform)[0]))
        mass[rank == rank[chosen[-1]]] = 0.0
    return _nearest(X, w, X[chosen])


def scattered(X: Array, w: Array, K: int, rng: Any, order: Any) -> Any:
    rank = ranks(X, order)
    R = rng.uniform(size=(int(rank.max()) + 1, K))[rank]  # (n, K)
    return R * (w / R.sum(axis=1))[:, None]


STARTS: dict[str, Callable[[Array, Array, int, Any, Any], Any]] = {
    "kmeans": kmeans,
    "k-means++": seeds,
    "random_from_data": rows,
    "random": scattered,
}


def start(name: str, X: Array, w: Array, K: int, rng: Any) -> Any:
    """Weights of the rows in K components: groups, or a matrix (n, K)."""
    return STARTS[name](X, w, K, rng, canonical_order(X))


def softened(R: Any, X: Array, w: Array, rng: Any, share: float) -> Any:
    """A `share` of every row spread at random: no two components start alike, and none with a probability of zero."""
    R = R.dense() if isinstance(R, Groups) else R
    return (1 - share) * R + share * scattered(X, w, R.shape[1], rng, canonical_order(X))


def guided(R: Any, X: Array, w: Array, allowed: Any) -> Groups:
    """A start that agrees with what is known: centres of labelled rows, others from R, each row to the nearest allowed.

    Of the centres of R those nearest to a labelled one give way to it.
    """
    R = R.dense() if isinstance(R, Groups) else R
    told = np.where(allowed.all(axis=1)[:, None], 0.0, allowed * (w / allowed.sum(axis=1))[:, None])
    known = told.sum(axis=0) > 0
    free = (R.T @ X) / np.maximum(R.sum(axis=0), np.finfo(float).tiny)[:, None]
    centres = (told.T @ X) / np.where(known, told.sum(axis=0), 1)[:, None]
    spare = list(range(len(centres)))
    for k in np.flatnonzero(known):
        spare.pop(int(((free[spare] - centres[k]) ** 2).sum(axis=1).argmin()))
    centres[~known] = free[spare]
    distances = np.where(allowed, squared_distances(X, centres), np.inf)
    return Groups(distances.argmin(axis=1), w, len(centres))


def filled(X: Array, w: Array) -> Array:
    """X in float64 with the mean of the column for missing entries."""
    missing = np.isnan(X)
    if not missing.any():
        return np.asarray(X, dtype=np.float64)
    seen = np.where(missing, 0.0, X)
    return np.where(missing, (w @ seen) / (w @ ~missing), X).astype(np.float64)


def ranks(X: Array, order: Any) -> Any:
    """The place of each row's value among the distinct rows, along the order (n,)."""
    Z = X[order]
    fresh = np.concatenate([[False], (Z[1:] != Z[:-1]).any(axis=1)])
    rank = np.empty(len(X), dtype=np.int64)
    rank[order] = np.cumsum(fresh)
    return rank


def _nearest(X: Array, w: Array, centres: Array) -> Groups:
    return Groups(squared_distances(X, centres).argmin(axis=1), w, len(centres))
