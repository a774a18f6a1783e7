"""Learners that give scores only: the folds that calibrate them shuffle, stratify, follow groups, time and copies."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import SVC
from study_tables import blobs, study_table

from fivefold.core.storage import model_files
from fivefold.evaluation import calibration
from fivefold.evaluation.calibration import CrossFittedCalibration, _score_columns
from fivefold.evaluation.scores import SCORES
from fivefold.study.planning.plan import make_plan
from fivefold.study.planning.splits import inner_splits
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.pipelines import fit_pipeline

PLACES = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0], [8.0, 0.0], [0.0, 8.0]])  # three per class


def sorted_table(n=240):
    """Two classes, sorted by class and within a class by place, as tables of experiments are."""
    place = np.repeat(np.arange(6), n // 6)
    X = PLACES[place] + np.random.default_rng(0).normal(size=(n, 2))
    return study_table(X, np.array(["a", "b"])[(place >= 3).astype(int)])


def svc_loss(data):
    """The mean log loss of a support-vector classifier, which gives no probabilities, over the outer folds."""
    plan = make_plan(data, [SVC(random_state=0)], repeats=1)
    return np.mean([evaluate_fold(data, plan.learners[0], s, plan).scores["log_loss"] for s in plan.splits])


def test_a_table_sorted_by_class_is_calibrated_as_well_as_a_shuffled_one():
    data = sorted_table()
    order = np.random.default_rng(1).permutation(len(data.y))
    in_order, shuffled = svc_loss(data), svc_loss(data.take(order))
    assert abs(in_order - shuffled) < 0.1 * shuffled
    X, y = data.X.to_numpy(), data.y
    worse = CalibratedClassifierCV(SVC(random_state=0), cv=3, ensemble=False).fit(
        X, y
    )  # folds in the order of the file
    assert SCORES["log_loss"].score_model(worse, X, y) > 1.3 * in_order


def test_machines_of_pairs_are_calibrated_by_their_answers_rather_than_by_votes():
    """Five classes on a ring: votes say which class wins, not by how much."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 400)
    X = 3 * np.column_stack([np.cos(0.4 * np.pi * codes), np.sin(0.4 * np.pi * codes)]) + rng.normal(size=(400, 2))
    folds, train, test = rng.permutation(200) % 3, np.arange(0, 400, 2), np.arange(1, 400, 2)
    model = CrossFittedCalibration(SVC(random_state=0), folds).fit(X[train], codes[train])
    G = model.estimator_.decision_function(X[test])  # (n, 10): a column per pair
    S, p = np.zeros((len(test), 5)), 0
    for i in range(5):
        for j in range(i + 1, 5):
            S[:, i] += G[:, p] / 4
            S[:, j] -= G[:, p] / 4
            p += 1
    np.testing.assert_allclose(_score_columns(model.estimator_, X[test]), S, atol=1e-12)
    votes = CrossFittedCalibration(Votes(SVC(random_state=0)), folds).fit(X[train], codes[train])
    found, rival = (SCORES["log_loss"].score_model(one, X[test], codes[test]) for one in (model, votes))
    assert found < 0.9 * rival


class Votes(ClassifierMixin, BaseEstimator):
    """A classifier of pairs that answers with votes."""

    def __init__(self, machine):
        self.machine = machine

    def fit(self, X, y):
        """Fit a copy."""
        self.machine_ = clone(self.machine).fit(X, y)
        self.classes_ = self.machine_.classes_
        return self

    def decision_function(self, X):
        """Votes, and answers that break ties."""
        return self.machine_.decision_function(X)

    def predict(self, X):
        """The class with most votes."""
        return self.machine_.predict(X)


ASKED = []  # rows that a model was fitted on, and rows that it was asked to score


