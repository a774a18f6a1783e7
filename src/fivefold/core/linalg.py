"""Linear algebra that NumPy and SciPy do not have as a plain function.

Second moments of a table in one pass over blocks of rows, merged as Chan, Golub & LeVeque (1979) do;
symmetric eigenpairs with a sign that no routine decides; the singular value decomposition from the
smaller Gram matrix and from a random sketch (Halko, Martinsson & Tropp, 2011); power iteration with
deflation; definiteness with a proof. Functions take NumPy arrays or tensors where they say "array".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import issparse

from fivefold.core.arrays import like, namespace
from fivefold.core.parallel import BLOCK, PART, map_parts, scratch

Array = NDArray[np.floating[Any]]

ROUNDING = float(np.finfo(np.float64).eps)
PILOT = 256  # the mean of so many rows is near enough to centre a part with
NARROW = 16  # a part has at least so many rows a column, so that its (d, d) sums stay small beside it


class Moments(NamedTuple):
    """Total weight, mean (d,) and scatter (d, d): the weighted sum of (x - mean)(x - mean)^T."""

    weight: float
    mean: Any
    scatter: Any


def weighted_moments(X: Any, w: Any = None) -> Moments:
    """Moments of the rows of an array or a sparse matrix, each counted w times (once by default).

    One pass; NumPy arrays are summed in float64, about the mean of a few rows, so that nothing is lost
    when the data lie far from zero.
    """
    if issparse(X):
        return _sparse_moments(X, w)
    if not isinstance(X, np.ndarray):
        return _tensor_moments(X, w)
    root = None if w is None else np.sqrt(w, dtype=np.float64)
    return reduce(_merged, map_parts(partial(_part_moments, X, root), len(X), rows=max(PART, NARROW * X.shape[1])))


def _part_moments(X: Any, root: Any, lo: int, hi: int) -> Moments:
    d = X.shape[1]
    pilot = X[lo : min(lo + PILOT, hi)].mean(axis=0, dtype=np.float64)
    weight, total, S, G = 0.0, np.zeros(d), np.zeros((d, d)), np.empty((d, d))
    for a in range(lo, hi, BLOCK):
        b = min(a + BLOCK, hi)
        Z = scratch("moments", b - a, d)
        np.subtract(X[a:b], pilot, out=Z)
        v = np.ones(b - a) if root is None else root[a:b]
        if root is not None:
            Z *= v[:, None]
        S += np.matmul(Z.T, Z, out=G)
        total += v @ Z
        weight += float(v @ v)
    S -= np.outer(total, total / weight)
    return Moments(weight, pilot + total / weight, S)


def _merged(one: Moments, other: Moments) -> Moments:
    weight = one.weight + other.weight
    gap = other.mean - one.mean
    scatter = one.scatter + other.scatter + np.outer(gap, gap * (one.weight * other.weight / weight))
    return Moments(weight, one.mean + gap * (other.weight / weight), scatter)


def _sparse_moments(X: Any, w: Any) -> Moments:
    X = X.astype(np.float64)
    v = np.ones(X.shape[0]) if w is None else w
    weight = float(v.sum())
    mean = (X.T @ v) / weight
    return Moments(weight, mean, (X.T @ X.multiply(v[:, None]).tocsr()).toarray() - weight * np.outer(mean, mean))


def _tensor_moments(X: Any, w: Any) -> Moments:
    xp = namespace(X)
    v = xp.ones_like(X[:, 0]) if w is None else like(w, X)
    weight = float(xp.sum(v))
    mean = (v @ X) / weight
    Z = X - mean
    return Moments(weight, mean, (Z * v[:, None]).T @ Z)


def double_centred(A: Array) -> Array:
    """H A H with H = I - 11^T / n: rows and columns then sum to zero."""
    return A - A.mean(axis=0) - A.mean(axis=1, keepdims=True) + A.mean()


def signed(rows: Any, other: Any = None) -> Any:
    """Rows of an array turned so that the largest entry of each is positive; `other` turned alike, if given."""
    xp = namespace(rows)
    if not rows.shape[0]:
        return rows if other is None else (rows, other)
    largest = xp.argmax(xp.abs(rows), axis=1)
    sign = xp.sign(rows[xp.arange(rows.shape[0], **_on(rows)), largest])[:, None]
    sign = xp.where(sign == 0, xp.ones_like(sign), sign)
    return rows * sign if other is None else (rows * sign, other * sign)
