"""Lloyd's algorithm with Hamerly's bounds (2010): weighted, exact, most distances never computed.

    assign   r_i = argmin_k |x_i - c_k|            a tie goes to the lowest k
    update   c_k = sum_{r_i = k} w_i x_i / sum_{r_i = k} w_i

Each point has an upper bound u on the distance to its centre and a lower bound l on the distance to any other.
When the centres move, u grows by the move of its centre and l shrinks by the largest move of another; while
u < max(l, half the gap from its centre to the nearest other) the point keeps its centre. The other points are compared
with every centre, in single precision as long as that decides; undecided comparisons are repeated in double precision.

A cluster without points takes the point farthest from its own centre, with all the points equal to it.
Lloyd (1982); Hamerly (2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import issparse

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.parallel import BLOCK_ROWS, aligned, row_parts, run_team, team_size, whole_lines
from fivefold.core.types import Codes, Indices, Matrix, Table, Vector, Weights
from fivefold.spatial.centres.direct_loops import add_moves, cluster_means, move_rows, own_distances
from fivefold.spatial.centres.lloyd_loops import (
    ASSIGN,
    BOUND_SAFETY,
    HUGE,
    LIST,
    TIE_RATIO,
    AssignmentPass,
    assign_parts,
)
from fivefold.spatial.centres.tensor_lloyd import TensorAssignment, nearest_of_tensor
from fivefold.spatial.centres.two_centre_loops import PlanePass, pass_over_plane
from fivefold.spatial.points import Codebook, Points, Precision, squared_norms
from fivefold.spatial.row_loops import ROW_LANES, DenseRows
from fivefold.spatial.tensor_points import AnyPoints, TensorPoints, memory_points

MAX_UNDECIDED_SHARE = 0.1  # switch to double precision when single precision leaves more than this share of
MIN_UNDECIDED = 4096  # the comparisons undecided, and more than this many
MIN_REMAINING_SHARE = 1e-6  # recompute all sums when a cluster keeps less than this share of its largest weight
SECONDS_PER_POINT = 2e-8  # time of a pass per point,
SECONDS_PER_COORDINATE = 2e-9  # and per coordinate: what decides how many threads pay
MAX_DIRECT_DIFFERENCES = 2**14  # up to this many coordinates to subtract, single rows are assigned by a plain loop,
MAX_DIRECT_STEP = 2**17  # and up to this many in a step, points: preparing bounds takes longer
MAX_DIRECT_ROWS = 2 * BLOCK_ROWS - 1  # that are one part

StopReason = Literal["converged", "max_iter", "stopped", "interrupted"]
# From the assignment and the centres (K, d): new centres, the objective, and whether they are the best for it.
CentreUpdate: TypeAlias = Callable[[Any, Matrix], tuple[Matrix, float, bool]]
AnyAssignment: TypeAlias = Any  # ClusterAssignment of arrays or TensorAssignment of tensors
Monitor: TypeAlias = Callable[[Matrix, float], bool]


@dataclass(frozen=True)
class LloydResult:
    """K centres, how well they stand for the points, and how they were found."""

    centres: Matrix  # (K, d)
    labels: Codes  # (n,) int32
    inertia: float  # sum of w |x - c|^2
    cost: float  # sum of w |x - c|
    n_iter: int
    history: tuple[float, ...]  # the objective after each step
    reason: StopReason
    shift: float  # sum of the squared moves of the centres in the last step; zero if no label changed
    n_filled: int  # clusters that hold rows


@jit(fastmath=FAST, error_model="numpy")
def _nearest(X, C, labels):
    """The nearest centre of each row by plain differences, as `_assign_rows` finds it for an undecided row."""
    for i in range(X.shape[0]):
        first, which = HUGE, 0
        for k in range(C.shape[0]):
            s = 0.0
            for j in range(C.shape[1]):
                z = X[i, j] - C[k, j]
                s += z * z
            if s < TIE_RATIO * first:
                first, which = s, k
        labels[i] = which


class ClusterAssignment:
    """Which centre each point belongs to, kept up to date while the centres move."""

    def __init__(self, points: Points, K: int) -> None:
        n, d = points.n, points.width
        self.points, self.K = points, K
        self.labels = np.full(n, -1, np.int32)
        self.upper, self.lower = np.empty(n), np.empty(n)
        self.members, self.weight, self.sums = np.zeros(K, np.int64), np.zeros(K), np.zeros((K, d))
        self.peak = np.zeros(K)  # the largest weight that each cluster has had since the sums were computed
        self.move = np.zeros(K)  # how far each centre moved in the last step
        self.largest_moves = np.zeros(3)  # the largest move, the number of its centre, the second largest move
        self.precision: Precision | None = None  # None before the first assignment
        cut = row_parts(n, self.part_rows)
        self.ends = np.array([0, *(hi for _, hi in cut)])
        self.team_size = min(len(cut), team_size(n * (SECONDS_PER_POINT + d * SECONDS_PER_COORDINATE)))
        self.part_sums = (
            np.empty((len(cut), K + 1), np.int64),
            np.empty((len(cut), K + 1)),
            np.empty((len(cut), K + 1, d)),
        )
        self.counts = np.zeros((len(cut), 3), np.int64)
        self.scratch: dict[Precision, tuple[Any, ...]] = {}  # per type, arrays of several types

    @property
    def part_rows(self) -> int:
        """Rows in a part, at least: so many that sums of parts stay small beside the table."""
        return max(BLOCK_ROWS, 8 * self.K)

    def assign(self, C: Matrix) -> int:
        """Give each point to its nearest centre; return how many points changed their centre."""
        K = self.K
        self._compare(C)
        changed = int(self.counts[:, 0].sum())
        members, weight, sums = (each.sum(axis=0) for each in self.part_sums)
        self.members += members[:K]
        self.weight += weight[:K]
        self.sums += sums[:K]
        if not self.members.all():
            empty = self.members == 0
            self.weight[empty], self.sums[empty] = 0.0, 0.0
        self.peak = np.maximum(self.peak, self.weight)
        few = self.weight < MIN_REMAINING_SHARE * self.peak
        if few.any() and few[self.members > 0].any():
            self._recompute_sums()
        return changed

    def _compare(self, C: Matrix) -> None:
        """Compare the points with the centres C, and sum up what changes."""
        first = self.precision is None  # no point has a centre yet that a gap could let it keep
        if self.precision is None:
            self.precision = np.float32 if self.points.fits_single_precision(C) else np.float64
        book = self.points.codebook(C, self.precision)
        self._pass(ASSIGN, C, book, self.move if first else _half_gap(C, book.norms), self.move, self.largest_moves)
        _, compared, undecided = self.counts.sum(axis=0).tolist()
        if undecided > max(MIN_UNDECIDED, MAX_UNDECIDED_SHARE * compared):
            self.precision = np.float64

    def _pass(self, kind: int, C: Matrix, book: Codebook, gap: Vector, move: Vector, top: Vector) -> None:
        dtype = book.code.dtype.type
        if dtype not in self.scratch:
            longest = int(np.diff(self.ends).max())
            found = [aligned((self.team_size, -(-longest // ROW_LANES), ROW_LANES), dtype) for _ in range(4)]
            Z = aligned((self.team_size, book.code.shape[1], ROW_LANES), dtype)
            Z[:] = 0.0
            self.scratch[dtype] = (
                aligned((self.team_size, whole_lines(longest + 1, np.int64)), np.int64),
                *found,
                Z,
                aligned((self.team_size, whole_lines(max(ROW_LANES, len(book.half)), dtype)), dtype),
                aligned((self.team_size, ROW_LANES), dtype),
            )
        state = AssignmentPass(
            self.points.rows, self.points.w, self.ends, C, book.norms, gap, move, top, float(book.norms.max()),
            book.rounding, book.code, book.half, self.labels, self.upper, self.lower, self.counts, *self.part_sums,
            *self.scratch[dtype],
        )  # fmt: skip
        run_team(assign_parts, state, kind, size=self.team_size)

    def _recompute_sums(self) -> None:
        """Compute the sums again: adding and subtracting rows has cost too many digits."""
        self.weight = np.bincount(self.labels, self.points.w, minlength=self.K).astype(np.float64)
        self.sums = self.points.sums(self.labels, self.K)
        self.peak = self.weight.copy()

    def squared_distances(self, C: Matrix) -> Vector:
        """Squared distance of each point to its centre (n,)."""
        none = np.zeros(max(self.K, 3))
        self.lower[:] = -HUGE  # no bound holds, so every distance is computed
        self._pass(LIST, C, self.points.codebook(C, self.precision or np.float64), none, none, none)
        return np.square(self.upper)

    def refill_empty(self, C: Matrix) -> int:
        """Give each empty cluster the point farthest from its centre; return how many points moved.

        Points equal to it move with it; a point that would leave its own cluster empty is passed over.
        """
        if self.members.all():
            return 0
        points, moved = self.points, 0
        far = self.squared_distances(C)
        for k in np.flatnonzero(self.members == 0):
            while (top := far.max()) > 0:
                same = _first_of_tied(points, np.flatnonzero(far >= BOUND_SAFETY * top))
                far[same] = 0.0
                old, v = self.labels[same[0]], float(points.w[same].sum())
                if self.members[old] > len(same):
                    x = points.centred_rows(same[:1])[0]
                    self.labels[same], self.upper[same] = k, HUGE
                    for group, sign in ((old, -1), (k, 1)):
                        self.members[group] += sign * len(same)
                        self.weight[group] += sign * v
                        self.sums[group] += sign * v * x
                    moved += len(same)
                    break
        return moved

    def record_moves(self, change: Matrix) -> float:
        """Note how far each centre moves; return the sum of the squared moves."""
        squares = squared_norms(change)
        self.move = np.sqrt(squares)
        order = self.move.argsort()
        self.largest_moves = np.array([self.move[order[-1]], order[-1], self.move[order[-2]] if self.K > 1 else 0.0])
        return float(squares.sum())


class PlaneAssignment(ClusterAssignment):
    """The same for two centres and dense rows: which side of a plane each point is on."""

    def __init__(self, points: Points, K: int) -> None:
        super().__init__(points, K)
        self.upper[:] = 0.0
        self.length, self.reach = np.zeros(points.n), np.full(points.n, -1.0)
        self.normal, self.level = np.zeros(points.width), 0.0
        self.turn, self.shift = 0.0, 0.0  # of the plane since the first pass

    def _compare(self, C: Matrix) -> None:
        norms = squared_norms(C)
        normal, level = C[1] - C[0], float(norms[1] - norms[0]) / 2
        if self.precision is not None:
            self.turn += float(np.linalg.norm(normal - self.normal))
            self.shift += abs(level - self.level)
        self.precision, self.normal, self.level = np.float64, normal, level
        state = PlanePass(
            self.points.rows, self.points.w, self.ends, C, norms, normal, level, self.turn, self.shift, self.labels,
            self.length, self.reach, self.counts, *self.part_sums,
        )  # fmt: skip
        run_team(pass_over_plane, state, size=self.team_size)

    def refill_empty(self, C: Matrix) -> int:
        """Give an empty cluster the point farthest from the other; return how many points moved."""
        moved = super().refill_empty(C)
        if moved:
            self.reach[:] = 0.0  # some are on the wrong side of the plane
        return moved


class DirectAssignment(ClusterAssignment):
    """The same for small tables: all distances are computed in each step."""

    def __init__(self, points: Points, K: int) -> None:
        self.points, self.K = points, K
        self.labels, self.upper = np.full(points.n, -1, np.int32), np.empty(points.n)
        self.counted = np.zeros(K + 1, np.int64)  # the members, and what rows without a centre take away
        self.members, self.weight, self.sums = self.counted[:K], np.zeros(K), np.zeros((K, points.width))
        self.peak = np.zeros(K)  # as there
        self.changes = np.empty(K + 1), np.empty((K + 1, points.width))  # of weight and sums in one step

    def assign(self, C: Matrix) -> int:
        """Give each point to its nearest centre; return how many points changed their centre."""
        points, (weight, sums) = self.points, self.changes
        changed = int(move_rows(points.rows, points.w, C, self.labels, self.counted, weight, sums))
        if add_moves(self.counted, weight, sums, self.weight, self.sums, self.peak, MIN_REMAINING_SHARE):
            self._recompute_sums()
        return changed

    def squared_distances(self, C: Matrix) -> Vector:
        """Squared distance of each point to its centre (n,)."""
        own_distances(self.points.rows, C, self.peak, self.labels, self.upper)
        return np.square(self.upper)

    def record_moves(self, change: Matrix) -> float:
        """The sum of the squared moves of the centres."""
        return float(squared_norms(change).sum())

    def means(self) -> tuple[Matrix, float]:
        """The mean of each cluster, of an empty one that of the heaviest, and the sum of squares about them."""
        new = np.empty_like(self.sums)
        between = cluster_means(self.counted, self.weight, self.sums, new)
        return new, max(self.points.scatter - between, 0.0)


def mean_update(groups: AnyAssignment, C: Matrix) -> tuple[Matrix, float, bool]:
    """The mean of each cluster, and the sum of squares about them; an empty one takes the mean of the heaviest."""
    if isinstance(groups, DirectAssignment):
        return *groups.means(), True
    filled, weight = groups.members > 0, groups.weight
    if filled.all():
        new = groups.sums / weight[:, None]
    else:
        new = groups.sums / np.where(filled, weight, 1.0)[:, None]
        new[~filled] = new[weight.argmax()]
    apart = new - groups.sums.sum(axis=0) / weight.sum()
    between = weight @ squared_norms(apart)
    return new, max(groups.points.scatter - float(between), 0.0), True


def lloyd(X: Table, w: Weights, start: Matrix, tol: float, max_iter: int) -> LloydResult:
    """Alternate assignment and weighted means until no label changes or the squared moves sum to at most `tol`."""
    return alternate_updates(memory_points(X, w), start, tol, max_iter)


def alternate_updates(
    points: AnyPoints,
    start: Matrix,
    tol: float,
    max_iter: int,
    update: CentreUpdate = mean_update,
    monitor: Monitor | None = None,
) -> LloydResult:
    """Alternate assignment and `update` until no label changes or the squared moves sum to at most `tol`.

    `monitor(centres, objective)` may return True to stop. Ctrl-C keeps the last complete step.
    """
    C, groups = points.centred(start), assignment_of(points, len(start))
    history: list[float] = []
    reason: StopReason | None = None
    step, refilled, optimal, shift = 0, 0, False, np.nan
    try:
        while reason is None:
            step += 1
            if groups.assign(C) + refilled == 0 and optimal:
                return _result(groups, C, step, history, "converged", 0.0)
            refilled = groups.refill_empty(C)
            new, value, optimal = update(groups, C)
            history.append(value)
            shift = groups.record_moves(new - C)
            C = new
            if shift <= tol:
                reason = "converged"
            elif monitor is not None and monitor(C + points.origin, value):
                reason = "stopped"
            elif step == max_iter:
                reason = "max_iter"
    except KeyboardInterrupt:
        if not history:
            raise
        reason, groups = "interrupted", assignment_of(points, len(C))  # a thread may still write to the old one
    groups.assign(C)
    return _result(groups, C, step, history, reason, shift)


def assignment_of(points: AnyPoints, K: int) -> AnyAssignment:
    """Points that have no centre yet, of K: what keeps their labels up to date fastest."""
    if isinstance(points, TensorPoints):
        return TensorAssignment(points, K)
    if not isinstance(points.rows, DenseRows):
        return ClusterAssignment(points, K)
    if points.n <= MAX_DIRECT_ROWS and points.n * points.width * K <= MAX_DIRECT_STEP:
        return DirectAssignment(points, K)
    return (PlaneAssignment if K == 2 else ClusterAssignment)(points, K)


def _result(
    groups: AnyAssignment, C: Matrix, step: int, history: list[float], reason: StopReason, shift: float
) -> LloydResult:
    squares, w = groups.squared_distances(C), groups.points.w  # arrays, or tensors on one device
    return LloydResult(
        centres=C + groups.points.origin,
        labels=groups.labels,
        inertia=float(w @ squares),
        cost=float(w @ squares**0.5),
        n_iter=step,
        history=tuple(history),
        reason=reason,
        shift=shift,
        n_filled=int(np.count_nonzero(groups.members)),
    )


def nearest_centres(X: Table, C: Matrix) -> Codes:
    """The nearest centre of each row of X; of equally near ones the first."""
    if is_tensor(X):
        on_device = TensorPoints.of(X)
        return nearest_of_tensor(on_device, on_device.centred(C))
    if not issparse(X) and X.shape[0] * C.size <= MAX_DIRECT_DIFFERENCES and C.shape[1:] == X.shape[1:]:
        labels = np.empty(X.shape[0], np.int32)
        _nearest(np.ascontiguousarray(X, np.float64), np.ascontiguousarray(C, np.float64), labels)
        return labels
    points = Points.of(X)
    groups = assignment_of(points, len(C))
    groups.assign(points.centred(C))
    return groups.labels


def nearest_distances(X: Table, C: Matrix) -> tuple[Codes, Vector]:
    """The nearest centre of each row of X, of equally near ones the first, and the squared distance to it."""
    points = memory_points(X)
    groups, C = assignment_of(points, len(C)), points.centred(C)
    groups.assign(C)
    return groups.labels, groups.squared_distances(C)


def _half_gap(C: Matrix, norms: Vector) -> Vector:
    """Half the distance from each centre to the nearest other one (K,); norms are |c|^2."""
    K = len(C)
    gap = np.full(K, HUGE)
    for a in range(0, K if K > 1 else 0, 512):
        scale = norms[a : a + 512, None] + norms
        D = scale - 2 * (C[a : a + 512] @ C.T) - 1e-14 * scale
        D.reshape(-1)[a :: K + 1] = np.inf  # the distance of each centre to itself
        gap[a : a + 512] = 0.5 * np.sqrt(np.maximum(D.min(axis=1), 0.0))
    return gap


def _first_of_tied(points: Points, tied: Indices) -> Indices:
    """Of equally far rows the first in the order of their values, with the rows equal to it."""
    return points.equal_rows(tied[points.keys[tied].argmin()], tied)
