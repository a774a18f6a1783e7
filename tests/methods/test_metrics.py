"""Distances by name, of objects and with gaps; the axioms; graphs of neighbours."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import nan_euclidean_distances

from fivefold.kernels import Linear, gaussian
from fivefold.spatial.metrics.metric_axioms import check_metric
from fivefold.spatial.metrics.named_metrics import COLUMN_KINDS, metric_names
from fivefold.spatial.metrics.object_metrics import KernelMetric
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.search.proximity_graphs import components, nearest_graph, radius_graph

BOOLEAN = ("jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


def test_euclidean_hamming_and_mahalanobis_of_two_points():
    assert NeighborIndex([[0.0, 0.0]]).distances([[3.0, 4.0]]) == 5
    assert NeighborIndex([[1, 2, 3, 4]], "hamming").distances([[1, 0, 3, 0]]) == 0.5
    found = NeighborIndex([[0.0, 0.0]], "mahalanobis", metric_params={"V": np.diag([4.0, 9.0])}).distances([[2.0, 3.0]])
    assert np.isclose(found**2, 2)


@pytest.mark.parametrize("metric", [*BOOLEAN, "hamming", "canberra", "braycurtis", "seuclidean", "minkowski"])
def test_distances_are_those_of_scipy(metric):
    rng = np.random.RandomState(0)
    X, Q = rng.uniform(0, 2, size=(60, 5)), rng.uniform(0, 2, size=(9, 5))
    X[:, 0] = Q[:, 0] = 1.5  # no row is all false: SciPy has no distance between two of them
    X, Q = (X > 1, Q > 1) if metric in BOOLEAN else (X, Q)
    params = {"minkowski": {"p": 1.5, "w": np.arange(5.0)}, "seuclidean": {"V": np.arange(1.0, 6.0)}}.get(metric, {})
    found = NeighborIndex(X, metric, metric_params=params).distances(Q)
    assert np.allclose(found, cdist(Q, X, metric, **params), rtol=1e-12)


def test_mahalanobis_distances_do_not_change_under_affine_maps():
    rng = np.random.RandomState(1)
    X, A = rng.normal(size=(80, 3)), rng.normal(size=(3, 3))
    one = NeighborIndex(X, "mahalanobis").distances(X[:5])
    two = NeighborIndex(X @ A + 1e6, "mahalanobis").distances(X[:5] @ A + 1e6)
    assert np.allclose(one, two, rtol=1e-7, atol=1e-8)
    assert np.allclose(one, cdist(X[:5], X, "mahalanobis", VI=np.linalg.inv(np.cov(X.T))))


def test_bad_parameters_are_refused_in_words():
    X = np.eye(3)
    for params, words in (
        ({"V": np.ones((3, 3))}, "singular"),
        ({"VI": -np.eye(3)}, "negative eigenvalue"),
        ({"VI": np.eye(2)}, r"3 columns need \(3, 3\)"),
        ({"power": 2, "VI": np.eye(3)}, "no parameter 'power'"),
    ):
        with pytest.raises(ValueError, match=words):
            NeighborIndex(X, "mahalanobis", metric_params=params).query(X, 1)
    with pytest.raises(ValueError, match="is not known"):
        NeighborIndex(X, "nearby").query(X, 1)
    with pytest.raises(ValueError, match="latitude and longitude"):
        NeighborIndex(X, "haversine").query(X, 1)


def test_gaps_are_bridged_by_the_columns_that_both_rows_have():
    rng = np.random.RandomState(2)
    X, Q = rng.normal(size=(40, 4)), rng.normal(size=(7, 4))
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    found = NeighborIndex(X, "nan_euclidean").distances(Q)
    assert np.allclose(found, nan_euclidean_distances(Q, X), equal_nan=True)
    one, other = np.array([[1.0, np.nan, 3.0]]), np.array([[2.0, 5.0, np.nan]])
    assert NeighborIndex(one, "nan_manhattan").distances(other) == 3
    assert NeighborIndex(one, "nan_hamming").distances(other) == 1
    empty = NeighborIndex(np.array([[np.nan, 1.0], [0.0, np.nan]]), "nan_euclidean")
    distances, rows = empty.query([[np.nan, 1.0]], 2)
    assert rows.tolist() == [[0, 1]]
    assert distances[0, 0] == 0 and np.isnan(distances[0, 1])


def test_gower_counts_numbers_categories_and_gaps():
    X = np.array([[0.0, 1.0], [10.0, 2.0], [5.0, np.nan]])
    index = NeighborIndex(X, "gower", metric_params={"categorical": [1]})
    assert index.distances([[5.0, 1.0]]).tolist() == [[0.25, 0.75, 0.0]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows_have_the_neighbours_of_dense_ones(metric):
    from scipy.sparse import random as random_sparse

    X = random_sparse(200, 30, 0.2, format="csr", random_state=3)
    Q = random_sparse(20, 30, 0.2, format="csr", random_state=4)
    dense, _ = NeighborIndex(X.toarray(), metric).query(Q.toarray(), 5)
    found, _ = NeighborIndex(X, metric).query(Q, 5)
    assert np.allclose(found, dense, atol=1e-12)


def test_own_distances_kernels_strings_and_tables_give_the_same_neighbours():
    rng = np.random.RandomState(5)
    X, Q = rng.normal(size=(60, 3)), rng.normal(size=(8, 3))
    distances, rows = NeighborIndex(X).query(Q, 4)
    D = cdist(Q, X)
    by_function = NeighborIndex(X, lambda a, b: float(np.sqrt(((a - b) ** 2).sum()))).query(Q, 4)
    by_table = NeighborIndex(cdist(X, X), "precomputed").query(D, 4)
    by_kernel = NeighborIndex(X, KernelMetric(Linear())).query(Q, 4)
    for found in (by_function, by_table, by_kernel):
        assert (found[1] == rows).all()
        assert np.allclose(found[0], distances)
    by_gaussian = NeighborIndex(X, KernelMetric(gaussian(sigma=1.0))).query(Q, 4)
    assert (by_gaussian[1] == rows).all()
    words = ["kitten", "sitting", "mitten"]
    distances, rows = NeighborIndex(words, "edit").query(["kitten"], 3)
    assert rows.tolist() == [[0, 2, 1]]
    assert distances.tolist() == [[0, 1, 3]]


def test_squares_break_the_triangle_inequality_and_divergences_symmetry():
    line = [0.0, 1.0, 2.0]
    assert check_metric(lambda x, y: abs(x - y), line).is_metric
    report = check_metric(lambda x, y: (x - y) ** 2, line)
    assert report.broken() == ["triangle inequality"]
    assert {violation.objects for violation in report.violations} == {(0, 1, 2), (2, 1, 0)}
    p = np.array([[0.5, 0.5], [0.9, 0.1]])
    report = check_metric(lambda a, b: float((a * np.log(a / b)).sum()), p)
    assert "symmetry" in report.broken()
    assert "d(0, 1) = 0.510826 and d(1, 0) = 0.368064" in str(report)
    assert check_metric(lambda x, y: 0.0, line).broken() == ["identity"]
    assert check_metric(np.array([[0.0, -1.0], [-1.0, 0.0]])).counts["non-negativity"] == 2


@pytest.mark.parametrize("name", sorted(set(metric_names()) - {"gower"}))
def test_metrics_that_trees_rely_on_break_no_axiom(name):
    rng = np.random.RandomState(6)
    X = rng.uniform(0.1, 1.0, size=(25, 2))
    X = (X > 0.5).astype(float) if name in BOOLEAN or name == "sokalmichener" else X
    X = np.unique(X, axis=0)
    index = NeighborIndex(X, name, p=3)
    report = check_metric(index.distances(X))
    if index.measure.triangle:
        assert report.counts["triangle inequality"] == 0
    assert report.counts["symmetry"] == report.counts["non-negativity"] == 0


def test_column_metrics_are_those_of_scikit_learn():
    rng = np.random.RandomState(7)
    X = rng.randint(0, 3, size=(30, 6)).astype(float)
    X[:, 0] = 1  # no row of zeros
    for name in set(COLUMN_KINDS) - {"yule"}:
        Z = (X > 0).astype(float) if name in (*BOOLEAN, "sokalmichener") else X
        assert np.allclose(NeighborIndex(Z, name).distances(Z), DistanceMetric.get_metric(name).pairwise(Z)), name


def test_graphs_join_neighbours_and_their_components_are_found():
    X = np.array([[0.0], [1.0], [1.0], [10.0], [11.0]])
    graph = nearest_graph(NeighborIndex(X), 1)
    assert graph.toarray()[0].tolist() == [0, 1, 0, 0, 0]
    assert graph.nnz == 5
    either, mutual = (nearest_graph(NeighborIndex(X), 1, joined) for joined in ("either", "mutual"))
    assert either.nnz == 6 and mutual.nnz == 4
    assert components(either).tolist() == [0, 0, 0, 1, 1]
    assert components(mutual).tolist() == [0, 1, 1, 2, 2]
    assert components(radius_graph(NeighborIndex(X), 0.5)).tolist() == [0, 1, 1, 2, 3]
