"""Twice the digits: numbers held as the unevaluated sum of two floats, hi + lo.

    two_sum(a, b)       s + e = a + b exactly, s the rounded sum             Knuth (1969)
    two_product(a, b)   p + e = a b exactly, p the rounded product           Dekker (1971)

About 31 decimal digits from ordinary arithmetic, vectorised; for residuals of small, nearly singular systems.
Arrays of any shape; products must stay below 1e300.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array

VELTKAMP_FACTOR = 134217729.0  # 2^27 + 1: cuts a mantissa of 53 bits into two halves whose products are exact


@dataclass(frozen=True)
class DoubleDouble:
    """hi + lo, with lo below the last digit of hi."""

    hi: Array  # float64
    lo: Array

    def __add__(self, other: DoubleDouble) -> DoubleDouble:
        s, e = two_sum(self.hi, other.hi)
        return renormalise(s, e + (self.lo + other.lo))

    def __sub__(self, other: DoubleDouble) -> DoubleDouble:
        return self + DoubleDouble(-other.hi, -other.lo)

    def times(self, a: Array) -> DoubleDouble:
        """The product with plain numbers."""
        p, e = two_product(self.hi, a)
        return renormalise(p, e + self.lo * a)

    def sum(self) -> DoubleDouble:
        """The sum over the first axis, in pairs, pairs of pairs, and so on."""
        whole = self
        while len(whole.hi) > 1:
            half = len(whole.hi) // 2
            rest = whole[2 * half :]
            whole = whole[:half] + whole[half : 2 * half]
            if len(rest.hi):
                whole = DoubleDouble(np.append(whole.hi, rest.hi, axis=0), np.append(whole.lo, rest.lo, axis=0))
        return whole[0]

    def __getitem__(self, key: int | slice | tuple[slice | None, ...]) -> DoubleDouble:
        return DoubleDouble(self.hi[key], self.lo[key])

    def rounded(self) -> Array:
        """The nearest plain numbers."""
        return self.hi + self.lo


def to_double_double(a: ArrayLike) -> DoubleDouble:
    """Plain numbers, held exactly."""
    a = np.asarray(a, dtype=np.float64)
    return DoubleDouble(a, np.zeros_like(a))


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its error."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its error."""
    p = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def renormalise(hi: Array, lo: Array) -> DoubleDouble:
    """The same sum with lo as small as it can be, where hi is the larger."""
    s = hi + lo
    return DoubleDouble(s, lo - (s - hi))


def _halves(a: Array) -> tuple[Array, Array]:
    c = VELTKAMP_FACTOR * a
    high = c - (c - a)
    return high, a - high
