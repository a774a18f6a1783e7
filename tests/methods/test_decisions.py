"""Loss matrices, rejection, thresholds, the best prediction under a loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.evaluation import counts_at
from scipy.stats import expon, gamma, norm, uniform
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_curve, roc_curve
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import check_estimator

from fivefold.decision.minimum_risk import (
    MinimumRiskClassifier,
    conditional_risks,
    decide,
    error_reject,
    likelihood_ratio_threshold,
)
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.evaluation.point_prediction import (
    AbsoluteLoss,
    MinkowskiLoss,
    PinballLoss,
    SquaredLoss,
    WeightedSample,
    ZeroOneLoss,
)
from fivefold.evaluation.thresholds import MEASURES, Costs, ThresholdClassifier, sweep_thresholds
from fivefold.naive_bayes import GaussianNB

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def posteriors():
    """True posteriors of three Gaussian classes on the line, with labels drawn from them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 4000)
    x = rng.normal(2.0 * y, 1.0)
    joint = norm.pdf(x[:, None], [0.0, 2.0, 4.0], 1.0)
    return y, joint / joint.sum(axis=1, keepdims=True)


class TestLossMatrix:
    def test_losses_of_zero_and_one_give_the_most_probable_class(self, posteriors):
        """C-68, C-69: and the risk of the choice is the error rate."""
        y, P = posteriors
        assert_array_equal(decide(P), P.argmax(axis=1))
        assert_allclose(conditional_risks(P), 1 - P, atol=1e-15)
        model = MinimumRiskClassifier(GaussianNB()).fit(*IRIS)
        assert_array_equal(model.predict(IRIS[0]), model.estimator_.predict(IRIS[0]))
        error = np.mean(decide(P) != y)
        assert abs(conditional_risks(P).min(axis=1).mean() - error) < 3 * np.sqrt(error * (1 - error) / len(y))

    def test_two_classes_are_parted_where_the_likelihood_ratio_says(self):
        """C-68: classes 1 and 2 with losses lambda_12 = 4, lambda_21 = 1 and priors 0.7, 0.3."""
        losses, priors = [[0.0, 4.0], [1.0, 0.0]], [0.7, 0.3]
        x = np.linspace(-4, 6, 2001)
        first, second = norm.pdf(x, 0), norm.pdf(x, 2)
        P = np.column_stack([first * priors[0], second * priors[1]])
        P /= P.sum(axis=1, keepdims=True)
        limit = likelihood_ratio_threshold(losses, priors)
        assert limit == pytest.approx(4 * 0.3 / 0.7)
        assert_array_equal(decide(P, losses) == 0, first / second > limit)
        with pytest.raises(ValueError, match="must cost more"):
            likelihood_ratio_threshold([[1, 0], [1, 0]], priors)

    def test_there_may_be_more_actions_than_classes(self):
        """C-68: a third action, to ask, costs little whatever is true."""
        losses = [[0.0, 10.0], [10.0, 0.0], [1.0, 1.0]]
        X, y = CANCER
        model = MinimumRiskClassifier(GaussianNB(), losses, actions=["cut", "leave", "ask"]).fit(X, y)
        P, answers = model.predict_proba(X), model.predict(X)
        assert_array_equal(answers == "ask", P.min(axis=1) > 0.1)
        assert_allclose(model.risks(X)[:, 2], 1.0)
        assert 0 < np.mean(answers == "ask") < 0.2

    def test_the_action_chosen_has_the_least_loss_of_all_on_average(self, posteriors):
        y, P = posteriors
        L = np.array([[0, 5, 9], [1, 0, 4], [2, 1, 0]], float)
        ours = L[decide(P, L), y].mean()
        assert ours < L[P.argmax(axis=1), y].mean()
        assert all(ours < L[a, y].mean() for a in range(3))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"losses": [[0, 1], [1, 0]]}, r"3 columns\); got shape \(2, 2\)"),
            ({"losses": np.ones((4, 3))}, "4 rows, but there are 3 classes; name every row"),
            ({"losses": np.ones((3, 3)), "actions": ["a"]}, "3 rows, but there are 1 actions"),
        ],
    )
    def test_a_matrix_that_does_not_fit_is_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            MinimumRiskClassifier(GaussianNB(), **options).fit(*IRIS).predict(IRIS[0])

    def test_it_passes_scikit_learns_checks(self):
        check_estimator(MinimumRiskClassifier(LogisticRegression()), on_skip=None)

    def test_weights_reach_the_classifier_inside_and_a_fitted_one_stays(self):
        X, y = IRIS
        w = np.random.default_rng(0).uniform(size=150)
        ours = MinimumRiskClassifier(GaussianNB()).fit(X, y, sample_weight=w)
        assert_array_equal(ours.predict_proba(X), GaussianNB().fit(X, y, sample_weight=w).predict_proba(X))
        fitted = GaussianNB().fit(X[::2], y[::2])
        frozen = MinimumRiskClassifier(FrozenEstimator(fitted)).fit(X[1::2], y[1::2])
        assert_array_equal(frozen.predict_proba(X), fitted.predict_proba(X))


