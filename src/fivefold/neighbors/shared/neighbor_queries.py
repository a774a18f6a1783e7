"""Questions about neighbours, in scikit-learn's words: the k nearest rows, rows within a radius, and graphs of them."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np

from fivefold.core.types import Indices, Matrix, Sparse, Table, UserTable, Vector
from fivefold.neighbors.shared.base import FittedRows, NeighborEstimator
from fivefold.neighbors.shared.neighbor_graphs import as_graph, as_object_arrays
from fivefold.spatial.search import Neighborhoods

GraphMode = Literal["connectivity", "distance"]


class KNeighborsQueries(NeighborEstimator):
    """Finds the k nearest rows."""

    def kneighbors(self, X: UserTable = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and numbers (m, k) of the nearest rows of fit, nearest first; of equally near ones the first.

        Without X those of the rows of fit, none of which is its own neighbour. Rows count once here, whatever their
        weight.
        """
        distances, rows = self._nearest(self._fitted_or_admitted(X), self._checked_count(n_neighbors))
        return (distances, rows) if return_distance else rows

    def kneighbors_graph(
        self, X: UserTable = None, n_neighbors: int | None = None, mode: GraphMode = "connectivity"
    ) -> Sparse:
        """The neighbours as a sparse matrix (m, rows of fit), of ones or of distances."""
        check_mode(self, mode)
        return self._k_graph(self._fitted_or_admitted(X), self._checked_count(n_neighbors), mode)

    def _k_graph(self, Q: Table | None, k: int, mode: GraphMode) -> Sparse:
        """The graph of admitted rows."""
        distances, rows = self._nearest(Q, k)
        found = Neighborhoods(np.arange(0, rows.size + 1, k), rows.ravel(), distances.ravel())
        return as_graph(found, entries(found, mode), self.model_.n)

    def _nearest(self, Q: Table | None, k: int) -> tuple[Matrix, Indices]:
        """Distances and numbers in the table of fit of the k rows nearest to admitted rows."""
        fitted: FittedRows = self.model_
        self._refuse_many(k, fitted.size - (Q is None), Q)
        distances, rows = fitted.nearest(Q, k)
        return distances, fitted.numbered(rows)

    def _checked_count(self, n_neighbors: int | None) -> int:
        k: Any = vars(self)["n_neighbors"] if n_neighbors is None else n_neighbors
        if not isinstance(k, Integral):
            raise TypeError(f"{type(self).__name__}: n_neighbors does not take {k!r}; give a whole number")
        if k <= 0:
            raise ValueError(f"{type(self).__name__}: Expected n_neighbors > 0. Got {k}")
        return int(k)


class RadiusQueries(NeighborEstimator):
    """Finds the rows within a distance."""

    def radius_neighbors(
        self,
        X: UserTable = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Distances and numbers of the rows of fit within the radius: an array of one array per query each.

        Nearest first, of equally near ones the first, if `sort_results` asks for it; else in an order that the
        rows of fit decide on, which takes less time. Without X neighbours of the rows of fit, none of which is its own.
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        found = self._within(self._fitted_or_admitted(X), radius, sort_results)
        rows = as_object_arrays(found, found.rows)
        return (as_object_arrays(found, found.distances), rows) if return_distance else rows

    def radius_neighbors_graph(
        self,
        X: UserTable = None,
        radius: float | None = None,
        mode: GraphMode = "connectivity",
        sort_results: bool = False,
    ) -> Sparse:
        """The neighbours as a sparse matrix (m, rows of fit), of ones or of distances.

        Entries of a row are stored nearest first if `sort_results` asks for it, else in any order.
        """
        check_mode(self, mode)
        return self._radius_graph(self._fitted_or_admitted(X), radius, mode, sort_results)

    def _radius_graph(self, Q: Table | None, radius: float | None, mode: GraphMode, sort: bool = True) -> Sparse:
        """The graph of admitted rows."""
        found = self._within(Q, radius, sort)
        return as_graph(found, entries(found, mode), self.model_.n)

    def _within(self, Q: Table | None, radius: float | None, sort: bool = True) -> Neighborhoods:
        """Admitted rows' neighbours, by their numbers in the table of fit."""
        fitted: FittedRows = self.model_
        found = fitted.within(Q, vars(self)["radius"] if radius is None else radius, sort=sort)
        return found._replace(rows=fitted.numbered(found.rows))


def check_mode(estimator: object, mode: str) -> None:
    """Refuse modes of graphs that there are not."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            f'{type(estimator).__name__}: Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


def entries(found: Neighborhoods, mode: GraphMode) -> Vector:
    """What a graph holds: distances, or ones."""
    return np.ones(len(found.rows), dtype=found.distances.dtype) if mode == "connectivity" else found.distances
