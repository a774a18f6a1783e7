"""Trimmed k-means: k-means that gives the rows farthest from all centres no weight.

    min over c, r and v of  sum_i v_i |x_i - c_{r_i}|^2        0 <= v_i <= w_i,  sum_i v_i = (1 - alpha) sum_i w_i

assign   r_i = argmin_k |x_i - c_k|
trim     v_i = 0 for the farthest rows, alpha of all weight
update   c_k = mean of its rows, weighted by v

No step increases the sum. Starts are drawn at random: k-means++ would begin with the outliers.
Cuesta-Albertos, Gordaliza & Matran (1997); Chawla & Gionis (2013), k-means--.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from fivefold.cluster.centres.prototypes import CentresModel
from fivefold.cluster.centres.restarts import Init, RestartedClusterer, best_run
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Range
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Table, Vector, Weights
from fivefold.spatial.centres.lloyd import LloydResult, nearest_distances
from fivefold.spatial.centres.trimmed_means import TrimmedUpdate, trimmed_weights


@dataclass(frozen=True)
class TrimmedCentres(CentresModel):
    """Centres, and the distance from them beyond which rows were left out."""

    radius: float = np.inf


class TrimmedKMeans(RestartedClusterer):
    """K-means without the rows that are farthest from all centres: outliers have no weight.

    Parameters
    ----------
    trim
        share of the weight of the rows that is left out.

    Attributes
    ----------
    labels_
        the cluster of each row, -1 for rows that were left out.
    inertia_
        weighted sum of squared distances to the nearest centre, of the rows that were kept.
    cost_
        weighted sum of distances to the nearest centre, not squared, of the rows that were kept.
    radius_
        the distance from the nearest centre beyond which rows were left out, and new ones get the label -1.

    Examples
    --------
    >>> from fivefold.cluster import TrimmedKMeans
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [90.0], [-70.0]]
    >>> model = TrimmedKMeans(2, trim=0.25, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().tolist()), (model.labels_ < 0).tolist()
    ([1.0, 51.0], [False, False, False, False, False, False, True, True])
    """

    _: KW_ONLY
    init: Init = "random"
    trim: Annotated[float, Range(0, 1, open_high=True)] = 0.1

    card = Card(
        applications=("clustering", "outlier detection"),
        use="Compact groups among a known share of outliers, which are told apart. KMedians needs no share; without "
        "outliers use KMeans.",
        steps=(
            "Draw K distinct rows as centres.",
            "Give each row to its nearest centre.",
            "Leave out the rows that are farthest from their centre, as many as the share says.",
            "Move each centre to the weighted mean of its other rows.",
            "Repeat until neither clusters nor the rows left out change; of several runs keep the best.",
        ),
        source="Cuesta-Albertos, Gordaliza & Matran (1997); Chawla & Gionis (2013)",
        see_also=("KMeans", "KMedians", "DBSCAN"),
        variants=({"n_clusters": 3, "trim": 0.25, "n_init": 3}, {"n_clusters": 2, "trim": 0.0}),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    radius_ = learned("radius")

    def _fit_centres(self, X: Table, w: Weights) -> tuple[CentresModel, Codes]:
        found, _ = best_run(self, X, w, TrimmedUpdate(self.trim), _last_value)
        labels, squares = nearest_distances(X, found.centres)
        v, edge = trimmed_weights(squares, w, self.trim)
        radius = float(np.sqrt(edge)) if self.trim else np.inf
        model = TrimmedCentres(
            found.centres, float(v @ squares), float(v @ np.sqrt(squares)), found.n_iter, found.runs, radius
        )
        return model, _without_far(labels, squares, radius)

    def _assign(self, X: Table) -> Codes:
        return _without_far(*nearest_distances(X, self.model_.centres), self.model_.radius)

    def decode(self, codes: Codes) -> Matrix:
        """The centre of each code of `predict`; NaN for rows that belong to none."""
        C = self.model_.centres
        return np.vstack([C, np.full((1, C.shape[1]), np.nan, C.dtype)])[np.asarray(to_numpy(codes))]


def _last_value(fit: LloydResult) -> float:
    return fit.history[-1]


def _without_far(labels: Codes, squares: Vector, radius: float) -> Codes:
    """Labels, -1 for rows farther than the radius, but for rounding."""
    return np.where(np.sqrt(squares) <= radius * (1 + 1e-9), labels, -1).astype(np.int32)
