"""Prefix codes: no code word begins another, so that a reader knows where each ends; and the priors they stand for.

    Kraft       sum_h 2^-len(h)  <=  1            random bits up to the first complete word spell h with 2^-len(h)
    lengths     len(h) = log2 1 / P(h)            of any distribution; fractions of bits are allowed
    prior       P(h) = 2^-len(h)                  of any prefix code
    text        8 (bytes + 1)                     a string of bytes without the null byte, which ends it

The last gives every program a prior, whatever its language. With probability 1 - delta the error of each program is

    e  +-  sqrt((len ln 2 + ln(2 / delta)) / (2 n))          e: its share of mistakes on n rows that it was not given

for all programs at once, so that a program may be chosen by the same rows.

Kraft (1949); McMillan (1956); Solomonoff (1964) for the prior of programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Vector
from fivefold.information.discrete import code_lengths
from fivefold.information.occam_bounds import root_margin

KRAFT_TOLERANCE = 1e-9  # a sum of rounded powers of two may exceed one by this


@dataclass(frozen=True)
class PrefixCheck:
    """What was found in a set of code words."""

    kraft: float  # sum of 2^-length
    clash: tuple[str, str] | None  # a word and another that begins with it

    @property
    def prefix_free(self) -> bool:
        """Does no word begin another?"""
        return self.clash is None


def check_prefix_code(words: Iterable[str]) -> PrefixCheck:
    """Does no word of 0 and 1 begin another (or equal it), and what is the Kraft sum?

    Examples
    --------
    >>> check_prefix_code(["0", "10", "110", "111"])
    PrefixCheck(kraft=1.0, clash=None)
    >>> check_prefix_code(["0", "01"]).clash
    ('0', '01')
    """
    ordered = sorted(words)
    for word in ordered:
        if word.strip("01"):
            raise ValueError(f"a code word is a text of 0 and 1; got {word!r}")
    clash = next(((a, b) for a, b in pairwise(ordered) if b.startswith(a)), None)
    return PrefixCheck(kraft_sum([len(word) for word in ordered]), clash)


def kraft_sum(lengths: ArrayLike) -> float:
    """The sum of 2^-length: at most one if and only if a prefix code has these lengths, rounded up.

    Examples
    --------
    >>> kraft_sum([1, 2, 3, 3]), kraft_sum([1, 1, 2])
    (1.0, 1.25)
    """
    return float(np.sum(2.0 ** -np.asarray(lengths, dtype=np.float64)))


def lengths_of_prior(prior: ArrayLike) -> Vector:
    """log2 1 / P(h) of each hypothesis; those of probability zero are infinite.

    Examples
    --------
    >>> lengths_of_prior([0.5, 0.25, 0.25])
    array([1., 2., 2.])
    """
    return code_lengths(np.asarray(prior, dtype=np.float64))


def prior_of_lengths(lengths: ArrayLike) -> Array:
    """2^-length of each hypothesis, refused where they sum to more than one.

    Examples
    --------
    >>> prior_of_lengths([1, 2, 2])
    array([0.5 , 0.25, 0.25])
    """
    total = kraft_sum(lengths)
    if not total <= 1 + KRAFT_TOLERANCE:
        raise ValueError(
            f"no prefix code has these lengths: their 2^-length sum to {total:.4g}, above 1 (Kraft's inequality). "
            "Add bits that tell apart what is coded alike"
        )
    return 2.0 ** -np.asarray(lengths, dtype=np.float64)


def text_bits(text: str | bytes) -> int:
    """Bits of a text in UTF-8 and of the null byte that ends it.

    Examples
    --------
    >>> text_bits("x > 1"), text_bits("")
    (48, 8)
    """
    raw = text.encode() if isinstance(text, str) else text
    if b"\0" in raw:
        raise ValueError(
            f"the null byte ends a text and cannot stand inside; it is byte {raw.index(0)} of {raw[:40]!r}"
        )
    return 8 * (len(raw) + 1)


def index_width(count: int) -> int:
    """Bits of the number of one of `count` things: log2, rounded up."""
    if count < 1:
        raise ValueError(f"there is nothing to choose from; got count={count}")
    return (count - 1).bit_length()


def encode_index(i: int, count: int) -> str:
    """The number 0 <= i < count in bits, all of one length.

    Examples
    --------
    >>> encode_index(5, 8), encode_index(0, 1)
    ('101', '')
    """
    if not 0 <= i < count:
        raise ValueError(f"the number {i} is not one of 0 .. {count - 1}")
    width = index_width(count)
    return f"{i:0{width}b}" if width else ""


def decode_index(bits: str, count: int) -> tuple[int, int]:
    """The number at the beginning of the bits, and how many bits it takes."""
    width = index_width(count)
    if len(bits) < width:
        raise ValueError(f"the bits end within a number of {width} bits: {bits!r}")
    if (i := int(bits[:width] or "0", 2)) >= count:
        raise ValueError(f"{bits[:width]!r} stands for the number {i}; there are only {count} things to choose from")
    return i, width


@dataclass(frozen=True)
class ProgramBound:
    """A program, its length, and the limits of its error on new rows."""

    name: str
    bits: int
    errors: float
    low: float
    high: float


def rank_programs(
    sources: Mapping[str, str | bytes], errors: Mapping[str, float], n: int, delta: float = 0.05
) -> tuple[ProgramBound, ...]:
    """Programs by the upper limit of their error, the best first; the limits hold for all of them at once.

    Parameters
    ----------
    sources
        the text of each program, by name: whatever decides its answers and was not fixed before.
    errors
        its mistakes on the n rows.

    Examples
    --------
    >>> ranked = rank_programs({"short": "x>1", "long": "x > 1 and y < 2 or z == 3"}, {"short": 90, "long": 80}, 1000)
    >>> [(p.name, p.bits, round(p.high, 3)) for p in ranked]
    [('short', 32, 0.204), ('long', 208, 0.352)]
    """
    if n < 1 or not 0 < delta < 1:
        raise ValueError(f"a bound needs rows, and delta between 0 and 1 such as 0.05; got n={n}, delta={delta}")
    if missing := sources.keys() - errors.keys():
        raise ValueError(f"errors has no count for the program {min(missing)!r}")
    out = list[ProgramBound]()
    for name, source in sources.items():
        bits, share = text_bits(source), errors[name] / n
        margin = float(root_margin(bits, n, delta))
        out.append(ProgramBound(name, bits, errors[name], max(share - margin, 0.0), min(share + margin, 1.0)))
    return tuple(sorted(out, key=lambda p: (p.high, p.bits)))
