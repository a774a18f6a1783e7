"""Separability and the geometry of hyperplanes: truth tables, the course's data, distances by hand."""

from itertools import product

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.linear_svc import lies_apart
from scipy.optimize import linprog
from sklearn.datasets import make_blobs

from fivefold import plot
from fivefold.datasets import course_datasets
from fivefold.linear_model.geometry.hyperplane import Hyperplane, functional_margins
from fivefold.linear_model.geometry.separability import separability, separate_sets
from fivefold.multiclass import OneVsOneClassifier, OneVsRestClassifier
from fivefold.svm import LinearSVC

matplotlib.use("Agg")
import matplotlib.pyplot as plt

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR = np.array([False, True, True, False])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def proved(A, B):
    """The answer, after its proof was checked."""
    found = separate_sets(A, B)
    if found:
        assert (found.plane.value(A) >= 1 - 1e-6).all() and (found.plane.value(B) <= -1 + 1e-6).all()
    else:
        for weights, rows in ((found.first, A), (found.second, B)):
            assert (weights >= -1e-12).all()
            assert_allclose(weights.sum(), 1)
            assert_allclose(weights @ rows, found.point, atol=1e-6 * (1 + np.abs(rows).max()))
    return bool(found)


def test_and_and_or_are_separable_and_exclusive_or_is_not():
    """E-118, C-148."""
    for truth in (CORNERS.all(axis=1), CORNERS.any(axis=1)):
        assert proved(CORNERS[truth], CORNERS[~truth])
    assert not proved(CORNERS[XOR], CORNERS[~XOR])
    assert_allclose(separate_sets(CORNERS[XOR], CORNERS[~XOR]).point, [0.5, 0.5])


def test_fourteen_of_the_sixteen_functions_of_two_inputs_are_separable():
    """E-118 by enumeration; a constant function is separable."""
    found = 0
    for truth in product([False, True], repeat=4):
        truth = np.array(truth)
        found += 1 if truth.all() or not truth.any() else proved(CORNERS[truth], CORNERS[~truth])
    assert found == 14


def test_the_four_inequalities_of_exclusive_or_have_no_solution():
    """E-157: w0 <= 0, w2 + w0 > 0, w1 + w0 > 0, w1 + w2 + w0 <= 0, with > 0 as >= 1 since w may be scaled."""
    A = np.array([[0, 0, 1], [0, -1, -1], [-1, 0, -1], [1, 1, 1.0]])
    assert linprog(np.zeros(3), A_ub=A, b_ub=[0, -1, -1, 0], bounds=(None, None)).status == 2
    # the certificate: with weights one the sum of the four is 0 <= -2
    assert_array_equal(A.sum(axis=0), 0)
    assert sum([0, -1, -1, 0]) < 0
    answer = separate_sets(CORNERS[XOR], CORNERS[~XOR])
    assert not answer
    assert_allclose(answer.point, [0.5, 0.5], atol=1e-12)  # of both hulls


def test_the_courses_classes_are_separable_and_its_disc_is_not():
    """C-148: data of C.1-14 and C.1-15."""
    data = course_datasets()
    X, y = data.separable
    assert proved(X[y == y.max()], X[y != y.max()])
    X, y = data.disc
    assert not proved(X[y == y.max()], X[y != y.max()])


def test_a_feature_makes_them_separable():
    """C-155: the product for exclusive or, the squared radius for the disc."""
    Z = np.column_stack([CORNERS, CORNERS.prod(axis=1)])
    assert proved(Z[XOR], Z[~XOR])
    assert (LinearSVC(C=1000, random_state=0).fit(Z, XOR).predict(Z) == XOR).all()
    X, y = course_datasets().disc
    inside = y == y.max()
    Z = np.column_stack([X, X**2])  # (x - c)^2 is linear in x and x^2, wherever the centre is
    assert proved(Z[inside], Z[~inside])


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_that_of_a_feasibility_program(seed):
    rng = np.random.RandomState(seed)
    d = rng.randint(1, 4)
    A, B = rng.normal(size=(6, d)), rng.normal(size=(5, d)) + rng.uniform(0, 3)
    scale = 10.0 ** rng.uniform(-6, 6, size=d)
    assert proved(A * scale, B * scale) == lies_apart(A, B)


