"""Multipliers, offsets and values of support vector machines that can be worked out by hand."""

import numpy as np
import pytest

from fivefold.svm import SVC

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
    """A-118: corners of a square of side 1 and the kernel exp(-|x - z|^2): alpha = 1 / (1 - e^-1)^2.

    The text's width makes neighbours e^-2 alike: alpha = 1 / (1 - e^-2)^2 = 1.337533.
    """
    model = SVC(kernel="rbf", gamma=0.5, C=10).fit(XOR, XOR_Y)
    np.testing.assert_allclose(multipliers(model, 4), XOR_Y / (1 - np.exp(-2)) ** 2, atol=1e-10)
    assert abs(model.dual_coef_[0, 0]) == pytest.approx(1.337533, abs=1e-6)
