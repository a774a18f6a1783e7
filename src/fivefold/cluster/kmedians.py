"""K-medians: K centres that make the distance, not squared, of the rows to their nearest centre small.

    min over c and r of  sum_i w_i |x_i - c_{r_i}|

assign   r_i = argmin_k |x_i - c_k|
update   c_k = geometric median of the rows with r_i = k, by Weiszfeld's steps

A far row pulls its centre with the force of any other, so outliers do not drag centres as they do in k-means.
Neither step increases the sum. Weiszfeld (1937); Vardi & Zhang (2000); seeds and assignment as in k-means.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from fivefold.cluster.centres.prototypes import CentresModel, PrototypeClusterer
from fivefold.cluster.centres.restarts import Init, best_run
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.types import Table, Weights
from fivefold.spatial.centres.geometric_medians import median_update


class KMedians(PrototypeClusterer):
    """K-medians clustering: like k-means, but outliers do not drag the centres.

    Parameters
    ----------
    n_init
        runs from different starts, of which the one with the smallest cost is kept; "auto" makes one run with
        "k-means++" or given centres, ten otherwise.

    Attributes
    ----------
    cluster_centers_
        the geometric medians (n_clusters, n_features).
    cost_
        weighted sum of distances to the nearest centre: what is made small.
    runs_
        for each run its cost, its steps, and how far its clusters agree with those kept. An objective says how
        runs compare; it is not an error rate.

    Examples
    --------
    >>> from fivefold.cluster import KMedians
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [53.0], [90.0]]
    >>> sorted(KMedians(2, random_state=0).fit(X).cluster_centers_.ravel().tolist())
    [1.0, 52.0]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Init = "k-means++"
    n_init: Count | Literal["auto"] = "auto"
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    verbose: Index | bool = 0
    random_state: Seed = None

    cost_ = learned("cost")
    runs_ = learned("runs")

    card = Card(
        applications=("clustering", "quantization"),
        use="Compact groups among outliers or heavy tails, where k-means would place a centre on a few far rows. "
        "A step costs more than one of k-means; without outliers use KMeans.",
        steps=(
            "Draw K rows far apart as centres.",
            "Give each row to its nearest centre.",
            "Move each centre to the geometric median of its rows, by means under weights of one over the distance.",
            "Repeat until no row changes its cluster or the centres hardly move.",
            "Of several runs keep the one with the smallest sum of distances.",
        ),
        source="Weiszfeld (1937); Vardi & Zhang (2000)",
        see_also=("KMeans", "GaussianMixture"),
        variants=({"n_clusters": 3, "init": "random", "n_init": 3},),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    def _find(self, X: Table, w: Weights) -> tuple[CentresModel, Any]:
        return best_run(self, X, w, median_update, attrgetter("cost"))

    def _loss(self, squares: Any) -> Any:
        return np.sqrt(squares)
