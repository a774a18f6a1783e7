"""Vapnik-Chervonenkis dimensions: the size of the largest set of points that a family can divide in every way.

    hyperplanes in R^d                        d + 1
    polynomials of degree p, with constant    C(d + p, p)           kernel (x'z + c)^p
    homogeneous ones, and a threshold         C(d + p - 1, p) + 1   kernel (x'z)^p
    Gaussian kernel, nearest neighbour        infinite
    sign of sin(w1 x + w0)                    infinite, with two parameters
    boxes with sides along the axes           2 d
    stumps                                    the largest h with C(h, h // 2) <= 2 d, at most: of a set of h points each
                                              half must be cut off, and an order of the points cuts off two of odd size
    trees, votes                              at most the largest h with 2^h <= growth(h)
    networks of threshold units               at most 2 W log2(e U) for W weights and U units

Vapnik & Chervonenkis (1971); Cover (1965); Blumer et al. (1989); Baum & Haussler (1989).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

MAX_DIMENSION = 2**40  # where the search for 2^h <= growth(h) stops: no table has as many rows


@dataclass(frozen=True)
class ClassifierFamily:
    """A family of classifiers whose VC dimension is known."""

    name: str
    dimension: Callable[..., float]
    exact: bool  # or an upper bound
    source: str


def hyperplane_dimension(d: int) -> float:
    """Of hyperplanes in R^d."""
    return d + 1.0


def polynomial_dimension(d: int, degree: int, *, constant: bool = True) -> float:
    """Of polynomials of d variables: all up to the degree, or without `constant` those of the degree and a threshold.

    Examples
    --------
    >>> polynomial_dimension(2, 2), polynomial_dimension(2, 2, constant=False)
    (6.0, 4.0)
    """
    return float(math.comb(d + degree, degree) if constant else math.comb(d + degree - 1, degree) + 1)


def infinite_dimension(*_: object) -> float:
    """Of families that divide some set of any size in every way."""
    return math.inf


def box_dimension(d: int) -> float:
    """Of boxes in R^d with sides along the axes."""
    return 2.0 * d


def stump_dimension(d: int) -> float:
    """Of one test of one of d columns, either class on either side.

    Examples
    --------
    >>> [stump_dimension(d) for d in (1, 2, 3)]
    [2.0, 3.0, 4.0]
    """
    h = 1
    while math.comb(h + 1, (h + 1) // 2) <= 2 * d:
        h += 1
    return float(h)


def network_dimension(weights: int, units: int) -> float:
    """Of networks of threshold units, at most."""
    return 2.0 * weights * math.log2(math.e * units)


def dimension_of_growth(log_growth: Callable[[int], float]) -> float:
    """The largest h with 2^h <= growth(h): no larger set is divided in every way."""
    high = 1
    while high < MAX_DIMENSION and log_growth(2 * high) >= 2 * high * math.log(2) * (1 - 1e-12):
        high *= 2
    low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if log_growth(middle) >= middle * math.log(2) * (1 - 1e-12) else (low, middle)
    return float(low)


VC_DIMENSIONS = {
    family.name: family
    for family in (
        ClassifierFamily("hyperplanes", hyperplane_dimension, True, "Cover (1965)"),
        ClassifierFamily("polynomials", polynomial_dimension, True, "Cover (1965)"),
        ClassifierFamily("Gaussian kernel", infinite_dimension, True, "Burges (1998)"),
        ClassifierFamily("nearest neighbour", infinite_dimension, True, "Devroye, Gyorfi & Lugosi (1996)"),
        ClassifierFamily("sine", infinite_dimension, True, "Vapnik (1995)"),
        ClassifierFamily("boxes", box_dimension, True, "Blumer et al. (1989)"),
        ClassifierFamily("stumps", stump_dimension, False, "by counting"),
        ClassifierFamily("threshold networks", network_dimension, False, "Baum & Haussler (1989)"),
    )
}


def vc_dimension(family: str, *sizes: int) -> float:
    """The VC dimension of a named family, or an upper bound of it; `VC_DIMENSIONS` lists them with their sources.

    Examples
    --------
    >>> vc_dimension("hyperplanes", 2), vc_dimension("polynomials", 2, 3), vc_dimension("sine")
    (3.0, 10.0, inf)
    """
    if family not in VC_DIMENSIONS:
        raise ValueError(f"the VC dimension of {family!r} is not known here; known are {', '.join(VC_DIMENSIONS)}")
    return VC_DIMENSIONS[family].dimension(*sizes)
