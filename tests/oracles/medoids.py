"""K-medoids by trying everything: all sets of rows, and all single swaps."""

from itertools import combinations

import numpy as np


def cost(D, w, medoids):
    """Weighted sum of the distances of the rows to the nearest of the medoids."""
    return float(sum(w[i] * min(D[i, m] for m in medoids) for i in range(len(D))))


def best_medoids(D, w, K):
    """The smallest cost over all sets of K rows."""
    return min(cost(D, w, chosen) for chosen in combinations(range(len(D)), K))


def best_swap(D, w, medoids):
    """The smallest cost after one medoid is swapped with any row."""
    medoids = list(medoids)
    return min(cost(D, w, [*medoids[:k], *medoids[k + 1 :], j]) for k in range(len(medoids)) for j in range(len(D)))


def build(D, w, K):
    """Rows added one after the other, each the one that leaves the smallest cost."""
    chosen = []
    while len(chosen) < K:
        left = [j for j in range(len(D)) if j not in chosen]
        chosen.append(left[int(np.argmin([cost(D, w, [*chosen, j]) for j in left]))])
    return chosen
