"""Rows as their neighbours: a sparse graph of distances that other methods take with metric="precomputed".

    transform(X)_ij = d(x_i, t_j)    if the row t_j of fit is one of the k nearest of x_i, or within the radius

Entries that are not stored are no neighbours. A graph that is computed once serves many fits, as in a search of
parameters.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin
from fivefold.core.estimators.params import Count
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.registry import Card
from fivefold.core.types import Sparse, Table, UserTable, UserTarget, Weights
from fivefold.neighbors.nearest_neighbors import NeighborSearch
from fivefold.neighbors.shared.base import Radius
from fivefold.neighbors.shared.neighbor_queries import KNeighborsQueries, RadiusQueries


class GraphTransformer(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin, NeighborSearch):
    """Turns rows into a graph of their neighbours.

    Parameters
    ----------
    mode
        entries are distances ("distance"), or ones ("connectivity").
    """

    _: KW_ONLY
    mode: Literal["distance", "connectivity"] = "distance"

    def fit_transform(self, X: UserTable, y: UserTarget = None) -> Sparse:
        """Store the rows, and give the graph of their neighbours."""
        return self.fit(X).transform(X)

    def transform(self, X: UserTable) -> Sparse:
        """The graph (m, rows of fit)."""
        raise TypeError(f"{type(self).__name__} does not say which rows are neighbours")

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.n)


class KNeighborsTransformer(
    GraphTransformer,
    KNeighborsQueries,
    keywords="mode n_neighbors algorithm leaf_size metric p metric_params n_jobs",
):
    """The graph of the k nearest rows.

    Parameters
    ----------
    n_neighbors
        neighbours of each row. With mode="distance" it has one more, so that rows of fit, which are nearest to
        themselves, have this many others.

    Examples
    --------
    >>> from fivefold.neighbors import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    _: KW_ONLY
    n_neighbors: Count = 5

    card = Card(
        applications=("data mining",),
        use="Neighbours computed once for several methods, or by a metric that a method does not have.",
        steps=("Store the rows.", "Find the k nearest of each row.", "Write their distances into a sparse matrix."),
        source="Fix & Hodges (1951)",
        see_also=("RadiusNeighborsTransformer", "NearestNeighbors"),
        variants=({"mode": "connectivity", "n_neighbors": 3},),
    )

    def _fit(self, X: Table, w: Weights, objects: Any = None) -> None:
        self._refuse_many(self._entries(), X.shape[0])
        super()._fit(X, w, objects)

    def _entries(self) -> int:
        return int(self.n_neighbors) + (self.mode == "distance")

    def transform(self, X: UserTable) -> Sparse:
        """The graph (m, rows of fit), its entries nearest first in each row."""
        return self._k_graph(self._admit(X), self._entries(), self.mode)


class RadiusNeighborsTransformer(
    GraphTransformer,
    RadiusQueries,
    keywords="mode radius algorithm leaf_size metric p metric_params n_jobs",
):
    """The graph of the rows within a radius.

    Parameters
    ----------
    radius
        the distance up to which rows are neighbours.

    Examples
    --------
    >>> from fivefold.neighbors import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.0).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    _: KW_ONLY
    radius: Radius = 1.0

    card = Card(
        applications=("data mining",),
        use="Neighbours computed once for several methods, such as density-based clusterings of several widths.",
        steps=("Store the rows.", "Find all rows within the radius.", "Write their distances into a sparse matrix."),
        source="Bentley (1975)",
        see_also=("KNeighborsTransformer", "NearestNeighbors"),
        variants=({"mode": "connectivity", "radius": 2.0},),
    )

    def transform(self, X: UserTable) -> Sparse:
        """The graph (m, rows of fit), its entries nearest first in each row."""
        return self._radius_graph(self._admit(X), self.radius, self.mode)
