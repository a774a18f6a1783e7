"""Windows of density estimates: smoothing kernels, the hypercube, and functions of users.

    density at x  =  1 / (W h^d V_d)  sum of w_i k(|x - x_i| / h)        V_d = integral of k(|u|) over R^d

    hypercube     k = 1 where every coordinate of the difference is at most h / 2, edge included:  V_d = 1

The other shapes are those of `spatial.smoothing_kernels`. A function of a user takes the length u of a difference in
units of the width; that it is a density over R^d is checked by quadrature.

Silverman (1986), chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf, lgamma, log, pi
from typing import Literal

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import gammainc

from fivefold.core.types import Array, Doubles, Matrix, Rng
from fivefold.spatial.smoothing_kernel_loops import TOPHAT
from fivefold.spatial.smoothing_kernels import KERNELS

KernelName = Literal[
    "gaussian",
    "tophat",
    "epanechnikov",
    "exponential",
    "linear",
    "cosine",
    "biweight",
    "triweight",
    "tricube",
    "hypercube",
]
QUADRATURE_NODES = 200  # Gauss-Legendre nodes per interval: exact for polynomials of degree 399
USER_INTERVALS = 13  # of the integral of a user's kernel: from 0 to 1, then doubling, up to 2^12 widths
UNIT_INTEGRAL = 1e-3  # how far the integral of a user's kernel may be from one
QUANTILES = 4097  # lengths at which the distribution of the length of a draw is tabulated
POWERS = {"epanechnikov": 1, "biweight": 2, "triweight": 3}  # p of (1 - u^2)^p


@dataclass(frozen=True)
class WindowKernel:
    """The shape of a window: the name of a smoothing kernel, "hypercube", or a user's function."""

    name: str
    function: Callable[[Array], Array] | None = None

    @property
    def box(self) -> bool:
        """Is it a hypercube, where a difference is as long as its largest coordinate?"""
        return self.name == "hypercube" and self.function is None

    @property
    def code(self) -> int:
        """What compiled loops take; -1 for a user's function."""
        if self.function is not None:
            return -1
        return TOPHAT if self.box else KERNELS[self.name].code

    @property
    def support(self) -> float:
        """The number of widths from which on it is zero."""
        if self.function is not None:
            return inf
        return 0.5 if self.box else KERNELS[self.name].support

    def values(self, u: Array) -> Doubles:
        """k(u): one at zero, except for a user's function."""
        if self.function is not None:
            return np.asarray(self.function(np.asarray(u, dtype=np.float64)), dtype=np.float64)
        return (
            np.where(np.asarray(u) <= 0.5, 1.0, 0.0)
            if self.box
            else KERNELS[self.name](np.asarray(u, dtype=np.float64))
        )

    def log_integral(self, d: int) -> float:
        """log of the integral over R^d."""
        return 0.0 if self.box or self.function is not None else KERNELS[self.name].log_volume(d)

    def steps(self, n: int, d: int, rng: Rng) -> Matrix:
        """Draws from the kernel as a density over R^d, in units of the width (n, d)."""
        if self.box:
            return rng.uniform(-0.5, 0.5, size=(n, d))
        directions = rng.normal(size=(n, d))
        if self.name == "gaussian":
            return directions
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        directions /= lengths
        if self.name == "tophat":  # the share of the Gaussian within a length becomes a share of the ball
            return directions * gammainc(0.5 * d, 0.5 * lengths * lengths) ** (1.0 / d)
        if self.name == "exponential":
            return directions * rng.gamma(d, size=(n, 1))
        if self.name in POWERS:  # u^2 has a beta distribution
            return directions * np.sqrt(rng.beta(0.5 * d, POWERS[self.name] + 1.0, size=(n, 1)))
        return directions * self._lengths(n, d, rng)[:, None]

    def _lengths(self, n: int, d: int, rng: Rng) -> Doubles:
        """Lengths of draws, by inverting their distribution, which is tabulated."""
        if self.function is not None:
            u = np.concatenate([[0.0], np.geomspace(1e-6, 2.0 ** (USER_INTERVALS - 1), QUANTILES)])
        else:
            u = np.linspace(0.0, self.support, QUANTILES)
        shells = u ** (d - 1) * self.values(u)
        mass = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(u) * (shells[1:] + shells[:-1]))])
        return np.interp(rng.uniform(0, mass[-1], size=n), mass, u)


def log_ball_volume(d: int) -> float:
    """log of the volume of the unit ball in d dimensions.

    >>> [round(float(np.exp(log_ball_volume(d))), 6) for d in (1, 2, 3)]
    [2.0, 3.141593, 4.18879]
    """
    return 0.5 * d * log(pi) - lgamma(0.5 * d + 1)


def window_kernel(kernel: str | Callable[[Array], Array], d: int) -> WindowKernel:
    """The kernel of this name, or a user's function of the length u, if it is a density over R^d.

    >>> window_kernel(lambda u: 0.5 * np.exp(-u), 1).name
    '<lambda>'
    """
    if isinstance(kernel, str):
        return WindowKernel(kernel)
    made = WindowKernel(getattr(kernel, "__name__", "user"), kernel)
    integral = _checked_integral(made, d)
    if abs(integral - 1.0) > UNIT_INTEGRAL:
        raise ValueError(
            f"the kernel {made.name!r} integrates to {integral:.4g} over {d} dimension{'s' * (d > 1)}, not to 1: "
            "divide it by that. It is a function of the length u >= 0 of a difference, in units of the width"
        )
    return made


def _checked_integral(kernel: WindowKernel, d: int) -> float:
    """The integral of a user's kernel over R^d, interval by interval outward; refuses values that no density has."""
    nodes, weights = leggauss(QUADRATURE_NODES)
    ends = [0.0, *(2.0**i for i in range(USER_INTERVALS))]
    total = 0.0
    for low, high in pairwise(ends):
        u = low + 0.5 * (nodes + 1) * (high - low)
        values = kernel.values(u)
        if values.shape != u.shape:
            raise ValueError(
                f"the kernel {kernel.name!r} must take an array of lengths and give one value for each; for an array "
                f"of shape {u.shape} it gave shape {values.shape}"
            )
        if not np.isfinite(values).all() or (values < 0).any():
            worst = u[(~np.isfinite(values) | (values < 0)).argmax()]
            raise ValueError(f"the kernel {kernel.name!r} is negative or not finite at u = {worst:.4g}; no density is")
        total += 0.5 * (high - low) * float(weights @ (np.exp((d - 1) * np.log(u)) * values))
    return float(total * d * np.exp(log_ball_volume(d)))
