"""Quadrics as hyperplanes: a node whose columns are z_j and the products z_i z_j, i <= j.

A hyperplane found there, w'z + sum_ij W_ij z_i z_j <= limit, is a quadratic question about the rows of the node.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fivefold.partition.row_questions.nodes import LinearQuestion, Node, QuadraticQuestion


def with_products(node: Node) -> Node:
    """The node with its columns, in units of their spread, and their products."""
    i, j = np.triu_indices(len(node.Z))
    return replace(node, X=np.ascontiguousarray(np.vstack([node.Z, node.Z[i] * node.Z[j]]).T))


def quadric(node: Node, plane: LinearQuestion) -> QuadraticQuestion:
    """A hyperplane of the lifted node as a question about the rows of X."""
    d, s = len(node.Z), node.scale
    i, j = np.triu_indices(d)
    W = np.zeros((d, d))
    W[i, j] += plane.weights[d:] / 2
    W[j, i] += plane.weights[d:] / 2
    return QuadraticQuestion(node.mean, W / s / s[:, None], plane.weights[:d] / s, limit=plane.limit)
