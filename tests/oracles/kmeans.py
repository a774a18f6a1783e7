"""K-means and its relatives, one row and one centre at a time."""

from itertools import product

import numpy as np
from scipy.optimize import minimize


def squares(X, C):
    """Squared distances (n, K), a pair at a time."""
    return np.array([[sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) for c in C] for x in X])


def assign(X, C):
    """The nearest centre of each row; the first of those equally near, to a few units in the last place."""
    D = squares(X, C)
    return (D <= D.min(axis=1, keepdims=True) * (1 + 1e-12)).argmax(axis=1)


def inertia(X, w, C):
    return float(w @ squares(X, C).min(axis=1))


def cost(X, w, C):
    return float(w @ np.sqrt(squares(X, C).min(axis=1)))


def lloyd(X, w, C, max_iter=300):
    """Labels, centres and objective of every step; no cluster may run empty."""
    labels, history = None, []
    for _ in range(max_iter):
        new = assign(X, C)
        if labels is not None and (new == labels).all():
            break
        labels = new
        C = np.array([np.average(X[labels == k], axis=0, weights=w[labels == k]) for k in range(len(C))])
        history.append(float(sum(w[i] * ((X[i] - C[labels[i]]) ** 2).sum() for i in range(len(X)))))
    return labels, C, history


def best_partition(X, K):
    """The smallest inertia there is, over all ways to label the rows."""
    least = np.inf
    for labels in product(range(K), repeat=len(X)):
        groups = [X[np.equal(labels, k)] for k in set(labels)]
        least = min(least, sum(((g - g.mean(axis=0)) ** 2).sum() for g in groups))
    return least


def geometric_median(X, w):
    """The point with the smallest sum of distances: of a smooth minimiser's end and all rows the best."""

    def distances(c):
        return float(w @ np.sqrt(((X - c) ** 2).sum(axis=1)))

    smooth = minimize(distances, np.average(X, axis=0, weights=w), method="Nelder-Mead", options={"xatol": 1e-9})
    return min([smooth.x, *X], key=distances)


def greedy_plus_plus(X, w, K, trials):
    """Probability of each sequence of seeds, by enumeration of every draw."""
    n, D = len(X), squares(X, X)
    chances = {(i,): w[i] / w.sum() for i in range(n)}
    for _ in range(K - 1):
        after = {}
        for seeds, chance in chances.items():
            near = D[:, list(seeds)].min(axis=1)
            mass = w * near / (w @ near)
            for tried in product(range(n), repeat=trials):
                left = [w @ np.minimum(near, D[:, i]) for i in tried]
                key = (*seeds, tried[int(np.argmin(left))])
                after[key] = after.get(key, 0.0) + chance * np.prod(mass[list(tried)])
        chances = after
    return chances


def bisections(X, w, K, start, by_inertia=True):
    """The clusters, as sorted tuples of rows, of bisecting k-means from the centres `start(rows)` of each split."""
    clusters = [np.arange(len(X))]
    while len(clusters) < K:

        def score(ids):
            mean = np.average(X[ids], axis=0, weights=w[ids])
            return inertia(X[ids], w[ids], [mean]) if by_inertia else w[ids].sum()

        ids = clusters.pop(int(np.argmax([score(ids) for ids in clusters])))
        labels, _, _ = lloyd(X[ids], w[ids], start(X[ids]))
        clusters += [ids[labels == 0], ids[labels == 1]]
    return sorted(tuple(ids.tolist()) for ids in clusters)
