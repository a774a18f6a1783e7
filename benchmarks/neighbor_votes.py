"""Votes of neighbours, outlier factors and centroids beside scikit-learn's and Intel's."""

from functools import partial

import numpy as np

from benchmarks.harness import Case, Data, beside_sklearn, drop_in, fit, predict, same, same_output, same_predictions


def groups(n, d=16, K=5, seed=0):
    """Overlapping groups, and their numbers as target."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    return Data(rng.normal(size=(K, d))[codes] + rng.normal(size=(n, d)), codes)


def waves(n, d=16, spread=1.0, seed=0):
    """A smooth target of two columns under noise; rows within three spreads."""
    rng = np.random.default_rng(seed)
    X = spread * np.clip(rng.normal(size=(n, d)), -3, 3)
    return Data(X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n))


def answer(estimator, data):
    """Time fit and the answers to a tenth as many new rows, which are like those of fit."""
    rng = np.random.default_rng(1)
    X = data.X[: len(data.X) // 10]
    queries = X + 0.1 * rng.normal(size=X.shape)
    return lambda: estimator.fit(data.X, data.y).predict(queries)


def mark(estimator, data):
    """Time `fit_predict`."""
    return lambda: estimator.fit_predict(data.X)


RADIUS = partial(beside_sklearn, "neighbors.RadiusNeighborsRegressor")
CENTROID = partial(beside_sklearn, "neighbors.NearestCentroid")

CASES = (
    Case(
        "KNeighborsClassifier fit and predict",
        groups,
        100_000,
        drop_in("neighbors.KNeighborsClassifier", answer, n_neighbors=10),
        same_predictions(0.9999),
        2,
        "k = 10, 10,000 queries",
    ),
    Case(
        "KNeighborsRegressor fit and predict",
        waves,
        100_000,
        drop_in("neighbors.KNeighborsRegressor", answer, n_neighbors=10),
        same_output(1e-6),
        2,
        "k = 10, 10,000 queries",
    ),
    Case(
        "RadiusNeighborsRegressor fit and predict",
        partial(waves, d=3, spread=0.5),  # every query has a neighbour: means of none are NaN
        100_000,
        RADIUS(answer, radius=0.5, weights="distance"),
        same_output(1e-6),
        2,
        "radius 0.5, by distance",
    ),
    Case(
        "RadiusNeighborsClassifier fit and predict",
        groups,
        100_000,
        beside_sklearn("neighbors.RadiusNeighborsClassifier", answer, radius=2.5, outlier_label=0),
        same_predictions(0.9999),
        2,
        "radius 2.5",
    ),
    Case(
        "LocalOutlierFactor fit_predict",
        groups,
        20_000,
        drop_in("neighbors.LocalOutlierFactor", mark),
        same_predictions(),
        2,
        "20 neighbours",
        beside="scikit-learn",
    ),
    Case(
        "LocalOutlierFactor fit_predict few columns",
        partial(groups, d=5),
        50_000,
        drop_in("neighbors.LocalOutlierFactor", mark),
        same_predictions(),
        2,
        "20 neighbours",
        beside="scikit-learn",
    ),
    Case("NearestCentroid fit", groups, 100_000, CENTROID(fit), same("centroids_", "deviations_"), 2),
    Case("NearestCentroid predict", groups, 100_000, CENTROID(predict), same_predictions(), 2),
    Case(
        "NearestCentroid fit medians",
        groups,
        100_000,
        CENTROID(fit, metric="manhattan"),
        same("centroids_"),
        2,
        "manhattan",
    ),
)
