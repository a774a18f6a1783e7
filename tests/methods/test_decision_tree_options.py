"""Trees: what the laws cannot say about categories, monotone columns and costs."""

import numpy as np
import pytest

from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor


def test_a_category_that_a_node_never_saw_goes_with_most_of_its_rows():
    """Right of 0.5 no row is "z"; there four rows are "b" and two "a"."""
    X = np.array([[0.0, "z"]] * 6 + [[1.0, "a"]] * 2 + [[1.0, "b"]] * 4, dtype=object)
    y = np.array([0.0] * 6 + [10.0] * 2 + [20.0] * 4)
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    assert model.tree_.feature.tolist() == [0, -2, 1, -2, -2]
    assert model.predict(X).tolist() == y.tolist()
    assert model.predict(np.array([[1.0, "z"], [1.0, None]], dtype=object)).tolist() == [20.0, 20.0]


@pytest.mark.parametrize(
    "cls", [DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor]
)
def test_check_input_is_taken_as_scikit_learn_has_it_and_tables_are_checked_all_the_same(cls):
    X = np.random.RandomState(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    tree = cls(random_state=0).fit(X, y, None, False)
    for name in {"predict", "predict_proba", "apply"} & set(dir(tree)):
        np.testing.assert_array_equal(getattr(tree, name)(X, check_input=False), getattr(tree, name)(X))
        with pytest.raises(ValueError, match="X has 1 features"):
            getattr(tree, name)(X[:, :1], check_input=False)
    assert "check_input" not in str(tree.get_metadata_routing())


def test_the_set_of_a_node_says_which_categories_go_left():
    X = np.array([["a"], ["b"], ["c"], ["d"]], dtype=object).repeat(3, axis=0)
    tree = (
        DecisionTreeRegressor(max_depth=1, random_state=0).fit(X, np.array([5.0, 1.0, 5.0, 1.0]).repeat(3)).model_.tree
    )
    assert tree.chosen(0, 4).tolist() == [False, True, False, True]


def test_missing_categories_go_to_the_side_that_gains_more():
    X = np.array([["a"]] * 5 + [["b"]] * 5 + [[None]] * 5, dtype=object)
    y = np.array([0.0] * 5 + [1.0] * 10)
    model = DecisionTreeRegressor(random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2 and model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"monotonic_cst": [1]}, [0, 1, 0, 1], "monotonic_cst must hold -1, 0 or 1 for each of the 2 columns"),
        ({"monotonic_cst": [2, 0]}, [0, 1, 0, 1], "monotonic_cst must hold -1, 0 or 1"),
        ({"monotonic_cst": [1, 0]}, [0, 1, 2, 1], "needs one output that is a mean"),
        ({"criterion": "risk"}, [0, 1, 0, 1], "criterion='risk' needs .* loss_matrix.* 2 x 2 numbers; got None"),
        ({"criterion": "risk", "loss_matrix": [[0, -1], [1, 0]]}, [0, 1, 0, 1], "none negative"),
    ],
)
def test_what_cannot_be_asked_of_a_tree_is_refused_in_words(settings, y, message):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=message):
        DecisionTreeClassifier(**settings).fit(X, y)


def test_a_monotone_column_of_categories_is_refused():
    X = np.array([["a", 1.0], ["b", 2.0]], dtype=object)
    with pytest.raises(ValueError, match="column 0 holds categories, which have no order to rise along"):
        DecisionTreeRegressor(monotonic_cst=[1, 0], random_state=0).fit(X, [0.0, 1.0])


def test_a_midrange_cannot_be_held_between_bounds():
    with pytest.raises(ValueError, match="needs one output that is a mean or a median"):
        DecisionTreeRegressor(criterion="max_error", monotonic_cst=[1], random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])


def test_thresholds_of_random_trees_lie_within_the_range_of_their_node():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(100, 2))
    model = ExtraTreeRegressor(random_state=0).fit(X, rng.normal(size=100))
    path, tree = model.decision_path(X).toarray() == 1, model.tree_
    for t in np.flatnonzero(tree.feature >= 0):
        x = X[path[:, t], tree.feature[t]]
        assert x.min() <= tree.threshold[t] < x.max()


def test_seeds_draw_unlike_thresholds():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    roots = {ExtraTreeRegressor(random_state=seed, max_depth=1).fit(X, y).tree_.threshold[0] for seed in range(20)}
    assert len(roots) == 20
