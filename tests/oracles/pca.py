"""Principal components the long way: exact sums of rows, plain loops, the eigenvectors of a dense routine."""

from fractions import Fraction
from math import inf, lgamma, log, pi

import numpy as np


def scatter(X, w=None):
    """Weighted mean and scatter matrix in rational arithmetic, rounded once at the end."""
    rows = [[Fraction(float(v)) for v in row] for row in X]
    weights = [Fraction(1)] * len(rows) if w is None else [Fraction(float(v)) for v in w]
    d, total = len(rows[0]), sum(weights)
    mean = [sum(u * row[j] for u, row in zip(weights, rows, strict=True)) / total for j in range(d)]
    S = [
        [
            sum(u * (row[i] - mean[i]) * (row[j] - mean[j]) for u, row in zip(weights, rows, strict=True))
            for j in range(d)
        ]
        for i in range(d)
    ]
    return float(total), np.array(mean, dtype=float), np.array(S, dtype=float)


def principal(X):
    """Principal values, largest first, and axes in rows whose largest entry is positive."""
    values, vectors = np.linalg.eigh(scatter(X)[2])
    axes = [v if v[np.argmax(np.abs(v))] > 0 else -v for v in vectors.T[::-1]]
    return values[::-1], np.array(axes)


def distortion(X, axes):
    """Squared error of the rows against their projection onto the plane through the mean along `axes`."""
    mean = np.mean(X, axis=0)
    return sum(float(np.sum(((x - mean) - sum(((x - mean) @ v) * v for v in axes)) ** 2)) for x in np.asarray(X))


def minka(variances, n):
    """The dimension of greatest evidence, term by term as in Minka (2000)."""
    d, best, where = len(variances), -inf, 1
    for k in range(1, d):
        v = sum(variances[k:]) / (d - k)
        evidence = -k * log(2)
        for i in range(1, k + 1):
            evidence += lgamma((d - i + 1) / 2) - (d - i + 1) / 2 * log(pi)
        evidence += -n / 2 * sum(log(l) for l in variances[:k]) - n * (d - k) / 2 * log(v)
        evidence += (d * k - k * (k + 1) / 2 + k) / 2 * log(2 * pi) - k / 2 * log(n)
        for i in range(k):
            for j in range(i + 1, d):
                lower = variances[j] if j < k else v
                evidence -= log((1 / lower - 1 / variances[i]) * (variances[i] - variances[j]) * n) / 2
        if evidence > best:
            best, where = evidence, k
    return where
