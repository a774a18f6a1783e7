"""Affinity propagation, the normalised cut and trimmed k-means as their definitions say, one pair or set at a time."""

from itertools import combinations

import numpy as np


def message_round(S, R, A, damping):
    """New responsibilities and availabilities, each from all others of its row or column."""
    n = len(S)
    new_R, new_A = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for k in range(n):
            new_R[i, k] = S[i, k] - max(A[i, j] + S[i, j] for j in range(n) if j != k)
    R = damping * R + (1 - damping) * new_R
    for i in range(n):
        for k in range(n):
            others = sum(max(R[j, k], 0) for j in range(n) if j not in (i, k))
            new_A[i, k] = others if i == k else min(0, R[k, k] + others)
    return R, damping * A + (1 - damping) * new_A


def net_similarity(S, rows):
    """Similarities of all rows to the best of these, and preferences of these."""
    return sum(S[i, i] if i in rows else max(S[i, k] for k in rows) for i in range(len(S)))


def best_exemplars(S):
    """The set of rows with the largest net similarity, of all sets."""
    n = len(S)
    sets = (rows for size in range(1, n + 1) for rows in combinations(range(n), size))
    return max(sets, key=lambda rows: net_similarity(S, rows))


def normalised_cut(W, labels):
    """Sum over clusters of the affinities that leave them, over all that their rows have."""
    W = W - np.diag(np.diag(W))
    return sum(W[labels == k][:, labels != k].sum() / W[labels == k].sum() for k in np.unique(labels))


def best_trimmed_pair(X, kept):
    """The smallest sum of squares about two means of any `kept` rows, in two groups of any kind."""
    best = np.inf
    for rows in combinations(range(len(X)), kept):
        for code in range(1, 2 ** (kept - 1)):
            first = np.array([code >> i & 1 for i in range(kept)], dtype=bool)
            parts = (X[list(rows)][first], X[list(rows)][~first])
            best = min(best, sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
    return best
