"""Merging by the definitions: all distances of all clusters, again after each merge."""

import numpy as np


def pair_height(A, B, method):
    """Distance of two clusters given as their rows, for linkages that are defined by rows."""
    if method in ("ward", "centroid"):
        gap = np.linalg.norm(A.mean(axis=0) - B.mean(axis=0))
        return gap * np.sqrt(2 * len(A) * len(B) / (len(A) + len(B))) if method == "ward" else gap
    D = np.linalg.norm(A[:, None] - B[None], axis=2)
    return {"single": D.min, "complete": D.max, "average": D.mean}[method]()


def merge_heights(X, method):
    """Heights of the merges, and the set of sets of rows after each."""
    parts = [[i] for i in range(len(X))]
    heights, partitions = [], []
    while len(parts) > 1:
        pairs = [(pair_height(X[a], X[b], method), i, j) for i, a in enumerate(parts) for j, b in enumerate(parts[:i])]
        height, i, j = min(pairs)
        parts[j] = parts[j] + parts.pop(i)
        heights.append(height)
        partitions.append(partition_of(parts))
    return np.array(heights), partitions


def partition_of(parts):
    return frozenset(frozenset(part) for part in parts)
