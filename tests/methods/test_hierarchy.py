"""Hierarchical clustering: what merges, in which order, at what cost, and what is refused."""

import numpy as np
import pytest
from interruption import PressCtrlC
from oracles.hierarchy import merge_heights, partition_of
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from fivefold.cluster import (
    AgglomerativeClustering,
    DivisiveClustering,
    FeatureAgglomeration,
    StepwiseAgglomeration,
    linkage,
)
from fivefold.cluster.hierarchy import linkage as hierarchy_linkage
from fivefold.cluster.hierarchy import scan_loops
from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.cluster.hierarchy.linkage import METHODS
from fivefold.core.console.fit_progress import InterruptedWarning

EVERY = pytest.mark.parametrize("method", METHODS)


def parts(labels):
    return partition_of([np.flatnonzero(labels == k).tolist() for k in np.unique(labels)])


@pytest.mark.parametrize("method", ["ward", "single", "complete", "average", "centroid"])
def test_every_merge_is_the_one_that_the_definition_asks_for(method):
    X = np.random.default_rng(0).normal(size=(24, 3))
    heights, partitions = merge_heights(X, method)
    Z = linkage(X, method)
    np.testing.assert_allclose(Z[:, 2], heights, rtol=1e-12)
    tree = Dendrogram(Z[:, :2].astype(int), Z[:, 2], len(X))
    for done, expected in enumerate(partitions, start=1):
        assert parts(tree.cut(len(X) - done)) == expected


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("centroid", "median")])
def test_heights_never_fall_except_those_of_centres(method):
    Z = linkage(np.random.default_rng(1).normal(size=(300, 2)), method)
    assert (np.diff(Z[:, 2]) >= 0).all()


def test_heights_of_centroids_may_fall():
    Z = linkage([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]], "centroid")
    np.testing.assert_allclose(Z[:, 2], [1.0, 0.9])


@pytest.mark.parametrize("method", ["ward", "complete", "average", "single"])
def test_three_groups_that_are_apart_are_found(method):
    X, y = make_blobs(150, centers=[[0, 0], [10, 0], [0, 10]], random_state=0)
    model = AgglomerativeClustering(3, linkage=method).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_single_linkage_follows_long_groups():
    X, y = make_moons(400, noise=0.03, random_state=0)
    assert adjusted_rand_score(y, AgglomerativeClustering(2, linkage="single").fit_predict(X)) == 1.0


@EVERY
def test_equal_rows_merge_at_height_zero(method):
    Z = linkage(np.ones((130, 2)), method)
    np.testing.assert_array_equal(Z[:, 2], 0.0)
    assert sorted(Z[:, :2].ravel().tolist()) == list(range(258))


