"""Nodes and tables for trees that ask about whole rows."""

import numpy as np

from fivefold.partition.criteria.classification_criteria import Gini
from fivefold.partition.row_questions.nodes import Node, sum_statistics
from fivefold.partition.splitters.base import GrowthLimits


def node_of(X, y, criterion=Gini, w=None):
    """The root of a tree of classes 0, 1, ..."""
    w = np.ones(len(X)) if w is None else w
    c = criterion(y.astype(np.int32), w, int(y.max()) + 1)
    return Node(
        np.asarray(X, dtype=float), np.arange(len(X)), c, sum_statistics(c, np.arange(len(X))), 0, GrowthLimits()
    )


def rotated(n, seed):
    """Three classes in boxes of rotated coordinates."""
    rng = np.random.RandomState(seed)
    turn = np.linalg.qr(np.random.RandomState(7).normal(size=(4, 4)))[0]
    X = rng.normal(size=(n, 4))
    Z = X @ turn
    return X, np.where(Z[:, 0] > 0.2, "a", np.where(Z[:, 1] > 0, "b", "c"))
