"""Naive Bayes by loops over rows, columns and classes, as a textbook writes it.

Rows are lists, missing entries are NaN and are skipped, weights are repetitions. Every function returns the
table log p(x_i, y = k), (n, K), of the rows `new`, learned from (X, y, w); for counts, less the terms of x alone.
"""

from itertools import product
from math import exp, isnan, log, pi

import numpy as np


def gaussian(X, y, w, new, var_smoothing=1e-9):
    classes, d = sorted(set(y)), len(X[0])
    everything = [_moments(X, w, [True] * len(y), j) for j in range(d)]
    epsilon = var_smoothing * max(variance for _, variance in everything)
    parameters = {}
    for k in classes:
        for j in range(d):
            mean, variance = _moments(X, w, [label == k for label in y], j)
            parameters[k, j] = mean, variance + epsilon

    def factor(k, j, x):
        mean, variance = parameters[k, j]
        return -0.5 * log(2 * pi * variance) - 0.5 * (x - mean) ** 2 / variance

    return _table(y, w, new, factor)


def bernoulli(X, y, w, new, alpha=1.0):
    def factor(k, j, x):
        weight, ones = _sums(X, y, w, k, j)
        p = (ones + alpha) / (weight + 2 * alpha)
        return log(p) if x == 1 else log(1 - p)

    return _table(y, w, new, factor)


def poisson(X, y, w, new, alpha=1.0):
    def factor(k, j, x):
        weight, events = _sums(X, y, w, k, j)
        every = [_sums(X, y, w, other, j) for other in sorted(set(y))]
        overall = max(sum(e for _, e in every), 0.5) / sum(v for v, _ in every)
        rate = (events + alpha * overall) / (weight + alpha)
        return x * log(rate) - rate

    return _table(y, w, new, factor)


def categorical(X, y, w, new, levels, alpha=1.0):
    def factor(k, j, x):
        counts = [0.0] * levels[j]
        for row, label, v in zip(X, y, w, strict=True):
            if label == k and not isnan(row[j]):
                counts[int(row[j])] += v
        return log((counts[int(x)] + alpha) / (sum(counts) + alpha * levels[j]))

    return _table(y, w, new, factor)


def multinomial(X, y, w, new, alpha=1.0):
    d = len(X[0])

    def factor(k, j, x):
        counts = [_sums(X, y, w, k, i)[1] + alpha for i in range(d)]
        return x * log(counts[j] / sum(counts))

    return _table(y, w, new, factor)


def complement(X, y, w, new, alpha=1.0, norm=False):
    """Scores, not probabilities: minus the log-likelihood under the words of all other classes."""
    classes, d = sorted(set(y)), len(X[0])
    scores = np.zeros((len(new), len(classes)))
    for c, k in enumerate(classes):
        rest = [sum(_sums(X, y, w, other, j)[1] for other in classes if other != k) + alpha for j in range(d)]
        weights = [-log(r / sum(rest)) for r in rest]
        if norm:
            weights = [v / sum(weights) for v in weights]
        for i, row in enumerate(new):
            scores[i, c] = sum(x * v for x, v in zip(row, weights, strict=True))
    return scores


def star_posterior(prior, tables, evidence):
    """P(class | evidence) in the network whose class is the only parent of every attribute, by summing the joint.

    tables[j][k][v] = P(attribute j = v | class k); evidence[j] is a value or None when it is not observed.
    """
    posterior = [0.0] * len(prior)
    for assignment in product(*(range(len(table[0])) for table in tables)):
        if any(seen is not None and seen != value for seen, value in zip(evidence, assignment, strict=True)):
            continue
        for k, share in enumerate(prior):
            joint = share
            for table, value in zip(tables, assignment, strict=True):
                joint *= table[k][value]
            posterior[k] += joint
    return [p / sum(posterior) for p in posterior]


def posterior(joint):
    """Normalised over the classes, row by row."""
    rows = [[exp(v - max(row)) for v in row] for row in joint]
    return np.array([[v / sum(row) for v in row] for row in rows])


def _table(y, w, new, factor):
    classes = sorted(set(y))
    table = np.zeros((len(new), len(classes)))
    for c, k in enumerate(classes):
        share = sum(v for label, v in zip(y, w, strict=True) if label == k) / sum(w)
        for i, row in enumerate(new):
            table[i, c] = log(share) + sum(factor(k, j, x) for j, x in enumerate(row) if not isnan(x))
    return table


def _sums(X, y, w, k, j):
    """Weight of the observed entries of column j in class k, and their weighted sum."""
    seen = [(row[j], v) for row, label, v in zip(X, y, w, strict=True) if label == k and not isnan(row[j])]
    return sum(v for _, v in seen), sum(x * v for x, v in seen)


def _moments(X, w, chosen, j):
    seen = [(row[j], v) for row, v, take in zip(X, w, chosen, strict=True) if take and not isnan(row[j])]
    weight = sum(v for _, v in seen)
    mean = sum(x * v for x, v in seen) / weight
    return mean, sum(v * (x - mean) ** 2 for x, v in seen) / weight
