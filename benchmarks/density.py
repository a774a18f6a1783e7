"""Kernel densities beside scikit-learn's and SciPy's: log densities of rows, with and without a tolerance."""

from functools import partial

import numpy as np
from scipy.stats import gaussian_kde

from benchmarks.harness import OURS, Case, Data, beside_sklearn, function, same_output
from fivefold.density import GaussianOutlierDetector, KernelDensity

QUERIES = 1_000  # rows whose density is asked; scikit-learn takes seconds for them


def clouds(n, d, seed=0):
    """Two Gaussians of unlike width."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[: n // 2] = 0.4 * X[: n // 2] + 3.0
    return Data(np.ascontiguousarray(rng.permutation(X)))


def contaminated(n, seed=0):
    """A Gaussian with a tenth of the rows far away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5))
    X[: n // 10] += 15.0
    return Data(X)


def score(estimator, data, rows=QUERIES):
    """Time the log densities of some of the rows of the fit."""
    fitted, some = estimator.fit(data.X), np.ascontiguousarray(data.X[:rows])
    return lambda: fitted.score_samples(some)


def scipy_scores(table):
    return gaussian_kde(table.X.T).logpdf(table.X[:QUERIES].T)


def our_scores(table):
    return KernelDensity(bandwidth="scott", shape="full").fit(table.X).score_samples(table.X[:QUERIES])


def elliptic(table):
    from sklearn.covariance import EllipticEnvelope

    return EllipticEnvelope(contamination=0.1, random_state=0).fit(table.X).predict(table.X)


def most_marks_equal(table, ours, rival):
    """Both are exact on the majority only; rows at the threshold may differ."""
    equal = float(np.mean(np.asarray(ours) == np.asarray(rival)))
    assert equal > 0.98, f"only {equal:.2%} of the marks are equal"
    return f"{equal:.2%} of marks equal"


KDE = partial(beside_sklearn, "neighbors.KernelDensity")
ONE, TWO, THREE = (partial(clouds, d=d) for d in (1, 2, 3))
EXACT, LOOSE = same_output(1e-9), same_output(2e-4)

CASES = (
    Case("KernelDensity d=1", ONE, 100_000, KDE(score, bandwidth=0.1), EXACT, 5, "1000 queries"),
    Case("KernelDensity d=2", TWO, 100_000, KDE(score, bandwidth=0.2), EXACT, 5, "1000 queries"),
    Case("KernelDensity d=3", THREE, 100_000, KDE(score, bandwidth=0.3), EXACT, 5, "1000 queries"),
    Case("KernelDensity d=3 wide", THREE, 100_000, KDE(score, bandwidth=1.0), EXACT, 5, "1000 queries"),
    Case(
        "KernelDensity rtol", THREE, 100_000, KDE(score, bandwidth=0.3, rtol=1e-4), LOOSE, 5, "1000 queries, rtol=1e-4"
    ),
    Case(
        "KernelDensity compact",
        TWO,
        100_000,
        KDE(score, bandwidth=0.5, kernel="epanechnikov"),
        same_output(1e-6),
        5,
        "epanechnikov, 1000 queries",
    ),
    Case("KernelDensity 150 x 4", partial(clouds, d=4), 150, KDE(score, bandwidth=0.5), EXACT, 1, "all rows"),
    Case(
        "KernelDensity one row",
        partial(clouds, d=4),
        150,
        KDE(partial(score, rows=1), bandwidth=0.5),
        EXACT,
        1,
        "150 x 4, one query",
    ),
    Case(
        "KernelDensity covariance",
        TWO,
        100_000,
        {"SciPy": function(scipy_scores), OURS: function(our_scores)},
        EXACT,
        2,
        "shape='full', 1000 queries, with the fit",
    ),
    Case(
        "GaussianOutlierDetector robust",
        contaminated,
        5_000,
        {
            "scikit-learn": function(elliptic),
            OURS: function(
                lambda table: GaussianOutlierDetector(robust=True, support_fraction=0.5).fit(table.X).predict(table.X)
            ),
        },
        most_marks_equal,
        1,
        "minimum covariance determinant",
    ),
)
