"""K centres of a table in chunks: every step is one pass, which sends the sums of the clusters and nothing per row.

Seeds are drawn by k-means|| (Bahmani et al., 2012): a few passes, each of which draws 2 K rows at once, with
probability proportional to weight times squared distance to the nearest row drawn so far. Each of these rows is then
weighted by the rows nearest to it, and greedy k-means++ and Lloyd's algorithm reduce them to K seeds. Rows are drawn
without replacement by the largest keys log(u) / mass (Efraimidis & Spirakis, 2006), so a pass needs no total of the
masses beforehand; u is decided by the number of the row, so how the table is cut into chunks changes no draw.

No labels are kept between passes: if no row changes its cluster, weights and sums are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fivefold.core.chunks.chunked_array import (
    ChunkedArray,
    Rows,
    class_totals,
    is_chunked,
    rows_of,
    sum_over_chunks,
    sum_pairs,
    uniform_by_row,
)
from fivefold.core.types import Codes, Doubles, Matrix, Rng, Table, Vector, Weights
from fivefold.spatial.centres.lloyd import (
    LloydResult,
    Monitor,
    StopReason,
    alternate_updates,
    assignment_of,
    nearest_centres,
    nearest_distances,
)
from fivefold.spatial.centres.seeding import plusplus_seeds
from fivefold.spatial.points import Points, WeightedPoints, squared_norms
from fivefold.spatial.row_loops import DenseRows
from fivefold.spatial.tensor_points import AnyPoints, memory_points

SEED_ROUNDS = 3  # passes of k-means|| that draw rows
ROWS_PER_SEED = 2  # rows that each of them draws, per seed wanted
SEED_STEPS = 20  # steps of Lloyd's algorithm on the rows drawn, at most
DISTINCT_FACTOR = 4  # rows drawn per seed where seeds have to differ


@dataclass(frozen=True)
class ChunkedPoints(WeightedPoints):
    """The rows of a table in chunks, the weight of each, their mean and their spread."""

    table: ChunkedArray
    w: ChunkedArray
    origin: Vector  # (d,) the mean
    scatter: float  # sum of w |x - mean|^2

    @classmethod
    def of(cls, X: ChunkedArray, w: ChunkedArray) -> ChunkedPoints:
        """The rows of X, each counted w times: one pass."""
        _, mean, scatter = sum_over_chunks(_spread, X, w, merge=_merged_spreads)
        return cls(X, w, mean, scatter)

    def rows_as_given(self, ids: Matrix) -> Matrix:
        """Seeds of chunks are rows already."""
        return ids

    def labels(self, C: Matrix) -> ChunkedArray:
        """The nearest of these centres for each row, computed when it is asked for."""
        return self.table.map(lambda X: nearest_centres(X, C).astype(np.int64))


def points_of(X: Any, w: Any) -> AnyPoints:
    """The rows of a table, in chunks, in memory or on a device."""
    return ChunkedPoints.of(X, w) if is_chunked(X) else memory_points(X, w)


def chunked_seeds(points: ChunkedPoints, K: int, rng: Rng) -> Matrix:
    """K rows, or means of rows, far apart, by k-means||."""
    seed = int(rng.randint(2**31 - 1))
    C = drawn_rows(points, lambda X, w: w, 1, seed)
    for turn in range(1, SEED_ROUNDS + 1):

        def mass(X: Table, w: Weights, C: Matrix = C) -> Vector:
            return w * nearest_distances(X, C)[1]

        new = drawn_rows(points, mass, ROWS_PER_SEED * K, seed + turn)
        C = np.concatenate([C, new])
    weight = class_totals(points.labels(C), points.w, len(C))
    C, weight = C[weight > 0], weight[weight > 0]
    if len(C) <= K:  # few distinct rows: some seeds repeat, as in memory
        return C[np.arange(K) % len(C)]
    small = Points.of(np.ascontiguousarray(C, dtype=np.float64), weight)
    start = small.rows_as_given(plusplus_seeds(small, K, rng))
    return alternate_updates(small, start, 0.0, SEED_STEPS).centres


def chunked_distinct_seeds(points: ChunkedPoints, K: int, rng: Rng) -> Matrix:
    """K distinct rows, drawn by weight; rows repeat only if few of those drawn are distinct."""
    C = drawn_rows(points, lambda X, w: w, DISTINCT_FACTOR * K, int(rng.randint(2**31 - 1)))
    _, first = np.unique(C, axis=0, return_index=True)
    return C[np.resize(np.sort(first), K)]


def drawn_rows(points: ChunkedPoints, mass: Callable[[Table, Weights], Vector], count: int, seed: int) -> Matrix:
    """Rows drawn without replacement with probability proportional to their mass: the largest keys, best first."""
    table, weights = points.table, points.w

    def best(rows: Rows) -> tuple[Vector, Matrix]:
        X, w = rows_of(table, rows), rows_of(weights, rows)
        with np.errstate(divide="ignore"):
            keys = np.log(uniform_by_row(seed, rows.start, X.shape[0])) / mass(X, w)  # -inf for a row of mass zero
        top = np.argsort(-keys, kind="stable")[:count]
        top = top[keys[top] > -np.inf]
        chosen = X[top]
        return keys[top], np.asarray(chosen.toarray() if issparse(chosen) else chosen)

    found = list(map_rows(points, best))
    keys, chosen = np.concatenate([k for k, _ in found]), np.concatenate([c for _, c in found])
    return chosen[np.argsort(-keys, kind="stable")[:count]]


def map_rows(points: ChunkedPoints, work: Callable[[Rows], Any]) -> Any:
    """work(rows) of each chunk: one pass."""
    source = points.table.rows
    return source.map(work) if source is not None else iter(())


def chunked_lloyd(
    points: ChunkedPoints, start: Matrix, tol: float, max_iter: int, monitor: Monitor | None = None
) -> LloydResult:
    """Alternate assignment and weighted means, a pass per step, as `alternate_updates` does in memory."""
    C = np.asarray(start, dtype=np.float64) - points.origin
    history: list[float] = []
    reason: StopReason | None = None
    before: tuple[Doubles, Doubles] | None = None
    step, shift = 0, np.nan
    try:
        while reason is None:
            step += 1
            members, weight, sums = _cluster_sums(points, C)
            if before is not None and np.array_equal(before[0], weight) and np.array_equal(before[1], sums):
                reason, shift = "converged", 0.0
                break
            before = weight.copy(), sums.copy()
            if not members.all():
                _refill_empty(points, C, members, weight, sums)
            filled = members > 0
            new = sums / np.where(filled, weight, 1.0)[:, None]
            new[~filled] = new[weight.argmax()]
            apart = new - sums.sum(axis=0) / weight.sum()
            history.append(max(points.scatter - float(weight @ squared_norms(apart)), 0.0))
            shift = float(squared_norms(new - C).sum())
            C = new
            if shift <= tol:
                reason = "converged"
            elif monitor is not None and monitor(C + points.origin, history[-1]):
                reason = "stopped"
            elif step == max_iter:
                reason = "max_iter"
    except KeyboardInterrupt:
        if not history:
            raise
        reason = "interrupted"
    centres = C + points.origin
    rule = _losses(centres)
    inertia, cost, members = sum_over_chunks(rule, points.table, points.w, merge=sum_pairs)
    return LloydResult(
        centres=centres,
        labels=points.labels(centres),  # type: ignore[arg-type]  # codes in chunks
        inertia=inertia,
        cost=cost,
        n_iter=step,
        history=tuple(history),
        reason=reason,
        shift=shift,
        n_filled=int(np.count_nonzero(members)),
    )


def _cluster_sums(points: ChunkedPoints, C: Matrix) -> tuple[Codes, Doubles, Doubles]:
    """Rows, weight and sum of rows of each cluster, relative to the origin."""
    origin, scatter = points.origin, points.scatter

    def sums(X: Table, w: Weights) -> tuple[Codes, Doubles, Doubles]:
        local = _around(X, w, origin, scatter)
        groups = assignment_of(local, len(C))
        groups.assign(C + (origin - local.origin))
        shift = local.origin - origin
        return groups.members, groups.weight, groups.sums + groups.weight[:, None] * shift

    return sum_over_chunks(sums, points.table, points.w, merge=sum_pairs)


def _around(X: Table, w: Weights, origin: Vector, scatter: float) -> Points:
    """The rows of a chunk, relative to the origin of the whole table if they are dense."""
    if issparse(X):
        return Points.of(X, w)
    X = np.ascontiguousarray(X)
    return Points(X, DenseRows(X, origin), np.ascontiguousarray(w, dtype=np.float64), origin, scatter)


def _refill_empty(points: ChunkedPoints, C: Matrix, members: Codes, weight: Doubles, sums: Doubles) -> None:
    """Give each empty cluster one of the rows farthest from their centres; changes members, weight and sums."""
    empty, centres, origin = np.flatnonzero(members == 0), C + points.origin, points.origin

    def farthest(X: Table, w: Weights) -> list[tuple[float, int, float, Vector]]:
        labels, far = nearest_distances(X, centres)
        top = np.argsort(-far, kind="stable")[: len(empty)]
        rows = X[top].toarray() if issparse(X) else X[top]
        return [(float(far[i]), int(labels[i]), float(w[i]), x - origin) for i, x in zip(top, rows, strict=True)]

    found = sorted(sum_over_chunks(farthest, points.table, points.w), key=lambda row: -row[0])
    taken: list[Vector] = []
    left = list(empty)
    for distance, old, v, x in found:
        if left and distance > 0 and members[old] > 1 and not any(np.array_equal(x, z) for z in taken):
            k = left.pop(0)
            members[old], members[k] = members[old] - 1, 1
            weight[old], weight[k] = weight[old] - v, v
            sums[old], sums[k] = sums[old] - v * x, v * x
            taken.append(x)


def _losses(C: Matrix) -> Callable[[Table, Weights], tuple[Any, ...]]:
    def rule(X: Table, w: Weights) -> tuple[Any, ...]:
        labels, squares = nearest_distances(X, C)
        return float(w @ squares), float(w @ np.sqrt(squares)), np.bincount(labels, minlength=len(C))

    return rule


def _spread(X: Table, w: Weights) -> tuple[float, Vector, float]:
    points, weight = Points.of(X, w), float(w.sum())
    mean = np.asarray(X.T @ w).ravel() / weight if issparse(X) else points.origin
    return weight, mean, points.scatter


def _merged_spreads(
    one: tuple[float, Vector, float], other: tuple[float, Vector, float]
) -> tuple[float, Vector, float]:
    weight, gap = one[0] + other[0], other[1] - one[1]
    scatter = one[2] + other[2] + float(gap @ gap) * (one[0] * other[0] / weight)
    return weight, one[1] + gap * (other[0] / weight), scatter
