"""Coefficients of least squares with positive=True were uninitialised memory where no column varies."""

import numpy as np
import pytest

from fivefold.linear_model import LinearRegression, Ridge, RidgeClassifier


@pytest.mark.parametrize("model", [LinearRegression(positive=True), Ridge(alpha=0.0, positive=True)])
@pytest.mark.parametrize("n", [1, 5])
def test_constant_columns_have_no_coefficient(model, n):
    model.fit(np.ones((n, 2)), np.arange(n, dtype=float))
    assert np.array_equal(model.coef_, np.zeros(2))
    assert model.intercept_ == (n - 1) / 2


def test_labels_of_constant_columns():
    model = RidgeClassifier(alpha=0.0, positive=True).fit(np.ones((4, 1)), [0, 1, 1, 1])
    assert np.array_equal(model.coef_, [[0.0]]) or np.array_equal(model.coef_, [0.0])
    assert np.array_equal(model.predict(np.ones((2, 1))), [1, 1])
