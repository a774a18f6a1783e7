"""Neighbours as a sparse matrix, in which an entry is the distance of a row (axis 0) to a fitted row (axis 1).

Entries that are not stored are no neighbours; a stored zero is a neighbour at distance zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import EfficiencyWarning

from fivefold.core.admission.sparse import configured_csr
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Indices, Mask, Matrix, Sparse, UserTable, Vector
from fivefold.spatial.search import Neighborhoods

EXPLICIT_ZEROS = ("csr", "csc", "coo", "lil")  # formats that keep them


@dataclass(frozen=True)
class NeighborGraph:
    """A search in a graph that was given in place of the rows."""

    graph: Sparse  # (n, n)

    def query(self, Q: Sparse | None, k: int) -> tuple[Matrix, Indices]:
        """The nearest k rows in the graph of each query; without Q those of the fitted rows, not their own."""
        found = self._neighborhoods(Q)
        counts = np.diff(found.indptr)
        if len(counts) and (least := int(counts.min())) < k:
            raise ValueError(
                f"{k} neighbors per samples are required, but some samples have only {least} neighbors in precomputed "
                f"graph matrix, first row {int(counts.argmin())}. Ask for fewer neighbours, or make the graph with more"
            )
        chosen = found.indptr[:-1, None] + np.arange(k)
        return found.distances[chosen], found.rows[chosen]

    def query_radius(self, Q: Sparse | None, radius: float, *, sort: bool = True) -> Neighborhoods:
        """Those within a distance, always nearest first."""
        found = self._neighborhoods(Q)
        return kept_neighbors(found, found.distances <= radius)

    def _neighborhoods(self, Q: Sparse | None) -> Neighborhoods:
        graph = self.graph if Q is None else Q
        found = sorted_graph(graph)
        if Q is not None:
            return found
        return kept_neighbors(found, found.rows != np.repeat(np.arange(graph.shape[0]), np.diff(found.indptr)))


def sorted_graph(graph: Sparse) -> Neighborhoods:
    """The entries of a graph, row by row, nearest first; equal distances in the order of the columns."""
    indptr, columns = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    of = np.repeat(np.arange(graph.shape[0]), np.diff(indptr))
    order = np.lexsort((columns, graph.data, of))
    return Neighborhoods(indptr, columns[order], graph.data[order])


def sort_graph_by_row_values(graph: Sparse, copy: bool = False, warn_when_not_sorted: bool = True) -> Sparse:
    """A graph whose entries are stored nearest first in each row; without `copy` a CSR matrix is changed in place.

    No method of fivefold is slower without.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from fivefold.neighbors import sort_graph_by_row_values
    >>> graph = csr_matrix([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> sort_graph_by_row_values(graph, copy=True, warn_when_not_sorted=False).data
    array([1., 3., 2., 3., 1., 2.])
    """
    refuse_format(graph)
    steps = np.diff(graph.data) if graph.format == "csr" else np.empty(0)
    starts = graph.indptr[1:-1] if graph.format == "csr" else np.empty(0, dtype=np.int64)
    falls = np.flatnonzero(steps < 0) + 1
    if graph.format == "csr" and np.isin(falls, starts).all():
        return graph
    if warn_when_not_sorted:
        warn(
            "Precomputed sparse input was not sorted by row values; warn_when_not_sorted=False ends this warning",
            EfficiencyWarning,
        )
    if graph.format != "csr" and not copy:
        raise ValueError("The input graph is not in CSR format. Use copy=True to allow the conversion to CSR format.")
    made = graph.tocsr(copy=copy)
    found = sorted_graph(made)
    made.data[:], made.indices[:] = found.distances, found.rows
    made.has_sorted_indices = False
    return made


def refuse_format(graph: UserTable) -> None:
    """Refuse formats of sparse matrices that lose stored zeros: they are neighbours at distance zero."""
    if graph.format not in EXPLICIT_ZEROS:
        raise TypeError(
            f"Sparse matrix in {graph.format!r} format is not supported: it does not keep zeros that are stored, which "
            f"are neighbours at distance zero. Give one of {', '.join(EXPLICIT_ZEROS)}"
        )


def as_graph(found: Neighborhoods, data: Vector, columns: int) -> Sparse:
    """Neighbourhoods as a CSR matrix with these entries."""
    shape = (len(found.indptr) - 1, columns)
    return configured_csr(csr_array((data, found.rows, found.indptr), shape=shape))


def as_object_arrays(found: Neighborhoods, values: Any) -> Any:
    """An array of one array per query, as scikit-learn gives what differs in length."""
    return found.by_query(values)


def kept_neighbors(found: Neighborhoods, mask: Mask) -> Neighborhoods:
    """The neighbours that a mask marks."""
    ends = np.concatenate([[0], np.cumsum(mask)])
    return Neighborhoods(ends[found.indptr], found.rows[mask], found.distances[mask])
