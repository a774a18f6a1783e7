"""The compiled loops of fuzzy adaptive resonance, and of its form with classes and match tracking."""

from __future__ import annotations

from fivefold.competitive.units.competition_loops import share_moved, with_room
from fivefold.core.compilation.jit import FAST, jit

WHOLE = 1.0 - 1e-12  # share of an input in common with a category that holds it, but for rounding


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
def _shrink(category, a, share):
    """Take a category a share of the way to what it has in common with an input; how far it went."""
    moved = 0.0
    for j in range(len(a)):
        step = share * (category[j] - min(a[j], category[j]))
        category[j] -= step
        moved += step
    return moved


@jit(fastmath=FAST, error_model="numpy")
def resonance_pass(A, w, order, W, vigilance, choice, rate):
    """Show each input to categories W (K, d): the one that resonates shrinks towards it, or a new one is added."""
    K, changed = len(W), 0.0
    for t in range(len(order)):
        i = order[t]
        k = resonance(A[i], W, K, vigilance, choice)
        if k >= 0:
            changed += _shrink(W[k], A[i], share_moved(rate, w[i]))
            continue
        W = with_room(W, K)
        W[K] = A[i]
        K += 1
        changed += 1.0
    return W[:K].copy(), changed


@jit(fastmath=FAST, error_model="numpy")
def choose_categories(A, W, choice, labels):
    """The category with the largest choice value of each input."""
    for i in range(len(A)):
        labels[i] = resonance(A[i], W, len(W), 0.0, choice)


@jit(fastmath=FAST, error_model="numpy")
def tracked_resonance(a, label, W, owners, K, vigilance, choice, nudge):
    """The category of this class that resonates with a, or -1; a match with another class raises the vigilance."""
    rho, size = vigilance, 0.0
    for j in range(len(a)):
        size += a[j]
    while True:
        k = resonance(a, W, K, rho, choice)
        if k < 0 or owners[k] == label:
            return k
        both = 0.0
        for j in range(len(a)):
            both += min(a[j], W[k, j])
        rho = both / size + nudge
        if rho > 1.0:  # a category of another class holds nothing but this row: only one like it could do better
            for k in range(K):
                both = 0.0
                for j in range(len(a)):
                    both += min(a[j], W[k, j])
                if owners[k] == label and both >= WHOLE * size:
                    return k
            return -1


@jit(fastmath=FAST, error_model="numpy")
def labelled_resonance_pass(A, y, w, order, W, owners, vigilance, choice, rate, nudge):
    """Show each input and its class to categories W (K, d) of classes `owners`; those that resonate learn."""
    K, changed = len(W), 0.0
    for t in range(len(order)):
        i = order[t]
        k = tracked_resonance(A[i], y[i], W, owners, K, vigilance, choice, nudge)
        if k >= 0:
            changed += _shrink(W[k], A[i], share_moved(rate, w[i]))
            continue
        W, owners = with_room(W, K), with_room(owners, K)
        W[K], owners[K] = A[i], y[i]
        K += 1
        changed += 1.0
    return W[:K].copy(), owners[:K].copy(), changed


@jit(fastmath=FAST, error_model="numpy")
def class_choices(A, W, owners, choice, scores):
    """The largest choice value of each class (n, classes); those without a category keep what they have."""
    for i in range(len(A)):
        for k in range(len(W)):
            both, own = 0.0, 0.0
            for j in range(A.shape[1]):
                both += min(A[i, j], W[k, j])
                own += W[k, j]
            scores[i, owners[k]] = max(scores[i, owners[k]], both / (choice + own))
