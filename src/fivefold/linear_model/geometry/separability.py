"""Can a hyperplane keep two sets of points apart? A linear program that proves either answer.

    separable:       w, b with  w'x + b >= 1 on one set and <= -1 on the other
    not separable:   weights u, v >= 0, sum u = sum v = 1, with  sum u_i x_i = sum v_j x_j,
                     a point that lies in the convex hull of both sets

Exactly one of the two exists (Farkas' lemma). Both come from one program, max t over w, b with the distances to one as
slacks; its multipliers are u and v. For many classes each is asked against the rest and against each other.

Mangasarian (1965).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from fivefold.core.types import Array, Matrix, Table, Target
from fivefold.linear_model.geometry.hyperplane import Hyperplane

TOUCHING_DISTANCE = 1e-7  # hulls nearer than this share of the size of the points count as touching


@dataclass(frozen=True)
class Separability:
    """The answer, and its proof: a hyperplane, or a point of both convex hulls with its weights."""

    separable: bool
    plane: Hyperplane | None  # positive on the first set
    first: Array | None  # weights of the rows of the first set
    second: Array | None  # weights of the rows of the second set
    point: Array | None  # the point of both hulls, the same mean under either weights

    def __bool__(self) -> bool:
        return self.separable


@dataclass(frozen=True)
class ClassSeparability:
    """Each class against the rest, and each pair."""

    rest: dict[Any, Separability]
    pairs: dict[tuple[Any, Any], Separability]

    @property
    def one_vs_rest(self) -> bool:
        """Can every class be kept apart from all others?"""
        return all(self.rest.values())

    @property
    def pairwise(self) -> bool:
        """Can every two classes be kept apart?"""
        return all(self.pairs.values())


def separate_sets(A: Matrix, B: Matrix) -> Separability:
    """Can a hyperplane keep the rows of A from those of B?

    >>> answer = separate_sets([[0, 0], [1, 1]], [[0, 1], [1, 0]])  # exclusive or
    >>> bool(answer), answer.point
    (False, array([0.5, 0.5]))
    >>> bool(separate_sets([[1, 1]], [[0, 0], [0, 1], [1, 0]]))
    True
    """
    A, B = (np.atleast_2d(np.asarray(rows, dtype=np.float64)) for rows in (A, B))
    if A.shape[1] != B.shape[1] or not len(A) or not len(B):
        raise ValueError(f"both sets need rows of the same width; got shapes {A.shape} and {B.shape}")
    centre = np.concatenate([A, B]).mean(axis=0)
    size = np.maximum(np.abs(np.concatenate([A, B]) - centre).max(axis=0), np.finfo(np.float64).tiny)
    P, Q = (A - centre) / size, (B - centre) / size  # about zero and of size one: the units do not matter
    u, v = _nearest(P, Q)
    gap = u @ P - v @ Q
    if np.abs(gap).max() > TOUCHING_DISTANCE:
        plane = _plane(P, Q)
        if plane is not None:
            w = plane[0] / size
            return Separability(True, Hyperplane(w, float(plane[1] - w @ centre)), None, None, None)
    return Separability(False, None, u, v, u @ A)


def separability(X: Table, y: Target) -> ClassSeparability:
    """Each class of y against the rest, and each pair of classes.

    >>> found = separability([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    >>> found.pairwise, found.one_vs_rest, bool(found.rest["b"])
    (True, False, False)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    labels = [label.item() if isinstance(label, np.generic) else label for label in np.unique(y)]
    rest = {k: separate_sets(X[y == k], X[y != k]) for k in labels}
    return ClassSeparability(rest, {(i, j): separate_sets(X[y == i], X[y == j]) for i, j in combinations(labels, 2)})


def _nearest(P: Array, Q: Array) -> tuple[Array, Array]:
    """Weights of a point of each hull, as near to one another in the largest coordinate as the hulls come."""
    (n, d), m = P.shape, len(Q)
    apart = np.hstack([P.T, -Q.T])  # (d, n + m)
    bound = -np.ones((d, 1))
    sums = np.zeros((2, n + m + 1))
    sums[0, :n] = sums[1, n : n + m] = 1.0
    found = linprog(
        np.append(np.zeros(n + m), 1.0),
        A_ub=np.vstack([np.hstack([apart, bound]), np.hstack([-apart, bound])]),
        b_ub=np.zeros(2 * d),
        A_eq=sums,
        b_eq=np.ones(2),
        bounds=(0, None),
        method="highs",
    )
    u, v = found.x[:n], found.x[n : n + m]
    return u / u.sum(), v / v.sum()


def _plane(P: Array, Q: Array) -> tuple[Array, float] | None:
    """w, b with f >= 1 on P and f <= -1 on Q and the least sum of |w|; None if rounding hides it."""
    d = P.shape[1]
    rows = np.vstack([np.column_stack([-P, P, -np.ones(len(P))]), np.column_stack([Q, -Q, np.ones(len(Q))])])
    limits = [(0, None)] * (2 * d) + [(None, None)]
    cost = np.append(np.ones(2 * d), 0.0)
    found = linprog(cost, A_ub=rows, b_ub=-np.ones(len(rows)), bounds=limits, method="highs")
    if found.status != 0:
        return None
    return found.x[:d] - found.x[d : 2 * d], float(found.x[-1])
