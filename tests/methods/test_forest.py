"""Forests: what laws over all methods cannot say."""

import warnings

import numpy as np
import pandas as pd
import pytest
from interruption import PressCtrlC
from oracles.forest import leaf, mean_shares, out_of_bag, vote_shares
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.inspection import partial_dependence, permutation_importance

from fivefold.core import parallel
from fivefold.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.spatial.row_order import content_order

CLASSIFIERS = (RandomForestClassifier, ExtraTreesClassifier)
REGRESSORS = (RandomForestRegressor, ExtraTreesRegressor)


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(240, 6, n_informative=4, n_classes=3, random_state=0)
    X[::7, 1] = np.nan
    return X, y


@pytest.fixture(scope="module")
def numbers():
    return make_regression(200, 5, noise=5.0, random_state=0)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_tree_fitted_again_to_its_sample_is_the_tree_of_the_forest(kind, bootstrap, classes, numbers):
    X, y = numbers if kind in REGRESSORS else classes
    forest = kind(3, max_features=0.5, bootstrap=bootstrap, random_state=0).fit(X, y)
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        again = clone(tree).fit(X[rows], forest.classes_.searchsorted(y[rows]) if kind in CLASSIFIERS else y[rows])
        np.testing.assert_allclose(again.tree_.value, tree.tree_.value, rtol=1e-12)
        assert np.array_equal(again.tree_.feature, tree.tree_.feature)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_forest_says_the_mean_of_what_its_trees_say(kind, classes):
    X, y = classes
    forest = kind(7, random_state=0).fit(X, y)
    np.testing.assert_allclose(forest.predict_proba(X), mean_shares(forest, X), rtol=1e-12)
    np.testing.assert_allclose(
        np.mean([t.predict_proba(X) for t in forest.estimators_], axis=0), mean_shares(forest, X)
    )
    voting = kind(7, random_state=0, voting="hard").fit(X, y)
    np.testing.assert_allclose(voting.predict_proba(X), vote_shares(voting, X), rtol=1e-12)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_forest_of_numbers_says_the_mean_of_what_its_trees_say(kind, numbers):
    X, y = numbers
    forest = kind(7, random_state=0).fit(X, y)
    np.testing.assert_allclose(forest.predict(X), mean_shares(forest, X)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_rows_out_of_the_bag_are_judged_by_the_trees_that_did_not_see_them(kind, classes):
    X, y = classes
    forest = kind(25, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    expected = out_of_bag(forest, X)
    np.testing.assert_allclose(forest.oob_decision_function_, expected, rtol=1e-12)
    assert forest.oob_score_ == np.mean(expected.argmax(axis=1) == y)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor], ids=lambda k: k.__name__)
