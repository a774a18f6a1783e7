"""Isotonic regression: the laws of the registry on one column, which its tables do not have."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone

from fivefold.core.storage import model_files
from fivefold.isotonic import IsotonicRegression, isotonic_regression


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(0, 5, n), 1)
    return x, x**1.5 + rng.normal(size=n)


def test_pooling_finds_the_least_squares_monotone_sequence():
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=12) + np.arange(12) / 4, rng.uniform(0.5, 2, 12)
    cumulated = minimize(
        lambda s: w @ np.square(y - np.cumsum(s)),
        np.full(12, 0.2),
        bounds=[(None, None), *[(0, None)] * 11],
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )
    assert_allclose(isotonic_regression(y, sample_weight=w), np.cumsum(cumulated.x), atol=1e-4)


@pytest.mark.parametrize("increasing", [True, False, "auto"])
def test_weights_mean_repetition_and_rows_of_weight_zero_are_not_there(increasing):
    x, y = rows()
    w = np.random.default_rng(1).integers(0, 4, 60)
    order = np.random.default_rng(2).permutation(60)
    weighted = IsotonicRegression(increasing=increasing, out_of_bounds="clip").fit(x[order], y[order], w[order])
    repeated = IsotonicRegression(increasing=increasing, out_of_bounds="clip").fit(x.repeat(w), y.repeat(w))
    places = np.linspace(-1, 6, 50)
    assert_allclose(weighted.predict(places), repeated.predict(places), rtol=1e-10)


def test_vectors_columns_and_frames_say_the_same(tmp_path):
    x, y = rows()
    model = IsotonicRegression().fit(x, y)
    values = model.predict(x)
    for X in (x[:, None], list(x), pd.Series(x), pd.DataFrame({"x": x}), pl.DataFrame({"x": x})):
        assert_array_equal(IsotonicRegression().fit(X, y).predict(X), values)
    assert_array_equal(model.transform(x), values)
    assert_array_equal(model.f_(x), values)
    model_files.save(model, tmp_path / "model.skops")
    for copy in (pickle.loads(pickle.dumps(model)), model_files.load(tmp_path / "model.skops")):
        assert_array_equal(copy.predict(x), values)
    assert clone(model).get_params() == model.get_params()


def test_odd_rows_are_taken_or_refused_in_words():
    x, y = rows()
    assert_array_equal(IsotonicRegression().fit([3.0], [2.0]).predict([1.0, 3.0]), [2.0, 2.0])
    assert_allclose(IsotonicRegression().fit(np.full(4, 3.0), [0.0, 1.0, 2.0, 3.0]).predict([3.0]), [1.5])
    near, far = IsotonicRegression().fit(x, y).predict(x), IsotonicRegression().fit(x + 1e8, y).predict(x + 1e8)
    assert_allclose(far, near, rtol=1e-6)
    small = IsotonicRegression().fit(x * 1e-17, y)  # scikit-learn makes one row of these
    assert_allclose(small.predict(x * 1e-17), near, rtol=1e-10)
    gone = x.copy()
    gone[3] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in 1 of 60 rows, first in row 3"):
        IsotonicRegression().fit(gone, y)
    with pytest.raises(ValueError, match="should be a 1d array or 2d array with 1 feature"):
        IsotonicRegression().fit(np.column_stack([x, x]), y)
    with pytest.raises(ValueError, match="below the interpolation range"):
        IsotonicRegression(out_of_bounds="raise").fit(x, y).predict([-1.0])
    assert np.isnan(IsotonicRegression().fit(x, y).predict([-1.0, 99.0])).all()
    with pytest.warns(UserWarning, match="spans zero"):
        IsotonicRegression(increasing="auto").fit(np.arange(6.0), [0.0, 1.0, 0.0, 1.0, 0.0, 0.5])


def test_the_method_is_found_in_its_chapter_too():
    import fivefold.smoothing

    assert fivefold.smoothing.IsotonicRegression is IsotonicRegression
