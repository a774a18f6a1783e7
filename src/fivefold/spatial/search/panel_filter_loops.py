"""Compiled Euclidean search over panels of rows: boxes and single precision rule out, double precision decides.

Panels are the leaves of a balanced tree, visited from the leaf of the queries outwards. A panel whose box is farther
from a query than its k-th neighbour so far is passed over. Of the others, with q and x about a common origin,

    |x|^2 / 2 - q.x = (|x - q|^2 - |q|^2) / 2

is computed in single precision for four queries and all rows at once, its error is bounded, and only rows that may be
among the nearest are compared in double precision, as they were given. So no neighbour is lost, whatever the data.

The error is at most e = c u (|q| |x| + |x|^2 / 2), where u is the unit roundoff and c counts additions. Where
|x| <= 4 |q| that is at most 12 c u |q|^2; beyond, the value is at least |x|^2 / 4 and e at most 3 c u times as large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Array, Indices, Matrix
from fivefold.spatial.search.heap_loops import push_smaller, sort_heap
from fivefold.spatial.search.hit_loops import has_room, take_rows

LANES = 256  # places for rows in a panel, at least half of them taken
LANE_STEP = 16  # of which this many are computed at once: a vector register of single precision
# numbers of lanes without a sign: an index that might be negative keeps a loop from being vectorised
ONE_PANEL, TWO_PANELS, THREE_PANELS = np.uint64(LANES), np.uint64(2 * LANES), np.uint64(3 * LANES)
NO_LIMIT = np.float32(1e30)  # larger than any square, as the loops assume finite numbers
MAX_SQUARE = 1e12  # of lengths of queries in single precision; those farther away are compared with all rows
SMALLEST = 1e-36  # sums of squares below it have lost digits in single precision


class RowPanels(NamedTuple):
    """Rows in single precision, about an origin and scaled to lengths of at most one, by leaf."""

    X: Matrix  # (n, d) float64, as given, in the order of the leaves
    starts: Indices  # (panels + 1,) int64: where leaves begin in that order
    Z: Matrix  # (panels * width * LANES,) float32
    half: Matrix  # (panels * LANES,) float32: |x|^2 / 2; a huge number where there is no row
    used: int  # places in use, up to a multiple of LANE_STEP
    ids: Indices  # (panels, LANES) int64
    low: Matrix  # (panels, d) float32: the box of a panel
    high: Matrix  # (panels, d) float32
    width: int  # d, up to a multiple of four
    unit: float  # the square of the scale
    rounding: float  # c u


class QueryTile(NamedTuple):
    """Queries that go through the panels together, and scratch."""

    Q: Matrix  # (m, d) float64, as given
    own: Indices  # (m,) int64: a row that does not count as neighbour, or -1
    C: Matrix  # (m, width) float32: about the origin, scaled
    columns: Matrix  # (d, m) float32: the same by column
    norms: Matrix  # (m,) float64: |q|^2 there, at most MAX_SQUARE
    limits: Matrix  # (m,) float32: rows with a larger |x|^2 / 2 - q.x are too far
    box_limits: Matrix  # (m,) float32: boxes at a larger squared distance are too far
    bounds: Matrix  # (m,) float32
    active: Indices  # (m,) int64
    V: Array  # (4 * LANES,) float32
    near: Indices  # (LANES,) int64: places of a panel that may count
    squares: Matrix  # (LANES,) float64: their squared distances


@jit(error_model="numpy")
def finish_panels(Z, ids, d, padding, half):
    """|x|^2 / 2 of every row of Z (panels, width, LANES)."""
    for b in range(Z.shape[0]):
        for t in range(Z.shape[2]):
            s = 0.0
            for j in range(d):
                s += np.float64(Z[b, j, t]) * Z[b, j, t]
            half[b, t] = 0.5 * s if ids[b, t] >= 0 else padding


@jit(fastmath=FAST, error_model="numpy")
def _four_queries(Z, half, C, limits, V, at, half_at, width, used, i0, i1, i2, i3):
    """|x|^2 / 2 - q.x less the limit, for four queries and the rows of a panel, in four parts of V; the smallest.

    Rows at or below zero may count.
    """
    used, h, a = np.uint64(used), np.uint64(half_at), np.uint64(at)
    l0, l1, l2, l3 = limits[i0], limits[i1], limits[i2], limits[i3]
    for t in range(used):
        V[t] = half[h + t] - l0
        V[ONE_PANEL + t] = half[h + t] - l1
        V[TWO_PANELS + t] = half[h + t] - l2
        V[THREE_PANELS + t] = half[h + t] - l3
    for j in range(0, width, 4):
        p0, p1, p2, p3 = C[i0, j], C[i0, j + 1], C[i0, j + 2], C[i0, j + 3]
        q0, q1, q2, q3 = C[i1, j], C[i1, j + 1], C[i1, j + 2], C[i1, j + 3]
        r0, r1, r2, r3 = C[i2, j], C[i2, j + 1], C[i2, j + 2], C[i2, j + 3]
        s0, s1, s2, s3 = C[i3, j], C[i3, j + 1], C[i3, j + 2], C[i3, j + 3]
        b = a + np.uint64(j) * ONE_PANEL
        for t in range(used):
            z0, z1, z2, z3 = Z[b + t], Z[b + ONE_PANEL + t], Z[b + TWO_PANELS + t], Z[b + THREE_PANELS + t]
            V[t] -= p0 * z0 + p1 * z1 + p2 * z2 + p3 * z3
            V[ONE_PANEL + t] -= q0 * z0 + q1 * z1 + q2 * z2 + q3 * z3
            V[TWO_PANELS + t] -= r0 * z0 + r1 * z1 + r2 * z2 + r3 * z3
            V[THREE_PANELS + t] -= s0 * z0 + s1 * z1 + s2 * z2 + s3 * z3
    low = V[0]
    for t in range(used):
        least = V[t] if V[t] < V[ONE_PANEL + t] else V[ONE_PANEL + t]
        more = V[TWO_PANELS + t] if V[TWO_PANELS + t] < V[THREE_PANELS + t] else V[THREE_PANELS + t]
        least = least if least < more else more
        low = least if least < low else low
    return low


@jit(fastmath=FAST, error_model="numpy")
def _smallest(V, at, used):
    a = np.uint64(at)
    low = V[a]
    for t in range(np.uint64(used)):
        low = V[a + t] if V[a + t] < low else low
    return low


@jit(fastmath={"contract"}, error_model="numpy")  # summed in the order of the columns, as panels are
def _square(X, r, q):
    s = 0.0
    for j in range(len(q)):
        z = X[r, j] - q[j]
        s += z * z
    return s


@jit(fastmath=FAST, error_model="numpy")
def _box_squares(low, high, p, columns, out):
    """Squared distances of all queries to the box of a panel."""
    for i in range(len(out)):
        out[i] = 0
    for j in range(low.shape[1]):
        a, b, q = low[p, j], high[p, j], columns[j]
        for i in range(len(out)):
            below, above = a - q[i], q[i] - b
            gap = below if below > above else above
            gap = gap if gap > 0 else gap * 0
            out[i] += gap * gap


@jit(error_model="numpy")
def _list_active(bounds, box_limits, active):
    """Queries for which a panel may hold a row that counts; how many."""
    count = 0
    for i in range(len(bounds)):
        active[count] = i
        count += 1 if bounds[i] <= box_limits[i] else 0
    return count


@jit(error_model="numpy")
def _list_near(V, at, m, ids, own, near):
    """Places of a panel that hold a row that may count; how many."""
    count = 0
    for t in range(m):  # without a branch: which rows are near cannot be foreseen
        near[count] = t
        count += 1 if V[at + t] <= 0 and ids[t] != own else 0
    return count


@jit(error_model="numpy")
def _set_limits(panels, tile, i, square):
    """Rows and boxes that are farther from query i than the root of `square`, by what is computed."""
    norm, d = tile.norms[i], tile.Q.shape[1]
    if norm >= MAX_SQUARE:
        tile.limits[i], tile.box_limits[i] = 0.501 + 1.001 * np.sqrt(norm), NO_LIMIT  # no row is ruled out
        return
    exact = 0.5 * (square * panels.unit - norm)
    tile.limits[i] = exact + panels.rounding * (12 * norm + 4 * abs(exact)) + d * SMALLEST
    # lengths of gaps are computed from rounded coordinates, of at most |q| and 1
    reach = np.sqrt(square * panels.unit) + 4 * 6e-8 * (np.sqrt(norm) + np.sqrt(d))
    tile.box_limits[i] = reach * reach * (1 + 4 * panels.rounding) + d * SMALLEST


@jit(error_model="numpy", reference_counting=False)
def nearest_by_filter(panels, tile, home, k, values, rows):
    """The k nearest rows of each query by the squared Euclidean distance; `home` is a panel near the queries."""
    Q, own, C, V, limits, which = tile.Q, tile.own, tile.C, tile.V, tile.limits, tile.active
    X, Z, half, low, high, width, used = (
        panels.X,
        panels.Z,
        panels.half,
        panels.low,
        panels.high,
        panels.width,
        panels.used,
    )
    n, count = panels.X.shape[0], len(panels.ids)
    for i in range(len(Q)):
        # no row is longer than one, so that |x|^2 / 2 - q.x is smaller than this
        limits[i], tile.box_limits[i] = 0.501 + 1.001 * np.sqrt(tile.norms[i]), NO_LIMIT
        for t in range(k):
            values[i, t], rows[i, t] = np.inf, n
    for step in range(count):
        p = home ^ step
        _box_squares(low, high, p, tile.columns, tile.bounds)
        active = _list_active(tile.bounds, tile.box_limits, which)
        ids, first = panels.ids[p], panels.starts[p]
        for a in range(0, active, 4):
            i0, i1 = which[a], which[min(a + 1, active - 1)]
            i2, i3 = which[min(a + 2, active - 1)], which[min(a + 3, active - 1)]
            at = p * width * LANES
            if _four_queries(Z, half, C, limits, V, at, p * LANES, width, used, i0, i1, i2, i3) > 0:
                continue
            for part in range(min(4, active - a)):
                q = which[a + part]
                if _smallest(V, part * LANES, used) > 0:
                    continue
                before, start, slack = values[q, 0], limits[q], np.float32(0)
                for t in range(used):
                    r = ids[t]
                    if V[part * LANES + t] <= slack and r >= 0 and r != own[q]:
                        push_smaller(values[q], rows[q], k, _square(X, first + t, Q[q]), r)
                        if values[q, 0] < before:
                            before = values[q, 0]
                            _set_limits(panels, tile, q, before)
                            slack = limits[q] - start
    for i in range(len(Q)):
        sort_heap(values[i], rows[i], k)


@jit(error_model="numpy", reference_counting=False)
def within_by_filter(panels, tile, limit, start, collector):
    """Hand over rows whose squared distance is at most `limit`, from panel `start` on.

    The panel before which there was no more room; as many as there are, if there was.
    """
    Q, own, C, V, limits, which = tile.Q, tile.own, tile.C, tile.V, tile.limits, tile.active
    X, Z, half, low, high, width, used = (
        panels.X,
        panels.Z,
        panels.half,
        panels.low,
        panels.high,
        panels.width,
        panels.used,
    )
    for i in range(len(Q)):
        _set_limits(panels, tile, i, limit)
    for p in range(start, len(panels.ids)):
        if not has_room(collector, len(Q) * LANES):
            return p
        _box_squares(low, high, p, tile.columns, tile.bounds)
        active = _list_active(tile.bounds, tile.box_limits, which)
        ids, first, m = panels.ids[p], panels.starts[p], panels.starts[p + 1] - panels.starts[p]
        for a in range(0, active, 4):
            i0, i1 = which[a], which[min(a + 1, active - 1)]
            i2, i3 = which[min(a + 2, active - 1)], which[min(a + 3, active - 1)]
            at = p * width * LANES
            if _four_queries(Z, half, C, limits, V, at, p * LANES, width, used, i0, i1, i2, i3) > 0:
                continue
            for part in range(min(4, active - a)):
                q = which[a + part]
                if _smallest(V, part * LANES, used) > 0:
                    continue
                found = _list_near(V, part * LANES, m, ids, own[q], tile.near)
                for c in range(found):
                    tile.squares[c] = _square(X, first + tile.near[c], Q[q])
                take_rows(collector, q, ids, first, tile.near, found, tile.squares, limit)
    return len(panels.ids)
