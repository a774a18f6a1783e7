"""The nearest rows themselves: a search in a stored table, exact, by any metric (spatial/search).

Fix & Hodges (1951); Bentley (1975); Omohundro (1989).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

from sklearn.callback import with_callbacks

from fivefold.core.estimators.base import Unsupervised
from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Sparse, Table, UserTable, UserTarget, Weights
from fivefold.neighbors.shared.base import NeighborEstimator, Radius
from fivefold.neighbors.shared.neighbor_queries import GraphMode, KNeighborsQueries, RadiusQueries


class NeighborSearch(NeighborEstimator, Unsupervised):
    """Stores rows, and nothing else."""

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Store the rows of X."""
        return self._fit_admitted(self._table_of(X), None, None, **self._beside(X))

    def _fit(self, X: Table, w: Weights, objects: Any = None) -> None:
        self.model_ = self._stored(X, objects=objects)


class NearestNeighbors(
    NeighborSearch,
    KNeighborsQueries,
    RadiusQueries,
    keywords="n_neighbors radius algorithm leaf_size metric p metric_params n_jobs",
):
    """Finds the nearest rows of a table.

    Parameters
    ----------
    n_neighbors
        how many rows `kneighbors` finds, unless it is told.
    radius
        the distance up to which `radius_neighbors` finds rows, unless it is told.

    Examples
    --------
    >>> from fivefold.neighbors import NearestNeighbors
    >>> search = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
    >>> search.kneighbors([[0.0, 0.0]])
    (array([[0., 1.]]), array([[0, 2]]))
    >>> search.radius_neighbors([[3.0, 3.0]], 1.5)[1][0]
    array([1])
    """

    _: KW_ONLY
    n_neighbors: Count | None = 5
    radius: Radius | None = 1.0

    card = Card(
        applications=("data mining",),
        use="Similar rows of a table: near copies, recommendations, graphs for other methods. Scale the columns first.",
        steps=(
            "Store the rows.",
            "Compare a new row with all of them, or with those that the bounds of a tree leave.",
            "Keep the k nearest, or all within the radius.",
        ),
        source="Bentley (1975); Omohundro (1989)",
        see_also=("KNeighborsClassifier", "KNeighborsTransformer"),
    )


def kneighbors_graph(
    X: UserTable,
    n_neighbors: int,
    *,
    mode: GraphMode = "connectivity",
    metric: str | Callable[..., Any] = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: bool | Literal["auto"] = False,
    n_jobs: int | None = None,
) -> Sparse:
    """The k nearest rows of each row of X, or of a fitted estimator, as a sparse matrix of ones or of distances.

    Examples
    --------
    >>> from fivefold.neighbors import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 1).toarray()
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    options = {"metric": metric, "p": p, "metric_params": metric_params}
    search: KNeighborsQueries = X
    if isinstance(X, KNeighborsQueries):
        _refuse_other_metric(X, options)
    else:
        search = NearestNeighbors(n_neighbors=n_neighbors, **options).fit(X)  # type: ignore[arg-type]  # checked by fit
    return search.kneighbors_graph(_asked_rows(search, include_self, mode), n_neighbors, mode)


def radius_neighbors_graph(
    X: UserTable,
    radius: float,
    *,
    mode: GraphMode = "connectivity",
    metric: str | Callable[..., Any] = "minkowski",
    p: float = 2,
    metric_params: dict[str, Any] | None = None,
    include_self: bool | Literal["auto"] = False,
    n_jobs: int | None = None,
) -> Sparse:
    """The rows within a radius of each row of X, or of a fitted estimator, as a sparse matrix of ones or of distances.

    Examples
    --------
    >>> from fivefold.neighbors import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5, mode="distance").toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    options = {"metric": metric, "p": p, "metric_params": metric_params}
    search: RadiusQueries = X
    if isinstance(X, RadiusQueries):
        _refuse_other_metric(X, options)
    else:
        search = NearestNeighbors(radius=radius, **options).fit(X)  # type: ignore[arg-type]  # checked by fit
    return search.radius_neighbors_graph(_asked_rows(search, include_self, mode), radius, mode)


def _refuse_other_metric(fitted: NeighborEstimator, asked: dict[str, Any]) -> None:
    """Refuse a metric that is not the one of an estimator that was fitted with its own."""
    for name, value in asked.items():
        if (own := getattr(fitted, name)) != value:
            raise ValueError(f"Got {value!r} for {name}, while the estimator has {own!r} for the same parameter.")


def _asked_rows(search: NeighborEstimator, include_self: bool | Literal["auto"], mode: GraphMode) -> UserTable:
    """The rows of fit as queries, which are their own neighbours, or None, where they are not."""
    own = mode == "connectivity" if include_self == "auto" else include_self
    return search.model_.table if own else None
