"""The growth of one rule, slowly: every condition on every column is tried on every row."""

import math
from itertools import pairwise

import numpy as np


def holds(condition, x):
    """Does a row satisfy (column, sign, value)?"""
    j, sign, value = condition
    if x[j] != x[j]:
        return False
    return {"<=": x[j] <= value, ">": x[j] > value, "=": x[j] == value}[sign]


def conditions(X, discrete):
    """All there are: on either side of the middle of neighbouring values, and every level of a discrete column."""
    for j in range(X.shape[1]):
        values = sorted({v for v in X[:, j] if v == v})
        if j in discrete:
            yield from ((j, "=", v) for v in values)
        else:
            cuts = [(a + b) / 2 for a, b in pairwise(values)]
            yield from ((j, "<=", c) for c in cuts)
            yield from ((j, ">", c) for c in cuts)


def foil(p, n, P, N):
    return p * (math.log2(p / (p + n)) - math.log2(P / (P + N))) if p else -math.inf


def grow(X, positive, w, discrete=(), least=0.0):
    """Weights of positives and negatives covered after each condition of largest Foil gain, and the gains."""
    inside, steps = np.ones(len(X), dtype=bool), []
    while True:
        P, N = w[inside & positive].sum(), w[inside & ~positive].sum()
        best = (0.0, None)
        for condition in conditions(X[inside], discrete):
            held = inside & np.array([holds(condition, x) for x in X])
            p, n = w[held & positive].sum(), w[held & ~positive].sum()
            gain = foil(p, n, P, N) if p >= least else -math.inf
            if gain > best[0] + 1e-9:
                best = (gain, (held, p, n))
        if best[1] is None:
            return steps
        inside = best[1][0]
        steps.append((best[0], best[1][1], best[1][2]))