class Spy(ClassifierMixin, BaseEstimator):
    """Notes the rows that its models are fitted on and asked about, by the number in their first column."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # so that the columns are not scaled
        return tags

    def fit(self, X, y):
        self.classes_, self.rows_ = np.unique(y), X[:, 0].astype(int)
        return self

    def decision_function(self, X):
        ASKED.append((self.rows_, X[:, 0].astype(int)))
        return X[:, 1]

    def predict(self, X):
        return self.classes_[(X[:, 1] > 0).astype(int)]


def numbered(n=300, **more):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"row": np.arange(n) * 1.0, "x": rng.normal(size=n)})
    return study_table(frame, np.array(["a", "b"])[rng.integers(0, 2, n)], **more)


def calibration_pairs(data):
    """Rows of a model and rows it scored to be calibrated, over all folds and inner folds of a study."""
    plan = make_plan(data, [Spy()], repeats=1, holdout=0)
    ASKED.clear()
    for split in plan.splits:
        evaluate_fold(data, plan.learners[0], split, plan)
    pairs = [(known, new) for known, new in ASKED if not set(new) <= set(known)]  # not scores of its own rows
    assert len(pairs) >= 3 * 4 * len(plan.splits)  # three folds calibrate three inner models and the outer one
    return pairs


def test_no_group_is_on_both_sides_of_a_calibration():
    groups = np.random.default_rng(2).integers(0, 40, 300)
    for known, new in calibration_pairs(numbered(groups=groups)):
        assert not set(groups[known]) & set(groups[new])


def test_no_copy_is_on_both_sides_of_a_calibration():
    records = np.random.default_rng(2).integers(0, 200, 300)
    for known, new in calibration_pairs(numbered(records=records)):
        assert not set(records[known]) & set(records[new])


def test_calibration_scores_rows_later_than_those_it_was_fitted_on():
    time = np.random.default_rng(2).permutation(300)
    for known, new in calibration_pairs(numbered(time=time)):
        assert time[known].max() < time[new].min()


def test_every_calibration_fold_holds_every_class_in_its_share():
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 270 + ["b"] * 30)
    data = study_table(pl.DataFrame({"row": np.arange(300) * 1.0, "x": rng.normal(size=300)}), y)
    shares = [np.mean(y[new] == "b") for _, new in calibration_pairs(data)]
    assert max(abs(share - 0.1) for share in shares) < 0.03


@pytest.mark.parametrize(
    "counts",
    [(40, 2), (40, 1), (2, 2), (40, 40, 1), (40, 2, 1), (2, 2, 2), (1, 1, 1)],
    ids=lambda c: "-".join(map(str, c)),
)
def test_small_classes_are_calibrated_with_what_there_is(counts):
    y = np.repeat(list("abc")[: len(counts)], counts)
    data = study_table(np.random.default_rng(0).normal(size=(len(y), 2)) + 3 * (y == "b")[:, None], y)
    learner = make_plan(blobs(60), [RidgeClassifier()]).learners[0]
    model = fit_pipeline(data, learner, {}, np.arange(len(y)), 0)
    P = model.predict_proba(data.X)
    assert P.shape == (len(y), len(counts)) and np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_a_study_of_a_class_of_three_rows_calibrates_in_every_fold():
    y = np.array(["a"] * 50 + ["b"] * 30 + ["c"] * 3)
    data = study_table(np.random.default_rng(0).normal(size=(83, 3)), y)
    plan = make_plan(data, [RidgeClassifier()])
    for split in plan.splits:
        assert np.isfinite(evaluate_fold(data, plan.learners[0], split, plan).scores["log_loss"])


@pytest.mark.parametrize("K", [2, 3])
def test_splits_that_cover_all_rows_give_the_calibration_of_scikit_learn(K, monkeypatch):
    monkeypatch.setattr(calibration, "PSEUDO_ROWS", 0.0)
    data = blobs(150, K=K, apart=1.5)
    X, rows = data.X.to_numpy(), np.arange(150)
    splits = inner_splits(data, rows, 3, 0)
    folds = np.array([next(k for k, (_, test) in enumerate(splits) if row in test) for row in rows])
    ours = CrossFittedCalibration(RidgeClassifier(), folds).fit(X, data.y)
    method = "sigmoid" if K == 2 else "temperature"
    theirs = CalibratedClassifierCV(RidgeClassifier(), method=method, cv=splits, ensemble=False).fit(X, data.y)
    # the same scores in another order: sums in the optimiser are rounded differently
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_separated_classes_are_not_certain():
    """Scores that separate three classes: a temperature without pseudo-rows would make probabilities 0 and 1."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = 20 * np.eye(3)[y] + rng.normal(size=(120, 3))
    P = CrossFittedCalibration(RidgeClassifier()).fit(X, y).predict_proba(X)
    right = P[np.arange(120), y]
    assert 0.98 < right.mean() < 0.9999 and (P > 1e-5).all()


def test_folds_for_other_rows_are_refused():
    data = blobs(50)
    with pytest.raises(ValueError, match="folds holds the fold of each row; got 49 for 50 rows"):
        CrossFittedCalibration(RidgeClassifier(), np.zeros(49, int)).fit(data.X.to_numpy(), data.y)


def test_a_calibrated_model_is_saved_and_answers_the_same(tmp_path):
    data = replace(blobs(200, K=3), groups=np.arange(200) // 4)
    learner = make_plan(data, [RidgeClassifier()], holdout=0).learners[0]
    model = fit_pipeline(data, learner, {}, np.arange(200), 0)["method"]
    model_files.save(model, tmp_path / "model.skops")
    again = model_files.load(tmp_path / "model.skops")
    X = data.X.to_numpy()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
