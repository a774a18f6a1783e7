"""Growth functions: into how many classes, at most, a family of classifiers can divide m points.

    Sauer         Pi(m)  <=  sum_{i <= h} C(m, i)                      VC dimension h; exact for m <= h, where it is 2^m
    hyperplanes   Pi(m)   =  2 sum_{i <= d} C(m - 1, i)                Cover's count: points in general position in R^d
    K classes     Pi(m)  <=  Cover's count of m K (K - 1) / 2 points by (K - 1)(d + 1) weights without a threshold
                             the weights W lie in one cell of the arrangement (w_i - w_j)'x = 0 over pairs and points
    pairwise      Pi(m)  <=  (2 sum_{i <= d} C(m - 1, i))^(K (K - 1) / 2)   a hyperplane per pair of classes, votes
    stumps        Pi(m)  <=  2 d (m - 1) + 2                           one test x_j <= t, either class on either side
    trees         Pi(m)  <=  Catalan(L - 1) (d m)^(L - 1) K^L          L leaves, tests x_j <= t
    votes         Pi(m)  <=  Pi_base(m)^T 2 sum_{i < T} C(m - 1, i)    sign of a weighted sum of T members
    networks      Pi(m)  <=  product over units of the count of their hyperplanes, for units that answer 0 or 1

All are logarithms, so that no number overflows; counts that are whole numbers are exact.

Cover (1965); Sauer (1972); Baum & Haussler (1989); Freund & Schapire (1997).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import gammaln


def hyperplane_dichotomies(m: int, d: int) -> int:
    """In how many ways hyperplanes can divide m points in general position in R^d (Cover).

    Examples
    --------
    >>> hyperplane_dichotomies(3, 2), hyperplane_dichotomies(4, 2)  # all 8; all 16 but the two of exclusive or
    (8, 14)
    """
    _check_counts(m=m)
    return 2 * sum(math.comb(m - 1, i) for i in range(min(d, m - 1) + 1))


def sauer_bound(m: int, h: int) -> int:
    """In how many ways a family of VC dimension h can divide m points, at most.

    Examples
    --------
    >>> sauer_bound(3, 5), sauer_bound(10, 2)
    (8, 56)
    """
    _check_counts(m=m)
    return sum(math.comb(m, i) for i in range(min(h, m) + 1))


def log_sauer_bound(m: int, h: float) -> float:
    """The logarithm of Sauer's bound."""
    return _log_binomial_sum(m, h)


def log_linear_growth(m: int, d: int, classes: int = 2) -> float:
    """Affine scores of d columns, one per class; the largest wins.

    Examples
    --------
    >>> round(math.exp(log_linear_growth(4, 2)))
    14
    """
    _check_counts(m=m, classes=classes)
    pairs = classes * (classes - 1) // 2
    cells = math.log(2) + _log_binomial_sum(m * pairs - 1, (classes - 1) * (d + 1) - 1) if pairs else 0.0
    return min(cells, m * math.log(classes))


def log_pairwise_growth(m: int, d: int, classes: int = 2) -> float:
    """One hyperplane per pair of classes; the class with most votes wins."""
    pairs = classes * (classes - 1) // 2
    return min(pairs * log_linear_growth(m, d), m * math.log(classes))


def log_stump_growth(m: int, d: int) -> float:
    """One test of one of d columns, two classes.

    Examples
    --------
    >>> round(math.exp(log_stump_growth(2, 1)))
    4
    """
    _check_counts(m=m, d=d)
    return min(math.log(2 * d * (m - 1) + 2), m * math.log(2))


def log_tree_growth(m: int, d: int, leaves: int, classes: int = 2) -> float:
    """Trees of at most that many leaves, whose nodes compare one of d columns with a number."""
    _check_counts(m=m, d=d, leaves=leaves, classes=classes)
    nodes = leaves - 1
    catalan = gammaln(2 * nodes + 1) - 2 * gammaln(nodes + 1) - math.log(nodes + 1)
    return min(float(catalan) + nodes * math.log(d * m) + leaves * math.log(classes), m * math.log(classes))


def log_vote_growth(m: int, members: int, log_base: float) -> float:
    """The sign of a weighted sum of members, each from a family of growth exp(log_base)."""
    _check_counts(m=m, members=members)
    return min(members * log_base + math.log(2) + _log_binomial_sum(m - 1, members - 1), m * math.log(2))


def log_network_growth(m: int, layers: Sequence[int]) -> float:
    """Layers of threshold units; `layers` holds the number of columns, of units per layer, and last of outputs.

    Examples
    --------
    >>> log_network_growth(50, [2, 1]) == log_linear_growth(50, 2)
    True
    """
    units = sum(width * log_linear_growth(m, below) for below, width in pairwise(layers))
    return min(units, m * math.log(2))


def _log_binomial_sum(n: float, k: float) -> float:
    """ln sum_{i <= k} C(n, i)."""
    if k >= n:
        return n * math.log(2)
    i = np.arange(int(k) + 1)
    return float(np.logaddexp.reduce(gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)))


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} is a whole number from 1 up; got {value}")
