"""Stacking agrees with scikit-learn's, the same members, folds and combiner inside."""

import numpy as np
import pytest
from sklearn import ensemble as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC

from fivefold import ensemble as ours

CLASSIFIERS = [("near", KNeighborsClassifier(3)), ("bayes", GaussianNB())]
REGRESSORS = [("near", KNeighborsRegressor(3)), ("linear", LinearRegression())]


@pytest.mark.parametrize("data", [load_iris, load_breast_cancer])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cv": 3, "passthrough": True},
        {"stack_method": "predict"},
        {"cv": StratifiedKFold(4, shuffle=True, random_state=1)},
        {"estimators": [("svm", LinearSVC(max_iter=20_000, random_state=0)), ("bayes", GaussianNB())]},
    ],
    ids=str,
)
def test_stacked_classifiers_agree(data, settings):
    """E-358: the combiner learns from held-out answers."""
    X, y = data(return_X_y=True)
    X = X / X.std(axis=0)
    settings = {"estimators": CLASSIFIERS, "final_estimator": LogisticRegression(max_iter=2000), **settings}
    a, b = ours.StackingClassifier(**settings).fit(X, y), theirs.StackingClassifier(**settings).fit(X, y)
    assert a.stack_method_ == b.stack_method_
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-12)
    np.testing.assert_allclose(a.final_estimator_.coef_, b.final_estimator_.coef_, rtol=1e-8)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-8)
    np.testing.assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())


@pytest.mark.parametrize("settings", [{}, {"cv": KFold(3), "passthrough": True}], ids=str)
def test_stacked_regressors_agree(settings):
    X, y = load_diabetes(return_X_y=True)
    a = ours.StackingRegressor(REGRESSORS, RidgeCV(), **settings).fit(X, y)
    b = theirs.StackingRegressor(REGRESSORS, RidgeCV(), **settings).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())


def test_fitted_members_are_taken_as_they_are():
    X, y = load_iris(return_X_y=True)
    members = [(name, inner.fit(X[::2], y[::2])) for name, inner in CLASSIFIERS]
    a = ours.StackingClassifier(members, LogisticRegression(), cv="prefit").fit(X, y)
    b = theirs.StackingClassifier(members, LogisticRegression(), cv="prefit").fit(X, y)
    assert a.estimators_[0] is members[0][1]
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)


def test_the_default_combiners_reach_what_scikit_learns_reach():
    """Ours inside: the same penalised optimum, to the tolerance of their solver."""
    X, y = load_iris(return_X_y=True)
    a, b = ours.StackingClassifier(CLASSIFIERS).fit(X, y), theirs.StackingClassifier(CLASSIFIERS).fit(X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=2e-3)
    X, y = load_diabetes(return_X_y=True)
    a, b = ours.StackingRegressor(REGRESSORS).fit(X, y), theirs.StackingRegressor(REGRESSORS).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6)
