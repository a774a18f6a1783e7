"""The scores of a study agree with scikit-learn's, and say something where those do not."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn import metrics

from fivefold.evaluation.scores import SCORES, CachedPredictions

RNG = np.random.default_rng(0)


class Fixed:
    """A model that answers what it was told to."""

    def __init__(self, labels, proba=None, classes=None):
        self.labels, self.proba, self.classes_ = np.asarray(labels), proba, classes

    def predict(self, X):
        return self.labels

    def predict_proba(self, X):
        return self.proba


def classified(n, K, *, names=True, ties=False):
    """Labels, and a model with probabilities that say something about them; `ties` rounds them to tenths."""
    classes = np.array([f"class {k}" for k in range(K)]) if names else np.arange(K)
    y = RNG.permutation(np.arange(n) % K)
    P = RNG.dirichlet(np.ones(K), n) + 0.5 * np.eye(K)[y]
    P = np.round(P / P.sum(axis=1, keepdims=True), 1 if ties else 12)
    return classes[y], Fixed(classes[P.argmax(axis=1)], P, classes)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("K", [2, 3, 7])
def test_scores_of_classes_agree_with_scikit_learn(K, ties):
    y, model = classified(200, K, ties=ties)
    one_hot = np.array([y == label for label in model.classes_]).T
    rivals = {
        "accuracy": metrics.accuracy_score(y, model.labels),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, model.labels),
        "f1": metrics.f1_score(y, model.labels, average="macro"),
        "brier": np.square(model.proba - one_hot).sum(axis=1).mean(),
        "auc": np.mean([metrics.roc_auc_score(one_hot[:, k], model.proba[:, k]) for k in range(K)]),
    }
    for name, rival in rivals.items():
        assert SCORES[name].score_model(model, None, y) == pytest.approx(rival, rel=1e-12)  # rounding


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("n", [2, 3, 500])
def test_scores_of_numbers_agree_with_scikit_learn_and_scipy(n, scale):
    rng = np.random.default_rng(n)
    y = scale * (5 + rng.normal(size=n))
    predicted = y + scale * rng.normal(size=n)
    rivals = {
        "rmse": metrics.root_mean_squared_error(y, predicted),
        "mae": metrics.mean_absolute_error(y, predicted),
        "r2": metrics.r2_score(y, predicted),
        "correlation": pearsonr(y, predicted).statistic,
    }
    for name, rival in rivals.items():
        assert SCORES[name].score_model(Fixed(predicted), None, y) == pytest.approx(rival, rel=1e-12)  # rounding


def test_of_a_constant_target_a_right_prediction_explains_everything():
    y = np.full(3, 2.0)
    assert [SCORES["r2"].score_model(Fixed(y + gap), None, y) for gap in (0.0, 1.0)] == [1.0, 0.0]
    assert np.isnan(SCORES["r2"].score_model(Fixed(y[:1]), None, y[:1]))


def test_probabilities_that_are_not_numbers_have_no_area():
    y, model = classified(20, 2, names=False)
    model.proba[3] = np.nan
    assert np.isnan(SCORES["auc"].score_model(model, None, y))


def test_a_class_that_is_predicted_but_not_there_counts_in_f1_as_in_scikit_learn():
    y, predicted = np.array(["a", "a", "b"]), np.array(["a", "c", "b"])
    assert SCORES["f1"].score_model(Fixed(predicted), None, y) == pytest.approx(
        metrics.f1_score(y, predicted, average="macro")
    )
    assert SCORES["balanced_accuracy"].score_model(Fixed(predicted), None, y) == pytest.approx(0.75)  # a: 1/2, b: 1


def test_with_two_classes_the_area_is_that_of_the_second_class():
    y, model = classified(100, 2, names=False)
    assert SCORES["auc"].score_model(model, None, y) == pytest.approx(
        metrics.roc_auc_score(y, model.proba[:, 1]), rel=1e-12
    )


def test_rows_of_one_class_cannot_be_ranked():
    assert (
        SCORES["auc"].score_model(
            Fixed(["a"] * 3, np.full((3, 2), 0.5), np.array(["a", "b"])), None, np.array(["a"] * 3)
        )
        == 0.5
    )


def test_scores_of_numbers_agree_with_scikit_learn_and_numpy():
    y = RNG.normal(size=50)
    model = Fixed(y + RNG.normal(size=50))
    rivals = {
        "rmse": metrics.root_mean_squared_error(y, model.labels),
        "mae": metrics.mean_absolute_error(y, model.labels),
        "r2": metrics.r2_score(y, model.labels),
        "correlation": np.corrcoef(y, model.labels)[0, 1],
    }
    for name, rival in rivals.items():
        assert SCORES[name].score_model(model, None, y) == pytest.approx(rival, rel=1e-12)


def test_a_constant_prediction_has_no_correlation():
    assert SCORES["correlation"].score_model(Fixed([1.0, 1.0, 1.0]), None, np.array([1.0, 2.0, 3.0])) == 0.0


def test_a_class_that_training_never_saw_has_probability_zero():
    answers = CachedPredictions(Fixed(None, np.array([[0.3, 0.7]]), np.array(["b", "d"])), None)
    assert answers.proba_for(np.array(["a", "b", "c", "d", "e"])).tolist() == [[0.0, 0.3, 0.0, 0.7, 0.0]]


def test_every_question_is_put_to_the_model_once():
    class Counting(Fixed):
        asked = 0

        def predict(self, X):
            self.asked += 1
            return self.labels

    model = Counting(["a", "b"])
    answers = CachedPredictions(model, None)
    for name in ("accuracy", "f1", "balanced_accuracy"):
        SCORES[name].function(answers, np.array(["a", "b"]))
    assert model.asked == 1
