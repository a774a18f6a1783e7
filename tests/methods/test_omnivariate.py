"""Omnivariate trees: each node chooses the kind of its question by a test on held-out rows."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from fivefold.evaluation.comparison import corrected_resampled_t, five_by_two_f
from fivefold.tree import DecisionTreeClassifier, OmnivariateTreeClassifier
from fivefold.tree.omnivariate_tree import TESTS, KindChooser


def rotated(n, seed, noise=0.05):
    """Two classes on the sides of a hyperplane across the columns; some labels are turned."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, ((X @ [1.0, -1.0, 0.7] > 0.1) ^ (rng.random(n) < noise)).astype(int)


def quadratic(n, seed, noise=0.05):
    """A class inside a slanted ellipse; some labels are turned."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    inside = X[:, 0] ** 2 + X[:, 1] ** 2 + X[:, 0] * X[:, 1] < 1.2
    return X, (inside ^ (rng.random(n) < noise)).astype(int)


def upright(n, seed, noise=0.05):
    """Two classes on the sides of a threshold of one column; some labels are turned."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, ((X[:, 1] > 0.2) ^ (rng.random(n) < noise)).astype(int)


def kinds(model):
    """(depth, kind) of every inner node."""
    return [
        (depth, kind) for depth, counts in enumerate(model.node_types_) for kind in counts for _ in range(counts[kind])
    ]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("generator", "kind"), [(rotated, "linear"), (quadratic, "quadratic"), (upright, "univariate")]
)
def test_the_root_asks_the_simplest_question_that_fits_the_border(generator, kind, test):
    """E-112."""
    model = OmnivariateTreeClassifier(test=test, alpha=0.01, max_depth=1, random_state=0).fit(*generator(400, seed=0))
    assert model.node_types_[0][kind] == 1


@pytest.mark.parametrize("generator", [rotated, quadratic])
def test_it_is_smaller_than_the_univariate_tree_and_errs_no_more(generator):
    X, y = generator(400, seed=1)
    T, t = generator(4000, seed=2)
    ours = OmnivariateTreeClassifier(ccp_alpha=0.01, random_state=0).fit(X, y)
    plain = DecisionTreeClassifier(ccp_alpha=0.01, random_state=0).fit(X, y)
    assert ours.get_n_leaves() < plain.get_n_leaves()
    assert ours.score(T, t) >= plain.score(T, t)
    whole = OmnivariateTreeClassifier(random_state=0).fit(X, y)
    bushy = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert whole.get_n_leaves() < bushy.get_n_leaves()
    assert whole.score(T, t) >= bushy.score(T, t)


@pytest.mark.parametrize("generator", [rotated, quadratic])
def test_complex_nodes_stand_near_the_root(generator):
    found = kinds(OmnivariateTreeClassifier(random_state=0).fit(*generator(400, seed=1)))
    simple = [depth for depth, kind in found if kind == "univariate"]
    complex_ = [depth for depth, kind in found if kind != "univariate"]
    assert complex_ and simple
    assert min(complex_) == 0 and np.mean(complex_) < np.mean(simple) / 2


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_with_a_level_that_nothing_passes_it_is_the_univariate_tree(criterion):
    """E-112: the same predictions as our tree of single columns."""
    X, y = rotated(300, seed=3)
    T, _ = rotated(3000, seed=4)
    ours = OmnivariateTreeClassifier(alpha=0.0, criterion=criterion, random_state=0).fit(X, y)
    plain = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.predict(T), plain.predict(T))
    assert ours.get_n_leaves() == plain.get_n_leaves()
    assert {kind for _, kind in kinds(ours)} == {"univariate"}
    assert (OmnivariateTreeClassifier(random_state=0).fit(X, y).predict(T) != plain.predict(T)).any()


@pytest.mark.parametrize("test", TESTS)
def test_labels_of_chance_seldom_call_for_a_complex_question(test):
    """Where no column matters all kinds err alike, and two comparisons at a level of 5% reject in one of ten at most.

    F is known to reject more often than its level where rows are few, so it is given twice as much.
    """
    rng = np.random.default_rng(0)
    complex_ = 0
    for seed in range(40):
        X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
        model = OmnivariateTreeClassifier(test=test, max_depth=1, random_state=seed).fit(X, y)
        complex_ += model.node_types_[0]["univariate"] == 0
    rate = {"resampled_t": 0.1, "five_by_two_f": 0.2}[test]
    assert complex_ <= 40 * rate + 3 * np.sqrt(40 * rate * (1 - rate))  # three standard errors


def test_its_tests_are_those_between_learners():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 2, 5))
    found = corrected_resampled_t(a.ravel(), b.ravel(), 4, 1, alternative="greater")
    assert TESTS["resampled_t"].p_value(a - b) == pytest.approx(found.p_value, rel=1e-12)
    a, b = rng.uniform(size=(2, 5, 2))
    assert TESTS["five_by_two_f"].p_value(a - b) == pytest.approx(five_by_two_f(a, b).p_value, rel=1e-12)


def test_copies_of_a_row_are_never_parted_by_a_split():
    rng = np.random.RandomState(0)
    place = rng.randint(0, 20, size=90)
    splits = list(KindChooser({}, TESTS["resampled_t"], 0.05, rng)._splits(place))
    assert len(splits) == 5
    for train, held in splits:
        assert not set(place[held]) & set(place[train])
    np.testing.assert_array_equal(np.sum([held for _, held in splits], axis=0), 1)  # every row is tested once


def test_the_types_of_the_nodes_are_counted_by_depth():
    X, y = load_iris(return_X_y=True)
    model = OmnivariateTreeClassifier(random_state=0).fit(X, y)
    assert len(model.node_types_) == model.get_depth()
    assert sum(sum(counts.values()) for counts in model.node_types_) == model.get_n_leaves() - 1
    assert OmnivariateTreeClassifier(random_state=0).fit(X[:50], y[:50]).node_types_ == ()


def test_a_table_with_fewer_rows_than_products_is_not_asked_about_quadrics():
    X = np.random.default_rng(0).normal(size=(60, 12))
    model = OmnivariateTreeClassifier(alpha=1.0, random_state=0).fit(X, (X @ np.ones(12) > 0).astype(int))
    assert all(kind != "quadratic" for _, kind in kinds(model))
    assert model.score(X, X @ np.ones(12) > 0) == 1.0


@pytest.mark.parametrize("extra", ["a constant column", "the same column twice", "far from zero"])
def test_columns_that_make_the_scatter_singular_are_no_obstacle(extra):
    X, y = quadratic(200, seed=0, noise=0.0)
    X = {
        "a constant column": lambda: np.column_stack([X, np.full(len(X), 7.0)]),
        "the same column twice": lambda: np.column_stack([X, X[:, 0]]),
        "far from zero": lambda: X * [1e-3, 1, 1e3] + [1e2, 1e6, -1e7],
    }[extra]()
    model = OmnivariateTreeClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.node_types_[0]["quadratic"] == 1


def test_sql_says_the_same_as_predict():
    X, y = quadratic(300, seed=5)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = OmnivariateTreeClassifier(max_depth=4, random_state=0).fit(frame, y)
    with sqlite3.connect(":memory:") as db:
        frame.to_sql("t", db, index=False)
        said = [row[0] for row in db.execute(model.to_sql(table="t"))]
    np.testing.assert_array_equal(said, model.predict(frame))
