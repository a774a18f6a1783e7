"""Nearest neighbours beside scikit-learn and its Intel extension: the same distances, and the time of a search.

What is searched is timed with the fit, which makes ready what the search needs: an index is made once, at the fit of
the rivals and at the first search of ours.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.harness import Case, beside_sklearn, data, drop_in, same_output

GAUSSIAN = partial(data.linear, d=16)  # round: the worst case of boxes
CLUSTERS = partial(data.blobs, d=16, K=200, spread=3.0)
POINTS = partial(data.uniform, d=3)
ROWS = partial(data.uniform, d=4)


def asked(maker, count):
    """The table, with rows of another draw to ask about in place of a target."""

    def make(n):
        table = maker(n)
        other = maker(n + count).X
        return replace(table, y=np.ascontiguousarray(other[n : n + count]))

    return make


def nearest(estimator, table):
    """Time a fit and a search of the k nearest rows."""
    return lambda: estimator.fit(table.X).kneighbors(table.y)[0]


def within(estimator, table):
    """Time a fit and a search of all rows within a radius; what is compared are numbers of neighbours."""

    def call():
        found = estimator.fit(table.X).radius_neighbors(table.y, return_distance=False)
        return np.array([len(rows) for rows in found])

    return call


def graph_within(estimator, table):
    """Time a fit and a graph of the rows within a radius; what is compared are its sums by query."""
    return lambda: estimator.fit(table.X).radius_neighbors_graph(table.y, mode="distance").sum(axis=1)


SEARCH = partial(drop_in, "neighbors.NearestNeighbors", nearest, n_neighbors=10)
RADIUS = partial(beside_sklearn, "neighbors.NearestNeighbors", within)
GRAPH = partial(beside_sklearn, "neighbors.NearestNeighbors", graph_within)
SAME = same_output(rtol=1e-6)

CASES = (
    Case("neighbours 16 columns", asked(GAUSSIAN, 10_000), 100_000, SEARCH(), SAME, 2, "10,000 queries, k = 10"),
    Case("neighbours in clusters", asked(CLUSTERS, 10_000), 100_000, SEARCH(), SAME, 2, "10,000 queries, k = 10"),
    Case("neighbours 3 columns", asked(POINTS, 100_000), 1_000_000, SEARCH(), SAME, 1, "100,000 queries, k = 10"),
    Case("neighbours 40 columns", asked(partial(data.linear, d=40), 3000), 30_000, SEARCH(), SAME, 1, "3,000 queries"),
    Case("neighbours by city blocks", asked(CLUSTERS, 500), 50_000, SEARCH(metric="manhattan"), SAME, 1, "500 queries"),
    Case("rows within a radius", asked(CLUSTERS, 5000), 100_000, RADIUS(radius=3.0), SAME, 2, "5,000 queries"),
    Case("points within a radius", asked(POINTS, 50_000), 300_000, RADIUS(radius=0.02), SAME, 2, "50,000 queries"),
    Case("points within a wide radius", asked(POINTS, 5000), 50_000, RADIUS(radius=0.2), SAME, 2, "5,000 queries"),
    Case("graph of points within a wide radius", asked(POINTS, 5000), 50_000, GRAPH(radius=0.2), SAME, 2),
    Case("rows within a radius, small table", asked(ROWS, 150), 150, RADIUS(radius=1.0), SAME, 1, "4 columns"),
)
