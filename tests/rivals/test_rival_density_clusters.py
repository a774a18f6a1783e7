"""Clusters by density agree with scikit-learn's, row by row."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster as theirs
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances

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


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # scikit-learn's
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_hdbscan_labels_rows_with_missing_and_infinite_values(form):
    X = blobs(300, 3)
    X[3, 1], X[7, 0], X[9, 2], X[11] = np.nan, np.inf, -np.inf, [np.inf, np.nan, 1.0]
    mine, other = both_hdbscan(form(X))
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_allclose(mine.probabilities_, other.probabilities_, rtol=1e-9)
    mine_cut, other_cut = mine.dbscan_clustering(0.7), other.dbscan_clustering(0.7)
    assert adjusted_rand_score(mine_cut, other_cut) == 1.0
    np.testing.assert_array_equal(mine_cut < 0, other_cut < 0)
    np.testing.assert_array_equal(mine_cut[[3, 7, 9, 11]], other_cut[[3, 7, 9, 11]])


OPTICS_OPTIONS = {
    "default": {},
    "radius": {"max_eps": 1.0},
    "manhattan": {"metric": "manhattan"},
    "level": {"cluster_method": "dbscan", "eps": 0.5},
    "share of rows": {"min_samples": 0.05, "predecessor_correction": False},
    "power": {"p": 3},
    "large clusters": {"xi": 0.2, "min_cluster_size": 20},
}


@pytest.mark.filterwarnings("ignore:divide by zero")  # scikit-learn's, where copies of a row are reached at zero
@pytest.mark.filterwarnings("ignore:.*All reachability values are inf")  # both say so
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("options", OPTICS_OPTIONS.values(), ids=OPTICS_OPTIONS)
def test_optics_finds_the_same_order_and_clusters(name, options):
    X = TABLES[name][0][:250]
    mine, other = (module.OPTICS(**{"min_samples": 6, **options}).fit(X) for module in (ours, theirs))
    for attribute in ("ordering_", "predecessor_", "labels_"):
        np.testing.assert_array_equal(getattr(mine, attribute), getattr(other, attribute), attribute)
    np.testing.assert_allclose(mine.reachability_, other.reachability_, rtol=1e-12)
    np.testing.assert_allclose(mine.core_distances_, other.core_distances_, rtol=1e-12)
    if mine.cluster_method == "xi":
        np.testing.assert_array_equal(mine.cluster_hierarchy_.ravel(), np.ravel(other.cluster_hierarchy_))


def test_functions_of_optics_give_what_scikit_learns_give():
    X = blobs(200)
    options = {"min_samples": 5, "max_eps": 2.0, "metric": "minkowski", "p": 2, "metric_params": None}
    search = {"algorithm": "auto", "leaf_size": 30, "n_jobs": None}
    found = [module.compute_optics_graph(X, **options, **search) for module in (ours, theirs)]
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    order, core, reach, before = found[1]
    for module in (ours, theirs):
        labels = module.cluster_optics_dbscan(reachability=reach, core_distances=core, ordering=order, eps=0.4)
        slopes, places = module.cluster_optics_xi(reachability=reach, predecessor=before, ordering=order, min_samples=5)
        found.append((labels, slopes, places))
    for mine, other in zip(*found[2:], strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    "options",
    [{}, {"threshold": 0.3, "branching_factor": 3}, {"threshold": 2.0, "n_clusters": None}, {"n_clusters": 7}],
    ids=["default", "narrow", "no groups", "seven"],
)
def test_birch_finds_the_same_subclusters_and_labels(options):
    X = blobs(700, 3)
    mine, other = (module.Birch(**options).fit(X) for module in (ours, theirs))
    places = [
        np.lexsort(model.subcluster_centers_.T) for model in (mine, other)
    ]  # scikit-learn's order hangs on roundings
    np.testing.assert_allclose(mine.subcluster_centers_[places[0]], other.subcluster_centers_[places[1]], rtol=1e-9)
    if options.get("n_clusters", 3) is not None:
        np.testing.assert_array_equal(mine.labels_, other.labels_)
        np.testing.assert_array_equal(mine.predict(X[::-1] + 0.1), other.predict(X[::-1] + 0.1))
    np.testing.assert_allclose(mine.transform(X[:9])[:, places[0]], other.transform(X[:9])[:, places[1]], atol=1e-6)


def test_birch_takes_a_clusterer_and_groups_anew_without_rows():
    X = blobs(400)
    models = [
        module.Birch(n_clusters=theirs.KMeans(5, random_state=0, n_init=1), threshold=0.4).fit(X)
        for module in (ours, theirs)
    ]
    assert adjusted_rand_score(*(model.labels_ for model in models)) == 1.0
    mine, other = (model.set_params(n_clusters=4).partial_fit() for model in models)
    np.testing.assert_array_equal(mine.predict(X), other.predict(X))
