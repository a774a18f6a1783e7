"""GammaRegressor(alpha=0) on a constant target divided by a dispersion of zero."""

import numpy as np
import pytest

from fivefold.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor


@pytest.mark.parametrize(
    "model", [GammaRegressor(alpha=0), PoissonRegressor(alpha=0), TweedieRegressor(power=3, alpha=0)], ids=str
)
def test_a_constant_target_is_its_own_mean(model):
    X = np.random.RandomState(0).normal(size=(20, 3))
    model.fit(X, np.full(20, 2.5))
    np.testing.assert_allclose(model.coef_, 0, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), 2.5, rtol=1e-12)
