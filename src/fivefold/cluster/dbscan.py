"""DBSCAN: clusters are rows that are dense together; rows in thin places are noise.

A row is a core row if the rows within `eps` of it, itself among them, weigh at least `min_samples`. Core rows within
`eps` of each other belong to one cluster. A row that is no core row joins the first cluster, in the order of labels,
that has a core row within `eps` of it; without one it is noise.

Ester, Kriegel, Sander & Xu (1996); Schubert, Sander, Ester, Kriegel & Xu (2017), DBSCAN revisited, revisited.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import with_callbacks

from fivefold.cluster.neighborhoods.base import Algorithm, Metric, NeighborhoodClusterer, Power
from fivefold.cluster.neighborhoods.dense_regions import StoredGraph, dense_regions, radius_graph_of
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Positive
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Indices, Table, UserTable, UserTarget, UserWeights, Weights


@dataclass(frozen=True)
class DenseClusters:
    """Labels of the rows of fit, and the core rows."""

    labels: Codes  # (n,), -1 for noise
    core_rows: Indices  # their numbers
    components: Any  # the core rows themselves


class DBSCAN(NeighborhoodClusterer):
    """Clusters of any form, as dense regions; rows between them are noise.

    Parameters
    ----------
    eps
        the radius of a neighbourhood.
    min_samples
        rows, or their weight, in the neighbourhood of a core row, itself included.

    Attributes
    ----------
    core_sample_indices_
        numbers of the core rows.
    components_
        the core rows.

    Examples
    --------
    >>> from fivefold.cluster import DBSCAN
    >>> DBSCAN(eps=3, min_samples=2).fit_predict([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]])
    array([ 0,  0,  0,  1,  1, -1])
    """

    eps: Positive = 0.5
    _: KW_ONLY
    min_samples: Count = 5
    metric: Metric = "euclidean"
    metric_params: dict[Any, Any] | None = None
    algorithm: Algorithm = "auto"
    leaf_size: Count = 30
    p: Power | None = None
    n_jobs: int | None = None

    card = Card(
        applications=("clustering", "outlier detection"),
        use="Clusters of any form and an unknown number, of about the same density, with noise between them, in few "
        "columns of like scale. Where densities differ, use HDBSCAN.",
        steps=(
            "Count the rows within eps of each row; those with min_samples or more are core rows.",
            "Link core rows within eps of each other: linked ones are a cluster.",
            "Give each other row to the first cluster with a core row within eps of it; the rest is noise.",
        ),
        source="Ester, Kriegel, Sander & Xu (1996)",
        see_also=("HDBSCAN", "OPTICS", "MeanShift", "KMeans", "LocalOutlierFactor"),
        given={"eps": 2.0},
        variants=({"eps": 1.5, "min_samples": 3, "metric": "manhattan"},),
        growth=1.5,
    )

    core_sample_indices_ = learned("core_rows")
    components_ = learned("components")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Self:
        """Find the clusters of the rows of X; a weight of two means a row is there twice."""
        return self._fit_admitted(X, y, sample_weight, given=sample_weight)

    def fit_predict(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Codes:
        """Fit, and give the label of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def _fit(self, X: Table, w: Weights, given: UserWeights = None) -> None:
        kept, n = _positive_rows(given, X.shape[0])
        if self.metric == "precomputed":
            X = X[:, kept]
        index = self._index(X, self.algorithm, int(self.leaf_size), self.p)
        if issparse(X) and self.metric == "precomputed":
            labels, core = dense_regions(StoredGraph(X, self.eps), w, self.min_samples)
        else:
            labels, core = dense_regions(radius_graph_of(index, float(self.eps)), w, self.min_samples)
        full = np.full(n, -1, np.intp)
        full[kept] = labels
        self.model_ = DenseClusters(full, np.arange(n)[kept][core], X[np.flatnonzero(core)])


def dbscan(
    X: UserTable,
    eps: float = 0.5,
    *,
    min_samples: int = 5,
    metric: Any = "minkowski",  # as in DBSCAN
    metric_params: dict[Any, Any] | None = None,
    algorithm: Algorithm = "auto",
    leaf_size: int = 30,
    p: float | None = 2,
    sample_weight: UserWeights = None,
    n_jobs: int | None = None,
) -> tuple[Indices, Codes]:
    """The core rows that `DBSCAN` finds, and the label of each row.

    Examples
    --------
    >>> from fivefold.cluster import dbscan
    >>> core, labels = dbscan([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]], eps=3, min_samples=2)
    >>> core.tolist(), labels.tolist()
    ([0, 1, 2, 3, 4], [0, 0, 0, 1, 1, -1])
    """
    model = DBSCAN(
        eps,
        min_samples=min_samples,
        metric=metric,
        metric_params=metric_params,
        algorithm=algorithm,
        leaf_size=leaf_size,
        p=p,
        n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)
    return model.core_sample_indices_, model.labels_


def _positive_rows(given: UserWeights, n: int) -> tuple[Any, int]:
    """The rows of positive weight, and how many rows there are."""
    if given is None:
        return slice(None), n
    w = np.ravel(np.asarray(to_numpy(given), dtype=np.float64))
    return (slice(None), n) if w.size <= 1 else (np.flatnonzero(w), len(w))
