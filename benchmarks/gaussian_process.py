"""Gaussian processes beside scikit-learn's, both with parameters by evidence from the same start."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.harness import Absent, Case, Data, as_good, beside_sklearn, fit, predict, same_predictions

COLUMNS = 5


def waves(n, d=COLUMNS, seed=0):
    """A smooth target of two columns, under noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Data(X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n))


def two_sides(n):
    """The same, above and below the median."""
    data = waves(n)
    return Data(data.X, (data.y > np.median(data.y)).astype(int))


def minus_log_evidence(data, model):
    """From the covariance that the kernel found gives, by a decomposition that neither uses."""
    K = model.kernel_(data.X)
    values, vectors = np.linalg.eigh(K + 1e-10 * np.eye(len(K)))
    z = vectors.T @ data.y
    return 0.5 * float((z * z / values).sum() + np.log(values).sum() + len(z) * np.log(2 * np.pi))


ISOTROPIC = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
ARD = ConstantKernel(1.0) * RBF(np.ones(COLUMNS)) + WhiteKernel(0.1)
REGRESSOR = partial(beside_sklearn, "gaussian_process.GaussianProcessRegressor")
CLASSIFIER = partial(beside_sklearn, "gaussian_process.GaussianProcessClassifier", kernel=1.0 * RBF(1.0))


class GPyModel(NamedTuple):
    """A model of GPy, as the agreement reads one."""

    kernel_: Callable[[np.ndarray], np.ndarray]


def gpy(ard):
    """GPy's regression with the same kernel from the same start."""

    def prepare(data):
        try:
            import GPy
        except ImportError as error:
            raise Absent("GPy is not installed") from error

        def call():
            kernel = GPy.kern.RBF(data.X.shape[1], ARD=ard)
            model = GPy.models.GPRegression(data.X, data.y[:, None], kernel, noise_var=0.1)
            model.optimize()
            noise = float(model.likelihood.variance[0])
            return GPyModel(lambda X: model.kern.K(X) + noise * np.eye(len(X)))

        return call

    return prepare


CASES = (
    Case(
        "GaussianProcessRegressor fit",
        waves,
        1_500,
        {**REGRESSOR(fit, kernel=ISOTROPIC), "GPy": gpy(False)},
        as_good(minus_log_evidence),
        2.5,
        "one width",
    ),
    Case(
        "GaussianProcessRegressor fit, a width per column",
        waves,
        1_500,
        {**REGRESSOR(fit, kernel=ARD), "GPy": gpy(True)},
        as_good(minus_log_evidence),
        3,
        "a width per column",
    ),
    Case("GaussianProcessClassifier fit", two_sides, 400, CLASSIFIER(fit), same_predictions(0.99), 2, "two classes"),
    Case(
        "GaussianProcessClassifier predict",
        two_sides,
        400,
        CLASSIFIER(predict),
        same_predictions(0.99),
        1,
        "two classes",
    ),
)
