"""Stacking agrees with scikit-learn's, the same members, folds and combiner inside."""

import numpy as np
import pytest
from sklearn import ensemble as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fivefold import ensemble as ours

CLASSIFIERS = [("near", KNeighborsClassifier(3)), ("bayes", GaussianNB())]
TREES = [("near", KNeighborsClassifier(5)), ("tree", DecisionTreeClassifier(max_depth=4, random_state=0))]
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


@pytest.fixture(scope="module")
def labelled():
    return make_multilabel_classification(200, 8, n_classes=3, random_state=0)


@pytest.mark.parametrize("method", ["auto", "predict"])
@pytest.mark.parametrize("passthrough", [False, True])
def test_stacks_of_several_labels_agree(labelled, method, passthrough):
    X, Y = labelled
    settings = {"stack_method": method, "passthrough": passthrough, "cv": 4}
    a = ours.StackingClassifier(TREES, KNeighborsClassifier(5), **settings).fit(X, Y)
    b = theirs.StackingClassifier(TREES, KNeighborsClassifier(5), **settings).fit(X, Y)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-12)
    assert len(a.get_feature_names_out()) == a.transform(X).shape[1]  # theirs are fewer where probabilities are stacked
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert a.score(X, Y) == b.score(X, Y)
    assert [c.tolist() for c in a.classes_] == [c.tolist() for c in b.classes_] == [[0, 1]] * 3


def test_the_probability_of_a_label_is_that_of_its_being_there(labelled):
    """scikit-learn gives the columns of class 0, so that areas under curves come out as one minus what they are."""
    X, Y = labelled
    a = ours.StackingClassifier(TREES, KNeighborsClassifier(5)).fit(X, Y)
    b = theirs.StackingClassifier(TREES, KNeighborsClassifier(5)).fit(X, Y)
    np.testing.assert_allclose(a.predict_proba(X), 1 - b.predict_proba(X), rtol=1e-12)
    assert roc_auc_score(Y, a.predict_proba(X)) > 0.9


def test_fitted_members_of_several_labels_are_taken_as_they_are(labelled):
    X, Y = labelled
    members = [(name, inner.fit(X[::2], Y[::2])) for name, inner in TREES]
    a = ours.StackingClassifier(members, KNeighborsClassifier(5), cv="prefit").fit(X, Y)
    b = theirs.StackingClassifier(members, KNeighborsClassifier(5), cv="prefit").fit(X, Y)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_stacks_of_several_labels_are_made_of_our_own_learners(labelled):
    X, Y = labelled
    members = [("forest", ours.RandomForestClassifier(20, random_state=0)), *TREES]
    model = ours.StackingClassifier(members, ours.RandomForestClassifier(20, random_state=0)).fit(X[:150], Y[:150])
    chance = np.maximum(Y.mean(axis=0), 1 - Y.mean(axis=0)).mean()
    assert (model.predict(X[150:]) == Y[150:]).mean() > chance + 0.05


def test_labels_of_more_than_two_kinds_keep_their_names_and_a_table_each(labelled):
    """scikit-learn refuses these."""
    X, Y = labelled
    Y = np.stack([np.array(["low", "mid", "high"])[Y[:, 0] + Y[:, 1]], np.array(["no", "yes"])[Y[:, 2]]], axis=1)
    model = ours.StackingClassifier(TREES, KNeighborsClassifier(1), passthrough=True).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.95
    assert [P.shape for P in model.predict_proba(X)] == [(200, 3), (200, 2)]
    assert model.transform(X).shape == (200, 8 + 2 * (2 + 1))


def test_a_label_that_a_fold_lacks_has_no_probability_from_it(labelled):
    X, Y = labelled
    Y = np.column_stack([Y, np.arange(200) < 20])  # there in the first of ten folds alone
    model = ours.StackingClassifier(TREES, KNeighborsClassifier(5), cv=KFold(10)).fit(X, Y)
    assert model.final_estimator_._fit_X[:20, 3].max() == 0.0  # the column of the last label from the first member
    assert model.predict_proba(X).shape == (200, 4)


def test_a_regressor_takes_regressors_only():
    X, y = load_diabetes(return_X_y=True)
    for module in (ours, theirs):
        with pytest.raises(ValueError, match="should be a regressor"):
            module.StackingRegressor([("near", KNeighborsClassifier())]).fit(X, y)
