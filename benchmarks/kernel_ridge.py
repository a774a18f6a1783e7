"""Kernel ridge regression beside scikit-learn's, and smoothing splines beside SciPy's radial functions."""

from functools import partial

import numpy as np
from scipy.interpolate import RBFInterpolator

from benchmarks.harness import OURS, Case, Data, beside_sklearn, fit, function, predict, same, same_output
from fivefold.kernel_ridge import SmoothingSpline


def waves(n, d=10, seed=0):
    """A smooth target of a few columns, under noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Data(X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n))


def cubic(table):
    """SciPy's surface of the same penalty: its radial function lacks the factor of 1 / 12."""
    spread = np.sqrt(np.square(table.X - table.X.mean(axis=0)).sum(axis=1).mean())
    return RBFInterpolator(table.X, table.y, kernel="cubic", degree=1, smoothing=12 * 0.1 * spread**3)(table.X[:10])


RIDGE = partial(beside_sklearn, "kernel_ridge.KernelRidge", kernel="rbf", alpha=0.1)

CASES = (
    Case("KernelRidge fit", waves, 3_000, RIDGE(fit), same("dual_coef_", rtol=1e-6), 1, "rbf"),
    Case("KernelRidge predict", waves, 3_000, RIDGE(predict), same_output(), 1, "rbf"),
    Case(
        "SmoothingSpline fit",
        partial(waves, d=3),
        1_500,
        {
            "SciPy": function(cubic),
            OURS: function(lambda table: SmoothingSpline(0.1).fit(table.X, table.y).predict(table.X[:10])),
        },
        same_output(1e-8),
        0.7,
    ),
)
