"""Does a map keep neighbourhoods? Trustworthiness asks for false neighbours, continuity for lost ones.

    T(k) = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in U_i} (r(i, j) - k)

U_i holds rows among the k nearest of i on the map that are not among the k nearest of i in the table, where j has rank
r(i, j). Continuity is the same with map and table exchanged. Of equally near rows the one with the smaller number is
nearer.

Venna & Kaski (2001), Neighborhood preservation in nonlinear projection methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, UserTable
from fivefold.manifold.embeddings.stress_loops import excess_ranks
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.search import NeighborIndex

ENTRIES_PER_BLOCK = 1 << 20  # distances that are held at a time, per thread


def trustworthiness(
    X: UserTable, X_embedded: UserTable, *, n_neighbors: int = 5, metric: str | Callable[..., Any] = "euclidean"
) -> float:
    """How far neighbours on a map are neighbours in the table: one if all are; false ones count by their rank.

    Examples
    --------
    >>> from fivefold.manifold import trustworthiness
    >>> trustworthiness([[0.0], [1.0], [2.0], [3.0], [4.0]], [[0.0], [1.0], [2.0], [3.0], [4.0]], n_neighbors=2)
    1.0
    """
    return _preserved("trustworthiness", X, metric, X_embedded, "euclidean", n_neighbors)


def continuity(
    X: UserTable, X_embedded: UserTable, *, n_neighbors: int = 5, metric: str | Callable[..., Any] = "euclidean"
) -> float:
    """How far neighbours in the table are neighbours on a map: one if all are; lost ones count by their rank.

    Examples
    --------
    >>> from fivefold.manifold import continuity
    >>> round(continuity([[0.0], [1.0], [2.0], [3.0], [4.0]], [[0.0], [1.0], [2.0], [3.0], [-9.0]], n_neighbors=1), 4)
    0.7333
    """
    return _preserved("continuity", X_embedded, "euclidean", X, metric, n_neighbors)


def _preserved(owner: str, ranked: UserTable, metric: Any, near: UserTable, near_metric: Any, k: int) -> float:
    """One less the scaled sum of ranks, in one table, of rows that are near in the other."""
    A = check_array(ranked, accept_sparse="csr", dtype=[np.float64, np.float32])
    B = check_array(near, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = A.shape[0]
    if B.shape[0] != n:
        raise ValueError(f"{owner}: the table and the map must have the same rows; they have {n} and {B.shape[0]}")
    if k >= n / 2:
        raise ValueError(f"{owner}: n_neighbors ({k}) should be less than n_samples / 2 ({n / 2}); ask for fewer")
    found = NeighborIndex(B, near_metric).query(None, k)[1]
    rows, sums = max(1, ENTRIES_PER_BLOCK // n), np.empty(n)

    def task(i: int) -> None:
        lo, hi = i * rows, min((i + 1) * rows, n)
        excess_ranks(_distances(A, lo, hi, metric), lo, found[lo:hi], sums[lo:hi])

    map_items(task, -(-n // rows))
    return float(1.0 - sums.sum() * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)))


def _distances(A: Any, lo: int, hi: int, metric: Any) -> Doubles:
    """Distances of rows lo..hi to all rows, or their squares: the order is the same."""
    if isinstance(metric, str) and metric == "precomputed":
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"precomputed distances of n rows to each other are (n, n); X is {A.shape}")
        return np.ascontiguousarray(A[lo:hi], dtype=np.float64)
    if isinstance(metric, str) and metric == "euclidean":
        return np.asarray(squared_distances(A[lo:hi], A), dtype=np.float64)
    return np.asarray(pairwise_distances(A[lo:hi], A, metric=metric), dtype=np.float64)
