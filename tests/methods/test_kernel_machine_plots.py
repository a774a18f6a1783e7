"""Figures of kernel machines mark the rows they claim to mark."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from fivefold import plot
from fivefold.gaussian_process import GaussianProcessRegressor
from fivefold.kernels import RBF, WhiteKernel
from fivefold.svm import SVC, SVR, OneClassSVM

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def moons():
    return make_moons(80, noise=0.25, random_state=0)


@pytest.fixture
def wave():
    rng = np.random.RandomState(0)
    x = np.sort(rng.uniform(0, 6, 40))
    return x[:, None], np.sin(x) + 0.15 * rng.normal(size=40)


def marked(ax, name):
    """Places (m, 2) of the marks with that name in the legend."""
    return next(np.asarray(c.get_offsets()) for c in ax.collections if c.get_label() == name)


def rows_of(places, X):
    return sorted(int(np.flatnonzero((X == place).all(axis=1))[0]) for place in places)


def level_set(ax, level):
    """Points of the contour at a level."""
    found = next(c for c in ax.collections if getattr(c, "levels", None) is not None and list(c.levels) == [level])
    return np.concatenate([path.vertices for path in found.get_paths()])


def test_circles_are_free_support_vectors_and_squares_bound_ones(moons):
    """D-337, D-293, E-342, A-130: every support vector is marked once, and free ones lie on the margin."""
    X, y = moons
    model = SVC(C=2.0, tol=1e-6).fit(X, y)
    ax = plot.support_vectors(model, X, y)
    free, bound = rows_of(marked(ax, "on the margin"), X), rows_of(marked(ax, "inside it, or wrong"), X)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert free == np.flatnonzero((alpha > 0) & (alpha < 2.0 - 1e-9)).tolist()
    assert bound == np.flatnonzero(alpha >= 2.0 - 1e-9).tolist()
    assert_allclose(model.decision_function(level_set(ax, 0.0)), 0, atol=0.01)
    assert_allclose(np.abs(model.decision_function(X[free])), 1, atol=1e-5)


def test_points_outside_the_tube_are_bound(wave):
    """D-338, D-305, E-342: rows inside the tube have no mark."""
    X, y = wave
    model = SVR(epsilon=0.15, tol=1e-6).fit(X, y)
    ax = plot.epsilon_tube(model, X, y)
    errors = np.abs(y - model.predict(X))
    places = np.column_stack([X[:, 0], y])
    free, bound = rows_of(marked(ax, "on the border"), places), rows_of(marked(ax, "outside the tube"), places)
    assert sorted(free + bound) == model.support_.tolist()
    assert_allclose(errors[free], 0.15, atol=1e-5)
    assert (errors[bound] > 0.15).all()
    assert (np.delete(errors, model.support_) < 0.15 + 1e-5).all()


def test_the_surface_passes_through_its_free_support_vectors(moons):
    """D-339, E-342: the contour is where the decision is zero, and outliers are beyond it."""
    X = moons[0]
    model = OneClassSVM(nu=0.15, gamma=1.0, tol=1e-8).fit(X)
    ax = plot.enclosing_surface(model, X)
    assert_allclose(model.decision_function(level_set(ax, 0.0)), 0, atol=0.02)
    assert_allclose(model.decision_function(marked(ax, "on the surface")), 0, atol=1e-4)
    assert (model.decision_function(marked(ax, "outside")) < 0).all()


def test_a_gram_matrix_is_ordered_by_class_and_its_negative_eigenvalues_stand_out(moons):
    """D-346."""
    X, y = moons
    K = RBF(0.5)(X)
    left, right = plot.gram_matrix(K, y)
    order = np.argsort(y, kind="stable")
    assert_allclose(left.images[0].get_array(), K[np.ix_(order, order)])
    assert right.get_title(loc="left") == "no negative eigenvalue"
    values = np.linalg.eigvalsh(K)[::-1]
    assert_allclose(marked(right, "eigenvalues")[:, 1], values, atol=1e-10)
    indefinite = np.tanh(-X @ X.T)
    values = np.linalg.eigvalsh(indefinite)
    negative = values < -1e-10 * np.abs(values).max()
    assert len(marked(plot.gram_matrix(indefinite)[1], "negative")) == negative.sum() > 0


def test_a_process_is_drawn_with_its_band_and_the_evidence_is_highest_at_the_fit(wave):
    X, y = wave
    model = GaussianProcessRegressor(RBF() + WhiteKernel(), random_state=0).fit(X, y)
    ax = plot.process(model, X, y)
    mean = next(line for line in ax.lines if line.get_label() == "mean").get_xydata()
    assert_allclose(model.predict(mean[:, :1]), mean[:, 1])
    band = ax.collections[0].get_paths()[0].vertices
    expected, spread = model.predict(band[1:2, :1], return_std=True)
    assert_allclose(abs(band[1, 1] - expected[0]), 2 * spread[0])
    cross = plot.evidence(model).lines[-1].get_xydata()[0]
    assert_allclose(np.log(cross), model.kernel_.theta)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda X, y: plot.support_vectors(SVC().fit(X, y), X[:, :1], y), "two columns; X has shape"),
        (lambda X, y: plot.support_vectors(SVC().fit(X, y % 3), X, y % 3), "drawn for two classes; the machine has 3"),
        (lambda X, y: plot.epsilon_tube(SVR().fit(X, y), X, y), "along one column; X has shape"),
        (lambda X, y: plot.gram_matrix(X), "a Gram matrix is square; got shape"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(draw, words):
    X = np.random.RandomState(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=words):
        draw(X, np.arange(30))
