"""Soft trees beside boosted trees and a network of scikit-learn, where borders are oblique and smooth."""

from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.harness import Case, Data, function, no_worse


def oblique(n, d, K=3):
    """Classes by soft, oblique borders."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    hidden = np.tanh(X @ rng.normal(size=(d, 6)))
    return Data(X, (3 * hidden @ rng.normal(size=(6, K)) + rng.gumbel(size=(n, K))).argmax(axis=1))


def smooth(n, d):
    """Numbers along three oblique directions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return Data(X, np.tanh(X @ rng.normal(size=(d, 3))) @ np.ones(3) + 0.1 * rng.normal(size=n))


def _halves(data):
    return train_test_split(data.X, data.y, random_state=0)


def error_on_new_rows(data, model):
    """Share of wrong classes."""
    _, U, _, v = _halves(data)
    return float(np.mean(model.predict(U) != v))


def squares_on_new_rows(data, model):
    """Mean squared error."""
    _, U, _, v = _halves(data)
    return float(np.mean((model.predict(U) - v) ** 2))


def _fits(make):
    def call(data):
        X, _, y, _ = _halves(data)
        return make().fit(X, y)

    return function(call)


def _network(kind):
    from sklearn import neural_network

    return getattr(neural_network, kind)(random_state=0, max_iter=60, early_stopping=True)


def _boosting(kind):
    from sklearn import ensemble

    return getattr(ensemble, kind)(random_state=0)


def _soft(kind, **settings):
    from fivefold import tree

    return getattr(tree, kind)(max_depth=4, random_state=0, **settings)


CASES = (
    Case(
        "SoftTreeClassifier fit",
        partial(oblique, d=10),
        8_000,
        {
            "scikit-learn GradientBoostingClassifier": _fits(partial(_boosting, "GradientBoostingClassifier")),
            "scikit-learn MLPClassifier": _fits(partial(_network, "MLPClassifier")),
            "fivefold": _fits(partial(_soft, "SoftTreeClassifier")),
        },
        no_worse(error_on_new_rows, 0.0),
        2.0,
        "3 classes, depth 4; errors on a quarter of the rows",
    ),
    Case(
        "SoftTreeRegressor fit",
        partial(smooth, d=10),
        8_000,
        {
            "scikit-learn GradientBoostingRegressor": _fits(partial(_boosting, "GradientBoostingRegressor")),
            "scikit-learn MLPRegressor": _fits(partial(_network, "MLPRegressor")),
            "fivefold": _fits(partial(_soft, "SoftTreeRegressor")),
        },
        no_worse(squares_on_new_rows, 0.0),
        2.0,
        "depth 4; errors on a quarter of the rows",
    ),
)
