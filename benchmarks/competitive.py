"""Self-organising maps beside MiniSom: the same number of passes over the rows, maps as good."""

from functools import partial

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, data, function, no_worse
from fivefold.competitive import SelfOrganizingMap

PASSES = 5


def quantisation(table, units):
    """The mean distance of a row to its nearest unit."""
    least = np.full(len(table.X), np.inf)
    for unit in units:
        np.minimum(least, ((table.X - unit) ** 2).sum(axis=1), out=least)
    return float(np.sqrt(least).mean())


def minisom(side):
    def fit(table):
        try:
            from minisom import MiniSom
        except ImportError as error:
            raise Absent("MiniSom is not installed") from error
        d = table.X.shape[1]
        som = MiniSom(side, side, d, sigma=side / 2, learning_rate=0.5, random_seed=0)
        som.pca_weights_init(table.X)
        som.train(table.X, PASSES, random_order=True, use_epochs=True)
        return som.get_weights().reshape(-1, d)

    return function(fit)


def ours(side, training):
    model = SelfOrganizingMap(side, side, training=training, max_iter=PASSES, random_state=0)
    return function(lambda table: model.fit(table.X).cluster_centers_)


def iris(n):
    from sklearn.datasets import load_iris

    return Data(load_iris().data)


BLOBS = partial(data.blobs, d=10, K=20, spread=4.0)
CASES = tuple(
    Case(
        f"SelfOrganizingMap {training} fit{' (iris)' if rows == 150 else ''}",
        table,
        rows,
        {"MiniSom": minisom(side), OURS: ours(side, training)},
        no_worse(quantisation, 0.1),
        10,
        f"{side} x {side} units, {PASSES} passes",
    )
    for training in ("online", "batch")
    for table, rows, side in ((BLOBS, 10_000, 20), (iris, 150, 7))
)
