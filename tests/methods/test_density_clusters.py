"""What clusters by density promise beyond what scikit-learn's do."""

from itertools import pairwise as pairwise_steps

import numpy as np
import pytest
from oracles.density_clusters import blur, dbscan, optics, pairwise, shift, single_linkage_heights
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import cosine_distances
from sklearn.preprocessing import StandardScaler

from fivefold.cluster import DBSCAN, HDBSCAN, OPTICS, Birch, MeanShift
from fivefold.cluster.neighborhoods import dense_regions
from fivefold.cluster.neighborhoods.uphill_step_loops import blur_in_place
from fivefold.cluster.neighborhoods.uphill_steps import SLOPES
from fivefold.plot import reachability_plot
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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("d", "radius"), [(1, np.inf), (2, 1.0), (2, np.inf), (7, 3.0)])
def test_rows_are_visited_in_the_order_of_the_definition(seed, d, radius):
    """Whole numbers: many equal distances and equal rows, of which the first is visited first."""
    X = np.random.RandomState(seed).randint(0, 7, size=(130, d)).astype(float)
    model = OPTICS(min_samples=4, max_eps=radius).fit(X)
    order, core, reach, before = optics(pairwise(X), 4, radius)
    np.testing.assert_array_equal(model.ordering_, order)
    np.testing.assert_array_equal(model.predecessor_, before)
    np.testing.assert_allclose(model.reachability_, reach, rtol=1e-14)
    np.testing.assert_allclose(model.core_distances_, core, rtol=1e-14)


@pytest.mark.parametrize("form", ["distances", "stored pairs", "another metric"])
def test_the_order_is_the_same_from_rows_distances_and_lists(form):
    X = make_blobs(300, 3, centers=4, random_state=0)[0]
    D, rows = pairwise(X), OPTICS(max_eps=2.0).fit(X)
    if form == "another metric":
        other = OPTICS(max_eps=2.0, metric=lambda a, b: np.sqrt(((a - b) ** 2).sum())).fit(X)
    else:
        given = D if form == "distances" else sparse.csr_matrix(np.where(D <= 6.0, D, 0.0))
        other = OPTICS(max_eps=2.0, metric="precomputed").fit(given)
    np.testing.assert_array_equal(rows.ordering_, other.ordering_)
    np.testing.assert_array_equal(rows.labels_, other.labels_)
    np.testing.assert_allclose(rows.reachability_, other.reachability_, rtol=1e-12)


def test_a_table_in_tiny_units_has_the_same_order():
    X = make_blobs(200, 2, random_state=0)[0]
    plain, tiny = OPTICS().fit(X), OPTICS().fit(X * 2.0**-60)
    np.testing.assert_array_equal(plain.ordering_, tiny.ordering_)
    np.testing.assert_allclose(tiny.reachability_ * 2.0**60, plain.reachability_, rtol=1e-9)


def test_equal_rows_are_reached_at_zero_and_one_row_of_each_part_is_not_reached():
    model = OPTICS(min_samples=3).fit(np.ones((20, 2)))
    assert model.ordering_.tolist() == list(range(20)) and (model.reachability_[1:] == 0).all()
    parts = OPTICS(min_samples=3, max_eps=0.5).fit(np.repeat([[0.0], [5.0]], 6, axis=0))
    assert np.flatnonzero(np.isinf(parts.reachability_)).tolist() == [0, 6]


def test_optics_refuses_sizes_and_levels_that_make_no_sense():
    X = make_blobs(20, 2, random_state=0)[0]
    with pytest.raises(ValueError, match=r"min_samples=30 must be no greater than the number of rows, n_samples=20"):
        OPTICS(min_samples=30).fit(X)
    with pytest.raises(ValueError, match=r"min_cluster_size=21 must be no greater"):
        OPTICS(min_cluster_size=21).fit(X)
    with pytest.raises(ValueError, match=r"eps=2 is larger than max_eps=1"):
        OPTICS(cluster_method="dbscan", eps=2.0, max_eps=1.0).fit(X)
    with pytest.raises(ValueError, match=r"min_samples=5, but 20 of 20 rows have fewer distances stored"):
        OPTICS(metric="precomputed").fit(sparse.csr_matrix(np.eye(20)))
    with pytest.warns(UserWarning, match="All reachability values are inf"):
        OPTICS(max_eps=1e-6).fit(X)
    with pytest.raises(AttributeError, match='cluster_hierarchy_ is there with cluster_method="xi"'):
        OPTICS(cluster_method="dbscan").fit(X).cluster_hierarchy_  # noqa: B018


