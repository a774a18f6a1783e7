"""Rows that are unlikely to be support vectors, found before the machine is fitted.

A row all of whose nearest neighbours have its class lies inside its class, beyond the margin of any sensible boundary;
without such rows the machine is the same or nearly so, and its time, which grows with the square of the rows or faster,
falls. Rows that are mislabelled have neighbours of other classes, and stay: they are support vectors too.

Alpaydin (2014), chapter 13.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from fivefold.core.estimators.supervised_learning import encode_labels
from fivefold.core.parallel import map_items
from fivefold.core.types import Mask, UserTable, UserTarget
from fivefold.spatial.distances import squared_distances

BLOCK_ENTRIES = 1 << 22  # distances held at a time by a thread


def likely_support_vectors(X: UserTable | ArrayLike, y: UserTarget, *, n_neighbors: int = 11) -> Mask:
    """Which rows to keep: those with another class among their nearest neighbours.

    Scale the columns first, as for the machine. A class that would keep no row keeps all of them, and so does a table
    with at most `n_neighbors` rows.

    Examples
    --------
    >>> X = np.arange(10.0)[:, None]
    >>> likely_support_vectors(X, X[:, 0] > 4.5, n_neighbors=2).nonzero()[0]
    array([4, 5])
    """
    if issparse(X):
        raise TypeError("likely_support_vectors: takes dense tables; reduce the columns of a sparse one first")
    Z = np.asarray(X, dtype=np.float64)
    codes = encode_labels(np.asarray(y))[1]
    n = len(Z)
    if n_neighbors < 1 or len(codes) != n:
        raise ValueError(
            f"likely_support_vectors: n_neighbors={n_neighbors} must be at least 1, and y as long as X: {len(codes)} "
            f"labels for {n} rows"
        )
    kept = np.ones(n, dtype=bool)
    if n <= n_neighbors:
        return kept
    Z = Z - Z.mean(axis=0)
    block = max(1, BLOCK_ENTRIES // n)

    def part(i: int) -> None:
        rows = np.arange(i * block, min((i + 1) * block, n))
        D = np.asarray(squared_distances(Z[rows], Z))
        D[np.arange(len(rows)), rows] = np.inf  # a row is no neighbour of itself
        near = np.argpartition(D, n_neighbors - 1, axis=1)[:, :n_neighbors]
        kept[rows] = (codes[near] != codes[rows, None]).any(axis=1)

    map_items(part, -(-n // block))
    for k in range(int(codes.max()) + 1):
        if not kept[codes == k].any():
            kept[codes == k] = True
    return kept