class TestRejection:
    def test_no_threshold_below_one_over_k_rejects_and_one_rejects_all_but_the_certain(self, posteriors):
        """C-67: t on the largest posterior is the cost 1 - t."""
        _, P = posteriors
        uniform_row = np.full((1, 3), 1 / 3)
        for t in (0.1, 1 / 3):
            assert (decide(np.vstack([P, uniform_row]), reject=1 - t) >= 0).all()
        certain = np.vstack([P, [[1.0, 0.0, 0.0]]])
        assert_array_equal(np.flatnonzero(decide(certain, reject=0.0) >= 0), np.flatnonzero(certain.max(axis=1) == 1))
        t = 0.8
        assert_array_equal(decide(P, reject=1 - t) == -1, P.max(axis=1) < t)

    def test_with_a_loss_matrix_a_row_is_rejected_where_every_action_risks_more(self, posteriors):
        """C-67, Chow's rule."""
        _, P = posteriors
        L = np.array([[0, 5, 9], [1, 0, 4], [2, 1, 0]], float)
        assert_array_equal(decide(P, L, reject=0.4) == -1, conditional_risks(P, L).min(axis=1) > 0.4)

    def test_more_rejections_leave_fewer_errors_under_true_posteriors(self, posteriors):
        """C-67: within three standard errors of a share, over tenths of the rows."""
        y, P = posteriors
        found = error_reject(y, P, [0, 1, 2])
        assert (np.diff(found.rejected) > 0).all() and found.rejected[0] == 0
        assert found.error[0] == np.mean(P.argmax(axis=1) != y)
        at = [np.searchsorted(found.rejected, share) for share in np.arange(0, 0.9, 0.1)]
        error, left = found.error[at], len(y) * (1 - found.rejected[at])
        assert (np.diff(error) < 3 * np.sqrt(error[1:] * (1 - error[1:]) / left[1:])).all()
        assert found.area < 0.6 * found.error[0]
        for t in (0.5, 0.9):
            i = np.searchsorted(found.thresholds, t)
            kept = P.max(axis=1) >= t
            assert found.rejected[i] == pytest.approx(1 - kept.mean())
            assert found.error[i] == pytest.approx(np.mean(P[kept].argmax(axis=1) != y[kept]))

    def test_the_wrapper_says_nothing_where_it_rejects(self):
        X, y = IRIS
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        model = MinimumRiskClassifier(GaussianNB(), reject=0.05, reject_label="?").fit(X, names)
        answers, P = model.predict(X), model.predict_proba(X)
        assert_array_equal(answers == "?", P.max(axis=1) < 0.95)
        assert_array_equal(answers[answers != "?"], model.classes_[P.argmax(axis=1)][answers != "?"])
        assert MinimumRiskClassifier(GaussianNB(), reject=0.05).fit(X, y).predict(X[70:71]).tolist() == [None]


