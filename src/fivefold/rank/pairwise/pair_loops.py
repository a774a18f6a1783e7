"""Sums over the pairs of queries of a loss of score differences, and the derivatives by the scores.

    sum over pairs of  w_u w_v loss(s_u - s_v)

Rows are sorted by query and grade, so the rows worse than a row are one range of its query. Short queries are summed
pair by pair. The hinge max(0, margin - m) and its square are polynomials of the scores where they are not zero, so a
long query needs no pairs: rows enter a binary indexed tree over grades in the order of their scores, as their pairs
become active, and the weights, scores and squares below a grade are looked up: n log n for n rows.

Joachims (2006); Airola, Pahikkala & Salakoski (2011); Lee & Lin (2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.optim.losses.base import Loss
from fivefold.rank.pairwise.ranking_pairs import Queries

MIN_TREE_ROWS = 600  # queries of more rows use the tree, which is faster than writing out pairs there
BLOCK_PAIRS = 32_768  # pairs written out at a time for losses without a compiled loop


@dataclass(frozen=True)
class PairHinge:
    """max(0, margin - m), or its square."""

    margin: float = 1.0
    squared: bool = False


def pair_terms(loss: PairHinge | Loss, queries: Queries, s: Array) -> tuple[float, Array]:
    """The sum over pairs for scores s in the order of the queries, and its derivative by each score."""
    slope = np.zeros(len(s))

    def part(lo: int, hi: int) -> float:
        a, b = np.searchsorted(queries.starts, (lo, hi))  # the queries that begin in this part
        if b == a:
            return 0.0
        starts = queries.starts[a : b + 1]
        if isinstance(loss, PairHinge):
            return _hinged(loss, queries, s, slope, starts)[0]
        return _written_out(loss, queries, s, slope, starts)

    return sum(map_parts(part, len(s))), slope


def close_pairs(margin: float, queries: Queries, s: Array) -> float:
    """Total weight of the pairs whose better row is ahead by less than the margin."""
    return _hinged(PairHinge(margin), queries, s, np.zeros(len(s)), queries.starts)[1]


def _hinged(loss: PairHinge, queries: Queries, s: Array, slope: Array, starts: Indices) -> tuple[float, float]:
    """The sum over pairs; for the plain hinge also the weight of the pairs where it is not zero."""
    total, close = _short_queries(
        loss.margin, loss.squared, MIN_TREE_ROWS, s, queries.w, queries.grade_start, starts, slope
    )
    for k in np.flatnonzero(np.diff(starts) > MIN_TREE_ROWS):
        a, b = int(starts[k]), int(starts[k + 1])
        scores = s[a:b] - s[a:b].mean()
        by_score = np.argsort(scores, kind="stable")
        levels = int(queries.grade[b - 1]) + 1
        more = _long_query(
            loss.margin, loss.squared, scores, queries.w[a:b], queries.grade[a:b], by_score,
            np.zeros((levels + 1, 3)), slope[a:b],
        )  # fmt: skip
        total, close = total + more[0], close + more[1]
    return float(total), float(close)


def _written_out(loss: Loss, queries: Queries, s: Array, slope: Array, starts: Indices) -> float:
    """The sum over pairs for any loss: pairs are written out, about BLOCK_PAIRS at a time."""
    lo, hi = int(starts[0]), int(starts[-1])
    counts = queries.grade_start[lo:hi] - queries.query_start[lo:hi]
    ends, total, a = np.cumsum(counts), 0.0, lo
    while a < hi:
        done = ends[a - lo - 1] if a > lo else 0
        b = lo + max(a - lo + 1, int(np.searchsorted(ends, done + BLOCK_PAIRS, side="right")))
        worse = counts[a - lo : b - lo]  # number of worse rows of each row
        i = np.repeat(np.arange(a, b), worse)
        j = np.arange(len(i)) - np.repeat(np.cumsum(worse) - worse, worse) + queries.query_start[i]
        if len(i):
            g = np.empty(len(i))
            total += loss.weighted_sum(np.ones(len(i)), s[i] - s[j], queries.w[i] * queries.w[j], g)
            least = int(j.min())
            slope[a:b] += np.bincount(i - a, weights=g, minlength=b - a)
            away = np.bincount(j - least, weights=g)
            slope[least : least + len(away)] -= away
        a = b
    return total


@jit(fastmath=FAST, error_model="numpy")
def _short_queries(
    margin: float,
    squared: bool,
    longest: int,
    s: Vector,
    w: Vector,
    first: Indices,
    starts: Indices,
    slope: Vector,
) -> tuple[float, float]:
    """Sums over the pairs of all queries of at most `longest` rows; row i is better than those before first[i]."""
    total, close = 0.0, 0.0
    for q in range(len(starts) - 1):
        a, n = starts[q], starts[q + 1] - starts[q]
        if n > longest:
            continue
        for k in range(n):
            i = a + k
            m = first[i] - a
            top, value, pull = margin - s[i], 0.0, 0.0
            if squared:
                for j in range(m):
                    z = max(top + s[a + j], 0.0)
                    t = w[a + j] * z
                    value += t * z
                    pull += 2.0 * t
                    slope[a + j] += 2.0 * w[i] * t
            else:
                for j in range(m):
                    z = top + s[a + j]
                    t = w[a + j] if z > 0.0 else 0.0
                    value += t * z
                    pull += t
                    slope[a + j] += w[i] * t
                close += w[i] * pull
            total += w[i] * value
            slope[i] -= w[i] * pull
    return total, close


@jit(error_model="numpy")
def _enter(tree: Matrix, level: int, w: float, s: float) -> None:
    """Add weight, score and squared score of a row to a binary indexed tree over grades."""
    k = level + 1
    while k < len(tree):
        tree[k, 0] += w
        tree[k, 1] += w * s
        tree[k, 2] += w * s * s
        k += k & -k


@jit(error_model="numpy")
def _long_query(
    margin: float,
    squared: bool,
    s: Vector,
    w: Vector,
    level: Indices,
    by_score: Indices,
    tree: Matrix,
    slope: Vector,
) -> tuple[float, float]:
    """Sums over the pairs of one query, by a tree over its grades (levels + 1, 3) that starts at zero."""
    n, total, close, entered = len(s), 0.0, 0.0, 0
    for t in range(n):  # better rows by falling score; a worse row enters once its score exceeds theirs less the margin
        i = by_score[n - 1 - t]
        while entered < n and s[by_score[n - 1 - entered]] > s[i] - margin:
            j = by_score[n - 1 - entered]
            _enter(tree, level[j], w[j], s[j])
            entered += 1
        count, first, second, k = 0.0, 0.0, 0.0, level[i]
        while k > 0:
            count += tree[k, 0]
            first += tree[k, 1]
            second += tree[k, 2]
            k -= k & -k
        top = margin - s[i]
        if squared:
            total += w[i] * (top * (top * count + 2.0 * first) + second)
            slope[i] -= 2.0 * w[i] * (top * count + first)
        else:
            total += w[i] * (top * count + first)
            slope[i] -= w[i] * count
            close += w[i] * count
    tree[:] = 0.0
    entered, all_count, all_first = 0, 0.0, 0.0
    for t in range(n):  # worse rows by rising score; a better row enters once its score is below theirs plus the margin
        j = by_score[t]
        while entered < n and s[by_score[entered]] - margin < s[j]:
            i = by_score[entered]
            _enter(tree, level[i], w[i], s[i])
            all_count += w[i]
            all_first += w[i] * s[i]
            entered += 1
        count, first, k = all_count, all_first, level[j] + 1
        while k > 0:
            count -= tree[k, 0]
            first -= tree[k, 1]
            k -= k & -k
        if squared:
            slope[j] += 2.0 * w[j] * ((margin + s[j]) * count - first)
        else:
            slope[j] += w[j] * count
    return total, close
