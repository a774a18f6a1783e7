"""Rejection: a linear classifier that gives no class to some rows.

One against all: a row belongs to class k where g_k is the only positive score; where none is positive, or several are,
no hyperplane has claimed it alone. In pairs: a row belongs to class k where k wins against every other class.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array, Indices, Matrix

REJECTED = -1  # in place of the index of a class


def only_positive(scores: Matrix) -> Indices:
    """The index of the one positive score of each row of (n, K); -1 where there is none or more than one.

    Examples
    --------
    >>> only_positive([[1.0, -2.0, -1.0], [0.5, 0.7, -3.0], [-1.0, -1.0, -1.0]])
    array([ 0, -1, -1])
    """
    positive = np.asarray(scores) > 0
    return np.where(positive.sum(axis=1) == 1, positive.argmax(axis=1), REJECTED)


def wins_all(pairs: Array) -> Indices:
    """The class that wins against all others, from scores (n, K, K) with [i, k, l] > 0 where k beats l; -1 if none.

    Examples
    --------
    >>> cycle = [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]
    >>> order = [[0, 1, 1], [-1, 0, 1], [-1, -1, 0]]
    >>> wins_all([cycle, order])
    array([-1,  0])
    """
    beats = np.asarray(pairs) > 0
    K = beats.shape[1]
    winner = beats.sum(axis=2) == K - 1  # a class does not play itself
    return np.where(winner.any(axis=1), winner.argmax(axis=1), REJECTED)
