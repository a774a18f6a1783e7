"""Entropy, divergence and mutual information of rows of numbers, from distances to the k-th neighbour.

    entropy      H = psi(n) - psi(k) + log c_d + d/n sum_i log r_i                     Kozachenko & Leonenko
    divergence   D = d/n sum_i log(s_i / r_i) + log(m / (n - 1))                       Wang, Kulkarni & Verdu
    information  I = psi(n) + psi(k) - mean_i (psi(a_i + 1) + psi(b_i + 1))            Kraskov, first estimator
    with labels  I = psi(n) + mean psi(k) - mean psi(n_label) - mean psi(m_i)          Ross

r_i is the distance to the k-th neighbour among the other rows, s_i among the rows of the second sample, c_d the volume
of the unit ball; a_i and b_i count the rows nearer than r_i in either part of the columns alone, where r_i is the
larger of the distances in both. Natural logarithms.

Kozachenko & Leonenko (1987); Kraskov, Stögbauer & Grassberger (2004); Wang, Kulkarni & Verdú (2009); Ross (2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from fivefold.core.parallel import map_items, map_parts
from fivefold.core.types import Codes, Doubles, Matrix, Vector
from fivefold.information.neighbor_loops import counts_line, kth_distances_line, kth_distances_plane
from fivefold.spatial.search import NeighborIndex

PART_ROWS = 4096  # rows that a thread walks from at a time
MIN_STRIP_ROWS = 8  # of a strip of points: shorter ones cost more visits than they save steps
BLOCK_NUMBERS = 2**20  # of a block of distances to all rows, of which a thread holds four


def neighbor_entropy(X: ArrayLike, k: int = 3) -> float:
    """The differential entropy of the distribution of the rows; -inf if rows are repeated more than k times.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((4000, 1))
    >>> round(neighbor_entropy(X), 1)  # log(2 pi e) / 2 = 1.42
    1.4
    """
    rows = _rows(X, k)
    n, d = rows.shape
    r = _kth_distances(rows, None, k)
    log_ball = 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1)
    with np.errstate(divide="ignore"):
        return float(digamma(n) - digamma(k) + log_ball + d * np.log(r).mean())


def neighbor_divergence(X: ArrayLike, Y: ArrayLike, k: int = 3) -> float:
    """D(P || Q) of the distributions of the rows of X and of Y; the estimate may be below zero.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(0, 1, (5000, 1)), rng.normal(1, 1, (5000, 1))
    >>> abs(neighbor_divergence(X, Y) - 0.5) < 0.05
    True
    """
    rows, others = _rows(X, k), _rows(Y, k - 1)
    if rows.shape[1] != others.shape[1]:
        raise ValueError(f"both samples have the same columns; got {rows.shape[1]} and {others.shape[1]}")
    n, d = rows.shape
    near, far = _kth_distances(rows, None, k), _kth_distances(others, rows, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(far) - np.log(near)
    if not np.isfinite(logs).all():
        raise ValueError("rows are repeated more than k times: distances are zero; raise k, or add a little noise")
    return float(d * logs.mean() + np.log(len(others) / (n - 1)))


def neighbor_information(X: ArrayLike, Y: ArrayLike, k: int = 3) -> float:
    """The mutual information of two vectors, rows of X and of Y side by side; at least 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal(4000)
    >>> y = 0.8 * x + 0.6 * rng.standard_normal(4000)
    >>> round(neighbor_information(x, y), 1)  # -log(1 - 0.8^2) / 2 = 0.51
    0.5
    """
    A, B = _rows(X, k), _rows(Y, k)
    if len(A) != len(B):
        raise ValueError(f"rows side by side: {len(A)} of the first, but {len(B)} of the second")
    if A.shape[1] == B.shape[1] == 1:
        return column_information(A[:, 0], B[:, 0], k)
    block = max(1, BLOCK_NUMBERS // len(A))
    starts = range(0, len(A), block)
    parts = map_items(lambda i: _joint_counts(A, B, starts[i], min(starts[i] + block, len(A)), k), len(starts))
    counts = np.concatenate(parts)
    return max(0.0, float(digamma(len(A)) + digamma(k) - digamma(counts).mean(axis=0).sum()))


def column_information(x: Vector, y: Vector, k: int) -> float:
    """The mutual information of two columns of numbers."""
    n = len(x)
    width = max(MIN_STRIP_ROWS, round(np.sqrt(n)))
    strips = -(-n // width)
    order = np.argsort(x, kind="stable")
    order = order[np.lexsort((y[order], np.arange(n) // width))]  # by strip of x, ascending in y within it
    xs, ys = np.ascontiguousarray(x[order]), np.ascontiguousarray(y[order])
    starts = np.arange(strips) * width
    low, high = np.minimum.reduceat(xs, starts), np.maximum.reduceat(xs, starts)
    radius = np.empty(n)
    map_parts(
        lambda lo, hi: kth_distances_plane(xs, ys, width, lo, hi, k, np.empty(k), low, high, radius), n, rows=PART_ROWS
    )
    radius = np.nextafter(radius, 0)
    total = digamma(n) + digamma(k)
    for column in (xs, ys):
        total -= digamma(_counts(column, radius)).mean()
    return max(0.0, float(total))


def label_information(x: Vector, codes: Codes, k: int) -> float:
    """The mutual information of a column of numbers and a label; labels of a single row are left out."""
    sizes = np.bincount(codes)
    kept = sizes[codes] > 1
    if not kept.any():
        return 0.0
    x, codes = x[kept], codes[kept]
    order = np.lexsort((x, codes))  # by label, ascending within it
    radius, ks = np.empty(len(x)), np.empty(len(x))
    start = 0
    for size in sizes[sizes > 1]:
        rows = order[start : start + size]
        out, least = np.empty(size), min(k, int(size) - 1)
        kth_distances_line(np.ascontiguousarray(x[rows]), least, out)
        radius[rows], ks[rows] = np.nextafter(out, 0), least
        start += size
    total = digamma(len(x)) + digamma(ks).mean() - digamma(sizes[codes]).mean()
    return max(0.0, float(total - digamma(_counts(x, radius)).mean()))


def _counts(x: Vector, radius: Vector) -> Doubles:
    """How many entries of x lie within the radius of each entry, itself included."""
    order = np.argsort(x, kind="stable")
    out = np.empty(len(x))
    counts_line(np.ascontiguousarray(x[order]), radius, order, out)
    return out


def _kth_distances(rows: Matrix, queries: Matrix | None, k: int) -> Vector:
    """Distance of each query, or of each row, to its k-th nearest other row."""
    if rows.shape[1] == 1 and queries is None:
        order = np.argsort(rows[:, 0], kind="stable")
        out = np.empty(len(rows))
        kth_distances_line(np.ascontiguousarray(rows[order, 0]), k, out)
        return out
    return np.asarray(NeighborIndex(rows).query(queries, k)[0][:, -1], dtype=float)


def _joint_counts(A: Matrix, B: Matrix, lo: int, hi: int, k: int) -> Doubles:
    """How many rows are nearer in A, and in B, than the k-th neighbour in both, of rows lo..hi, (m, 2)."""
    apart = [_largest_differences(part, lo, hi) for part in (A, B)]
    both = np.maximum(*apart)
    both[np.arange(hi - lo), np.arange(lo, hi)] = np.inf
    radius = np.nextafter(np.partition(both, k - 1, axis=1)[:, k - 1], 0)[:, None]
    return np.column_stack([(each <= radius).sum(axis=1).astype(float) for each in apart])  # the row itself included


def _largest_differences(rows: Matrix, lo: int, hi: int) -> Matrix:
    """Largest differences over the columns between rows lo..hi and all rows (m, n)."""
    found = np.zeros((hi - lo, len(rows)))
    for column in rows.T:
        np.maximum(found, np.abs(column[lo:hi, None] - column), out=found)
    return found


def _rows(X: ArrayLike, k: int) -> Matrix:
    rows = np.asarray(X, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError("rows must be a table of finite numbers")
    if k < 0 or len(rows) <= k:
        raise ValueError(f"k must be at least 1 and smaller than the number of rows; got {len(rows)} rows")
    return rows
