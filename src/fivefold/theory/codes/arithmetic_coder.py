"""From probabilities to real bits: words of single symbols, and arithmetic coding of whole sequences.

    Shannon      ceil(log2 1 / p) bits per symbol                       less than one bit above the entropy
    Huffman      the two rarest symbols are joined, again and again     the shortest of all codes symbol by symbol
    arithmetic   a sequence is an interval of width prod P(symbol)      less than two bits above log2 1 / P, in all

The arithmetic coder divides [0, 1) among the symbols, then the part of the first symbol among the second, and so on;
the code is the shortest binary fraction whose interval lies within the last part. It counts in whole numbers and is
exact. So a length that a distribution gives is a length that a file can have.

Shannon (1948); Huffman (1952); Rissanen (1976); Pasco (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil, lcm, log2
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

Symbol = TypeVar("Symbol", bound=Hashable)
Distribution = Mapping[Symbol, float | Fraction]  # of the next symbol
Source = Callable[[tuple[Symbol, ...]], Distribution[Symbol] | None]  # given those before it; None where it ends


def shannon_code(p: ArrayLike) -> tuple[str, ...]:
    """Words of ceil(log2 1 / p) bits, from the cumulated probabilities of the symbols, the most likely first.

    Examples
    --------
    >>> shannon_code([0.5, 0.25, 0.25])
    ('0', '10', '11')
    """
    shares = _probabilities(p)
    words, total = [""] * len(shares), Fraction(0)
    for i in sorted(range(len(shares)), key=lambda i: -shares[i]):
        width = max(ceil(-log2(shares[i])), 0)
        width += Fraction(1, 2**width) > shares[i]  # the logarithm was rounded
        words[i] = f"{int(total * 2**width):0{width}b}" if width else ""
        total += shares[i]
    return tuple(words)


def huffman_code(p: ArrayLike) -> tuple[str, ...]:
    """The words of least mean length.

    Examples
    --------
    >>> huffman_code([0.5, 0.25, 0.25])
    ('0', '10', '11')
    """
    shares = _probabilities(p)
    words = [""] * len(shares)
    heap = list[tuple[Fraction, int, tuple[int, ...]]]()
    for i, share in enumerate(shares):
        heappush(heap, (share, i, (i,)))  # the number decides among equals
    while len(heap) > 1:
        (p0, first, zeros), (p1, second, ones) = heappop(heap), heappop(heap)
        if len(zeros) > len(ones) or (len(zeros) == len(ones) and first > second):
            zeros, ones = ones, zeros
        for i in zeros:
            words[i] = "0" + words[i]
        for i in ones:
            words[i] = "1" + words[i]
        heappush(heap, (p0 + p1, min(first, second), zeros + ones))
    return tuple(words)


def encode_symbols(symbols: Sequence[Symbol], source: Source[Symbol]) -> str:
    """The bits of a sequence that the source ends itself, at most two more than log2 1 / P.

    Examples
    --------
    >>> coin = lambda before: {"h": 0.9, "t": 0.1} if len(before) < 20 else None
    >>> bits = encode_symbols("hhhhhhhhhthhhhhhhhhh", coin)
    >>> len(bits), "".join(decode_symbols(bits + "0110", coin)[0])
    (7, 'hhhhhhhhhthhhhhhhhhh')
    """
    low, width, whole = 0, 1, 1  # the interval [low, low + width) / whole
    for t, symbol in enumerate(symbols):
        parts = source(tuple(symbols[:t]))
        if parts is None:
            raise ValueError(f"the source ends after {t} symbols; {len(symbols)} were given")
        before, share, total = _part(parts, symbol, t)
        low, width, whole = low * total + width * before, width * share, whole * total
    if source(tuple(symbols)) is not None:
        raise ValueError(f"the source goes on after the {len(symbols)} symbols that were given")
    return _shortest_within(low, width, whole)


def decode_symbols(bits: str, source: Source[Symbol]) -> tuple[tuple[Symbol, ...], int]:
    """The sequence at the beginning of the bits, and the number of bits that `encode_symbols` writes for it."""
    out = list[Symbol]()
    at, scale = int(bits or "0", 2), 2 ** len(bits)
    low, width, whole = 0, 1, 1
    while (parts := source(tuple(out))) is not None:
        for symbol in parts:
            before, share, total = _part(parts, symbol, len(out))
            inner = low * total + width * before
            if at * whole * total < (inner + width * share) * scale:  # parts stand in order
                out.append(symbol)
                low, width, whole = inner, width * share, whole * total
                break
    return tuple(out), len(_shortest_within(low, width, whole))


def _shortest_within(low: int, width: int, whole: int) -> str:
    """The fewest digits b such that all numbers .b... lie in [low, low + width) / whole."""
    digits = max((whole // width).bit_length() - 1, 0)
    while True:
        k = -(-low * 2**digits // whole)  # the first fraction not below
        if (k + 1) * whole <= (low + width) * 2**digits:
            return f"{k:0{digits}b}" if digits else ""
        digits += 1


def _part(parts: Distribution[Symbol], symbol: Symbol, t: int) -> tuple[int, int, int]:
    """Where the part of a symbol begins, its size and the size of all, in whole numbers."""
    shares = {s: Fraction(p) for s, p in parts.items() if p > 0}
    if symbol not in shares:
        raise ValueError(f"symbol {t}, {symbol!r}, has probability zero; those possible are {list(shares)}")
    unit = lcm(*(share.denominator for share in shares.values()))
    sizes = {s: int(share * unit) for s, share in shares.items()}
    order = list(sizes)
    return sum(sizes[s] for s in order[: order.index(symbol)]), sizes[symbol], sum(sizes.values())


def _probabilities(p: ArrayLike) -> list[Fraction]:
    """As exact fractions that sum to one."""
    given = np.asarray(p, dtype=np.float64)
    if given.ndim != 1 or not len(given) or not (given > 0).all() or abs(given.sum() - 1) > 1e-9:
        raise ValueError(f"a code needs positive probabilities that sum to one, for each symbol; got {given}")
    exact = [Fraction(x) for x in given.tolist()]
    return [x / sum(exact) for x in exact]
