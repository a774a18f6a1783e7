"""Slow ways to what theory.beliefs computes: every permutation by itself, every rule by itself."""

import numpy as np


def permuted_scores(score, X, arrangements):
    """score(column, labels) for each arrangement of the labels and each column, (B, d)."""
    return np.array([[score(x, labels) for x in X.T] for labels in arrangements])


def mean_difference(x, y):
    return abs(x[y == 1].mean() - x[y == 0].mean())


def student_t(x, y):
    """With pooled variance; infinite where the classes differ and hold one value each."""
    if len(set(x)) == 1:
        return 0.0
    a, b = x[y == 1], x[y == 0]
    within = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
    error = np.sqrt(within / (len(x) - 2) * (1 / len(a) + 1 / len(b)))
    return abs(a.mean() - b.mean()) / error if error > 1e-12 else np.inf


def rank_area(x, y):
    """Pairs of both classes in which the second has the larger value, or the smaller; ties are half."""
    a, b = x[y == 1][:, None], x[y == 0]
    area = ((a > b) + 0.5 * (a == b)).mean()
    return max(area, 1 - area)


def tercile_information(x, y):
    """Of labels with the middle ranks of values, cut into as many parts as the cube root of n, at least two."""
    n = len(x)
    bins = max(2, round(n ** (1 / 3)))
    middle = ((x[:, None] > x).sum(axis=1) + (x[:, None] == x).sum(axis=1) / 2) / n
    cell, total = (middle * bins).astype(int), 0.0
    for v in set(cell):
        for k in set(y):
            both = ((cell == v) & (y == k)).mean()
            total += both * np.log(both / ((cell == v).mean() * (y == k).mean())) if both else 0.0
    return total


def p_values(seen, null, slack=1e-9):
    """Shares of arrangements, the observed one included, that score as high; column by column."""
    return (1 + (null >= seen - slack).sum(axis=0)) / (1 + len(null))


def step_down(seen, null, slack=1e-9):
    """Westfall and Young: the best against the best of all, the next against the best of the rest, and so on."""
    left, adjusted, last = list(np.argsort(-seen)), np.empty(len(seen)), 0.0
    while left:
        best = left[0]
        largest = null[:, left].max(axis=1)
        last = max(last, (1 + (largest >= seen[best] - slack).sum()) / (1 + len(null)))
        adjusted[best] = last
        left = left[1:]
    return adjusted


def posterior(prior, likelihoods):
    """Bayes' rule, one observation after the other, in plain numbers."""
    p = np.array(prior, dtype=float)
    for row in likelihoods:
        p = p * row
        p = p / p.sum()
    return p
