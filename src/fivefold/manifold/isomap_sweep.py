"""Which neighbourhood for Isomap: the graph, its shortcuts and the embedding for several sizes side by side.

Small neighbourhoods leave the graph in parts; large ones make shortcuts, which show as negative eigenvalues, as long
edges with long ways around, and as residual variance.

Tenenbaum, de Silva & Langford (2000); Balasubramanian & Schwartz (2002), The Isomap algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.types import UserTable
from fivefold.manifold.isomap import Isomap
from fivefold.neighbors.nearest_neighbors import NearestNeighbors
from fivefold.spatial.search.proximity_graphs import components
from fivefold.spatial.shortest_paths import undirected


class NeighborhoodReport(NamedTuple):
    """What one size of the neighbourhood makes of the rows; where the graph is in parts, there are no figures."""

    size: float  # n_neighbors, or radius
    components: int
    longest_edge: float
    shortcuts: int  # edges whose way around is more than three times as long
    negative_count: int | None
    negative_mass: float | None
    residual_variance: float | None


def isomap_sweep(
    X: UserTable,
    *,
    n_neighbors: Sequence[int] | None = None,
    radius: Sequence[float] | None = None,
    n_components: int = 2,
    **options: Any,
) -> list[NeighborhoodReport]:
    """One report per size of the neighbourhood, given as `n_neighbors` or as `radius`.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.manifold import isomap_sweep
    >>> angle = np.pi * np.arange(5) / 4
    >>> half_circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> few, some, many = isomap_sweep(half_circle, radius=[0.5, 1.0, 1.5], n_components=1)
    >>> few.components, some.components, some.negative_count, many.negative_count
    (5, 1, 0, 2)
    """
    if (n_neighbors is None) == (radius is None):
        raise ValueError("isomap_sweep: give sizes as n_neighbors or as radius, one of the two")
    by_count = n_neighbors is not None
    found = []
    for size in n_neighbors if n_neighbors is not None else radius or ():
        setting: dict[str, Any] = {"n_neighbors": size if by_count else None, "radius": None if by_count else size}
        search = NearestNeighbors(**setting, **options).fit(X)
        graph = search.kneighbors_graph(mode="distance") if by_count else search.radius_neighbors_graph(mode="distance")
        parts = int(components(undirected(graph)).max()) + 1
        longest = float(np.max(graph.data, initial=0.0))
        if parts > 1:
            found.append(NeighborhoodReport(size, parts, longest, 0, None, None, None))
            continue
        model = Isomap(**setting, n_components=n_components, **options).fit(X)
        fit, bad = model.embeddability(), len(model.shortcuts()[0])
        figures = fit.negative_count, fit.negative_mass, fit.residual_variance
        found.append(NeighborhoodReport(size, parts, longest, bad, *figures))
    return found
