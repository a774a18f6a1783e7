"""Boosting beside scikit-learn's: the same definitions give the same predictions."""

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier as TheirTree
from tables import seeded

import fivefold.ensemble as ours
from fivefold.tree import DecisionTreeClassifier


def classes(n=1500, d=8, K=2, seed=0):
    """Float32-exact, so that both see the same numbers."""
    X, y = make_classification(n, d, n_informative=d - 2, n_classes=K, n_clusters_per_class=2, random_state=seed)
    return X.astype(np.float32).astype(np.float64), y


def numbers(n=1500, d=6, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    return X, X @ rng.normal(size=d) + np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n)


def pair(name, **options):
    return seeded(getattr(ours, name)(**options)), seeded(getattr(theirs, name)(**options))


ROUNDED = 1e-6  # its slopes are float32; ours whole multiples of 2^-31 of the largest

HIST = {
    "plain": {},
    "leaves and depth": {"max_leaf_nodes": 8, "max_depth": 3},
    "ridge": {"l2_regularization": 3.0, "learning_rate": 0.3},
    "few bins": {"max_bins": 10},
    "monotone": {"monotonic_cst": [1, 0, -1, 0, 0, 0, 0, 0]},
    "teams": {"interaction_cst": [[0, 1], [2, 3, 4]]},
    "pairs": {"interaction_cst": "pairwise"},
}


@pytest.mark.parametrize("kind", HIST)
def test_histogram_boosting_of_two_classes_is_equal(kind):
    X, y = classes()
    a, b = pair("HistGradientBoostingClassifier", max_iter=15, early_stopping=False, **HIST[kind])
    np.testing.assert_allclose(a.fit(X, y).predict_proba(X), b.fit(X, y).predict_proba(X), atol=ROUNDED)


def test_histogram_boosting_of_three_classes_is_equal():
    """Weights without pattern: in the first round cuts with equal counts would tie."""
    X, y = classes(K=3)
    w = np.random.RandomState(0).uniform(0.5, 2, size=len(X))
    a, b = pair("HistGradientBoostingClassifier", max_iter=10)
    a.fit(X, y, sample_weight=w), b.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=ROUNDED)
    assert a.n_trees_per_iteration_ == b.n_trees_per_iteration_ == 3


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_histogram_boosting_of_numbers_is_equal(loss):
    X, y = numbers()
    y = np.abs(y) + 0.1 if loss in ("poisson", "gamma") else y
    w = np.random.RandomState(0).uniform(0.5, 2, size=len(X))  # slopes of the absolute error are +-1: cuts would tie
    a, b = pair("HistGradientBoostingRegressor", loss=loss, max_iter=15)
    a.fit(X, y, sample_weight=w), b.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-5)


def test_histogram_boosting_with_categories_missing_values_and_weights_is_equal():
    X, y = classes(3000)
    rng = np.random.RandomState(0)
    X[:, 0] = rng.permutation(13)[np.digitize(X[:, 0], np.linspace(-3, 3, 12))]
    X[rng.uniform(size=len(X)) < 0.1, 0] = np.nan
    X[rng.uniform(size=len(X)) < 0.2, 1] = np.nan
    w = rng.uniform(0.5, 2, size=len(X))
    a, b = pair("HistGradientBoostingClassifier", max_iter=15, categorical_features=[0])
    a.fit(X, y, sample_weight=w), b.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=ROUNDED)


@pytest.mark.parametrize("scoring", ["loss", "accuracy", None])
def test_histogram_boosting_stops_at_the_same_round(scoring):
    X, y = classes(3000)
    a, b = pair("HistGradientBoostingClassifier", early_stopping=True, max_iter=200, random_state=3, scoring=scoring)
    a.fit(X, y), b.fit(X, y)
    assert a.n_iter_ == b.n_iter_ < 200
    np.testing.assert_allclose(a.validation_score_, b.validation_score_, atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_adaboost_has_the_same_errors_and_votes(K):
    """Sums of weights in another order: rounding."""
    X, y = classes(2000, 8, K)
    a, b = pair("AdaBoostClassifier", n_estimators=40, random_state=0)
    a.fit(X, y), b.fit(X, y)
    np.testing.assert_allclose(a.estimator_errors_, b.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(a.estimator_weights_, b.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-10)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)
    assert list(a.staged_score(X, y)) == list(b.staged_score(X, y))
    np.testing.assert_allclose(a.feature_importances_, b.feature_importances_, atol=1e-10)
    np.testing.assert_array_equal(a.estimators_[7].predict(X), b.estimators_[7].predict(X))


def test_adaboost_of_any_learner_that_takes_weights_is_equal():
    X, y = classes(500, 6, 3)
    a, b = (
        module.AdaBoostClassifier(member(max_depth=2, random_state=0), n_estimators=8, random_state=0).fit(X, y)
        for module, member in ((ours, DecisionTreeClassifier), (theirs, TheirTree))
    )
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)


def test_adaboost_of_numbers_is_as_good():
    """Rows are drawn by another generator: over ten seeds the mean score is within 3 standard errors."""
    X, y = numbers(600)
    scores = [
        [cls(n_estimators=20, random_state=seed).fit(X[:400], y[:400]).score(X[400:], y[400:]) for seed in range(10)]
        for cls in (ours.AdaBoostRegressor, theirs.AdaBoostRegressor)
    ]
    error = np.sqrt(np.var(scores[0], ddof=1) / 10 + np.var(scores[1], ddof=1) / 10)
    assert abs(np.mean(scores[0]) - np.mean(scores[1])) <= 3 * error


@pytest.mark.parametrize(("K", "loss"), [(2, "log_loss"), (2, "exponential"), (3, "log_loss")])
def test_gradient_boosting_of_classes_is_equal(K, loss):
    X, y = classes(800, 6, K)
    a, b = pair("GradientBoostingClassifier", loss=loss, n_estimators=15, random_state=0)
    a.fit(X, y), b.fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(a.train_score_, b.train_score_, rtol=1e-9)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_gradient_boosting_of_numbers_is_equal(loss):
    X, y = numbers(800)
    a, b = pair("GradientBoostingRegressor", loss=loss, n_estimators=15, random_state=0)
    a.fit(X, y), b.fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-10)
    np.testing.assert_allclose(a.train_score_, b.train_score_, rtol=1e-9)
    np.testing.assert_allclose(a.feature_importances_, b.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("options", [{"max_leaf_nodes": 5}, {"ccp_alpha": 0.01}, {"init": "zero"}, {"max_depth": 5}])
def test_gradient_boosting_follows_the_same_rules(options):
    X, y = numbers(800)
    a, b = pair("GradientBoostingRegressor", n_estimators=10, random_state=0, **options)
    np.testing.assert_allclose(a.fit(X, y).predict(X), b.fit(X, y).predict(X), atol=1e-10)
