"""The rows of boosting between rounds: scores F, gradients and curvatures, here or shared among workers.

Both kinds take the same steps of a round: gradients of F, a tree for each of its K rows, and its values added to F.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from fivefold.core.chunks.chunked_array import Rows
from fivefold.core.chunks.shards import Shards
from fivefold.core.types import Array, Codes, Doubles, Mask, Matrix, Target, Weights
from fivefold.ensemble.boosting.boosting_losses import BoostingLoss
from fivefold.partition.growers.histogram_grower import HistogramGrower, HistogramLimits, HistogramTree
from fivefold.partition.growers.sharded_growth import Growth, HistogramShard, ShardedGrower, ShardState
from fivefold.partition.histograms.bins import Allocation, Bins

PROGRESS_ROWS = 4096  # rows whose loss the progress line shows: a sample, so that showing it costs little


@dataclass(frozen=True)
class GrowthSettings:
    """What trees of every round have in common."""

    bins: Bins
    limits: HistogramLimits
    signs: Codes | None
    interaction_sets: Mask | None
    integer_weights: bool  # weights then repeat rows
    max_count: int  # the largest sum of repeats


class GradientRows(Protocol):
    """Rows that boosting fits trees to."""

    def update_gradients(self) -> None:
        """Gradients and curvatures of the present scores."""

    def grow(self, k: int, seed: int) -> HistogramTree:
        """A tree for the gradients of output k."""

    def add(self, k: int, value: Array) -> None:
        """Add the values of the leaves of the tree that was grown last to the scores of output k."""

    def loss(self) -> float:
        """The mean loss."""

    def sample_loss(self) -> float:
        """The mean loss of a sample of the rows."""

    def close(self) -> None:
        """Let go of the rows."""


class LocalRows:
    """Rows of this process."""

    def __init__(
        self,
        settings: GrowthSettings,
        codes: Codes,
        y: Target,
        w: Weights,
        target: BoostingLoss,
        F: Any,  # scores to start with, as an array (K, n) or (K, 1)
        allocate: Allocation = np.empty,
        grower: type[HistogramGrower] = HistogramGrower,
    ) -> None:
        s, n = settings, len(y)
        self.y, self.w, self.target, self.integer_weights = y, w, target, s.integer_weights
        self.grower = grower(s.bins, codes, s.limits, s.signs, s.interaction_sets, allocate, max_count=s.max_count)
        self.repeats = allocate((n,), np.int32)
        self.repeats[:] = w if s.integer_weights else 1
        self.F: Matrix = allocate((len(F), n), np.float64)
        self.F[:] = F
        self.g, self.h = allocate((2, target.trees_per_round, n), np.float64)
        self.mean_loss: float | None = None  # of F, where the last pass over the rows found it
        self.current = False  # do g and h belong to F?

    def update_gradients(self) -> None:
        if self.current:
            return
        self.mean_loss, self.current = self.target.gradients(self.y, self.F, self.w, self.g, self.h), True
        if not self.integer_weights:
            self.g *= self.w
            self.h *= self.w

    def grow(self, k: int, seed: int) -> HistogramTree:
        tree = self.grower.grow(self.g[k], self.h[k], self.repeats, seed)
        if self.target.leaf_constant is not None:
            for leaf, rows in self.grower.leaves():
                tree.value[leaf] = self.target.leaf_constant(self.y[rows] - self.F[k, rows], self.w[rows])
        return tree

    def add(self, k: int, value: Array) -> None:
        self.grower.add(value, self.F[k])
        self.current = False

    def loss(self) -> float:
        self.update_gradients()  # the next round needs them, and the loss may come with them
        return self.target.value(self.y, self.F, self.w) if self.mean_loss is None else self.mean_loss

    def sample_loss(self) -> float:
        shown = slice(None, None, max(1, len(self.y) // PROGRESS_ROWS))
        return self.target.value(self.y[shown], self.F[:, shown], self.w[shown])

    def close(self) -> None:
        pass


class SharedRows:
    """Rows that workers hold; see `share_rows`."""

    def __init__(self, settings: GrowthSettings, shards: Shards, n: int) -> None:
        s = settings
        self.shards = shards
        self.grower = ShardedGrower(shards, s.bins, n, s.limits, s.signs, s.interaction_sets, max_count=s.max_count)

    def update_gradients(self) -> None:
        """Workers do so before the first tree of a round."""

    def grow(self, k: int, seed: int) -> HistogramTree:
        return self.grower.grow_tree(k, seed)

    def add(self, k: int, value: Array) -> None:
        self.shards.call("settle", self.grower.growth(), k, value)

    def loss(self) -> float:
        total, weight = np.sum(self.shards.call("losses"), axis=0)
        return float(total / weight)

    sample_loss = loss

    def close(self) -> None:
        self.shards.close()


class RowsOfWorker(ShardState, LocalRows):
    """The rows of one worker, who is told what to do with them."""

    grower: HistogramShard

    @classmethod
    def of(
        cls, settings: GrowthSettings, target: BoostingLoss, base: Doubles, parts: list[tuple[Codes, Target, Weights]]
    ) -> RowsOfWorker:
        """The rows of all parts."""
        codes, y, w = (list(some) for some in zip(*parts, strict=True))
        joined = np.concatenate(codes, axis=1), np.concatenate(y), np.concatenate(w)
        return cls(settings, *joined, target, base[:, None], grower=HistogramShard)

    def extents(self, k: int) -> tuple[float, float]:
        if k == 0:
            self.update_gradients()
        return self.grower.extents(self.g[k], self.h[k], self.repeats)

    def settle(self, growth: Growth, k: int, value: Array) -> None:
        self.grower.settle(growth)
        self.add(k, value)

    def losses(self) -> tuple[float, float]:
        """The sum of the losses, and of the weights."""
        weight = float(self.w.sum())
        return self.loss() * weight, weight


def share_rows(
    X: Any, y: Any, w: Any, settings: GrowthSettings, target: BoostingLoss, base: Doubles
) -> SharedRows | None:
    """The rows of three ChunkedArrays among the workers that have them; None if this process reads them."""
    bins = settings.bins

    def part(rows: Rows) -> tuple[Codes, Target, Weights]:
        return bins.codes(X.pick(rows)), y.pick(rows), w.pick(rows)

    shards = X.rows.shards(part, partial(RowsOfWorker.of, settings, target, base))
    return None if shards is None else SharedRows(settings, shards, len(X))
