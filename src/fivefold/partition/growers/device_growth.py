"""The rows of histogram trees on a device of torch: it separates and sums them, the host keeps the books and searches.

State on the device: codes (n, d) by row, the node of each row, and gradients rounded to whole numbers as on the host.
For a wave of nodes the device gets their cuts and gives back the histograms of the smaller sides, in one copy. Sums are
sums of integers, so a tree of the same gradients is that of arrays to the last bit. On CUDA kernels do the work
(histograms/histogram_kernels.py); elsewhere, and where NVRTC is missing, torch's functions do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.chunks.shards import Shards
from fivefold.core.compilation.cuda_support import has_kernels
from fivefold.core.numerics.arrays import AnyArray, namespace, to_device_of, to_numpy
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.types import Array, Doubles, Indices
from fivefold.partition.growers.sharded_growth import Cuts, Growth
from fivefold.partition.histograms import histogram_kernels
from fivefold.partition.histograms.bins import MISSING_BIN, Bins
from fivefold.partition.histograms.histogram_kernels import CUT_FIELDS, MAX_NODES
from fivefold.partition.histograms.histogram_loops import BINS_PER_COLUMN, COUNT_BITS, CURVATURE_UNIT, GRADIENT_UNIT

DEVICES = ("cuda",)  # on the host compiled loops are faster; tests have the CPU too
MIN_VALUES = 2**21  # of a table (rows x columns): smaller ones are fitted on the host in the time of the calls
MAX_DEVICE_LEAVES = 256  # of a tree: with 2,000 a wave has few of the rows, and the host was 17 times as fast


def host_reason_of(
    X: AnyArray, max_leaves: int | None, max_depth: int | None, *, most_leaves: int = MAX_DEVICE_LEAVES
) -> str:
    """Why histogram trees of a tensor are grown on the host; nothing if they grow on its device."""
    if X.device.type not in DEVICES:
        return "compiled loops of the host are faster there"
    if X.shape[0] * X.shape[1] < MIN_VALUES:
        return "so small a table is fitted faster there"
    if min(max_leaves or 2**31, 2 ** min(max_depth or 31, 31)) > most_leaves:
        return (
            f"trees of more than {most_leaves} leaves grow faster there: for a path on the device give max_leaf_nodes "
            f"up to {most_leaves}, or max_depth up to {most_leaves.bit_length() - 1}"
        )
    return ""


def device_codes(bins: Bins, X: AnyArray) -> AnyArray:
    """Codes of the rows of X by row, (n, d) uint8; all columns hold numbers."""
    xp, (n, d) = namespace(X), X.shape
    out = xp.empty((n, d), dtype=xp.uint8, device=X.device)
    for lo, hi in row_cuts(X, 8):
        for f in range(d):
            x = X[lo:hi, f].double().contiguous()
            code = xp.bucketize(x, to_device_of(bins.edges[f], X))
            out[lo:hi, f] = code.masked_fill_(x.isnan(), MISSING_BIN)
    return out


class SingleShard(Shards):
    """One state in this process."""

    def __init__(self, state: Any) -> None:  # of whatever class
        self.state = state

    def call(self, method: str, *args: Any) -> list[Any]:
        return [getattr(self.state, method)(*args)]

    def close(self) -> None:
        self.state = None


class DeviceState:
    """What stands for workers before a ShardedGrower; a class with `extents(which)`, which tells of the gradients."""

    rows: DeviceRows

    def root(self, terms: Doubles) -> tuple[Indices, Indices]:
        """See DeviceRows, as for the next two."""
        return self.rows.root(terms)

    def histograms(self, nodes: Indices) -> Indices:
        return self.rows.histograms(nodes)

    def divide(self, cuts: Cuts) -> tuple[Indices, Indices]:
        return self.rows.divide(cuts)


class DeviceRows:
    """Rows on a device, each in a node of the tree that grows."""

    def __init__(self, codes: AnyArray) -> None:
        xp, n = namespace(codes), len(codes)
        self.xp, self.codes, self.columns = xp, codes, codes.shape[1]
        self.node = xp.zeros(n, dtype=xp.int32, device=codes.device)
        self.packed = xp.empty((n, 2), dtype=xp.int64, device=codes.device)
        self.listed = xp.empty(n, dtype=xp.int32, device=codes.device)  # rows of smaller sides
        self.has_kernels = has_kernels(codes)
        self.landing = xp.empty(0, dtype=xp.int64)  # where copies to the host arrive
        self.sizes = np.zeros(1, dtype=np.int64)  # rows of each node, and its parent
        self.parent = np.full(1, -1, dtype=np.int64)

    @property
    def size(self) -> int:
        """Numbers of a table."""
        return self.columns * BINS_PER_COLUMN * 2

    def extents(self, g: AnyArray, h: AnyArray, repeats: AnyArray | None) -> tuple[float, float]:
        """The largest gradient, and the sum of curvatures; repeats is None for ones."""
        self.g, self.h, self.repeats = g, h, repeats
        total = h.sum() if repeats is None else (h * repeats).sum()
        top, total = self.xp.stack([g.abs().max(), total]).tolist()
        return top, total

    def root(self, terms: Doubles) -> tuple[Indices, Indices]:
        """Round the gradients by these terms; their sums, and the histograms of all rows."""
        bits, times = int(terms[COUNT_BITS]), 1 if self.repeats is None else self.repeats
        self.packed[:, 0] = (self.g * (1.0 / terms[GRADIENT_UNIT])).round_().long().mul_(times)
        curvature = (self.h * (1.0 / terms[CURVATURE_UNIT])).round_().long().mul_(times)
        self.packed[:, 1] = curvature.bitwise_left_shift_(bits).add_(times)
        self.sizes[0] = len(self.node)
        self.node.zero_()  # a tree may stay without a cut
        out = self.xp.zeros((1, self.size), dtype=self.xp.int64, device=self.codes.device)
        if self.has_kernels:
            histogram_kernels.add_rows(self.codes, self.packed, self.columns, None, out, out, out)
        else:
            self._add(slice(None), out[0])
        table = self._arrived(out.reshape(-1))
        return table[: 2 * BINS_PER_COLUMN].reshape(-1, 2).sum(axis=0), table.copy()

    def histograms(self, nodes: Indices) -> Indices:
        """Histograms of all rows of some nodes that are not divided."""
        out = self.xp.zeros((len(nodes), self.size), dtype=self.xp.int64, device=self.codes.device)
        for table, t in zip(out, nodes.tolist(), strict=True):
            self._add((self.node == t).nonzero()[:, 0], table)
        return self._arrived(out.reshape(-1)).reshape(len(nodes), -1)

    def divide(self, cuts: Cuts) -> tuple[Indices, Indices]:
        """Separate the rows of some nodes; how many go left, and histograms of the sides that are asked for."""
        xp, W = self.xp, len(cuts.node)
        if cuts.node[0] == 0:  # a tree begins anew, with a longer list of nodes
            self.node.zero_()
        rows = self.sizes[cuts.node]
        starts = np.cumsum(rows) - rows  # a list of every node, as long as all its rows
        deep = np.flatnonzero(cuts.deeper)
        sent = np.zeros((W, CUT_FIELDS + 1), dtype=np.int64)
        sent[:, 0], sent[:, 1], sent[:, 2] = cuts.node, cuts.left, cuts.column
        sent[:, 3], sent[:, 4], sent[:, 5] = cuts.deeper, cuts.left_is_small, starts
        sent[:, 6:CUT_FIELDS], sent[: len(deep), CUT_FIELDS] = cuts.bins_left, starts[deep]
        there = to_device_of(sent, self.node)
        out = xp.zeros(W + len(deep) * self.size, dtype=xp.int64, device=self.node.device)
        counts, tables = out[:W], out[W:].view(len(deep), self.size)
        last = int(cuts.left.max()) + 2
        if self.has_kernels and last <= MAX_NODES:
            given = there[:, :CUT_FIELDS].contiguous()
            histogram_kernels.separate_rows(self.codes, self.node, given, last, self.listed, counts)
            if len(deep):
                own = counts if len(deep) == W else counts[to_device_of(deep, counts)]
                beginning = there[: len(deep), CUT_FIELDS].contiguous()
                histogram_kernels.add_rows(self.codes, self.packed, self.columns, self.listed, beginning, own, tables)
        else:
            self._separate(cuts, counts, dict(zip(deep.tolist(), tables, strict=True)))
        found = self._arrived(out)
        small = found[:W]
        left = np.where(cuts.left_is_small == 1, small, rows - small)
        self._extend(last)
        self.sizes[cuts.left], self.sizes[cuts.left + 1] = left, rows - left
        self.parent[cuts.left] = self.parent[cuts.left + 1] = cuts.node
        return left, found[W:].reshape(len(deep), self.size)  # taken over before the next call

    def add(self, growth: Growth, value: Array, out: AnyArray) -> None:
        """Add the value of its leaf to each row of `out`."""
        out += self.xp.index_select(to_device_of(value[self._leaves(growth)], out), 0, self.node)

    def leaf(self, growth: Growth) -> AnyArray:
        """The number of the leaf of each row in the tree."""
        return self.xp.index_select(to_device_of(self._leaves(growth), self.node), 0, self.node)

    def _leaves(self, growth: Growth) -> Indices:
        """For each node in the list the number of the leaf it belongs to: those worked out in vain are below one."""
        index, divided = np.full(growth.nodes, -1, dtype=np.int64), np.zeros(growth.nodes, dtype=bool)
        index[growth.order], divided[growth.order] = np.arange(len(growth.order)), growth.divided == 1
        at, parent = np.arange(growth.nodes), self.parent[: growth.nodes]
        while True:
            above = parent[at]
            vain = (above >= 0) & ~divided[above]
            if not vain.any():
                return np.maximum(index[at], 0)  # no row is in a node that is divided
            at = np.where(vain, above, at)

    def _extend(self, count: int) -> None:
        if count > len(self.sizes):
            more = 2 * count - len(self.sizes)
            self.sizes = np.append(self.sizes, np.zeros(more, dtype=np.int64))
            self.parent = np.append(self.parent, np.full(more, -1))

    def _separate(self, cuts: Cuts, counts: AnyArray, tables: dict[int, AnyArray]) -> None:
        """What the kernels do, node by node."""
        bins = np.arange(BINS_PER_COLUMN)
        for w in range(len(cuts.node)):
            mine = (self.node == int(cuts.node[w])).nonzero()[:, 0]
            goes = (cuts.bins_left[w][bins >> 6] >> (bins & 63)) & 1 == 1
            left = to_device_of(goes, mine)[self.codes[mine, int(cuts.column[w])].long()]
            self.node[mine] = int(cuts.left[w]) + 1 - left.int()
            small = mine[left == bool(cuts.left_is_small[w])]
            counts[w] = len(small)
            if w in tables:
                self._add(small, tables[w])

    def _add(self, rows: AnyArray | slice, table: AnyArray) -> None:
        """Add rows to a table, by torch."""
        xp, bins = self.xp, table.view(-1, 2)
        codes, packed = self.codes[rows], self.packed[rows]
        offsets = BINS_PER_COLUMN * xp.arange(self.columns, device=codes.device)
        for lo, hi in row_cuts(codes, 24 * self.columns):
            at = (codes[lo:hi].long() + offsets).reshape(-1)
            bins.index_add_(0, at, packed[lo:hi].repeat_interleave(self.columns, dim=0))

    def _arrived(self, numbers: AnyArray) -> Indices:
        """Numbers of the device in memory of the host, until the next call."""
        if numbers.device.type != "cuda":
            return np.asarray(to_numpy(numbers))
        if len(self.landing) < len(numbers):
            self.landing = self.xp.empty(2 * len(numbers), dtype=self.xp.int64, pin_memory=True)
        here = self.landing[: len(numbers)]
        here.copy_(numbers)
        return np.asarray(here.numpy())
