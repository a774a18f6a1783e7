"""Classification by regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.multioutput import MultiOutputClassifier

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.linear_model import LeastSquaresClassifier, LogisticRegression, SigmoidRegressionClassifier
from fivefold.linear_model.least_squares_classifier import SquaredSigmoidLoss
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk


def classes(n=200, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    return np.array([[0, 0], [3, 1], [-1, 4]])[y] + rng.normal(size=(n, 2)) @ [[1, 0.5], [0, 1]], y


def test_coefficients_are_least_squares_on_coded_labels():
    """A-99, C-150."""
    for K in (2, 3):
        X, y = classes(K=K)
        T = (2.0 * y - 1)[:, None] if K == 2 else np.eye(K)[y]
        expected = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), T)[0]
        model = LeastSquaresClassifier().fit(X, y)
        assert_allclose(np.column_stack([model.coef_, model.intercept_]), expected.T, rtol=1e-9, atol=1e-12)


def test_the_direction_is_that_of_the_pooled_covariance():
    """A-99, D-274: for two classes w ~ S_W^-1 (m_2 - m_1), whatever the two targets are."""
    X, y = classes(n=150)
    w = LeastSquaresClassifier().fit(X, y).coef_[0]
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    assert_allclose(w / np.linalg.norm(w), lda / np.linalg.norm(lda), rtol=1e-9)


def test_the_threshold_moves_the_decision():
    """A-99."""
    X, y = classes()
    shares = [(LeastSquaresClassifier(threshold=t).fit(X, y).predict(X) == 1).mean() for t in (-0.5, 0.0, 0.5)]
    assert shares[0] > shares[1] > shares[2]


def test_outliers_on_the_right_side_turn_least_squares_but_not_logistic_regression():
    """C-150: the demonstration of its weakness."""
    rng = np.random.default_rng(0)
    centres, counts = np.array([[0, 0], [3, 0], [40, -40]]), [50, 50, 10]
    X, y = rng.normal(size=(110, 2)) + centres.repeat(counts, axis=0), np.repeat([0, 1, 1], counts)
    assert LeastSquaresClassifier().fit(X[:100], y[:100]).score(X[:100], y[:100]) > 0.9
    assert LeastSquaresClassifier().fit(X, y).score(X[:100], y[:100]) < 0.88
    assert LogisticRegression().fit(X, y).score(X[:100], y[:100]) > 0.9


def test_collinear_columns_give_the_same_answers():
    X, y = classes()
    plain = LeastSquaresClassifier().fit(X, y)
    double = LeastSquaresClassifier().fit(np.hstack([X, X]), y)
    assert_allclose(double.decision_function(np.hstack([X, X])), plain.decision_function(X), atol=1e-8)


def test_the_gradient_of_the_squared_sigmoid():
    """E-138: sum of (y - r) y (1 - y) x, and finite differences of the objective."""
    X, y = classes(60)
    risk = EmpiricalRisk(SquaredSigmoidLoss(), Design(X), 2.0 * y - 1, np.ones(60))

    def slope(x):
        out = 1 / (1 + np.exp(-(X @ x[:2] + x[2])))
        return np.column_stack([X, np.ones(60)]).T @ ((out - y) * out * (1 - out))

    fitted = SigmoidRegressionClassifier(alpha=0.1, tol=1e-8).fit(X, y)
    found = np.append(fitted.coef_[0], fitted.intercept_)
    assert_allclose(slope(found), -0.1 * np.append(found[:2], 0), atol=1e-5)  # the pull of the penalty
    x = np.array([0.3, -0.2, 0.1])
    by_hand = slope(x)
    assert_allclose(risk.gradient(x), by_hand, rtol=1e-10)
    steps = 1e-6 * np.eye(3)
    assert_allclose(by_hand, [(risk.value(x + h) - risk.value(x - h)) / 2e-6 for h in steps], rtol=1e-6)
    numeric = [(risk.gradient(x + h) - risk.gradient(x - h)) / 2e-6 for h in steps]
    assert_allclose(risk.hessian(x), numeric, rtol=1e-5, atol=1e-6)


def test_the_fit_is_a_minimum_of_squared_error():
    """E-138."""
    X, y = classes(150)
    model = SigmoidRegressionClassifier(alpha=0.1).fit(X, y)
    risk = EmpiricalRisk(SquaredSigmoidLoss(), Design(X), 2.0 * y - 1, np.ones(150), np.array([0.1, 0.1, 0.0]))
    x = np.append(model.coef_[0], model.intercept_)
    assert risk.violation(x) < 1e-5
    assert risk.value(x) <= min(risk.value(x + 0.01 * v) for v in np.random.default_rng(0).normal(size=(50, 3)))


def test_outputs_are_separate_and_need_not_sum_to_one():
    """E-139: several labels a row, or none, are learned one sigmoid each."""
    X, y = classes(K=3)
    out = SigmoidRegressionClassifier().fit(X, y).outputs(X)
    assert out.shape == (200, 3) and np.abs(out.sum(1) - 1).max() > 0.05
    labels = np.column_stack([X[:, 0] > 1, X[:, 1] > 1]).astype(int)  # four combinations, none and both among them
    several = MultiOutputClassifier(SigmoidRegressionClassifier()).fit(X, labels)
    assert (several.predict(X) == labels).mean() > 0.97
    alone = SigmoidRegressionClassifier().fit(X, labels[:, 1])
    assert_array_equal(several.predict(X)[:, 1], alone.predict(X))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="two classes or more"):
        LeastSquaresClassifier().fit([[0.0], [1.0]], [1, 1])
