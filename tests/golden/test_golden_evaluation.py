"""Printed numbers of measures, curves, decisions and generated data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, rv_histogram
from sklearn.datasets import load_iris
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import (
    accuracy_score,
    auc,
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    fbeta_score,
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
    root_mean_squared_error,
    zero_one_loss,
)
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.class_weight import compute_class_weight
from tables import build

from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import methods
from fivefold.datasets import course_datasets, disc, mixture_1d
from fivefold.datasets.tiny_tables import tiny_tables
from fivefold.decision.minimum_risk import conditional_risks
from fivefold.evaluation import monte_carlo_risk
from fivefold.evaluation.metrics import ConfusionCounts, DensityROC, misclassification_rate, pearson_correlation
from fivefold.evaluation.point_prediction import AbsoluteLoss, SquaredLoss, WeightedSample
from fivefold.evaluation.row_losses import absolute_row_loss, squared_row_loss, zero_one_row_loss

# A table with TP 8, FN 2, FP 10, TN 80.
Y = np.repeat([1, 1, 0, 0], [8, 2, 10, 80])
PREDICTED = np.repeat([1, 0, 1, 0], [8, 2, 10, 80])
COUNTS = ConfusionCounts(tp=8, fp=10, fn=2, tn=80)

# Three classes: rows true, columns predicted.
TABLE = np.array([[5, 1, 0], [2, 6, 2], [0, 1, 8]])
TRUE = np.repeat(np.repeat(np.arange(3), 3), TABLE.ravel())
GUESS = np.repeat(np.tile(np.arange(3), 3), TABLE.ravel())

SCORES, POSITIVE = np.array([0.9, 0.8, 0.4, 0.7, 0.3, 0.2]), np.array([1, 1, 1, 0, 0, 0])


class TestTwoClasses:
    def test_the_confusion_matrix_holds_the_counts(self):
        """A-31, D-109: rows true, columns predicted; they sum to n, and TP + FN is the number of positives."""
        assert_array_equal(confusion_matrix(Y, PREDICTED), [[80, 10], [2, 8]])
        assert ConfusionCounts.from_labels(Y, PREDICTED) == COUNTS
        assert ConfusionCounts.from_labels(Y, PREDICTED, positive=0) == ConfusionCounts(tp=80, fp=2, fn=10, tn=8)
        assert COUNTS.tp + COUNTS.fn == 10
        assert float(COUNTS.false_positive_rate) == pytest.approx(10 / 90)

    def test_rates_are_those_of_the_roc_at_the_same_threshold(self):
        """A-31: TP rate, FP rate and FN rate; whichever class is named positive."""
        rng = np.random.default_rng(0)
        y, scores = rng.integers(2, size=60), rng.normal(size=60).round(1)
        fpr, tpr, thresholds = roc_curve(y, scores, drop_intermediate=False)
        for x, t, cut in zip(fpr[1:], tpr[1:], thresholds[1:], strict=True):
            counts = ConfusionCounts.from_labels(y, (scores >= cut).astype(int), positive=1)
            assert (float(counts.false_positive_rate), float(counts.true_positive_rate)) == pytest.approx((x, t))
            assert float(counts.false_negative_rate) == pytest.approx(1 - t)
            assert counts.tp + counts.fn == y.sum()
            turned = ConfusionCounts.from_labels(y, (scores >= cut).astype(int), positive=0)
            assert (turned.tp, turned.fp, turned.fn, turned.tn) == (counts.tn, counts.fn, counts.fp, counts.tp)
        spam = ConfusionCounts.from_labels([-1, -1, 1], [-1, 1, 1], positive=-1)
        assert (spam.tp, spam.fn, spam.fp, spam.tn) == (1, 1, 0, 1)

    def test_accuracy_is_the_complement_of_the_mean_loss(self):
        """A-26, C-69, D-108, D-110: 0.88."""
        assert accuracy_score(Y, PREDICTED) == float(COUNTS.accuracy) == 0.88
        assert zero_one_loss(Y, PREDICTED) == pytest.approx(1 - 0.88)
        assert (
            zero_one_row_loss(None, Y, PREDICTED).mean() == monte_carlo_risk.zero_one_loss(Y, PREDICTED).mean() == 0.12
        )

    def test_rebalanced_accuracy_is_the_mean_of_recall_and_specificity(self):
        """D-111: 0.844444; the predictor of no positive has 0.5; the weight N/P is that of balanced class weights."""
        assert float(COUNTS.rebalanced_accuracy) == pytest.approx(0.844444, abs=5e-7)
        assert float(COUNTS.rebalanced_accuracy) == pytest.approx(balanced_accuracy_score(Y, PREDICTED))
        assert float(COUNTS.rebalanced_accuracy) == pytest.approx(float(COUNTS.recall + COUNTS.specificity) / 2)
        assert float(ConfusionCounts.from_labels(Y, np.zeros(100)).rebalanced_accuracy) == 0.5
        weights = compute_class_weight("balanced", classes=np.array([0, 1]), y=Y)
        assert weights[1] / weights[0] == pytest.approx(90 / 10)

    def test_precision(self):
        """B-44, D-112: 0.444444; where nothing is detected it is 0, or what the user says."""
        assert precision_score(Y, PREDICTED) == pytest.approx(0.444444, abs=5e-7)
        assert float(COUNTS.precision) == precision_score(Y, PREDICTED)
        assert float(ConfusionCounts.from_labels(Y, np.zeros(100)).precision) == 0
        assert np.isnan(precision_score(Y, np.zeros(100), zero_division=np.nan))
        with pytest.warns(UndefinedMetricWarning):
            assert precision_score(Y, np.zeros(100)) == 0

    def test_recall(self):
        """D-113: 0.8; who calls all positive has 1."""
        assert recall_score(Y, PREDICTED) == float(COUNTS.recall) == 0.8
        assert recall_score(Y, np.ones(100)) == 1

    def test_a_rare_event_is_seen_by_recall_and_not_by_the_error(self):
        """B-44: one positive in a hundred and the constant -1."""
        y = np.where(np.arange(1000) % 100 == 0, 1, -1)
        constant = np.full(1000, -1)
        assert zero_one_loss(y, constant) == pytest.approx(0.01)
        assert recall_score(y, constant) == float(ConfusionCounts.from_labels(y, constant).recall) == 0

    def test_f_measures(self):
        """D-114, D-115: F1 = 0.571429 and F2 = 0.689655; a small beta is precision, a large one recall."""
        assert f1_score(Y, PREDICTED) == pytest.approx(0.571429, abs=5e-7)
        assert fbeta_score(Y, PREDICTED, beta=2) == pytest.approx(0.689655, abs=5e-7)
        assert float(COUNTS.f_score(1)) == pytest.approx(2 * 8 / (2 * 8 + 10 + 2))
        assert float(COUNTS.f_score(2)) == pytest.approx(fbeta_score(Y, PREDICTED, beta=2))
        assert float(COUNTS.f_score(1e-4)) == pytest.approx(float(COUNTS.precision), rel=1e-6)
        assert float(COUNTS.f_score(1e4)) == pytest.approx(float(COUNTS.recall), rel=1e-6)

    def test_any_two_labels_become_minus_one_and_one_and_back(self):
        """D-05."""
        for labels in (["spam", "ham"], [0, 1], [7.0, -2.0], [True, False]):
            y = np.array(labels)[np.random.default_rng(0).integers(0, 2, 50)]
            coder = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
            assert set(coder.transform(y).ravel()) == {-1, 1}
            assert_array_equal(coder.inverse_transform(coder.transform(y)), y)


class TestSeveralClasses:
    def test_the_confusion_matrix_and_its_errors(self):
        """D-119: the false positives and the false negatives of all classes are the errors."""
        n = confusion_matrix(TRUE, GUESS)
        assert_array_equal(n, TABLE)
        hits = np.diag(n)
        assert (n.sum(axis=0) - hits).sum() == (n.sum(axis=1) - hits).sum() == 6

    def test_precision_and_recall_of_each(self):
        """D-120."""
        precision, recall, f1, support = precision_recall_fscore_support(TRUE, GUESS)
        assert_allclose(precision, [0.714286, 0.75, 0.8], atol=5e-7)
        assert_allclose(recall, [0.833333, 0.6, 0.888889], atol=5e-7)
        assert_allclose(f1, 2 * precision * recall / (precision + recall))
        assert support.tolist() == [6, 10, 9]
        for k in range(3):
            one = ConfusionCounts.from_labels(TRUE, GUESS, positive=k)
            assert (float(one.precision), float(one.recall)) == pytest.approx((precision[k], recall[k]))

    def test_accuracy(self):
        """D-121: 19/25."""
        assert accuracy_score(TRUE, GUESS) == 0.76

    @pytest.mark.parametrize(
        "method", [m for m in methods() if issubclass(m.cls, Classifier)], ids=lambda method: method.name
    )
    def test_every_classifier_answers_with_a_training_label(self, method):
        """D-06."""
        table = tiny_tables(method)[0]
        labels = np.array(["one", "two", "three"])[table.y]
        assert set(build((method, method.card.given)).fit(table.X, labels).predict(table.X)) <= set(labels)


class TestRegression:
    def test_the_root_of_the_mean_square(self):
        """D-122: zero for the truth, the standard deviation for the mean."""
        y = np.random.default_rng(0).normal(size=50)
        assert root_mean_squared_error(y, y) == 0
        assert root_mean_squared_error(y, np.full(50, y.mean())) == pytest.approx(y.std())
        assert root_mean_squared_error(y, y + 1e-3) > 0

    def test_squared_loss_is_least_at_the_mean_and_absolute_loss_at_the_median(self):
        """A-27, A-28: of 1, 2, 3, 4, 100 these are 22 and 3."""
        x = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
        grid = np.arange(0, 101, 0.5)
        for loss, mean, best, rule in (
            (squared_row_loss, mean_squared_error, 22, SquaredLoss()),
            (absolute_row_loss, mean_absolute_error, 3, AbsoluteLoss()),
        ):
            values = [loss(None, x, np.full(5, a)).mean() for a in grid]
            assert_allclose(values, [mean(x, np.full(5, a)) for a in grid], rtol=1e-15)
            assert grid[np.argmin(values)] == best == rule.best(WeightedSample(x))

    def test_correlation_ignores_positive_affine_changes_and_constants_have_none(self):
        """D-123."""
        rng = np.random.default_rng(0)
        y, f = rng.normal(size=40), rng.normal(size=40)
        r = pearson_correlation(y, f)
        assert r == pytest.approx(np.corrcoef(y, f)[0, 1])
        assert pearson_correlation(y, 3 * f + 7) == pytest.approx(r)
        assert pearson_correlation(y, -f) == pytest.approx(-r)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isnan(pearson_correlation(y, np.full(40, 0.1)))
            assert np.isnan(pearson_correlation(y, 1e8 + 1e-7 * f))  # rounding is no spread

    @pytest.mark.parametrize(
        "method", [m for m in methods() if issubclass(m.cls, Regressor)], ids=lambda method: method.name
    )
    def test_every_regressor_has_an_error_and_a_correlation(self, method):
        """D-08."""
        table = tiny_tables(method)[0]
        predicted = build((method, method.card.given)).fit(table.X, table.y).predict(table.X)
        assert np.isfinite(root_mean_squared_error(table.y, predicted))
        predicted = predicted.ravel()
        r = pearson_correlation(table.y.ravel(), predicted)
        assert np.isnan(r) if np.ptp(predicted) == 0 else -1 <= r <= 1


class TestCurves:
    def test_the_roc_of_six_scores(self):
        """A-34, A-35: its points, and the area 8/9."""
        fpr, tpr, _ = roc_curve(POSITIVE, SCORES, drop_intermediate=False)
        thirds = np.array([[0, 0], [0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 3]]) / 3
        assert_allclose(np.column_stack([fpr, tpr]), thirds)
        assert auc(fpr, tpr) == pytest.approx(8 / 9)
        assert roc_auc_score(POSITIVE, -SCORES) == pytest.approx(1 / 9)

    def test_ties_are_one_step(self):
        """A-34, A-35: the area counts a tie as one half."""
        fpr, tpr, _ = roc_curve([1, 0, 1, 0], [0.5, 0.5, 0.9, 0.1], drop_intermediate=False)
        assert_allclose(np.column_stack([fpr, tpr]), [[0, 0], [0, 0.5], [0.5, 1], [1, 1]])
        assert auc(fpr, tpr) == 1 - 0.5 / 4

    def test_the_roc_of_two_gaussians(self):
        """A-34, A-35: N(+-1, 1) has the area Phi(sqrt 2) = 0.921350."""
        known = DensityROC(norm(1), norm(-1))
        assert known.area == pytest.approx(0.921350, abs=5e-7)
        fpr, tpr, t = known.curve()
        assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
        assert (np.diff(fpr) >= 0).all() and (np.diff(tpr) >= 0).all()
        assert_allclose(tpr, norm.sf(t - 1))
        assert np.trapezoid(tpr, fpr) == pytest.approx(known.area, abs=1e-3)  # a trapezoid rule on 400 points
        rng = np.random.default_rng(0)
        plus, minus = rng.normal(1, 1, 3000), rng.normal(-1, 1, 3000)
        histograms = DensityROC(*(rv_histogram(np.histogram(v, 60)) for v in (plus, minus)))
        assert histograms.area == pytest.approx(roc_auc_score(np.repeat([1, 0], 3000), [*plus, *minus]), abs=5e-3)

    def test_equal_densities_and_random_scores_have_one_half(self):
        """A-35: for 5,000 rows the standard error is 1 / sqrt(12 * 2500) * sqrt 2 = 0.008."""
        rng = np.random.default_rng(0)
        assert DensityROC(norm(), norm()).area == pytest.approx(0.5)
        assert abs(roc_auc_score(rng.integers(0, 2, 5000), rng.random(5000)) - 0.5) < 0.025

    def test_the_area_under_precision_and_recall(self):
        """D-118: 1 for a perfect ranking, the base rate for random scores; steps, not trapezoids."""
        assert average_precision_score(POSITIVE, POSITIVE) == 1
        rng = np.random.default_rng(0)
        y = rng.random(20_000) < 0.1
        assert average_precision_score(y, rng.random(20_000)) == pytest.approx(y.mean(), abs=0.01)
        # steps by hand: recall rises by a third at ranks 1, 2 and 4, with precision 1, 1 and 3/4
        assert average_precision_score(POSITIVE, SCORES) == pytest.approx((1 + 1 + 3 / 4) / 3)


class TestMisclassification:
    @pytest.mark.parametrize("d", [0.5, 1.0, 2.0, 5.0])
    def test_two_gaussians_at_distance_d_are_confused_with_probability_phi(self, d):
        """C-66: Phi(-d/2)."""
        assert misclassification_rate([norm(0), norm(d)], [0.5, 0.5]) == pytest.approx(norm.cdf(-d / 2), abs=1e-10)

    def test_a_threshold_away_from_the_best_costs_both_tails(self):
        """C-66: the two integrals of the text; Monte Carlo agrees."""
        pi, t = (0.7, 0.3), 0.4
        exact = pi[0] * norm.sf(t) + pi[1] * norm.cdf(t - 2)
        found = misclassification_rate([norm(0), norm(2)], pi, lambda x: (x > t).astype(int))
        assert found == pytest.approx(exact, abs=1e-10)
        assert found > misclassification_rate([norm(0), norm(2)], pi)

        class Rule:
            def predict(self, x):
                return (x > t).astype(int)

        def source(n, rng):
            y = (rng.random(n) < pi[1]).astype(int)
            return rng.normal(2.0 * y), y

        drawn = monte_carlo_risk.expected_loss(Rule(), source, 100_000, np.random.default_rng(0))
        assert abs(drawn.mean - exact) < 3 * drawn.error

    def test_a_class_may_have_two_regions(self):
        """C-66: N(0, 1) inside N(0, 3^2); the boundaries are +-sqrt(2 ln 3 / (1 - 1/9))."""
        b = np.sqrt(2 * np.log(3) / (1 - 1 / 9))
        exact = 0.5 * 2 * norm.sf(b) + 0.5 * (norm.cdf(b / 3) - norm.cdf(-b / 3))
        assert misclassification_rate([norm(0), norm(0, 3)], [0.5, 0.5]) == pytest.approx(exact, abs=1e-10)

    def test_it_is_the_mean_of_the_least_conditional_risk(self):
        x = np.linspace(-9, 11, 20_001)
        joint = np.column_stack([0.6 * norm.pdf(x, 0), 0.4 * norm.pdf(x, 2)])
        P = joint / joint.sum(axis=1, keepdims=True)
        integral = np.trapezoid(conditional_risks(P).min(axis=1) * joint.sum(axis=1), x)
        assert misclassification_rate([norm(0), norm(2)], [0.6, 0.4]) == pytest.approx(integral, abs=1e-6)  # step 1e-3

    def test_priors_that_are_none_are_refused(self):
        with pytest.raises(ValueError, match="2 densities need as many priors that add up to 1"):
            misclassification_rate([norm(0), norm(1)], [0.5, 0.6])


class TestGenerators:
    def test_the_mixture_on_the_line(self):
        """C-218: 10,000 points, mean 17.280899, standard deviation 14.854019."""
        x, k = course_datasets().mixture_1d
        assert x.shape == k.shape == (10_000,)
        assert (x.mean(), x.std()) == pytest.approx((17.280899, 14.854019), abs=5e-7)
        other, _ = mixture_1d(50_000, means=(0.0, 100.0), stds=(1.0, 1.0), weights=(0.9, 0.1), random_state=0)
        assert abs((other > 50).mean() - 0.1) < 3 * np.sqrt(0.09 / 50_000)

    def test_the_mixture_in_the_plane(self):
        """C-219: counts 244, 272, 484 and mean (2.290527, 0.213686)."""
        X, k = course_datasets().mixture_2d
        assert np.bincount(k).tolist() == [244, 272, 484]
        assert_allclose(X.mean(axis=0), [2.290527, 0.213686], atol=5e-7)

    def test_the_separable_classes(self):
        """C-220."""
        X, y = course_datasets().separable
        assert (np.sum(y == -1), np.sum(y == 1)) == (125, 125)
        assert_allclose(X[y == -1].mean(axis=0), [1.104238, 0.888254], atol=5e-7)
        assert_allclose(X[y == 1].mean(axis=0), [5.039166, 5.950180], atol=5e-7)
        direction, offset = np.array([0.180905, 0.221501]), -1.313044  # least squares of the same source: no error
        assert ((X @ direction + offset > 0) == (y == 1)).all()

    def test_the_disc(self):
        """C-221: 208 of 500 inside; 1 - exp(-1.5625^2 / 4) = 0.456840 expected."""
        X, y = course_datasets().disc
        assert np.sum(y == -1) == 208
        assert_array_equal(y == -1, np.linalg.norm(X - 3, axis=1) <= 1.5625)
        many = disc(100_000, random_state=0)[1]
        assert abs((many == -1).mean() - 0.456840) < 3 * np.sqrt(0.25 / 100_000)

    def test_the_noisy_curve(self):
        """C-222: the twenty points of figure 9.1."""
        X, y = course_datasets().noisy_curve
        # fmt: off
        assert_array_equal(X[:, 0].round(4), [
            3.6357, 5.8628, 5.5724, 2.2482, 4.0229, -1.7376, 1.5056, 6.1467, -0.4912, 3.4598,
            5.2399, 2.9257, -3.2775, -3.4167, 5.1069, 2.6896, -2.3058, 3.2721, -3.6341, -1.1819,
        ])
        assert_array_equal(y.round(4), [
            -1.2384, -0.8361, -0.5947, 1.1716, -1.6080, -0.5060, 0.8107, 1.0720, -0.7641, -0.0564,
            -0.5536, 0.3338, 0.8194, -0.8782, -1.5367, 0.4024, 1.5595, -0.7014, -1.3592, 0.6135,
        ])
        # fmt: on
        for degree, variance in ((4, 0.614687), (7, 0.232584)):  # noise variance of least squares, 1/beta
            w = np.polynomial.Polynomial.fit(X[:, 0], y, degree)
            assert np.mean((y - w(X[:, 0])) ** 2) == pytest.approx(variance, abs=5e-7)

    def test_iris_has_fifty_of_each_species(self):
        """C-223."""
        iris = load_iris()
        assert iris.data.shape == (150, 4)
        assert np.bincount(iris.target).tolist() == [50, 50, 50]
        assert list(iris.target_names) == ["setosa", "versicolor", "virginica"]
