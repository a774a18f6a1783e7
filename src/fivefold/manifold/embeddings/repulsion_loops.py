"""Compiled repulsion between places on a map: Barnes & Hut's tree, walked once for a group of near places.

    u = 1 / (1 + d^2 / a),  k = u^((a + 1) / 2)      z_i = sum_j k(d_ij)      r_i = sum_j k(d_ij) u(d_ij) (y_i - y_j)

Places are sorted along a Z-shaped curve; a cell of the tree is a run of them. Cells without branches are left out: a
cell is the smallest that holds its places. A group, all places of a small cell, walks the tree together: a cell counts
as one heavy place where it looks smaller than `angle` from everywhere in the group. What the walk collects is a list of
weighted places, and every place of the group adds up the whole list: arithmetic on neighbouring numbers, in single
precision. No sum depends on the number of threads.

Barnes & Hut (1986); van der Maaten (2014), Accelerating t-SNE using tree-based algorithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Doubles, Indices

LEVELS = 20  # of cells below the whole; bits per coordinate
RADIX_BITS = 11  # of a code that one pass sorts by
LEAF = 8  # places in a cell that is not divided further
GROUP = 48  # places that walk the tree together, at most
LIST = 2048  # weighted places that are collected before they are added up
ALL_PAIRS = 1000  # places up to which adding up all pairs takes less time than a tree
STACK = 256  # cells that wait to be divided: at most 7 per level in three dimensions
CELLS, GROUPS = range(2)  # places in `counts`
WEIGHT, WIDTH = 3, 4  # places in a row of `cells`, after the coordinates of the centre

Singles = NDArray[np.float32]


class Repulsion(NamedTuple):
    """Places, the tree over them, and the forces on them."""

    dof: float  # a, degrees of freedom of the kernel
    angle: float
    box: Doubles  # (d + 1,) the corner of the smallest numbers, and the width of the cube
    codes: Indices  # (2, n) int64: places along the curve, and room to sort them
    order: Indices  # (2, n) int64: the place at each position on the curve, and room
    histogram: Indices  # (2^RADIX_BITS,)
    S: Singles  # (d, n) places from the middle of the box, along the curve
    sums: Doubles  # (d, n + 1) of the places before each
    ranges: Indices  # (2 n, 4) int64: first and last position of a cell, the cell above it, the next that is not in it
    cells: Singles  # (2 n, 5) centre, number of places, squared width
    groups: Indices  # (n, 2) int64: first and last position
    counts: Indices  # (2,) of cells and groups
    stack: Indices  # (STACK, 3)
    lists: Singles  # (threads, 4, LIST) coordinates and weights
    found: Singles  # (threads, 4, GROUP) sums of each place of a group
    force: Doubles  # (d, n)
    z: Doubles  # (n,)


@jit(error_model="numpy")
def spread_bits(x, d):
    """The bits of a number, with d - 1 zeros between each two."""
    out = np.int64(0)
    for b in range(LEVELS):
        out |= ((x >> b) & 1) << (b * d)
    return out


@jit(error_model="numpy")
def sort_places(tree, Y):
    """Put the places Y (d, n) in order along the curve."""
    d, n = Y.shape
    codes, order, histogram = tree.codes, tree.order, tree.histogram
    width = tree.box[d]
    cells = float(1 << LEVELS)
    scale = cells / width if width > 0.0 else 0.0
    for i in range(n):
        code = np.int64(0)
        for c in range(d):
            at = np.int64(min((Y[c, i] - tree.box[c]) * scale, cells - 1.0))
            if d == 2:  # bits apart by halves
                at = (at | (at << 16)) & 0x0000FFFF0000FFFF
                at = (at | (at << 8)) & 0x00FF00FF00FF00FF
                at = (at | (at << 4)) & 0x0F0F0F0F0F0F0F0F
                at = (at | (at << 2)) & 0x3333333333333333
                at = (at | (at << 1)) & 0x5555555555555555
            elif d == 3:
                at = spread_bits(at, d)
            code |= at << c
        codes[0, i], order[0, i] = code, i
    source = 0
    for digit in range(-(-LEVELS * d // RADIX_BITS)):
        shift, mask = digit * RADIX_BITS, (1 << RADIX_BITS) - 1
        a, b, p, q = codes[source], codes[1 - source], order[source], order[1 - source]
        for v in range(mask + 1):
            histogram[v] = 0
        for i in range(n):
            histogram[(a[i] >> shift) & mask] += 1
        total = 0
        for v in range(mask + 1):
            histogram[v], total = total, total + histogram[v]
        for i in range(n):
            v = (a[i] >> shift) & mask
            to = histogram[v]
            histogram[v] = to + 1
            b[to], q[to] = a[i], p[i]
        source = 1 - source
    if source == 1:
        for i in range(n):
            codes[0, i], order[0, i] = codes[1, i], order[1, i]


@jit(error_model="numpy")
def build_tree(tree, Y):
    """Sort the places, and make cells and groups of them; few places are one cell."""
    d, n = Y.shape
    few = n <= ALL_PAIRS
    if few:
        for i in range(n):
            tree.codes[0, i], tree.order[0, i] = 0, i
    else:
        sort_places(tree, Y)
    codes, order = tree.codes[0], tree.order[0]
    for c in range(d):
        middle, total = tree.box[c] + 0.5 * tree.box[d], 0.0
        own, sums = tree.S[c], tree.sums[c]
        sums[0] = 0.0
        for i in range(n):
            value = Y[c, order[i]] - middle
            own[i] = value
            total += value
            sums[i + 1] = total
    _divide(tree, n, d, codes, n if few else LEAF)


@jit(error_model="numpy")
def _divide(tree, n, d, codes, leaf):
    """Cells from above, each before those in it, and groups."""
    ranges, cells, stack, groups = tree.ranges, tree.cells, tree.stack, tree.groups
    unit = tree.box[d] / float(1 << LEVELS)
    digit_mask = (1 << d) - 1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, -1
    waiting, k, g = 1, 0, 0
    while waiting > 0:
        waiting -= 1
        lo, hi, above = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        size = hi - lo
        ranges[k, 0], ranges[k, 1], ranges[k, 2], ranges[k, 3] = lo, hi, above, 1
        for c in range(d):
            cells[k, c] = (tree.sums[c, hi] - tree.sums[c, lo]) / size
        cells[k, WEIGHT] = size
        differ = codes[lo] ^ codes[hi - 1]
        level = 0
        while differ >> (level * d) > digit_mask:
            level += 1
        width = unit * float(2 << level)
        last = differ == 0 and size > leaf  # places of one code are one place, which the negative width says
        whole = size <= leaf
        cells[k, WIDTH] = -1.0 if last else np.inf if leaf == n else width * width
        if (size <= GROUP or last or whole) and (above < 0 or ranges[above, 1] - ranges[above, 0] > GROUP):
            for start in range(lo, hi, GROUP):
                groups[g, 0], groups[g, 1] = start, min(start + GROUP, hi)
                g += 1
        if not (last or whole):
            shift, end = level * d, hi
            for v in range(digit_mask, -1, -1):  # from the last: the first is taken from the stack first
                a, b = lo, end
                while a < b:  # the first position whose digit is at least v
                    m = (a + b) // 2
                    if ((codes[m] >> shift) & digit_mask) < v:
                        a = m + 1
                    else:
                        b = m
                if a < end:
                    stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = a, end, k
                    waiting += 1
                    end = a
        k += 1
    for i in range(k - 1, 0, -1):
        ranges[ranges[i, 2], 3] += ranges[i, 3]
    for i in range(k):
        ranges[i, 3] += i
    tree.counts[CELLS], tree.counts[GROUPS] = k, g


@jit(error_model="numpy", fastmath=FAST)
def _sums_1(x, a, w, m):
    z, f = np.float32(0.0), np.float32(0.0)
    one = np.float32(1.0)
    for j in range(m):
        dx = x - a[j]
        u = one / (one + dx * dx)
        k = w[j] * u
        z += k
        f += k * u * dx
    return z, f


@jit(error_model="numpy", fastmath=FAST)
def _sums_2(x, y, a, b, w, m):
    z, f, g = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    one = np.float32(1.0)
    for j in range(m):
        dx, dy = x - a[j], y - b[j]
        u = one / (one + dx * dx + dy * dy)
        k = w[j] * u
        z += k
        k *= u
        f += k * dx
        g += k * dy
    return z, f, g


@jit(error_model="numpy", fastmath=FAST)
def _sums_3(x, y, t, a, b, c, w, m, share):
    """Of a kernel with two degrees of freedom; share = 1 / 2."""
    z, f, g, h = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    one = np.float32(1.0)
    for j in range(m):
        dx, dy, dt = x - a[j], y - b[j], t - c[j]
        u = one / (one + share * (dx * dx + dy * dy + dt * dt))
        k = w[j] * u * np.sqrt(u)
        z += k
        k *= u
        f += k * dx
        g += k * dy
        h += k * dt
    return z, f, g, h


@jit(error_model="numpy")
def _add_list(S, d, lo, size, items, m, found):
    """Add the forces of m weighted places to those on the places from `lo` on."""
    a, b, c, w = items[0], items[1], items[2], items[3]
    for i in range(size):
        if d == 1:
            z, f = _sums_1(S[0, lo + i], a, w, m)
            found[0, i] += f
        elif d == 2:
            z, f, g = _sums_2(S[0, lo + i], S[1, lo + i], a, b, w, m)
            found[0, i] += f
            found[1, i] += g
        else:
            z, f, g, h = _sums_3(S[0, lo + i], S[1, lo + i], S[2, lo + i], a, b, c, w, m, np.float32(0.5))
            found[0, i] += f
            found[1, i] += g
            found[2, i] += h
        found[3, i] += z


@jit(error_model="numpy")
def repel_group(tree, number, rank):
    """The forces on the places of one group."""
    S, ranges, cells = tree.S, tree.ranges, tree.cells
    d = S.shape[0]
    lo, hi = tree.groups[number, 0], tree.groups[number, 1]
    items, found = tree.lists[rank], tree.found[rank]
    x0, x1, y0, y1, t0, t1 = S[0, lo], S[0, lo], np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for i in range(lo, hi):
        x0, x1 = min(x0, S[0, i]), max(x1, S[0, i])
    if d > 1:
        y0, y1 = S[1, lo], S[1, lo]
        for i in range(lo, hi):
            y0, y1 = min(y0, S[1, i]), max(y1, S[1, i])
    if d > 2:
        t0, t1 = S[2, lo], S[2, lo]
        for i in range(lo, hi):
            t0, t1 = min(t0, S[2, i]), max(t1, S[2, i])
    for c in range(4):
        for i in range(hi - lo):
            found[c, i] = 0.0
    m, k, cell_count = 0, 0, tree.counts[CELLS]
    limit, zero = np.float32(tree.angle * tree.angle), np.float32(0.0)
    while k < cell_count:
        x = cells[k, 0]
        away = max(max(x0 - x, x - x1), zero)
        gap = away * away
        if d > 1:
            y = cells[k, 1]
            away = max(max(y0 - y, y - y1), zero)
            gap += away * away
        if d > 2:
            t = cells[k, 2]
            away = max(max(t0 - t, t - t1), zero)
            gap += away * away
        if cells[k, WIDTH] < limit * gap:
            if m == LIST:
                _add_list(S, d, lo, hi - lo, items, m, found)
                m = 0
            for c in range(d):
                items[c, m] = cells[k, c]
            items[3, m] = cells[k, WEIGHT]
            m += 1
            k = ranges[k, 3]
        elif ranges[k, 3] == k + 1:  # no cell in it: its places one by one
            first, last = ranges[k, 0], ranges[k, 1]
            while first < last:
                take = min(last - first, LIST - m)
                for c in range(d):
                    for i in range(take):
                        items[c, m + i] = S[c, first + i]
                for i in range(take):
                    items[3, m + i] = 1.0
                m += take
                first += take
                if m == LIST:
                    _add_list(S, d, lo, hi - lo, items, m, found)
                    m = 0
            k += 1
        else:
            k += 1
    _add_list(S, d, lo, hi - lo, items, m, found)
    for i in range(hi - lo):
        at = tree.order[0, lo + i]
        for c in range(d):
            tree.force[c, at] = found[c, i]
        tree.z[at] = max(found[3, i] - 1.0, 0.0)  # without the place itself
