"""What the laws cannot say of Bayesian linear regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

from fivefold.linear_model import BayesianLinearRegression, Ridge


def rows(n=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, d))
    return Phi, Phi @ np.linspace(1, 2, d) + 0.3 * rng.normal(size=n)


def test_the_mode_is_ridge_regression_with_unit_noise():
    """B-83: prior variance 1 / lambda and noise variance one give ridge of penalty lambda."""
    Phi, y = rows()
    model = BayesianLinearRegression(alpha=0.7, beta=1.0).fit(Phi, y)
    assert_allclose(model.coef_, Ridge(0.7).fit(Phi, y).coef_, rtol=1e-10)


def test_evidence_is_the_gaussian_density_of_the_targets():
    Phi, y = rows()
    m0 = np.array([0.5, -1.0, 2.0])
    covariance = Phi @ Phi.T / 2 + np.eye(30) / 3
    model = BayesianLinearRegression(alpha=2.0, beta=3.0, prior_mean=m0, fit_intercept=False).fit(Phi, y)
    assert model.evidence_ == pytest.approx(multivariate_normal(Phi @ m0, covariance).logpdf(y), rel=1e-10)


def test_a_wide_prior_of_the_offset_tends_to_the_flat_one():
    """The density with offset variance v, times sqrt(2 pi v), tends to the one with a flat prior."""
    Phi, y = rows()
    v = 1e5
    covariance = Phi @ Phi.T / 2 + np.eye(30) / 3 + v
    near = multivariate_normal(np.zeros(30), covariance).logpdf(y) + 0.5 * np.log(2 * np.pi * v)
    flat = BayesianLinearRegression(alpha=2.0, beta=3.0).fit(Phi, y)
    assert flat.evidence_ == pytest.approx(near, abs=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_precisions_chosen_have_the_greatest_evidence(fit_intercept):
    Phi, y = rows()
    best = BayesianLinearRegression(fit_intercept=fit_intercept).fit(Phi, y)
    for a in (0.9, 1.0, 1.1):
        for b in (0.9, 1.0, 1.1):
            other = BayesianLinearRegression(alpha=a * best.alpha_, beta=b * best.beta_, fit_intercept=fit_intercept)
            assert other.fit(Phi, y).evidence_ <= best.evidence_ + 1e-12
    one = BayesianLinearRegression(alpha=best.alpha_, fit_intercept=fit_intercept).fit(Phi, y)
    assert one.beta_ == pytest.approx(best.beta_, rel=1e-9)


def test_it_is_a_gaussian_process_with_a_linear_kernel():
    """C-126: kernel phi'phi / alpha."""
    Phi, y = rows()
    model = BayesianLinearRegression(alpha=2.0, beta=5.0, fit_intercept=False).fit(Phi, y)
    kernel = ConstantKernel(0.5, "fixed") * DotProduct(0.0, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=0.2).fit(Phi, y)
    at = rows(8, seed=5)[0]
    mean, std = model.predict(at, return_std=True)
    theirs, spread = process.predict(at, return_std=True)
    assert_allclose(mean, theirs, rtol=1e-8)
    assert_allclose(std**2, spread**2 + 0.2, rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_batches_say_what_the_whole_says(fit_intercept):
    Phi, y = rows(60)
    w = np.random.default_rng(1).integers(1, 4, 60)
    whole = BayesianLinearRegression(fit_intercept=fit_intercept).fit(Phi, y, sample_weight=w)
    parts = BayesianLinearRegression(fit_intercept=fit_intercept)
    for lo in range(0, 60, 7):
        parts.partial_fit(Phi[lo : lo + 7], y[lo : lo + 7], sample_weight=w[lo : lo + 7])
    for name in ("coef_", "intercept_", "covariance_", "alpha_", "beta_", "evidence_"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12)


def test_variance_falls_with_rows_and_rises_away_from_them():
    """C-126."""
    Phi, y = rows(40)
    few = BayesianLinearRegression(alpha=1.0, beta=1.0).fit(Phi[:5], y[:5])
    many = BayesianLinearRegression(alpha=1.0, beta=1.0).fit(Phi, y)
    near, far = Phi[:1], 10 * Phi[:1]
    assert many.predict(near, return_std=True)[1] < few.predict(near, return_std=True)[1]
    assert many.predict(far, return_std=True)[1] > many.predict(near, return_std=True)[1]


def test_sampled_functions_have_the_mean_and_spread_of_the_posterior():
    Phi, y = rows()
    model = BayesianLinearRegression(alpha=1.0, beta=4.0).fit(Phi, y)
    at = rows(4, seed=2)[0]
    drawn = model.sample_functions(at, 4000, random_state=0)
    mean, std = model.predict(at, return_std=True)
    spread = np.sqrt(std**2 - 1 / 4)
    assert np.all(np.abs(drawn.mean(1) - mean) < 4 * spread / np.sqrt(4000))  # four standard errors
    assert_allclose(drawn.std(1), spread, rtol=0.05)


def test_a_prior_mean_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="one for each of the 3 columns"):
        BayesianLinearRegression(prior_mean=[1.0, 2.0]).fit(*rows())
