"""Sums of kernels over a tree of points, for groups of neighbouring queries.

A node is summarised by mass x (largest + smallest kernel) / 2 where half their difference is at most

    atol + rtol x (a lower bound of the sum) / (total mass):      the errors of all nodes then add up to the tolerance

The nearer child is visited first, so that the lower bound rises early.
"""

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.spatial.smoothing_kernel_loops import EXPONENTIAL, GAUSSIAN, kernel_profile, replace_by_profile

EUCLIDEAN, CHEBYSHEV, MANHATTAN = range(3)  # codes of distances
BLOCK_POINTS = 128  # points of a leaf, which is evaluated as one block
MAX_DEPTH = 64  # of a tree: it is balanced, and memory holds fewer points than 2^64


class Shape(NamedTuple):
    """A kernel as loops take it: its code and that of the distance."""

    kernel: int
    distance: int


class TreeArrays(NamedTuple):
    """Points in leaves of BLOCK_POINTS, and the nodes above them in preorder: the left child of i is i + 1."""

    points: Array  # (leaves, d, BLOCK_POINTS)
    weights: Matrix  # (leaves, BLOCK_POINTS), zero where a leaf is not full
    scales: Matrix  # (leaves, BLOCK_POINTS) factors of squared distances
    leaf: Indices  # (nodes,) its leaf, -1 for inner nodes
    right: Indices  # (nodes,) its right child
    axis: Indices  # (nodes,) the column that tells the children apart
    cut: Vector  # (nodes,) the value of that column between them
    low: Matrix  # (nodes, d) corners of the box around its points
    high: Matrix
    mass: Vector  # (nodes,) total weight
    least_scale: Vector  # (nodes,)
    most_scale: Vector


class Scratch(NamedTuple):
    """What a thread works in."""

    block: Vector  # (BLOCK_POINTS,) squared distances, then kernels; and its bits
    block_bits: Indices
    powers: Vector
    power_bits: Indices
    low: Vector  # (d,) corners of the box around a group of queries
    high: Vector
    nodes: Indices  # (2 MAX_DEPTH,) of the stack, with the largest and smallest kernel that each can have
    largest: Vector
    smallest: Vector


def scratch_for(d: int) -> Scratch:
    """Fresh scratch for points of d columns."""
    D, E = np.empty(BLOCK_POINTS), np.empty(BLOCK_POINTS)
    stack = np.empty(2 * MAX_DEPTH, dtype=np.int64), np.empty(2 * MAX_DEPTH), np.empty(2 * MAX_DEPTH)
    return Scratch(D, D.view(np.int64), E, E.view(np.int64), np.empty(d), np.empty(d), *stack)


@jit(error_model="numpy", reference_counting=False)
def leaf_of_rows(tree, Q, out):
    """The leaf of each row, by the cuts of the tree."""
    for q in range(len(Q)):
        node = 0
        while tree.leaf[node] < 0:
            node = node + 1 if Q[q, tree.axis[node]] <= tree.cut[node] else tree.right[node]
        out[q] = tree.leaf[node]


@jit(error_model="numpy", reference_counting=False)
def squared_bounds(tree, node, distance, low, high):
    """The least and the largest squared distance between a box and that of a node."""
    near, far = 0.0, 0.0
    for j in range(len(low)):
        gap = max(tree.low[node, j] - high[j], low[j] - tree.high[node, j], 0.0)
        reach = max(tree.high[node, j] - low[j], high[j] - tree.low[node, j])
        if distance == EUCLIDEAN:
            near += gap * gap
            far += reach * reach
        elif distance == CHEBYSHEV:
            near, far = max(near, gap), max(far, reach)
        else:
            near += gap
            far += reach
    if distance != EUCLIDEAN:
        near, far = near * near, far * far
    return near * tree.least_scale[node], far * tree.most_scale[node]


