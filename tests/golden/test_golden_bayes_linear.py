"""Full Bayesian regression: numbers of the catalogue."""

from numpy.testing import assert_allclose

from fivefold.datasets import course_datasets
from fivefold.linear_model import BayesianLinearRegression
from fivefold.preprocessing import PolynomialFeatures


def test_ten_powers_of_twenty_points():
    """C-126, C.1-12: predictive means and variances at 0, 3, 6; noise and uncertainty add, they do not multiply."""
    x, y = course_datasets().noisy_curve
    powers = PolynomialFeatures(10)
    Phi, at = powers.fit_transform(x), powers.transform([[0.0], [3.0], [6.0]])
    model = BayesianLinearRegression(alpha=1.0, beta=0.01, fit_intercept=False).fit(Phi, y)
    mean, std = model.predict(at, return_std=True)
    # the catalogue's run lost digits in the normal equations, whose condition is 1e15
    assert_allclose(mean, [0.0024427, 0.0140775, 0.059008], rtol=5e-5)
    assert_allclose(std**2, [100.97025, 118.25951, 154.29692], rtol=5e-7)
    # rational arithmetic on the same twenty points
    assert_allclose(mean, [0.0024426706153, 0.0140775525039, 0.0590093792695], rtol=1e-8)
    assert_allclose(std**2, [100.97024876974653, 118.25951485311641, 154.2968739146186], rtol=1e-9)
    # the same from batches of 2, 6 and 12
    sequential = BayesianLinearRegression(alpha=1.0, beta=0.01, fit_intercept=False)
    for lo, hi in ((0, 2), (2, 8), (8, 20)):
        sequential.partial_fit(Phi[lo:hi], y[lo:hi])
    assert_allclose(sequential.coef_, model.coef_, rtol=1e-6)
    assert_allclose(sequential.predict(at, return_std=True)[1], std, rtol=1e-8)
