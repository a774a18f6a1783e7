"""The expected error of a learner on a source of known density."""

import numpy as np
import pytest

from fivefold.evaluation.monte_carlo_risk import expected_loss, squared_loss
from fivefold.linear_model import Ridge
from fivefold.naive_bayes import GaussianNB

BAYES = 0.158655  # 1 - Phi(1): two Gaussians N(+-1, 1), threshold 0


def two_gaussians(m, rng):
    y = rng.choice([-1, 1], m)
    return y[:, None] + rng.standard_normal((m, 1)), y


class Threshold:
    """The best rule for this source."""

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1, -1)


@pytest.mark.parametrize("n", [1_000, 10_000, 1_000_000])
def test_the_monte_carlo_error_of_the_best_rule_converges_to_the_analytic_one(n):
    """A-01."""
    found = expected_loss(Threshold(), two_gaussians, n, np.random.default_rng(n))
    assert abs(found.mean - BAYES) < 3 * np.sqrt(BAYES * (1 - BAYES) / n)  # three standard errors
    assert found.error == pytest.approx(np.sqrt(BAYES * (1 - BAYES) / n), rel=0.1)


def test_a_learner_reaches_the_best_error_from_examples_alone():
    """A-01: fitted on n rows its threshold is off by about 1/sqrt(n), which costs of the order of 1/n."""
    X, y = two_gaussians(100_000, np.random.default_rng(1))
    found = expected_loss(GaussianNB().fit(X, y), two_gaussians, 1_000_000, np.random.default_rng(2))
    assert abs(found.mean - BAYES) < 3 * found.error + 1e-4


def test_a_learner_of_a_line_reaches_the_variance_of_the_noise():
    """A-01, squared loss: y = 2x + N(0, 0.5^2) has the least expected loss 0.25."""

    def line(m, rng):
        x = rng.standard_normal((m, 1))
        return x, 2 * x[:, 0] + 0.5 * rng.standard_normal(m)

    X, y = line(100_000, np.random.default_rng(3))
    found = expected_loss(Ridge(alpha=0.0).fit(X, y), line, 1_000_000, np.random.default_rng(4), squared_loss)
    assert abs(found.mean - 0.25) < 3 * found.error + 1e-4  # two parameters: excess 2 * 0.25 / n
