"""K-medians: K centres with a small sum of distances, not squared, from the rows to their nearest centre.

    min over c and r of  sum_i w_i |x_i - c_{r_i}|

assign   r_i = argmin_k |x_i - c_k|
update   c_k = geometric median of the rows with r_i = k, by Weiszfeld's steps

A far row pulls its centre no harder than any other row, so outliers do not drag centres as they do in k-means.
Neither step increases the sum. Weiszfeld (1937); Vardi & Zhang (2000); seeds and assignment as in k-means.
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from fivefold.cluster.centres.prototypes import CentresModel
from fivefold.cluster.centres.restarts import RestartedClusterer, best_run
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Table, Vector, Weights
from fivefold.spatial.centres.geometric_medians import median_update


class KMedians(RestartedClusterer):
    """K-medians clustering: like k-means, but outliers do not drag the centres.

    Attributes
    ----------
    cluster_centers_
        the geometric medians (n_clusters, n_features).
    cost_
        weighted sum of distances to the nearest centre: the objective.

    Examples
    --------
    >>> from fivefold.cluster import KMedians
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [53.0], [90.0]]
    >>> sorted(KMedians(2, random_state=0).fit(X).cluster_centers_.ravel().tolist())
    [1.0, 52.0]
    """

    card = Card(
        applications=("clustering", "quantization"),
        use="Compact groups among outliers or heavy tails, where k-means would place a centre on a few far rows. "
        "A step costs more than one of k-means; without outliers use KMeans.",
        steps=(
            "Draw K rows far apart as centres.",
            "Give each row to its nearest centre.",
            "Move each centre to the geometric median of its rows, by means weighted by one over the distance.",
            "Repeat until no row changes its cluster or the centres hardly move.",
            "Of several runs keep the one with the smallest sum of distances.",
        ),
        source="Weiszfeld (1937); Vardi & Zhang (2000)",
        see_also=("KMeans", "GaussianMixture"),
        variants=({"n_clusters": 3, "init": "random", "n_init": 3},),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    def _fit_centres(self, X: Table, w: Weights) -> tuple[CentresModel, Codes]:
        return best_run(self, X, w, median_update, attrgetter("cost"))

    def _row_loss(self, squared_distances: Vector) -> Vector:
        return np.sqrt(squared_distances)
