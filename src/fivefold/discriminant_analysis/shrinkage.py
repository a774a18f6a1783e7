"""Covariance of each class, shrunk towards a multiple of the identity or left to an estimator.

    Sigma_k = (1 - a) S_k + a (tr S_k / d) I

The amount a is given, or that of Ledoit & Wolf (2004) for standardised columns: the mean squared
error of S_k as an estimate, beta, over its squared distance from that multiple, delta, at most one. With
weights w of total n and z the standardised deviation of a row,

    d n beta = sum_i w_i |z_i|^4 / n - |S|_F^2        d delta = |S|_F^2 - (tr S)^2 / d
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from sklearn.base import clone

from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.types import Array
from fivefold.distributions.gaussian import GroupMoments, GroupWeights

ROUNDING_SPREAD = 1e-14  # a standard deviation below this share of the mean is rounding


class CovarianceEstimator(Protocol):
    """An object whose `fit` learns `covariance_` from the rows of a class, as in sklearn.covariance."""

    def fit(self, X: Array) -> Any: ...


@dataclass(frozen=True)
class Shrinkage:
    """How covariances are estimated from moments."""

    amount: float | Literal["auto"] | None = None
    estimator: CovarianceEstimator | None = None

    def refuse_for(self, solver: str, remedy: str) -> None:
        """Raise if set, for a solver that never forms a covariance."""
        if self.estimator is not None:
            raise ValueError(f"covariance_estimator is not supported with solver={solver!r}; {remedy}")
        if self.amount is not None:
            raise NotImplementedError(  # the error that scikit-learn raises here
                f"shrinkage not supported with {solver!r} solver; {remedy}"
            )

    def __call__(self, X: Array, R: GroupWeights, stats: GroupMoments) -> Array:
        """Covariance (K, d, d) of each group of rows."""
        if self.estimator is not None:
            if is_chunked(X):
                raise ValueError("covariance_estimator needs all rows in memory; for a table in chunks use shrinkage")
            if self.amount:
                raise ValueError("covariance_estimator and shrinkage are both given; only one of the two can be set")
            of = [R.codes == k for k in range(R.count)]
            return np.stack([_fitted(self.estimator, X[rows], R.weights[rows]) for rows in of])
        S = stats.scatter / stats.weight[:, None, None]
        if self.amount is None:
            return S
        return ledoit_wolf(X, R, stats) if self.amount == "auto" else shrink_covariance(S, self.amount)


def shrink_covariance(S: Array, amount: float | Array) -> Array:
    """Matrices (K, d, d) mixed with multiples of the identity of the same trace, by one amount or one per matrix."""
    K, d, _ = S.shape
    a = np.broadcast_to(amount, K)[:, None, None]
    return (1 - a) * S + a * np.trace(S, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)


def ledoit_wolf(X: Array, R: GroupWeights, stats: GroupMoments) -> Array:
    """Covariance (K, d, d) of each group, shrunk by the amount of Ledoit & Wolf after standardising."""
    n, d = stats.weight, X.shape[1]
    S = stats.scatter / n[:, None, None]
    scale = np.sqrt(np.einsum("kii->ki", S))  # (K, d)
    scale = np.where(scale > ROUNDING_SPREAD * np.abs(stats.mean), scale, 1.0)
    units = scale[:, :, None] * scale[:, None, :]
    S = S / units
    square, trace = (S**2).sum(axis=(1, 2)), np.trace(S, axis1=1, axis2=2)
    beta = (_fourth_powers(X, R, stats.mean, scale) / n - square) / n
    delta = square - trace**2 / d
    amount = np.divide(np.minimum(beta, delta), delta, out=np.zeros_like(delta), where=(delta > 0) & (beta > 0))
    return shrink_covariance(S, amount) * units


def _fourth_powers(X: Array, R: GroupWeights, mean: Array, scale: Array) -> Array:
    """sum_i w_i |(x_i - mean) / scale|^4 of each group (K,)."""
    if is_chunked(X):
        return sum_over_chunks(lambda X, R: _fourth_powers(X, R, mean, scale), X, R)

    def part(lo: int, hi: int) -> Array:
        sums = np.zeros(R.count)
        for a in range(lo, hi, BLOCK_ROWS):
            b = min(a + BLOCK_ROWS, hi)
            codes = R.codes[a:b]
            Z = X[a:b] - mean[codes]
            Z /= scale[codes]
            sums += np.bincount(codes, R.weights[a:b] * np.einsum("ij,ij->i", Z, Z) ** 2, R.count)
        return sums

    return np.sum(map_parts(part, len(X)), axis=0)


def _fitted(estimator: CovarianceEstimator, X: Array, w: Array) -> Array:
    """Covariance by an estimator; weights are passed on as repetitions, so they must be whole numbers."""
    name = type(estimator).__name__
    if (w != np.rint(w)).any():
        raise ValueError(f"{name} takes no weights, and sample_weight holds fractions; use shrinkage instead")
    found = clone(estimator, safe=False)  # anything with `fit` and `covariance_` will do
    found.fit(np.repeat(X, w.astype(np.int64), axis=0))
    try:
        return np.atleast_2d(found.covariance_)
    except AttributeError:
        raise ValueError(f"{name} does not have a covariance_ attribute") from None
