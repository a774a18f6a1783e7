"""Smoothers beside statsmodels, SciPy and scikit-learn, on one noisy curve."""

from functools import partial

import numpy as np
from scipy.interpolate import make_smoothing_spline

from benchmarks.harness import OURS, Absent, Case, Data, beside_sklearn, fit, function, predict, same, same_output
from fivefold.smoothing import KNearestSmoother, NadarayaWatson, RunningMedian, SmoothingSpline, lowess


def curve(n, seed=0, spaced=False):
    """A sine under noise with heavy tails; x drawn, or in equal steps."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 10, n) if spaced else rng.uniform(0, 10, n)
    return Data(x[:, None], np.sin(x) + 0.3 * rng.standard_t(3, size=n))


def rising(n, seed=0):
    """A rising curve under noise, x as a vector."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return Data(x, np.log1p(x) + 0.5 * rng.normal(size=n))


def surface(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return Data(X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n))


def loess(**settings):
    """statsmodels' function and ours, to equal values."""

    def theirs(table):
        try:
            from statsmodels.nonparametric.smoothers_lowess import lowess as rival
        except ImportError:
            raise Absent("statsmodels") from None
        return lambda: rival(table.y, table.X[:, 0], **settings)[:, 1]

    return {"statsmodels": theirs, OURS: function(lambda table: lowess(table.y, table.X[:, 0], **settings)[:, 1])}


def kernel_regression(table):
    try:
        from statsmodels.nonparametric.kernel_regression import KernelReg
    except ImportError:
        raise Absent("statsmodels") from None
    model = KernelReg(table.y, table.X, "ccc", reg_type="lc", bw=[0.4] * 3, rng=0)
    return lambda: model.fit(table.X)[0]


def neighbours(table):
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(50).fit(table.X, table.y)
    return lambda: model.predict(table.X)


def rolling_median(table):
    """pandas' median of 101 rows in a row, which on equal steps is the window of a width."""
    import pandas as pd

    return lambda: pd.Series(table.y).rolling(101, center=True, min_periods=1).median().to_numpy()


def spline(table):
    """SciPy's spline of the price that ours has at alpha=1e-3."""
    x = table.X[:, 0]
    return lambda: make_smoothing_spline(x, table.y, lam=1e-3 * x.std() ** 3)(x)


def predicted(make):
    """Ours: fit, and the values at the rows."""
    return function(lambda table: make(table).fit(table.X, table.y).predict(table.X))


def window(table):
    return 50.5 * float(table.X[1, 0] - table.X[0, 0])


ISOTONIC = partial(beside_sklearn, "isotonic.IsotonicRegression")
CORNERS = same("X_thresholds_", "y_thresholds_")

CASES = (
    Case("Loess fit", curve, 5_000, loess(), same_output(1e-9), 3, "frac 2/3, three rounds"),
    Case("Loess narrow fit", curve, 10_000, loess(frac=0.1, it=1), same_output(1e-9), 3, "frac 0.1, one round"),
    Case("Loess skipping fit", curve, 100_000, loess(delta=0.1), same_output(1e-9), 3, "delta 1 % of the range"),
    Case("IsotonicRegression small fit", rising, 150, ISOTONIC(fit), CORNERS, 1),
    Case("IsotonicRegression fit", rising, 1_000_000, ISOTONIC(fit), CORNERS, 1),
    Case("IsotonicRegression predict", rising, 1_000_000, ISOTONIC(predict), same_output(1e-9), 1),
    Case(
        "NadarayaWatson predict",
        surface,
        1_500,
        {"statsmodels": kernel_regression, OURS: predicted(lambda table: NadarayaWatson(0.4))},
        same_output(1e-8),
        3,
        "three columns",
    ),
    Case(
        "KNearestSmoother predict",
        surface,
        10_000,
        {"scikit-learn": neighbours, OURS: predicted(lambda table: KNearestSmoother(50))},
        same_output(1e-9),
        1,
        "three columns, 50 neighbours; ours with its fit",
    ),
    Case(
        "RunningMedian predict",
        partial(curve, spaced=True),
        100_000,
        {"pandas": rolling_median, OURS: predicted(lambda table: RunningMedian(window(table)))},
        same_output(1e-9),
        1,
        "101 rows in equal steps",
    ),
    Case(
        "SmoothingSpline one column",
        partial(curve, spaced=True),
        2_000,
        {"SciPy": spline, OURS: predicted(lambda table: SmoothingSpline(1e-3))},
        same_output(1e-5),
        1,
        "in more rows SciPy's normal equations lose their digits",
    ),
)
