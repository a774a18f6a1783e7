"""BIRCH: rows are summed into subclusters of a small radius in one pass, and the subclusters are clustered.

    n, mean, scatter        of a group of rows: a clustering feature, which adds

Each row goes down a tree of features to the nearest subcluster, which takes it if its radius stays within `threshold`.
The means of the subclusters are then grouped, by Ward's linkage unless another clusterer is given, and a row gets the
group of the nearest mean. Features are kept as moments about the mean, so rows far from the origin lose no digits.

Zhang, Ramakrishnan & Livny (1996).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fivefold.cluster.agglomerative import AgglomerativeClustering
from fivefold.cluster.hierarchy.feature_tree import FeatureNode, FirstLeaf, empty_tree, inserted, leaf_means
from fivefold.cluster.hierarchy.feature_tree_loops import FeatureTree
from fivefold.core._sklearn import ClusterMixin
from fivefold.core.admission.tables import admit
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators import params
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Learner, Positive, Range
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Table, UserTable, UserTarget
from fivefold.spatial.centres.lloyd import nearest_centres
from fivefold.spatial.distances import squared_distances

SPARSE_BLOCK = 1 << 22  # numbers of a sparse table that are made dense at once


@dataclass(frozen=True)
class FeatureClusters:
    """The tree, the means of its subclusters, and the group of each."""

    tree: FeatureTree
    centres: Matrix  # (K, d) in the precision of the rows
    groups: Codes  # (K,)

    @property
    def root(self) -> FeatureNode:
        """The node at the top of the tree."""
        return FeatureNode.root(self.tree)

    @property
    def before_leaves(self) -> FirstLeaf:
        """What leads to the first leaf."""
        return FirstLeaf(FeatureNode(self.tree, 0))


class Birch(ClusterMixin, Transformer):
    """Subclusters of a small radius from one pass over the rows, and clusters of these.

    Parameters
    ----------
    threshold
        the largest radius of a subcluster: the root of the mean squared distance of its rows to their mean.
    branching_factor
        subclusters, or nodes, in a node of the tree, at most.
    n_clusters
        number of clusters that subclusters are grouped into by Ward's linkage; a clusterer groups them otherwise; None
        leaves each its own.
    compute_labels
        whether to find the label of each row.

    Attributes
    ----------
    subcluster_centers_
        the means of the subclusters.
    subcluster_labels_
        the cluster of each.
    labels_
        the cluster of each row of the last batch, if `compute_labels` is set.
    root_, dummy_leaf_
        the root of the tree, and what leads to its first leaf, to walk along.

    Examples
    --------
    >>> from fivefold.cluster import Birch
    >>> X = [[0.0, 1.0], [0.3, 1.0], [-0.3, 1.0], [0.0, -1.0], [0.3, -1.0], [-0.3, -1.0]]
    >>> Birch(n_clusters=None).fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    _: KW_ONLY
    threshold: Positive = 0.5
    branching_factor: Annotated[int, Range(2)] = 50
    n_clusters: Count | Learner | None = 3
    compute_labels: bool = True

    takes = Takes(sparse=True)

    card = Card(
        applications=("clustering", "quantization"),
        use="Very many rows, or rows that arrive in parts (partial_fit), in few columns of like scale: a summary that "
        "any clusterer can go on with. The order of rows decides which subclusters there are.",
        steps=(
            "Send a row down the tree, to the nearest mean at each node.",
            "Add it to the subcluster there, unless its radius would pass the threshold: then it is one of its own.",
            "Divide a node that is too full between its two means that are farthest apart.",
            "Group the means of the subclusters, and give each row the group of the nearest.",
        ),
        source="Zhang, Ramakrishnan & Livny (1996)",
        see_also=("MiniBatchKMeans", "AgglomerativeClustering", "LeaderClustering"),
        variants=({"threshold": 1.5, "branching_factor": 3, "n_clusters": None},),
        search={"threshold": (0.1, 0.5, 2.0)},
    )

    subcluster_centers_, subcluster_labels_ = learned("centres"), learned("groups")
    root_, dummy_leaf_ = learned("root"), learned("before_leaves")

    def _fit(self, X: Table) -> None:
        if isinstance(self.n_clusters, int | np.integer) and self.n_clusters > X.shape[0]:
            raise ValueError(
                f"Birch: n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}. Set n_clusters to less, or "
                "to None, which leaves each subcluster its own"
            )
        self._learn(X, empty_tree(X.shape[1], int(self.branching_factor)))

    def partial_fit(self, X: UserTable | None = None, y: UserTarget = None) -> Self:
        """Insert rows and group the subclusters anew; without X only group them, by `n_clusters` as it is now."""
        params.check_params(self)
        if X is None:
            model = self.model_
            self.model_ = replace(model, groups=self._groups(model.centres))
            return self
        known = self.__sklearn_is_fitted__()
        X = admit(self, X, fitting=not known, learning=True)
        self._learn(X, self.model_.tree if known else empty_tree(X.shape[1], int(self.branching_factor)))
        return self

    def _learn(self, X: Table, tree: FeatureTree) -> None:
        n, d = X.shape
        step = max(1, SPARSE_BLOCK // d) if issparse(X) else n
        for start in range(0, n, step):
            some = X[start : start + step]
            rows = np.ascontiguousarray(some.toarray() if issparse(X) else some, dtype=np.float64)
            tree = inserted(tree, rows, float(self.threshold))
        centres = leaf_means(tree).astype(X.dtype)
        self.model_ = FeatureClusters(tree, centres, self._groups(centres))
        if self.compute_labels:
            self.labels_ = self._assign(X)
        else:
            vars(self).pop("labels_", None)

    def _groups(self, centres: Matrix) -> Codes:
        """The cluster of each subcluster."""
        chosen = self.n_clusters
        if isinstance(chosen, int | np.integer):
            if len(centres) >= max(chosen, 2):
                return np.asarray(AgglomerativeClustering(int(chosen)).fit(centres).labels_)
            if len(centres) == chosen:
                return np.zeros(1, np.intp)
            warn(
                f"Birch: Number of subclusters found ({len(centres)}) is less than n_clusters={chosen}, and each is a "
                "cluster. Decrease the threshold",
                ConvergenceWarning,
            )
        elif chosen is not None:
            if not isinstance(chosen, ClusterMixin):
                raise ValueError(f"Birch: n_clusters={chosen!r} is no clusterer. Give a number, a clusterer, or None")
            return np.asarray(clone(chosen).fit_predict(centres))
        return np.arange(len(centres))

    def predict(self, X: UserTable) -> Codes:
        """The label of each row: that of the nearest subcluster."""
        return self._assign(self._admit(X))

    def _assign(self, X: Table) -> Codes:
        return self.model_.groups[nearest_centres(X, self.model_.centres)]

    def fit_predict(self, X: UserTable, y: UserTarget = None, **kwargs: Any) -> Codes:
        """Fit, with these further arguments, and give the label of each row."""
        model = self.fit(X, y, **kwargs)
        return model.labels_ if self.compute_labels else model.predict(X)

    def transform(self, X: UserTable) -> Matrix:
        """The distance of each row to the mean of each subcluster."""
        return squared_distances(self._admit(X), self.model_.centres) ** 0.5

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.centres)
