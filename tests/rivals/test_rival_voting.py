"""Voting agrees with scikit-learn's, the same members inside."""

import numpy as np
import pytest
from sklearn import ensemble as theirs
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from fivefold import ensemble as ours

CLASSIFIERS = [("near", KNeighborsClassifier(3)), ("bayes", GaussianNB()), ("linear", LogisticRegression(max_iter=500))]
REGRESSORS = [("near", KNeighborsRegressor(3)), ("linear", LinearRegression())]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "settings", [{}, {"weights": [3, 1, 2]}, {"voting": "soft"}, {"voting": "soft", "weights": [3, 1, 2]}]
)
def test_voting_classifiers_agree(settings, weighted):
    X, y = load_iris(return_X_y=True)
    y = np.array(["x", "y", "z"])[y]
    members = CLASSIFIERS[1:] if weighted else CLASSIFIERS  # neighbours take no weights
    settings = {**settings, **({"weights": settings["weights"][1:]} if weighted and "weights" in settings else {})}
    extra = {"sample_weight": np.random.RandomState(0).rand(150)} if weighted else {}
    a = ours.VotingClassifier(members, **settings).fit(X, y, **extra)
    b = theirs.VotingClassifier(members, **settings).fit(X, y, **extra)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-12)
    np.testing.assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())
    np.testing.assert_array_equal(a.le_.classes_, b.le_.classes_)
    if "voting" in settings:
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-12)
        a.set_params(flatten_transform=False)
        np.testing.assert_allclose(a.transform(X), b.set_params(flatten_transform=False).transform(X), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, [1, 4]])
def test_voting_regressors_agree(weights):
    X, y = load_diabetes(return_X_y=True)
    a = ours.VotingRegressor(REGRESSORS, weights=weights).fit(X, y)
    b = theirs.VotingRegressor(REGRESSORS, weights=weights).fit(X, y)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-12)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-12)
    np.testing.assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())
