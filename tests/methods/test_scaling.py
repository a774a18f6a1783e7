"""One factor for the whole table."""

import numpy as np
from numpy.testing import assert_allclose

from fivefold.linear_model import Ridge
from fivefold.preprocessing import CommonScaler, Normalizer


def rows(n=50, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 10, 100, 0.1] + 7
    return X, X @ [1.0, 0.2, 0.03, 4.0] + rng.normal(size=n)


def test_rows_have_a_mean_squared_length_of_one_and_the_factor_serves_new_rows():
    """B-80."""
    X, _ = rows()
    scaler = CommonScaler().fit(X)
    assert_allclose((scaler.transform(X) ** 2).sum(1).mean(), 1, rtol=1e-12)
    assert_allclose(scaler.transform(X[:3] + 1), (X[:3] + 1) * scaler.factor_)
    assert_allclose(scaler.inverse_transform(scaler.transform(X)), X)


def test_coefficients_are_given_back_in_the_units_of_the_data():
    """B-80: a model of scaled rows and targets of unit variance, undone, predicts the same."""
    X, y = rows()
    inputs, target = CommonScaler(centre=True).fit(X), CommonScaler(centre=True).fit(y[:, None])
    scaled = target.transform(y[:, None])[:, 0]
    assert_allclose(scaled.var(), 1)
    model = Ridge(1.0).fit(inputs.transform(X), scaled)
    coef, intercept = inputs.undo(model.coef_, model.intercept_, target)
    expected = target.inverse_transform(model.predict(inputs.transform(X))[:, None])[:, 0]
    assert_allclose(X @ coef + intercept, expected, rtol=1e-10)


def test_a_table_of_zeros_and_rows_of_zeros_are_left_alone():
    """B-81."""
    assert CommonScaler().fit(np.zeros((3, 2))).factor_ == 1
    assert_allclose(Normalizer().fit_transform([[0.0, 0.0], [0.0, 2.0]]), [[0, 0], [0, 1]])
    assert_allclose(CommonScaler().fit_transform([[1e200], [1e200]]), [[1], [1]])
