"""Kernel methods beside what a user of scikit-learn would write in their place."""

import numpy as np
from sklearn.linear_model import ARDRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks.harness import OURS, Case, Data, function, no_worse
from fivefold.svm import RVR


def noisy_curve(n):
    """One column, a sinc curve with noise of standard deviation 0.1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(n, 1))
    return Data(X, np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=n))


def relevance_by_columns(data):
    """Automatic relevance determination over the kernels with all rows: the relevance vector machine by hand."""
    kernels = FunctionTransformer(lambda X: rbf_kernel(X, data.X, gamma=0.2))
    return make_pipeline(kernels, ARDRegression(threshold_lambda=1e8, max_iter=100)).fit(data.X, data.y)


def error_of_curve(data, model):
    """Root mean squared distance from the curve without noise."""
    X = np.linspace(-10, 10, 500)[:, None]
    return float(np.sqrt(np.mean((model.predict(X) - np.sinc(X[:, 0] / np.pi)) ** 2)))


CASES = (
    Case(
        "RVR fit",
        noisy_curve,
        300,
        {
            "scikit-learn": function(relevance_by_columns),
            OURS: function(lambda data: RVR(gamma=0.2).fit(data.X, data.y)),
        },
        no_worse(error_of_curve, 0.3),
        10,
        "beside ARDRegression on the kernels with all rows",
    ),
)
