"""Clusters by density agree with scikit-learn's, row by row."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster as theirs
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import pairwise_distances

from fivefold import cluster as ours


def blobs(n=1500, d=2, spread=0.6, seed=0):
    return make_blobs(n, d, centers=8, cluster_std=spread, random_state=seed)[0]


def tied():
    """Whole numbers: many equal distances and equal rows."""
    return np.random.RandomState(3).randint(0, 9, size=(900, 2)).astype(float)


TABLES = {
    "blobs": (blobs(), 0.3),
    "moons": (make_moons(700, noise=0.05, random_state=0)[0], 0.1),
    "ties": (tied(), 1.0),
    "six columns, short lists": (blobs(900, 6), 1.2),
    "eight columns, long lists": (blobs(900, 8), 3.0),
    "few rows": (blobs(40, 3), 1.0),
    "one column": (blobs(800, 1), 0.02),
}


def assert_same_dbscan(X, w=None, **options):
    mine, other = (module.DBSCAN(**options).fit(X, sample_weight=w) for module in (ours, theirs))
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_array_equal(mine.core_sample_indices_, other.core_sample_indices_)
    assert mine.labels_.dtype == other.labels_.dtype
    return mine, other


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
def test_dbscan_finds_the_same_labels_and_core_rows(name, algorithm):
    X, eps = TABLES[name]
    w = np.random.RandomState(0).randint(1, 4, size=len(X))
    mine, other = assert_same_dbscan(X, eps=eps, algorithm=algorithm)
    np.testing.assert_array_equal(mine.components_, other.components_)
    assert_same_dbscan(X, w, eps=eps, min_samples=9, algorithm=algorithm)


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "manhattan"},
        {"metric": "cosine", "eps": 0.001},
        {"metric": "minkowski", "p": 3},
        {"metric": "minkowski", "metric_params": {"p": 1.5}},
        {"metric": lambda a, b: float(np.abs(a - b).max())},
        {"metric": "chebyshev", "min_samples": 1},
    ],
    ids=["manhattan", "cosine", "minkowski-3", "minkowski-1.5", "function", "chebyshev"],
)
def test_dbscan_agrees_for_any_metric(options):
    assert_same_dbscan(blobs(400), **{"eps": 0.4, **options})


@pytest.mark.parametrize("form", ["dense", "stored pairs", "sparse rows"])
def test_dbscan_agrees_for_given_distances_and_sparse_rows(form):
    X = blobs(300)
    if form == "sparse rows":
        assert_same_dbscan(sparse.csr_matrix(X * (X > 0)), eps=0.5)
        return
    D = pairwise_distances(X)
    if form == "stored pairs":
        D = sparse.csr_matrix(np.where(D <= 1.0, D, 0.0))
    assert_same_dbscan(D, eps=0.4, metric="precomputed")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bandwidth": 1.0},
        {"bandwidth": 1.0, "bin_seeding": True, "min_bin_freq": 3},
        {"bandwidth": 0.8, "cluster_all": False, "bin_seeding": True, "min_bin_freq": 6},
        {"bandwidth": 2.0, "max_iter": 2},
        {"bandwidth": 3.0, "seeds": np.array([[0.0, 0.0], [5.0, 5.0]])},
    ],
    ids=["default", "width", "bins", "not all", "few steps", "seeds"],
)
def test_mean_shift_finds_the_same_modes_labels_and_steps(options):
    X = blobs(160)
    mine, other = (module.MeanShift(**options).fit(X) for module in (ours, theirs))
    np.testing.assert_allclose(mine.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_array_equal(mine.predict(X[::-1]), other.predict(X[::-1]))
    assert mine.n_iter_ == other.n_iter_


def test_the_estimated_bandwidth_and_the_bins_are_scikit_learns():
    X = blobs(300, 3)
    for options in ({}, {"quantile": 0.1}, {"quantile": 0.0}, {"n_samples": 50, "random_state": 3}):
        assert ours.estimate_bandwidth(X, **options) == pytest.approx(theirs.estimate_bandwidth(X, **options))
    np.testing.assert_allclose(ours.get_bin_seeds(X, 1.0, 2), theirs.get_bin_seeds(X, 1.0, 2))


def both_hdbscan(X, **options):
    return [module.HDBSCAN(copy=True, **options).fit(X) for module in (ours, theirs)]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "ties"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cluster_selection_method": "leaf"},
        {"min_samples": 3, "min_cluster_size": 12},
        {"allow_single_cluster": True, "alpha": 2.0},
        {"max_cluster_size": 60},
        {"metric": "manhattan"},
    ],
    ids=["default", "leaf", "sizes", "single", "at most 60", "manhattan"],
)
def test_hdbscan_finds_the_same_labels_and_strengths(name, options):
    X, cut = TABLES[name]
    mine, other = both_hdbscan(X[:500], **options)
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_allclose(mine.probabilities_, other.probabilities_, rtol=1e-9)
    np.testing.assert_array_equal(mine.dbscan_clustering(cut, 4), other.dbscan_clustering(cut, 4))


def test_hdbscan_agrees_for_given_distances_and_centres():
    X = blobs(300)
    mine, other = both_hdbscan(X, store_centers="both")
    np.testing.assert_allclose(mine.centroids_, other.centroids_)
    np.testing.assert_allclose(mine.medoids_, other.medoids_)
    exact = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))  # other roundings would break ties in another way
    given = ours.HDBSCAN(metric="precomputed", copy=True).fit(exact)
    np.testing.assert_array_equal(given.labels_, mine.labels_)
