"""A soft tree by recursion: each node asks its gate, and mixes the answers of its children."""

import math

import numpy as np


def answer(children, coef, intercept, values, x, node=0):
    """F(x) of the tree below a node; gates come first, then leaves."""
    gates = len(children)
    if node >= gates:
        return values[node - gates]
    g = gate(coef[node], intercept[node], x)
    left, right = (answer(children, coef, intercept, values, x, child) for child in children[node])
    return g * left + (1 - g) * right


def paths(children, coef, intercept, x, node=0, share=1.0):
    """(leaf, share) of every leaf below a node."""
    gates = len(children)
    if node >= gates:
        return [(node - gates, share)]
    g = gate(coef[node], intercept[node], x)
    left, right = children[node]
    return paths(children, coef, intercept, x, left, share * g) + paths(
        children, coef, intercept, x, right, share * (1 - g)
    )


def gate(a, b, x):
    return 1 / (1 + math.exp(-(b + sum(aj * xj for aj, xj in zip(a, x, strict=True)))))


def objective(children, A, V, Z, y, s, alpha, loss):
    """sum of s loss(y, F) + alpha / 2 (|a|^2 + |v|^2), the thresholds of gates free."""
    total = sum(si * loss(yi, answer(children, A[:, :-1], A[:, -1], V, z)) for z, yi, si in zip(Z, y, s, strict=True))
    return total + alpha / 2 * ((A[:, :-1] ** 2).sum() + (V**2).sum())


def log_loss(y, F):
    return np.log(np.exp(F).sum()) - F[y]


def squared(y, F):
    return (y - F[0]) ** 2 / 2