def test_rows_of_weight_zero_keep_their_places_in_samples_and_out_of_the_bag(kind, classes):
    """They are in no sample, so every tree speaks of them."""
    X, y = classes
    w = np.random.RandomState(0).randint(0, 3, size=len(X)).astype(float)
    used = w > 0
    forest, few = (kind(120, bootstrap=True, oob_score=True, random_state=0) for _ in range(2))
    forest.fit(X, y, sample_weight=w)
    few.fit(X[used], y[used], sample_weight=w[used])
    said, every = ("oob_decision_function_", "predict_proba") if kind is RandomForestClassifier else (
        "oob_prediction_", "predict"
    )  # fmt: skip
    assert len(getattr(forest, said)) == len(X) and forest.oob_score_ == few.oob_score_
    np.testing.assert_array_equal(getattr(forest, said)[used], getattr(few, said))
    np.testing.assert_array_equal(getattr(forest, said)[~used], getattr(forest, every)(X[~used]))
    for mine, theirs in zip(forest.estimators_samples_, few.estimators_samples_, strict=True):
        np.testing.assert_array_equal(mine, np.flatnonzero(used)[theirs])
    whole = kind(2, bootstrap=False, random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(whole.estimators_samples_, [np.flatnonzero(used)] * 2)


def test_the_judgement_out_of_the_bag_can_be_any_function(numbers):
    X, y = numbers
    forest = RandomForestRegressor(30, oob_score=lambda y, said: np.abs(y - said).mean(), random_state=0).fit(X, y)
    np.testing.assert_allclose(forest.oob_prediction_, out_of_bag(forest, X)[:, 0], rtol=1e-12)
    assert forest.oob_score_ == pytest.approx(np.abs(y - forest.oob_prediction_).mean())


def test_a_row_that_every_tree_saw_has_no_judgement_and_the_forest_says_so(numbers):
    X, y = numbers
    with pytest.warns(UserWarning, match=r"\d+ of 200 rows are in the sample of every tree .* Grow more trees"):
        RandomForestRegressor(2, oob_score=True, random_state=0).fit(X, y)


def test_leaves_and_paths_are_those_of_the_trees(classes):
    X, y = classes
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    applied = forest.apply(X)
    path, start = forest.decision_path(X)
    for i, member in enumerate(forest.estimators_):
        np.testing.assert_array_equal(applied[:, i], [leaf(member.tree_, x) for x in X])
        own = path[:, start[i] : start[i + 1]]
        np.testing.assert_array_equal(own.toarray(), member.decision_path(X).toarray())
    assert path.shape[1] == start[-1] == sum(member.tree_.node_count for member in forest.estimators_)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_trees_that_are_added_later_are_those_of_one_fit(kind, numbers):
    X, y = numbers
    y = y if kind in REGRESSORS else (y > 0).astype(int)
    grown = kind(3, warm_start=True, bootstrap=True, random_state=0).fit(X, y).set_params(n_estimators=8).fit(X, y)
    whole = kind(8, bootstrap=True, random_state=0).fit(X, y)
    assert grown.predict(X).tobytes() == whole.predict(X).tobytes()
    with pytest.warns(UserWarning, match="does not fit new trees"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=2 but the forest has 8 trees already"):
        grown.set_params(n_estimators=2).fit(X, y)


def test_weights_are_repetition_on_large_tables_too(monkeypatch):
    """Nodes with many rows are cut between bins, whether a row is there twice or weighs two."""
    X, y = make_classification(3000, 8, n_informative=5, flip_y=0.1, random_state=0)
    w = np.random.RandomState(1).randint(1, 4, size=len(X))
    order = np.random.RandomState(2).permutation(len(X))
    repeated = RandomForestClassifier(3, random_state=0).fit(X.repeat(w, axis=0), y.repeat(w))
    weighted = RandomForestClassifier(3, random_state=0).fit(X[order], y[order], sample_weight=w[order])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_values_that_share_a_bin_are_told_apart():
    """A column of 100,000 values has 255 bins; two values in one bin, both common, still make two leaves."""
    x = np.concatenate([np.linspace(1, 2, 2000), np.full(500, 3.0), np.full(500, 3.0001)])
    y = (x > 3.00005).astype(int)
    forest = RandomForestClassifier(3, random_state=0).fit(x[:, None], y)
    np.testing.assert_array_equal(forest.predict(x[:, None]), y)


def test_a_sample_may_be_a_number_or_a_share_of_the_rows(classes):
    X, y = classes
    for asked, rows in ((30, 30), (0.25, 60), (None, 240)):
        forest = RandomForestClassifier(3, max_samples=asked, random_state=0).fit(X, y)
        assert [len(sample) for sample in forest.estimators_samples_] == [rows] * 3
    with pytest.raises(ValueError, match="max_samples=30 are about samples of the rows: they need bootstrap=True"):
        RandomForestClassifier(3, max_samples=30, bootstrap=False, random_state=0).fit(X, y)


def test_balanced_classes_are_drawn_or_weighed_alike():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(600, 2)), (np.arange(600) < 60).astype(int)
    shares = {}
    for rule in (None, "balanced", "balanced_subsample", {0: 1.0, 1: 9.0}):
        forest = RandomForestClassifier(40, max_depth=1, class_weight=rule, random_state=0).fit(X, y)
        shares[str(rule)] = np.mean([member.tree_.value[0, 0, 1] for member in forest.estimators_])
    assert shares["None"] == pytest.approx(0.1, abs=0.01)  # the root's share of the rare class
    assert shares["balanced_subsample"] == pytest.approx(0.5, abs=1e-12)
    for rule in ("balanced", "{0: 1.0, 1: 9.0}"):  # drawn: 3 standard errors of 40 samples of 600
        assert shares[rule] == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(40 * 600))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_categories_are_divided_as_sets(kind):
    rng = np.random.RandomState(0)
    town = rng.choice([f"t{i}" for i in range(20)], size=400)
    frame = pd.DataFrame({"town": town, "noise": rng.normal(size=400)})
    y = np.isin(town, ["t3", "t7", "t11", "t19"]).astype(int)
    forest = kind(10, max_features=None, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(forest.predict(frame), y)
    assert forest.estimators_[0].tree_.node_count < 60 and forest.apply(frame).shape == (400, 10)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_an_answer_that_must_rise_does(kind, criterion):
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(300, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=300)
    forest = kind(10, criterion=criterion, monotonic_cst=[1, 0], random_state=0).fit(X, y)
    grid = np.column_stack([np.linspace(0, 1, 200), np.full(200, 0.5)])
    assert (np.diff(forest.predict(grid)) >= -1e-12).all()


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_sparse_rows_say_the_same_as_dense_ones(kind):
    rng = np.random.RandomState(0)
    X = np.where(rng.uniform(size=(150, 8)) < 0.3, rng.normal(size=(150, 8)), 0.0)
    y = X[:, 0] - X[:, 1] if kind in REGRESSORS else (X[:, 0] > X[:, 1]).astype(int)
    options = {"bootstrap": True, "oob_score": True, "random_state": 0}
    dense, thin = kind(30, **options).fit(X, y), kind(30, **options).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_matrix(X)), dense.predict(X), rtol=1e-12)
    assert thin.oob_score_ == pytest.approx(dense.oob_score_, rel=1e-12)


