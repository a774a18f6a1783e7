"""Spectral clustering and affinity propagation beside scikit-learn."""

import numpy as np
import pytest
from sklearn import cluster as theirs
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from fivefold import cluster as ours

IRIS = load_iris().data
APART = IRIS + np.random.RandomState(0).normal(0, 1e-3, IRIS.shape)  # no row as far from one exemplar as from another
BLOBS = make_blobs(300, 5, centers=4, random_state=0)[0]
MOONS = make_moons(260, noise=0.05, random_state=0)[0]
SETTINGS = {
    "rbf": {"gamma": 0.5},
    "neighbours": {"affinity": "nearest_neighbors", "n_neighbors": 12},
    "laplacian": {"affinity": "laplacian", "gamma": 0.3},
    "poly": {"affinity": "poly", "degree": 2, "gamma": 0.1},
    "function": {"affinity": lambda x, y: np.exp(-np.abs(x - y).sum())},
}


@pytest.mark.filterwarnings("ignore:.*not fully connected")
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("labels", ["kmeans", "cluster_qr"])
def test_spectral_clustering_finds_the_same_affinities_and_clusters(name, labels):
    X = MOONS if name == "neighbours" else IRIS
    options = {"n_clusters": 3, "assign_labels": labels, "random_state": 0, **SETTINGS[name]}
    mine, other = (lib.SpectralClustering(**options).fit(X) for lib in (ours, theirs))
    assert abs(mine.affinity_matrix_ - other.affinity_matrix_).max() < 1e-9 * abs(other.affinity_matrix_).max()
    assert adjusted_rand_score(mine.labels_, other.labels_) == 1.0


@pytest.mark.parametrize("X", [APART, BLOBS, MOONS], ids=["iris", "blobs", "moons"])
@pytest.mark.parametrize(
    "options", [{}, {"damping": 0.9}, {"preference": -10.0, "damping": 0.8}], ids=["default", "damped", "few"]
)
def test_affinity_propagation_finds_the_same_exemplars_in_as_many_rounds(X, options):
    mine, other = (lib.AffinityPropagation(random_state=0, **options).fit(X) for lib in (ours, theirs))
    np.testing.assert_array_equal(mine.cluster_centers_indices_, other.cluster_centers_indices_)
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_array_equal(mine.predict(X[:50] + 0.1), other.predict(X[:50] + 0.1))
    assert mine.n_iter_ == other.n_iter_
