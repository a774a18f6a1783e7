"""Votes of neighbours the slow way: rows are repeated by their weights, sorted by distance, and counted."""

import numpy as np


def sorted_distances(X, x):
    """Distances of x to the rows, nearest first, and the rows; of equally near ones the first."""
    d = np.array([np.sqrt(((row - x) ** 2).sum()) for row in X])
    order = np.argsort(d, kind="stable")
    return d[order], order


def vote_shares(X, y, queries, k, weight_of=lambda d: 1.0):
    """The share of each class in the votes of the k nearest rows (m, K)."""
    classes, out = np.unique(y), []
    for x in queries:
        d, order = sorted_distances(X, x)
        votes = [weight_of(each) for each in d[:k]]
        out.append([sum(v for v, i in zip(votes, order, strict=False) if y[i] == c) for c in classes])
    out = np.array(out, dtype=float)
    return out / out.sum(axis=1, keepdims=True)


def outlier_factors(X, k):
    """Local outlier factors and the quotients of k-distances, of each row by the others."""
    n = len(X)
    near = []
    for i in range(n):
        d, order = sorted_distances(X, X[i])
        others = order != i
        near.append((d[others][:k], order[others][:k]))
    reach = np.array([d[-1] for d, _ in near])
    density = np.array([1 / np.mean([max(d, reach[s]) for d, s in zip(*pair, strict=True)]) for pair in near])
    factor = np.array([np.mean([density[s] for s in rows]) / density[i] for i, (_, rows) in enumerate(near)])
    simplified = np.array([reach[i] / np.mean(reach[rows]) for i, (_, rows) in enumerate(near)])
    return factor, simplified
