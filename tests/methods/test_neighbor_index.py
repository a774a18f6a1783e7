"""The index of rows: exact neighbours by every metric, ties by row, far offsets, odd sizes."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fivefold.spatial.metrics.named_metrics import vector_metric
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.search.brute_force import BruteForce
from fivefold.spatial.search.filtered_search import FilteredSearch
from fivefold.spatial.search.tree_search import TreeSearch

METRICS = ("euclidean", "cityblock", "chebyshev", "sqeuclidean", "canberra", "hamming", "correlation", "cosine")


def sorted_distances(D, k):
    """The k nearest by distance, then by row: the obvious way."""
    order = np.lexsort((np.broadcast_to(np.arange(D.shape[1]), D.shape), D), axis=1)[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.mark.parametrize("n", [3, 700])
@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_rows_are_those_of_all_distances(metric, n):
    rng = np.random.RandomState(1)
    X, Q = rng.normal(size=(n, 6)), rng.normal(size=(40, 6))
    index, D = NeighborIndex(X, metric), cdist(Q, X, metric)
    distances, rows = index.query(Q, 3)
    expected, order = sorted_distances(D, 3)
    assert np.allclose(distances, expected, rtol=1e-12, atol=1e-14)
    if metric != "hamming":
        assert (rows == order).all()
    radius = float(np.quantile(D, 0.1))
    found = index.query_radius(Q, radius)
    assert (found.counts() >= (D <= radius * (1 - 1e-12)).sum(axis=1)).all()
    assert (found.counts() <= (D <= radius * (1 + 1e-12)).sum(axis=1)).all()


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_ties_and_copies_go_to_the_smaller_row_also_far_from_zero(offset):
    rng = np.random.RandomState(2)
    X = rng.randint(0, 4, size=(2000, 3)).astype(float)
    Q = rng.randint(0, 4, size=(300, 3)).astype(float)
    distances, rows = NeighborIndex(X + offset).query(Q + offset, 25)
    expected, order = sorted_distances(cdist(Q, X), 25)
    assert (rows == order).all()
    assert (distances == expected).all()


def test_without_queries_a_row_is_not_its_own_neighbour():
    X = np.array([[0.0], [0.0], [1.0]])
    distances, rows = NeighborIndex(X).query(None, 2)
    assert rows.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert distances.tolist() == [[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    found = NeighborIndex(X).query_radius(None, 0.5)
    assert found.indptr.tolist() == [0, 1, 2, 2]


def test_more_neighbours_than_rows_are_refused():
    with pytest.raises(ValueError, match="there are 2 rows to choose from beside the row itself"):
        NeighborIndex(np.zeros((3, 1))).query(None, 3)


def hard_tables():
    rng = np.random.RandomState(3)
    plain = rng.normal(size=(3000, 7))
    outlier = plain.copy()
    outlier[5] = 1e9
    return {
        "plain": plain,
        "far from zero": plain + 1e8,
        "an outlier": outlier,
        "tiny": plain * 1e-60,
        "huge": plain * 1e60,
        "grid": rng.randint(0, 3, size=(3000, 7)).astype(float),
        "copies": np.repeat(plain[:30], 100, axis=0),
        "one point": np.ones((3000, 7)),
        "narrow": plain[:, :2],
    }


@pytest.mark.parametrize("name", hard_tables())
def test_all_searches_give_the_same_bytes(name):
    X = hard_tables()[name]
    beside = [X[:1] + far * np.ptp(X) for far in (1e3, 1e9)]  # the second is too far for single precision
    Q = np.concatenate([X[::37] + 0.01 * (X.max() - X.min()), X[::41], *beside])
    metric, own = vector_metric("euclidean", X), np.full(len(Q), -1)
    brute = BruteForce(metric, X)
    filtered = FilteredSearch(X)
    assert filtered.usable
    expected = brute.nearest(Q, own, 12)
    limit = float(np.median(expected[0][:, -1]))
    around = brute.within(Q, own, limit)
    for search in (filtered, TreeSearch(metric, X, "kd_tree", 7), TreeSearch(metric, X, "kd_tree", 0)):
        for found, wanted in zip(search.nearest(Q, own, 12), expected, strict=True):
            assert (found == wanted).all()
        for found, wanted in zip(search.within(Q, own, limit), around, strict=True):
            assert (found == wanted).all()


def test_a_query_too_far_for_single_precision_is_compared_in_double():
    X = np.random.RandomState(4).normal(size=(2000, 6))
    Q = np.concatenate([X[:20], 1e9 + X[:20]])
    distances, rows = NeighborIndex(X, algorithm="brute").query(Q, 3)
    expected, _ = sorted_distances(cdist(Q, X), 3)
    assert np.allclose(distances, expected, rtol=1e-12)
    assert rows[:20, 0].tolist() == list(range(20))


@pytest.mark.parametrize(
    "metric", ["manhattan", "chebyshev", "minkowski", "haversine", "hamming", "braycurtis", "jaccard"]
)
def test_trees_find_what_comparing_all_rows_finds(metric):
    rng = np.random.RandomState(5)
    X = rng.uniform(0, 1, size=(1500, 2 if metric == "haversine" else 4))
    X = np.round(X * 3) if metric in ("hamming", "jaccard") else X
    expected = NeighborIndex(X, metric, p=3, algorithm="brute").query(X[::9], 8)
    for algorithm in (
        ("ball_tree",) if metric in ("haversine", "hamming", "braycurtis", "jaccard") else ("kd_tree", "auto")
    ):
        index = NeighborIndex(X, metric, p=3, algorithm=algorithm, leaf_size=11)
        for found, wanted in zip(index.query(X[::9], 8), expected, strict=True):
            assert (found == wanted).all()
