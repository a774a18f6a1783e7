"""Samples of the rows of a table in chunks, or of a tensor, and trees of histograms grown from them.

    gain of a cut = (sum_left y)^2 / n_left + (sum_right y)^2 / n_right - (sum y)^2 / n

is what cuts of a squared error gain, and with g = mean - y, h = 1 it is the gain of `HistogramGrower`. For two classes
it is half the gain of Gini's impurity. For more, each tree puts every class on one of two sides at random and cuts
between the sides, which on average over the sides is Gini's gain again; its leaves hold the shares of all classes.

A row is in a sample c ~ Poisson(rate) times, by its number: how rows are cut into chunks, and who holds them, changes
no tree. The sums of the leaves are made of all rows. Tables that fit into the memory stated are read whole instead, and
give the forest of memory.

Breiman (2001); Oza & Russell (2001) for samples that are drawn row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import ndtri

from fivefold.core.chunks.chunked_array import (
    Rows,
    every_row,
    mapped_array,
    row_bytes_limit,
    uniform_by_row,
)
from fivefold.core.chunks.shards import Shards
from fivefold.core.chunks.sources import COPIES
from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Table, Target, Weights
from fivefold.partition.growers.histogram_grower import HistogramGrower, HistogramLimits, HistogramTree
from fivefold.partition.growers.sharded_growth import Growth, HistogramShard, ShardedGrower, ShardState
from fivefold.partition.histograms.bins import Allocation, Bins
from fivefold.partition.histograms.histogram_loops import MAX_ROWS
from fivefold.partition.tree_arrays.binary_tree import Tree, preorder

MAX_BINS = 255  # per column
MAX_SHARED_DEPTH = 12  # of trees without a limit on leaves that workers grow together: deeper ones grow on one machine
MAX_POISSON_RATE = 50  # rates above this are drawn from a normal distribution
BLOCK_ROWS = 2**18  # rows whose sample is drawn, or whose leaves are added up, at a time


class Sample(NamedTuple):
    """What distinguishes a tree: its seed, and for each class, or for numbers (), the side that it is on."""

    seed: int
    sides: tuple[float, ...]


@dataclass(frozen=True)
class SampledRows:
    """How the rows are drawn and what is added up: K classes, or for numbers K = 0."""

    classes: int
    bootstrap: bool
    rate: float  # expected draws of a row of weight one
    factors: Doubles  # (K,) class weights; empty for numbers
    centre: float  # of the numbers

    def repeats(self, seed: int, start: int, y: Target, w: Weights) -> Indices:
        """How often each of these rows is in the sample of a tree; the first of them is row `start` of the table."""
        if not self.bootstrap:
            return np.ones(len(y), dtype=np.int32)
        return _poisson(self.rates(y, w), uniform_by_row(seed, start, len(y)))

    def rates(self, y: Target, w: Weights) -> Array:
        """The expected draws of each row."""
        return self.rate * (w * self.factors[y] if self.classes else w)

    def row_weights(self, y: Target, w: Weights) -> Array:
        """The weight of each row each time that it is in a sample."""
        if self.bootstrap:
            return np.ones(len(y))
        return w * self.factors[y] if self.classes else w

    def statistics(self, y: Target) -> tuple[Any, ...]:
        """The columns whose sums a leaf needs, for a number per row."""
        z = y - self.centre
        return np.ones(len(y)), z, z * z

    def leaf_sums(self, leaf: Array, y: Target, repeats: Indices, h: Array, nodes: int) -> Matrix:
        """Sums over the rows of each leaf, drawn so often and with these weights, and how many rows it has.

        Sums are those of blocks of rows: their order decides the last digits, and every holder keeps it.
        """
        K = self.classes
        out = np.zeros((nodes, (K or 3) + 1))
        for lo in range(0, len(y), BLOCK_ROWS):
            some = slice(lo, lo + BLOCK_ROWS)
            c, own, at = repeats[some] * h[some], y[some], leaf[some].astype(np.int64)
            if K:
                out[:, :K] += np.bincount(at * K + own, c, nodes * K).reshape(nodes, K)
            else:
                for q, column in enumerate(self.statistics(own)):
                    out[:, q] += np.bincount(at, c * column, nodes)
            out[:, -1] += np.bincount(at, c > 0, nodes)
        return out


class SampleHolder(Protocol):
    """Rows that trees grow from."""

    def grow(self, sample: Sample) -> HistogramTree:
        """The tree of a sample."""

    def leaf_sums(self, nodes: int) -> Matrix:
        """Sums over the rows of the leaves of the tree that was grown last, and how many rows: (nodes, K or 3, + 1)."""

    def close(self) -> None:
        """Let go of the rows."""


class LocalSamples:
    """Rows of this process; `starts` says where each run of rows lies in the table."""

    def __init__(
        self,
        bins: Bins,
        codes: Codes,
        y: Target,
        w: Weights,
        starts: list[tuple[int, int]],
        draws: SampledRows,
        limits: HistogramLimits,
        signs: Codes | None,
        max_count: int,
        allocate: Allocation = np.empty,
        grower: type[HistogramGrower] = HistogramGrower,
    ) -> None:
        n = len(y)
        self.y, self.w, self.starts, self.draws = y, w, starts, draws
        self.grower = grower(bins, codes, limits, signs, None, allocate, max_count=max_count)
        self.g, self.h = allocate((2, n), np.float64)
        self.repeats, self.leaf = allocate((n,), np.int32), allocate((n,), np.float64)

    def grow(self, sample: Sample) -> HistogramTree:
        self.draw(sample)
        return self.grower.grow(self.g, self.h, self.repeats, sample.seed)

    def draw(self, sample: Sample) -> None:
        """The rows of a sample, with the numbers that its tree separates."""
        at, sides = 0, np.array(sample.sides)
        for start, count in self.starts:
            for lo in range(0, count, BLOCK_ROWS):
                m = min(BLOCK_ROWS, count - lo)
                some = slice(at, at + m)
                y, w = self.y[some], self.w[some]
                self.repeats[some] = self.draws.repeats(sample.seed, start + lo, y, w)
                v = self.draws.row_weights(y, w)
                self.g[some] = -(sides[y] if self.draws.classes else y - self.draws.centre) * v
                self.h[some] = v
                at += m

    def leaf_sums(self, nodes: int) -> Matrix:
        self.leaf[:] = 0.0
        self.grower.add(np.arange(float(nodes)), self.leaf)
        return self.draws.leaf_sums(self.leaf, self.y, self.repeats, self.h, nodes)

    def close(self) -> None:
        pass


class SamplesOfWorker(ShardState, LocalSamples):
    """The rows of one worker, who is told what to do with them."""

    grower: HistogramShard

    @classmethod
    def of(
        cls,
        bins: Bins,
        draws: SampledRows,
        limits: HistogramLimits,
        signs: Codes | None,
        max_count: int,
        parts: list[tuple[Codes, Target, Weights, int]],
    ) -> SamplesOfWorker:
        """The rows of all parts."""
        codes, y, w, starts = (list(some) for some in zip(*parts, strict=True))
        runs = [(start, len(some)) for start, some in zip(starts, y, strict=True)]
        joined = np.concatenate(codes, axis=1), np.concatenate(y), np.concatenate(w)
        return cls(bins, *joined, runs, draws, limits, signs, max_count, grower=HistogramShard)

    def extents(self, sample: Sample) -> tuple[float, float]:
        """Draw a sample; the largest gradient of its rows, and the sum of curvatures."""
        self.draw(sample)
        return self.grower.extents(self.g, self.h, self.repeats)

    def settled_sums(self, growth: Growth) -> Matrix:
        """The sums of the leaves of a tree."""
        self.grower.settle(growth)
        return self.leaf_sums(len(growth.order))


class SharedSamples:
    """Rows that workers hold."""

    def __init__(self, shards: Shards, grower: ShardedGrower) -> None:
        self.shards, self.grower = shards, grower

    def grow(self, sample: Sample) -> HistogramTree:
        return self.grower.grow_tree(sample, sample.seed)

    def leaf_sums(self, nodes: int) -> Matrix:
        return np.sum(self.shards.call("settled_sums", self.grower.growth()), axis=0)

    def close(self) -> None:
        self.shards.close()


def whole_table(X: Any, y: Any, w: Any) -> tuple[Table, Target, Weights] | None:
    """X, y and w as arrays, if a table in chunks is small enough to be held in memory; else None."""
    if 8 * X.shape[0] * X.shape[1] > X.rows.source.max_bytes // COPIES:
        return None
    X, y, w = every_row(X, y, w)
    return X, y, w


def largest_count(n: int, draws: SampledRows, w: Weights) -> int:
    """More rows than a sample ever has."""
    return min(2 * int(max(n, draws.rate * float(w.sum()))), MAX_ROWS)


def sample_holder(
    X: Any,
    y: Any,
    arrays: tuple[Target, Weights],
    bins: Bins,
    draws: SampledRows,
    limits: HistogramLimits,
    signs: Codes | None,
) -> SampleHolder:
    """The binned rows of ChunkedArrays, whose targets and weights are `arrays` too: among workers, or here."""
    n, count = len(X), largest_count(len(X), draws, arrays[1])
    if limits.max_leaves or limits.max_depth <= MAX_SHARED_DEPTH:

        def part(rows: Rows) -> tuple[Codes, Target, Weights, int]:
            return bins.codes(X.pick(rows)), y.pick(rows), rows.w, rows.start

        make = partial(SamplesOfWorker.of, bins, draws, limits, signs, count)
        if (shards := X.rows.shards(part, make)) is not None:
            return SharedSamples(shards, ShardedGrower(shards, bins, n, limits, signs, max_count=count))
    allocate = partial(mapped_array, max_bytes=row_bytes_limit(X))
    return LocalSamples(bins, bins.codes(X, allocate), *arrays, [(0, n)], draws, limits, signs, count, allocate)


def as_tree(grown: HistogramTree, bins: Bins, levels: Indices) -> tuple[Tree, Indices]:
    """The tree with its nodes in preorder, and where each was; `levels` (d,) counts the categories of each column."""
    order, place = preorder(grown.feature, grown.left)
    inner = grown.feature[order] >= 0
    left = np.where(inner, place[grown.left[order]], -1).astype(np.int32)
    right = np.where(inner, place[grown.right[order]], -1).astype(np.int32)
    depth = np.zeros(len(order), dtype=np.int32)
    for t in np.flatnonzero(inner).tolist():
        depth[left[t]] = depth[right[t]] = depth[t] + 1
    start, bits = _level_sets(grown, order, bins, levels)
    return Tree(
        feature=grown.feature[order],
        threshold=grown.threshold[order],
        left=left,
        right=right,
        missing_left=grown.missing_left[order],
        depth=depth,
        rows=grown.rows[order],
        set_start=start,
        set_bits=bits,
    ), order


def _level_sets(
    grown: HistogramTree, order: Indices, bins: Bins, levels: Indices
) -> tuple[Indices | None, Codes | None]:
    """Where the set of each node begins, and the bits of all sets, one per level; (None, None) without categories."""
    if not levels.any():
        return None, None
    start, sets, size = np.full(len(order), -1, dtype=np.int64), [np.zeros(0, dtype=np.uint8)], 0
    for t in np.flatnonzero(grown.category[order] >= 0).tolist():
        f = int(grown.feature[order[t]])
        left = np.unpackbits(grown.sets[grown.category[order[t]]].view(np.uint8), bitorder="little")
        code = np.full(levels[f], len(left) - 1)  # levels that no row has are missing values
        code[bins.edges[f].astype(np.int64)] = bins.place[f]
        sets.append(np.packbits(left[code], bitorder="little"))
        start[t] = size
        size += len(sets[-1])
    return start, np.concatenate(sets)


def _poisson(rate: Array, u: Array) -> Indices:
    """For each row the Poisson number whose distribution function reaches u."""
    count = np.zeros(len(u), dtype=np.int32)
    if (large := rate > MAX_POISSON_RATE).any():
        count[large] = np.rint(np.maximum(rate + np.sqrt(rate) * ndtri(u), 0.0))[large]
    term = np.where(large, 1.0, np.exp(-rate))
    left, k = u - term, 0
    while (more := left >= 0).any() and k < 4 * MAX_POISSON_RATE:  # beyond, terms are rounding
        k += 1
        count += more
        term *= rate / k
        left -= term
    return count
