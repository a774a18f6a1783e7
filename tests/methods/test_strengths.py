"""Paths of L1 strengths for margin losses, and the predicted strength beside the one chosen on rows held out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from fivefold.linear_model import ProbitRegression, RiskMinimiserClassifier, compare_strengths, margin_path
from fivefold.linear_model.risk_minimiser import CLASSIFIER_LOSSES


def classes(n=200, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0
    return X, ((X[:, :3] - 3.0) @ [1.0, 2.0, -1.0] + rng.normal(size=n) > 0.3).astype(int)


@pytest.mark.parametrize("loss", ["log", "squared", "squared_hinge", "probit"])
def test_every_point_of_a_path_meets_the_conditions_of_a_minimum(loss):
    """B-100: |d loss / d w_j| <= alpha where w_j = 0, = alpha elsewhere, for every strength of the path."""
    X, y = classes()
    t, path = 2.0 * y - 1, margin_path(X, y, loss=loss, alphas=12)
    assert not path.coefs[0].any() and np.count_nonzero(path.coefs[-1]) > 8
    for alpha, w, b in zip(path.alphas, path.coefs, path.intercepts, strict=True):
        slope = CLASSIFIER_LOSSES[loss].slope(t, X @ w + b)
        g = X.T @ slope
        # the solver stops at 1e-9 of the gradient at zero, some 1e2, and X has entries of some 3
        assert abs(slope.sum()) < 1e-5
        assert np.all(np.abs(g[w == 0]) <= alpha + 1e-5)
        assert_allclose(g[w != 0], -alpha * np.sign(w[w != 0]), atol=1e-5)


def test_just_below_its_top_a_smooth_path_takes_in_its_first_column():
    X, y = classes()
    top = margin_path(X, y, alphas=2).alphas[0]
    path = margin_path(X, y, alphas=[1.0001 * top, 0.999 * top])
    assert not path.coefs[0].any() and np.count_nonzero(path.coefs[1]) == 1


def test_a_path_of_the_hinge_is_that_of_linear_programming():
    """B-100: the hinge under L1 as a linear program in w+, w-, b+, b- and the slacks."""
    X, y = classes(60, 4)
    t = 2.0 * y - 1
    path = margin_path(X, y, loss="hinge", alphas=6)
    rows = t[:, None] * np.hstack([X, -X, np.ones((60, 1)), -np.ones((60, 1))])
    for alpha, w, b, value in zip(path.alphas, path.coefs, path.intercepts, path.values, strict=True):
        cost = np.concatenate([np.full(8, alpha), [0.0, 0.0], np.ones(60)])
        least = linprog(cost, -np.hstack([rows, np.eye(60)]), -np.ones(60)).fun
        ours = np.maximum(1 - t * (X @ w + b), 0).sum() + alpha * np.abs(w).sum()
        assert ours <= least * (1 + 1e-7) and value == pytest.approx(ours, rel=1e-8)  # linprog's own tolerance is 1e-7


def test_a_point_of_a_path_is_the_classifier_of_that_strength():
    X, y = classes()
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    path = margin_path(X, y, alphas=[20.0, 5.0], sample_weight=w)
    model = RiskMinimiserClassifier("log", penalty="l1", alpha=5.0).fit(X, y, w)
    assert_allclose(path.coefs[1], model.coef_[0], atol=1e-7)
    assert_allclose(path.intercepts[1], model.intercept_[0], atol=1e-6)


def test_three_classes_have_no_margin():
    with pytest.raises(ValueError, match="two classes"):
        margin_path([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_the_predicted_strength_is_compared_with_the_choice_on_rows_held_out():
    """B-99: the prediction is the lesser of its two bounds, and its error lies on the curve of errors held out."""
    X, y = classes(300, 20)
    grid = np.geomspace(0.1, 200.0, 8)
    found = compare_strengths(X - 3.0, y, ProbitRegression(), alphas=grid, random_state=0)
    assert found.errors.shape == grid.shape and found.errors[grid == found.chosen] == found.errors.min()
    assert found.errors[-1] > found.errors.min()  # the strongest leaves nothing to tell the classes by
    near = compare_strengths(X - 3.0, y, ProbitRegression(), alphas=[found.predicted], random_state=0)
    assert near.errors[0] == found.error_of_predicted
    # within three standard errors of the best of the curve, 90 rows held out
    assert found.error_of_predicted <= found.errors.min() + 3 * np.sqrt(0.25 / 90)
