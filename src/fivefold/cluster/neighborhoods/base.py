"""What clusterers by density have in common: a metric, labels of the rows of fit, and no labels for others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from scipy.sparse import issparse

from fivefold.core._sklearn import ClusterMixin, Tags
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Range
from fivefold.core.types import Table
from fivefold.spatial.search import NeighborIndex

Algorithm: TypeAlias = Literal["auto", "ball_tree", "kd_tree", "brute"]
Metric: TypeAlias = str | Callable[..., Any]
Power: TypeAlias = Annotated[float, Range(0, open_low=True)]
SPARSE_METRICS = ("euclidean", "l2", "sqeuclidean", "cosine", "precomputed")  # sparse rows are made dense for others


class DistanceTakes:
    """What a method takes: given distances are not negative."""

    def __init__(self, takes: Takes) -> None:
        self.takes = takes

    def __get__(self, estimator: object, owner: type | None = None) -> Takes:
        given = estimator is not None and vars(estimator).get("metric") == "precomputed"
        return replace(self.takes, positive=True) if given else self.takes


class NeighborhoodClusterer(ClusterMixin, Unsupervised):
    """Base of clusterers that label the rows of fit by their neighbourhoods.

    Parameters
    ----------
    metric
        the name of a distance, a function of two rows, or "precomputed", where X holds distances between all rows; in a
        sparse X, pairs that are not stored are no neighbours.
    metric_params
        further arguments of the metric.
    algorithm
        "brute" compares with all rows, "kd_tree" and "ball_tree" leave out those that are too far; "auto" chooses by
        the shape of the table. The result is the same.
    leaf_size
        rows in a leaf of a tree, at least.
    p
        the power of Minkowski's distance.
    n_jobs
        no effect: searches use all cores, and the result does not depend on their number.

    Attributes
    ----------
    labels_
        the cluster of each row, -1 for noise.
    """

    takes: ClassVar[Any] = DistanceTakes(Takes(sparse=True))

    labels_ = learned("labels")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = vars(self)["metric"] == "precomputed"
        return tags

    def _index(self, X: Table, algorithm: Algorithm, leaf_size: int, p: float | None = None) -> NeighborIndex:
        """The rows in the form of a search."""
        metric: Any = vars(self)["metric"]
        if metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: Precomputed matrix must be square: distances of n rows to themselves; X has "
                f"{X.shape[0]} rows and {X.shape[1]} columns"
            )
        params = dict(vars(self)["metric_params"] or {})
        power = params.pop("p", 2.0 if p is None else p) if metric == "minkowski" else 2.0
        rows = X.toarray() if issparse(X) and metric not in SPARSE_METRICS else X
        return NeighborIndex(rows, metric, p=power, metric_params=params, algorithm=algorithm, leaf_size=leaf_size)
