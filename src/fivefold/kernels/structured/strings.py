"""Kernels of strings and other sequences.

    SpectrumKernel        sum over k-grams of the counts in both (Leslie, Eskin & Noble, 2002)
    MismatchKernel        the same, a k-gram counting for all k-grams within m substitutions (Leslie et al., 2004)
    SubsequenceKernel     sum over subsequences of length p, gaps allowed, each weighted by decay ** span in both
                          (Lodhi et al., 2002)
    SharedWords           number of distinct words that two texts share
    DeltaKernel           one for equal objects, zero for others

Sequences are strings, or lists of anything hashable. k-grams are numbers in base A, for A letters, so they are counted
by sorting or in a table; no suffix tree is built.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from itertools import chain, combinations, product
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fivefold.core.types import Indices, Matrix, Table, Vector
from fivefold.kernels.base import Objects
from fivefold.kernels.structured.base import CountKernel, StructuredKernel, counts, each_row, numbered, presence
from fivefold.kernels.structured.sequence_loops import subsequence_row

MAX_CODE = 2**62  # a k-gram in base A is an int64 up to here; longer ones are numbered step by step
MAX_NEIGHBOURS = 10**8  # neighbours of k-grams that are held together, at most
WORD = re.compile(r"\w+")


class Encoded(NamedTuple):
    """Sequences as whole numbers, one after another."""

    codes: Indices  # (total,) from 0 to letters - 1
    offsets: Indices  # (n + 1,) where each begins
    letters: int

    @property
    def owner(self) -> Indices:
        """The number of the sequence of each letter."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def encoded(sequences: Sequence[Any]) -> Encoded:
    """Strings, or sequences of hashable items, with equal numbers for equal letters."""
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.int64)
    if all(isinstance(s, str) for s in sequences):
        points = np.frombuffer("".join(sequences).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        used = np.zeros(int(points.max(initial=0)) + 1, dtype=bool)
        used[points] = True
        numbers = np.cumsum(used) - 1
        return Encoded(numbers[points], offsets, int(used.sum()))
    known: dict[Hashable, int] = {}
    codes = numbered(list(chain.from_iterable(sequences)), known)
    return Encoded(codes, offsets, len(known))


def k_grams(text: Encoded, k: int, letters: int) -> tuple[Indices, Indices, int]:
    """Number of each k-gram, number of its sequence, and how many numbers there may be."""
    total = len(text.codes)
    starts = np.flatnonzero(np.arange(total) + k <= np.repeat(text.offsets[1:], np.diff(text.offsets)))
    size, grams = letters, text.codes[starts]
    for j in range(1, k):
        grams = grams * letters + text.codes[starts + j]
        size *= letters
        if size > MAX_CODE // max(letters, 1):  # number those that occur, and go on with these numbers
            found, grams = np.unique(grams, return_inverse=True)
            size = len(found)
    return grams, text.owner[starts], size


class SpectrumKernel(CountKernel):
    """Inner product of the counts of k-grams; with `binary`, the number of distinct k-grams that are in both.

    Examples
    --------
    >>> kernel = SpectrumKernel(k=2)
    >>> kernel(["abab", "baba"])
    array([[5., 4.],
           [4., 5.]])
    >>> kernel.normalised()(["abab", "baba"]).round(3)
    array([[1. , 0.8],
           [0.8, 1. ]])
    """

    k: int = 3
    binary: bool = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k-grams have at least one letter; got k={self.k}")

    def features(self, objects: Sequence[Any]) -> Table:
        text = encoded(objects)
        return self._counted(*k_grams(text, self.k, text.letters), len(objects))

    def _counted(self, grams: Indices, rows: Indices, size: int, n: int) -> Table:
        if size > len(grams):  # number those that occur
            found, grams = np.unique(grams, return_inverse=True)
            size = len(found)
        F = counts(rows, grams, n, max(size, 1))
        return presence(F) if self.binary else F


class MismatchKernel(SpectrumKernel):
    """A k-gram counts for all k-grams that differ from it in up to m places, over an alphabet of this many letters.

    Examples
    --------
    >>> MismatchKernel(k=2, m=1, letters=4)(["AC", "AG"])  # 7 neighbours each, 4 shared: A followed by any letter
    array([[7., 4.],
           [4., 7.]])
    """

    m: int = 1
    letters: int = 4

    def features(self, objects: Sequence[Any]) -> Table:
        text = encoded(objects)
        if text.letters > self.letters:
            raise ValueError(f"the sequences have {text.letters} letters, and letters={self.letters}: raise it")
        if self.letters**self.k > MAX_CODE:
            raise ValueError(f"{self.letters} letters to the power k={self.k} are too many k-grams: lower k")
        grams, rows, _ = k_grams(text, self.k, self.letters)
        found, place = np.unique(grams, return_inverse=True)
        if (entries := len(found) * self.neighbourhood) > MAX_NEIGHBOURS:
            raise ValueError(
                f"{len(found)} k-grams with {self.neighbourhood} neighbours each are {entries} numbers: lower m or k"
            )
        near = self._neighbours(found)
        numbers, columns = np.unique(near, return_inverse=True)
        spread = csr_array(
            (np.ones(near.size), columns.ravel(), near.shape[1] * np.arange(len(found) + 1)),
            shape=(len(found), len(numbers)),
        )
        occurring = csr_array((np.ones(len(rows)), (rows, place)), shape=(len(objects), len(found)))
        F = occurring @ spread
        return presence(F) if self.binary else F

    def _neighbours(self, grams: Indices) -> Indices:
        """All k-grams within m substitutions of each, (grams, sum_i C(k, i) (letters - 1)^i)."""
        A, powers = self.letters, self.letters ** np.arange(self.k)
        digits = grams[:, None] // powers % A
        near = [grams[:, None]]
        for i in range(1, min(self.m, self.k) + 1):
            for places in combinations(range(self.k), i):
                for shift in product(range(1, A), repeat=i):
                    at = list(places)
                    change = (digits[:, at] + np.array(shift)) % A - digits[:, at]
                    near.append((grams + change @ powers[at])[:, None])
        return np.concatenate(near, axis=1)

    @property
    def neighbourhood(self) -> int:
        """How many k-grams one counts for."""
        return sum(comb(self.k, i) * (self.letters - 1) ** i for i in range(self.m + 1))


class SubsequenceKernel(StructuredKernel):
    """Sum over common subsequences of `length` letters, gaps allowed, of decay ** (its span in x + its span in y).

    Examples
    --------
    >>> SubsequenceKernel(length=2, decay=0.5)(["cat", "car"])  # they share "ca", of span 2 in both: decay^4
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    length: int = 3
    decay: float = 0.5

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        first = list(X)
        text = encoded(first if Y is None else [*first, *Y])
        shift = 0 if Y is None else len(first)
        longest = int(np.diff(text.offsets).max(initial=0)) + 1

        def fill(i: int, start: int, out: Vector) -> None:
            work = np.empty((2, longest, longest))
            subsequence_row(text.codes, text.offsets, i, shift + start, self.length, self.decay, work, out)

        return each_row(fill, len(first), len(text.offsets) - 1 - shift, Y is None)

    def diag(self, X: Objects) -> Vector:
        return np.array([self._gram([x], [x])[0, 0] for x in X])


class SharedWords(CountKernel):
    """Number of distinct words that two texts share, letter case aside and without stop words.

    Examples
    --------
    >>> SharedWords(stop_words=["the"])(["the cat sat", "The cat ran", "a dog"])
    array([[2., 1., 0.],
           [1., 2., 0.],
           [0., 0., 2.]])
    """

    stop_words: Any = "english"  # the list of scikit-learn, or words of your own

    def features(self, objects: Sequence[Any]) -> Table:
        stop, known = self._stop(), dict[Hashable, int]()
        found = [sorted(set(WORD.findall(text.lower())) - stop) for text in objects]
        rows = np.repeat(np.arange(len(found)), [len(words) for words in found])
        words = numbered(list(chain.from_iterable(found)), known)
        return counts(rows, words, len(objects), max(len(known), 1))

    def _stop(self) -> set[str]:
        if isinstance(self.stop_words, str) and self.stop_words == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return set(ENGLISH_STOP_WORDS)
        return {word.lower() for word in self.stop_words or ()}


class DeltaKernel(StructuredKernel):
    """One for equal objects, zero for others; objects are hashable, or rows of a table.

    Examples
    --------
    >>> DeltaKernel()(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        known: dict[Hashable, int] = {}
        a = numbered(_as_hashable(X), known)
        b = a if Y is None else numbered(_as_hashable(Y), known)
        return (a[:, None] == b).astype(np.float64)

    def diag(self, X: Objects) -> Vector:
        return np.ones(len(X))


def _as_hashable(X: Objects) -> list[Any]:
    """The objects; rows of a table as tuples."""
    table = X.to_numpy() if hasattr(X, "to_numpy") else X
    return [tuple(row) for row in table.tolist()] if getattr(table, "ndim", 1) == 2 else list(X)