class TestThresholds:
    def test_the_sweep_counts_every_row_at_every_distinct_score(self):
        """A-31, A-33: ties move together; rates rise from (0, 0) to (1, 1) and agree with scikit-learn's curve."""
        rng = np.random.default_rng(0)
        y, scores = rng.integers(0, 2, 60), rng.integers(0, 12, 60) / 10
        found = sweep_thresholds(y, scores)
        counts = found.counts
        for i, t in enumerate(found.thresholds):
            assert (counts.tp[i], counts.fp[i], counts.fn[i], counts.tn[i]) == counts_at(y, scores, t)
        assert_array_equal(counts.tp + counts.fn, y.sum())
        assert_array_equal(found.thresholds[1:], np.unique(scores)[::-1])
        fpr, tpr, _ = roc_curve(y, scores, drop_intermediate=False)
        assert_allclose(counts.false_positive_rate, fpr)
        assert_allclose(counts.recall, tpr)
        for rate in (fpr, tpr):
            assert (np.diff(rate) >= 0).all() and rate[0] == 0 and rate[-1] == 1

    def test_weights_mean_repetition(self):
        rng = np.random.default_rng(0)
        y, scores, w = rng.integers(0, 2, 30), rng.random(30), rng.integers(0, 4, 30)
        weighted, repeated = (
            sweep_thresholds(y, scores, sample_weight=w),
            sweep_thresholds(np.repeat(y, w), np.repeat(scores, w)),
        )
        assert weighted.best("f1").value == pytest.approx(repeated.best("f1").value)
        assert weighted.best("f1").counts == repeated.best("f1").counts

    @pytest.mark.parametrize("measure", [*MEASURES, Costs(1, 3)], ids=str)
    def test_the_best_threshold_is_no_worse_than_one_half_on_the_same_rows(self, measure):
        """D-116."""
        X, y = CANCER
        p = cross_val_predict(GaussianNB(), X[:, :4], y, method="predict_proba")[:, 1]
        found = sweep_thresholds(y, p)
        best = found.best(measure)
        value = MEASURES.get(measure, measure)
        at_half = value(type(best.counts)(*counts_at(y, p, 0.5)))
        assert best.value >= at_half
        again = value(type(best.counts)(*counts_at(y, p, best.threshold)))  # between two scores counts are the same
        assert best.value == pytest.approx(float(again))

    def test_equal_costs_give_the_least_error_and_a_priceless_positive_is_never_missed(self):
        """A-32."""
        rng = np.random.default_rng(1)
        y = rng.integers(0, 2, 300)
        scores = y + rng.normal(size=300)
        found = sweep_thresholds(y, scores)
        errors = (found.counts.fp + found.counts.fn).min()
        assert -found.best(Costs(1, 1)).value == errors
        assert found.best("accuracy").value == pytest.approx(1 - errors / 300)
        assert found.best(Costs(1, 1e9)).counts.fn == 0
        assert found.best(Costs(1e9, 1)).counts.fp == 0
        assert Costs(1, 4).probability == 0.2

    def test_on_true_probabilities_the_best_cut_is_the_share_of_the_costs(self):
        """A-32: the expected cost is flat around its minimum, within 0.05 for 40,000 rows."""
        rng = np.random.default_rng(2)
        p = rng.random(40_000)
        y = rng.random(40_000) < p
        assert sweep_thresholds(y, p).best(Costs(1, 3)).threshold == pytest.approx(0.25, abs=0.05)

    def test_the_classifier_chooses_on_scores_of_unseen_rows(self):
        """D-116: and so its threshold does for new rows what a memoriser's own scores could not tell."""
        X, y = CANCER
        model = ThresholdClassifier(GaussianNB(), "f1", positive=0).fit(X, y)
        p = cross_val_predict(GaussianNB(), X, y, cv=5, method="predict_proba")[:, 0]
        assert model.threshold_ == sweep_thresholds(y, p, positive=0).best("f1")
        assert model.threshold_.value == pytest.approx(f1_score(y == 0, p >= model.threshold_.threshold))
        assert_array_equal(model.predict(X) == 0, model.predict_proba(X)[:, 0] >= model.threshold_.threshold)

    def test_decision_functions_and_names_of_classes_will_do(self):
        X, y = CANCER
        names = np.array(["bad", "good"])[y]
        by_name = ThresholdClassifier(
            LinearDiscriminantAnalysis(), Costs(1, 20), positive="bad", response="decision_function"
        )
        found = by_name.fit(X, names).predict(X)
        assert set(found) == {"bad", "good"}
        assert np.sum((found == "good") & (names == "bad")) < np.sum(
            (LinearDiscriminantAnalysis().fit(X, names).predict(X) == "good") & (names == "bad")
        )

    def test_a_fitted_classifier_is_cut_on_new_rows(self):
        X, y = CANCER
        fitted = GaussianNB().fit(X[::2], y[::2])
        model = ThresholdClassifier(FrozenEstimator(fitted)).fit(X[1::2], y[1::2])
        best = sweep_thresholds(y[1::2], fitted.predict_proba(X[1::2])[:, 1]).best("balanced_accuracy")
        assert model.threshold_ == best

    def test_it_passes_scikit_learns_checks_but_the_one_that_asks_for_one_half(self):
        """scikit-learn's own threshold classifiers fail that one too: it asks for the most probable class."""
        expected = {"check_classifiers_train": "the threshold is not one half"}
        check_estimator(ThresholdClassifier(GaussianNB(), cv=2), expected_failed_checks=expected, on_skip=None)

    @pytest.mark.parametrize(
        ("options", "data", "message"),
        [
            ({}, IRIS, "y holds 3 classes"),
            ({"measure": "gini"}, CANCER, "the measures are accuracy.*got 'gini'"),
            ({"positive": 7}, CANCER, r"positive must be one of \[0, 1\]; got 7"),
        ],
    )
    def test_what_it_cannot_cut_is_refused(self, options, data, message):
        with pytest.raises(ValueError, match=message):
            ThresholdClassifier(GaussianNB(), **options).fit(*data)

    def test_the_lowest_threshold_has_all_positives_and_the_base_rate(self):
        """D-117."""
        y, p = CANCER[1], cross_val_predict(GaussianNB(), *CANCER, method="predict_proba")[:, 1]
        found = sweep_thresholds(y, p).counts
        assert found.recall[-1] == 1 and found.precision[-1] == pytest.approx(y.mean())
        precision, recall, _ = precision_recall_curve(y, p)
        assert_allclose(precision[::-1][1:], found.precision[1:])
        assert_allclose(recall[::-1][1:], found.recall[1:])


