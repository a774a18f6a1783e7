"""Partial least squares and canonical correlations beside scikit-learn's, both at their optimum."""

import numpy as np

from benchmarks.harness import Case, Data, beside_sklearn, fit, same


def two_tables(n, d=20, q=6, seed=0):
    """Two tables that three latent columns make, under noise."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 3)) * (3.0, 2.0, 1.0)
    X, Y = (latent @ rng.normal(size=(3, k)) + rng.normal(size=(n, k)) for k in (d, q))
    return Data(X, Y)


EXACT = {"tol": 1e-12, "max_iter": 5_000}  # scikit-learn's default stops early; ours is exact whatever it says

CASES = tuple(
    Case(
        f"{name} fit",
        two_tables,
        20_000,
        beside_sklearn(f"cross_decomposition.{name}", fit, n_components=3, **EXACT),
        same("coef_", rtol=1e-4),
        bar,
        "6 targets, 3 components",
    )
    for name, bar in (("PLSRegression", 1.5), ("PLSCanonical", 1.5), ("CCA", 5.0))
)
