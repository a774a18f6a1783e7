"""The table of coefficients beside statsmodels, where it is installed: equal to 1e-8."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

from fivefold.linear_model import LinearRegression

api = pytest.importorskip("statsmodels.api")
SAME = {"rtol": 1e-8, "atol": 1e-300}


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_diabetes_has_the_same_table(shift, offset):
    X, y = load_diabetes(return_X_y=True)
    X = X + shift * (np.arange(X.shape[1]) == 2)
    ours = LinearRegression(fit_intercept=offset).fit(X, y).summary()
    rival = api.OLS(y, api.add_constant(X) if offset else X).fit()
    for mine, theirs in (
        (ours.estimate, rival.params),
        (ours.standard_error, rival.bse),
        (ours.statistic, rival.tvalues),
        (ours.p_value, rival.pvalues),
        (ours.interval, rival.conf_int()),
        (ours.log_likelihood, rival.llf),
        (ours.aic, rival.aic),
        (ours.bic, rival.bic),
        (ours.facts["R^2"], rival.rsquared),
        (ours.facts["F"], rival.fvalue),
        (ours.facts["p of F"], rival.f_pvalue),
    ):
        assert_allclose(mine, theirs, **SAME)
    size = np.outer(rival.bse, rival.bse)  # a covariance near zero has no digits of its own
    assert_allclose(ours.covariance / size, rival.cov_params() / size, atol=1e-8)
