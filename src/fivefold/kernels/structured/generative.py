"""Kernels from fitted generative models.

RankOne(p)            p(x) p(y), of any density
FisherKernel          u(x)' F^-1 u(y), u(x) the derivative of log p(x) by the parameters, F = E[u u']: objects are alike
                      if they pull the parameters the same way (Jaakkola & Haussler, 1999)
MarginalisedKernel    sum_h P(h | x) P(h | y) k(x, y) over hidden states h (Tsuda, Kin & Asai, 2002)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.types import Array, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects
from fivefold.kernels.structured.base import StructuredKernel

INFORMATION_RIDGE = 1e-9  # share of the mean of the diagonal that is added to it: scores may be linearly dependent


class FisherKernel(StructuredKernel):
    """u(x)' F^-1 u(y) of score vectors u; F is their second moment on a sample, or the identity.

    `scores` gives the score vectors (n, p) of n objects, such as `mixture_scores(model)`.

    Examples
    --------
    >>> normal = FisherKernel(lambda X: np.column_stack([X, X**2 - 1]))  # mean and log variance of a standard normal
    >>> normal(np.array([1.0, 2.0]))
    array([[ 1.,  2.],
           [ 2., 13.]])
    """

    scores: Callable[[Any], Array]
    sample: Any = None  # objects for the information F; None: the identity

    @on_one_blas_thread
    def _features(self, X: Objects) -> Matrix:
        U = np.asarray(self.scores(X), dtype=np.float64)
        if self.sample is None:
            return U
        S = np.asarray(self.scores(self.sample), dtype=np.float64)
        F = S.T @ S / len(S)
        F[np.diag_indices_from(F)] += INFORMATION_RIDGE * max(float(np.trace(F)) / len(F), 1e-300)
        return solve_triangular(np.linalg.cholesky(F), U.T, lower=True).T

    @on_one_blas_thread
    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        A = self._features(X)
        return A @ (A if Y is None else self._features(Y)).T

    def diag(self, X: Objects) -> Vector:
        return np.square(self._features(X)).sum(axis=1)


def mixture_scores(model: Any) -> Callable[[Any], Matrix]:
    """Score vectors by weights (as logits) and means of a fitted Gaussian mixture, ours or scikit-learn's."""
    means, weights = np.asarray(model.means_, dtype=np.float64), np.asarray(model.weights_, dtype=np.float64)
    K, d = means.shape
    covariances = np.asarray(model.covariances_, dtype=np.float64)
    kind = model.covariance_type
    full = {
        "full": lambda: covariances,
        "tied": lambda: np.broadcast_to(covariances, (K, d, d)),
        "diag": lambda: np.stack([np.diag(row) for row in covariances]),
        "spherical": lambda: covariances[:, None, None] * np.eye(d),
    }[kind]()
    factors = [cho_factor(S, lower=True) for S in full]

    def scores(X: Any) -> Matrix:
        Z = np.asarray(X, dtype=np.float64)
        R = np.asarray(model.predict_proba(Z), dtype=np.float64)  # (n, K)
        pulls = [R[:, [k]] * cho_solve(factors[k], (Z - means[k]).T).T for k in range(K)]
        return np.hstack([R - weights, *pulls])

    return scores


class MarginalisedKernel(Kernel):
    """sum_h P(h | x) P(h | y) k(x, y): `posterior` gives the probabilities (n, K) of the hidden states of n objects."""

    posterior: Callable[[Any], Array]
    kernel: Kernel

    def is_stationary(self) -> bool:
        return False

    @on_one_blas_thread
    def _shared(self, X: Objects, Y: Objects | None) -> Matrix:
        P = np.asarray(self.posterior(X), dtype=np.float64)
        return P @ (P if Y is None else np.asarray(self.posterior(Y), dtype=np.float64)).T

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return self._shared(X, Y) * self.kernel(X, Y)

    def diag(self, X: Objects) -> Vector:
        return np.square(np.asarray(self.posterior(X), dtype=np.float64)).sum(axis=1) * self.kernel.diag(X)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        shared = self._shared(X, Y)
        yield from (shared * D for D in self.kernel.gradient(X, Y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        shared = np.square(np.asarray(self.posterior(X), dtype=np.float64)).sum(axis=1)
        yield from (shared * d for d in self.kernel.diag_gradient(X))
