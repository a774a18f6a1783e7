"""The table of coefficients beside that of statsmodels (recorded.json): equal to 1e-8."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rivals.record import recorded
from sklearn.datasets import load_diabetes

from fivefold.linear_model import LinearRegression

CASES = {
    "with offset": (0.0, True),
    "with offset, moved": (1e3, True),
    "without offset": (0.0, False),
    "without offset, moved": (1e3, False),
}
VALUES = ("estimate", "standard_error", "statistic", "p_value", "interval", "log_likelihood", "aic", "bic")
FACTS = ("R^2", "F", "p of F")


def diabetes(shift):
    X, y = load_diabetes(return_X_y=True)
    return X + shift * (np.arange(X.shape[1]) == 2), y


@pytest.mark.parametrize("name", CASES)
def test_diabetes_has_the_same_table(name):
    shift, offset = CASES[name]
    ours = LinearRegression(fit_intercept=offset).fit(*diabetes(shift)).summary()
    theirs = recorded("least_squares")[name]
    for value in VALUES:
        assert_allclose(getattr(ours, value), theirs[value], rtol=1e-8, atol=1e-300, err_msg=value)
    for fact in FACTS:
        assert_allclose(ours.facts[fact], theirs[fact], rtol=1e-8, atol=1e-300, err_msg=fact)
    errors = np.array(theirs["standard_error"])
    size = np.outer(errors, errors)  # a covariance near zero has no digits of its own
    assert_allclose(ours.covariance / size, theirs["covariance"] / size, atol=1e-8)
