"""Oblique and curved trees beside scikit-learn's tree of boxes on the same rows.

There is no tree of hyperplanes in scikit-learn. A case counts where ours errs no more on new rows than its tree grown
to the end, with half the leaves at most; the ratio says what a search for slanted questions costs.
"""

from functools import partial

import numpy as np

from benchmarks.harness import OURS, Case, Data, both, no_worse


def rotated(n, d=10, seed=0):
    """Three classes in boxes of rotated coordinates."""
    turn = np.linalg.qr(np.random.RandomState(1).normal(size=(d, d)))[0]
    X = np.random.RandomState(seed).normal(size=(n, d))
    Z = X @ turn
    return Data(X, np.where(Z[:, 0] > 0.2, 0, np.where(Z[:, 1] > 0, 1, 2)))


def shells(n, d=4, seed=0):
    """Two classes in shells about a point off the middle."""
    X = np.random.RandomState(seed).normal(size=(n, d))
    r = np.linalg.norm(X - 0.3, axis=1)
    return Data(X, ((r > 1.5) & (r < 2.4)).astype(np.int64))


def half_the_leaves(table, result):
    """Leaves; the plain tree may have twice as many."""
    ours, model = result
    return float(model.get_n_leaves() * (2 if ours else 1))


def mistakes_on(make):
    """The share of wrong answers on rows that were not learned from, as an objective."""

    def new_mistakes(table, result):
        new = make(20_000, seed=1)
        return float(np.mean(result[1].predict(new.X) != new.y))

    return new_mistakes


def levels(n, d=6, seed=0):
    """Numbers on steps across a slanted direction, with noise."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    return Data(X, np.floor(X @ np.linspace(0.2, 1.0, d)) + 0.1 * rng.normal(size=n))


def new_squares(table, result):
    """Mean squared error on rows that were not learned from."""
    new = levels(20_000, seed=1)
    return float(np.mean((result[1].predict(new.X) - new.y) ** 2))


def contest(name, *, kind="DecisionTreeClassifier", **settings):
    def ours(table):
        import fivefold.tree

        model = getattr(fivefold.tree, name)(random_state=0, **settings)
        return lambda: (True, model.fit(table.X, table.y))

    def boxes(table):
        import sklearn.tree

        model = getattr(sklearn.tree, kind)(random_state=0)
        return lambda: (False, model.fit(table.X, table.y))

    return {OURS: ours, "sklearn": boxes}


SMALLER = no_worse(half_the_leaves, 0.0)
ROTATED = both(SMALLER, no_worse(mistakes_on(rotated), 0.0))
SHELLS = both(SMALLER, no_worse(mistakes_on(shells), 0.0))
BOXES = "rotated boxes"
OBLIQUE, CURVED = partial(contest, "ObliqueTreeClassifier"), partial(contest, "CurvedTreeClassifier")

CASES = (
    Case("ObliqueTreeClassifier fit cart", rotated, 5_000, OBLIQUE(search="cart"), ROTATED, 0.05, BOXES),
    Case("ObliqueTreeClassifier fit oc1", rotated, 5_000, OBLIQUE(search="oc1"), ROTATED, 0.02, BOXES),
    Case("ObliqueTreeClassifier fit fisher", rotated, 5_000, OBLIQUE(search="fisher"), ROTATED, 0.3, BOXES),
    Case("CurvedTreeClassifier fit quadratic", shells, 5_000, CURVED(node="quadratic"), SHELLS, 0.01, "shells"),
    Case("CurvedTreeClassifier fit sphere", shells, 5_000, CURVED(node="sphere"), SHELLS, 0.08, "shells"),
    Case("DiscriminantTreeClassifier fit", rotated, 5_000, contest("DiscriminantTreeClassifier"), ROTATED, 0.3, BOXES),
    Case("GaussianTreeClassifier fit", rotated, 5_000, contest("GaussianTreeClassifier"), ROTATED, 0.3, BOXES),
    Case("OmnivariateTreeClassifier fit", rotated, 1_000, contest("OmnivariateTreeClassifier"), ROTATED, 0.01, BOXES),
    Case(
        "ObliqueTreeRegressor fit",
        levels,
        2_000,
        contest("ObliqueTreeRegressor", kind="DecisionTreeRegressor", min_samples_leaf=5),
        no_worse(new_squares, 0.0),
        0.05,
        "slanted steps",
    ),
)
