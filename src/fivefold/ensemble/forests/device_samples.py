"""The rows of a forest on a device of torch: codes, samples and leaves stay there, sums come to the host.

The trees are those of the same table in chunks, to the last bit: draws are those of the numbers of the rows, gradients
those of the host, and sums of leaves that are no whole numbers are added in the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.numerics.arrays import AnyArray, is_tensor, namespace, to_device_of, to_numpy
from fivefold.core.parallel import are_whole
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Target, Weights
from fivefold.ensemble.forests.sample_kernels import add_in_order, draw_counts
from fivefold.ensemble.forests.sampled_rows import (
    BLOCK_ROWS,
    MAX_POISSON_RATE,
    Sample,
    SampledRows,
    SharedSamples,
    largest_count,
)
from fivefold.partition.growers.device_growth import DeviceRows, DeviceState, SingleShard, device_codes, host_reason_of
from fivefold.partition.growers.histogram_grower import HistogramLimits
from fivefold.partition.growers.sharded_growth import Growth, ShardedGrower
from fivefold.partition.histograms.bins import Bins

MIN_FOREST_VALUES = 2**22  # of a table (rows x columns): smaller ones have the forest of memory, as tables in chunks do
MAX_FOREST_LEAVES = 4096  # of a tree: deeper ones have few rows in a wave of nodes


def forest_host_reason(X: AnyArray, max_leaves: int | None, max_depth: int | None) -> str:
    """Why a forest of a tensor is grown on the host; nothing if it grows on its device."""
    if X.shape[0] * X.shape[1] < MIN_FOREST_VALUES:
        return "so small a table is fitted faster there"
    return host_reason_of(X, max_leaves, max_depth, most_leaves=MAX_FOREST_LEAVES)


class SamplesOfDevice(DeviceState):
    """The rows, told what to do as a worker is (sampled_rows.py); targets and weights are those of the host."""

    def __init__(self, codes: AnyArray, y: Target, w: Weights, draws: SampledRows) -> None:
        self.rows, self.y, self.w, self.draws = DeviceRows(codes), y, w, draws
        v = draws.row_weights(y, w)
        self.whole = are_whole(v)
        self.h = to_device_of(v, codes)
        self.repeats: AnyArray | None = None
        if draws.classes:
            self.labels = to_device_of(y, codes)
            self.statistics = self.h.new_empty((0, len(y)))
        else:
            self.g = to_device_of(-(y - draws.centre) * v, codes)
            self.statistics = to_device_of(np.stack(draws.statistics(y)[1:]).astype(np.float64, copy=False), codes)
        self.rates = self._rates() if draws.bootstrap and self.rows.has_kernels else None

    def extents(self, sample: Sample) -> tuple[float, float]:
        """Draw a sample; the largest gradient of its rows, and the sum of curvatures."""
        if self.draws.classes:
            self.g = to_device_of(-np.array(sample.sides), self.h)[self.labels] * self.h
        if self.draws.bootstrap:
            self.repeats = self._drawn(sample.seed)
        return self.rows.extents(self.g, self.h, self.repeats)

    def settled_sums(self, growth: Growth) -> Matrix:
        """The sums of the leaves of a tree (SampledRows.leaf_sums)."""
        leaf, nodes, K = self.rows.leaf(growth), len(growth.order), self.draws.classes
        if not self.rows.has_kernels:
            repeats: Any = np.ones(1) if self.repeats is None else to_numpy(self.repeats)
            repeats = np.broadcast_to(repeats, len(self.y))
            return self.draws.leaf_sums(to_numpy(leaf), self.y, repeats, to_numpy(self.h), nodes)
        c = self.h if self.repeats is None else self.h * self.repeats
        place, bins = (leaf * K + self.labels, nodes * K) if K else (leaf, nodes)
        if K and self.whole:  # sums of whole numbers do not depend on their order
            sums = to_numpy(namespace(c).bincount(place, c, minlength=bins))
        else:
            sums = self._ordered_sums(place, bins, c)
        rows = to_numpy(namespace(c).bincount(leaf, (c > 0).double(), minlength=nodes))
        return np.column_stack([sums.reshape(nodes, -1), rows])

    def _ordered_sums(self, place: AnyArray, bins: int, c: AnyArray) -> Doubles:
        """Sums by place as the host adds them: in blocks of rows, each in the order of its rows; (bins, 1 or 3)."""
        xp, n = namespace(c), len(c)
        blocks = -(-n // BLOCK_ROWS)
        kind = xp.int32 if blocks * bins < 2**31 else xp.int64
        at = (xp.arange(n, device=c.device).div_(BLOCK_ROWS, rounding_mode="floor").mul_(bins) + place).to(kind)
        starts = xp.zeros(blocks * bins + 1, dtype=xp.int64, device=c.device)
        starts[1:] = xp.bincount(at, minlength=blocks * bins).cumsum(0)
        each = to_numpy(add_in_order(at.argsort(stable=True), starts, c, self.statistics))
        out: Doubles = np.zeros((bins, each.shape[1]))
        for sums in each.reshape(blocks, bins, -1):
            out += sums
        return out

    def _rates(self) -> tuple[AnyArray, AnyArray] | None:
        """Expected draws of the rows, one where all are alike, and the chance of none; None for large ones."""
        rate = self.draws.rates(self.y, self.w)
        if rate.max() > MAX_POISSON_RATE:
            return None
        rate = rate[:1] if (rate == rate[0]).all() else rate
        return to_device_of(rate, self.h), to_device_of(np.exp(-rate), self.h)

    def _drawn(self, seed: int) -> AnyArray:
        """How often each row is in the sample of a tree."""
        if self.rates is not None:
            return draw_counts(seed, len(self.y), *self.rates)
        out: Indices = np.empty(len(self.y), dtype=np.int32)
        for lo in range(0, len(out), BLOCK_ROWS):
            some = slice(lo, lo + BLOCK_ROWS)
            out[some] = self.draws.repeats(seed, lo, self.y[some], self.w[some])
        return to_device_of(out, self.h)


def samples_on_device(
    X: AnyArray, y: Target, w: Weights, bins: Bins, draws: SampledRows, limits: HistogramLimits, signs: Codes | None
) -> SharedSamples:
    """The rows of a tensor, binned, on its device; targets and weights are arrays."""
    assert is_tensor(X)
    shards = SingleShard(SamplesOfDevice(device_codes(bins, X), y, w, draws))
    count = largest_count(len(X), draws, w)
    return SharedSamples(shards, ShardedGrower(shards, bins, len(X), limits, signs, max_count=count))
