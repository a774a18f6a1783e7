"""Compiled steps of mean shift: the weighted mean of the rows about a position, and modes that are one."""

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.spatial.metrics.rule_loops import panel_distances
from fivefold.spatial.search.tree_search_loops import farthest_bound, node_bound
from fivefold.spatial.smoothing_kernel_loops import TOPHAT, kernel_profile


@jit(error_model="numpy")
def sum_nodes(tree, sums):
    """The sum of the rows of each node (nodes, d)."""
    inner = len(tree.ends) - len(tree.Z)
    for node in range(len(tree.ends) - 1, -1, -1):
        for j in range(sums.shape[1]):
            if node < inner:
                sums[node, j] = sums[2 * node + 1, j] + sums[2 * node + 2, j]
            else:
                total = 0.0
                for t in range(tree.ends[node, 1] - tree.ends[node, 0]):
                    total += tree.Z[node - inner, j, t]
                sums[node, j] = total


@jit(error_model="numpy", reference_counting=False)
def means_in_tree(rule, tree, sums, P, code, limit, unit, work, stack, means, mass):
    """The means of the rows about each position, weighted by a profile, and the sums of their weights.

    Rows at a squared distance of more than `limit` weigh nothing; others the profile at that distance times `unit`.
    Nodes that lie within the limit of a flat profile are added as a whole.
    """
    inner, d = len(tree.ends) - len(tree.Z), P.shape[1]
    for i in range(len(P)):
        q, mean, total, size, stack[0] = P[i], means[i], 0.0, 1, 0
        mean[:] = 0.0
        while size > 0:
            size -= 1
            node = stack[size]
            if node_bound(rule, tree, q, node, work) > limit:
                continue
            m = tree.ends[node, 1] - tree.ends[node, 0]
            if code == TOPHAT and farthest_bound(rule, tree, q, node, work) <= limit:
                total += m
                for j in range(d):
                    mean[j] += sums[node, j]
                continue
            if node < inner:
                stack[size], stack[size + 1] = 2 * node + 2, 2 * node + 1
                size += 2
                continue
            Z = tree.Z[node - inner]
            panel_distances(rule, q, Z, m, work)
            for t in range(m):
                if work[t] > limit:
                    work[t] = 0.0
                else:
                    work[t] = 1.0 if code == TOPHAT else kernel_profile(code, work[t] * unit)
                total += work[t]
            for j in range(d):
                part = 0.0
                for t in range(m):
                    part += work[t] * Z[j, t]
                mean[j] += part
        mass[i] = total
        for j in range(d):
            mean[j] = mean[j] / total if total > 0.0 else q[j]


@jit(error_model="numpy")
def blur_in_place(X, code, limit, unit, step):
    """Move each row towards the mean of the rows about it, those before it moved already; the mean length of moves."""
    n, d = X.shape
    mean, moved = np.empty(d), 0.0
    for i in range(n):
        mean[:] = 0.0
        total = 0.0
        for k in range(n):
            square = 0.0
            for j in range(d):
                square += (X[k, j] - X[i, j]) ** 2
            if square <= limit:
                weight = 1.0 if code == TOPHAT else kernel_profile(code, square * unit)
                total += weight
                for j in range(d):
                    mean[j] += weight * (X[k, j] - X[i, j])  # relative to the row: a row among its copies stays
        square = 0.0
        for j in range(d):
            move = step * mean[j] / total
            square += move * move
            X[i, j] += move
        moved += np.sqrt(square)
    return moved / n


@jit(error_model="numpy")
def keep_apart(modes, limit, kept):
    """Keep each mode that no earlier one that was kept is within the limit of."""
    for i in range(len(modes)):
        if not kept[i]:
            continue
        for k in range(i + 1, len(modes)):
            if kept[k]:
                square = 0.0
                for j in range(modes.shape[1]):
                    square += (modes[i, j] - modes[k, j]) ** 2
                kept[k] = square > limit
