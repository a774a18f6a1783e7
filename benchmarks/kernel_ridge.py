"""Kernel ridge regression beside scikit-learn's."""

from functools import partial

import numpy as np

from benchmarks.harness import Case, Data, beside_sklearn, fit, predict, same, same_output


def waves(n, d=10, seed=0):
    """A smooth target of a few columns, under noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Data(X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n))


RIDGE = partial(beside_sklearn, "kernel_ridge.KernelRidge", kernel="rbf", alpha=0.1)

CASES = (
    Case("KernelRidge fit", waves, 3_000, RIDGE(fit), same("dual_coef_", rtol=1e-6), 1, "rbf"),
    Case("KernelRidge predict", waves, 3_000, RIDGE(predict), same_output(), 1, "rbf"),
)
