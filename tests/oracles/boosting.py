"""Boosting written out: one loop over rounds, every cut tried, no bins, no tricks."""

import numpy as np


def best_cut(x, g, h, least):
    """Gain and threshold of the best cut of one column by Newton's gain; (0, None) if there is none."""
    order = np.argsort(x, kind="stable")
    G, H, gain, threshold = g.sum(), h.sum(), 0.0, None
    for i in range(least - 1, len(x) - least):
        a, b = x[order[i]], x[order[i + 1]]
        left = order[: i + 1]
        if a < b:
            GL, HL = g[left].sum(), h[left].sum()
            new = GL**2 / HL + (G - GL) ** 2 / (H - HL) - G**2 / H
            if new > gain + 1e-12:
                gain, threshold = new, a / 2 + b / 2
    return gain, threshold


def newton_tree(X, g, h, leaves, least):
    """Leaf-wise growth: a list of (rows, value)."""
    parts = [np.arange(len(X))]
    while len(parts) < leaves:
        tried = [
            (*best_cut(X[rows, f], g[rows], h[rows], least), p, f)
            for p, rows in enumerate(parts)
            for f in range(X.shape[1])
        ]
        _, threshold, p, f = max(tried, key=lambda t: t[0])
        if threshold is None:
            break
        rows = parts.pop(p)
        parts += [rows[X[rows, f] <= threshold], rows[X[rows, f] > threshold]]
    return [(rows, -g[rows].sum() / h[rows].sum()) for rows in parts]


def boosted_log_odds(X, y, rounds, leaves, least, rate=0.1):
    """The log-odds of the training rows after some rounds of log-loss boosting."""
    F = np.full(len(y), np.log(y.mean() / (1 - y.mean())))
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-F))
        for rows, value in newton_tree(X, p - y, p * (1 - p), leaves, least):
            F[rows] += rate * value
    return F


def adaboost_errors(X, y, rounds):
    """Weighted errors of stumps found by trying every cut and both answers by Gini impurity; y in {0, 1}."""
    w, errors = np.full(len(y), 1 / len(y)), []
    for _ in range(rounds):
        best = (np.inf, None)
        for f in range(X.shape[1]):
            values = np.unique(X[:, f])
            for t in (values[:-1] + values[1:]) / 2:
                left = X[:, f] <= t
                impurity, said = 0.0, np.zeros(len(y), dtype=int)
                for side in (left, ~left):
                    W, P = w[side].sum(), w[side & (y == 1)].sum()
                    impurity += 2 * P * (W - P) / W
                    said[side] = P > W - P
                if impurity < best[0] - 1e-12:
                    best = (impurity, said)
        wrong = best[1] != y
        error = w[wrong].sum() / w.sum()
        errors.append(error)
        w = w * np.where(wrong, (1 - error) / error, 1.0)
        w /= w.sum()
    return np.array(errors)
