"""Votes of stumps as words of a code: thresholds and weights with few digits.

    vote      the class of most weight among k different stumps "x_f >= a ? class : class"
    length    bits of k + 1  +  sum over stumps (log2 d + bits of a + 2 log2 K + bits of its weight)  -  log2 k!

A threshold is a number of any size, and costs less the fewer digits it has. Where ranges of the columns are known
before the data, it may be a binary fraction of its range instead, 2 L - 1 bits for L digits, and one bit tells which.
Weights are binary fractions too, since only their ratios count. The order of the stumps tells nothing, so that log2 k!
bits are not needed. A vote of no stump is a class: 1 + log2 K bits. Sums of such weights are exact, so that ties are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log, log2
from typing import Self

import numpy as np
from scipy.special import gammaln

from fivefold.core.types import Codes, Indices, Matrix, Table, Target, Vector, Weights
from fivefold.ensemble.boosting.stumps import Stumps, majority_class
from fivefold.information.number_lengths import MAX_DIGITS, integer_bits
from fivefold.theory.codes.number_codes import RangeCode, double_bits
from fivefold.theory.codes.precision import Spellings
from fivefold.tree.occam_tree import shortest_between, threshold_bits

Ranges = tuple[RangeCode | None, ...]  # of the columns

BLOCK_CELLS = 2**21  # votes of all candidates that are held at once for a block of rows: 16 MB


@dataclass(frozen=True)
class CodedStumps:
    """Stumps that differ from each other, in the order in which boosting found them."""

    feature: Indices  # (k,)
    threshold: Vector  # (k,) the test is x >= threshold
    lengths: Vector  # (k,) bits of the threshold
    below: Codes  # (k,) class where the test is false
    above: Codes  # (k,) class where it is true

    @classmethod
    def of(
        cls, stumps: Stumps, X: Table, w: Weights, price: float, ranges: Ranges | None = None
    ) -> tuple[Self, Indices]:
        """Stumps with thresholds as short as the price asks, and which of them each one is."""
        feature = np.maximum(stumps.feature, 0)  # of a constant stump, -1, any column will do
        below, above = majority_class(stumps.left), majority_class(stumps.right)
        above = np.where(stumps.feature < 0, below, above)
        known = ranges or (None,) * X.shape[1]
        cuts = zip(feature, stumps.threshold, strict=True)
        coded = [short_threshold(X[:, j], t, w, price, known[j]) for j, t in cuts]
        threshold, lengths = (np.array(part) for part in zip(*coded, strict=True))
        lengths = lengths + (ranges is not None)
        names = np.column_stack([feature, threshold, below, above])
        _, first, which = np.unique(names, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.argsort(order)  # from the order of `unique` to that of the rounds
        kept = first[order]
        return cls(feature[kept], threshold[kept], lengths[kept], below[kept], above[kept]), place[which.ravel()]

    def first(self, k: int) -> CodedStumps:
        """The first k of them."""
        return CodedStumps(self.feature[:k], self.threshold[:k], self.lengths[:k], self.below[:k], self.above[:k])

    def classes_of(self, X: Table) -> Codes:
        """(n, k): the class that each stump gives each row."""
        true = X[:, self.feature].astype(np.float64, copy=False) >= self.threshold
        return np.where(true, self.above, self.below)

    def bits(self, d: int, K: int) -> Vector:
        """(k,) bits of each stump without its weight."""
        return log2(d) + 2 * log2(K) + self.lengths


@dataclass(frozen=True)
class VoteCandidates:
    """Votes after each round, with weights of 1, 2, ... digits: what the one to keep is chosen from."""

    stumps: CodedStumps
    counts: Indices  # (c,) how many stumps each candidate has: the first ones
    weights: Matrix  # (c, k) zero beyond them
    bits: Vector  # (c,)

    @classmethod
    def of(cls, stumps: CodedStumps, which: Indices, weights: Weights, d: int, K: int, max_digits: int) -> Self:
        """From the stump and the weight of each round, for d columns and K classes."""
        T, k = len(which), len(stumps.feature)
        added = np.zeros((T, k))
        added[np.arange(T), which] = weights
        sums = added.cumsum(axis=0)  # (T, k)
        counts = np.maximum.accumulate(which) + 1
        present = np.arange(k) < counts[:, None]
        parts, lengths = [], []
        for L in range(1, max_digits + 1):
            scaled = np.rint(sums / sums.max(axis=1, keepdims=True) * (2**L - 1)).astype(np.int64)
            whole = np.where(present, np.maximum(scaled, 1), 0)
            used = L - np.log2(np.where(present, whole & -whole, 1)).astype(int)  # a fraction ends at its last 1
            parts.append(whole / 2.0**L)
            lengths.append(np.where(present, 2 * used - 1, 0).sum(axis=1))
        number = np.array([integer_bits(int(count) + 1) for count in counts]) - gammaln(counts + 1) / log(2)
        fixed = number + np.cumsum(stumps.bits(d, K))[counts - 1]
        every = np.stack(parts, axis=1).reshape(T * max_digits, k)
        return cls(stumps, np.repeat(counts, max_digits), every, (fixed[:, None] + np.stack(lengths, axis=1)).ravel())

    def errors(self, X: Table, y: Target, w: Weights, K: int) -> Vector:
        """(c,) weight of the rows that each candidate gets wrong."""
        out, step = np.zeros(len(self.counts)), max(1, BLOCK_CELLS // len(self.counts))
        for at in range(0, len(X), step):
            codes = self.stumps.classes_of(X[at : at + step])
            best, chosen = (codes == 0) @ self.weights.T, np.zeros((len(codes), len(out)), dtype=np.int64)
            for label in range(1, K):
                votes = (codes == label) @ self.weights.T  # (rows, c)
                chosen[votes > best] = label
                np.maximum(best, votes, out=best)
            out += w[at : at + step] @ (chosen != y[at : at + step, None])
        return out


@dataclass(frozen=True)
class StumpVote:
    """The vote that is kept."""

    stumps: CodedStumps
    weight: Vector  # (k,)
    default: int  # the class of a vote without stumps
    classes: int
    bits: float
    errors: float  # weight of the training rows that it gets wrong
    rows: float  # weight of all training rows
    path: Matrix  # (rounds + 1, 3) errors, bits and criterion after each round

    def shares(self, X: Table) -> Matrix:
        """(n, K): the share of the weight that votes for each class."""
        if not len(self.weight):
            return np.tile(np.eye(self.classes)[self.default], (len(X), 1))
        codes = self.stumps.classes_of(X)
        votes = np.column_stack([(codes == label) @ self.weight for label in range(self.classes)])
        return votes / self.weight.sum()


def short_threshold(
    x: Vector, t: float, w: Weights, price: float, known: RangeCode | None = None
) -> tuple[float, float]:
    """a and its bits, so that x >= a is x > t for almost all rows: of least price x bits + weight of the others.

    No vote can lose more than these others. With a price of zero there are none. Of a constant stump a is 0.
    """
    values, which = np.unique(x, return_inverse=True)
    at = int(np.searchsorted(values, t, side="right"))
    if at == len(values):
        return 0.0, double_bits(0.0)
    under, over = float(values[at - 1]), float(values[at])
    exact, near = shortest_number(under, over), Spellings.decimal(t)
    a, bits = np.append(exact, near.values), np.append(double_bits(exact), near.bits)
    if known is not None:
        fraction, digits = shortest_between(known.fraction(under), known.fraction(over))
        inside = Spellings.within(known, t)
        a = np.concatenate([a, [known.value(fraction)], inside.values])
        bits = np.concatenate([bits, [threshold_bits(digits)], inside.bits])
    below = np.append(0.0, np.bincount(which.ravel(), w).cumsum())  # weight of the rows below each value
    moved = np.abs(below[np.searchsorted(values, a)] - below[at])
    best = int(np.lexsort((bits, moved if price == 0 else price * bits + moved))[0])
    return float(a[best]), float(bits[best])


def shortest_number(under: float, over: float) -> float:
    """The number of fewest bits, decimal or binary, with under < number <= over.

    Examples
    --------
    >>> shortest_number(0.1423, 0.1561), shortest_number(87.2, 131.5), shortest_number(-1.0, 3.0)
    (0.15, 100.0, 0.0)
    """
    if under < 0 <= over:
        return 0.0
    near = under if over > 0 else -over  # the size of the smallest candidate; a positive one has to exceed it
    found = [over]
    for base in (10, 2):
        top = floor(log(max(abs(under), abs(over))) / log(base)) + 1
        for e in range(top, top - MAX_DIGITS, -1):
            step = float(f"1e{e}") if base == 10 else 2.0**e
            k = floor(near / step) + 1 if over > 0 else ceil(near / step)
            number = float(np.copysign(float(f"{k}e{e}") if base == 10 else k * step, over))
            if under < number <= over:
                found.append(number)
                break
    return min(found, key=double_bits)
