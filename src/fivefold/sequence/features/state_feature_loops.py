"""Compiled loops over the attributes of positions and the labels that each has a weight for."""

from __future__ import annotations

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def add_state_scores(start, attribute, value, feature_start, label, weight, lo, hi, scores):
    """scores[t, k] = sum over the attributes a of position t of value times the weight of (a, k), for lo <= t < hi."""
    K = scores.shape[1]
    for t in range(lo, hi):
        row = scores[t]
        for k in range(K):
            row[k] = 0.0
        for e in range(start[t], start[t + 1]):
            a = attribute[e]
            if a < 0:
                continue
            v, first = value[e], feature_start[a]
            count = feature_start[a + 1] - first
            if count == K:
                for k in range(K):
                    row[k] += v * weight[first + k]
            else:
                for f in range(first, first + count):
                    row[label[f]] += v * weight[f]


@jit(error_model="numpy")
def sum_state_features(start, position, value, feature_start, label, residual, lo, hi, total):
    """total[f] = sum over the positions t with attribute a of value times residual[t, k], f = (a, k), lo <= a < hi.

    The entries are sorted by attribute: start, position, value are the columns of the matrix of positions.
    """
    K = residual.shape[1]
    for a in range(lo, hi):
        first = feature_start[a]
        count = feature_start[a + 1] - first
        for f in range(first, first + count):
            total[f] = 0.0
        for e in range(start[a], start[a + 1]):
            v, row = value[e], residual[position[e]]
            if count == K:
                for k in range(K):
                    total[first + k] += v * row[k]
            else:
                for f in range(first, first + count):
                    total[f] += v * row[label[f]]
