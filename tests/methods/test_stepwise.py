"""Merging by any cost from any start, splitting, and drawings of trees."""

import itertools

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fivefold.cluster import AgglomerativeClustering, DivisiveClustering, KMeans, StepwiseAgglomeration
from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.cluster.hierarchy.merge_path import distance_cost, merge_labels, merge_stepwise, squared_cost
from fivefold.plot import dendrogram

LINE = np.array([[0.0], [1.0], [9.0], [12.0]])
COSTS = pytest.mark.parametrize("cost", [squared_cost, distance_cost], ids=["squared", "distances"])
SPLITS = pytest.mark.parametrize("split", ["two_means", "splinter", "exhaustive"])


def rows(n, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def far_groups():
    return np.concatenate([rows(6, seed=1), rows(7, seed=2) + 50]), np.repeat([0, 1], [6, 7])


@COSTS
def test_no_renaming_of_labels_changes_a_cost(cost):
    X, r = rows(30), np.random.default_rng(1).integers(4, size=30)
    for names in itertools.permutations(range(4)):
        np.testing.assert_allclose(cost(X, np.array(names)[r]), cost(X, r), rtol=1e-12)


def test_a_merge_leaves_one_label_fewer():
    r = np.array([0, 1, 2, 1, 3])
    merged = merge_labels(r, 1, 3)
    np.testing.assert_array_equal(merged, [0, 3, 2, 3, 3])
    assert len(np.unique(merged)) == len(np.unique(r)) - 1


def test_costs_of_four_numbers_on_a_line():
    plain = StepwiseAgglomeration(2, cost="distances", start="rows", random_state=0).fit(LINE)
    np.testing.assert_allclose(plain.costs_, [0, 1, 4, 20])
    np.testing.assert_array_equal(plain.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(
        StepwiseAgglomeration(2, start="rows", random_state=0).fit(LINE).costs_, [0, 0.5, 5, 105]
    )


@COSTS
def test_a_cost_of_ones_own_takes_the_same_path_as_the_built_in_one(cost):
    X, r = rows(40), np.arange(40) % 9
    ours, own = merge_stepwise(X, r, cost), merge_stepwise(X, r, lambda X, r: cost(X, r))
    np.testing.assert_array_equal(ours.merges, own.merges)
    np.testing.assert_allclose(ours.costs, own.costs, rtol=1e-12)


def test_from_single_rows_the_squared_cost_is_wards_linkage():
    X = rows(60, 3)
    model = StepwiseAgglomeration(4, start="rows", random_state=0).fit(X)
    ward = AgglomerativeClustering(4, compute_distances=True).fit(X)
    np.testing.assert_allclose(np.diff(model.costs_), ward.distances_**2 / 2, rtol=1e-9)
    assert adjusted_rand_score(model.labels_, ward.labels_) == 1.0


def test_clusters_of_any_start_merge():
    X = np.concatenate([rows(40, seed=s) + shift for s, shift in enumerate((0, 20, 40))])
    truth = np.repeat([0, 1, 2], 40)
    starts = [12, KMeans(10, n_init=1, random_state=0), KMeans(9, n_init=1, random_state=1).fit(X).labels_]
    for start in starts:
        model = StepwiseAgglomeration(3, start=start, random_state=0).fit(X)
        assert adjusted_rand_score(truth, model.labels_) == 1.0
        assert model.path_.tree().n_leaves == len(model.costs_)


def test_a_row_with_q_clusters_has_q_labels():
    path = merge_stepwise(rows(50), np.arange(50) % 12)
    table = path.assignments()
    assert table.shape == (12, 50)
    for q, labels in zip(range(12, 0, -1), table, strict=True):
        assert len(np.unique(labels)) == q
        np.testing.assert_array_equal(labels, path.assignment(q))
    tree = path.tree()
    assert adjusted_rand_score(tree.cut(5)[path.start], path.assignment(5)) == 1.0
    with pytest.raises(ValueError, match="ask for 1 to 12"):
        path.assignment(13)


def test_lines_of_a_dendrogram_join_at_the_increases_of_the_cost():
    path = merge_stepwise(LINE, np.arange(4), distance_cost)
    for tree, expected in ((path.tree(), [1, 3, 16]), (path.tree(cumulative=True), [1, 4, 20])):
        ax = dendrogram(tree, cut=2.0)
        joins = ax.collections[0].get_segments()
        np.testing.assert_allclose(sorted(line[1][1] for line in joins), expected)
        assert len(joins) == len(path.merges)
        assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2", "3"]
        plt.close(ax.figure)


def test_merges_below_their_parts_are_drawn_where_they_are():
    tree = Dendrogram(np.array([[0, 1], [2, 3]]), np.array([1.0, 0.9]), 3)
    ax = dendrogram(tree, names=["a", "b", "c"])
    np.testing.assert_allclose([line[1][1] for line in ax.collections[0].get_segments()], [1.0, 0.9])
    plt.close(ax.figure)
    assert tree.to_text().endswith("height 0 to 1")


def test_a_tree_in_text_has_a_line_per_leaf_and_refuses_many():
    tree = merge_stepwise(rows(30), np.arange(30) % 8).tree()
    names = [f"leaf{i}" for i in range(8)]
    shown = tree.to_text(names).splitlines()
    assert [line.split(" ")[0] for line in shown[:-1:2]] == [names[i] for i in tree.leaf_order()]
    with pytest.raises(ValueError, match="too many for a tree in text"):
        Dendrogram(np.empty((0, 2), int), np.empty(0), 61).to_text()


@SPLITS
def test_the_first_split_separates_far_groups_and_the_last_leaves_single_rows(split):
    X, truth = far_groups()
    found = DivisiveClustering(2, split=split, random_state=0).fit(X)
    np.testing.assert_array_equal(found.labels_, truth)
    gap = np.linalg.norm(X[truth == 0].mean(axis=0) - X[truth == 1].mean(axis=0))
    np.testing.assert_allclose(found.tree_.heights, [gap])
    every = DivisiveClustering(13, split=split, random_state=0).fit(X)
    np.testing.assert_array_equal(every.labels_, np.arange(13))
    np.testing.assert_array_equal(every.tree_.cut(2) == every.tree_.cut(2)[0], truth == 0)


def test_an_exhaustive_split_has_the_most_distant_means():
    X = rows(7, seed=3)
    found = DivisiveClustering(2, split="exhaustive", random_state=0).fit(X)
    gaps = []
    for size in range(1, 7):
        for chosen in itertools.combinations(range(7), size):
            inside = np.isin(np.arange(7), chosen)
            gaps.append(np.linalg.norm(X[inside].mean(axis=0) - X[~inside].mean(axis=0)))
    np.testing.assert_allclose(found.tree_.heights, [max(gaps)])


def test_a_splinter_takes_rows_that_are_nearer_to_it_than_to_the_rest():
    X = rows(25, seed=4)
    labels = DivisiveClustering(2, split="splinter", random_state=0).fit(X).labels_
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    rest = np.bincount(labels).argmax()
    for i in np.flatnonzero(labels == rest):
        others = (labels == rest) & (np.arange(25) != i)
        assert D[i, others].mean() <= D[i, labels != rest].mean()


@SPLITS
def test_equal_rows_are_split_at_height_zero(split):
    model = DivisiveClustering(4, split=split, random_state=0).fit(np.ones((5, 2)))
    assert len(np.unique(model.labels_)) == 4
    np.testing.assert_array_equal(model.tree_.heights, 0.0)


REFUSALS = {
    "many rows": (lambda: DivisiveClustering(2, split="exhaustive", random_state=0).fit(rows(30)), "at most 18 rows"),
    "many clusters": (lambda: DivisiveClustering(9, random_state=0).fit(rows(5)), "more than the 5 rows"),
    "few to start": (lambda: StepwiseAgglomeration(6, start=4, random_state=0).fit(rows(30)), "start from more"),
    "word": (
        lambda: StepwiseAgglomeration(start="row", random_state=0).fit(rows(30)),
        "the only word that it takes is 'rows'",
    ),
    "none": (lambda: StepwiseAgglomeration(start=0, random_state=0).fit(rows(30)), "at least one cluster"),
    "labels": (lambda: StepwiseAgglomeration(start=[0, 1], random_state=0).fit(rows(30)), "one per row"),
    "cost": (lambda: merge_stepwise(rows(400), np.arange(400), lambda X, r: 0.0), "10,666,600 evaluations"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_is_refused_with_a_way_out(name):
    call, words = REFUSALS[name]
    with pytest.raises(ValueError, match=words):
        call()
