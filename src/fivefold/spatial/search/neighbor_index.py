"""An index of rows that answers which of them are nearest, exactly, by any metric.

Queries and fitted rows go through the coordinates of the metric (metrics/); the search itself compares all rows, or
walks a tree. Of equally near rows the one with the smaller number comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances

from fivefold.core.types import Doubles, Indices, Matrix, Table, Vector
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.named_metrics import vector_metric
from fivefold.spatial.metrics.object_metrics import EditMetric, ObjectMetric, PrecomputedMetric, UserMetric
from fivefold.spatial.search.neighborhoods import Neighborhoods
from fivefold.spatial.search.object_rows import BlockRows
from fivefold.spatial.search.row_votes import RowVotes
from fivefold.spatial.search.vector_search import Algorithm, VectorSearch

SPARSE_METRICS = {"euclidean", "l2", "minkowski", "sqeuclidean", "cosine", "manhattan", "l1", "cityblock"}


class NeighborIndex:
    """Rows to find neighbours among.

    Parameters
    ----------
    X
        The rows (n, d): an array or a sparse matrix; any sequence for metrics of objects; for `metric="precomputed"`
        the distances between all rows (n, n), or their number of columns (any, n).
    metric
        A name (see metrics/named_metrics.py), "edit" for strings, "precomputed", a function of two rows, or an object
        with a method `between`.

    Examples
    --------
    >>> distances, rows = NeighborIndex([[0.0], [1.0], [3.0]]).query([[0.9]], 2)
    >>> rows
    array([[1, 0]])
    """

    def __init__(
        self,
        X: Table,
        metric: str | Callable[..., float] | ObjectMetric = "minkowski",
        *,
        p: float = 2.0,
        metric_params: Mapping[str, Any] | None = None,
        algorithm: Algorithm = "auto",
        leaf_size: int = 30,
    ) -> None:
        self.X = X if issparse(X) else X if _is_objects(metric) else np.asarray(X)
        self.metric, self.p, self.metric_params = metric, p, metric_params
        self.algorithm, self.leaf_size = algorithm, leaf_size

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[1] if self.metric == "precomputed" else _length(self.X))

    @cached_property
    def measure(self) -> Any:  # a VectorMetric or an ObjectMetric
        """The metric as a value."""
        metric, params = self.metric, self.metric_params
        if metric == "precomputed":
            return PrecomputedMetric()
        if metric == "edit":
            return EditMetric()
        if metric == "pyfunc":
            given = dict(params or {})
            return UserMetric(given.pop("func"), given)
        if isinstance(metric, str):
            shape = self.X if not issparse(self.X) else np.empty((0, self.X.shape[1]))
            return vector_metric(metric, shape, self.p, params)
        return metric if hasattr(metric, "between") else UserMetric(metric, dict(params or {}))

    @cached_property
    def searcher(self) -> Any:  # a VectorSearch or BlockRows
        """What the rows are searched by."""
        if isinstance(self.measure, PrecomputedMetric):
            return BlockRows(lambda Q, a, b: _dense(Q[a:b]), self.n)
        if issparse(self.X):
            return BlockRows(lambda Q, a, b: self._sparse_distances(Q[a:b]), self.n)
        if not isinstance(self.measure, VectorMetric):
            return BlockRows(lambda Q, a, b: self.measure.between(Q[a:b], self.X), self.n)
        return VectorSearch(self.measure, self.measure.rows(self.X), self.algorithm, self.leaf_size)

    def query(self, Q: Table | None, k: int) -> tuple[Vector, Indices]:
        """Distances and numbers of the k nearest rows of each query (m, k), nearest first.

        Without Q: of each fitted row, which does not count as its own neighbour.
        """
        most = self.n - (Q is None)
        if not 1 <= k <= most:
            beside = " beside the row itself" if Q is None else ""
            raise ValueError(f"k is {k}; there are {most} rows to choose from{beside}")
        queries, own = self._queries(Q)
        values, rows = self.searcher.nearest(queries, own, k)
        return self._finish(values, Q), rows

    def query_radius(self, Q: Table | None, radius: float, *, sort: bool = True) -> Neighborhoods:
        """All rows within a distance of at most `radius` of each query, nearest first if sorted."""
        queries, own = self._queries(Q)
        ends, rows, values = self.searcher.within(queries, own, self._limit(radius), sort)
        return Neighborhoods(ends, rows, self._finish(values, Q, in_place=True))

    def radius_votes(self, Q: Table | None, radius: float, votes: RowVotes, *, by_distance: bool) -> Doubles:
        """Sums of the votes of all rows within a distance of at most `radius` of each query (m, sums per query).

        A vote counts one, or by one over the distance; up to a factor that is the same for all.
        """
        queries, own = self._queries(Q)
        power = 0.0 if not by_distance else self.measure.inverse_power if self._is_reduced else 1.0
        return np.asarray(self.searcher.sums(queries, own, self._limit(radius), votes, power))

    def distances(self, Q: Table | None = None) -> Matrix:
        """All distances from queries to rows (m, n)."""
        queries, own = self._queries(Q)
        found: Matrix = self._finish(self.searcher.distances(queries, len(own)), Q)
        return found.astype(np.float64, copy=False)

    def _queries(self, Q: Table | None) -> tuple[Any, Indices]:
        """Queries as the search takes them, and the row that is left out for each, or -1."""
        alone = Q is None
        Q = self.X if alone else Q if issparse(Q) or _is_objects(self.metric) else np.asarray(Q)
        m = _length(Q)
        own = np.arange(m) if alone else np.full(m, -1, np.int64)
        if isinstance(self.searcher, BlockRows):
            return Q, own
        return (self.searcher.X if alone and self.measure.coordinates is None else self.measure.rows(Q, True)), own

    def _finish(self, values: Doubles, Q: Table | None, in_place: bool = False) -> Vector:
        """Distances from what the search found, in the precision of the rows."""
        found = self.measure.distances(values, in_place) if self._is_reduced else values
        if _is_objects(self.metric):
            return found
        single = all(getattr(each, "dtype", None) == np.float32 for each in (self.X, self.X if Q is None else Q))
        return found.astype(np.float32) if single else found

    def _limit(self, radius: float) -> float:
        """The largest value of the rule whose distance is at most `radius`."""
        return self.measure.limit(float(radius)) if self._is_reduced else float(radius)

    @property
    def _is_reduced(self) -> bool:
        """Does the search give reduced distances?"""
        return isinstance(self.measure, VectorMetric) and not isinstance(self.searcher, BlockRows)

    def _sparse_distances(self, Q: Table) -> Matrix:
        """Distances of sparse queries to sparse rows (m, n)."""
        if not isinstance(self.metric, str) or self.metric not in SPARSE_METRICS:
            takes = ", ".join(sorted(SPARSE_METRICS))
            raise ValueError(f"metric={self.metric!r} does not take sparse rows; {takes} do")
        if self.measure.is_euclidean and self.measure.coordinates is None:
            return self.measure.distances(squared_distances(self.X, _dense(Q)).T)
        name = "cosine" if self.metric == "cosine" else "manhattan"
        return np.asarray(pairwise_distances(Q, self.X, metric=name))


def _is_objects(metric: Any) -> bool:
    return metric == "edit" or not (isinstance(metric, str) or callable(metric))


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _dense(X: Table) -> Matrix:
    return X.toarray() if issparse(X) else np.asarray(X)
