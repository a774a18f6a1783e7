"""Growing cell structures: a map that adds units where rows are many, and finds its own shape.

Units are corners of triangles. The winner follows a row, its neighbours a little. From time to time the unit that won
most gets a new neighbour, halfway to its farthest one q-f: the new unit is joined to q, to f and to their common
neighbours, and the edge q-f is taken away, so that triangles stay triangles. Fritzke (1994).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from fivefold.competitive.units.competition_loops import growing_pass
from fivefold.competitive.units.row_passes import distinct_rows, run_passes
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, OpenFraction, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Mask, Matrix, Table, UserTable, Weights
from fivefold.spatial.centres.lloyd import nearest_centres, nearest_distances
from fivefold.spatial.centres.seeding import distinct_seeds
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.points import Points

FIRST_UNITS = 3  # a triangle
GROWTH_SHARE = 0.75  # of the passes, in which units are added; in the others they settle


class UnitGraph(NamedTuple):
    """Units (K, d), edges between them (K, K), and the weight of the rows that each has won lately (K,)."""

    units: Doubles
    edges: Mask
    wins: Doubles


@dataclass(frozen=True)
class GrownMap:
    """Units, the edges between them, and how well they represent the rows."""

    centres: Matrix  # (K, d)
    edges: Mask  # (K, K)
    inertia: float
    n_iter: int


class GrowingMap(Transformer):
    """Growing cell structures: a map that adds units where rows are many.

    Parameters
    ----------
    max_units
        number of units at the end, three or more; it starts with a triangle.
    learning_rate, neighbor_rate
        how far the winner and its neighbours move towards a row.
    max_iter
        number of passes over the rows; units are added in the first three quarters.
    random_state
        seed of the start and of the order of the rows.

    Attributes
    ----------
    cluster_centers_
        the units (max_units, n_features).
    edges_
        which units are neighbours (max_units, max_units).
    labels_
        the nearest unit of each row.
    inertia_
        weighted sum of squared distances to the nearest unit.
    n_iter_
        passes made.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.competitive import GrowingMap
    >>> X = np.random.RandomState(0).uniform(size=(200, 2))
    >>> GrowingMap(10, random_state=0).fit(X).cluster_centers_.shape
    (10, 2)
    """

    max_units: Count = 16
    _: KW_ONLY
    learning_rate: OpenFraction = 0.06
    neighbor_rate: OpenFraction = 0.002
    max_iter: Count = 40
    random_state: Seed = None

    cluster_centers_, edges_ = learned("centres"), learned("edges")
    inertia_, n_iter_ = learned("inertia"), learned("n_iter")

    card = Card(
        applications=("clustering", "quantization", "visualization"),
        use="A map whose shape is not known before: it grows where rows are many. Scale the columns first. For a plain "
        "picture on a grid take SelfOrganizingMap.",
        steps=(
            "Start with a triangle of units on rows.",
            "Take the rows in random order; move the nearest unit towards the row, and its neighbours a little.",
            "Put a new unit between the one that won most and its farthest neighbour, and join it to both.",
            "Repeat until there are enough units, and let them settle.",
        ),
        source="Fritzke (1994)",
        see_also=("SelfOrganizingMap", "LeaderClustering"),
        variants=({"max_units": 5, "learning_rate": 0.2},),
    )

    def _fit(self, X: Table, w: Weights) -> None:
        points, rng = Points.of(X, w), check_random_state(self.random_state)
        Z, v = distinct_rows(X, w)
        Z -= points.origin
        first = min(FIRST_UNITS, self.max_units)
        seeds = points.centred_rows(distinct_seeds(points, first, rng)).astype(np.float64)
        start = UnitGraph(seeds, ~np.eye(first, dtype=bool), np.zeros(first))

        def step(t: int, graph: UnitGraph) -> tuple[UnitGraph, float, bool]:
            M, wins = np.ascontiguousarray(graph.units.T), graph.wins.copy()
            value = growing_pass(
                Z, v, rng.permutation(len(Z)), M, graph.edges, wins, self.learning_rate, self.neighbor_rate
            )
            graph = UnitGraph(np.ascontiguousarray(M.T), graph.edges, wins)
            share = min(1.0, (t + 1) / max(1.0, GROWTH_SHARE * self.max_iter))
            while len(graph.units) < first + int(share * (self.max_units - first)):
                graph = _with_unit(graph)
            return graph._replace(wins=graph.wins / 2), float(value), False

        def model_of(graph: UnitGraph, value: float, done: int) -> GrownMap:
            return GrownMap((graph.units + points.origin).astype(X.dtype), graph.edges, value, done)

        graph, _, done = run_passes(self, X, self.max_iter, start, step, model_of)
        centres = (graph.units + points.origin).astype(X.dtype)
        self.model_ = GrownMap(centres, graph.edges, float(w @ nearest_distances(X, centres)[1]), done)

    def _label(self, X: Table) -> None:
        self.labels_ = nearest_centres(X, self.model_.centres)

    def predict(self, X: UserTable) -> Codes:
        """The nearest unit of each row."""
        return nearest_centres(self._admit(X), self.model_.centres)

    def transform(self, X: UserTable) -> Matrix:
        """The distance of each row to each unit."""
        return squared_distances(self._admit(X), self.model_.centres) ** 0.5

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.centres)


def _with_unit(graph: UnitGraph) -> UnitGraph:
    """The graph with one more unit, between the one that won most and its farthest neighbour."""
    M, edges, wins = graph
    K, q = len(M), int(wins.argmax())
    near = np.flatnonzero(edges[q])
    if not len(near):  # a single unit
        near = np.array([q])
    f = int(near[squared_distances(M[[q]], M[near])[0].argmax()])
    joined = edges[q] & edges[f]
    joined[[q, f]] = True
    more = np.zeros((K + 1, K + 1), dtype=bool)
    more[:K, :K] = edges
    more[q, f] = more[f, q] = False
    more[K, :K] = more[:K, K] = joined
    shared = np.append(wins, 0.0)
    shared[K] = wins[joined].sum() / (joined.sum() + 1)  # its neighbours hand over their shares
    shared[:K][joined] *= 1 - 1 / (joined.sum() + 1)
    return UnitGraph(np.vstack([M, (M[q] + M[f]) / 2]), more, shared)
