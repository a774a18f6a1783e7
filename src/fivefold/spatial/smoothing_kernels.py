"""Smoothing kernels: how much a row counts at a distance of u widths, for densities and for smoothers.

    gaussian      exp(-u^2 / 2)       tophat     1              biweight    (1 - u^2)^2
    exponential   exp(-u)             linear     1 - u          triweight   (1 - u^2)^3
    epanechnikov  1 - u^2             cosine     cos(pi u / 2)  tricube     (1 - u^3)^3

All but the two exponentials are zero from u = 1 on. Names are scikit-learn's where it has the kernel. Profiles are one
at zero; a density divides by the volume below the kernel in d columns,

    V_d = S_d  integral of k(u) u^(d-1) du          S_d = 2 pi^(d/2) / Gamma(d/2), the surface of the unit ball.

Silverman (1986), Density estimation; Wand & Jones (1995), Kernel smoothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaln, gammaln

from fivefold.core.types import Doubles
from fivefold.spatial import smoothing_kernel_loops as loops

KernelName = Literal[
    "gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine", "biweight", "triweight", "tricube"
]
COSINE_TERMS = 20  # of the series of the cosine: the next one is below 1e-30
QUADRATURE_NODES = 200  # of Gauss and Legendre, for integrals of a squared profile
FAR = {"gaussian": 9.0, "exponential": 40.0}  # widths beyond which a profile is below rounding (4e-18)


@dataclass(frozen=True)
class SmoothingKernel:
    """One kernel: `code` is what compiled loops take (`smoothing_kernel_loops.kernel_profile`)."""

    name: str
    code: int
    log_moment: Callable[[float], float]  # log of the integral of k(u) u^p du, as a function of p > -1

    @property
    def support(self) -> float:
        """The number of widths from which on k is zero; infinite for the two exponentials."""
        return math.inf if self.name in FAR else 1.0

    @property
    def reach(self) -> float:
        """The number of widths from which on k is below rounding."""
        return FAR.get(self.name, 1.0)

    def __call__(self, u: Doubles) -> Doubles:
        """k at distances of u widths."""
        squares = np.square(np.asarray(u, dtype=np.float64)).reshape(-1)
        self.replace(squares)
        return squares.reshape(np.shape(u))

    def replace(self, squares: Doubles) -> None:
        """Replace squared distances in widths, a vector, by k."""
        powers = np.empty(len(squares))
        loops.replace_by_profile(
            self.code, len(squares), squares, squares.view(np.int64), powers, powers.view(np.int64)
        )

    def log_volume(self, d: int) -> float:
        """log V_d: a density in d columns of width h is k / (V_d h^d).

        Examples
        --------
        >>> bool(np.isclose(KERNELS["gaussian"].log_volume(3), 1.5 * np.log(2 * np.pi)))
        True
        >>> bool(np.isclose(np.exp(KERNELS["epanechnikov"].log_volume(1)), 4 / 3))
        True
        """
        return _log_surface(d) + self.log_moment(d - 1)

    def variance(self, d: int = 1) -> float:
        """The variance of each column of a draw from the density of width one."""
        return math.exp(self.log_moment(d + 1) - self.log_moment(d - 1)) / d

    def roughness(self, d: int = 1) -> float:
        """The integral of the squared density of width one."""
        nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
        u = (nodes + 1) / 2 * self.reach
        whole = float(weights @ (self(u) ** 2 * u ** (d - 1))) * self.reach / 2
        return whole * math.exp(_log_surface(d) - 2 * self.log_volume(d))


def _log_surface(d: int) -> float:
    """log S_d."""
    return math.log(2.0) + d / 2 * math.log(math.pi) - float(gammaln(d / 2))


def _power_moment(power: int, inner: int) -> Callable[[float], float]:
    """The moments of (1 - u^inner)^power, by a beta function."""
    return lambda p: float(betaln((p + 1) / inner, power + 1)) - math.log(inner)


def _cosine_moment(p: float) -> float:
    terms = (
        (-1) ** j * (math.pi / 2) ** (2 * j) / math.factorial(2 * j) / (2 * j + p + 1) for j in range(COSINE_TERMS)
    )
    return math.log(math.fsum(terms))


_LOG_MOMENTS: Mapping[str, tuple[int, Callable[[float], float]]] = {
    "gaussian": (loops.GAUSSIAN, lambda p: (p - 1) / 2 * math.log(2) + float(gammaln((p + 1) / 2))),
    "tophat": (loops.TOPHAT, lambda p: -math.log(p + 1)),
    "epanechnikov": (loops.EPANECHNIKOV, _power_moment(1, 2)),
    "exponential": (loops.EXPONENTIAL, lambda p: float(gammaln(p + 1))),
    "linear": (loops.LINEAR, _power_moment(1, 1)),
    "cosine": (loops.COSINE, _cosine_moment),
    "biweight": (loops.BIWEIGHT, _power_moment(2, 2)),
    "triweight": (loops.TRIWEIGHT, _power_moment(3, 2)),
    "tricube": (loops.TRICUBE, _power_moment(3, 3)),
}
KERNELS: Mapping[str, SmoothingKernel] = {name: SmoothingKernel(name, *rest) for name, rest in _LOG_MOMENTS.items()}
