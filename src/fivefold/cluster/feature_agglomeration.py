"""Feature agglomeration: columns that are alike are merged, and each group of them becomes one column.

    z_ik = mean of x_ij over the columns j of group k

The hierarchy is that of AgglomerativeClustering, with columns as the things that merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.cluster.hierarchy.merging import MergingClusterer
from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, UserTable


class FeatureAgglomeration(
    ClassNamePrefixFeaturesOutMixin,
    FloatTransformerMixin,
    MergingClusterer,
    keywords="metric memory connectivity compute_full_tree linkage pooling_func distance_threshold compute_distances",
):
    """Fewer columns, by merging those that are alike.

    Parameters
    ----------
    pooling_func
        makes one column of several: a function of an array and of axis=1.

    Examples
    --------
    >>> from fivefold.cluster import FeatureAgglomeration
    >>> X = [[0.0, 0.1, 5.0], [1.0, 1.1, 7.0], [2.0, 2.1, 6.0]]
    >>> FeatureAgglomeration().fit_transform(X).round(2).tolist()
    [[0.05, 5.0], [1.05, 7.0], [2.05, 6.0]]
    """

    _: KW_ONLY
    pooling_func: Callable[..., Any] = np.mean

    card = Card(
        applications=("dimension reduction", "clustering"),
        use="Many columns of which several say the same: pixels next to each other, repeated measurements. Columns "
        "must have one scale. Where columns only add up to something, use PCA.",
        steps=(
            "Let each column be a cluster.",
            "Merge the two closest clusters of columns until n_clusters are left.",
            "Replace the columns of a cluster by their mean.",
        ),
        source="Ward (1963); Murtagh (1983)",
        see_also=("AgglomerativeClustering", "PCA"),
        variants=({"linkage": "average", "metric": "cosine", "n_clusters": 3},),
        search={"n_clusters": (2, 4, 8, 16)},
    )

    def _fit(self, X: Table) -> None:
        self.model_ = self._merge(np.ascontiguousarray(X.T), "columns")

    def transform(self, X: UserTable) -> Matrix:
        """One column for each group of columns."""
        X = self._admit(X)
        groups = [np.flatnonzero(self.model_.labels == k) for k in range(self.model_.n_clusters)]
        pooled = [self.pooling_func(X[:, columns], axis=1) for columns in groups]
        return np.stack(pooled, axis=1).astype(X.dtype, copy=False)

    def inverse_transform(self, X: UserTable) -> Matrix:
        """Give each column the value of its group."""
        self.tree_  # noqa: B018  raises before fit
        found: Matrix = np.asarray(to_numpy(X))[..., self.model_.labels]
        return found

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.n_clusters)
