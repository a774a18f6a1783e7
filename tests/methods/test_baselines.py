"""Baselines: what the laws cannot say."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor

from fivefold.baselines import MajorityClassifier, MeanRegressor, MemorisingClassifier, MemorisingRegressor


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_the_majority_is_that_of_the_dummy_of_scikit_learn(rng):
    X, y, w = rng.normal(size=(50, 2)), rng.choice(["a", "b", "c"], 50), rng.uniform(0, 2, 50)
    model, rival = (m.fit(X, y, sample_weight=w) for m in (MajorityClassifier(), DummyClassifier()))
    assert_array_equal(model.predict(X), rival.predict(X))
    assert_allclose(model.predict_proba(X), rival.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("outputs", [(), (3,)])
def test_the_mean_is_that_of_the_dummy_of_scikit_learn(rng, outputs):
    X, y, w = rng.normal(size=(50, 2)), rng.normal(size=(50, *outputs)) + 1e8, rng.uniform(0, 2, 50)
    model, rival = (m.fit(X, y, sample_weight=w) for m in (MeanRegressor(), DummyRegressor()))
    assert_allclose(model.predict(X), rival.predict(X), rtol=1e-14)


def test_rote_learning_has_no_training_error_and_the_majority_error_on_new_rows(rng):
    """A-02: on continuous data no new row was seen before."""
    X, y = rng.normal(size=(300, 3)), rng.choice(["no", "yes"], 300, p=[0.7, 0.3])
    new, truth = rng.normal(size=(500, 3)), rng.choice(["no", "yes"], 500)
    model, majority = MemorisingClassifier().fit(X, y), MajorityClassifier().fit(X, y)
    assert model.score(X, y) == 1
    assert_array_equal(model.predict_proba(X).max(axis=1), 1)
    assert_array_equal(model.predict(new), majority.predict(new))
    assert model.score(new, truth) == majority.score(new, truth)


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_rote_regression_returns_every_target_to_the_bit(rng, outputs):
    """A-02: and the mean for a row it never saw."""
    X, y = rng.normal(size=(300, 3)), rng.normal(size=(300, *outputs)) * 1e6
    model = MemorisingRegressor().fit(X, y, sample_weight=rng.uniform(0.1, 3, 300))
    assert_array_equal(model.predict(X), y)
    assert_allclose(MemorisingRegressor().fit(X, y).predict(X + 1)[0], y.mean(axis=0), rtol=1e-12)


def test_contradictions_are_settled_by_weight():
    X, w = [[1.0], [1.0], [1.0], [2.0]], [1.0, 1.0, 3.0, 1.0]
    model = MemorisingClassifier().fit(X, ["a", "a", "b", "a"], sample_weight=w)
    assert_array_equal(model.predict([[1.0], [2.0]]), ["b", "a"])
    assert_allclose(model.predict_proba([[1.0], [7.0]]), [[0.4, 0.6], [0.5, 0.5]])
    regressor = MemorisingRegressor().fit(X, [0.0, 5.0, 10.0, 1.0], sample_weight=w)
    assert_allclose(regressor.predict([[1.0], [2.0], [7.0]]), [7, 1, 6])


def test_a_missing_entry_equals_a_missing_entry_and_zero_equals_minus_zero():
    X = np.array([[np.nan, 0.0], [1.0, 2.0], [5.0, 6.0]])
    model = MemorisingRegressor().fit(X, [1.0, 2.0, 3.0])
    odd = np.array([[-np.nan, -0.0], [np.nan, 2.0]])
    assert_array_equal(model.predict(odd), [1.0, 2.0])  # the second is a stranger: the mean


def test_categories_are_remembered():
    frame = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0]})
    model = MemorisingClassifier().fit(frame, [0, 1, 0])
    assert_array_equal(model.predict(frame[::-1]), [0, 1, 0])


def test_rows_of_float32_are_found_among_rows_of_float64():
    X, y = load_iris(return_X_y=True)
    single = X.astype(np.float32)
    model = MemorisingClassifier().fit(single.astype(np.float64), y)
    assert_array_equal(model.predict(single), MemorisingClassifier().fit(single, y).predict(single))


def test_many_rows_are_stored_and_recalled_without_a_loop(rng):
    """200,000 rows are stored and recalled in seconds, and memory grows with rows, not with rows times classes."""
    X, y = rng.integers(0, 99, size=(200_000, 3)).astype(float), np.arange(200_000) % 20
    model = MemorisingClassifier().fit(X, y)
    assert model.score(X, y) > 0.5
    assert model.model_.answers.nnz <= len(X) + 20
