"""Neighbours of several rows, a different number for each, one after the other in memory (CSR)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from fivefold.core.types import Indices, Sparse, Vector


class Neighborhoods(NamedTuple):
    """Neighbours of row i: rows[indptr[i] : indptr[i + 1]], nearest first, of equally near the first, if sorted."""

    indptr: Indices  # (m + 1,) int64
    rows: Indices  # (total,) int64
    distances: Vector  # (total,)

    def counts(self) -> Indices:
        """How many neighbours each row has (m,)."""
        return np.diff(self.indptr)

    def by_query(self, values: Any) -> Any:
        """An array of one array per query, of its rows, distances, or what else there is for each neighbour."""
        out = np.empty(len(self.indptr) - 1, dtype=object)
        for i, (a, b) in enumerate(pairwise(self.indptr.tolist())):
            out[i] = values[a:b]
        return out

    def matrix(self, n: int) -> Sparse:
        """The distances as a sparse matrix (m, n)."""
        return csr_matrix((self.distances, self.rows, self.indptr), shape=(len(self.indptr) - 1, n))
