"""Agreement with scikit-learn: forests draw other numbers, so they agree in accuracy, importances and shapes."""

import numpy as np
import pytest
from sklearn import ensemble as theirs
from sklearn.datasets import make_classification, make_friedman1

from fivefold import ensemble as ours

SEEDS = 6


def compare(name, X, y, new, truth, **options):
    """Scores of both on new rows over some seeds."""
    return [
        np.array([getattr(m, name)(random_state=s, **options).fit(X, y).score(new, truth) for s in range(SEEDS)])
        for m in (ours, theirs)
    ]


def assert_alike(one, other, floor):
    """Means within 3 standard errors of their difference, over the seeds."""
    error = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / SEEDS)
    assert abs(one.mean() - other.mean()) <= 3 * error + 1e-3
    assert one.mean() > floor


@pytest.mark.parametrize(
    "options", [{}, {"criterion": "entropy", "max_features": 0.5}, {"max_leaf_nodes": 30}], ids=str
)
@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_classes_are_told_as_well(name, options):
    X, y = make_classification(1500, 10, n_informative=6, n_classes=3, flip_y=0.05, random_state=0)
    assert_alike(*compare(name, X[:700], y[:700], X[700:], y[700:], n_estimators=30, **options), floor=0.7)


@pytest.mark.parametrize("options", [{}, {"criterion": "poisson", "max_features": 0.5}], ids=str)
@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
def test_numbers_are_told_as_well(name, options):
    if name == "ExtraTreesRegressor" and options:
        options = {"criterion": "absolute_error", "max_depth": 6}
    X, y = make_friedman1(900, noise=1.0, random_state=0)
    y = np.abs(y)
    assert_alike(*compare(name, X[:400], y[:400], X[400:], y[400:], n_estimators=20, **options), floor=0.6)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_importances_rank_the_columns_alike(name):
    X, y = make_classification(800, 8, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    a, b = (getattr(m, name)(200, random_state=0).fit(X, y).feature_importances_ for m in (ours, theirs))
    np.testing.assert_allclose(a, b, atol=0.03)  # the mean of 200 trees, each with an error near 0.1 for the largest
    assert set(np.argsort(a)[-3:]) == {0, 1, 2}


def test_judgement_out_of_the_bag_is_that_of_new_rows_and_of_scikit_learn():
    X, y = make_classification(2000, 10, n_informative=6, flip_y=0.1, random_state=0)
    one, other = (
        m.RandomForestClassifier(80, oob_score=True, random_state=0).fit(X[:800], y[:800]) for m in (ours, theirs)
    )
    error = np.sqrt(0.1 * 0.9 / 800)  # of an accuracy near 0.9 on 800 rows
    assert abs(one.oob_score_ - other.oob_score_) < 3 * error
    assert abs(one.oob_score_ - one.score(X[800:], y[800:])) < 3 * error * np.sqrt(1 + 800 / 1200)


@pytest.mark.parametrize("name", ["BaggingClassifier", "BaggingRegressor"])
def test_bags_are_as_good(name):
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    y = y if name == "BaggingRegressor" else (y > np.median(y)).astype(int)
    pair = compare(name, X[:400], y[:400], X[400:], y[400:], n_estimators=20, max_features=0.8)
    assert_alike(*pair, floor=0.6)