class TestPredictors:
    @pytest.mark.parametrize("density", [norm(3, 2), expon(), gamma(2.5), uniform(1, 4)], ids=["n", "e", "g", "u"])
    def test_squared_loss_returns_the_mean_of_any_density(self, density):
        """C-124."""
        assert SquaredLoss().best(density) == pytest.approx(density.mean())
        assert MinkowskiLoss(2).best(density) == pytest.approx(density.mean(), rel=1e-6)  # quadrature
        assert AbsoluteLoss().best(density) == pytest.approx(density.median())
        assert PinballLoss(0.9).best(density) == pytest.approx(density.ppf(0.9))

    def test_zero_one_loss_returns_the_mode(self):
        """C-124: of gamma(a) it is a - 1."""
        assert ZeroOneLoss().best(gamma(2.5)) == pytest.approx(1.5, abs=1e-4)  # the tolerance of the search
        assert ZeroOneLoss().best(norm(3, 2)) == pytest.approx(3, abs=1e-4)

    @pytest.mark.parametrize("q", [1.2, 3.0, 6.0])
    def test_minkowski_losses_are_least_at_the_answer(self, q):
        """C-124."""
        best = MinkowskiLoss(q).best(expon())
        cost = [expon().expect(lambda y, t=t: np.abs(y - t) ** q) for t in (best - 0.02, best, best + 0.02)]
        assert cost[1] < min(cost[0], cost[2])

    def test_a_sample_stands_for_its_density(self):
        rng = np.random.default_rng(0)
        draws = WeightedSample(rng.normal(3, 1, 4000))
        for loss in (SquaredLoss(), AbsoluteLoss(), MinkowskiLoss(3)):
            assert loss.best(draws) == pytest.approx(
                3, abs=0.08
            )  # three standard errors of a median, 1.25 / sqrt(n) each
        # a kernel of width 0.19 knows the mode no better than where its density has fallen by its own error
        assert ZeroOneLoss().best(draws) == pytest.approx(3, abs=0.4)
        weighted, repeated = WeightedSample([1.0, 5.0, 9.0], [3, 1, 1]), WeightedSample([1.0, 1.0, 1.0, 5.0, 9.0])
        for loss in (SquaredLoss(), AbsoluteLoss(), PinballLoss(0.7), MinkowskiLoss(3)):
            assert loss.best(weighted) == pytest.approx(loss.best(repeated))
        with pytest.raises(ValueError, match="q must exceed 1"):
            MinkowskiLoss(1).best(draws)
