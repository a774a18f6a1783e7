"""Nearest neighbours of chosen rows, of several centres, of local metrics and of the leaves of trees."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from fivefold.neighbors import (
    CondensedNeighborsClassifier,
    DiscriminantAdaptiveNeighborsClassifier,
    EditedNeighborsClassifier,
    KNeighborsClassifier,
    NearestCentroid,
    NearestClusterClassifier,
    TreeNeighborsClassifier,
)
from fivefold.neighbors.prototypes.condensing import condense, prune
from fivefold.neighbors.prototypes.stored_rows import StoredRows
from fivefold.spatial.labelled_rows import LabelledRows
from fivefold.spatial.search import NeighborIndex
from fivefold.tree import DecisionTreeClassifier

IRIS = load_iris(return_X_y=True)
MOONS = make_moons(200, noise=0.25, random_state=0)


def stored(X, y, k=1):
    rows = LabelledRows.of(X, y, np.ones(len(y)))
    return StoredRows(rows, NeighborIndex(rows.X), k, int(y.max()) + 1)


def slow_errors(S):
    """How many rows the stored ones classify wrongly, each row by itself."""
    kept = np.repeat(np.arange(len(S.counts)), S.counts)
    wrong = 0
    for x, label in zip(S.rows.X, S.rows.y, strict=True):
        near = kept[np.argsort(np.linalg.norm(S.rows.X[kept] - x, axis=1), kind="stable")[: S.k]]
        wrong += np.bincount(S.rows.y[near], minlength=S.K).argmax() != label
    return wrong


@pytest.mark.parametrize("k", [1, 3])
def test_errors_of_stored_rows_are_those_of_a_search_for_each_row(k):
    S, rng = stored(*MOONS, k), np.random.default_rng(0)
    for row in rng.choice(len(S.counts), 15, replace=False):
        foreseen = S.errors_with(row)
        S.store(row)
        assert S.errors() == foreseen == slow_errors(S)
    for row in np.flatnonzero(S.counts)[:10]:
        foreseen = S.errors_without(row)
        S.remove(row)
        assert S.errors() == foreseen == slow_errors(S)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_condensed_rows_are_consistent_and_pruning_keeps_them_so(k, seed):
    S, order = stored(*MOONS, k), np.random.default_rng(seed).permutation(200)
    condense(S, order)
    before = S.size
    assert S.errors() == slow_errors(S) == 0
    prune(S, order)
    assert S.size <= before
    assert S.errors() == slow_errors(S) == 0
    model = CondensedNeighborsClassifier(k, n_init=1, random_state=seed).fit(*MOONS)
    assert model.score(*MOONS) == 1.0
    unpruned = CondensedNeighborsClassifier(k, n_init=1, pruning=False, random_state=seed).fit(*MOONS)
    assert model.prototype_weights_.sum() <= unpruned.prototype_weights_.sum()


def test_hart_stores_a_row_that_the_nearest_stored_one_gets_wrong():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 0, 0, 1, 1, 1])
    S = stored(X, y)
    order = np.argsort(S.rows.X[:, 0])
    condense(S, order)
    kept = sorted(S.rows.X[np.flatnonzero(S.counts), 0])
    assert kept == [0.0, 2.0, 3.0]  # 0 is first; 3 is nearest to 0; then 2 is nearer to 3 than to 0
    prune(S, order)
    assert sorted(S.rows.X[np.flatnonzero(S.counts), 0]) == [2.0, 3.0]


def test_with_three_neighbours_a_row_may_be_stored_several_times():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [0.15]])
    y = np.array([0, 0, 0, 0, 0, 1])  # one row of its class, among others
    model = CondensedNeighborsClassifier(3, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.prototype_weights_.max() > 1


def test_the_price_of_a_row_trades_errors_for_size():
    X, y = MOONS
    sizes, wrong = [], []
    for price in (0.0, 0.5, 2.0, 50.0):
        model = CondensedNeighborsClassifier(price=price, n_init=2, random_state=0).fit(X, y)
        sizes.append(len(model.prototype_indices_))
        wrong.append(round((1 - model.score(X, y)) * len(y)))
        assert model.objective_ == pytest.approx(wrong[-1] + price * sizes[-1])
    assert wrong[0] == 0
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1] <= 2


def test_equal_rows_of_different_labels_end_the_passes_all_the_same():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    for k in (1, 3):
        assert CondensedNeighborsClassifier(k, random_state=0).fit(X, y).score(X, y) == 0.5


def test_editing_removes_what_the_neighbours_get_wrong_and_no_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    flipped = rng.choice(300, 30, replace=False)
    noisy = y.copy()
    noisy[flipped] = 1 - noisy[flipped]
    model = EditedNeighborsClassifier(editing_neighbors=5).fit(X, noisy)
    votes = KNeighborsClassifier(5).fit(X, noisy).predict(None)
    np.testing.assert_array_equal(model.prototype_indices_, np.flatnonzero(votes == noisy))
    fresh = rng.normal(size=(500, 2))
    truth = (fresh[:, 0] > 0).astype(int)
    assert model.score(fresh, truth) > KNeighborsClassifier(1).fit(X, noisy).score(fresh, truth) + 0.03
    lonely = np.r_[noisy[:-1], 7]
    assert set(lonely[EditedNeighborsClassifier(editing_neighbors=5).fit(X, lonely).prototype_indices_]) == {0, 1, 7}


def test_one_centre_per_class_is_the_nearest_mean():
    X, y = IRIS
    one = NearestClusterClassifier(1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), NearestCentroid().fit(X, y).predict(X))
    several = NearestClusterClassifier({0: 1, 1: 4, 2: 4}, random_state=0).fit(X, y)
    assert np.bincount(several.cluster_classes_).tolist() == [1, 4, 4]
    with pytest.raises(ValueError, match="no number for the class 2"):
        NearestClusterClassifier({0: 1, 1: 2}, random_state=0).fit(X, y)


def test_a_cluster_has_a_metric_of_its_own_if_asked_for():
    rng = np.random.default_rng(0)
    flat, tall = rng.normal(size=(200, 2)) * [5, 0.3], rng.normal(size=(200, 2)) * [0.3, 5] + [0, 4]
    X, y = np.concatenate([flat, tall]), np.repeat([0, 1], 200)
    round_ = NearestClusterClassifier(1, random_state=0).fit(X, y).score(X, y)
    assert (
        NearestClusterClassifier(1, metric="mahalanobis", shrinkage=0.0, random_state=0).fit(X, y).score(X, y) > round_
    )


def test_without_iterations_adaptive_neighbours_are_the_ordinary_ones():
    X, y = MOONS
    plain, adaptive = KNeighborsClassifier(7), DiscriminantAdaptiveNeighborsClassifier(7, n_iter=0)
    np.testing.assert_allclose(adaptive.fit(X, y).predict_proba(X), plain.fit(X, y).predict_proba(X))
    np.testing.assert_allclose(adaptive.predict_proba(None), plain.predict_proba(None))


def test_adaptive_neighbours_leave_out_columns_that_say_nothing():
    X = np.random.default_rng(0).normal(size=(600, 8))
    y = (X[:, 0] > 0).astype(int)
    plain = KNeighborsClassifier(5).fit(X[:150], y[:150]).score(X[300:], y[300:])
    adaptive = DiscriminantAdaptiveNeighborsClassifier(5, n_iter=5).fit(X[:150], y[:150])
    assert adaptive.score(X[300:], y[300:]) > plain + 0.05


def test_the_metric_of_a_row_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    Z, y, w = rng.normal(size=(40, 3)), rng.integers(0, 2, 40), rng.uniform(0.1, 1, 40)
    model = DiscriminantAdaptiveNeighborsClassifier(epsilon=0.5).fit(Z, y)
    A = model._local_metric(Z[None], y[None], w[None])[0]
    mean = np.average(Z, axis=0, weights=w)
    W, B = np.zeros((3, 3)), np.zeros((3, 3))
    for c in (0, 1):
        own, share = w[y == c], w[y == c].sum() / w.sum()
        centre = np.average(Z[y == c], axis=0, weights=own)
        B += share * np.outer(centre - mean, centre - mean)
        W += (Z[y == c] - centre).T @ np.diag(own / w.sum()) @ (Z[y == c] - centre)
    W += 1e-3 * np.trace(W + B) / 3 * np.eye(3)
    values, V = np.linalg.eigh(W)
    root = V @ np.diag(values**-0.5) @ V.T
    np.testing.assert_allclose(A.T @ A, root @ (root @ B @ root + 0.5 * np.eye(3)) @ root, rtol=1e-9)


def test_as_many_neighbours_as_a_leaf_has_rows_give_the_answers_of_the_tree():
    X, y = IRIS
    tree = DecisionTreeClassifier(max_depth=2, min_weight_fraction_leaf=20 / 150, random_state=0).fit(X, y)
    model = TreeNeighborsClassifier(20, max_depth=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.tree_.apply(X), tree.apply(X))
    assert np.abs(model.predict_proba(X) - tree.predict_proba(X)).max() > 0.1
    for voter in model.model_.voters:
        voter.n_neighbors = voter.n_samples_fit_
    np.testing.assert_allclose(model.predict_proba(X), tree.predict_proba(X))


def test_columns_that_the_tree_does_not_ask_about_do_not_count():
    X, y = IRIS
    noisy = np.column_stack([X, 100 * np.random.default_rng(0).normal(size=(len(y), 3))])
    guided = TreeNeighborsClassifier(5, max_depth=2, same_leaf=False, random_state=0).fit(noisy[::2], y[::2])
    plain = KNeighborsClassifier(5).fit(noisy[::2], y[::2])
    assert guided.score(noisy[1::2], y[1::2]) > plain.score(noisy[1::2], y[1::2]) + 0.2
    assert not set(guided.columns_) & {4, 5, 6}
