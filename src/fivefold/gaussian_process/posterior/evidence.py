"""The evidence of a Gaussian process: how probable the targets are before the function is known.

    log p(y) = -1/2 y'C^-1 y - 1/2 log |C| - n/2 log 2 pi,     C = K + noise
    d log p(y) = 1/2 sum_ij (a a' - C^-1)_ij dC_ij,            a = C^-1 y

Several targets are independent processes with the same covariance: their evidences add. The weights of the derivative
are one matrix, which the kernel turns into the derivatives by all its parameters: no array n x n x p is made.

Rasmussen & Williams (2006), algorithm 2.1 and equation 5.9.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.numerics.cholesky import STRIP, inverse_factor, inverse_from
from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Vector
from fivefold.gaussian_process.posterior.covariance_factor import factor
from fivefold.gaussian_process.posterior.foreign_kernels import ForeignKernel
from fivefold.kernels.base import Kernel, Objects
from fivefold.kernels.gram import Factor


class Evidence(NamedTuple):
    """Logarithm of the evidence, its gradient by theta if asked for, the factor and the dual coefficients."""

    value: float
    gradient: Vector | None
    factor: Factor
    dual: Doubles  # (n, t)


def log_evidence(
    kernel: Kernel | ForeignKernel, X: Objects, Y: Doubles, noise: float | Vector, *, gradient: bool = False
) -> Evidence:
    """Of targets Y (n, t) with this variance of noise, one for all rows or one per row."""
    if gradient:
        K, pull = kernel.pullback(X)
    else:
        K = kernel(X)
    found = factor(np.array(K, dtype=np.float64, order="C"), noise)
    dual = np.asarray(found.solve(Y), dtype=np.float64)
    n, t = Y.shape
    value = -0.5 * float(np.vdot(Y, dual)) - 0.5 * t * (found.log_determinant + n * np.log(2 * np.pi))
    return Evidence(value, pull(evidence_weights(found, dual)) if gradient else None, found, dual)


def evidence_weights(found: Factor, dual: Doubles) -> Doubles:
    """W with sum_ij W_ij dC_ij = d log p: the lower triangle, counted twice off the diagonal, and zeros above it."""
    W, (n, t) = inverse_from(inverse_factor(np.asarray(found.L, dtype=np.float64))), dual.shape

    def strip(i: int) -> None:
        a, b = i * STRIP, min((i + 1) * STRIP, n)
        rows = W[a:b, :b]
        rows *= -t
        rows += dual[a:b] @ dual[:b].T
        corner = W[a:b, a:b]
        corner[...] = np.tril(corner, -1) + 0.5 * np.diag(np.diag(corner))
        W[a:b, b:] = 0.0

    map_items(strip, -(-n // STRIP))
    return W
