"""Metrics learned from labels beside scikit-learn's NCA; metric-learn's LMNN fails on the scikit-learn of today."""

from functools import partial

import numpy as np

from benchmarks.harness import Case, Data, beside_sklearn, fit, no_worse


def groups(n, d=10, seed=0):
    """Five classes told apart by two columns of ten."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    X = rng.normal(size=(n, d)) * np.linspace(1, 4, d)
    X[:, :2] += 2 * np.column_stack([np.cos(y), np.sin(y)])
    return Data(X, y)


def soft_errors(data, model):
    """Rows less the soft leave-one-out score of the learned map."""
    Z = data.X @ model.components_.T
    D = np.square(Z).sum(axis=1)[:, None] - 2 * Z @ Z.T + np.square(Z).sum(axis=1)
    np.fill_diagonal(D, np.inf)
    P = np.exp(D.min(axis=1, keepdims=True) - D)
    return len(Z) - float((P * (data.y[:, None] == data.y)).sum(axis=1) @ (1 / P.sum(axis=1)))


NCA = partial(
    beside_sklearn, "neighbors.NeighborhoodComponentsAnalysis", fit, n_components=2, init="pca", max_iter=20, tol=1e-12
)

CASES = (
    Case("NeighborhoodComponentsAnalysis fit", groups, 2_000, NCA(), no_worse(soft_errors, 0.02), 2, "20 steps"),
    Case("NeighborhoodComponentsAnalysis small", partial(groups, d=4), 150, NCA(), no_worse(soft_errors, 0.02), 1),
)
