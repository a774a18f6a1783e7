"""Adaptive boosting: what the laws cannot say."""

import numpy as np
import pytest
from oracles.boosting import adaboost_errors
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from fivefold.ensemble import AdaBoostClassifier, AdaBoostRegressor


def noisy(n=120, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 3))
    return X, ((X[:, 0] + X[:, 1] > 0) ^ (rng.uniform(size=n) < 0.1)).astype(int)


def test_the_errors_are_those_of_stumps_found_by_trying_everything():
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=8).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, adaboost_errors(X, y, 8), rtol=1e-9)


def test_the_training_error_obeys_the_bound_of_freund_and_schapire():
    """Error of the committee <= product of 2 sqrt(e (1 - e))."""
    X, y = noisy(300)
    model = AdaBoostClassifier(n_estimators=40).fit(X, y)
    e = model.estimator_errors_
    bounds = np.cumprod(2 * np.sqrt(e * (1 - e)))
    seen = 1 - np.array(list(model.staged_score(X, y)))
    assert (seen <= bounds + 1e-12).all()


def test_a_perfect_stump_ends_the_rounds():
    model = AdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert len(model.estimators_) == 1 and model.estimator_errors_[0] == 0 and model.estimator_weights_[0] == 1
    assert model.estimator_weights_.shape == (50,)


def test_a_learner_no_better_than_chance_is_refused():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="no better than chance with 2 classes"):
        AdaBoostClassifier().fit(X, y)


def test_a_learner_without_weights_is_refused():
    X, y = noisy()
    with pytest.raises(ValueError, match="KNeighborsClassifier doesn't support sample_weight"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(X, y)


def test_any_learner_with_weights_can_be_boosted():
    X, y = noisy()
    model = AdaBoostClassifier(LogisticRegression(), n_estimators=5).fit(X, y)
    assert model.score(X, y) > 0.8 and isinstance(model.estimators_[0], LogisticRegression)


def test_the_last_stage_is_the_prediction():
    X, y = noisy()
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X), atol=1e-15)
    regressor = AdaBoostRegressor(n_estimators=9, random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(list(regressor.staged_predict(X))[-1], regressor.predict(X))
    assert list(regressor.staged_score(X, X[:, 0]))[-1] == regressor.score(X, X[:, 0])


def test_a_regressor_boosts_learners_that_take_no_weights():
    from sklearn.neighbors import KNeighborsRegressor

    X, _ = noisy()
    model = AdaBoostRegressor(KNeighborsRegressor(), n_estimators=5, random_state=0).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.9


def test_one_learner_gives_its_class_all_votes_to_the_last_digit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.integers(3, size=90)
    model = AdaBoostClassifier(n_estimators=1, random_state=0).fit(X, y)
    assert set(np.unique(model.decision_function(X))) == {-0.5, 1}
