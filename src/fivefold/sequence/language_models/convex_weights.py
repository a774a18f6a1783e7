"""Convex combinations of distributions, with weights fitted on held-out data.

    P(x) = sum_k lambda_k P_k(x),   lambda >= 0, sum_k lambda_k = 1

is a distribution if every P_k is one. The components are given, only the weights are learned; EM finds the weights that
make held-out data likeliest, as the log-likelihood is concave in them:

    E-step  r_ik = lambda_k P_k(x_i) / P(x_i)          M-step  lambda_k = mean of r_ik

Weights may depend on a bucket of the data point, such as the count of its context.

Jelinek & Mercer (1980).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Codes, Doubles, Weights
from fivefold.inference.em import EMResult, em


@dataclass(frozen=True)
class ConvexWeights:
    """Weights (buckets, components) of distributions; `bucket` is that of each data point."""

    weights: Doubles
    bucket: Codes  # (n,)

    @classmethod
    def even(cls, n_components: int, bucket: Codes, n_buckets: int) -> ConvexWeights:
        """Equal weights: where EM starts."""
        return cls(np.full((n_buckets, n_components), 1 / n_components), bucket)

    def expect(self, P: Doubles, w: Weights) -> tuple[Doubles, float]:
        """Expected counts (buckets, components) and the log-likelihood of points with component probabilities P."""
        joint = self.weights[self.bucket] * P
        total = joint.sum(axis=1)
        R = joint * (w / total)[:, None]
        counts = np.stack([np.bincount(self.bucket, column, minlength=len(self.weights)) for column in R.T], axis=1)
        return counts.astype(np.float64), float(w @ np.log(total))

    def maximise(self, stats: Doubles) -> ConvexWeights:
        """Relative counts; a bucket without data keeps its weights."""
        total = stats.sum(axis=1, keepdims=True)
        new = np.divide(stats, total, out=self.weights.copy(), where=total > 0)
        return ConvexWeights(new, self.bucket)


def fit_convex_weights(
    P: Doubles,
    w: Weights | None = None,
    *,
    bucket: Codes | None = None,
    n_buckets: int = 1,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> EMResult[ConvexWeights]:
    """The weights that make points likeliest, of which P (n, components) holds the probability under each component.

    Points that no component allows say nothing about the weights and are left out.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]])
    >>> fit_convex_weights(P).model.weights.round(3)
    array([[0.847, 0.153]])
    """
    possible = P.sum(axis=1) > 0
    bucket = np.zeros(len(P), dtype=np.int64) if bucket is None else bucket
    w = np.ones(len(P)) if w is None else w
    start = ConvexWeights.even(P.shape[1], bucket[possible], n_buckets)
    return em(start, P[possible], w[possible], tol=tol, max_iter=max_iter)
