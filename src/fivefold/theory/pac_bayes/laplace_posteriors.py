"""Laplace posteriors over linear classifiers: sparse weights are cheap, and the Gibbs error is exact.

Prior p(w) = prod_i exp(-|w_i|) / 2, posterior the same about mu. Of another scale only mu / scale matters.

    KL(Q, P)      = sum_i (|mu_i| + exp(-|mu_i|) - 1)  <=  |mu|_1
    err(Q, x, y)  = P(e'f(x) >= m),   m = y mu'f(x),   e_i independent Laplace

e'f has the moment generating function M(s) = prod_i 1 / (1 - f_i^2 s^2) and, for m > 0,

    P(e'f >= m)   = (1/2 pi i) integral exp(s m) M(s) tanh(u) du,   s = -c cosh(u),   c = 1 / |f|

along u = t + 3 pi i / 8, a contour that passes between the pole at 0 and the poles of M, which all lie at -c or beyond.
The integrand falls as exp(-2 |t|) at least and is analytic and small for pi/8 on both sides (closer to the real line M
is huge if there are many features), so the trapezoidal rule has full precision for any number of features. One feature
alone has P = exp(-m / |f|) / 2.

The normal approximation is Phi(-m / (s |f|)). e_i has variance 2, so s = sqrt(2); s = 1 stands in the literature too,
and takes errors for smaller than they are. A bound is rigorous with the exact error only.

McAllester, on L1 regularisation and Laplace priors; Weideman & Trefethen (2007) for the contour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from fivefold.core.types import Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.double_exponential import LaplaceMembers
from fivefold.theory.pac_bayes.linear_posteriors import probit_loss, signs
from fivefold.theory.pac_bayes.posterior_bounds import relative_upper

LaplaceMethod = Literal["exact", "normal", "unit normal", "draws"]
STEP = 0.075  # of the trapezoidal rule: its error is exp(-pi^2 / (4 STEP)), 5e-15
CONTOUR = np.arange(0.0, 18.0, STEP) + 0.375j * np.pi  # u; beyond t = 18 the integrand is below exp(-36)
ENTRIES_AT_ONCE = 2**18  # complex numbers held for a block of rows
FACTORS_AT_ONCE = 16  # factors of up to exp(36) that are multiplied before a logarithm is taken, which costs more
DRAWS = 10_000  # rules of the Monte Carlo estimate: a standard error of 0.005 per row at most


def laplace_tails(F: Matrix, m: Vector) -> Vector:
    """P(sum_j f_j e_j >= m) for each row f of F, with independent Laplace e_j, to rounding.

    Examples
    --------
    >>> laplace_tails(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 2.0])).round(6)  # exp(-1) / 2, exp(-2)
    array([0.18394 , 0.135335])
    """
    F, m = np.abs(np.asarray(F, dtype=float)), np.asarray(m, dtype=float)
    out = np.full(len(F), 0.5)  # by symmetry at m = 0, and as a neutral value where all features are zero
    length = np.linalg.norm(F, axis=1)
    rows = np.flatnonzero((m != 0) & (length > 0))
    size = max(1, ENTRIES_AT_ONCE // len(CONTOUR))
    for some in np.array_split(rows, -(-len(rows) // size)) if len(rows) else ():
        out[some] = _upper_tails(F[some] / length[some, None], np.abs(m[some]) / length[some])
    return np.where(m < 0, 1 - out, out)


def _upper_tails(F: Matrix, m: Vector) -> Vector:
    """For rows of unit length, and m > 0."""
    s = -np.cosh(CONTOUR)
    logs = np.multiply.outer(m, s)  # (n, nodes)
    for first in range(0, F.shape[1], FACTORS_AT_ONCE):
        squares = F[:, first : first + FACTORS_AT_ONCE] ** 2
        product = 1 - squares[:, :1] * s**2
        for j in range(1, squares.shape[1]):
            product *= 1 - squares[:, j, None] * s**2
        logs -= np.log(product)
    terms = (np.exp(logs) * np.tanh(CONTOUR)).imag
    return np.clip(STEP / np.pi * (terms.sum(axis=1) - 0.5 * terms[:, 0]), 0.0, 1.0)


@dataclass(frozen=True)
class LaplaceBound:
    """A bound on the error of drawn rules; with an approximate error on the rows it is approximate too."""

    bound: float
    error: float
    rigorous: bool


@dataclass(frozen=True)
class LaplaceLinearPosterior:
    """Independent Laplace weights about `mean` against the same about zero, of the same scale.

    Attributes
    ----------
    mean
        mu (d,): the sign of the score is the answer.
    scale
        of prior and posterior; the standard deviation of a weight is sqrt(2) times this.
    method
        of the error: "exact"; "normal", approximate; "unit normal", which takes the variance of a weight for 1 in place
        of 2; or "draws", by Monte Carlo with `seed`.

    Examples
    --------
    >>> Q = LaplaceLinearPosterior(np.array([1.0, 0.0]))
    >>> round(Q.complexity, 6), Q.complexity_limit, Q.errors(np.array([[3.0, 0.0]]), np.array([1])).round(6)
    (0.367879, 1.0, array([0.18394]))
    """

    mean: Vector
    scale: float = 1.0
    method: LaplaceMethod = "exact"
    seed: int = 0

    @property
    def complexity(self) -> float:
        """KL(Q, P) in nats, exactly."""
        return float(self._members(self.mean).kl_divergence(self._members(np.zeros_like(self.mean)))[0])

    @property
    def complexity_limit(self) -> float:
        """|mu|_1 / scale, never below the complexity."""
        return float(np.abs(self.mean).sum() / self.scale)

    def margins(self, F: Table, codes: Codes) -> Vector:
        """y mu'f / scale."""
        return signs(codes) * np.asarray(F @ self.mean) / self.scale

    def errors(self, F: Table, codes: Codes) -> Vector:
        """The probability of an error on each row of features; `codes` number the two classes, 1 is the sign +."""
        F, m = np.asarray(F, dtype=float), self.margins(F, codes)
        if self.method == "exact":
            found = laplace_tails(F, m)
        elif self.method == "draws":
            right = np.einsum("tj,ij->ti", self.draw(DRAWS, np.random.RandomState(self.seed)), F) >= 0
            found = np.where(np.asarray(codes) == 1, 1 - right.mean(axis=0), right.mean(axis=0))
        else:
            width = np.linalg.norm(F, axis=1) * (np.sqrt(2) if self.method == "normal" else 1.0)
            found = probit_loss(m / np.where(width > 0, width, 1.0))
        return np.where(F.any(axis=1), found, np.asarray(codes) != 1)

    def error(self, F: Table, codes: Codes) -> float:
        """Their mean: the Gibbs error on these rows."""
        return float(self.errors(F, codes).mean())

    def draw(self, count: int, rng: Rng) -> Matrix:
        """Weight vectors (count, d)."""
        return self._members(self.mean).sample(np.zeros(count, dtype=int), rng)

    def scaled(self, factor: float) -> Self:
        """The posterior with its mean moved away from zero, or towards it, by a factor."""
        return replace(self, mean=self.mean * factor)

    def bound(self, F: Table, codes: Codes, delta: float = 0.05) -> LaplaceBound:
        """The relative bound e + sqrt(e c) + c with c = 2 (|mu|_1 + ln(n / delta)) / (n - 1) on the Gibbs error."""
        error, n = self.error(F, codes), len(codes)
        value = float(relative_upper(error, self.complexity_limit, n, delta))
        return LaplaceBound(min(1.0, value), error, rigorous=self.method == "exact")

    def _members(self, mean: Vector) -> LaplaceMembers:
        return LaplaceMembers(mean[None], np.full((1, len(mean)), self.scale))