def test_several_outputs_are_answered_together(numbers):
    X, y = numbers
    Y = np.column_stack([y, X[:, 0]])
    forest = RandomForestRegressor(20, oob_score=True, random_state=0).fit(X, Y)
    assert forest.predict(X).shape == forest.oob_prediction_.shape == (200, 2) and forest.n_outputs_ == 2
    assert forest.score(X, Y) > 0.8
    labels = np.column_stack([y > 0, np.digitize(X[:, 0], [-1, 1])])
    model = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, labels)
    assert model.n_classes_ == [2, 3] and [p.shape for p in model.predict_proba(X)] == [(200, 2), (200, 3)]
    assert (model.predict(X) == labels).mean() > 0.95


def test_the_number_of_threads_changes_no_byte(monkeypatch, classes):
    X, y = classes
    said = []
    for count in (1, 2, 5):
        monkeypatch.setattr(parallel, "threads", lambda count=count: count)
        said.append(
            RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y).oob_decision_function_.tobytes()
        )
    assert len(set(said)) == 1


def test_permutation_importance_and_partial_dependence_of_scikit_learn_work(numbers):
    X, y = numbers
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    falls = permutation_importance(forest, X, y, n_repeats=2, random_state=0).importances_mean
    assert falls.argmax() == forest.feature_importances_.argmax()
    found = partial_dependence(forest, X, [int(falls.argmax())], grid_resolution=8)
    assert found["average"].shape == (1, 8) and np.corrcoef(found["average"][0], np.arange(8))[0, 1] > 0.9


def test_a_forest_stopped_in_the_middle_keeps_the_trees_it_has(numbers):
    X, y = numbers
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        forest = RandomForestRegressor(70, random_state=0).set_callbacks(PressCtrlC(after=1)).fit(X, y)
    assert 0 < len(forest.estimators_) < 70 and "interrupted after 32 trees" in str(said[0].message)
    assert forest.predict(X).shape == (200,)


def test_equal_rows_stand_together_in_the_order_of_content():
    rng = np.random.RandomState(0)
    X = rng.randint(0, 3, size=(500, 3)).astype(float)
    X[X == 0] = -0.0
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    order = content_order(X)
    again = rng.permutation(500)
    np.testing.assert_array_equal(X[order], X[again][content_order(X[again])])
    changes = (
        1 + (~((X[order][1:] == X[order][:-1]) | np.isnan(X[order][1:]) & np.isnan(X[order][:-1])).all(axis=1)).sum()
    )
    assert changes == len(np.unique(np.nan_to_num(X, nan=9.0), axis=0))
    np.testing.assert_array_equal(content_order(sparse.csr_matrix(np.nan_to_num(X))), content_order(np.nan_to_num(X)))


def test_draws_follow_the_weights_of_the_rows():
    """With and without replacement; weights that are not whole numbers too."""
    X, w = np.arange(6.0)[:, None], np.array([1.0, 2.0, 3.0, 0.5, 0.25, 0.25])
    for weights in (w, 4 * w):
        bag = Bag.of(X, None, weights)
        total = sum(bag.draw_with_replacement(1000, seed) for seed in range(100))
        expected = 1e5 * w / w.sum()
        assert (np.abs(total - expected) < 4 * np.sqrt(expected)).all()
    once = Bag.of(X, None, np.array([1.0, 2, 3, 1, 1, 1]))
    np.testing.assert_array_equal(once.draw_without_replacement(9, 0), [1, 2, 3, 1, 1, 1])
    assert (
        set(Bag.of(X, None, w).draw_without_replacement(3, 0)) == {0, 1}
        and Bag.of(X, None, w).draw_without_replacement(3, 0).sum() == 3
    )


def test_iris_is_learned():
    X, y = load_iris(return_X_y=True)
    for kind in CLASSIFIERS:
        assert kind(60, bootstrap=True, oob_score=True, random_state=0).fit(X, y).oob_score_ > 0.93


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor, IsolationForest])
def test_a_warm_start_keeps_the_estimators_that_show_the_trees(kind):
    X, y = load_iris(return_X_y=True)
    model = kind(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    first = list(model.estimators_)
    model.set_params(n_estimators=5).fit(X, y)
    assert len(model.estimators_) == 5 and all(a is b for a, b in zip(first, model.estimators_, strict=False))
    whole = kind(n_estimators=5, random_state=0).fit(X, y)
    for a, b in zip(model.estimators_, whole.estimators_, strict=True):
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
    model.set_params(warm_start=False, random_state=1).fit(X, y)
    assert not {id(tree) for tree in first} & {id(tree) for tree in model.estimators_}
    model.set_params(warm_start=True, n_estimators=6).fit(X, y)  # goes on from the trees of seed 1
    afresh = kind(n_estimators=6, random_state=1).fit(X, y)
    for a, b in zip(model.estimators_, afresh.estimators_, strict=True):
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
