"""Votes of models of any library."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.neighbors import KNeighborsClassifier

from fivefold.core.numerics.opinion_pool import logarithmic_pool
from fivefold.ensemble import StackingClassifier, VotingClassifier, VotingRegressor
from fivefold.ensemble.voting import majority_vote
from fivefold.linear_model import LogisticRegression, Ridge
from fivefold.naive_bayes import GaussianNB
from fivefold.svm import LinearSVC

IRIS = load_iris(return_X_y=True)


def test_copies_of_one_model_vote_like_the_model():
    """D-37."""
    X, y = IRIS
    model = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(majority_vote([model] * 5, X), model.predict(X))
    copies = [(f"copy{i}", GaussianNB()) for i in range(3)]
    np.testing.assert_array_equal(VotingClassifier(copies).fit(X, y).predict(X), model.predict(X))
    soft = VotingClassifier(copies, voting="soft", weights=[1, 2, 5]).fit(X, y)
    np.testing.assert_allclose(soft.predict_proba(X), model.predict_proba(X), rtol=1e-14)  # rounding of a mean


def test_geometric_votes_add_up_log_odds():
    X, y = IRIS
    members = [("bayes", GaussianNB()), ("linear", LogisticRegression())]
    model = VotingClassifier(members, voting="geometric", weights=[1, 3]).fit(X, y)
    P, Q = (member.predict_proba(X) for member in model.estimators_)
    expected = np.exp((np.log(np.clip(P, 1e-5, 1)) + 3 * np.log(np.clip(Q, 1e-5, 1))) / 4)
    np.testing.assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
    copies = VotingClassifier([("a", GaussianNB()), ("b", GaussianNB())], voting="geometric").fit(X, y)
    np.testing.assert_allclose(copies.predict_proba(X), P, atol=2e-5)


def test_no_member_of_a_geometric_vote_rules_out_a_class_alone():
    sure, other = np.array([[1.0, 0.0]]), np.array([[0.1, 0.9]])
    assert 0 < logarithmic_pool([sure, other], [1.0, 9.0])[0, 0] < 0.5


def test_fitted_models_of_any_library_vote():
    """D-37: a plain majority of labels, heavier votes counting more."""
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    models = [
        TheirLogistic(max_iter=500).fit(X, names),
        KNeighborsClassifier(3).fit(X, names),
        GaussianNB().fit(X, names),
    ]
    said = np.array([model.predict(X) for model in models])
    for i, label in enumerate(majority_vote(models, X)):
        counts = {v: (said[:, i] == v).sum() for v in np.unique(said)}
        assert counts[label] == max(counts.values())
    np.testing.assert_array_equal(majority_vote(models, X, weights=[1, 1, 5]), models[2].predict(X))


def test_members_are_dropped_replaced_and_reached_by_name():
    X, y = IRIS
    model = VotingClassifier([("bayes", GaussianNB()), ("linear", LogisticRegression())], weights=[1, 3])
    model.set_params(linear__C=0.1, bayes="drop").fit(X, y)
    assert [type(m).__name__ for m in model.estimators_] == ["LogisticRegression"]
    assert model.named_estimators_["bayes"] == "drop"
    assert model.estimators_[0].C == 0.1
    np.testing.assert_array_equal(model.predict(X), LogisticRegression(C=0.1).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="All estimators are dropped"):
        model.set_params(linear="drop").fit(X, y)


@pytest.mark.parametrize("estimators", [[], [("a", Ridge(), 3)], ["a"]])
def test_what_is_no_list_of_pairs_is_refused(estimators):
    with pytest.raises(ValueError, match=r"must be a list of \(name, estimator\)"):
        VotingRegressor(estimators).fit(*IRIS)


def test_weights_and_kinds_that_do_not_fit_are_refused_with_their_numbers():
    with pytest.raises(ValueError, match="got 2 weights, 1 estimators"):
        VotingRegressor([("a", Ridge())], weights=[1, 2]).fit(*IRIS)
    with pytest.raises(ValueError, match="The estimator Ridge, called 'a', should be a classifier"):
        VotingClassifier([("a", Ridge())]).fit(*IRIS)
    with pytest.raises(ValueError, match="Underlying estimator svm does not implement the method predict_proba"):
        StackingClassifier([("svm", LinearSVC(random_state=0))], stack_method="predict_proba").fit(*IRIS)
    with pytest.raises(NotImplementedError, match="multi-output"):
        VotingClassifier([("a", GaussianNB())]).fit(IRIS[0], np.column_stack([IRIS[1] > 0, IRIS[1] > 1]).astype(int))


@pytest.mark.parametrize("method", [VotingClassifier, StackingClassifier])
def test_the_number_of_jobs_changes_no_byte(method):
    X, y = IRIS
    pairs = [("bayes", GaussianNB()), ("linear", LogisticRegression())]
    one, two = (method(pairs, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.transform(X).tobytes() == two.transform(X).tobytes()
