"""Densities beside scikit-learn, SciPy and NumPy."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as RivalDensity

from fivefold.density import HistogramDensity, KernelDensity

METRICS = (
    ("euclidean", None),
    ("manhattan", None),
    ("chebyshev", None),
    ("minkowski", {"p": 3}),
    ("haversine", None),
    ("canberra", None),
    ("mahalanobis", {"V": np.array([[1.0, 0.3], [0.3, 2.0]])}),
    ("seuclidean", {"V": np.array([1.0, 4.0])}),
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    return rng.normal(size=(400, 2)), rng.normal(size=(50, 2)), rng.uniform(0.5, 2, 400)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_log_densities_are_scikit_learns(table, kernel):
    """Where its subtraction of bounds leaves nothing but rounding, ours is minus infinity.

    In an even number of columns its cosine kernel integrates to 0.36, not to one: one column is compared.
    """
    X, Q, w = table if kernel != "cosine" else [a[:, :1] if a.ndim == 2 else a for a in table]
    settings = {"kernel": kernel, "bandwidth": 0.6}
    ours = KernelDensity(**settings).fit(X, sample_weight=w).score_samples(Q)
    theirs = RivalDensity(**settings).fit(X, sample_weight=w).score_samples(Q)
    inside = np.isfinite(ours)
    np.testing.assert_allclose(ours[inside], theirs[inside], rtol=1e-7)
    assert (theirs[~inside] < -20).all()


@pytest.mark.parametrize(("metric", "params"), METRICS, ids=[name for name, _ in METRICS])
def test_every_metric(table, metric, params):
    X, Q, w = table
    settings = {"metric": metric, "metric_params": params, "bandwidth": 0.5}
    ours = KernelDensity(**settings).fit(X, sample_weight=w).score_samples(Q)
    np.testing.assert_allclose(ours, RivalDensity(**settings).fit(X, sample_weight=w).score_samples(Q), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
def test_the_same_seed_draws_the_same_rows(table, kernel):
    X, _, w = table
    ours = KernelDensity(kernel=kernel).fit(X, sample_weight=w).sample(30, random_state=5)
    theirs = RivalDensity(kernel=kernel).fit(X, sample_weight=w).sample(30, random_state=5)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_the_tree_of_the_rows_answers_alike(table, algorithm):
    X, Q, w = table
    ours = KernelDensity(algorithm=algorithm).fit(X, sample_weight=w).tree_
    theirs = RivalDensity(algorithm=algorithm).fit(X, sample_weight=w).tree_
    assert type(ours).__name__ == type(theirs).__name__
    np.testing.assert_allclose(ours.query(Q, k=3)[0], theirs.query(Q, k=3)[0], rtol=1e-9)
    np.testing.assert_allclose(ours.kernel_density(Q, 0.5), theirs.kernel_density(Q, 0.5), rtol=1e-6)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_rules_of_width(table, rule):
    X, _, _ = table
    assert KernelDensity(bandwidth=rule).fit(X).bandwidth_ == RivalDensity(bandwidth=rule).fit(X).bandwidth_


def test_a_grid_search_chooses_the_same_width(table):
    X, _, _ = table
    widths = {"bandwidth": np.logspace(-1, 1, 10)}
    ours, theirs = (GridSearchCV(model, widths).fit(X) for model in (KernelDensity(), RivalDensity()))
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)


def test_a_window_of_the_covariance_is_scipys(table):
    X, Q, _ = table
    ours = KernelDensity(bandwidth="scott", shape="full").fit(X)
    np.testing.assert_allclose(ours.score_samples(Q), gaussian_kde(X.T).logpdf(Q.T), rtol=1e-10)


def test_heights_of_a_histogram_are_numpys(table):
    X, _, w = table
    heights, edges = np.histogramdd(X, bins=(7, 4), weights=w, density=True)
    model = HistogramDensity([7, 4]).fit(X, sample_weight=w)
    centres = np.stack(np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in edges), indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(model.density(centres), heights.ravel(), rtol=1e-12)
