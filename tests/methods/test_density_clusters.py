"""What clusters by density promise beyond what scikit-learn's do."""

from itertools import pairwise as pairwise_steps

import numpy as np
import pytest
from oracles.density_clusters import blur, dbscan, pairwise, shift, single_linkage_heights
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import cosine_distances

from fivefold.cluster import DBSCAN, HDBSCAN, MeanShift
from fivefold.cluster.neighborhoods import dense_regions
from fivefold.cluster.neighborhoods.uphill_step_loops import blur_in_place
from fivefold.cluster.neighborhoods.uphill_steps import SLOPES
from fivefold.spatial.smoothing_kernels import KERNELS


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [1, 2, 7])
def test_dbscan_is_what_its_definition_says(seed, d):
    rng = np.random.RandomState(seed)
    X, w = rng.randint(0, 5, size=(90, d)).astype(float), rng.randint(1, 3, size=90)
    for eps, least in ((1.0, 4), (1.5, 9)):
        labels, core = dbscan(pairwise(X), eps, least, w)
        model = DBSCAN(eps=eps, min_samples=least).fit(X, sample_weight=w)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.core_sample_indices_, core)


@pytest.mark.parametrize(("d", "eps"), [(2, 0.6), (8, 1.2)])
def test_a_weight_is_a_number_of_copies_and_rows_of_weight_zero_are_noise(d, eps):
    X = make_blobs(700, d, centers=6, cluster_std=0.5, random_state=0)[0]
    w = np.random.RandomState(1).randint(0, 4, size=len(X))
    weighted, repeated = DBSCAN(eps=eps).fit(X, sample_weight=w), DBSCAN(eps=eps).fit(X.repeat(w, axis=0))
    np.testing.assert_array_equal(weighted.labels_.repeat(w), repeated.labels_)
    assert (weighted.labels_[w == 0] == -1).all() and weighted.labels_.max() > 1
    assert set(weighted.core_sample_indices_) <= set(np.flatnonzero(w))


def test_neighbours_are_listed_again_where_all_lists_together_would_be_large(monkeypatch):
    X = make_blobs(800, 12, centers=4, random_state=0)[0]
    whole = DBSCAN(eps=3.0, algorithm="brute").fit(X)
    monkeypatch.setattr(dense_regions, "MAX_KEPT_PAIRS", 1000)
    monkeypatch.setattr(dense_regions, "BLOCK_PAIRS", 100 * len(X))
    np.testing.assert_array_equal(DBSCAN(eps=3.0, algorithm="brute").fit(X).labels_, whole.labels_)
    assert whole.labels_.max() >= 3


def test_equal_rows_are_one_cluster_or_noise():
    X = np.ones((50, 3))
    assert (DBSCAN().fit_predict(X) == 0).all()
    assert (DBSCAN(min_samples=51).fit_predict(X) == -1).all()


def test_distances_that_are_not_square_or_negative_are_refused():
    with pytest.raises(ValueError, match="must be square: .* X has 3 rows and 2 columns"):
        DBSCAN(metric="precomputed").fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="egative"):
        DBSCAN(metric="precomputed").fit(-np.ones((3, 3)))


G = {
    "gaussian": lambda u: np.exp(-u / 2),
    "epanechnikov": lambda u: (u <= 1) * 1.0,
    "biweight": lambda u: np.maximum(1 - u, 0),
    "triweight": lambda u: np.maximum(1 - u, 0) ** 2,
}


@pytest.mark.parametrize("profile", G)
def test_positions_move_to_the_weighted_means_of_the_definition(profile):
    X = make_blobs(200, 3, centers=3, random_state=0)[0]
    paths = MeanShift(bandwidth=2.0, profile=profile, step=0.7).fit(X).trajectories(X[:10])
    assert len(paths) > 5
    for before, after in pairwise_steps(paths):
        means = np.array([shift(x, X, 2.0, G[profile]) for x in before])
        moving = np.abs(after - before).max(axis=1) > 0
        np.testing.assert_allclose(after[moving], (before + 0.7 * (means - before))[moving], rtol=1e-9)


@pytest.mark.parametrize("profile", ["gaussian", "epanechnikov"])
def test_rows_are_blurred_in_place_as_algorithm_6_says(profile):
    X = make_blobs(60, 2, centers=2, random_state=0)[0]
    blurred = X.copy()
    slope = KERNELS[SLOPES[profile]]
    for _ in range(3):
        blur_in_place(blurred, slope.code, (slope.reach * 1.5) ** 2, 1 / 1.5**2, 0.8)
    np.testing.assert_allclose(blurred, blur(X, 1.5, G[profile], 3, 0.8), rtol=1e-9)


def test_a_width_that_is_zero_is_refused_with_the_cure():
    with pytest.raises(ValueError, match="bandwidth is 0: most rows are copies of others. Give a bandwidth"):
        MeanShift().fit(np.repeat([[0.0], [1.0], [2.0]], 20, axis=0))


def test_rows_that_are_all_equal_are_one_hill():
    model = MeanShift().fit(np.full((20, 2), 3.0))
    assert (model.labels_ == 0).all() and model.cluster_centers_.tolist() == [[3.0, 3.0]]


def test_seeds_that_are_far_or_of_another_width_are_refused():
    X = make_blobs(50, 2, random_state=0)[0]
    with pytest.raises(ValueError, match="No point was within bandwidth=1 of any seed"):
        MeanShift(bandwidth=1.0, seeds=[[1e3, 1e3]]).fit(X)
    with pytest.raises(ValueError, match=r"seeds has shape \(1, 3\); give a table of finite numbers with 2 columns"):
        MeanShift(bandwidth=1.0, seeds=[[1.0, 2.0, 3.0]]).fit(X)


@pytest.mark.parametrize("seed", range(4))
def test_lengths_of_the_spanning_tree_are_those_of_all_pairs(seed):
    """Whole numbers: many equal distances; equal rows; the tree has its lengths whatever edges are chosen."""
    X = np.random.RandomState(seed).randint(0, 6, size=(120, 3)).astype(float)
    D = pairwise(X)
    core = np.sort(D, axis=1)[:, 4]
    reach = np.maximum(np.maximum.outer(core, core), D)
    model = HDBSCAN(min_cluster_size=5).fit(X)
    np.testing.assert_allclose(model.model_.heights, single_linkage_heights(reach), rtol=1e-12)


def test_a_metric_that_the_tree_of_rows_does_not_take_has_the_same_spanning_tree():
    X = np.random.RandomState(0).normal(size=(90, 3))
    D = cosine_distances(X)
    core = np.sort(D, axis=1)[:, 4]
    heights = single_linkage_heights(np.maximum(np.maximum.outer(core, core), D))
    np.testing.assert_allclose(HDBSCAN(metric="cosine").fit(X).model_.heights, heights, rtol=1e-9)


def test_stored_distances_that_do_not_connect_all_rows_are_refused():
    D = sparse.csr_matrix(np.kron(np.eye(2), np.ones((6, 6))))
    with pytest.raises(ValueError, match="do not connect all rows, or some row has fewer than min_samples=5"):
        HDBSCAN(metric="precomputed").fit(D)


def test_more_neighbours_than_rows_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"min_samples \(9\) must be at most the number of samples in X \(4\)"):
        HDBSCAN(min_samples=9).fit(np.arange(4.0)[:, None])