@EVERY
def test_ties_and_copies_give_a_tree_in_which_every_cluster_merges_once(method):
    grid = np.array([[i, j] for i in range(12) for j in range(12)] * 2, dtype=float)
    Z = linkage(grid, method)
    n = len(grid)
    assert sorted(Z[:, :2].ravel().tolist()) == list(range(2 * n - 2))
    assert Z[-1, 3] == n
    np.testing.assert_array_equal(Z[: n // 2, 2], 0.0)


@EVERY
def test_one_column_gives_groups_that_are_intervals(method):
    x = np.sort(np.random.default_rng(2).normal(size=200))
    Z = linkage(x[:, None], method)
    labels = Dendrogram(Z[:, :2].astype(int), Z[:, 2], 200).cut(6)
    assert np.count_nonzero(np.diff(labels)) == 5


@pytest.mark.parametrize("method", ["ward", "single", "average"])
def test_shared_tasks_give_the_tree_of_one_task(method, monkeypatch):
    X = np.random.default_rng(3).normal(size=(9000 if method == "average" else 6000, 2 if method == "average" else 40))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = linkage(X, method)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert scan_loops.WORK_PER_TASK < 6000 * 40
    np.testing.assert_array_equal(linkage(X, method), alone)


def test_a_cut_undoes_the_last_merges_and_its_clusters_nest():
    Z = linkage(np.random.default_rng(4).normal(size=(60, 2)), "average")
    tree = Dendrogram(Z[:, :2].astype(int), Z[:, 2], 60)
    for q in range(1, 61):
        labels = tree.cut(q)
        assert len(np.unique(labels)) == q
        if q > 1:
            coarser = tree.cut(q - 1)
            assert len({*zip(labels.tolist(), coarser.tolist(), strict=True)}) == q
    np.testing.assert_array_equal(tree.cut_at(Z[40, 2]), tree.cut(60 - 40))
    with pytest.raises(ValueError, match="1 to 60 clusters"):
        tree.cut(61)


def test_leaves_are_ordered_so_that_clusters_stand_together():
    Z = linkage(np.random.default_rng(5).normal(size=(50, 2)), "complete")
    tree = Dendrogram(Z[:, :2].astype(int), Z[:, 2], 50)
    for q in (2, 7, 20):
        assert np.count_nonzero(np.diff(tree.cut(q)[tree.leaf_order()])) == q - 1


def test_a_tree_kept_in_a_folder_is_read_again(tmp_path):
    X = np.random.default_rng(6).normal(size=(40, 2))
    first = AgglomerativeClustering(3, memory=str(tmp_path)).fit(X)
    assert any(tmp_path.rglob("*.pkl"))
    np.testing.assert_array_equal(AgglomerativeClustering(5, memory=str(tmp_path)).fit(X).labels_, first.tree_.cut(5))


def test_distances_are_an_attribute_only_where_they_are_asked_for():
    X = np.random.default_rng(7).normal(size=(20, 2))
    assert not hasattr(AgglomerativeClustering().fit(X), "distances_")
    assert len(AgglomerativeClustering(compute_distances=True).fit(X).distances_) == 19


def test_many_rows_merge_in_linear_memory(monkeypatch):
    X = np.random.default_rng(8).normal(size=(3000, 3))
    monkeypatch.setattr("fivefold.core.storage.memory_limits.SMALL_REQUEST", 0)
    monkeypatch.setattr("fivefold.core.storage.memory_limits.free_memory", lambda: 1 << 20)
    assert len(linkage(X, "ward")) == len(linkage(X, "single")) == 2999
    with pytest.raises(MemoryError, match="3000 rows need about 36 MB.*'ward'"):
        linkage(X, "average")


REFUSALS = {
    "both": ({"distance_threshold": 1.0}, "set one of them"),
    "neither": ({"n_clusters": None}, "set one of them"),
    "early": (
        {"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False},
        "needs compute_full_tree=True",
    ),
    "many": ({"n_clusters": 99}, "more than the 20 rows"),
    "ward": ({"metric": "cosine"}, "takes metric='euclidean'"),
    "square": ({"metric": "precomputed", "linkage": "single"}, r"square \(n, n\)"),
    "graph": ({"connectivity": np.eye(3)}, r"must be \(20, 20\)"),
    "median": ({"connectivity": np.ones((20, 20)), "linkage": "median"}, "not defined along a graph"),
    "zeros": ({"metric": "cosine", "linkage": "average"}, "row 0 is one"),
    "metric": ({"metric": "euclid", "linkage": "average"}, "is not known"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_is_refused_in_words(name):
    settings, words = REFUSALS[name]
    X = np.random.default_rng(9).normal(size=(20, 2))
    X[0] = 0.0
    with pytest.raises(ValueError, match=words):
        AgglomerativeClustering(**settings).fit(X)


def test_refusals_of_linkage():
    with pytest.raises(ValueError, match="'words' is not known"):
        linkage([[0.0], [1.0]], "words")
    with pytest.raises(ValueError, match="5 distances"):
        linkage(np.ones(5), "average")
    with pytest.raises(ValueError, match="needs rows"):
        linkage(np.ones(6), "centroid")
    with pytest.raises(ValueError, match="at least 2 rows"):
        linkage([[1.0]], "ward")
    with pytest.raises(ValueError, match="overflow"):
        linkage([[1e200], [-1e200], [0.0]], "ward")


def test_columns_of_one_group_become_their_mean():
    X = np.random.default_rng(10).normal(size=(30, 3))[:, [0, 0, 1, 1, 2]]
    model = FeatureAgglomeration(3).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)
    with pytest.raises(ValueError, match="more than the 5 columns"):
        FeatureAgglomeration(6).fit(X)


def test_the_cost_of_all_distances_is_named_before_it_is_paid():
    with pytest.raises(MemoryError, match="AgglomerativeClustering: 1000000 rows need about .* Use linkage 'ward'"):
        AgglomerativeClustering(linkage="average").fit(np.arange(1e6)[:, None])


def test_a_metric_that_gives_no_number_is_refused_with_the_rows():
    def metric(X):
        square = squareform(pdist(X))
        square[3, 7] = square[7, 3] = np.nan
        return square

    with pytest.raises(ValueError, match=r"AgglomerativeClustering: the metric gave nan at \(3, 7\)"):
        AgglomerativeClustering(metric=metric, linkage="average").fit(np.random.default_rng(0).normal(size=(20, 3)))


def test_a_precomputed_square_gives_the_clusters_of_its_rows():
    X = np.random.default_rng(11).normal(size=(50, 3))
    square = np.linalg.norm(X[:, None] - X[None], axis=2)
    given = AgglomerativeClustering(4, metric="precomputed", linkage="average").fit(square)
    np.testing.assert_array_equal(given.labels_, AgglomerativeClustering(4, linkage="average").fit_predict(X))


@pytest.mark.parametrize("linkage", ["ward", "single", "average", "median"])
def test_an_interrupted_merge_keeps_what_is_merged_and_joins_the_rest_at_the_largest_height(linkage):
    X = np.random.RandomState(0).normal(size=(1100, 2))
    with pytest.warns(InterruptedWarning, match="interrupted after 40 parts"):
        part = AgglomerativeClustering(4, linkage=linkage).set_callbacks(PressCtrlC(40)).fit(X)
    assert len(part.children_) == 1099 and len(np.unique(part.labels_)) == 4
    assert part.tree_.heights[-1] == part.tree_.heights[-400]


def test_interrupted_steps_and_splits_keep_what_they_have():
    X = np.random.RandomState(0).normal(size=(60, 2))
    with pytest.warns(InterruptedWarning, match="interrupted after 5 merges"):
        steps = StepwiseAgglomeration(3, start="rows").set_callbacks(PressCtrlC(5)).fit(X)
    whole = StepwiseAgglomeration(3, start="rows").fit(X)
    np.testing.assert_allclose(steps.costs_[:6], whole.costs_[:6])
    assert len(steps.costs_) == 60 and steps.costs_[-1] == pytest.approx(whole.costs_[-1])
    with pytest.warns(InterruptedWarning, match="interrupted after 2 splits"):
        splits = DivisiveClustering(6, random_state=0).set_callbacks(PressCtrlC(2)).fit(X)
    assert len(np.unique(splits.labels_)) == 3


@pytest.mark.parametrize("method", ["average", "complete", "weighted", "ward"])
@pytest.mark.parametrize("seed", range(6))
def test_few_rows_give_the_bytes_of_many(monkeypatch, method, seed):
    """Few rows merge on the whole square of their distances, many on half of it: ties and all, the tree is the same."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 150))
    X = rng.integers(0, 4, size=(n, 3)) * 1.0 if seed % 2 else rng.normal(size=(n, 3))
    square = linkage(pdist(X), method)
    monkeypatch.setattr(hierarchy_linkage, "SQUARE_ROWS", 0)
    assert square.tobytes() == linkage(pdist(X), method).tobytes()
