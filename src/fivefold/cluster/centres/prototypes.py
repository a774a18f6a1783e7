"""What clusterers with centres share: each row belongs to the nearest centre, which represents it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_weights
from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.estimators.base import Clusterer, Transformer, learned
from fivefold.core.estimators.chunk_answers import scored_chunks
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Codes, Matrix, Table, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.spatial.centres.lloyd import nearest_centres, nearest_distances
from fivefold.spatial.distances import squared_distances


@dataclass(frozen=True)
class RunRecord:
    """One run and where it ended. The objective serves to compare runs; it is not an error rate."""

    objective: float
    n_iter: int
    agreement: float  # adjusted Rand index with the run that was kept: 1 for the same clusters, 0 as by chance


@dataclass(frozen=True)
class CentresModel:
    """K centres and how well they represent the rows they were found from."""

    centres: Matrix  # (K, d)
    inertia: float  # sum of w |x - c|^2
    cost: float  # sum of w |x - c|
    n_iter: int
    runs: tuple[RunRecord, ...] = ()


class HasCentres(Protocol):
    """A model of K clusters."""

    @property
    def centres(self) -> Matrix: ...  # (K, d)


class PrototypeClusterer(Transformer, Clusterer):
    """Base of clusterers that represent a cluster by its centre.

    Parameters
    ----------
    n_clusters
        number of clusters.
    init
        how to start: "k-means++" draws rows far apart, "random" draws distinct rows, an array gives the centres, a
        function of X, n_clusters and random_state returns them.
    max_iter
        maximum number of steps of one run.
    tol
        a run ends when the squared moves of the centres sum to less than this share of the mean variance of the
        columns, or when no row changes its cluster.
    verbose
        print a line for each step of each run, and why the run ended.
    random_state
        seed of the draws of starting centres.

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
        self.model_, self.labels_ = self._fit_centres(X, w)

    def _fit_centres(self, X: Table, w: Weights) -> tuple[HasCentres, Codes | None]:
        """The model, and the label of each row unless labels are not wanted."""
        raise TypeError(f"{type(self).__name__} does not say how to find its centres")

    def _label(self, X: Table) -> None:
        if source_of(X) is not None:
            self.labels_ = self.predict(X)
        elif len(self.labels_) < X.shape[0]:  # rows of weight zero were left out
            super()._label(X)

    def _assign(self, X: Table) -> Codes:
        return nearest_centres(X, self.model_.centres)

    def transform(self, X: UserTable) -> Matrix:
        """The distance of each row to each centre."""
        return squared_distances(self._admit(X), self.model_.centres) ** 0.5

    def fit_transform(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Matrix:
        """Fit, and give the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def decode(self, codes: Codes) -> Matrix:
        """The centre of each code of `predict`: rows quantised with the centres as codebook."""
        return self.model_.centres[np.asarray(to_numpy(codes))]

    def score(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> float:
        """Minus the objective of the method, over the rows of X."""
        if (source := source_of(X)) is not None:
            sums = scored_chunks(self, source, None, sample_weight, lambda X, y, w: self.score(X, None, w))
            return float(sum(sums))
        X = self._admit(X)
        return -float(
            admit_weights(self, sample_weight, X) @ self._row_loss(nearest_distances(X, self.model_.centres)[1])
        )

    def _row_loss(self, squared_distances: Vector) -> Vector:
        """What each row adds to the objective, from its squared distance to its centre."""
        return squared_distances

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.centres)
