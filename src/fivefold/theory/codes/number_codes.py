"""Codes for numbers: binary fractions, parameters with a plausible range, positive integers, and doubles of any size.

    fraction    stop at 1/2 with probability 1/2, else take the lower or the upper half and go on
                x = .b_1 ... b_L in binary, b_L = 1              2 L - 1 bits; in bits: 1 b_1 1 b_2 ... 0
    range       a(x) = a_min + (a_max - a_min) x                 as long as x; the range is part of the code
    integer     P(k) = 1 / (k (k + 1)),  k = floor(1 / U)        log2 k (k + 1) bits
    double      sign, m, e of  +- m 10^e  or  +- m 2^e, or its own bits; log2 3 bits tell which

The midpoint of a range costs one bit, and every further digit two. The range has to be fixed before the data are seen;
the code of a double has no range and needs no such promise.

McAllester, Case Studies in Machine Learning; Rissanen (1983) and Elias (1975) for integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, isfinite, log, log2
from statistics import NormalDist
from typing import Literal

import numpy as np

from fivefold.core.types import Array, Indices, Rng
from fivefold.information.number_lengths import MAX_DIGITS, integer_bits, rounded_fraction

KIND_BITS = log2(3)  # a double is written in decimal, in binary, or as its own bits


def fraction_digits(x: float) -> int:
    """Number of binary digits of a number in (0, 1).

    Examples
    --------
    >>> [fraction_digits(x) for x in (1 / 2, 3 / 4, 5 / 8, 13 / 16)]
    [1, 2, 3, 4]
    """
    if not 0 < x < 1:
        raise ValueError(f"a fraction lies between 0 and 1, neither of them included; got {x}")
    return float(x).as_integer_ratio()[1].bit_length() - 1


def encode_fraction(x: float) -> str:
    """The bits of a binary fraction: 1 and the digit for each but the last, then 0.

    Examples
    --------
    >>> encode_fraction(0.5), encode_fraction(13 / 16)
    ('0', '1111100')
    """
    L = fraction_digits(x)
    digits = f"{int(x * 2**L):0{L}b}"
    return "".join(f"1{digit}" for digit in digits[:-1]) + "0"


def decode_fraction(bits: str) -> tuple[float, int]:
    """The fraction at the beginning of the bits, and the number of bits it takes.

    Examples
    --------
    >>> decode_fraction("1111100" + "0110")
    (0.8125, 7)
    """
    low, width, at = 0.0, 1.0, 0
    while bits[at : at + 1] == "1" and at + 1 < len(bits):
        width /= 2
        low += width * (bits[at + 1] == "1")
        at += 2
    if bits[at : at + 1] != "0":
        raise ValueError(f"the bits end within a fraction: {bits[:80]!r}")
    return low + width / 2, at + 1


def sample_fractions(size: int, rng: Rng) -> Array:
    """Draws of the fraction that random bits spell: x with probability 2^-(2 L - 1)."""
    stops = rng.geometric(0.5, size)  # number of digits
    return (np.floor(rng.random_sample(size) * 2.0 ** (stops - 1)) + 0.5) / 2.0 ** (stops - 1)


def fractions_within(bits: int) -> tuple[float, ...]:
    """All fractions of at most this many bits, in order.

    Examples
    --------
    >>> fractions_within(3)
    (0.25, 0.5, 0.75)
    """
    L = (bits + 1) // 2
    return tuple(k / 2**L for k in range(1, 2**L))


def nearest_fraction(x: float, bits: int) -> float:
    """The fraction of at most this many bits that is nearest to x.

    Examples
    --------
    >>> nearest_fraction(0.3, 1), nearest_fraction(0.3, 3), nearest_fraction(0.3, 7)
    (0.5, 0.25, 0.3125)
    """
    if bits < 1:
        raise ValueError(f"a fraction takes at least one bit; got bits={bits}")
    return rounded_fraction(x, (bits + 1) // 2)


@dataclass(frozen=True)
class RangeCode:
    """A parameter with a plausible range: an increasing function of a binary fraction.

    With scale "linear" or "log" the parameter lies between low and high. With "logit" or "normal" it may be any number,
    and half of the prior lies between them.

    Examples
    --------
    >>> height = RangeCode(100.0, 200.0)
    >>> height.bits(150.0), height.bits(175.0), height.nearest(163.0, 5)
    (1, 3, 162.5)
    """

    low: float
    high: float
    scale: Literal["linear", "log", "logit", "normal"] = "linear"

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise ValueError(f"a range has two finite ends, low below high; got ({self.low}, {self.high})")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"a range on a log scale is positive; got ({self.low}, {self.high}). Use scale='logit'")

    def value(self, x: float) -> float:
        """The parameter of a fraction."""
        if self.scale == "linear":
            return self.low + (self.high - self.low) * x
        if self.scale == "log":
            return self.low * (self.high / self.low) ** x
        forward, _ = UNBOUNDED[self.scale]
        return self._centre + self._spread * forward(x)

    def fraction(self, value: float) -> float:
        """The number in [0, 1] of a parameter, 0 or 1 outside the range."""
        if self.scale == "linear":
            x = (value - self.low) / (self.high - self.low)
        elif self.scale == "log":
            x = log(value / self.low) / log(self.high / self.low) if value > 0 else 0.0
        else:
            _, back = UNBOUNDED[self.scale]
            x = back((value - self._centre) / self._spread)
        return min(max(x, 0.0), 1.0)

    def nearest(self, value: float, bits: int) -> float:
        """The parameter of at most this many bits that is nearest to a value."""
        return self.value(nearest_fraction(self.fraction(value), bits))

    def bits(self, value: float) -> int:
        """Code length of a parameter; an error if no fraction of at most 52 digits gives exactly this one."""
        if (length := self.length(value)) is None:
            raise ValueError(
                f"{value!r} has no code in the range ({self.low}, {self.high}); `nearest` gives a number that has one"
            )
        return length

    def length(self, value: float) -> int | None:
        """Code length of a parameter; None if no fraction of at most 52 digits gives exactly this one."""
        short = self.shortest_fraction(value)
        return None if short is None else 2 * fraction_digits(short) - 1

    def shortest_fraction(self, value: float) -> float | None:
        """The fraction of fewest digits that gives exactly this parameter."""
        x = self.fraction(value)
        tried = (rounded_fraction(x, L) for L in range(1, MAX_DIGITS + 1))
        return next((short for short in tried if self.value(short) == value), None)

    @property
    def _centre(self) -> float:
        return (self.low + self.high) / 2

    @property
    def _spread(self) -> float:
        """So that the fractions 1/4 and 3/4 are the ends of the range."""
        forward, _ = UNBOUNDED[self.scale]
        return (self.high - self.low) / (2 * forward(0.75))


UNBOUNDED: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "logit": (lambda x: log(x / (1 - x)), lambda z: 1 / (1 + exp(-z)) if z > -700 else 0.0),
    "normal": (NormalDist().inv_cdf, NormalDist().cdf),
}  # increasing functions from (0, 1) onto the line, and their inverses


def sample_integers(size: int, rng: Rng) -> Indices:
    """Draws of k with probability 1 / (k (k + 1)), as floor(1 / U)."""
    U = 1.0 - rng.random_sample(size)  # in (0, 1]
    return np.floor(np.minimum(1.0 / U, 2.0**62)).astype(np.int64)


def signed_integer_bits(k: int) -> float:
    """Length of any integer, by its place in 0, -1, 1, -2, 2, ...

    Examples
    --------
    >>> [round(signed_integer_bits(k), 3) for k in (0, -1, 1, 5)]
    [1.0, 2.585, 3.585, 7.044]
    """
    return integer_bits(2 * k + 1 if k >= 0 else -2 * k)


def double_bits(x: float | np.floating) -> float:
    """Length of a number of any size: short if it has few digits, in decimal or in binary.

    A NumPy float32 counts as one: it has fewer digits of its own.

    Examples
    --------
    >>> [round(double_bits(x), 1) for x in (0.5, 2.45, 1e6, 1 / 3)]
    [7.8, 22.8, 12.7, 65.6]
    """
    return KIND_BITS + min(_spellings(x))


def _spellings(x: float | np.floating) -> Iterator[float]:
    """Lengths in decimal, in binary and as the bits of the machine."""
    yield 8.0 * (x.itemsize if isinstance(x, np.floating) else 8)
    if not isfinite(x):
        return
    mantissa, _, exponent = np.format_float_scientific(x, trim="-").partition("e")
    whole, _, decimals = mantissa.lstrip("-").partition(".")
    yield _signed_bits(int(whole + decimals), int(exponent) - len(decimals))
    top, bottom = abs(float(x)).as_integer_ratio()
    zeros = (top & -top).bit_length() - 1 if top else 0
    yield _signed_bits(top >> zeros, zeros - (bottom.bit_length() - 1))


def _signed_bits(m: int, e: int) -> float:
    """A sign, a whole number and the exponent."""
    return 1 + integer_bits(m + 1) + signed_integer_bits(e)
