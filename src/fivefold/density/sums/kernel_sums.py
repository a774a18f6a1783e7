"""Sums of kernels at queries, in logs: by a tree with a guaranteed tolerance, or in blocks for any distance.

    log of  sum of w_i k(|q - x_i| / h)

Queries are put in the order of the tree's leaves and summed in groups, so that a block of points is read once for
several. Sums that underflow are done again relative to the nearest point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Matrix, Vector
from fivefold.density.sums.point_tree import coarse_origin, point_tree
from fivefold.density.sums.tree_sum_loops import (
    CHEBYSHEV,
    EUCLIDEAN,
    MANHATTAN,
    Shape,
    TreeArrays,
    leaf_of_rows,
    nearest_squares,
    scratch_for,
    tree_sums,
)
from fivefold.density.sums.window_kernels import WindowKernel
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.smoothing_kernel_loops import EXPONENTIAL, GAUSSIAN

MAX_GROUP = 8  # queries that go down the tree together, at most
PARTS = 64  # parts of the groups, shared among threads
MIN_PART_PAIRS = 2**18  # pairs of query and point in a part, at least: about 0.1 ms
SAFE_SUM = 1e-250  # smaller sums have lost digits to underflow
ROUNDING = 2.0**-52  # tolerance of sums that are asked to be exact
BLOCK_PAIRS = 2**20  # pairs of a block for distances that no loop knows
WITHIN_EDGE = 1.0 + 1e-12  # a hypercube is wider by this factor: it holds its edge in spite of rounding
DISTANCES = {"euclidean": EUCLIDEAN, "chebyshev": CHEBYSHEV, "manhattan": MANHATTAN}


@dataclass(frozen=True)
class KernelSums:
    """Weighted points, ready for sums of a kernel."""

    kernel: WindowKernel
    points: Matrix  # (n, d)
    weights: Vector  # (n,)
    distance: str = "euclidean"
    widths: Vector | None = None  # (n,) factors of the width at each point

    @cached_property
    def origin(self) -> Doubles:
        """A point near the mean (d,)."""
        return coarse_origin(self.points, self.weights)

    @cached_property
    def tree(self) -> TreeArrays:
        """The points about the origin, in leaves."""
        scales = None if self.widths is None else np.asarray(self.widths, dtype=np.float64) ** -2.0
        return point_tree(self.points - self.origin, np.asarray(self.weights, dtype=np.float64), scales)

    def __getstate__(self) -> dict[str, object]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def mass(self) -> float:
        """The total weight of the points."""
        return float(self.tree.mass[0])

    @property
    def shape(self) -> Shape:
        """The kernel as loops take it."""
        distance = CHEBYSHEV if self.kernel.box else DISTANCES[self.distance]
        return Shape(self.kernel.code, distance)

    def log_sums(
        self, Q: Matrix, h: float | Vector, *, rtol: float = 0.0, atol: float = 0.0, direct: bool = False
    ) -> Doubles:
        """log of the sum at each row of Q (m,), for one width or one per query.

        Sums are right to atol x (total weight) + rtol x (sum); `direct`: every pair is summed, without bounds.
        """
        Z = np.ascontiguousarray(Q - self.origin, dtype=np.float64)
        leaf = np.empty(len(Z), dtype=np.int64)
        leaf_of_rows(self.tree, Z, leaf)
        order = np.argsort(leaf, kind="stable")
        Z = Z[order]
        unit = WITHIN_EDGE * 0.5 if self.kernel.box else 1.0
        scale = np.broadcast_to(1.0 / np.square(np.asarray(h, dtype=np.float64) * unit), (len(Z),))
        scale = np.ascontiguousarray(scale[order] if np.ndim(h) else scale)
        rtol = -1.0 if direct else max(float(rtol), ROUNDING)
        logs = self._ordered(Z, scale, rtol, float(atol))
        out = np.empty(len(Z))
        out[order] = logs
        return out

    def _ordered(self, Z: Matrix, scale: Vector, rtol: float, atol: float) -> Doubles:
        """log sums of queries in the order of leaves."""
        zero = np.zeros(len(Z))
        size = max(1, min(MAX_GROUP, 2 * len(Z) // len(self.tree.weights)))  # a group should lie within a leaf or two
        sums = self._sums(Z, scale, zero, size, rtol, atol)
        with np.errstate(divide="ignore"):
            logs = np.log(sums)
        lost = np.flatnonzero(sums < SAFE_SUM * self.mass)
        if len(lost) and self.kernel.code in (GAUSSIAN, EXPONENTIAL) and atol < SAFE_SUM:
            few, near = Z[lost], np.empty(len(lost))
            nearest_squares(self.tree, self.shape, few, scale[lost], scratch_for(Z.shape[1]), near)
            shift = 0.5 * near if self.kernel.code == GAUSSIAN else np.sqrt(near)
            logs[lost] = np.log(self._sums(few, scale[lost], shift, 1, rtol, atol)) - shift
        return logs

    def _sums(self, Z: Matrix, scale: Vector, shift: Vector, size: int, rtol: float, atol: float) -> Doubles:
        """Sums in groups of `size` queries, on the threads."""
        groups, n = -(-len(Z) // size), self.tree.weights.size
        out, lower = np.empty(len(Z)), np.empty(len(Z))
        parts = max(1, min(PARTS, groups, len(Z) * n // MIN_PART_PAIRS))
        cuts = [groups * i // parts for i in range(parts + 1)]

        def part(i: int) -> None:
            S = scratch_for(Z.shape[1])
            tree_sums(self.tree, self.shape, Z, scale, shift, size, cuts[i], cuts[i + 1], rtol, atol, S, out, lower)

        map_items(part, parts)
        return out


@dataclass(frozen=True)
class PairwiseSums:
    """Weighted points under any distance and any kernel: every pair is computed, block by block."""

    kernel: WindowKernel
    points: Matrix  # (n, d)
    weights: Vector
    metric: Any = "euclidean"  # a name, or a function of two rows
    metric_params: Mapping[str, Any] | None = None
    widths: Vector | None = None  # (n,) factors of the width at each point

    def distances(self, Q: Matrix) -> Matrix:
        """Distances of queries from the points (m, n)."""
        if self.metric == "euclidean" and not self.metric_params:
            return np.sqrt(squared_distances(Q, self.points))
        return NeighborIndex(self.points, self.metric, metric_params=self.metric_params).distances(Q)

    @property
    def mass(self) -> float:
        """The total weight of the points."""
        return float(self.weights.sum())

    def log_sums(
        self, Q: Matrix, h: float | Vector, *, rtol: float = 0.0, atol: float = 0.0, direct: bool = False
    ) -> Doubles:
        """log of the sum at each row of Q (m,); tolerances do not matter: all pairs are summed."""
        rows = max(1, BLOCK_PAIRS // len(self.points))
        cuts = [*range(0, len(Q), rows), len(Q)]
        width = np.broadcast_to(np.asarray(h, dtype=np.float64), (len(Q),))

        def part(i: int) -> Doubles:
            some = slice(cuts[i], cuts[i + 1])
            U = self.distances(Q[some]) / width[some, None]
            return self._log_block(U if self.widths is None else U / self.widths)

        return np.concatenate(map_items(part, len(cuts) - 1))

    def _log_block(self, U: Matrix) -> Doubles:
        shift = np.zeros(len(U))
        if self.kernel.code in (GAUSSIAN, EXPONENTIAL):  # relative to the nearest point, so that nothing underflows
            V = 0.5 * U * U if self.kernel.code == GAUSSIAN else U
            shift = V.min(axis=1)
            K = np.exp(shift[:, None] - V)
        else:
            K = self.kernel.values(U)
        with np.errstate(divide="ignore"):
            return np.log(K @ self.weights) - shift
