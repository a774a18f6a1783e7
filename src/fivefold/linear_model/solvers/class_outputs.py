"""Several classes as outputs of linear predictors: targets of each class against the rest, and probabilities."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from fivefold.core.numerics.arrays import is_tensor, namespace
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Codes, Doubles, Matrix, Vector


def one_vs_rest_targets(codes: Codes, K: int) -> list[Doubles]:
    """+1 for the rows of a class and -1 for the rest: for the second class of two, or for each of more."""
    return [2.0 * (codes == k) - 1.0 for k in (range(1, 2) if K == 2 else range(K))]


def class_probabilities(eta: Array) -> Matrix:
    """(n, K) from log odds (n,) or predictors (n, K)."""
    if is_tensor(eta):
        xp = namespace(eta)
        return eta.softmax(dim=1) if eta.ndim == 2 else xp.stack([(-eta).sigmoid(), eta.sigmoid()], axis=1)
    if eta.ndim == 1:
        return np.column_stack([expit(-eta), expit(eta)])
    out = np.empty_like(eta)

    def part(lo: int, hi: int) -> None:
        P = out[lo:hi]
        np.exp(eta[lo:hi] - eta[lo:hi].max(axis=1, keepdims=True), out=P)
        P /= P.sum(axis=1, keepdims=True)

    map_parts(part, len(eta))
    return out


def binary_probabilities(p: Vector) -> Matrix:
    """Probabilities of both classes from those of the second."""
    return np.column_stack([1 - p, p])


def normalise_rows(P: Matrix) -> Matrix:
    """Rows that sum to one; a row of zeros becomes uniform."""
    total = P.sum(axis=1, keepdims=True)
    return np.divide(P, total, out=np.full_like(P, 1 / P.shape[1]), where=total > 0)


def centre_offsets(x: Matrix, d: int) -> Matrix:
    """Coefficients (K, size) whose offsets sum to zero: softmax does not see a shift that all classes share."""
    return np.column_stack([x[:, :d], x[:, d:] - x[:, d:].mean(axis=0)])
