"""Outliers of hierarchical clustering: rows that join a cluster late, or only a tiny one.

    score(x_i) = minus the height at which the cluster of x_i first holds `min_cluster_size` rows

A new row joins its nearest row: its score is minus the larger of that distance and that row's height. Heights of single
and complete linkage do not change if rows are repeated.

Jain & Dubes (1988), agglomerative clustering.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import linkage

from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Table, Vector, Weights
from fivefold.density.detectors.base import RowScorer, ScoreDetector
from fivefold.density.sums.point_tree import coarse_origin
from fivefold.spatial.search import NeighborIndex

MAX_ROWS = 30_000  # SciPy keeps the distance of every pair: 3.6 GB for this many rows


@dataclass(frozen=True)
class JoinHeights:
    """The rows, and the height at which the cluster of each is large enough."""

    points: Matrix  # (n, d)
    heights: Doubles  # (n,)

    def scores(self, X: Table) -> Doubles:
        """Minus the height at which each row is in a cluster that is large enough."""
        distances, rows = NeighborIndex(self.points).query(X, 1)
        return -np.maximum(np.asarray(distances[:, 0], dtype=np.float64), self.heights[rows[:, 0]])


class DendrogramOutlierDetector(ScoreDetector):
    """Marks rows that hierarchical clustering joins last.

    Parameters
    ----------
    min_cluster_size
        rows that a cluster needs to count; outliers in groups smaller than this are found too.
    linkage
        distance between clusters: that of their nearest rows (single), or of their farthest (complete).

    Attributes
    ----------
    join_heights_
        the height at which the cluster of each training row is large enough.

    Examples
    --------
    >>> from fivefold.density import DendrogramOutlierDetector
    >>> X = [[0.0], [1.0], [2.0], [3.0], [10.0]]
    >>> model = DendrogramOutlierDetector(2, contamination=0.2).fit(X)
    >>> model.join_heights_, model.predict(X)
    (array([1., 1., 1., 1., 7.]), array([ 1,  1,  1,  1, -1]))
    """

    min_cluster_size: Count = 5
    _: KW_ONLY
    linkage: Literal["single", "complete"] = "single"

    card = Card(
        applications=("outlier detection",),
        use="Up to some ten thousand rows in clusters of any form, with isolated rows or tiny groups beside them.",
        steps=(
            "Join the two nearest clusters until one is left.",
            "Score a row by the height at which its cluster is large enough.",
            "Mark the highest.",
        ),
        source="Jain & Dubes (1988)",
        see_also=("KNeighborsOutlierDetector",),
        variants=({"min_cluster_size": 2, "linkage": "complete", "contamination": 0.2},),
        growth=2.0,
    )

    def _learn(self, X: Table, w: Weights) -> tuple[RowScorer, Doubles | None]:
        if len(X) > MAX_ROWS:
            raise ValueError(
                f"DendrogramOutlierDetector keeps the distance of every pair of rows: {len(X)} exceed {MAX_ROWS}. "
                "Use KNeighborsOutlierDetector, or a sample of the rows"
            )
        return JoinHeights(X, join_heights(X, w, self.min_cluster_size, self.linkage)), None

    @property
    def join_heights_(self) -> Doubles:
        """The height at which the cluster of each training row is large enough (n,)."""
        return self.model_.scorer.heights


def join_heights(X: Matrix, w: Weights, size: int, method: str) -> Doubles:
    """The height at which the cluster of each row first has this weight (n,); that of the last join if none has."""
    n = len(X)
    if n == 1:
        return np.zeros(1)
    joins = linkage(np.asarray(X, dtype=np.float64) - coarse_origin(X, w), method)
    mass: Vector = np.concatenate([np.asarray(w, dtype=np.float64), np.zeros(n - 1)])
    parent, reached = np.full(2 * n - 1, -1), np.full(2 * n - 1, np.inf)
    reached[:n][w >= size] = 0.0
    for step, (a, b, height, _) in enumerate(joins):
        made = n + step
        parent[int(a)] = parent[int(b)] = made
        mass[made] = mass[int(a)] + mass[int(b)]
        if mass[made] >= size:
            reached[made] = height
    reached[-1] = min(reached[-1], joins[-1, 2])
    for node in range(2 * n - 3, -1, -1):  # parents have larger numbers
        if not np.isfinite(reached[node]):
            reached[node] = reached[parent[node]]
    return reached[:n].copy()
