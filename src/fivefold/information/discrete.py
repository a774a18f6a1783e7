"""Information in probability tables, with 0 log 0 = 0; natural logarithms unless `base` is given, bits for base 2.

    entropy              H(P)      = -sum p log p                    the mean length of the best code
    cross entropy        H(P, Q)   = -sum p log q                    that of P's symbols in Q's code
    divergence           D(P || Q) = H(P, Q) - H(P)                  infinite where q = 0 < p; never negative
    conditional entropy  H(W | V)  = sum_v P(v) H(W | V = v)
    mutual information   I(V; W)   = H(W) - H(W | V) = D(P(v, w) || P(v) P(w))

Shannon (1948); Kullback & Leibler (1951); Cover & Thomas (2006).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, rel_entr

from fivefold.core.types import Array, Vector

SUM_TOLERANCE = 1e-8  # by which the sum of probabilities may differ from one


def code_lengths(p: ArrayLike, base: float = 2.0) -> Vector:
    """-log p of each symbol: its length in the best code, infinite for one that never occurs.

    Examples
    --------
    >>> code_lengths([0.5, 0.25, 0.25])
    array([1., 2., 2.])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(probabilities(p, "p")) / _unit(base) + 0.0)


def entropy(p: ArrayLike, base: float | None = None) -> float:
    """The entropy of a distribution, or of a joint one in a table of any shape.

    Examples
    --------
    >>> entropy([0.5, 0.25, 0.25], base=2), round(entropy([0.8, 0.2], base=2), 6)
    (1.5, 0.721928)
    """
    return float(entr(probabilities(p, "p")).sum() / _unit(base))


def cross_entropy(p: ArrayLike, q: ArrayLike, base: float | None = None) -> float:
    """The mean length of symbols drawn by p in the best code for q; infinite where q lacks a symbol of p.

    Examples
    --------
    >>> round(cross_entropy([0.5, 0.5], [0.25, 0.75], base=2), 6)
    1.207519
    """
    P, Q = _pair(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(P > 0, -P * np.log(Q), 0.0)
    return float(terms.sum() / _unit(base))


def kl_divergence(p: ArrayLike, q: ArrayLike, base: float | None = None) -> float:
    """The Kullback-Leibler divergence D(p || q): zero only if p = q, infinite where q lacks a symbol of p.

    Examples
    --------
    >>> round(kl_divergence([0.5, 0.5], [0.25, 0.75], 2), 6), round(kl_divergence([0.25, 0.75], [0.5, 0.5], 2), 6)
    (0.207519, 0.188722)
    """
    return max(0.0, float(rel_entr(*_pair(p, q)).sum() / _unit(base)))


def conditional_entropy(joint: ArrayLike, base: float | None = None, *, given: int = 0) -> float:
    """The entropy of the other variables of a joint table when that of axis `given` is known.

    Examples
    --------
    >>> conditional_entropy([[0.5, 0.0], [0.25, 0.25]], base=2)
    0.5
    """
    P = probabilities(joint, "joint")
    rest = tuple(axis for axis in range(P.ndim) if axis != given % P.ndim)
    return max(0.0, entropy(P, base) - entropy(P.sum(axis=rest), base))


def mutual_information(joint: ArrayLike, base: float | None = None) -> float:
    """What the variables of the two axes of a joint table tell about each other; zero only if independent.

    Examples
    --------
    >>> mutual_information([[0.5, 0.0], [0.0, 0.5]], base=2), mutual_information([[0.25, 0.25], [0.25, 0.25]])
    (1.0, 0.0)
    """
    P = probabilities(joint, "joint")
    if P.ndim != 2:
        raise ValueError(f"mutual information is between two variables: a table of two axes; got {P.ndim}")
    return kl_divergence(P, np.outer(P.sum(axis=1), P.sum(axis=0)), base)


def probabilities(p: ArrayLike, name: str) -> Array:
    """Probabilities as an array; refused unless they are at least 0 and sum to 1."""
    P = np.asarray(p, dtype=float)
    if not P.size or not np.isfinite(P).all() or P.min() < 0 or abs(P.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(f"{name} must be probabilities: numbers of at least 0 with sum 1; their sum is {P.sum():g}")
    return P


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    P, Q = probabilities(p, "p"), probabilities(q, "q")
    if P.shape != Q.shape:
        raise ValueError(f"p and q are of the same symbols: their shapes must agree; got {P.shape} and {Q.shape}")
    return P, Q


def _unit(base: float | None) -> float:
    """The logarithm of the base, by which natural logarithms are divided."""
    if base is None:
        return 1.0
    if not base > 0 or base == 1:
        raise ValueError(f"base must be positive and not 1; got {base!r}")
    return math.log(base)
