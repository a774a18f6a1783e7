"""The log-likelihood of Tweedie regression was infinite where a target was zero, and a saddle-point value elsewhere."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import gamma, poisson

from fivefold.linear_model import GammaRegressor, TweedieRegressor
from fivefold.optim.losses.glm_families import GammaFamily, InverseGaussianFamily, TweedieFamily

Y = np.array([0.0, 1e-4, 0.03, 0.5, 1.0, 2.5, 7.0, 40.0])


def sum_of_gammas(y, mu, phi, p, terms=5000):
    """ln p(y): a Poisson number of gamma variables, number by number."""
    mean, shape, scale = mu ** (2 - p) / (phi * (2 - p)), (2 - p) / (p - 1), phi * (p - 1) * mu ** (p - 1)
    j = np.arange(1, terms)
    parts = [poisson.logpmf(j, mean) + gamma.logpdf(v, shape * j, scale=scale) for v in y]
    return np.where(y > 0, [logsumexp(part) for part in parts], -mean)


@pytest.mark.parametrize("power", [1.05, 1.3, 1.5, 1.7, 1.95])
@pytest.mark.parametrize("phi", [0.05, 0.4, 1.0, 6.0])
def test_between_one_and_two_it_is_a_poisson_number_of_gammas(power, phi):
    found = TweedieFamily(power).log_density(Y, np.full(len(Y), 1.7), phi)
    expected = sum_of_gammas(Y, 1.7, phi, power)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert found[0] == pytest.approx(-(1.7 ** (2 - power)) / (phi * (2 - power)), rel=1e-14)  # the mass at zero


@pytest.mark.parametrize("phi", [1e-6, 1e-3, 0.1, 1.0, 30.0])
def test_at_three_it_is_inverse_gaussian_and_near_two_gamma(phi):
    y, mu = Y[1:], np.full(len(Y) - 1, 1.7)
    np.testing.assert_allclose(
        TweedieFamily(3.0).log_density(y, mu, phi), InverseGaussianFamily().log_density(y, mu, phi), rtol=1e-11
    )
    near = [TweedieFamily(2 + e).log_density(y[3:5], mu[3:5], phi) for e in (-1e-6, 1e-6)]
    np.testing.assert_allclose(np.mean(near, axis=0), GammaFamily().log_density(y[3:5], mu[3:5], phi), rtol=1e-8)


@pytest.mark.parametrize("power", [1.2, 1.8, 2.1, 2.5, 4.5])
def test_the_mass_is_one_and_the_mean_is_the_mean(power):
    def density(u):  # of ln y
        return float(np.exp(TweedieFamily(power).log_density(np.array([np.exp(u)]), np.array([2.0]), 0.7) + u)[0])

    ends = [(-60, -2), (-2, 1), (1, 3), (3, 60)]
    at_zero = (
        float(np.exp(TweedieFamily(power).log_density(np.zeros(1), np.array([2.0]), 0.7)[0])) if power < 2 else 0.0
    )
    mass = sum(quad(density, *span, limit=200)[0] for span in ends)
    mean = sum(quad(lambda u: density(u) * np.exp(u), *span, limit=200)[0] for span in ends)
    assert at_zero + mass == pytest.approx(1, abs=1e-8)
    assert mean == pytest.approx(2, rel=1e-7)


def test_of_little_noise_it_is_the_saddle_point_value():
    y, phi = np.array([0.3, 2.0, 50.0]), 1e-9
    for p in (1.5, 2.5):
        saddle = -0.5 * np.log(2 * np.pi * phi * y**p)
        np.testing.assert_allclose(TweedieFamily(p).log_density(y, y, phi), saddle, atol=1e-7)


def claims(n=400):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    mu = np.exp(0.4 + X @ [0.5, -0.3])
    number = rng.poisson(2 * np.sqrt(mu))
    return X, np.array([rng.gamma(k, 0.5 * np.sqrt(m)) if k else 0.0 for k, m in zip(number, mu, strict=True)])


def test_a_summary_with_zeros():
    X, y = claims()
    assert (y == 0).sum() > 10
    model = TweedieRegressor(power=1.5, alpha=0, tol=1e-8).fit(X, y)
    told, mu = model.summary(), model.predict(X)
    phi = told.facts["dispersion"]
    expected = sum(float(sum_of_gammas(y[[i]], mu[i], phi, 1.5, 200)[0]) for i in range(len(y)))
    assert told.log_likelihood == pytest.approx(expected, rel=1e-10)
    assert told.aic == pytest.approx(6 - 2 * expected, rel=1e-10)
    assert np.isfinite(told.facts["likelihood ratio"]) and "log-likelihood" in str(told)


def test_a_power_whose_density_is_not_known_says_so():
    X, y = claims()
    told = TweedieRegressor(power=-1.0, alpha=0, link="log").fit(X, y + 0.1).summary()
    assert np.isnan(told.log_likelihood) and "density of this family is not known" in str(told)
    assert (told.standard_error > 0).all()
    known = GammaRegressor(alpha=0).fit(X, y + 0.1).summary()
    assert np.isfinite(known.log_likelihood) and "not known" not in str(known)
