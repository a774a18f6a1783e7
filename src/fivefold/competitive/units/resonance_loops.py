"""The compiled loop of fuzzy adaptive resonance."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit


@jit(fastmath=FAST, error_model="numpy")
def resonance(a, W, K, vigilance, choice):
    """The category, of the first K of W, that is chosen for an input a and matches it; -1 if none does."""
    d, size = len(a), 0.0
    for j in range(d):
        size += a[j]
    best, top = -1, -1.0
    for k in range(K):
        both, own = 0.0, 0.0
        for j in range(d):
            both += min(a[j], W[k, j])
            own += W[k, j]
        score = both / (choice + own)
        if score > top and both >= vigilance * size:
            best, top = k, score
    return best


@jit(fastmath=FAST, error_model="numpy")
def resonance_pass(A, w, order, W, vigilance, choice, rate):
    """Show each input to categories W (K, d): the one that resonates shrinks towards it, or a new one is added."""
    K, d, changed = len(W), A.shape[1], 0.0
    for t in range(len(order)):
        i = order[t]
        k = resonance(A[i], W, K, vigilance, choice)
        if k < 0:
            if K == len(W):
                more = np.empty((2 * K + 8, d))
                more[:K] = W[:K]
                W = more
            W[K] = A[i]
            K += 1
            changed += 1.0
            continue
        share = 1.0 if rate >= 1.0 else 1.0 - (1.0 - rate) ** w[i]
        for j in range(d):
            step = share * (W[k, j] - min(A[i, j], W[k, j]))
            W[k, j] -= step
            changed += step
    return W[:K].copy(), changed


@jit(fastmath=FAST, error_model="numpy")
def choose_categories(A, W, choice, labels):
    """The category with the largest choice value of each input."""
    for i in range(len(A)):
        labels[i] = resonance(A[i], W, len(W), 0.0, choice)
