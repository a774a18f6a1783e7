"""One learner on one split: tuning, fitting, judging; and what nested splits are for."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from study_tables import blobs, study_table

from fivefold.core.registry import find
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.evaluation import corrected_t
from fivefold.evaluation.scores import SCORES
from fivefold.study.planning import hyperparameters
from fivefold.study.planning.plan import make_plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.running.fold import evaluate_fold, tune_and_fit
from fivefold.study.running.pipelines import build_pipeline, pickled_size
from fivefold.study.running.setting_search import choose_setting
from fivefold.study.tables.dataset import load


def learner(name, *settings):
    return Learner(find(name), settings)


def losses(plan, which):
    """The deciding loss of a learner on every split."""
    score = plan.scores[0]
    return np.array([score.loss(evaluate_fold(plan.data, which, s, plan).scores[score.name]) for s in plan.splits])


def test_the_scores_of_a_fold_are_those_of_its_predictions():
    plan = make_plan(load("iris"), ["GaussianNB"])
    split = plan.splits[3]
    found = evaluate_fold(plan.data, plan.learners[0], split, plan)
    y = plan.data.y[split.test]
    assert (found.n_train, found.n_test, found.repeat, found.fold) == (len(split.train), len(y), 0, 3)
    assert (found.test == split.test).all()
    assert found.scores["accuracy"] == np.mean(found.predicted == y)
    assert found.proba.shape == (len(y), 3) and np.allclose(found.proba.sum(axis=1), 1.0)
    p = found.proba[np.arange(len(y)), np.searchsorted(plan.classes, y)]
    assert found.scores["log_loss"] == pytest.approx(-np.log(p).mean(), rel=1e-12)
    assert set(found.train_score) == {"log_loss", "accuracy"}
    assert found.size_bytes > 1_000
    assert 0 < found.fit_seconds < found.busy_seconds


def test_a_fold_is_the_same_whenever_it_is_evaluated():
    plan = make_plan(load("wine"), ["sklearn.ensemble.RandomForestClassifier"])
    first, second = (evaluate_fold(plan.data, plan.learners[0], plan.splits[0], plan) for _ in range(2))
    assert np.array_equal(first.proba, second.proba)
    assert first.scores == second.scores


def test_the_best_setting_of_the_inner_splits_is_chosen_and_all_are_told():
    """Six noisy columns and 60 rows: strong shrinkage is right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    data = study_table(X, 0.1 * X[:, 0] + rng.normal(size=60))
    plan = make_plan(data, ["Ridge"])
    found = choose_setting(data, plan.learners[0], plan.splits[0].train, plan, 0)
    settings = plan.learners[0].settings
    assert [setting for setting, _ in found.tried][: len(settings)] == list(settings)
    assert found.parameters == min(found.tried, key=lambda entry: entry[1])[0]
    assert found.parameters["alpha"] > 30


def test_halving_ends_with_the_choice_of_the_whole_search_where_that_is_clear(monkeypatch):
    monkeypatch.setattr(hyperparameters, "MIN_RUNG_ROWS", 20)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 30))
    data = study_table(X, X[:, 0] + 3 * rng.normal(size=400))
    which = learner("Ridge", *({"alpha": 10.0**k} for k in (-3, -2, -1, 0, 2.5, 7)))
    plan = make_plan(data, [which])
    whole, halved = (choose_setting(data, which, plan.rows, replace(plan, halving=on), 0) for on in (False, True))
    assert halved.parameters == whole.parameters == {"alpha": 10.0**2.5}
    assert len(halved.tried) == 3 and len(halved.dropped) == 3  # the first, the defaults of a search, stays
    assert all(entry in whole.tried for entry in halved.tried)  # they saw all rows
    assert {one.share for one in halved.dropped} == {1 / 3}


def test_a_setting_that_cannot_be_fitted_is_not_chosen_and_when_none_can_the_learner_fails():
    data = blobs(100)
    good, bad = {"reg_param": 0.1}, {"reg_param": -1.0}
    plan = make_plan(data, [learner("QuadraticDiscriminantAnalysis", bad, good)])
    found = choose_setting(data, plan.learners[0], plan.splits[0].train, plan, 0)
    assert found.parameters == good and np.isinf(found.tried[0][1])
    with pytest.raises(ValueError, match="reg_param"):
        evaluate_fold(data, learner("QuadraticDiscriminantAnalysis", bad, {"reg_param": -2.0}), plan.splits[0], plan)


def test_a_learner_without_probabilities_is_calibrated_on_training_rows():
    data = blobs(300, K=3, apart=2.0)
    plan = make_plan(data, [RidgeClassifier()])
    found = evaluate_fold(data, plan.learners[0], plan.splits[0], plan)
    assert np.allclose(found.proba.sum(axis=1), 1.0)
    known = build_pipeline(data, plan.learners[0], {}, 0)
    assert type(known["method"]).__name__ == "CrossFittedCalibration"
    assert found.scores["log_loss"] < 0.9 * np.log(3)  # better than knowing the shares of the classes only
    direct = build_pipeline(data, make_plan(data, [LogisticRegression()]).learners[0], {}, 0)
    assert type(direct["method"]) is LogisticRegression


