"""Bagging: what laws over all methods cannot say."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier

from fivefold.ensemble import BaggingClassifier, BaggingRegressor
from fivefold.linear_model import Ridge
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.fixture(scope="module")
def classes():
    return make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)


def test_copies_see_their_own_rows_and_columns(classes):
    X, y = classes
    bag = BaggingClassifier(n_estimators=5, max_samples=0.5, max_features=4, random_state=0).fit(X, y)
    for copy, features, rows in zip(bag.estimators_, bag.estimators_features_, bag.estimators_samples_, strict=True):
        assert copy.n_features_in_ == len(features) == len(set(features)) == 4 and len(rows) == 100
        assert copy.score(X[rows][:, features], y[rows]) == 1.0  # a full tree knows its sample by heart


def test_the_mean_of_the_copies_is_what_is_said(classes):
    X, y = classes
    bag = BaggingClassifier(LogisticRegression(), 4, random_state=0).fit(X, y)
    shares = np.mean([c.predict_proba(X) for c in bag.estimators_], axis=0)
    np.testing.assert_allclose(bag.predict_proba(X), shares, rtol=1e-12)
    scores = np.mean([c.decision_function(X) for c in bag.estimators_], axis=0)
    np.testing.assert_allclose(bag.decision_function(X), scores, rtol=1e-12)
    voting = BaggingClassifier(SGDClassifier(random_state=0), 5, random_state=0).fit(X, y)  # has no probabilities
    votes = np.stack([np.mean([c.predict(X) == k for c in voting.estimators_], axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(voting.predict_proba(X), votes, rtol=1e-12)


@pytest.mark.parametrize("learner", [SGDClassifier(random_state=0), KNeighborsClassifier(3), None], ids=repr)
def test_weights_are_repetition_whatever_the_learner_does_with_them(learner, classes):
    X, y = classes
    w = np.random.RandomState(0).randint(1, 4, size=len(X))
    order = np.random.RandomState(1).permutation(len(X))
    repeated = BaggingClassifier(learner, 3, random_state=0).fit(X.repeat(w, axis=0), y.repeat(w))
    weighted = BaggingClassifier(learner, 3, random_state=0).fit(X[order], y[order], sample_weight=w[order])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize("jobs", [2, -1])
def test_the_number_of_jobs_changes_no_byte(jobs, classes):
    X, y = classes
    options = {"n_estimators": 6, "max_features": 0.5, "random_state": 0}
    one, many = (BaggingClassifier(n_jobs=n, **options).fit(X, y) for n in (1, jobs))
    assert one.predict_proba(X).tobytes() == many.predict_proba(X).tobytes()


def test_rows_out_of_the_bag_judge_the_copies():
    X, y = make_regression(150, 4, noise=5.0, random_state=0)
    bag = BaggingRegressor(Ridge(), 30, oob_score=True, random_state=0).fit(X, y)
    expected = [
        np.mean(
            [
                c.predict(X[[i]])[0]
                for c, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True)
                if i not in rows
            ]
        )
        for i in range(len(X))
    ]
    np.testing.assert_allclose(bag.oob_prediction_, expected, rtol=1e-9)
    assert bag.oob_score_ == pytest.approx(1 - np.var(y - expected) / np.var(y), abs=1e-3)
    labels = (y > 0).astype(int)
    trees = BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, labels)
    assert trees.oob_score_ == np.mean(trees.oob_decision_function_.argmax(axis=1) == labels) > 0.8


def test_copies_that_are_added_later_are_those_of_one_fit(classes):
    X, y = classes
    grown = BaggingClassifier(n_estimators=2, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=5).fit(X, y)
    whole = BaggingClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert grown.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()


def test_a_class_that_a_sample_lacks_has_no_probability_from_its_copy():
    X, y = load_iris(return_X_y=True)
    bag = BaggingClassifier(DecisionTreeClassifier(random_state=0), 20, max_samples=3, random_state=0).fit(X, y)
    assert min(len(c.classes_) for c in bag.estimators_) < 3
    np.testing.assert_allclose(bag.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


def test_sparse_rows_and_several_outputs_go_to_learners_that_take_them():
    X, Y = make_regression(100, 5, n_targets=2, random_state=0)
    thin = BaggingRegressor(DecisionTreeRegressor(random_state=0), 5, random_state=0).fit(sparse.csr_matrix(X), Y)
    dense = BaggingRegressor(DecisionTreeRegressor(random_state=0), 5, random_state=0).fit(X, Y)
    np.testing.assert_allclose(thin.predict(sparse.csr_matrix(X)), dense.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_features": 9}, "max_features=9 but X has only 6 columns"),
        ({"bootstrap": False, "max_samples": 300}, "max_samples=300 but there are only 200 rows"),
        ({"bootstrap": False, "oob_score": True}, "needs bootstrap=True"),
    ],
)
def test_what_cannot_be_is_refused_in_words(options, words, classes):
    with pytest.raises(ValueError, match=words):
        BaggingClassifier(**options).fit(*classes)
