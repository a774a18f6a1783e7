"""Compiled loops of histogram trees: rounding, adding up by bin, the search for a cut, rows told apart.

A bin of a table holds two 64-bit numbers: the sum of rounded gradients, and curvature and count side by side. The
columns of a table follow each other, `WIDTH` bins each.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD, MISSING_BIN

BINS_PER_COLUMN = MISSING_BIN + 1
COUNT_BITS = 24
MAX_ROWS = 2**COUNT_BITS - 1
COUNT_MASK = np.int64(MAX_ROWS)
MIN_CAT_SUPPORT = 10.0  # rows that a level needs to be sorted among the others; added to its curvature
CURVATURE_EPSILON = 1e-15  # keeps a division by no curvature finite
RELATIVE_GAIN_EPSILON = 1e-12  # gains below this share of a node's own term are rounding
GATHER_ROWS = 512  # rows that are gathered before they are added up,
GROUPS_PER_PASS = 8  # with this many groups of columns: a line of the cache
FASTMATH_ORDERED = frozenset({"nnan", "ninf", "nsz"})  # no other order of sums: equal cuts must have equal gains
ONE, TWO = np.uint64(1), np.uint64(2)

SIZE, CATEGORICAL, SIGN = range(3)  # what is known of a column
G, H, N, VALUE, LOWER_BOUND, UPPER_BOUND = range(6)  # of a node: sums, its value and the bounds of values below it
GAIN, COLUMN, CUT_BIN, SECOND_PASS = range(
    4
)  # of a cut; then come the sums G, H, N on its left, and its number of levels
MIN_ROWS, MIN_CURVATURE, RIDGE, GRADIENT_UNIT, CURVATURE_UNIT = range(5)  # what the search is told of limits and units


@jit(error_model="numpy")
def gradient_extent(g, h, repeats):
    top, total = 0.0, 0.0
    for i in range(len(g)):
        top = max(top, abs(g[i]))
        total += h[i] * repeats[i]
    return top, total


@jit(error_model="numpy")
def quantise_gradients(g, h, repeats, per_gradient, per_curvature, first, rows, out):
    """Fill the rounded numbers and the list of rows; sums of the numbers."""
    a, b = np.int64(0), np.int64(0)
    for i in range(len(g)):
        times = np.int64(repeats[i])
        rows[i] = first + i
        out[i, 0] = np.int64(np.rint(g[i] * per_gradient)) * times
        out[i, 1] = ((np.int64(np.rint(h[i] * per_curvature)) * times) << COUNT_BITS) + times
        a += out[i, 0]
        b += out[i, 1]
    return a, b


@jit
def build_histograms(words, columns, rows, lo, hi, packed, held, tables):
    """Histograms of all columns over rows lo..hi of the list; a word holds the codes of a group of columns.

    Rows lie apart: a short loop that only gathers them has many reads under way, the long one none to wait for.
    """
    groups = (columns + COLUMNS_PER_WORD - 1) // COLUMNS_PER_WORD
    step, width = COLUMNS_PER_WORD * BINS_PER_COLUMN * 2, np.uint64(groups)
    for i in range(len(tables)):
        tables[i] = 0
    for begin in range(0, groups, GROUPS_PER_PASS):
        end = min(begin + GROUPS_PER_PASS, groups)
        for start in range(lo, hi, GATHER_ROWS):
            m = min(GATHER_ROWS, hi - start)
            for i in range(m):  # numbers without a sign need no look at it
                row, to = np.uint64(rows[start + i]), np.uint64(i)
                held[TWO * to], held[TWO * to + ONE] = packed[TWO * row], packed[TWO * row + ONE]
                for k in range(begin, end):
                    held[np.uint64((k - begin + 2) * GATHER_ROWS) + to] = words[row * width + np.uint64(k)]
            for k in range(begin, end):
                table, word_of = tables[k * step : (k + 1) * step], np.uint64((k - begin + 2) * GATHER_ROWS)
                used = min(COLUMNS_PER_WORD, columns - k * COLUMNS_PER_WORD)
                for i in range(m if 2 * used > COLUMNS_PER_WORD else 0):
                    to = np.uint64(i)
                    a, b, word = held[TWO * to], held[TWO * to + ONE], held[word_of + to]
                    for j in range(COLUMNS_PER_WORD):  # of known length: written out
                        at = TWO * np.uint64(BINS_PER_COLUMN * j + ((word >> (8 * j)) & 255))
                        table[at] += a
                        table[at + ONE] += b
                for i in range(m if 2 * used <= COLUMNS_PER_WORD else 0):
                    to = np.uint64(i)
                    a, b, word = held[TWO * to], held[TWO * to + ONE], held[word_of + to]
                    for j in range(used):
                        at = TWO * np.uint64(BINS_PER_COLUMN * j + ((word >> (8 * j)) & 255))
                        table[at] += a
                        table[at + ONE] += b


@jit
def search_histograms(tables, first, last, columns, allowed, sums, terms, lines, gains, order, found):
    """Fill found with the best cut of columns first..last."""
    found[GAIN] = 0.0
    for f in range(first, last):
        if allowed[f] == 0:
            continue
        table, m, by_level = (
            tables[2 * BINS_PER_COLUMN * f : 2 * BINS_PER_COLUMN * (f + 1)],
            columns[f, SIZE],
            columns[f, CATEGORICAL] == 1,
        )
        absent = (table[2 * MISSING_BIN + 1] & COUNT_MASK) > 0
        m = _sort_levels(table, m, sums, terms, order[0]) if by_level else _prefix_sums(table, m, lines)
        for turn in range(2 if absent or by_level else 1):
            cuts = m if absent and turn == 0 else m - 1
            if by_level:  # up to the middle
                cuts = max((m + 1) // 2 - turn, 0) if m > 1 else 0
                a, b = np.int64(0), np.int64(0)
                for i in range(cuts):  # the first levels, or on the second turn the last ones
                    code = np.uint64(order[0, i] if turn == 0 else order[0, m - 1 - i])
                    a += table[TWO * code]
                    b += table[TWO * code + ONE]
                    lines[0, i], lines[1, i] = a, b
            elif turn == 1:
                for i in range(cuts):
                    lines[0, i] += table[2 * MISSING_BIN]
                    lines[1, i] += table[2 * MISSING_BIN + 1]
            top = _gains(lines, cuts, sums, columns[f, SIGN], terms, gains)
            if top > found[GAIN]:
                i = 0
                while gains[i] < top:
                    i += 1
                found[GAIN], found[COLUMN], found[SECOND_PASS], found[7] = top, f, turn, m
                found[CUT_BIN] = i if by_level else _bin_of(table, i)
                b = lines[1, i]
                found[4], found[5], found[6] = (
                    lines[0, i] * terms[GRADIENT_UNIT],
                    (b >> COUNT_BITS) * terms[CURVATURE_UNIT],
                    b & COUNT_MASK,
                )
                for j in range(m if by_level else 0):
                    order[1, j] = order[0, j]


@jit
def _prefix_sums(table, size, lines):
    """The sums up to each bin of a column of numbers that holds rows, and up to the first in any case; how many.

    Where the first is empty, missing values can be alone on the left.
    """
    m, a, b = np.uint64(0), np.int64(0), np.int64(0)
    for i in range(size):
        code = np.uint64(i)
        more = table[TWO * code + ONE]
        a += table[TWO * code]
        b += more
        lines[0, m], lines[1, m] = a, b
        m += ONE if more & COUNT_MASK or i == 0 else np.uint64(0)
    return np.int64(m)


@jit
def _bin_of(table, i):
    """Number i of the bins that hold rows and the first."""
    code, before = 0, 0
    while before < i:
        code += 1
        before += 1 if table[2 * code + 1] & COUNT_MASK else 0
    return code


@jit(error_model="numpy")
def _sort_levels(table, size, sums, terms, order):
    """The levels of a category that enough rows have, by G / H, missing values as a level; how many."""
    unit, bend, per_row = terms[GRADIENT_UNIT], terms[CURVATURE_UNIT], sums[N] / (sums[H] + CURVATURE_EPSILON)
    m = 0
    for i in range(size + 1):
        code = i if i < size else MISSING_BIN
        h = (table[2 * code + 1] >> COUNT_BITS) * bend
        if h * per_row < MIN_CAT_SUPPORT:
            continue
        score, at = table[2 * code] * unit / (h + MIN_CAT_SUPPORT), m
        while at > 0:
            before = order[at - 1]
            if table[2 * before] * unit / ((table[2 * before + 1] >> COUNT_BITS) * bend + MIN_CAT_SUPPORT) <= score:
                break
            order[at] = before
            at -= 1
        order[at] = code
        m += 1
    return m


@jit(fastmath=FASTMATH_ORDERED, error_model="numpy")
def _gains(lines, cuts, sums, sign, terms, gains):
    """Fill the gain of each cut, -1 where it is forbidden; the largest."""
    g_all, h_all, n_all, low, high = sums[G], sums[H], sums[N], sums[LOWER_BOUND], sums[UPPER_BOUND]
    rows, curvature, ridge, unit, bend = (
        terms[MIN_ROWS],
        terms[MIN_CURVATURE],
        terms[RIDGE],
        terms[GRADIENT_UNIT],
        terms[CURVATURE_UNIT],
    )
    whole = -g_all * sums[VALUE]
    slight = RELATIVE_GAIN_EPSILON * abs(whole)
    for i in range(cuts):
        g, h, n = lines[0, i] * unit, (lines[1, i] >> COUNT_BITS) * bend, np.float64(lines[1, i] & COUNT_MASK)
        left = min(max(-g / (h + ridge), low), high)
        right = min(max(-(g_all - g) / (h_all - h + ridge), low), high)
        gain = -(g * left + (g_all - g) * right) - whole
        fine = (n >= rows) & (n_all - n >= rows) & (h >= curvature) & (h_all - h >= curvature)
        fine = fine & (sign * (right - left) >= 0.0) & (gain > slight)
        gains[i] = 0.5 * gain if fine else -1.0
    top = -1.0
    for i in range(cuts):  # in the loop above it would keep the divisions from being done side by side
        top = max(top, gains[i])
    return top


@jit
def separate_rows(column, goes_left, rows, spare, lo, hi):
    """Move the rows of lo..hi that go left to the front, write the others to spare; how many go left."""
    left, right = np.uint64(lo), np.uint64(lo)
    for i in range(lo, hi):
        row = rows[i]
        goes = np.uint64(goes_left[column[np.uint64(row)]])
        rows[left] = row
        spare[right] = row
        left += goes
        right += ONE - goes
    return np.int64(left) - lo


@jit
def split_node(
    column, goes, rows, spare, lo, hi, words, columns, packed, held, table, smaller, asked, allowed_left,
    allowed_right, sums_left, sums_right, terms, lines, gains, order, found,
):  # fmt: skip
    """Tell the rows lo..hi of a node apart, and find the best cuts of its sides if one is asked for.

    `smaller` becomes the histogram of the side with fewer rows, `table`, that of the node, the one of the other. Where
    the right side begins.
    """
    middle = lo + separate_rows(column, goes, rows, spare, lo, hi)
    for i in range(hi - middle):
        rows[middle + i] = spare[lo + i]
    found[0, GAIN], found[1, GAIN] = 0.0, 0.0
    if len(smaller) > 0:
        left_is = middle - lo <= hi - middle
        begin, end = (lo, middle) if left_is else (middle, hi)
        build_histograms(words, len(columns), rows, begin, end, packed, held, smaller)
        for i in range(len(table)):
            table[i] -= smaller[i]
        if asked[0] and middle - lo > 1:
            search_histograms(smaller if left_is else table, 0, len(columns), columns, allowed_left, sums_left, terms,
                              lines, gains, order[0], found[0])  # fmt: skip
        if asked[1] and hi - middle > 1:
            search_histograms(table if left_is else smaller, 0, len(columns), columns, allowed_right, sums_right, terms,
                              lines, gains, order[1], found[1])  # fmt: skip
    return middle


@jit
def add_leaf_values(ends, value, rows, out):
    for t in range(len(ends)):
        for i in range(ends[t, 0], ends[t, 1]):
            out[rows[i]] += value[t]
