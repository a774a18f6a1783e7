"""What oblique trees alone give: one slanted question where boxes make a staircase, and searches that only climb."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from node_tables import node_of, rotated
from sklearn.datasets import load_iris

from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.pruning.pruning_methods import node_totals, reduced_error_pruning
from fivefold.partition.row_questions.hyperplanes import (
    CART_PIVOTS,
    ZERO_PIVOT,
    HyperplaneClimber,
    best_axis,
    cart_search,
    oc1_search,
    varying_columns,
)
from fivefold.partition.row_questions.nodes import AxisQuestion, LinearQuestion, grow_nodes
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor, ObliqueTreeClassifier, ObliqueTreeRegressor

SEARCHES = ("cart", "oc1", "fisher", "logistic")


def slanted(n, seed=0, d=2):
    """Two classes on either side of a slanted hyperplane, none of them near it."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(3 * n, d))
    v = X @ weights(d)
    far = np.abs(v) > 0.3
    return X[far][:n], (v > 0)[far][:n]


def weights(d):
    return np.where(np.arange(d) % 2, -1.0, 1.0) * np.linspace(1.0, 2.0, d)


@pytest.mark.parametrize("search", SEARCHES)
def test_one_node_solves_a_slanted_problem_where_boxes_need_a_staircase(search):
    """E-99."""
    X, y = slanted(300)
    model = ObliqueTreeClassifier(search=search, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.score(X, y) == 1.0
    assert isinstance(model.tree_.question[0], LinearQuestion)
    assert DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves() > 5


def test_a_univariate_question_is_the_case_of_one_weight():
    """E-99: where one column tells the classes apart, one is asked, at the threshold of the plain tree."""
    X, y = slanted(200)
    y = X[:, 1] > 0.3
    model = ObliqueTreeClassifier(random_state=0).fit(X, y)
    plain = DecisionTreeClassifier(random_state=0).fit(X, y)
    (asked,) = [q for q in model.tree_.question if q is not None]
    assert asked == AxisQuestion(1, limit=plain.tree_.threshold[0])
    same = LinearQuestion(np.array([0.0, 1.0]), limit=asked.limit)
    np.testing.assert_array_equal(asked.row_branches(X), same.row_branches(X))


@pytest.mark.parametrize("criterion", [Gini, Entropy, Misclassification])
@pytest.mark.parametrize("seed", range(3))
def test_the_impurity_never_rises_from_step_to_step(criterion, seed):
    """E-104: gains of the moves of CART's search, recomputed from the sides of the hyperplane in the end."""
    X, y = rotated(300, seed)
    y = np.unique(y, return_inverse=True)[1]
    node = node_of(X, y, criterion)
    start = best_axis(node)[1]
    plane = HyperplaneClimber(node).cycle(start, varying_columns(node), CART_PIVOTS)
    assert len(plane.history) > 3 or criterion is Misclassification  # mistakes have plateaus
    assert np.all(np.diff(plane.history) > 0)
    again = node.gain(node.hyperplane(plane.weights, plane.threshold).row_branches(X))
    np.testing.assert_allclose(again, plane.gain, rtol=1e-9)  # sums of a few hundred weights


def test_columns_that_matter_little_are_deleted():
    """E-104: of ten columns two tell the classes apart; the others are left out of the question."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 10))
    y = (X[:, 3] + X[:, 6] > 0).astype(int)
    node = node_of(X, y)
    assert set(np.flatnonzero(cart_search(node, deletion=0.2).weights)) == {3, 6}
    assert np.count_nonzero(cart_search(node, deletion=0.0).weights) >= 2


@pytest.mark.parametrize("criterion", [Gini, Entropy, Misclassification])
def test_the_best_cut_is_the_best_of_all_cuts_also_where_rows_cross_both_ways(criterion):
    """Against every threshold in turn; rows of sign -1 are on the left below it, the others above."""
    rng = np.random.RandomState(0)
    keys, y, w = rng.randint(8, size=40).astype(float), rng.randint(3, size=40), rng.uniform(0.5, 2.0, size=40)
    node = node_of(keys[:, None], y, criterion, w)
    for sign in (np.ones(40, dtype=np.int8), rng.choice([-1, 1], size=40).astype(np.int8)):
        gains = {t: node.gain((np.where(sign > 0, keys <= t, keys > t)).astype(int)) for t in np.arange(7) + 0.5}
        found = node.best_cut(keys, sign[None])
        np.testing.assert_allclose(found.gain, max(gains.values()), rtol=1e-9)
        np.testing.assert_allclose(gains[found.threshold], found.gain, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_oc1_is_nowhere_worse_than_the_best_cut_of_one_column(seed):
    """E-105: at every node of the tree."""
    X, y = rotated(250, seed)
    y = np.unique(y, return_inverse=True)[1]
    criterion, rng, seen = Gini(y.astype(np.int32), np.ones(len(y)), 3), np.random.RandomState(seed), []

    def finder(node):
        _, alone = node.axis
        plane = oc1_search(node, rng, restarts=3, jumps=3)
        question = node.hyperplane(plane.weights, plane.threshold)
        seen.append((node.gain(question.row_branches(node.X)), alone))
        return question

    tree = grow_nodes(X, criterion, finder).tree
    ours, alone = np.array(seen).T
    assert len(seen) == sum(q is not None for q in tree.question)
    assert (ours >= alone * (1 - 1e-9)).all()
    assert (ours > alone * 1.05).any()


def test_jumps_and_restarts_of_oc1_climb_higher_than_one_climb():
    higher = 0
    for seed in range(6):
        X, y = rotated(300, seed)
        node = node_of(X, np.unique(y, return_inverse=True)[1])
        once = HyperplaneClimber(node).cycle(best_axis(node)[1], varying_columns(node), ZERO_PIVOT).gain
        gain = oc1_search(node, np.random.RandomState(0), restarts=8, jumps=8).gain
        assert gain >= once
        higher += gain > once * 1.01
    assert higher >= 2


@pytest.mark.parametrize("search", ["cart", "oc1"])
def test_oblique_trees_are_smaller_at_no_more_error_on_rotated_boxes(search):
    """Over five draws: fewer than half the leaves of the tree of boxes, and fewer mistakes on new rows."""
    sizes, errors = [], []
    for seed in range(5):
        X, y = rotated(400, seed)
        new, truth = rotated(2000, 100 + seed)
        pair = ObliqueTreeClassifier(search=search, random_state=0), DecisionTreeClassifier(random_state=0)
        fitted = [model.fit(X, y) for model in pair]
        sizes.append([model.get_n_leaves() for model in fitted])
        errors.append([1 - model.score(new, truth) for model in fitted])
    ours, boxes = np.mean(sizes, axis=0)
    assert 2 * ours < boxes
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1] - 0.02


@pytest.mark.parametrize("search", SEARCHES)
def test_the_units_of_the_columns_do_not_matter(search):
    X, y = rotated(300, 1)
    other = X * [1e-3, 1.0, 50.0, 1e4] + [0.0, 5.0, -2.0, 1e5]
    a = ObliqueTreeClassifier(search=search, random_state=0).fit(X, y)
    b = ObliqueTreeClassifier(search=search, random_state=0).fit(other, y)
    assert a.get_n_leaves() == b.get_n_leaves()
    np.testing.assert_array_equal(a.predict(X), b.predict(other))


@pytest.mark.parametrize("search", SEARCHES)
def test_columns_that_differ_by_rounding_alone_are_not_cut(search):
    """Values at 1e15 that differ in their last bits have no spread to measure slants in; a second column has."""
    far = 1e15 + np.array([0.0, 0.5, 1.0, 1.5])
    y = np.array([0, 1, 0, 1])
    alone = ObliqueTreeClassifier(search=search, random_state=0).fit(far[:, None], y)
    assert alone.get_n_leaves() == 1
    both = ObliqueTreeClassifier(search=search, random_state=0).fit(np.column_stack([far, [3.0, 5.0, 1.0, 6.0]]), y)
    assert both.tree_.question[0] == AxisQuestion(1, limit=4.0)


def test_categories_are_columns_of_zeros_and_ones():
    """E-99: the question weighs them with the numbers."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"sky": rng.choice(["rain", "sun", "snow"], size=300), "heat": rng.uniform(0, 1, 300)})
    y = np.where(frame["heat"] + 0.7 * (frame["sky"] == "sun") > 0.9, "out", "in")
    model = ObliqueTreeClassifier(random_state=0).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert "(sky = sun)" in model.to_text()
    plain = DecisionTreeClassifier(random_state=0).fit(frame, y)
    assert model.get_n_leaves() <= plain.get_n_leaves()
    assert ask_sqlite(model, frame) == list(y)


def ask_sqlite(model, frame, **options):
    with sqlite3.connect(":memory:") as db:
        frame.to_sql("rows", db, index=False)
        return [row[0] if len(row) == 1 else row for row in db.execute(model.to_sql(table="rows", **options))]


@pytest.mark.parametrize("search", SEARCHES)
def test_sql_says_what_predict_says(search):
    X, y = rotated(300, 2)
    frame = pd.DataFrame(np.vstack([X, rotated(500, 9)[0]]), columns=["a", "b c", 'd"', "e"])
    model = ObliqueTreeClassifier(search=search, random_state=0).fit(frame[:300], y)
    assert ask_sqlite(model, frame) == list(model.predict(frame))
    assert ask_sqlite(model, frame, output="apply") == list(model.apply(frame))
    np.testing.assert_array_equal(ask_sqlite(model, frame, output="predict_proba"), model.predict_proba(frame))


def test_sql_of_a_deep_tree_is_a_flat_list_and_says_the_same():
    rng = np.random.RandomState(0)
    X = np.arange(60.0)[:, None] + rng.uniform(0, 0.1, size=(60, 1))
    y = np.arange(60) // 3 % 2
    model = ObliqueTreeClassifier(search="fisher", random_state=0).fit(X, y)
    frame = pd.DataFrame(X, columns=["x0"])
    deep = model.to_sql().count("CASE") == 1
    assert deep == (model.get_depth() > 16)
    assert ask_sqlite(model, frame) == list(model.predict(X))


def test_text_rules_and_dot_show_every_node():
    X, y = load_iris(return_X_y=True)
    model = ObliqueTreeClassifier(random_state=0).fit(X, y)
    tree = model.tree_
    assert len(model.to_text().splitlines()) == len(tree)
    assert sum(" [shape=" in line for line in model.to_dot().splitlines()) == len(tree)
    rules = model.to_rules()
    held = np.column_stack([rule.covers(X) for rule in rules])
    np.testing.assert_array_equal(held.sum(axis=1), 1)
    np.testing.assert_array_equal(np.array([rule.label for rule in rules])[held.argmax(axis=1)], model.predict(X))
    assert sum(rule.rows for rule in rules) == len(X)
    shallow = model.to_text(max_depth=1, feature_names=list("abcd"))
    assert "leaves" in shallow and ("c <=" in shallow or " c " in shallow)


def test_a_node_tree_is_pruned_like_any_other():
    """Weakest links give nested trees up to the root; a pruning set cuts back what it does not confirm."""
    X, y = rotated(400, 3)
    noisy = np.where(np.random.RandomState(0).uniform(size=400) < 0.15, np.roll(y, 7), y)
    whole = ObliqueTreeClassifier(search="cart", random_state=0).fit(X, noisy)
    path = whole.cost_complexity_pruning_path(X, noisy)
    assert np.all(np.diff(path.ccp_alphas) >= -1e-12)
    sizes = [
        ObliqueTreeClassifier(search="cart", ccp_alpha=a, random_state=0).fit(X, noisy).get_n_leaves()
        for a in (0, 0.01, 1.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 1
    new, truth = rotated(600, 4)
    tree, value = whole.tree_, whole.model_.value
    codes = np.searchsorted(whole.classes_, truth)
    wrong = (value.argmax(axis=1)[:, None] != np.arange(3)).astype(float)  # mistakes of each node on each class
    passed, _ = node_totals(tree, new, np.eye(3)[codes])
    smaller, kept = tree.prune(reduced_error_pruning(tree.parent, (passed * wrong).sum(axis=1)))
    assert len(smaller) < len(tree)
    before = (value.argmax(axis=1)[tree.apply(new)] != codes).mean()
    after = (value[kept].argmax(axis=1)[smaller.apply(new)] != codes).mean()
    assert after <= before


def test_an_oblique_regression_tree_finds_slanted_levels():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    X = X[np.abs(X @ [1.0, 1.0]) > 0.05]
    y = np.where(X @ [1.0, 1.0] > 0, 5.0, -3.0)
    for search in ("cart", "oc1"):
        model = ObliqueTreeRegressor(search=search, random_state=0).fit(X, y)
        assert model.get_n_leaves() == 2
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)
    assert DecisionTreeRegressor(random_state=0).fit(X, y).get_n_leaves() > 10
    tiny = ObliqueTreeRegressor().fit(X, 1e-9 * y)  # the size of the target does not matter
    assert tiny.get_n_leaves() == 2
