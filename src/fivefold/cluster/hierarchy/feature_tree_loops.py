"""Compiled insertion of rows into a tree of clustering features.

A clustering feature is what adds of a group of rows: their number, their mean, and the sum of squared distances to it.
A node holds up to `branching_factor` of them; in a leaf each stands for a subcluster, above for a node. A row goes down
to the nearest mean; the subcluster there takes it if its radius, the root of the mean squared distance to the mean,
stays within the threshold, and otherwise the row is a subcluster of its own. A node that is too full is divided between
its two means that are farthest apart, and the root, too, so that the tree grows upward.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Doubles, Indices

NO_CHILD = -1
ROOT, USED_NODES, INSERTED, LEVELS = range(4)  # numbers of FeatureTree.state


class FeatureTree(NamedTuple):
    """Nodes with room for one feature more than they may keep."""

    size: Indices  # (nodes,): features of a node
    counts: Doubles  # (nodes, B + 1): rows of a feature
    means: Doubles  # (nodes, B + 1, d)
    squares: Doubles  # (nodes, B + 1): sum of squared distances to the mean
    child: Indices  # (nodes, B + 1): node below, or NO_CHILD
    following: Indices  # (nodes,): the next leaf, or NO_CHILD
    state: Indices  # (4,)
    path: Indices  # (levels, 2): scratch


@jit(error_model="numpy", reference_counting=False)
def _nearest_feature(means, size, x):
    best, least = 0, np.inf
    for k in range(size):
        square = 0.0
        for j in range(len(x)):
            square += (means[k, j] - x[j]) ** 2
        if square < least:
            best, least = k, square
    return best, least


@jit(error_model="numpy", reference_counting=False)
def _add_row(tree, node, k, x):
    """Count a row among those of a feature."""
    count = tree.counts[node, k]
    square = 0.0
    for j in range(len(x)):
        gap = x[j] - tree.means[node, k, j]
        square += gap * gap
        tree.means[node, k, j] += gap / (count + 1)
    tree.counts[node, k] = count + 1
    tree.squares[node, k] += square * count / (count + 1)


@jit(error_model="numpy", reference_counting=False)
def _copy_feature(tree, node, k, to, place):
    tree.counts[to, place], tree.squares[to, place] = tree.counts[node, k], tree.squares[node, k]
    tree.child[to, place] = tree.child[node, k]
    for j in range(tree.means.shape[2]):
        tree.means[to, place, j] = tree.means[node, k, j]


@jit(error_model="numpy", reference_counting=False)
def _sum_features(tree, node, to, place):
    """Write the sum of all features of a node, which is below it, to a place of another."""
    total, square, mean = 0.0, 0.0, tree.means[to, place]
    for k in range(tree.size[node]):
        total += tree.counts[node, k]
    mean[:] = 0.0
    for k in range(tree.size[node]):
        for j in range(len(mean)):
            mean[j] += tree.counts[node, k] / total * tree.means[node, k, j]
    for k in range(tree.size[node]):
        gap = 0.0
        for j in range(len(mean)):
            gap += (tree.means[node, k, j] - mean[j]) ** 2
        square += tree.squares[node, k] + tree.counts[node, k] * gap
    tree.counts[to, place], tree.squares[to, place], tree.child[to, place] = total, square, node


@jit(error_model="numpy", reference_counting=False)
def _divide(tree, node, near):
    """Move the features of a node that are nearer to the second of the two farthest ones to a new node; its number."""
    m, means, other = tree.size[node], tree.means[node], tree.state[USED_NODES]
    one, two, farthest = 0, 0, -1.0
    for a in range(m):
        for b in range(a, m):
            square = 0.0
            for j in range(means.shape[1]):
                square += (means[a, j] - means[b, j]) ** 2
            if square > farthest:
                one, two, farthest = a, b, square
    for k in range(m):
        first, second = 0.0, 0.0
        for j in range(means.shape[1]):
            first += (means[k, j] - means[one, j]) ** 2
            second += (means[k, j] - means[two, j]) ** 2
        near[k] = k == one or first < second
    kept, moved = 0, 0
    for k in range(m):
        if near[k]:
            if kept < k:
                _copy_feature(tree, node, k, node, kept)
            kept += 1
        else:
            _copy_feature(tree, node, k, other, moved)
            moved += 1
    tree.size[node], tree.size[other] = kept, moved
    tree.following[other], tree.following[node] = tree.following[node], other
    tree.state[USED_NODES] = other + 1
    return other


@jit(error_model="numpy", reference_counting=False)
def insert_rows(tree, X, threshold, near):
    """Insert rows from the one after those inserted on; how many are done when its nodes run out."""
    room = tree.counts.shape[1] - 1
    limit = threshold * threshold
    for i in range(tree.state[INSERTED], len(X)):
        if tree.state[USED_NODES] + tree.state[LEVELS] + 1 > len(tree.size) or tree.state[LEVELS] > len(tree.path):
            return i
        x, node, depth = X[i], tree.state[ROOT], 0
        if tree.size[node] > 0:
            while True:
                k, square = _nearest_feature(tree.means[node], tree.size[node], x)
                if tree.child[node, k] == NO_CHILD:
                    break
                tree.path[depth, 0], tree.path[depth, 1] = node, k
                node = tree.child[node, k]
                depth += 1
            count = tree.counts[node, k]
            fits = (tree.squares[node, k] + square * count / (count + 1)) / (count + 1) <= limit
        else:
            k, fits = 0, False
        if fits:
            _add_row(tree, node, k, x)
        else:
            k = tree.size[node]
            tree.counts[node, k], tree.squares[node, k], tree.child[node, k] = 1.0, 0.0, NO_CHILD
            for j in range(len(x)):
                tree.means[node, k, j] = x[j]
            tree.size[node] = k + 1
        tree.state[INSERTED] = i + 1
        while tree.size[node] > room:
            other = _divide(tree, node, near)
            if depth == 0:
                root = tree.state[USED_NODES]
                tree.state[USED_NODES], tree.state[ROOT], tree.size[root] = root + 1, root, 2
                _sum_features(tree, node, root, 0)
                _sum_features(tree, other, root, 1)
                tree.state[LEVELS] += 1
                break
            depth -= 1
            above, k = tree.path[depth, 0], tree.path[depth, 1]
            _sum_features(tree, node, above, k)
            _sum_features(tree, other, above, tree.size[above])
            tree.size[above] += 1
            node = above
        for level in range(depth):  # features above those that were divided
            _add_row(tree, tree.path[level, 0], tree.path[level, 1], x)
    return len(X)
