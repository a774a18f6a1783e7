"""Smoothers beside statsmodels (recorded figures), SciPy and scikit-learn."""

import json
from pathlib import Path

import numpy as np
import pytest
import sklearn.isotonic
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import make_smoothing_spline
from sklearn.neighbors import KNeighborsRegressor

from fivefold.isotonic import IsotonicRegression, check_increasing, isotonic_regression
from fivefold.smoothing import KNearestSmoother, LocalPolynomial, Loess, NadarayaWatson, SmoothingSpline, lowess

RECORDED = (
    json.loads(Path(__file__).with_name("loess.json").read_text())
    if Path(__file__).with_name("loess.json").exists()
    else {}
)
LOWESS_CASES = {  # ties among x, and settings
    "defaults": (False, {}),
    "few rows in a window": (False, {"frac": 0.1, "it": 2}),
    "not robust": (False, {"frac": 0.3, "it": 0}),
    "skipping": (False, {"frac": 0.25, "it": 3, "delta": 0.3}),
    "ties": (True, {"frac": 0.4, "it": 3}),
    "ties and skipping": (True, {"frac": 0.2, "it": 1, "delta": 0.25}),
    "all rows": (False, {"frac": 1.0, "it": 4}),
}


def curve(ties=False):
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, 120)
    return (np.round(x, 1) if ties else x), np.sin(x) + 0.3 * rng.standard_t(2, size=120) + 5.0


def curve_of_two():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=80)


def query_places():
    return np.linspace(-0.5, 10.5, 23)


@pytest.mark.parametrize("name", LOWESS_CASES)
def test_lowess_is_statsmodels(name):
    ties, settings = LOWESS_CASES[name]
    x, y = curve(ties)
    theirs = np.array(RECORDED["lowess"][name])
    assert_allclose(lowess(y, x, **settings)[:, 1], theirs, rtol=1e-10)
    assert_array_equal(lowess(y, x, **settings)[:, 0], np.sort(x))
    frac, it, delta = (settings.get(key, default) for key, default in (("frac", 2 / 3), ("it", 3), ("delta", 0.0)))
    model = Loess(frac, it, delta).fit(x[:, None], y)
    assert_allclose(model.predict(np.sort(x)[:, None]), theirs, rtol=1e-10)
    order = np.argsort(x, kind="stable")
    assert_allclose(lowess(y, x, return_sorted=False, **settings)[order], theirs, rtol=1e-10)
    if name in RECORDED["xvals"]:
        assert_allclose(lowess(y, x, xvals=query_places(), **settings), RECORDED["xvals"][name], rtol=1e-10)


def test_lowess_drops_missing_values_as_statsmodels_does():
    x, y = curve()
    gone = x.copy()
    gone[[3, 7]] = np.nan
    kept = np.isfinite(gone)
    assert_array_equal(lowess(y, gone), lowess(y[kept], x[kept]))
    alone = lowess(y, gone, return_sorted=False)
    assert np.isnan(alone[[3, 7]]).all() and np.isfinite(alone[kept]).all()
    with pytest.raises(ValueError, match="NaN or infinity in row 3"):
        lowess(y, gone, missing="raise")


@pytest.mark.parametrize(("kind", "degree"), [("lc", 0), ("ll", 1)])
def test_kernel_regression_is_statsmodels(kind, degree):
    """Its product of Gaussian kernels of one width is the Gaussian kernel of the distance."""
    X, y = curve_of_two()
    model = LocalPolynomial(degree, 0.4, kernel="gaussian").fit(X, y)
    assert_allclose(model.predict(X[:20]), RECORDED["kernel"][kind], rtol=1e-8)
    if degree == 0:
        assert_allclose(NadarayaWatson(0.4).fit(X, y).predict(X), model.predict(X), rtol=1e-13)


def test_nearest_smoother_is_scikit_learns_neighbours_where_no_rows_tie():
    X, y = curve_of_two()
    theirs = KNeighborsRegressor(7).fit(X, y).predict(X)
    assert_allclose(KNearestSmoother(7).fit(X, y).predict(X), theirs, rtol=1e-12)
    one = KNeighborsRegressor(7).fit(X[:, :1], y).predict(X[:, :1])
    assert_allclose(KNearestSmoother(7).fit(X[:, :1], y).predict(X[:, :1]), one, rtol=1e-12)


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1.0])
def test_smoothing_spline_is_scipys(alpha):
    """On rows of equal steps, where SciPy's normal equations keep their digits."""
    rng = np.random.default_rng(0)
    x, w = np.linspace(0, 5, 80), rng.uniform(0.5, 2, 80)
    y = np.sin(x) + 0.2 * rng.normal(size=80)
    model = SmoothingSpline(alpha).fit(x[:, None], y, sample_weight=w)
    places = np.linspace(0, 5, 201)
    theirs = make_smoothing_spline(x, y, w, lam=model.penalty_)(places)
    assert_allclose(model.predict(places[:, None]), theirs, atol=1e-9)


def isotonic_rows(n=300, ties=True, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return (np.round(x, 1) if ties else x), np.log1p(x) + rng.normal(size=n), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "settings", [{}, {"increasing": False}, {"increasing": "auto", "out_of_bounds": "clip"}, {"y_min": 1, "y_max": 2}]
)
def test_isotonic_regression_is_scikit_learns(ties, dtype, settings):
    x, y, w = isotonic_rows(ties=ties)
    x = x.astype(dtype)
    for weights in (None, w):
        ours = IsotonicRegression(**settings).fit(x, y, sample_weight=weights)
        theirs = sklearn.isotonic.IsotonicRegression(**settings).fit(x, y, sample_weight=weights)
        rtol = 1e-12 if dtype is np.float64 else 1e-5
        assert_allclose(ours.X_thresholds_, theirs.X_thresholds_, rtol=rtol)
        assert_allclose(ours.y_thresholds_, theirs.y_thresholds_, rtol=rtol)
        assert (ours.increasing_, ours.X_min_, ours.X_max_) == (theirs.increasing_, theirs.X_min_, theirs.X_max_)
        places = np.linspace(-1, 11, 100).astype(dtype)
        assert_allclose(ours.predict(places), theirs.predict(places), rtol=rtol)
        assert ours.predict(places).dtype == dtype
        assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_isotonic_functions_are_scikit_learns():
    _, y, w = isotonic_rows()
    for more in ({}, {"sample_weight": w + 1}, {"increasing": False, "y_min": 0.5, "y_max": 1.5}):
        assert_allclose(isotonic_regression(y, **more), sklearn.isotonic.isotonic_regression(y, **more), rtol=1e-12)
    x = np.arange(len(y))
    assert check_increasing(x, np.sort(y)) and not check_increasing(x, -np.sort(y))
