"""Trees with models in their leaves."""

import numpy as np
import pytest

from fivefold.linear_model import LinearRegression
from fivefold.tree import DecisionTreeRegressor, LinearLeafClassifier, ModelTreeRegressor
from fivefold.tree.shared.leaf_models import residual_squares


def roof(n=200, seed=0, noise=0.0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.where(X[:, 1] < 0.2, 1 + 2 * X[:, 0], 4 - X[:, 2]) + noise * rng.normal(size=n)


def test_one_breakpoint_is_two_leaves_without_error():
    """D-20."""
    X, y = roof()
    model = ModelTreeRegressor().fit(X, y)
    assert model.get_n_leaves() == 2 and model.tree_.feature[0] == 1
    # the ridge that keeps moments from being singular plays no part in the surfaces of the leaves
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_a_tree_without_questions_is_least_squares():
    """D-20."""
    X, y = roof(noise=0.5)
    model = ModelTreeRegressor(penalty=1e6).fit(X, y)
    assert model.get_n_leaves() == 1
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-10)


def test_linear_data_are_one_leaf_also_with_noise():
    """E-79."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 4))
    for noise in (0.0, 1.0):
        y = X @ [1.0, -2.0, 0.5, 0.0] + noise * rng.normal(size=300)
        assert ModelTreeRegressor().fit(X, y).get_n_leaves() == 1


def test_models_in_leaves_need_fewer_leaves_than_means():
    """E-79."""
    X, y = roof(1000, noise=0.1)
    new, truth = roof(1000, seed=1)
    model, plain = ModelTreeRegressor().fit(X, y), DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    assert model.get_n_leaves() < 5 < plain.get_n_leaves()
    assert np.mean((model.predict(new) - truth) ** 2) < np.mean((plain.predict(new) - truth) ** 2)


def test_few_rows_answer_with_their_mean():
    """D-20."""
    X, y = np.eye(3), np.array([1.0, 2.0, 6.0])
    np.testing.assert_allclose(ModelTreeRegressor().fit(X, y).predict(X), 3.0)


def test_a_median_does_not_follow_an_outlier():
    """E-77."""
    X = np.repeat([[0.0], [1.0]], 11, axis=0)
    y = np.repeat([1.0, 2.0], 11)
    y[0] = 1e3
    median, mean = (ModelTreeRegressor(leaf=leaf, penalty=0.0).fit(X, y) for leaf in ("median", "mean"))
    assert median.predict([[0.0]])[0] == 1.0 and mean.predict([[0.0]])[0] > 50


def test_the_median_of_weights_is_that_of_repeated_rows():
    """E-77."""
    rng = np.random.RandomState(0)
    y, w = rng.normal(size=30), rng.randint(1, 5, size=30)
    model = ModelTreeRegressor(leaf="median", penalty=1e9).fit(np.zeros((30, 1)), y, sample_weight=w)
    assert model.predict([[0.0]])[0] == pytest.approx(np.median(y.repeat(w)))


def test_soft_boundaries_make_the_answer_continuous_and_leave_far_rows_alone():
    """E-81."""
    X = np.linspace(0, 1, 200)[:, None]
    y = np.where(X[:, 0] < 0.5, 0.0, 1.0)
    hard, soft = (ModelTreeRegressor(leaf="mean", max_depth=1, smoothing=s).fit(X, y) for s in (0.0, 0.05))
    near = np.array([[0.5 - 1e-6], [0.5 + 1e-6]])
    assert np.diff(hard.predict(near))[0] == pytest.approx(1.0)
    assert abs(np.diff(soft.predict(near))[0]) < 1e-3
    np.testing.assert_allclose(soft.predict([[0.0], [1.0]]), [0.0, 1.0], atol=1e-6)


def test_squares_left_are_those_of_least_squares():
    rng = np.random.RandomState(0)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    Z = np.column_stack([np.ones(50), X, Y])
    rest = sum(np.linalg.lstsq(Z[:, :4], y, rcond=None)[1][0] for y in Y.T)
    assert residual_squares(Z.T @ Z, 2) == pytest.approx(rest, rel=1e-9)


def test_separable_classes_are_one_leaf_and_need_not_be_pure():
    """E-80."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 3))
    y = (X @ [1.0, 2.0, -1.0] > 0.3).astype(int)
    model = LinearLeafClassifier().fit(X, y)
    assert model.get_n_leaves() == 1 and model.score(X, y) > 0.98


def test_hyperplanes_in_two_halves_are_two_leaves():
    """E-80."""
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = np.where(X[:, 0] > 0, X[:, 1] > X[:, 0] - 0.5, X[:, 1] < X[:, 0] + 0.5).astype(int)
    model = LinearLeafClassifier().fit(X, y)
    assert model.get_n_leaves() <= 3 and model.score(X, y) > 0.97


def test_a_class_that_a_leaf_never_saw_has_no_probability_there():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.where(X[:, 0] > 0, 2, (X[:, 0] * X[:, 1] > 0).astype(int))
    p = LinearLeafClassifier(min_impurity=0.0, penalty=0.0, max_depth=1).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() < 1e-6
