"""BayesianRidge and ARDRegression beside scikit-learn's.

Both sides run the same updates in float64, so after a few dozen of them 1e-8 is left of well-conditioned problems.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model as theirs

from fivefold.linear_model import ARDRegression, BayesianRidge


def surface(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3
    coef = rng.normal(size=d) * (rng.random(d) < 0.5)
    return X, X @ coef + rng.normal(size=n), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("shape", [(100, 5), (5, 20), (30, 30)])
@pytest.mark.parametrize(
    "setting",
    [{}, {"fit_intercept": False}, {"tol": 1e-10, "compute_score": True}, {"alpha_init": 2.0, "lambda_init": 0.1}],
)
def test_bayesian_ridge_is_the_same(shape, setting):
    X, y, w = surface(*shape)
    model, rival = (cls(**setting).fit(X, y, sample_weight=w) for cls in (BayesianRidge, theirs.BayesianRidge))
    assert model.n_iter_ == rival.n_iter_
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_", "scores_", "X_offset_", "X_scale_"):
        assert_allclose(getattr(model, name), getattr(rival, name), rtol=1e-8, atol=1e-10, err_msg=name)
    for mine, other in zip(model.predict(X, return_std=True), rival.predict(X, return_std=True), strict=True):
        assert_allclose(mine, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", [(100, 5), (60, 4), (200, 40)])
@pytest.mark.parametrize("setting", [{}, {"fit_intercept": False}, {"tol": 1e-8, "compute_score": True}])
def test_ard_is_the_same(shape, setting):
    X, y, _ = surface(*shape)
    model, rival = (cls(**setting).fit(X, y) for cls in (ARDRegression, theirs.ARDRegression))
    assert model.n_iter_ == rival.n_iter_
    for name in ("coef_", "intercept_", "alpha_", "lambda_", "sigma_", "scores_"):
        assert_allclose(getattr(model, name), getattr(rival, name), rtol=1e-8, atol=1e-9, err_msg=name)
    for mine, other in zip(model.predict(X, return_std=True), rival.predict(X, return_std=True), strict=True):
        assert_allclose(mine, other, rtol=1e-8)


def test_ard_with_fewer_rows_than_columns_is_the_same():
    """Without an offset: with one, four rows' worth of data are interpolated and both sides report rounding."""
    X, y, _ = surface(8, 20, seed=3)
    model, rival = (cls(fit_intercept=False).fit(X, y) for cls in (ARDRegression, theirs.ARDRegression))
    assert_allclose(model.predict(X), rival.predict(X), rtol=1e-5, atol=1e-5)


def test_nearly_dependent_columns_are_met_by_the_careful_way():
    """Columns of sizes 1e-4 to 1e4: eigenvalues of the Gram matrix spread over 16 decades, singular values over 8."""
    X, y, w = surface(200, 5)
    X = X * 10.0 ** np.linspace(-4, 4, 5)
    model, rival = (cls(tol=1e-12).fit(X, y, sample_weight=w) for cls in (BayesianRidge, theirs.BayesianRidge))
    assert_allclose(model.predict(X), rival.predict(X), rtol=1e-8)
    assert_allclose(model.alpha_, rival.alpha_, rtol=1e-8)


def test_a_perfect_fit_keeps_the_digits_of_its_error():
    X, _, _ = surface(50, 3)
    y = X @ [1.0, -2.0, 0.5] + 1
    model, rival = (cls().fit(X, y) for cls in (BayesianRidge, theirs.BayesianRidge))
    assert_allclose(model.alpha_, rival.alpha_, rtol=1e-6)
    assert_allclose(model.coef_, [1, -2, 0.5], rtol=1e-6)
