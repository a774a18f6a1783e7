"""K-means and its relatives on numbers that were worked out by hand."""

import numpy as np
import pytest
from oracles import kmeans as oracle

from fivefold.cluster import KMeans, KMedians
from fivefold.spatial.centres.lloyd import lloyd

LINE = np.array([[0.0], [1.0], [9.0], [10.0]])
START = np.array([[0.0], [1.0]])


def test_four_points_on_a_line():
    """A-68: 0, 1, 9, 10 from 0 and 1: centres (0, 6.6667), then (0.5, 9.5); stop at the third assignment."""
    first = KMeans(2, init=START, max_iter=1, tol=0.0, random_state=0).fit(LINE)
    np.testing.assert_allclose(first.cluster_centers_.ravel(), [0, 20 / 3])
    model = KMeans(2, init=START, tol=0.0, random_state=0).fit(LINE)
    np.testing.assert_allclose(model.cluster_centers_.ravel(), [0.5, 9.5])
    assert model.n_iter_ == 3
    assert model.inertia_ == pytest.approx(1.0, abs=1e-12)
    assert model.cost_ == pytest.approx(2.0, abs=1e-12)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])


def test_reconstruction_error_of_the_same_four_points():
    """E-211: E = 1/2 sum |x - m|^2 is 73/3 after the first step, 1/2 after the second, and never rises."""
    E = 0.5 * np.array(lloyd(LINE, np.ones(4), START, 0.0, 10).history)
    np.testing.assert_allclose(E, [73 / 3, 0.5])


def test_the_objective_falls_strictly_until_the_labels_stand():
    """B-157, C-102: from every pair of seven points; and the best of these runs is the best there is."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [6.0, 5.0], [7.0, 5.0], [6.0, 6.5], [2.0, 3.0]])
    ends = []
    for i in range(7):
        for j in range(i):
            run = lloyd(X, np.ones(7), X[[i, j]], 0.0, 100)
            assert run.reason == "converged" and (np.diff(run.history) < 0).all()
            ends.append(run.inertia)
    assert min(ends) == pytest.approx(oracle.best_partition(X, 2))
    assert KMeans(2, init="random", n_init=20, random_state=0).fit(X).inertia_ == pytest.approx(min(ends))


def test_k_means_is_hard_expectation_maximisation_with_unit_covariances():
    """B-157: equal shares and identity covariances, responsibilities rounded to 0 or 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 4 * rng.integers(3, size=(60, 1))
    mu = X[:3].copy()
    for _ in range(30):
        log_joint = np.log(1 / 3) - 0.5 * ((X[:, None] - mu) ** 2).sum(axis=2) - np.log(2 * np.pi)
        R = np.eye(3)[log_joint.argmax(axis=1)]
        mu = (R.T @ X) / R.sum(axis=0)[:, None]
    model = KMeans(3, init=X[:3], tol=0.0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, R.argmax(axis=1))
    np.testing.assert_allclose(model.cluster_centers_, mu, rtol=1e-12)


@pytest.mark.parametrize(
    ("X", "median", "total"),
    [
        # Fermat's point: the centre of an equilateral triangle, at 1/sqrt(3) from each corner
        ([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]], [0.5, np.sqrt(0.75) / 3], np.sqrt(3)),
        # an angle above 120 degrees: its corner
        ([[0.0, 0.0], [2.0, 0.1], [-2.0, 0.1]], [0.0, 0.0], 2 * np.hypot(2, 0.1)),
        # four corners of a square and its middle: the middle
        ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]], [0.5, 0.5], 4 * np.sqrt(0.5)),
        # on a line: the middle value, however far the last
        ([[0.0], [1.0], [2.0], [3.0], [1e6]], [2.0], 1e6 + 2.0),
    ],
)
def test_geometric_medians_known_in_closed_form(X, median, total):
    """A-70."""
    model = KMedians(1, tol=0.0, random_state=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_[0], median, atol=1e-5)
    assert model.cost_ == pytest.approx(total, rel=1e-10)


def test_un_squared_cost_of_k_medians_on_the_four_points():
    """A-70: any points between 0 and 1 and between 9 and 10 give 2, and no centres give less."""
    model = KMedians(2, init=START, random_state=0).fit(LINE)
    assert model.cost_ == pytest.approx(2.0, abs=1e-12)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
