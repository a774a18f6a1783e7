"""Hierarchical clustering beside SciPy and scikit-learn."""

import numpy as np
import pytest
import sklearn.cluster as theirs
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from fivefold.cluster import AgglomerativeClustering, FeatureAgglomeration, linkage

METHODS = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
SHARED = ("ward", "complete", "average", "single")


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def assert_same_tree(ours, scipys):
    np.testing.assert_array_equal(ours[:, [0, 1, 3]], scipys[:, [0, 1, 3]])
    np.testing.assert_allclose(ours[:, 2], scipys[:, 2], rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (130, 3), (500, 17)], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_the_matrix_is_that_of_scipy(method, shape):
    X = rows(*shape)
    assert_same_tree(linkage(X, method), hierarchy.linkage(X, method))


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", "correlation", "canberra", "sqeuclidean"])
@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted"])
def test_other_metrics_give_the_matrix_of_scipy(method, metric):
    X = rows(80, 4, seed=1)
    ours, scipys = linkage(X, method, metric), hierarchy.linkage(X, method, metric)
    np.testing.assert_array_equal(ours[:, [0, 1, 3]], scipys[:, [0, 1, 3]])
    np.testing.assert_allclose(ours[:, 2], scipys[:, 2], rtol=1e-9)


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "ward"])
def test_condensed_distances_give_the_matrix_of_scipy_and_are_left_as_they_are(method):
    D = pdist(rows(90, 3, seed=2))
    before = D.copy()
    assert_same_tree(linkage(D, method), hierarchy.linkage(D, method))
    np.testing.assert_array_equal(D, before)


def test_rows_far_from_the_origin_lose_no_digits():
    X = rows(200, 3, seed=3)
    assert_same_tree(linkage(np.round(X, 6) + 2.0**20, "ward"), hierarchy.linkage(np.round(X, 6) + 2.0**20, "ward"))


GRAPH_FREE = {
    "default": {},
    "seven": {"n_clusters": 7},
    "threshold": {"n_clusters": None, "distance_threshold": 1.3},
    "everything": {"n_clusters": 150},
}


@pytest.mark.parametrize("name", GRAPH_FREE)
@pytest.mark.parametrize("linkage", SHARED)
def test_labels_and_distances_are_those_of_scikit_learn(linkage, name):
    X, settings = rows(150, 4, seed=4), {"linkage": linkage, "compute_distances": True, **GRAPH_FREE[name]}
    ours, sklearns = AgglomerativeClustering(**settings).fit(X), theirs.AgglomerativeClustering(**settings).fit(X)
    np.testing.assert_allclose(ours.distances_, sklearns.distances_, rtol=1e-12)
    assert adjusted_rand_score(ours.labels_, sklearns.labels_) == 1.0
    if linkage != "single":  # theirs numbers the clusters of a spanning tree in another order
        np.testing.assert_array_equal(ours.labels_, sklearns.labels_)
    assert ours.n_clusters_ == sklearns.n_clusters_


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clusters": 4},
        {"n_clusters": 30, "compute_full_tree": False},
        {"n_clusters": None, "distance_threshold": 1.0},
    ],
    ids=["four", "early", "threshold"],
)
@pytest.mark.parametrize("linkage", SHARED)
def test_merging_along_a_graph_is_that_of_scikit_learn(linkage, settings):
    X = rows(200, 3, seed=5)
    settings = {"linkage": linkage, "connectivity": kneighbors_graph(X, 6), "compute_distances": True, **settings}
    ours, sklearns = AgglomerativeClustering(**settings).fit(X), theirs.AgglomerativeClustering(**settings).fit(X)
    count = len(ours.children_)
    np.testing.assert_allclose(ours.distances_, sklearns.distances_[:count], rtol=1e-10)
    assert adjusted_rand_score(ours.labels_, sklearns.labels_) == 1.0
    if linkage != "single":  # theirs numbers the clusters of a spanning tree in another order
        np.testing.assert_array_equal(ours.children_, sklearns.children_)
        np.testing.assert_array_equal(ours.labels_, sklearns.labels_)


@pytest.mark.parametrize("linkage", SHARED)
def test_a_graph_in_pieces_is_completed_as_in_scikit_learn(linkage):
    X = np.concatenate([rows(30, 2, seed=6), rows(30, 2, seed=7) + 20, rows(30, 2, seed=8) - 30])
    settings = {"linkage": linkage, "connectivity": kneighbors_graph(X, 5), "n_clusters": 5}
    with pytest.warns(UserWarning, match="3 components"):
        ours = AgglomerativeClustering(**settings).fit(X)
    with pytest.warns(UserWarning, match="connected components"):
        sklearns = theirs.AgglomerativeClustering(**settings).fit(X)
    assert ours.n_connected_components_ == sklearns.n_connected_components_ == 3
    assert adjusted_rand_score(ours.labels_, sklearns.labels_) == 1.0


@pytest.mark.parametrize("pooling", [np.mean, np.median, np.max], ids=lambda f: f.__name__)
@pytest.mark.parametrize("linkage", SHARED)
def test_grouped_columns_are_those_of_scikit_learn(linkage, pooling):
    X = rows(40, 12, seed=9)
    settings = {"n_clusters": 4, "linkage": linkage, "pooling_func": pooling}
    ours, sklearns = FeatureAgglomeration(**settings).fit(X), theirs.FeatureAgglomeration(**settings).fit(X)
    np.testing.assert_allclose(ours.transform(X), sklearns.transform(X), rtol=1e-12)
    Z = ours.transform(X)
    np.testing.assert_array_equal(ours.inverse_transform(Z), sklearns.inverse_transform(Z))
    np.testing.assert_array_equal(ours.get_feature_names_out(), sklearns.get_feature_names_out())
