"""Evidence of a Gaussian process that looks at the rows through m inducing points, with its gradient.

    Q = Kfu Kuu^-1 Kuf,     log N(y | 0, Q + D)
    FITC   D = diag(Kff - Q) + noise                                       the right variances on the diagonal
    VFE    D = noise, less 1/2 sum_i (Kff - Q)_ii / noise_i                a bound from below on the full evidence

With Kuu = U U', V = U^-1 Kuf and A = I + V D^-1 V' everything costs n m^2. The derivative by Kuf, Kuu and the diagonal
of Kff follows from G = (a a' - (Q + D)^-1) / 2 and B = Kuu^-1 Kuf:

    2 <B G, dKuf> - <B G B', dKuu> + terms of the diagonal,     B (Q + D)^-1 = U^-T A^-1 V D^-1

With the rows themselves as inducing points both are the full process.

Snelson & Ghahramani (2006); Titsias (2009); Bauer, van der Wilk & Rasmussen (2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from fivefold.core.numerics.products import cross_product, product
from fivefold.core.types import Doubles, Matrix, Vector
from fivefold.gaussian_process.posterior.covariance_factor import factor
from fivefold.kernels.base import Kernel, Objects

Approximation = Literal["vfe", "fitc"]
INDUCING_JITTER = 1e-10  # share of the mean variance that is added to the covariance of the inducing points


@dataclass(frozen=True)
class SparseState:
    """What predictions need."""

    U: Doubles  # (m, m) lower factor of Kuu
    LA: Doubles  # (m, m) lower factor of A
    c: Doubles  # (m, t): LA^-1 V D^-1 Y


class SparseEvidence(NamedTuple):
    """Logarithm of the evidence or of its bound, the gradient by theta and by log noise if asked for, and the state."""

    value: float
    gradient: Vector | None  # (p + 1,) the last by the logarithm of a common noise
    state: SparseState


def sparse_evidence(
    kernel: Kernel, X: Objects, Z: Objects, Y: Doubles, noise: Vector, kind: Approximation, *, gradient: bool = False
) -> SparseEvidence:
    """Of targets Y (n, t) with one variance of noise per row, seen through the inducing points Z."""
    among, pull_uu = kernel.pullback(Z, Z)
    Kuf, pull_uf = kernel.pullback(Z, X)
    kff, pull_ff = kernel.diag_pullback(X)
    Kuu = np.array(among, dtype=np.float64)
    found = factor(Kuu.copy(), INDUCING_JITTER * float(np.mean(np.diag(Kuu))))
    U = np.tril(np.asarray(found.L, dtype=np.float64))
    V = solve_triangular(U, np.asarray(Kuf, dtype=np.float64), lower=True, check_finite=False)  # (m, n)
    q = np.einsum("ij,ij->j", V, V)
    gap = np.maximum(kff - q, 0.0)
    D = gap + noise if kind == "fitc" else noise
    VD = V / D
    A = cross_product(np.ascontiguousarray(VD.T), np.ascontiguousarray(V.T))
    A.flat[:: len(A) + 1] += 1.0
    LA = np.linalg.cholesky(A)
    c = solve_triangular(LA, VD @ Y, lower=True, check_finite=False)
    n, t = Y.shape
    quadratic = float(np.einsum("nt,n,nt->", Y, 1 / D, Y) - np.vdot(c, c))
    value = -0.5 * quadratic - t * (np.log(np.diag(LA)).sum() + 0.5 * np.log(D).sum() + 0.5 * n * np.log(2 * np.pi))
    if kind == "vfe":
        value -= 0.5 * t * float((gap / noise).sum())
    state = SparseState(U, LA, c)
    if not gradient:
        return SparseEvidence(float(value), None, state)
    W = solve_triangular(LA, V, lower=True, check_finite=False)  # (m, n)
    dual = Y / D[:, None] - (W / D).T @ c  # (n, t): (Q + D)^-1 Y
    precision = 1 / D - np.einsum("ij,ij->j", W, W) / D**2  # diagonal of (Q + D)^-1
    g = 0.5 * (np.einsum("nt,nt->n", dual, dual) - t * precision)  # diagonal of G
    B = solve_triangular(U, V, lower=True, trans="T", check_finite=False)  # Kuu^-1 Kuf
    through = solve_triangular(LA, W, lower=True, trans="T", check_finite=False) / D  # A^-1 V D^-1
    BG = 0.5 * (product(B @ dual, dual.T) - t * solve_triangular(U, through, lower=True, trans="T", check_finite=False))
    if kind == "fitc":
        on_q, on_kff, on_noise = -g, g, g
    else:
        half = 0.5 * t / noise
        on_q, on_kff, on_noise = half, -half, g + half * gap / noise
    BG += B * on_q  # the diagonal of Q has weights of its own
    by_uu: Matrix = -(BG @ B.T)
    slope = 2 * pull_uf(BG) + pull_uu((by_uu + by_uu.T) / 2) + pull_ff(on_kff)
    return SparseEvidence(float(value), np.append(slope, float(on_noise @ noise)), state)
