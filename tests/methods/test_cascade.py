"""Cascades: who answers what, and what is left after each stage."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier

from fivefold.ensemble import CascadeClassifier, EnrichmentCascade
from fivefold.linear_model import LogisticRegression
from fivefold.naive_bayes import GaussianNB
from fivefold.tree import DecisionTreeClassifier


def rare(n=6000, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] > 1) & (X[:, 1] > 1) & (X[:, 2] > 0)


def test_the_first_learner_that_is_sure_answers():
    """E-358: a general rule, and a learner for its exceptions."""
    X, y = make_moons(800, noise=0.25, random_state=0)
    model = CascadeClassifier([("rule", LogisticRegression()), ("exceptions", KNeighborsClassifier(9))], threshold=0.9)
    model.fit(X, y)
    rule, exceptions = model.estimators_
    sure = rule.predict_proba(X).max(axis=1) >= 0.9
    np.testing.assert_array_equal(model.answered_by(X), np.where(sure, 0, 1))
    np.testing.assert_array_equal(model.predict(X)[sure], rule.predict(X)[sure])
    np.testing.assert_array_equal(model.predict(X)[~sure], exceptions.predict(X[~sure]))
    np.testing.assert_array_equal(model.predict_proba(X)[sure], rule.predict_proba(X)[sure])


def test_the_learner_of_exceptions_sees_nothing_else():
    """E-358: and repairs the rule."""
    X, y = make_moons(800, noise=0.2, random_state=0)
    model = CascadeClassifier([("rule", LogisticRegression()), ("near", KNeighborsClassifier(9))], threshold=0.95).fit(
        X, y
    )
    seen = model.named_estimators_["near"].n_samples_fit_
    assert seen == pytest.approx((1 - model.shares_[0]) * len(X), abs=1e-6)
    assert 0.05 * len(X) < seen < 0.8 * len(X)
    fresh, labels = make_moons(2000, noise=0.2, random_state=1)
    assert model.score(fresh, labels) > LogisticRegression().fit(X, y).score(fresh, labels) + 0.03  # 3 standard errors


def test_a_threshold_of_one_hands_everything_on_and_of_zero_nothing():
    X, y = load_iris(return_X_y=True)
    pair = [("first", GaussianNB()), ("second", LogisticRegression())]
    alone = CascadeClassifier(pair, threshold=0.0).fit(X, y)
    assert len(alone.estimators_) == 1
    np.testing.assert_array_equal(alone.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    handed = CascadeClassifier([("stump", tree), ("linear", LogisticRegression())], threshold=[1.0]).fit(X, y)
    assert (handed.answered_by(X) == (y != 0)).all()  # the stump is sure of the first species alone
    with pytest.raises(ValueError, match="threshold needs 1 numbers, one per learner except the last"):
        CascadeClassifier(pair, threshold=[0.5, 0.9]).fit(X, y)


def test_every_stage_enriches_and_recalls_multiply():
    """B-78."""
    X, y = rare()
    model = EnrichmentCascade(n_stages=5, recall=0.98).fit(X, y)
    (found,) = model.filters_
    assert len(found.stages) > 1
    before = np.concatenate([[y.mean()], found.share[:-1]])
    assert (np.array(found.share) > before).all()
    kept = np.array([stage_recall(model, X, y, s) for s in range(len(found.stages))])
    assert (kept >= 0.98).all()
    np.testing.assert_allclose(np.cumprod(kept), found.recall, rtol=1e-12)  # the recall of each multiplies


def stage_recall(model, X, y, s):
    """The share of the positives that reach stage s which it keeps."""
    passed = model.stages_passed(X[y])
    return (passed > s).sum() / (passed >= s).sum()


def test_rejected_rows_are_not_looked_at_again():
    """B-78: the first stage meets all rows, each later one the survivors alone."""
    met = []

    class Counted(GaussianNB):
        def predict_proba(self, X):
            met.append(len(X))
            return super().predict_proba(X)

    X, y = rare()
    model = EnrichmentCascade(estimator=GaussianNB(), n_stages=3, recall=0.95).fit(X, y)
    stages = model.filters_[0].stages
    for stage in stages:
        stage.rule.__class__ = Counted
    passed = model.stages_passed(X)
    assert met == [int((passed >= s).sum()) for s in range(len(stages))]
    assert met[1] < 0.3 * met[0]


def test_the_decision_is_positive_for_survivors_and_grows_with_the_stage():
    X, y = rare()
    model = EnrichmentCascade(n_stages=4).fit(X, y)
    D, passed = model.decision_function(X), model.stages_passed(X)
    np.testing.assert_array_equal(D > 0, passed == len(model.filters_[0].stages))
    for s in range(passed.max()):
        assert D[passed == s].max() <= D[passed == s + 1].min()