@jit(error_model="numpy", reference_counting=False)
def push(tree, shape, node, top, least, most, shift, S):
    """Put a node on the stack, with its bounds; returns the lower bound of its sum."""
    near, far = squared_bounds(tree, node, shape.distance, S.low, S.high)
    S.nodes[top] = node
    S.largest[top] = kernel_profile(shape.kernel, shifted_square(shape.kernel, near * least, shift))
    S.smallest[top] = kernel_profile(shape.kernel, shifted_square(shape.kernel, far * most, shift))
    return tree.mass[node] * S.smallest[top]


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def block_squares(tree, distance, Q, q, leaf, scale, D):
    """Squared distances (BLOCK_POINTS,) of the row q of Q from the points of a leaf, times the scales of both."""
    for i in range(BLOCK_POINTS):
        D[i] = 0.0
    for j in range(Q.shape[1]):
        c = Q[q, j]
        if distance == EUCLIDEAN:
            for i in range(BLOCK_POINTS):
                z = tree.points[leaf, j, i] - c
                D[i] += z * z
        elif distance == CHEBYSHEV:
            for i in range(BLOCK_POINTS):
                D[i] = max(D[i], abs(tree.points[leaf, j, i] - c))
        else:
            for i in range(BLOCK_POINTS):
                D[i] += abs(tree.points[leaf, j, i] - c)
    if distance != EUCLIDEAN:
        for i in range(BLOCK_POINTS):
            D[i] *= D[i]
    for i in range(BLOCK_POINTS):
        D[i] *= scale * tree.scales[leaf, i]


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def shifted_square(code, v, shift):
    """The squared distance at which the kernel is e^shift times that at v; shift is zero for kernels with an end."""
    if code == GAUSSIAN:
        return v - 2.0 * shift
    if code == EXPONENTIAL:
        u = max(np.sqrt(v) - shift, 0.0)
        return u * u
    return v


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def leaf_sum(tree, shape, Q, q, leaf, scale, shift, S):
    """The sum over the points of a leaf."""
    D = S.block
    block_squares(tree, shape.distance, Q, q, leaf, scale, D)
    if shift != 0.0:
        for i in range(BLOCK_POINTS):
            D[i] = shifted_square(shape.kernel, D[i], shift)
    replace_by_profile(shape.kernel, BLOCK_POINTS, D, S.block_bits, S.powers, S.power_bits)
    total = 0.0
    for i in range(BLOCK_POINTS):
        total += tree.weights[leaf, i] * D[i]
    return total


@jit(error_model="numpy", reference_counting=False)
def group_sums(tree, shape, Q, scale, shift, a, b, rtol, atol, S, out, lower):
    """Sums of the queries a..b, all near one another; scale (m,) multiplies their squared distances."""
    least, most = scale[a], scale[a]
    for j in range(Q.shape[1]):
        S.low[j], S.high[j] = Q[a, j], Q[a, j]
    for q in range(a, b):
        out[q], lower[q] = 0.0, 0.0
        least, most = min(least, scale[q]), max(most, scale[q])
        for j in range(Q.shape[1]):
            S.low[j], S.high[j] = min(S.low[j], Q[q, j]), max(S.high[j], Q[q, j])
    total, top, settled = tree.mass[0], 1, 0.0
    pending = push(tree, shape, 0, 0, least, most, shift[a], S)  # lower bound of what is on the stack
    while top > 0:
        top -= 1
        node, largest, smallest = S.nodes[top], S.largest[top], S.smallest[top]
        mass = tree.mass[node]
        allowed = atol + rtol * (settled + pending) / total
        pending = max(pending - mass * smallest, 0.0)
        if 0.5 * (largest - smallest) <= allowed:
            for q in range(a, b):
                out[q] += 0.5 * mass * (largest + smallest)
                lower[q] += mass * smallest
        elif tree.leaf[node] >= 0:
            leaf = tree.leaf[node]
            for q in range(a, b):
                value = leaf_sum(tree, shape, Q, q, leaf, scale[q], shift[q], S)
                out[q] += value
                lower[q] += value
        else:
            first, second = node + 1, tree.right[node]
            if Q[a, tree.axis[node]] <= tree.cut[node]:
                first, second = second, first
            pending += push(tree, shape, first, top, least, most, shift[a], S)
            pending += push(tree, shape, second, top + 1, least, most, shift[a], S)
            top += 2
            continue
        settled = lower[a]
        for q in range(a + 1, b):
            settled = min(settled, lower[q])


@jit(error_model="numpy", reference_counting=False)
def tree_sums(tree, shape, Q, scale, shift, size, first, last, rtol, atol, S, out, lower):
    """The sums of groups first..last, of `size` queries each."""
    for g in range(first, last):
        group_sums(tree, shape, Q, scale, shift, g * size, min((g + 1) * size, len(Q)), rtol, atol, S, out, lower)


@jit(error_model="numpy", reference_counting=False)
def nearest_squares(tree, shape, Q, scale, S, out):
    """The least squared scaled distance of each query from a point."""
    for q in range(len(Q)):
        best, top = np.inf, 1
        S.nodes[0], S.smallest[0] = 0, 0.0
        for j in range(Q.shape[1]):
            S.low[j], S.high[j] = Q[q, j], Q[q, j]
        while top > 0:
            top -= 1
            node = S.nodes[top]
            if S.smallest[top] >= best:
                continue
            leaf = tree.leaf[node]
            if leaf >= 0:
                block_squares(tree, shape.distance, Q, q, leaf, scale[q], S.block)
                for i in range(BLOCK_POINTS):
                    if tree.weights[leaf, i] > 0.0:
                        best = min(best, S.block[i])
                continue
            first, second = node + 1, tree.right[node]
            if Q[q, tree.axis[node]] <= tree.cut[node]:
                first, second = second, first
            for child in (first, second):
                near, _ = squared_bounds(tree, child, shape.distance, S.low, S.high)
                S.nodes[top], S.smallest[top] = child, near * scale[q]
                top += 1
        out[q] = best
