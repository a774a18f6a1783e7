"""Step-wise optimal agglomerative clustering: clusters of any flat clustering merge so that a cost grows least.

    l'_1 = l(X, r);  repeat: over all pairs c1 != c2 of labels choose the merge r^{c1=c2} of least cost l(X, r^{c1=c2})

From single rows with the squared cost it is Ward's linkage. It makes a tree of any flat clustering, in which the
starting clusters are leaves. Duda, Hart & Stork (2001), chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.cluster.hierarchy.merge_path import (
    ClusteringCost,
    MergePath,
    distance_cost,
    merge_stepwise,
    squared_cost,
)
from fivefold.cluster.hierarchy.progress import KeptWhenInterrupted
from fivefold.cluster.kmeans import KMeans
from fivefold.core._sklearn import ClusterMixin
from fivefold.core.console.fit_progress import fit_steps
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Count, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Table

COSTS: dict[str, ClusteringCost] = {"squared": squared_cost, "distances": distance_cost}


@dataclass(frozen=True)
class StepwiseModel:
    """The merges, and the labels that were asked for."""

    path: MergePath
    labels: Codes


class StepwiseAgglomeration(ClusterMixin, Unsupervised):
    """A tree of merges that begins with any flat clustering and follows any cost.

    Parameters
    ----------
    n_clusters
        number of clusters that are left.
    cost
        what merges are to keep small: "squared" and "distances" are sums over rows of the squared or plain distance to
        the mean of the cluster; or a function of X and of labels.
    start
        clusters to begin with: a number of them, found by KMeans; "rows" for each row alone; labels of the rows; or a
        clusterer.
    random_state
        seed of KMeans.

    Attributes
    ----------
    labels_
        the cluster of each row.
    costs_
        the cost before the first merge and after each, down to one cluster.
    path_
        the MergePath: assignments at any number of clusters, and trees with increases of the cost as heights.

    Examples
    --------
    >>> from fivefold.cluster import StepwiseAgglomeration
    >>> model = StepwiseAgglomeration(2, start="rows").fit([[0.0], [1.0], [9.0], [12.0]])
    >>> model.costs_, model.labels_
    (array([  0. ,   0.5,   5. , 105. ]), array([0, 0, 1, 1]))
    """

    n_clusters: Count = 2
    _: KW_ONLY
    cost: Literal["squared", "distances"] | Callable[..., Any] = "squared"
    start: Any = 20
    random_state: Seed = None

    card = Card(
        applications=("clustering", "quantization"),
        use="A tree over the clusters of another method, as for many rows, where a tree over the rows costs too much; "
        "or a cost of your own. With single rows and the squared cost use AgglomerativeClustering, which is faster.",
        steps=(
            "Begin with a flat clustering.",
            "Try every merge of two clusters, and keep the one after which the cost is smallest.",
            "Repeat until one cluster is left; give the labels where n_clusters were.",
        ),
        source="Duda, Hart & Stork (2001), chapter 10",
        see_also=("AgglomerativeClustering", "KMeans"),
        variants=({"cost": "distances", "n_clusters": 3, "start": 8},),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    labels_ = learned("labels")
    costs_ = learned("path.costs")
    path_ = learned("path")

    def _fit(self, X: Table) -> None:
        r = self._start_labels(X)
        k = int(r.max()) + 1
        if self.n_clusters > k:
            raise ValueError(
                f"StepwiseAgglomeration: n_clusters={self.n_clusters} is more than the {k} clusters it starts from "
                f"(n_samples={len(X)}); start from more"
            )
        cost = COSTS[self.cost] if isinstance(self.cost, str) else self.cost
        with fit_steps(self, "merge", max(k - 1, 1), X) as monitor:
            watch = KeptWhenInterrupted(monitor)
            path = merge_stepwise(X.astype(np.float64, copy=False), r, cost, watch)
        watch.warn(self, "merge")
        self.model_ = StepwiseModel(path, np.unique(path.assignment(self.n_clusters), return_inverse=True)[1])

    def _start_labels(self, X: Table) -> Codes:
        """Labels 0..k-1."""
        start, n = self.start, len(X)
        if isinstance(start, str):
            if start != "rows":
                raise ValueError(f"StepwiseAgglomeration: start={start!r}; the only word that it takes is 'rows'")
            return np.arange(n)
        if isinstance(start, int | np.integer) and not isinstance(start, bool):
            if start < 1:
                raise ValueError(f"StepwiseAgglomeration: start={start}; begin with at least one cluster")
            k = min(int(start), len(np.unique(X, axis=0)))
            labels = KMeans(k, n_init=1, random_state=self.random_state).fit(X).labels_
        else:
            labels = start.fit(X).labels_ if hasattr(start, "fit") else np.asarray(start)
        if np.shape(labels) != (n,):
            raise ValueError(
                f"StepwiseAgglomeration: start gives labels of shape {np.shape(labels)} for {n} rows; give one per row"
            )
        found: Codes = np.unique(labels, return_inverse=True)[1]
        return found
