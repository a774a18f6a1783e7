"""Clusters by density, slowly and by their definitions."""

import numpy as np


def pairwise(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


def dbscan(D, eps, min_samples, w):
    """Labels and core rows, by growing one cluster after the other from distances D (n, n)."""
    near = eps >= D
    core = near @ w >= min_samples
    labels, label = np.full(len(D), -1), 0
    for start in range(len(D)):
        if not core[start] or labels[start] >= 0:
            continue
        waiting = [start]
        while waiting:
            i = waiting.pop()
            if labels[i] < 0:
                labels[i] = label
                waiting += list(np.flatnonzero(near[i])) if core[i] else []
        label += 1
    return labels, np.flatnonzero(core)


def optics(D, min_samples, max_eps=np.inf):
    """Order, core distances, reachability and predecessors from distances D (n, n)."""
    n = len(D)
    core = np.sort(D, axis=1)[:, min_samples - 1]
    core[core > max_eps] = np.inf
    reach, before, order = np.full(n, np.inf), np.full(n, -1), []
    while len(order) < n:
        i = min((j for j in range(n) if j not in order), key=lambda j: (reach[j], j))
        order.append(i)
        for j in range(n):
            pair = max(core[i], D[i, j])
            if j not in order and D[i, j] <= max_eps and pair < reach[j]:
                reach[j], before[j] = pair, i
    return np.array(order), core, reach, before


def shift(x, X, bandwidth, g):
    """The weighted mean of the rows about a position; g takes squared distances in bandwidths."""
    weights = g(((X - x) ** 2).sum(axis=1) / bandwidth**2)
    return weights @ X / weights.sum()


def blur(X, bandwidth, g, steps, step=1.0):
    """Algorithm 6: rows move one after the other, in place."""
    X = X.copy()
    for _ in range(steps):
        for i in range(len(X)):
            X[i] += step * (shift(X[i], X, bandwidth, g) - X[i])
    return X


def single_linkage_heights(D):
    """Heights at which clusters join, lowest first, from distances of all pairs."""
    clusters, heights = [{i} for i in range(len(D))], []
    i, j = np.triu_indices(len(D), 1)
    for k in np.argsort(D[i, j], kind="stable"):
        one, two = (next(c for c in clusters if row in c) for row in (i[k], j[k]))
        if one is not two:
            clusters.remove(two)
            one |= two
            heights.append(D[i[k], j[k]])
    return np.array(heights)
