"""Multipliers, offsets and values of support vector machines that can be worked out by hand."""

import numpy as np
import pytest

from fivefold.svm import SVC, SVDD

XOR = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
XOR_Y = np.array([-1, -1, 1, 1])


def multipliers(model, n):
    """y_i alpha_i of every row of fit."""
    out = np.zeros(n)
    out[model.support_] = model.dual_coef_[0]
    return out


@pytest.mark.parametrize(
    ("x", "y", "C", "signed", "intercept", "w", "value"),
    [
        ([-1, 1], [-1, 1], 1, [-0.5, 0.5], 0, 1, 0.5),
        ([0, 2, 3], [-1, 1, 1], 1, [-0.5, 0.5, 0], -1, 1, 0.5),
        ([0, 1, 2, 3, 1.5], [-1, -1, 1, 1, -1], 10, [0, 0, 8, 0, -8], -7, 4, 8),
        ([0, 2, 3], [-1, 1, 1], 0.25, [-0.25, 0.25, 0], -0.25, 0.5, 0.375),
    ],
)
def test_machines_on_a_line(x, y, C, signed, intercept, w, value):
    """A-118, A-122: the last one has every multiplier at a bound, and its offset is the middle of [-0.5, 0]."""
    X = np.array(x, dtype=float)[:, None]
    model = SVC(kernel="linear", C=C).fit(X, y)
    np.testing.assert_allclose(multipliers(model, len(X)), signed, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [intercept], atol=1e-12)
    np.testing.assert_allclose(model.coef_, [[w]], atol=1e-12)
    np.testing.assert_allclose(-model.objective_, [value], atol=1e-12)
    assert model.duality_gap_[0] <= 1e-12
    f = model.decision_function(X)
    primal = 0.5 * w**2 + C * np.maximum(0, 1 - np.array(y) * f).sum()
    assert primal == pytest.approx(value)


def test_exclusive_or_by_a_polynomial():
    """A-118: alpha = 1/8, offset 0, value 1/4, answers -1 and 1."""
    model = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=10).fit(XOR, XOR_Y)
    np.testing.assert_allclose(multipliers(model, 4), XOR_Y / 8, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [0], atol=1e-12)
    np.testing.assert_allclose(-model.objective_, [0.25], atol=1e-12)
    np.testing.assert_allclose(model.decision_function(XOR), XOR_Y, atol=1e-12)


def test_exclusive_or_by_a_gaussian():
    """A-118: neighbours are e^-2 alike, and alpha = 1 / (1 - e^-2)^2 = 1.337533."""
    model = SVC(kernel="rbf", gamma=0.5, C=10).fit(XOR, XOR_Y)
    np.testing.assert_allclose(multipliers(model, 4), XOR_Y / (1 - np.exp(-2)) ** 2, atol=1e-10)
    assert abs(model.dual_coef_[0, 0]) == pytest.approx(1.337533, abs=1e-6)


def test_a_hard_margin_from_its_three_support_vectors():
    """C-208, C-209, C-210: multipliers, hyperplane, margin and equal values of both problems."""
    X = np.array([[3.516528, 1.905645], [4.803425, 3.203031], [4.119713, 3.810132]])
    model = SVC(kernel="linear", C=np.inf).fit(X, [-1, 1, 1])
    np.testing.assert_allclose(np.abs(model.dual_coef_[0]), [0.600756, 0.534487, 0.066269], atol=2e-6)
    np.testing.assert_allclose(model.coef_[0], [0.727802, 0.819644], atol=2e-6)
    assert model.intercept_[0] == pytest.approx(-5.121285, abs=1e-5)
    assert model.squared_norm_[0] ** -0.5 == pytest.approx(0.912297, abs=1e-6)
    assert -model.objective_[0] == pytest.approx(0.600756, abs=1e-6)
    assert 0.5 * model.squared_norm_[0] == pytest.approx(0.600756, abs=1e-6)


@pytest.mark.parametrize(("x", "w", "intercept"), [([0, 2], 1, -1), ([-1, 1], 1, 0)])
def test_two_points_and_a_hard_margin(x, w, intercept):
    """D-282, D-284, E-257: sum of alpha = |w|^2."""
    model = SVC(kernel="linear", C=np.inf).fit(np.array(x, dtype=float)[:, None], [-1, 1])
    np.testing.assert_allclose(np.abs(model.dual_coef_), 0.5, atol=1e-12)
    assert model.coef_[0, 0] == pytest.approx(w) and model.intercept_[0] == pytest.approx(intercept, abs=1e-12)
    assert np.abs(model.dual_coef_).sum() == pytest.approx(model.squared_norm_[0])


def test_exclusive_or_in_the_features_of_a_polynomial():
    """D-301: f = -x1 x2 for the opposite labels, |w|^2 = 1/2."""
    model = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=10).fit(XOR, -XOR_Y)
    grid = np.random.RandomState(0).normal(size=(20, 2))
    np.testing.assert_allclose(model.decision_function(grid), grid[:, 0] * grid[:, 1], atol=1e-12)
    assert model.squared_norm_[0] == pytest.approx(0.5)


def test_the_smallest_enclosing_sphere_of_three_points():
    """D-307, E-301: alpha = (.5, .5, 0), R^2 = 1, centre 0, and the dual value is R^2."""
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    model = SVDD(kernel="linear", nu=0.01).fit(X)
    np.testing.assert_allclose(model.dual_coef_, [[0.5, 0.5]], atol=1e-12)
    np.testing.assert_array_equal(model.support_, [0, 1])
    assert model.radius_ == pytest.approx(1.0)
    np.testing.assert_allclose(model.centre_, 0.0, atol=1e-12)
    assert -2 * model.objective_[0] == pytest.approx(model.radius_**2)
    assert SVDD(kernel="linear", nu=0.01).fit([[0.0], [2.0]]).radius_ == pytest.approx(1.0)