def test_the_order_is_kept_in_a_folder_for_other_levels(tmp_path):
    X = make_blobs(60, 2, random_state=0)[0]
    kept = [OPTICS(memory=str(tmp_path), xi=xi).fit(X).ordering_ for xi in (0.05, 0.1)]
    np.testing.assert_array_equal(kept[0], OPTICS().fit(X).ordering_)
    np.testing.assert_array_equal(*kept)


def test_the_reachability_plot_has_a_bar_per_row_and_a_line_per_cluster():
    model = OPTICS(min_samples=4).fit(make_blobs(60, 2, random_state=0)[0])
    ax = reachability_plot(model, level=1.0)
    assert sum(len(bars.get_segments()) for bars in ax.collections) == 60
    assert len(ax.lines) == len(model.cluster_hierarchy_) + 1


@pytest.mark.parametrize("branching", [2, 3, 50])
@pytest.mark.parametrize("d", [1, 4])
def test_features_add_up_and_no_radius_passes_the_threshold(branching, d):
    X = make_blobs(700, d, centers=5, random_state=0)[0]
    model = Birch(threshold=0.4, branching_factor=branching, n_clusters=None).fit(X)
    waiting, leaves = [model.root_], []
    while waiting:
        node = waiting.pop()
        assert len(node.subclusters_) <= branching
        for feature in node.subclusters_:
            if feature.child_ is None:
                leaves.append(feature)
                assert feature.radius <= 0.4 * (1 + 1e-12)
                continue
            waiting.append(feature.child_)
            below, n = feature.child_.subclusters_, np.array([f.n_samples_ for f in feature.child_.subclusters_])
            assert feature.n_samples_ == n.sum()
            np.testing.assert_allclose(feature.centroid_, n @ [f.centroid_ for f in below] / n.sum(), rtol=1e-9)
    assert sum(leaf.n_samples_ for leaf in leaves) == 700 and len(leaves) == len(model.subcluster_centers_)


def test_rows_far_from_the_origin_make_the_same_subclusters():
    X = np.round(make_blobs(400, 2, centers=4, random_state=0)[0] * 1024) / 1024  # so that the shift is exact
    near, far = (Birch(threshold=0.3, n_clusters=4).fit(X + shift) for shift in (0.0, 2.0**30))
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_allclose(far.subcluster_centers_ - 2.0**30, near.subcluster_centers_, atol=1e-6)


def test_parts_make_the_tree_of_the_whole_and_an_earlier_model_stays_as_it_was():
    X = make_blobs(300, 3, centers=4, random_state=0)[0]
    whole, parts = Birch(threshold=0.7).fit(X), Birch(threshold=0.7)
    for start in range(0, 300, 60):
        before = parts.partial_fit(X[start : start + 60]).model_
        centres = before.centres.copy()
    np.testing.assert_array_equal(parts.subcluster_centers_, whole.subcluster_centers_)
    parts.partial_fit(X + 50.0)
    np.testing.assert_array_equal(before.tree.counts.sum(), whole.model_.tree.counts.sum())
    np.testing.assert_array_equal(before.centres, centres)


def test_equal_rows_are_one_subcluster_and_clusterers_are_told_from_others():
    model = Birch(n_clusters=1).fit(np.ones((40, 2)))
    assert model.subcluster_centers_.tolist() == [[1.0, 1.0]] and (model.labels_ == 0).all()
    with pytest.raises(ValueError, match="is no clusterer. Give a number, a clusterer, or None"):
        Birch(n_clusters=StandardScaler()).fit(np.arange(8.0)[:, None])
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        Birch().fit([[0.0], [1.0]])


def test_distances_that_are_not_symmetric_are_refused_with_their_place():
    D = pairwise(make_blobs(30, 2, random_state=0)[0])
    D[3, 7] += 1
    with pytest.raises(ValueError, match="its values of rows 3 and 7 are"):
        HDBSCAN(metric="precomputed").fit(D)


def test_infinite_distances_join_their_rows_last():
    D = np.kron(np.where(np.eye(2) > 0, 1.0, np.inf), np.ones((8, 8)))
    np.fill_diagonal(D, 0.0)
    with pytest.warns(UserWarning, match="by infinite distances only"):
        labels = HDBSCAN(metric="precomputed").fit_predict(D)
    assert labels.tolist() == [0] * 8 + [1] * 8 or labels.tolist() == [1] * 8 + [0] * 8


def test_a_table_without_a_row_that_is_whole_is_refused():
    X = np.where(np.eye(6) > 0, np.nan, 1.0)
    with pytest.raises(ValueError, match="every row has missing or infinite values"):
        HDBSCAN().fit(X)
