"""Widths of windows from the number of rows, or from the rows of one column.

    scott         n^(-1 / (d + 4))                        factors: they suit columns of standard deviation one
    silverman     (n (d + 2) / 4)^(-1 / (d + 4))
    botev         the fixed point of the improved Sheather-Jones equation, one column, without a normal reference

Scott (1992); Silverman (1986); Botev, Grotowski & Kroese (2010).
"""

from __future__ import annotations

from math import pi

import numpy as np
from scipy.fft import dct
from scipy.optimize import brentq

from fivefold.core.types import Doubles, Vector

BOTEV_BINS = 2**14  # of the histogram whose cosine transform is taken
BOTEV_STAGES = 7  # derivatives from which the fixed point is worked downward
BOTEV_MARGIN = 0.1  # of the range, added on both sides


def scott_factor(n: float, d: int) -> float:
    """Scott's factor for n rows of d columns.

    >>> round(scott_factor(100, 1), 4)
    0.3981
    """
    return float(n ** (-1.0 / (d + 4)))


def silverman_factor(n: float, d: int) -> float:
    """Silverman's factor for n rows of d columns.

    >>> round(silverman_factor(100, 1), 4)
    0.4217
    """
    return float((n * (d + 2) / 4.0) ** (-1.0 / (d + 4)))


def botev_width(x: Vector, w: Vector | None = None) -> float:
    """The width of a Gaussian window for the numbers x (n,), of weights w.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> round(botev_width(x), 2)
    0.25
    """
    x = np.asarray(x, dtype=np.float64)
    w = np.ones(len(x)) if w is None else np.asarray(w, dtype=np.float64)
    spread = float(np.ptp(x))
    if spread == 0:
        raise ValueError("all numbers are equal: no width suits them. Pass a width as a number")
    low, side = x.min() - BOTEV_MARGIN * spread, (1 + 2 * BOTEV_MARGIN) * spread
    counts = np.histogram(x, bins=BOTEV_BINS, range=(low, low + side), weights=w)[0]
    n = float(w.sum())
    squares = np.square(0.5 * dct(counts / n)[1:])
    orders = np.square(np.arange(1, BOTEV_BINS, dtype=np.float64))

    def excess(t: float) -> float:
        return t - _fixed_point(t, n, orders, squares)

    for high in np.geomspace(1e-6, 0.1, 40):  # the equation may have several roots: the smallest is wanted
        if excess(high) > 0:
            return float(np.sqrt(brentq(excess, 0.0, high))) * side
    raise ValueError(
        "the improved Sheather-Jones equation has no solution for these numbers, as happens for a few values that "
        "repeat: use bandwidth='silverman' or a number"
    )


def _fixed_point(t: float, n: float, orders: Doubles, squares: Doubles) -> float:
    """One turn of the equation: from the width of the highest derivative down to that of the density."""
    s = BOTEV_STAGES
    norm = 2 * pi ** (2 * s) * float(orders**s @ (squares * np.exp(-orders * pi**2 * t)))
    for s in range(BOTEV_STAGES - 1, 1, -1):
        odd = float(np.prod(np.arange(1, 2 * s, 2))) / np.sqrt(2 * pi)
        factor = (1 + 0.5 ** (s + 0.5)) / 3
        time = (2 * factor * odd / (n * norm)) ** (2 / (3 + 2 * s))
        norm = 2 * pi ** (2 * s) * float(orders**s @ (squares * np.exp(-orders * pi**2 * time)))
    return float((2 * n * np.sqrt(pi) * norm) ** (-0.4))
