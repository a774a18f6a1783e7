"""Probabilities from the answers of machines: a sigmoid per pair of classes, and one distribution from all pairs.

    P(first class | f) = 1 / (1 + exp(A f + B))        A, B by maximum likelihood on answers of rows left out

The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), not 1 and 0, so that separable answers give finite A and B. With
several classes the probabilities p minimise the sum over pairs of (r_ji p_i - r_ij p_j)^2 with sum p = 1, a linear
system per row; r_ij is the probability of class i in the pair i, j.

Platt (1999); Lin, Lin & Weng (2007); Wu, Lin & Weng (2004), second method.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array, Doubles, Matrix
from fivefold.svm.support.platt_loops import newton_sigmoid

MIN_PROBABILITY = 1e-7  # of a class in a pair


def fit_sigmoid(f: Doubles, sign: Doubles, w: Doubles) -> tuple[float, float]:
    """A and B from the answers, the classes as signs, and the weights of the rows."""
    positive = sign > 0
    above, below = float(w[positive].sum()), float(w[~positive].sum())
    target = np.where(positive, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    A, B = newton_sigmoid(f, target, w, 0.0, float(np.log((below + 1.0) / (above + 1.0))))
    return float(A), float(B)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def couple_pairs(r: Matrix, K: int) -> Doubles:
    """Probabilities (n, K) from those of the first class of each pair (n, pairs), pairs in lexicographic order."""
    n = len(r)
    r = np.clip(r, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    if K == 2:
        return np.column_stack([r[:, 0], 1.0 - r[:, 0]])
    R = np.zeros((n, K, K))
    first, second = np.triu_indices(K, 1)
    R[:, first, second], R[:, second, first] = r, 1.0 - r
    A = np.zeros((n, K + 1, K + 1))
    A[:, :K, :K] = -R * R.transpose(0, 2, 1)
    A[:, range(K), range(K)] = (R**2).sum(axis=1)
    A[:, K, :K] = A[:, :K, K] = 1.0
    side = np.zeros((n, K + 1, 1))
    side[:, K] = 1.0
    p: Doubles = np.linalg.solve(A, side)[:, :K, 0].clip(min=0.0)
    return p / p.sum(axis=1, keepdims=True)
