"""Infinity in tables of methods that cut columns into bins."""

import numpy as np
import pytest

from fivefold.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("odd", range(5))
def test_infinity_is_beyond_all_numbers(odd, dtype):
    """Each of -inf, 0, 1, inf and NaN can be told from the others, also by a table of the other precision."""
    X = np.array([-np.inf, 0, 1, np.inf, np.nan]).reshape(-1, 1)
    y = np.arange(5) == odd
    model = HistGradientBoostingClassifier(
        min_samples_leaf=1, max_iter=1, learning_rate=1, early_stopping=False, random_state=0
    )
    model.fit(X.astype(dtype), y)
    for other in (np.float64, np.float32):
        np.testing.assert_array_equal(model.predict(X.astype(other)), y)


def test_infinity_in_a_regression():
    X, y = np.array([-np.inf, 0, 1, np.inf]).reshape(-1, 1), np.array([0, 0, 1, 1])
    model = HistGradientBoostingRegressor(min_samples_leaf=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-4)
