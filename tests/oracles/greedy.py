"""Greedy sparse rules the slow way: every cut is tried, every formula is written out."""

from itertools import product

import numpy as np
from scipy.optimize import minimize_scalar


def best_test(X, y, eta, w):
    """The largest |alpha' phi| / |phi| over all tests of all columns."""
    alpha = w * y / (1 + np.exp(y * eta))
    best = 0.0
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for t in (values[:-1] + values[1:]) / 2:
            phi = np.where(X[:, j] > t, 1.0, -1.0)
            best = max(best, abs(alpha @ phi) / np.sqrt(w @ phi**2))
    return best


def best_weight(eta, y, w, phi, reach):
    """The weight of least log loss, by a search that knows no derivative."""

    def loss(v):
        return w @ np.logaddexp(0.0, -y * (eta + v * phi))

    return minimize_scalar(loss, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-12}).x


def all_formulas(d, nodes):
    """Every formula of exactly so many nodes, in prefix order."""
    if nodes == 1:
        return [(j,) for j in range(d)]
    made = [("not", *inner) for inner in all_formulas(d, nodes - 1)]
    for left in range(1, nodes - 1):
        pairs = product(all_formulas(d, left), all_formulas(d, nodes - 1 - left))
        made += [(join, *a, *b) for a, b in pairs for join in ("and", "or")]
    return made