def test_classes_that_come_late_have_probability_zero_before():
    y = np.array(["a", "b"] * 40 + ["c", "a"] * 20)
    data = study_table(np.random.default_rng(0).normal(size=(120, 2)), y, time=np.arange(120))
    plan = make_plan(data, ["GaussianNB"])
    found = evaluate_fold(data, plan.learners[0], plan.splits[0], plan)
    assert found.proba.shape[1] == 3 and (found.proba[:, 2] == 0).all()
    assert set(found.predicted) <= {"a", "b"}


def test_predictions_that_are_no_numbers_are_refused():
    class Broken(LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    plan = make_plan(blobs(100), [Broken()])
    with pytest.raises(ValueError, match="predictions hold NaN or infinity"):
        evaluate_fold(plan.data, plan.learners[0], plan.splits[0], plan)


def test_the_model_that_is_kept_is_tuned_on_all_rows_outside_the_holdout_and_answers_with_labels():
    data = blobs(600, K=3, apart=3.0)
    plan = make_plan(data, ["GaussianNB"])
    model, choice = tune_and_fit(data, plan.learners[0], plan.rows, plan)
    assert choice.parameters in plan.learners[0].settings
    assert SCORES["accuracy"].score_model(model, data.X[plan.holdout], data.y[plan.holdout]) > 0.8
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_what_cannot_be_pickled_has_no_size():
    assert pickled_size(lambda: None) is None
    assert pickled_size(np.zeros(1000)) > 8000


class Stump(ClassifierMixin, BaseEstimator):
    """The sign of one column; which one is for tuning to find."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        above = X[:, self.column] > 0
        self.flip_ = np.mean(y[above] == self.classes_[1]) < np.mean(y[~above] == self.classes_[1])
        return self

    def predict_proba(self, X):
        p = np.where((X[:, self.column] > 0) != self.flip_, 0.6, 0.4)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_on_noise_the_best_of_many_settings_looks_good_and_nested_splits_tell_the_truth():
    """A-19: 150 columns of noise as settings; the error of the best is far below one half, that of choosing is not."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 150)), np.array(["a", "b"] * 60)
    data = study_table(X, y)
    stump = replace(make_plan(data, [Stump()]).learners[0], settings=tuple({"column": j} for j in range(150)))
    plan = make_plan(data, [stump], score="accuracy", repeats=1)
    best = min(loss for _, loss in choose_setting(plan.coded(data), stump, plan.rows, plan, 0).tried)
    nested = np.mean([evaluate_fold(data, stump, split, plan).scores["accuracy"] for split in plan.splits])
    error = np.sqrt(0.25 / 120)
    assert 1 + best < 0.5 - 2 * error  # losses are negative accuracies
    assert abs(nested - 0.5) < 3 * error


def test_a_learner_compared_with_itself_differs_by_nothing():
    """A-18: difference exactly zero and p = 1."""
    plan = make_plan(load("iris"), [LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis()])
    first, second = (losses(plan, which) for which in plan.learners[:2])
    found = corrected_t(first - second, ratio=0.25)
    assert (found.mean, found.p_value) == (0.0, 1.0)


def test_direct_and_reduced_multi_class_learners_meet_the_same_splits():
    """A-10: means, standard deviations and the p-value of the difference of a direct method and its reductions."""
    given = [LinearDiscriminantAnalysis(), OneVsRestClassifier(LinearDiscriminantAnalysis())]
    plan = make_plan(load("wine"), given, score="accuracy", repeats=1)
    direct, reduced = (losses(plan, which) for which in plan.learners[:2])
    assert abs(direct.mean() - reduced.mean()) < 0.05 and reduced.std(ddof=1) < 0.1
    assert corrected_t(direct - reduced, ratio=0.25).p_value > 0.05  # on wine neither is better


def test_a_pipeline_of_features_and_a_learner_is_one_learner():
    """A-11: the sign of a product is nothing to a linear method, and easy with hand-made features."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    data = study_table(X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    hybrid = make_pipeline(PolynomialFeatures(2), LogisticRegression())
    plan = make_plan(data, [LogisticRegression(), hybrid], score="accuracy", repeats=1)
    linear, made = (-losses(plan, which).mean() for which in plan.learners[:2])
    assert linear < 0.65 and made > 0.9


def test_error_falls_and_rises_with_the_number_of_columns():
    """D-03: 3 columns that tell, then noise: too few lose information, too many need more rows than there are."""
    rng = np.random.default_rng(1)
    y = np.array(["a", "b"])[np.arange(120) % 2]
    X = rng.normal(size=(120, 90))
    X[:, :3] += np.where(y == "a", 0.8, 0.0)[:, None]

    def error(d):
        plan = make_plan(study_table(X[:, :d], y), [LinearDiscriminantAnalysis(solver="lsqr")], score="accuracy")
        return 1 + losses(plan, plan.learners[0]).mean()

    one, three, ninety = error(1), error(3), error(90)
    assert three < one - 0.05 and three < ninety - 0.1


def test_more_rows_to_learn_from_make_a_better_score():
    """D-01: the measure improves with experience, on an easy task."""
    data = blobs(800, K=3, d=10, apart=1.5)
    plan = make_plan(data, ["QuadraticDiscriminantAnalysis"], holdout=0)
    split = plan.splits[0]
    found = [
        evaluate_fold(data, plan.learners[0], replace(split, train=split.train[:n]), plan).scores["log_loss"]
        for n in (40, 150, 640)
    ]
    assert found == sorted(found, reverse=True)
