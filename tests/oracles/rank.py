"""Ranking the slow way: every pair, one at a time."""

import numpy as np


def pairs(y, groups=None, w=None):
    """(better, worse, weight) of every two rows of one query whose grades differ."""
    n = len(y)
    groups = np.zeros(n) if groups is None else np.asarray(groups)
    w = np.ones(n) if w is None else w
    return [(u, v, w[u] * w[v]) for u in range(n) for v in range(n) if groups[u] == groups[v] and y[u] > y[v]]


def accuracy(y, score, groups=None, w=None):
    """Share of the pairs in order, ties half."""
    every = pairs(y, groups, w)
    right = sum(k * (1.0 if score[u] > score[v] else 0.5 if score[u] == score[v] else 0.0) for u, v, k in every)
    return right / sum(k for *_, k in every)


def objective(X, y, coef, loss, C=1.0, groups=None, w=None):
    """1/2 |w|^2 + C sum over pairs of the loss of the difference of their scores."""
    s = X @ coef
    return 0.5 * coef @ coef + C * sum(k * loss(s[u] - s[v]) for u, v, k in pairs(y, groups, w))


def perceptron(X, drawn, eta=1.0, margin=0.0):
    """The coefficients after each drawn pair (better, worse)."""
    coef, path = np.zeros(X.shape[1]), []
    for u, v in drawn:
        ahead = coef @ (X[u] - X[v])
        if ahead <= 0 or ahead < margin:
            coef = coef + eta * (X[u] - X[v])
        path.append(coef)
    return np.array(path)
