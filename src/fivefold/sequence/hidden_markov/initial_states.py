"""Where EM starts: random start and transition probabilities, and rows given to states by k-means.

Draws are those of hmmlearn from the same seed. Known states come first: clusters take the numbers of the states whose
rows they hold.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from fivefold.core.types import Codes, Doubles, Mask, Matrix, Rng, Weights
from fivefold.spatial.centres.lloyd import LloydResult, alternate_updates
from fivefold.spatial.centres.seeding import plusplus_seeds
from fivefold.spatial.points import Points

N_KMEANS = 10  # runs of k-means, of which the best is kept
KMEANS_TOL = 1e-4  # as in scikit-learn: squared moves of the centres, as a share of the mean variance
KMEANS_MAX_ITER = 300


def dirichlet_start(K: int, rng: Rng, size: int | None = None) -> Matrix:
    """Probabilities drawn from a Dirichlet(1 / K) distribution, (K,) or (size, K)."""
    return rng.dirichlet(np.full(K, 1.0 / K), size=size)


def kmeans_clusters(X: Matrix, w: Weights, K: int, rng: Rng) -> LloydResult:
    """The best of several runs of k-means on the rows of positive weight; no entry of X is missing."""
    points = Points.of(np.ascontiguousarray(X[w > 0], dtype=np.float64), w[w > 0])
    runs = [
        alternate_updates(
            points, points.rows_as_given(plusplus_seeds(points, K, rng)), KMEANS_TOL * points.variance, KMEANS_MAX_ITER
        )
        for _ in range(N_KMEANS if K > 1 else 1)
    ]
    return min(runs, key=lambda run: run.inertia)


def cluster_states(X: Matrix, w: Weights, K: int, allowed: Mask | None, rng: Rng) -> Codes:
    """The cluster of each row, with the numbers of known states; rows of weight zero are in cluster 0."""
    clusters = np.zeros(len(X), dtype=np.int64)
    if K > 1:
        clusters[w > 0] = kmeans_clusters(X, w, K, rng).labels
    return renumbered(clusters, allowed, K)


def filled(X: Matrix, w: Weights) -> Doubles:
    """X in float64, with the mean of the column for missing entries."""
    missing = np.isnan(X)
    if not missing.any():
        return np.asarray(X, dtype=np.float64)
    seen = np.where(missing, 0.0, X)
    return np.where(missing, (w @ seen) / np.maximum(w @ ~missing, np.finfo(float).tiny), X).astype(np.float64)


def overall_covariance(X: Matrix, w: Weights, kind: str, K: int, floor: float) -> Doubles:
    """The covariance of all rows for every state, in the shape of its type; `floor` is added to variances."""
    d = X.shape[1]
    centred = X - np.average(X, axis=0, weights=w)
    total = w.sum()
    sigma = (w[:, None] * centred).T @ centred / max(total - 1, 1e-12 * total) if total > 1 else np.zeros((d, d))
    sigma = sigma + max(floor, np.finfo(float).tiny) * np.eye(d)
    if kind == "tied":
        return np.asarray(sigma)
    if kind == "full":
        return np.tile(sigma, (K, 1, 1))
    variances = np.tile(np.diag(sigma), (K, 1))
    return variances if kind == "diag" else variances.mean(axis=1)


def renumbered(clusters: Codes, allowed: Mask | None, K: int) -> Codes:
    """Clusters with the numbers of the states that their rows are known to have; rows go where they may."""
    if allowed is None:
        return clusters
    agree = np.zeros((K, K))  # clusters by states
    known = allowed.sum(axis=1) < K
    np.add.at(agree, clusters[known], allowed[known] / allowed[known].sum(axis=1, keepdims=True))
    _, state = linear_sum_assignment(-agree)
    found: Codes = state[clusters]
    wrong = ~allowed[np.arange(len(found)), found]
    found[wrong] = allowed[wrong].argmax(axis=1)
    return found