def test_classes_in_a_line_are_separable_in_pairs_only():
    """E-118 for each class against the rest and each pair."""
    found = separability([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "c"])
    assert found.pairwise and not found.one_vs_rest
    assert [label for label, answer in found.rest.items() if answer] == ["a", "c"]
    assert set(found.pairs) == {("a", "b"), ("a", "c"), ("b", "c")}


PLANE = Hyperplane(np.array([3.0, 4.0]), -10.0)
POINTS = np.random.RandomState(0).normal(size=(50, 2)) * 3


def test_the_discriminant_is_linear_and_its_sign_is_the_class():
    """C-149, D-257, D-258: f is linear; w is normal to the hyperplane; zero belongs to the second class."""
    a, b = POINTS[:25], POINTS[25:]
    assert_allclose(PLANE.value(0.3 * a + 0.7 * b), 0.3 * PLANE.value(a) + 0.7 * PLANE.value(b))
    on = PLANE.project(POINTS)
    assert_allclose((on[1:] - on[:-1]) @ PLANE.w, 0, atol=1e-12)
    assert_array_equal(PLANE.side(POINTS), np.sign(PLANE.distance(POINTS)))
    assert PLANE.side([[2.0, 1.0]]) == -1  # f = 0


def test_distances_projections_and_margins():
    """D-259, D-260, D-261, E-117: f(x_p) = 0, x = x_p + r w / |w|, the functional margin scales and the geometric one
    does not."""
    r, foot = PLANE.distance(POINTS), PLANE.project(POINTS)
    assert_allclose(PLANE.value(foot), 0, atol=1e-12)
    assert_allclose(foot + r[:, None] * PLANE.w / 5, POINTS)
    assert_allclose(np.abs(r), np.linalg.norm(POINTS - foot, axis=1))
    assert_allclose(PLANE.origin_distance, -2.0)
    assert_allclose(np.linalg.norm(PLANE.project(np.zeros((1, 2)))), 2.0)
    y = np.where(np.arange(50) % 2, 1, -1)
    scaled = Hyperplane(7 * PLANE.w, 7 * PLANE.w0)
    assert_allclose(scaled.functional_margin(POINTS, y), 7 * PLANE.functional_margin(POINTS, y))
    assert_allclose(scaled.geometric_margin(POINTS, y), PLANE.geometric_margin(POINTS, y))
    assert_allclose(PLANE.margin_width, 2 / 5)


def test_the_boundary_between_two_of_many_classes():
    X, y = POINTS, np.digitize(POINTS[:, 0], [-1, 1])
    model = LinearSVC(random_state=0).fit(X, y)
    plane = Hyperplane.of(model, 2, 0)
    scores = model.decision_function(X)
    assert_allclose(plane.value(X), scores[:, 2] - scores[:, 0], atol=1e-12)
    with pytest.raises(ValueError, match="name two classes"):
        Hyperplane.of(model, 2, 9)
    with pytest.raises(ValueError, match="no hyperplane"):
        Hyperplane(np.zeros(2), 1.0)


def test_the_figure_of_a_hyperplane_holds_line_normal_and_feet():
    """E-337, E-117."""
    ax = plot.hyperplane(PLANE, POINTS, PLANE.side(POINTS))
    line = next(l for l in ax.lines if l.get_linestyle() == "-" and l.get_linewidth() == 1.6)
    assert_allclose(PLANE.value(np.column_stack(line.get_data())), 0, atol=1e-9)
    feet = [l for l in ax.lines if l.get_linewidth() == 0.5]
    assert len(feet) == len(POINTS)
    assert "-2" in ax.get_title(loc="left")


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier])
def test_the_figure_of_regions_shows_every_machine_and_the_contradictions(wrapper):
    """E-337, C-146."""
    X, y = make_blobs(150, centers=[[0, 0], [4, 0], [2, 3.5]], cluster_std=1.2, random_state=0)
    ax = plot.regions(wrapper(LinearSVC(random_state=0)).fit(X, y), X, y)
    assert sum(l.get_linestyle() == ":" for l in ax.lines) == 3
    assert float(ax.get_title(loc="left").split("%")[0]) > 0


def test_the_figure_of_margins_says_the_training_error():
    """B-84."""
    X, y = course_datasets().disc
    model = LinearSVC(random_state=0).fit(X, y)
    m = functional_margins(model, X, y)
    ax = plot.margin_distribution(m)
    x, share = ax.lines[0].get_data()
    assert_allclose(share[np.searchsorted(x, 0) - 1], np.mean(model.predict(X) != y), atol=1e-12)
