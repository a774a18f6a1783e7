"""What clusterers with centres share: rows go to the nearest centre, which stands for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights
from fivefold.core.estimators.base import Clusterer, Transformer, learned
from fivefold.core.types import Array, Table, UserTable, UserTarget, UserWeights, Weights
from fivefold.spatial.centres.lloyd import nearest_centres, nearest_distances
from fivefold.spatial.distances import squared_distances


@dataclass(frozen=True)
class RunRecord:
    """One start and where it led. The objective compares runs; it is not an error."""

    objective: float
    n_iter: int
    agreement: float  # with the run that was kept: 1 the same clusters, 0 no more alike than by chance


@dataclass(frozen=True)
class CentresModel:
    """K centres and how well they stand for the rows they were found from."""

    centres: Array  # (K, d)
    inertia: float  # sum of w |x - c|^2
    cost: float  # sum of w |x - c|
    n_iter: int
    runs: tuple[RunRecord, ...] = ()


class PrototypeClusterer(Transformer, Clusterer):
    """Base of clusterers that stand for a cluster by its centre.

    Parameters
    ----------
    n_clusters
        number of clusters.
    init
        how to start: "k-means++" draws rows far apart, "random" draws different rows, an array gives the centres, a
        function of X, n_clusters and random_state returns them.
    max_iter
        most steps of one run.
    tol
        a run ends when the squared moves of the centres sum to less than this share of the mean variance of the
        columns, or when no row changes its cluster.
    verbose
        print a line for each step of each run, and why it ended.
    random_state
        decides the seeds.

    Attributes
    ----------
    cluster_centers_
        the centres (n_clusters, n_features).
    labels_
        the cluster of each row.
    inertia_
        weighted sum of squared distances to the nearest centre.
    n_iter_
        steps of the run that was kept.
    """

    takes = Takes(sparse=True)

    cluster_centers_ = learned("centres")
    inertia_ = learned("inertia")
    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, w: Weights) -> None:
        self.model_, self.labels_ = self._find(X, w)

    def _find(self, X: Table, w: Weights) -> tuple[Any, Any]:
        """The model, and the label of each row."""
        raise TypeError(f"{type(self).__name__} does not say how to find its centres")

    def _label(self, X: Table) -> None:
        if len(self.labels_) < X.shape[0]:  # rows of weight zero were left out
            super()._label(X)

    def _assign(self, X: Table) -> Any:
        return nearest_centres(X, self.model_.centres)

    def transform(self, X: UserTable) -> Any:
        """The distance of each row to each centre."""
        return np.sqrt(squared_distances(self._admit(X), self.model_.centres))

    def fit_transform(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Any:
        """Fit, and give the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def decode(self, codes: Any) -> Any:
        """The centre that stands for each code of `predict`: rows quantised with the centres as codebook."""
        return self.model_.centres[np.asarray(codes)]

    def score(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> float:
        """Minus what the method makes small, over the rows of X."""
        X = self._admit(X)
        return -float(admit_weights(self, sample_weight, X) @ self._loss(nearest_distances(X, self.model_.centres)[1]))

    def _loss(self, squares: Any) -> Any:
        """What a row adds to the objective, from its squared distance to its centre."""
        return squares

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.centres)
