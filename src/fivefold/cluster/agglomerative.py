"""Agglomerative clustering: every row begins alone, and the two closest clusters merge until few are left.

    ward       2 n_a n_b / (n_a + n_b) |c_a - c_b|^2, the root of it: twice what the merge adds to the inertia
    complete   max |x - y|      average   mean |x - y|      single   min |x - y|      over x in a and y in b

Without a graph of neighbours: a chain of nearest neighbours (Ward, complete, average, weighted), Prim's tree (single)
or the nearest later neighbour of each cluster (centroid, median), in O(n^2) time; Ward, single, centroid and median in
O(n) memory. With a graph: its edges in a heap. Ward (1963); Lance & Williams (1967); Murtagh (1983); Müllner (2011).
"""

from __future__ import annotations

from fivefold.cluster.hierarchy.merging import MergingClusterer
from fivefold.core.registry import Card
from fivefold.core.types import Table


class AgglomerativeClustering(MergingClusterer):
    """Hierarchical clustering by merging.

    Examples
    --------
    >>> from fivefold.cluster import AgglomerativeClustering
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [4.0, 2.0], [4.0, 4.0], [4.0, 0.0]]
    >>> model = AgglomerativeClustering().fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0])
    >>> model.tree_.cut(4)
    array([1, 1, 3, 0, 2, 0])
    """

    card = Card(
        applications=("clustering", "data mining"),
        use="A tree of groups within groups, to be cut at any level, or groups of any shape with linkage='single' or "
        "a graph of neighbours. Time grows with the square of the rows, and memory too for 'complete' and 'average'. "
        "For many rows merge the centres of KMeans.",
        steps=(
            "Let each row be a cluster.",
            "Merge the two closest clusters; the linkage says what the distance of two clusters is.",
            "Repeat until one is left, or along a graph of neighbours until n_clusters are.",
            "Undo the last merges: as many as n_clusters asks for, or all at distance_threshold or above.",
        ),
        source="Ward (1963); Lance & Williams (1967); Murtagh (1983), the chain; Müllner (2011)",
        see_also=("FeatureAgglomeration", "KMeans"),
        variants=(
            {"linkage": "average", "n_clusters": 3, "compute_distances": True},
            {"linkage": "single", "metric": "manhattan"},
            {"linkage": "centroid", "n_clusters": None, "distance_threshold": 1.0},
        ),
        search={"n_clusters": (2, 3, 5, 8, 12), "linkage": ("ward", "complete", "average", "single")},
        growth=2.0,
    )

    def _fit(self, X: Table) -> None:
        self.model_ = self._merge(X, "rows")
