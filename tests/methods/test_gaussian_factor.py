"""Gaussian factors beside the dense joint Gaussian."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fivefold.inference.factors.gaussian_factor import (
    GaussianFactor,
    calibrate_gaussians,
    eliminate_gaussians,
    gaussian_product,
)
from fivefold.inference.factors.semirings import COUNTING, MAX_PRODUCT


def covariance(n, rng):
    M = rng.normal(size=(n, n))
    return M @ M.T + 0.3 * np.eye(n)


def network(n, rng):
    """Random conditionals of a directed graph, with the joint mean and covariance by substitution."""
    factors, mean, B, variances = [], np.zeros(n), np.zeros((n, n)), rng.uniform(0.2, 2.0, size=n)
    for v in range(n):
        parents = [u for u in range(v) if rng.random() < 0.4]
        weights, intercept = rng.normal(size=len(parents)), rng.normal()
        factors.append(GaussianFactor.of_conditional(v, parents, weights, intercept, variances[v]))
        B[v, parents] = weights
        mean[v] = intercept + weights @ mean[parents]
    root = np.linalg.inv(np.eye(n) - B)
    return factors, mean, root @ np.diag(variances) @ root.T


def test_moments_and_values_are_those_of_the_density():
    rng = np.random.default_rng(0)
    mean, P = rng.normal(size=3), covariance(3, rng)
    factor = GaussianFactor.of_moments((4, 2, 7), mean, P)
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(factor.log_value(x), multivariate_normal(mean, P).logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(factor.moments()[1], P, rtol=1e-12)
    assert abs(factor.onto(()).log_constant) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_products_integrals_and_conditions_agree_with_the_joint(seed):
    rng = np.random.default_rng(seed)
    n = 7
    factors, mean, P = network(n, rng)
    found = eliminate_gaussians(factors, (5, 2))
    np.testing.assert_allclose(found.moments()[0], mean[[5, 2]], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.moments()[1], P[np.ix_([5, 2], [5, 2])], rtol=1e-9, atol=1e-9)
    seen, rest = [1, 6], [0, 2, 3, 4, 5]
    x = rng.normal(size=2)
    gain = P[np.ix_(rest, seen)] @ np.linalg.inv(P[np.ix_(seen, seen)])
    calibrated = calibrate_gaussians(factors, {1: x[0], 6: x[1]})
    for i, v in enumerate(rest):
        m, c = calibrated.joint((v,))
        np.testing.assert_allclose(m[0], (mean[rest] + gain @ (x - mean[seen]))[i], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(c[0, 0], (P[np.ix_(rest, rest)] - gain @ P[np.ix_(seen, rest)])[i, i], rtol=1e-9)
    evidence = multivariate_normal(mean[seen], P[np.ix_(seen, seen)]).logpdf(x)
    np.testing.assert_allclose(calibrated.log_partition, evidence, rtol=1e-9)


def test_the_maximum_over_a_variable_is_the_value_at_the_best_one():
    rng = np.random.default_rng(3)
    factors, _, _ = network(4, rng)
    joint = gaussian_product(factors)
    left = joint.eliminate(2, MAX_PRODUCT)
    x = rng.normal(size=4)
    grid = np.repeat(np.array([x[list(joint.variables)]]), 200_001, axis=0)
    grid[:, joint.variables.index(2)] = np.linspace(-20, 20, 200_001)
    best = joint.log_value(grid).max()
    np.testing.assert_allclose(left.log_value(x[None, list(left.variables)])[0], best, atol=1e-6)
    mode = eliminate_gaussians(factors, (), MAX_PRODUCT).log_constant
    mean, _ = joint.moments()
    np.testing.assert_allclose(mode, joint.log_value(mean[None])[0], rtol=1e-12)


def test_a_factor_may_say_nothing_but_has_no_integral_then():
    child = GaussianFactor.of_conditional(1, (0,), np.array([2.0]), 0.0, 1.0)
    likelihood = child.condition({1: 3.0})
    np.testing.assert_allclose(likelihood.moments()[0], [1.5])
    assert child.eliminate(1).precision[0, 0] == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(ValueError, match=r"variables \(1, 0\) is singular.*leave them in"):
        child.onto(())
    vacuous = child.multiply(GaussianFactor.constant((2,)))
    assert vacuous.eliminate(2, MAX_PRODUCT).log_constant == child.log_constant
    with pytest.raises(ValueError, match=r"\(2,\) is singular"):
        vacuous.eliminate(2)


def test_wrong_factors_are_refused_in_words():
    with pytest.raises(ValueError, match="names a variable twice"):
        GaussianFactor((1, 1), np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="needs a precision of shape"):
        GaussianFactor((1,), np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="variance of variable 3 given its parents is 0"):
        GaussianFactor.of_conditional(3, (), np.zeros(0), 0.0, 0.0)
    factor = GaussianFactor.of_moments((0, 1), np.zeros(2), np.eye(2))
    with pytest.raises(ValueError, match="no variable 5"):
        factor.eliminate(5)
    with pytest.raises(ValueError, match="not finite"):
        factor.condition({0: np.nan})
    with pytest.raises(ValueError, match="cannot do without the variables"):
        factor.transpose((0,))
    with pytest.raises(ValueError, match="by integrals or maxima"):
        factor.eliminate(0, COUNTING)
