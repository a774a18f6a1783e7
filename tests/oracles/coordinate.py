"""The lasso and its relatives the long way: one coordinate after the other, the residual recomputed every time."""

import numpy as np


def centred(X, y, w, intercept=True):
    """Rows times the roots of their weights, less the weighted means."""
    root = np.sqrt(w)
    if intercept:
        X, y = X - w @ X / w.sum(), y - w @ y / w.sum()
    return (root * X.T).T, (root * y.T).T


def objective(X, y, w, coef, alpha, ratio, intercept=True):
    """1/(2W) sum of s r^2 + alpha (ratio |w|_1 + (1 - ratio)/2 |w|_2^2), rows of coefficients by their length."""
    Z, t = centred(X, y, w, intercept)
    C = np.asarray(coef).reshape(-1, X.shape[1]).T  # (d, T)
    R = t.reshape(len(t), -1) - Z @ C
    sizes = np.sqrt((C**2).sum(axis=1))
    return (R**2).sum() / (2 * w.sum()) + alpha * (ratio * sizes.sum() + 0.5 * (1 - ratio) * (sizes**2).sum())


def slow_net(X, y, w, alpha, ratio, intercept=True, positive=False, passes=20_000):
    """Coefficients by plain coordinate descent on one target."""
    Z, t = centred(X, y, w, intercept)
    l1, l2 = alpha * ratio * w.sum(), alpha * (1 - ratio) * w.sum()
    coef = np.zeros(Z.shape[1])
    for _ in range(passes):
        before = coef.copy()
        for j in range(len(coef)):
            others = t - Z @ coef + Z[:, j] * coef[j]
            pull = Z[:, j] @ others
            size = max(pull if positive else abs(pull), 0.0) - l1
            coef[j] = np.sign(pull) * max(size, 0.0) / (Z[:, j] @ Z[:, j] + l2)
        if np.abs(coef - before).max() <= 1e-15 * np.abs(coef).max():
            break
    return coef
