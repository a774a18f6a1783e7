"""Least squares in exact rational arithmetic, and leave-one-out by leaving rows out: slow and obvious."""

from fractions import Fraction

import numpy as np


def exact_least_squares(X, y, w=None, intercept=True):
    """(b, w_1, ..., w_d) as fractions: the normal equations by Gaussian elimination, without rounding."""
    rows = [[Fraction(1)] * intercept + [Fraction(float(v)) for v in row] for row in X]
    target = [Fraction(float(v)) for v in y]
    s = [Fraction(1)] * len(rows) if w is None else [Fraction(float(v)) for v in w]
    p = len(rows[0])
    M = [
        [sum(s[i] * r[j] * r[k] for i, r in enumerate(rows)) for k in range(p)]
        + [sum(s[i] * r[j] * target[i] for i, r in enumerate(rows))]
        for j in range(p)
    ]
    for j in range(p):
        pivot = next(i for i in range(j, p) if M[i][j] != 0)
        M[j], M[pivot] = M[pivot], M[j]
        M[j] = [v / M[j][j] for v in M[j]]
        for i in range(p):
            if i != j:
                M[i] = [a - M[i][j] * b for a, b in zip(M[i], M[j], strict=True)]
    return [row[p] for row in M]


def ridge(X, y, alpha, w, intercept=True):
    """Coefficients and offset from the normal equations about the weighted means."""
    centre, offset = (w @ X / w.sum(), w @ y / w.sum()) if intercept else (np.zeros(X.shape[1]), 0.0)
    Z = X - centre
    coef = np.linalg.solve(Z.T @ (w[:, None] * Z) + alpha * np.eye(X.shape[1]), Z.T @ (w * (y - offset)))
    return coef, offset - centre @ coef


def left_out(X, y, alpha, w, intercept=True):
    """For each row, its target less the prediction of a fit without it: no copy of it is left."""
    errors = []
    for i in range(len(y)):
        kept = (np.arange(len(y)) != i) & (w > 0)
        coef, b = ridge(X[kept], y[kept], alpha, w[kept], intercept)
        errors.append(y[i] - X[i] @ coef - b)
    return np.array(errors)
