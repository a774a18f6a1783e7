"""Figures of judgement hold the data they claim to show; how they look is not tested."""

import io

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from fivefold import plot
from fivefold.cluster import KMeans
from fivefold.decision.minimum_risk import error_reject
from fivefold.evaluation.calibration import reliability
from fivefold.evaluation.curves import learning_curve, validation_curve
from fivefold.evaluation.experiments.bias_variance import ErrorDecomposition
from fivefold.evaluation.metrics import ConfusionCounts, DensityROC
from fivefold.naive_bayes import GaussianNB

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def judged():
    X, y = load_breast_cancer(return_X_y=True)
    return y, cross_val_predict(GaussianNB(), X, y, method="predict_proba")


def points(line):
    return np.asarray(line.get_xydata())


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_roc_curve_and_its_operating_point(judged):
    """A-34: the mark stands where the counts at the threshold say."""
    y, P = judged
    ax = plot.roc(y, P[:, 1], threshold=0.9, name="naive Bayes")
    _, curve, mark = ax.lines
    at = ConfusionCounts.from_labels(y, (P[:, 1] >= 0.9).astype(int))
    assert_allclose(points(mark)[0], [at.false_positive_rate, at.recall])
    assert (np.abs(points(curve) - points(mark)).sum(axis=1) < 1e-12).any()
    assert labels(ax)[0] == f"naive Bayes area {roc_auc_score(y, P[:, 1]):.3f}"


def test_precision_and_recall_are_steps_over_the_average_precision(judged):
    """D-117, D-118."""
    y, P = judged
    ax = plot.precision_recall(y, P[:, 0], positive=0, threshold=0.5)
    base, curve, mark = ax.lines
    assert_allclose(points(base)[:, 1], np.mean(y == 0))
    recall, precision = points(curve).T
    assert curve.get_drawstyle() == "steps-post"
    assert precision[:-1] @ -np.diff(recall) == pytest.approx(average_precision_score(y == 0, P[:, 0]))
    at = ConfusionCounts.from_labels(y, np.where(P[:, 0] >= 0.5, 0, 1), positive=0)
    assert_allclose(points(mark)[0], [at.recall, at.precision])


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 2.5])
def test_the_threshold_between_two_densities_moves_the_point_along_the_roc(threshold):
    """A-161."""
    left, right = plot.class_densities(DensityROC(norm(1), norm(-1)), threshold)
    assert_allclose(points(left.lines[2])[:, 0], threshold)
    x, density = points(left.lines[1]).T
    assert_allclose(density, norm.pdf(x, 1))
    assert_allclose(points(right.lines[2])[0], [norm.sf(threshold + 1), norm.sf(threshold - 1)])
    curve = points(right.lines[1])
    assert np.interp(norm.sf(threshold + 1), *curve.T) == pytest.approx(norm.sf(threshold - 1), abs=1e-3)


def test_every_cell_of_the_confusion_matrix_has_its_count_and_share():
    """D-344: rows are the true classes and sum to their sizes."""
    X, y = load_digits(return_X_y=True)
    predicted = cross_val_predict(GaussianNB(), X, y)
    ax = plot.confusion(y, predicted)
    counts = confusion_matrix(y, predicted)
    written = np.array([int(text.get_text().split("\n")[0]) for text in ax.texts]).reshape(10, 10)
    assert_array_equal(written, counts)
    assert_array_equal(written.sum(axis=1), np.bincount(y))
    assert_allclose(ax.images[0].get_array(), counts / counts.sum(axis=1, keepdims=True))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "true")
    assert ax.texts[0].get_text().endswith("%")


def test_names_of_classes_stand_at_the_confusion_matrix():
    iris = load_iris()
    names = iris.target_names[iris.target]
    ax = plot.confusion(names, names, labels=["virginica", "setosa", "versicolor"])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["virginica", "setosa", "versicolor"]


def test_the_reliability_diagram_has_a_mark_a_bin(judged):
    y, P = judged
    found = reliability(y, P[:, 1])
    ax = plot.reliability(found)
    assert_allclose(points(ax.lines[1]), np.column_stack([found.predicted, found.observed]))
    assert len(ax.patches) == len(found.counts)
    assert f"{found.expected_error:.3f}" in labels(ax)[0]


def test_the_error_reject_curve_starts_with_every_row(judged):
    y, P = judged
    found = error_reject(y, P, [0, 1])
    ax = plot.error_reject(found)
    assert_allclose(points(ax.lines[0]), np.column_stack([found.rejected, found.error]))
    assert points(ax.lines[0])[0].tolist() == [0.0, np.mean(P.argmax(axis=1) != y)]


def test_validation_and_learning_curves_show_both_losses():
    """D-345, A-25."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (80, 1))
    y = np.sin(X[:, 0]) + rng.normal(0, 0.3, 80)
    found = validation_curve(KNeighborsRegressor(), X, y, "n_neighbors", [1, 5, 20])
    ax = plot.curve(found, log=True)
    train, test, least = ax.lines
    assert_allclose(points(train), np.column_stack([found.values, found.train.mean(axis=1)]))
    assert_allclose(points(test), np.column_stack([found.values, found.mean]))
    assert points(least)[0, 0] == found.values[found.best] and ax.get_xscale() == "log"
    grown = learning_curve(KNeighborsRegressor(3), X, y, [10, 30, 60], random_state=0)
    ax = plot.curve(grown, best=False, loss="squared error")
    assert_allclose(points(ax.lines[1]), np.column_stack([grown.values, grown.mean]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("training rows", "squared error")


def test_a_knob_without_numbers_has_its_words_on_the_axis():
    X, y = load_iris(return_X_y=True)
    found = validation_curve(KNeighborsRegressor(), X, y, "weights", ["uniform", "distance"])
    ax = plot.curve(found)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["uniform", "distance"]


def test_bias_variance_and_their_sum_are_drawn():
    """C-108, E-347."""
    found = ErrorDecomposition(
        (1, 2, 3), *np.array([[4.0, 1, 0], [0, 1, 3]]), 0.5, np.array([4.4, 2.6, 3.5]), np.ones(3), 9
    )
    ax = plot.bias_variance(found, name="degree")
    bias, variance, total = ax.lines[:3]
    assert_allclose(points(bias)[:, 1] + points(variance)[:, 1] + 0.5, points(total)[:, 1])
    assert ax.get_xlabel() == "degree" and "measured" in labels(ax)


def test_residuals_lie_around_zero():
    ax = plot.residuals([1.0, 2.0, 4.0], [1.5, 2.0, 3.0])
    assert_allclose(ax.collections[0].get_offsets(), [[1.5, -0.5], [2.0, 0.0], [3.0, 1.0]])
    assert labels(ax) == ["RMSE 0.645"]


def test_clusters_are_drawn_with_their_centres():
    """A-160: four clusters."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.4, (25, 2)) for c in ([0, 0], [4, 0], [0, 4], [4, 4])])
    model = KMeans(4, random_state=0).fit(X)
    ax = plot.clusters(model, X)
    assert [len(c.get_offsets()) for c in ax.collections] == [25, 25, 25, 25]
    assert_allclose(np.vstack([points(line) for line in ax.lines]), model.cluster_centers_)


def test_figures_are_written_as_svg(judged):
    y, P = judged
    file = io.BytesIO()
    plot.roc(y, P[:, 1]).figure.savefig(file, format="svg")
    assert file.getvalue().lstrip().startswith(b"<?xml") and b"<svg" in file.getvalue()
