"""Manifold methods beside scikit-learn's: the same geodesics, costs and stress, and the time of a fit."""

from functools import partial

import numpy as np
from sklearn.datasets import make_swiss_roll

from benchmarks.harness import Case, Data, beside_sklearn, data, fit, same


def roll(n):
    """Rows on a rolled-up sheet."""
    X, t = make_swiss_roll(n, random_state=0)
    return Data(np.ascontiguousarray(X), t)


NORMAL = partial(data.linear, d=10)
FLOWERS = partial(data.linear, d=4)  # a table of the size of Fisher's
ISOMAP = partial(beside_sklearn, "manifold.Isomap", fit, n_neighbors=10)
LLE = partial(beside_sklearn, "manifold.LocallyLinearEmbedding", fit, n_neighbors=10, random_state=0)
MDS = partial(beside_sklearn, "manifold.MDS", fit, random_state=0, init="random", max_iter=50, eps=0.0)
SPECTRAL = partial(beside_sklearn, "manifold.SpectralEmbedding", fit, n_neighbors=10, random_state=0)
SAME_PATHS = same("dist_matrix_", rtol=1e-9)
SAME_STRESS = same("stress_", rtol=1e-8)
SAME_COST = same("reconstruction_error_", rtol=1e-4)

CASES = (
    Case("Isomap fit", roll, 5_000, ISOMAP(), SAME_PATHS, 4, "10 neighbours"),
    Case("Isomap small fit", FLOWERS, 150, ISOMAP(), SAME_PATHS, 1, "10 neighbours, 4 columns"),
    Case("LocallyLinearEmbedding fit", roll, 5_000, LLE(), SAME_COST, 6, "10 neighbours"),
    Case("LocallyLinearEmbedding small fit", FLOWERS, 150, LLE(), SAME_COST, 1, "10 neighbours, 4 columns"),
    Case("LTSA fit", roll, 2_000, LLE(method="ltsa"), SAME_COST, 3, "10 neighbours"),
    Case("MDS fit", NORMAL, 1_500, MDS(), SAME_STRESS, 3, "50 steps"),
    Case("MDS small fit", FLOWERS, 150, MDS(), SAME_STRESS, 1, "50 steps, 4 columns"),
    Case("MDS of orders fit", NORMAL, 600, MDS(metric_mds=False), SAME_STRESS, 3, "50 steps, non-metric"),
    Case("SpectralEmbedding fit", roll, 3_000, SPECTRAL(), same("affinity_matrix_"), 1, "10 neighbours"),
)
