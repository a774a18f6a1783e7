"""Pairs of directions, one after the other: find the best pair, take it out of both tables, go on with what is left.

    covariance   (w, c) = argmax cov(X w, Y c)     over unit vectors
    correlation  (w, c) = argmax cor(X w, Y c)
    t = X w,  u = Y c,   X <- X - t p',  p = X't / t't

and Y <- Y - u q', q = Y'u / u'u (both sides alike) or Y <- Y - t q', q = Y't / t't (regression on t). Each pair comes
from a singular value decomposition, so it is exact where NIPALS stops at a tolerance. Of several equally good pairs
the one that power iteration from the first column of Y would reach is taken, so the result does not waver.

Wold (1975); Wegelin (2000), A survey of partial least squares methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fivefold.core.numerics.svd import thin_svd
from fivefold.core.types import Array, Doubles, Matrix, Vector

TIE = 1e-10  # singular values within this share of the largest are equal to it
EXHAUSTED = 1e-14  # tables below this share of their first size are only rounding
SMALLEST = 1e-100  # numbers below it have no square: a table of them is a table of zeros
RANK_FLOOR = 1e6 * np.finfo(np.float64).eps  # singular values of a table below this share of the largest are zero

FindPair = Callable[[Doubles, Doubles], "tuple[Vector, Vector] | None"]  # None: nothing is left in common


@dataclass(frozen=True)
class Components:
    """Directions of both tables, (d, k) and (q, k); columns beyond `found` are zero."""

    x_weights: Matrix
    y_weights: Matrix
    x_loadings: Matrix
    y_loadings: Matrix
    found: int
    exhausted: bool = False  # was nothing left that the tables have in common?


def deflated_components(
    X: Doubles, Y: Doubles, k: int, find: FindPair, report: Callable[[float], bool], *, regression: bool
) -> Components:
    """At most k components; fewer where nothing is left that the tables have in common.

    `report` gets the sum of squares of the scores of each component; if it answers True, no other is sought.
    """
    x_weights, x_loadings = (np.zeros((X.shape[1], k)) for _ in range(2))
    y_weights, y_loadings = (np.zeros((Y.shape[1], k)) for _ in range(2))
    for i in range(k):
        pair = find(X, Y)
        if pair is None:
            return Components(x_weights, y_weights, x_loadings, y_loadings, i, exhausted=True)
        w, c = pair
        sign = np.sign(w[np.argmax(np.abs(w))])
        w, c = sign * w, sign * c
        t = X @ w
        if regression:  # c such that u = Y c / c'c has the scale of NIPALS
            c = Y.T @ t / (t @ t)
        u = t if regression else Y @ c
        p, q = X.T @ t / (t @ t), Y.T @ u / (u @ u)
        X, Y = X - np.outer(t, p), Y - np.outer(u, q)
        x_weights[:, i], y_weights[:, i], x_loadings[:, i], y_loadings[:, i] = w, c, p, q
        if report(float(t @ t)):
            return Components(x_weights, y_weights, x_loadings, y_loadings, i + 1)
    return Components(x_weights, y_weights, x_loadings, y_loadings, k)


def largest_covariance(X: Doubles, Y: Doubles) -> FindPair:
    """The pair of unit vectors of largest covariance, in tables that are what is left of these."""
    largest = max(float(np.abs(X).max(initial=0.0)) * EXHAUSTED, SMALLEST)
    floors = largest, np.abs(Y).max(axis=0, initial=0.0) * EXHAUSTED
    return partial(_covariance_pair, floors)


def _covariance_pair(floors: tuple[float, Vector], X: Doubles, Y: Doubles) -> tuple[Vector, Vector] | None:
    alive = np.abs(Y).max(axis=0, initial=0.0) > np.maximum(10 * np.finfo(float).eps, floors[1])
    if not alive.any() or np.abs(X).max(initial=0.0) <= floors[0]:
        return None
    C = X.T @ np.where(alive, Y, 0.0)
    return leading_pair(C, np.eye(Y.shape[1])[alive.argmax()])


def largest_correlation(X: Doubles, Y: Doubles) -> FindPair:
    """The pair of unit vectors of largest correlation, in tables that are what is left of these."""
    floors = (
        max(RANK_FLOOR * float(np.linalg.norm(X, 2)), SMALLEST),
        max(RANK_FLOOR * float(np.linalg.norm(Y, 2)), SMALLEST),
    )
    return partial(_correlation_pair, floors)


def _correlation_pair(floors: tuple[float, float], X: Doubles, Y: Doubles) -> tuple[Vector, Vector] | None:
    (U, r, A), (V, s, B) = _cut_svd(X, floors[0]), _cut_svd(Y, floors[1])
    if not (len(r) and len(s)):
        return None
    start = V.T @ Y[:, int((np.abs(Y) > floors[1]).any(axis=0).argmax())]
    pair = leading_pair(U.T @ V, start)
    if pair is None:
        return None
    w, c = A.T @ (pair[0] / r), B.T @ (pair[1] / s)
    return w / np.linalg.norm(w), c / np.linalg.norm(c)


def _cut_svd(A: Doubles, floor: float) -> tuple[Array, Array, Array]:
    U, s, Vt = thin_svd(A.copy())
    rank = int((s > floor).sum())
    return U[:, :rank], s[:rank], Vt[:rank]


def leading_pair(C: Array, start: Vector) -> tuple[Vector, Vector] | None:
    """The singular vectors of the largest singular value; among equals, the nearest to `start` on the right."""
    U, s, Vt = thin_svd(C.copy())
    if not s[0] > 0:
        return None
    tied = s >= (1 - TIE) * s[0]
    near = Vt[tied] @ start
    size = float(np.linalg.norm(near))
    if tied.sum() == 1 or size <= TIE * float(np.linalg.norm(start)):
        return U[:, 0], Vt[0]
    return U[:, tied] @ (near / size), Vt[tied].T @ (near / size)
