"""Laplace's approximation for two classes: a normal distribution about the likeliest function values.

    p(y_i = 1 | f_i) = s(f_i) = 1 / (1 + exp(-f_i)),    f ~ N(0, K),    g = y - s(f),  W = s(f) (1 - s(f))
    Newton:  B = I + W^1/2 K W^1/2,  b = W f + g,  a = b - W^1/2 B^-1 W^1/2 K b,  f = K a
    log p(y) ~ -1/2 a'f + sum_i log p(y_i | f_i) - 1/2 log |B|

The logarithm of the posterior is concave, so the mode is unique and Newton finds it from anywhere. The derivative of
the evidence by K, that of the mode included, is one matrix of weights,

    1/2 (a a' - R) + v g',   R = W^1/2 B^-1 W^1/2,   v = (I - R K) s,   s_i = -1/2 (1 - [B^-1]_ii) (1 - 2 s(f_i))

Rasmussen & Williams (2006), algorithms 3.1, 3.2 and 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import erf, expit

from fivefold.core.numerics.cholesky import cholesky, inverse_factor, inverse_from, solve_lower
from fivefold.core.types import Doubles, Matrix, Vector
from fivefold.gaussian_process.posterior.foreign_kernels import ForeignKernel
from fivefold.kernels.base import Kernel, Objects

CHANGE_TO_STOP = 1e-10  # Newton ends where a step changes the evidence by less
# The logistic function as a mixture of five error functions of x times these widths (Williams & Barber, 1998).
WIDTHS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])[:, None]
COEFFICIENTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])[:, None]


class Mode(NamedTuple):
    """Where the posterior is highest, and what was computed on the way."""

    f: Doubles  # (n,)
    a: Doubles  # (n,) K^-1 f
    probability: Doubles  # (n,) of class 1
    root: Doubles  # (n,) W^1/2
    L: Doubles  # (n, n) lower factor of B; above the diagonal is no meaning
    evidence: float


def posterior_mode(K: Doubles, y: Doubles, max_iter: int, start: Doubles | None = None) -> Mode:
    """Newton's method from `start`, zero by default."""
    f, a = np.zeros(len(y)) if start is None else start, np.zeros(len(y))
    before, found = -np.inf, None
    for _ in range(max_iter):
        p = expit(f)
        W = p * (1 - p)
        root = np.sqrt(W)
        B = K * root[:, None]
        B *= root
        B.flat[:: len(B) + 1] += 1.0
        if (bad := cholesky(B)) != 0:
            raise np.linalg.LinAlgError(
                f"the covariance has a negative direction at row {bad}: the kernel is not positive definite for these "
                "rows, or far too large; take another kernel or smaller bounds"
            )
        b = W * f + (y - p)
        a = b - root * cho_solve((B.T, False), root * (K @ b), check_finite=False)
        f = K @ a
        # B belongs to the f before this step, as in algorithm 3.1; at the mode the two are the same
        value = -0.5 * float(a @ f) - float(np.logaddexp(0, (1 - 2 * y) * f).sum()) - float(np.log(np.diag(B)).sum())
        found = Mode(f, a, p, root, B, value)
        if abs(value - before) < CHANGE_TO_STOP:
            break
        before = value
    assert found is not None
    return found


@dataclass(frozen=True)
class LaplacePosterior:
    """A process conditioned on labels 0 and 1."""

    computing: Kernel | ForeignKernel
    X: Objects
    y: Doubles  # (n,) zeros and ones
    mode: Mode

    def latent(self, X: Objects) -> tuple[Vector, Vector]:
        """Mean and variance of the function at the rows."""
        K = self.computing(X, self.X)
        mean = K @ (self.y - self.mode.probability)
        V = solve_lower(self.mode.L, np.array(K * self.mode.root, dtype=np.float64, order="C"))
        return mean, self.computing.diag(X) - np.einsum("ij,ij->i", V, V)

    def latent_mean(self, X: Objects) -> Vector:
        """The mean alone."""
        found: Vector = self.computing(X, self.X) @ (self.y - self.mode.probability)
        return found

    def probability(self, X: Objects) -> Vector:
        """Of class 1: the logistic function averaged over the values that the function may have."""
        return averaged_logistic(*self.latent(X))


def averaged_logistic(mean: Vector, variance: Vector) -> Vector:
    """E s(f) for f ~ N(mean, variance), to about four digits."""
    variance = np.maximum(variance, np.finfo(float).tiny)
    terms = 0.5 * erf(WIDTHS * mean / np.sqrt(1.0 + 2.0 * WIDTHS**2 * variance))
    found: Vector = (COEFFICIENTS * terms).sum(axis=0) + 0.5 * COEFFICIENTS.sum()
    return np.clip(found, 0.0, 1.0)


def laplace_evidence(
    kernel: Kernel | ForeignKernel,
    X: Objects,
    y: Doubles,
    max_iter: int,
    start: Doubles | None = None,
    *,
    gradient: bool = False,
) -> tuple[Mode, Vector | None]:
    """The mode, with its evidence, and the gradient of that by theta if asked for."""
    if not gradient:
        return posterior_mode(np.asarray(kernel(X), dtype=np.float64), y, max_iter, start), None
    values, pull = kernel.pullback(X)
    K = np.asarray(values, dtype=np.float64)
    mode = posterior_mode(K, y, max_iter, start)
    return mode, pull(_weights(K, y, mode))


def _weights(K: Doubles, y: Doubles, mode: Mode) -> Matrix:
    """The derivative of the evidence by the entries of K."""
    R = inverse_from(inverse_factor(mode.L))
    R += np.tril(R, -1).T - np.triu(R, 1)  # only the lower triangle had a meaning
    s = -0.5 * (1.0 - np.diag(R)) * (1.0 - 2.0 * mode.probability)
    R *= mode.root[:, None]
    R *= mode.root
    v = s - R @ (K @ s)
    W: Matrix = 0.5 * (np.outer(mode.a, mode.a) - R) + np.outer(v, y - mode.probability)
    return W
