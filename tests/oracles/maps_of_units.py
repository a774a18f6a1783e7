"""Competitive learning as the textbook writes it: one row and one unit at a time."""

import numpy as np


def som_pass(X, order, M, places, rate, sigma):
    """One online pass: every unit follows the row by rate * exp(-|l - i|^2 / (2 sigma^2))."""
    M = np.array(M, dtype=float)
    for t in order:
        winner = min(range(len(M)), key=lambda k: ((X[t] - M[k]) ** 2).sum())
        for k in range(len(M)):
            near = np.exp(-((places[k] - places[winner]) ** 2).sum() / (2 * sigma**2))
            M[k] += rate * near * (X[t] - M[k])
    return M


def batch_som_step(X, w, M, places, sigma):
    """One batch step: every unit is the mean of the rows, weighted by the neighbourhood of their winners."""
    winners = [min(range(len(M)), key=lambda k: ((x - M[k]) ** 2).sum()) for x in X]
    new = []
    for k in range(len(M)):
        pull = np.array(
            [w[i] * np.exp(-((places[k] - places[winners[i]]) ** 2).sum() / (2 * sigma**2)) for i in range(len(X))]
        )
        new.append(pull @ X / pull.sum())
    return np.array(new)


def kmeans_pass(X, order, M, counts):
    """One online pass with eta = 1 / count."""
    M, counts = np.array(M, dtype=float), np.array(counts, dtype=float)
    for t in order:
        i = min(range(len(M)), key=lambda k: ((X[t] - M[k]) ** 2).sum())
        counts[i] += 1
        M[i] += (X[t] - M[i]) / counts[i]
    return M, counts


def leader_pass(X, vigilance):
    """Units that stay on the rows where they arose."""
    units = []
    for x in X:
        if not units or min(np.linalg.norm(x - m) for m in units) > vigilance:
            units.append(x)
    return np.array(units)


def lvq1_pass(X, y, order, M, owners, rate):
    """The nearest unit moves towards a row of its class, away from another."""
    M = np.array(M, dtype=float)
    for t in order:
        i = min(range(len(M)), key=lambda k: ((X[t] - M[k]) ** 2).sum())
        M[i] += (rate if owners[i] == y[t] else -rate) * (X[t] - M[i])
    return M


def lvq21_pass(X, y, order, M, owners, rate, window):
    """The two nearest units, where one is right and the other wrong, and the row is in the window."""
    M = np.array(M, dtype=float)
    for t in order:
        D = ((X[t] - M) ** 2).sum(axis=1) ** 0.5
        a, b = np.argsort(D)[:2]
        if (owners[a] == y[t]) != (owners[b] == y[t]) and D[a] / D[b] > (1 - window) / (1 + window):
            for k in (a, b):
                M[k] += (rate if owners[k] == y[t] else -rate) * (X[t] - M[k])
    return M


def artmap_pass(A, y, order, boxes, vigilance, choice, nudge):
    """One pass of fuzzy ARTMAP with fast learning over inputs with their complements; boxes are [weights, class]."""
    boxes = [[w.copy(), k] for w, k in boxes]
    for t in order:
        a, rho = A[t], vigilance
        ranked = sorted(boxes, key=lambda box: -np.minimum(a, box[0]).sum() / (choice + box[0].sum()))
        for box in ranked:
            match = np.minimum(a, box[0]).sum() / a.sum()
            if match < rho:
                continue
            if box[1] == y[t]:
                box[0] = np.minimum(a, box[0])
                break
            rho = match + nudge
        else:
            boxes.append([a.copy(), y[t]])
    return boxes
