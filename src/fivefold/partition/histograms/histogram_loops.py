"""Compiled loops of histogram trees: rounding gradients, building histograms, searching for cuts, separating rows.

A bin of a table holds two 64-bit numbers: the sum of rounded gradients, and curvature and count side by side. The
columns of a table follow each other, BINS_PER_COLUMN bins each.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.atomics import add_pair
from fivefold.core.compilation.jit import jit
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD, MISSING_BIN

BINS_PER_COLUMN = MISSING_BIN + 1
MIN_COUNT_BITS = 24  # low bits of the second number of a bin, which hold the count: as many as the rows need,
MAX_COUNT_BITS = 28  # which leaves few enough for curvatures: with more rows they would be rounded too coarsely
MAX_ROWS = 2**MAX_COUNT_BITS - 1
MIN_CAT_SUPPORT = 10.0  # rows that a level needs to take part in the order of levels; also added to its curvature
CURVATURE_EPSILON = 1e-15  # added to curvatures that are divided by, which may be zero
RELATIVE_GAIN_EPSILON = 1e-12  # gains below this share of a node's own term are rounding
GATHER_ROWS = 512  # rows that are gathered before they are added up,
GROUPS_PER_PASS = 8  # with this many words (groups of columns) per row: one cache line
FASTMATH_ORDERED = frozenset({"nnan", "ninf", "nsz"})  # sums keep their order: equal cuts must have equal gains
ONE, TWO = np.uint64(1), np.uint64(2)

# Fields of a column
SIZE, CATEGORICAL, SIGN = range(3)
# Numbers of a node: its sums of gradients, curvatures and rows, its value, and the bounds of values below it
G, H, N, VALUE, LOWER_BOUND, UPPER_BOUND = range(6)
# Numbers of a cut; SECOND_PASS: missing values are on the left or, for categories, the last levels in order are; the
# last four are the sums on its left, and how many levels were in order
GAIN, COLUMN, CUT_BIN, SECOND_PASS, LEFT_G, LEFT_H, LEFT_N, N_LEVELS = range(8)
CUT_NUMBERS = 8
# Limits and units of the search
MIN_ROWS, MIN_CURVATURE, RIDGE, GRADIENT_UNIT, CURVATURE_UNIT, COUNT_BITS = range(6)
SEARCH_TERMS = 6
# Lines of a search: sums up to each cut in its two numbers, levels in order, and those of the best cut
SUMS, MORE_SUMS, IN_ORDER, FOUND_LEVELS = range(4)
SEARCH_LINES = 4


@jit
def count_mask(terms):
    """The bits of the second number of a bin that hold the count."""
    return (np.int64(1) << np.int64(terms[COUNT_BITS])) - 1


@jit(error_model="numpy")
def gradient_extent(g, h, repeats, lo, hi):
    """The largest absolute gradient of rows lo..hi, and the sum of their curvatures."""
    top, total = 0.0, 0.0
    for i in range(lo, hi):
        top = max(top, abs(g[i]))
        total += h[i] * repeats[i]
    return top, total


@jit(error_model="numpy")
def quantise_gradients(g, h, repeats, terms, lo, hi, rows, out):
    """Fill `out` with the rounded numbers and `rows` with the list of rows lo..hi; the sums of the numbers."""
    per_gradient, per_curvature = 1.0 / terms[GRADIENT_UNIT], 1.0 / terms[CURVATURE_UNIT]
    a, b, bits = np.int64(0), np.int64(0), np.int64(terms[COUNT_BITS])
    for i in range(lo, hi):
        times = np.int64(repeats[i])
        rows[i] = i
        one = np.int64(np.rint(g[i] * per_gradient)) * times
        two = ((np.int64(np.rint(h[i] * per_curvature)) * times) << bits) + times
        out[2 * i], out[2 * i + 1] = one, two
        a += one
        b += two
    return a, b


@jit
def build_histograms(words, packed, columns, rows, lo, hi, first, last, gathered, tables):
    """Fill `tables` with the histograms of groups first..last of the columns, over rows[lo:hi]; a word is a group.

    The rows of a node are scattered in memory: a short loop that only gathers them keeps many reads in flight, so that
    the long loop that adds them up waits for none.
    """
    step, width = COLUMNS_PER_WORD * BINS_PER_COLUMN * 2, np.uint64(_groups(columns))
    for i in range(first * step, last * step):
        tables[i] = 0
    for begin in range(first, last, GROUPS_PER_PASS):
        end = min(begin + GROUPS_PER_PASS, last)
        for start in range(lo, hi, GATHER_ROWS):
            m = min(GATHER_ROWS, hi - start)
            for i in range(m):  # unsigned indices: the check for negative ones is skipped
                row, to = np.uint64(rows[start + i]), np.uint64(i)
                gathered[TWO * to], gathered[TWO * to + ONE] = packed[TWO * row], packed[TWO * row + ONE]
                for k in range(begin, end):
                    gathered[np.uint64((k - begin + 2) * GATHER_ROWS) + to] = words[row * width + np.uint64(k)]
            for k in range(begin, end):
                table, word_of = tables[k * step : (k + 1) * step], np.uint64((k - begin + 2) * GATHER_ROWS)
                used = min(COLUMNS_PER_WORD, columns - k * COLUMNS_PER_WORD)
                for i in range(m if 2 * used > COLUMNS_PER_WORD else 0):
                    to = np.uint64(i)
                    a, b, word = gathered[TWO * to], gathered[TWO * to + ONE], gathered[word_of + to]
                    for j in range(COLUMNS_PER_WORD):  # of fixed length, so that it is unrolled
                        at = TWO * np.uint64(BINS_PER_COLUMN * j + ((word >> (8 * j)) & 255))
                        add_pair(table, at, a, b)
                for i in range(m if 2 * used <= COLUMNS_PER_WORD else 0):
                    to = np.uint64(i)
                    a, b, word = gathered[TWO * to], gathered[TWO * to + ONE], gathered[word_of + to]
                    for j in range(used):
                        at = TWO * np.uint64(BINS_PER_COLUMN * j + ((word >> (8 * j)) & 255))
                        add_pair(table, at, a, b)


@jit
def _groups(columns):
    return (columns + COLUMNS_PER_WORD - 1) // COLUMNS_PER_WORD


@jit
def search_histograms(tables, first, last, columns, terms, sums, allowed, lines, gains, found):
    """Fill `found` with the best cut of columns first..last of a node with these sums, and a line with its levels."""
    order = lines[IN_ORDER]
    found[GAIN] = 0.0
    bits, mask = np.int64(terms[COUNT_BITS]), count_mask(terms)
    for f in range(first, last):
        if allowed[f] == 0:
            continue
        table = tables[2 * BINS_PER_COLUMN * f : 2 * BINS_PER_COLUMN * (f + 1)]
        m, by_level = columns[f, SIZE], columns[f, CATEGORICAL] == 1
        absent = (table[2 * MISSING_BIN + 1] & mask) > 0
        m = _sort_levels(table, m, sums, terms, order) if by_level else _prefix_sums(table, m, mask, lines)
        for second_pass in range(2 if absent or by_level else 1):
            cuts = m if absent and second_pass == 0 else m - 1
            if by_level:  # up to the middle
                cuts = max((m + 1) // 2 - second_pass, 0) if m > 1 else 0
                a, b = np.int64(0), np.int64(0)
                for i in range(cuts):  # the first levels, or on the second pass the last ones
                    code = np.uint64(order[i] if second_pass == 0 else order[m - 1 - i])
                    a += table[TWO * code]
                    b += table[TWO * code + ONE]
                    lines[SUMS, i], lines[MORE_SUMS, i] = a, b
            elif second_pass == 1:
                for i in range(cuts):
                    lines[SUMS, i] += table[2 * MISSING_BIN]
                    lines[MORE_SUMS, i] += table[2 * MISSING_BIN + 1]
            top = _gains(lines, cuts, sums, columns[f, SIGN], terms, gains)
            if top > found[GAIN]:
                i = 0
                while gains[i] < top:
                    i += 1
                found[GAIN], found[COLUMN], found[SECOND_PASS], found[N_LEVELS] = top, f, second_pass, m
                found[CUT_BIN] = i if by_level else _bin_of(table, i, mask)
                found[LEFT_G] = lines[SUMS, i] * terms[GRADIENT_UNIT]
                found[LEFT_H] = (lines[MORE_SUMS, i] >> bits) * terms[CURVATURE_UNIT]
                found[LEFT_N] = lines[MORE_SUMS, i] & mask
                for j in range(m if by_level else 0):
                    lines[FOUND_LEVELS, j] = order[j]


@jit
def _prefix_sums(table, size, mask, lines):
    """Sums up to each bin of a numeric column that holds rows, and up to the first bin in any case; how many sums.

    Where the first bin is empty, missing values can be alone on the left.
    """
    m, a, b = np.uint64(0), np.int64(0), np.int64(0)
    for i in range(size):
        code = np.uint64(i)
        more = table[TWO * code + ONE]
        a += table[TWO * code]
        b += more
        lines[SUMS, m], lines[MORE_SUMS, m] = a, b
        m += ONE if more & mask or i == 0 else np.uint64(0)
    return np.int64(m)


@jit
def _bin_of(table, i, mask):
    """The bin of cut i: bins that hold rows are counted, and the first bin in any case."""
    code, before = 0, 0
    while before < i:
        code += 1
        before += 1 if table[2 * code + 1] & mask else 0
    return code


@jit(error_model="numpy")
def _sort_levels(table, size, sums, terms, order):
    """Put the levels that have enough rows in the order of G / H, missing values as one of them; how many levels."""
    unit, curvature_unit, rows_per_curvature = (
        terms[GRADIENT_UNIT],
        terms[CURVATURE_UNIT],
        sums[N] / (sums[H] + CURVATURE_EPSILON),
    )
    m, bits = 0, np.int64(terms[COUNT_BITS])
    for i in range(size + 1):
        code = i if i < size else MISSING_BIN
        h = (table[2 * code + 1] >> bits) * curvature_unit
        if h * rows_per_curvature < MIN_CAT_SUPPORT:
            continue
        score, at = table[2 * code] * unit / (h + MIN_CAT_SUPPORT), m
        while at > 0:
            before = order[at - 1]
            h = (table[2 * before + 1] >> bits) * curvature_unit
            if table[2 * before] * unit / (h + MIN_CAT_SUPPORT) <= score:
                break
            order[at] = before
            at -= 1
        order[at] = code
        m += 1
    return m


@jit(fastmath=FASTMATH_ORDERED, error_model="numpy")
def _gains(lines, cuts, sums, sign, terms, gains):
    """Fill the gain of each cut, -1 where it is forbidden; return the largest."""
    g_all, h_all, n_all, low, high = sums[G], sums[H], sums[N], sums[LOWER_BOUND], sums[UPPER_BOUND]
    rows, curvature, ridge = terms[MIN_ROWS], terms[MIN_CURVATURE], terms[RIDGE]
    unit, curvature_unit = terms[GRADIENT_UNIT], terms[CURVATURE_UNIT]
    bits, mask = np.int64(terms[COUNT_BITS]), count_mask(terms)
    whole = -g_all * sums[VALUE]
    slight = RELATIVE_GAIN_EPSILON * abs(whole)
    for i in range(cuts):
        g, h, n = (
            lines[SUMS, i] * unit,
            (lines[MORE_SUMS, i] >> bits) * curvature_unit,
            np.float64(lines[MORE_SUMS, i] & mask),
        )
        left = min(max(-g / (h + ridge), low), high)
        right = min(max(-(g_all - g) / (h_all - h + ridge), low), high)
        gain = -(g * left + (g_all - g) * right) - whole
        allowed = (n >= rows) & (n_all - n >= rows) & (h >= curvature) & (h_all - h >= curvature)
        allowed = allowed & (sign * (right - left) >= 0.0) & (gain > slight)
        gains[i] = 0.5 * gain if allowed else -1.0
    top = -1.0
    for i in range(cuts):  # in the loop above it would prevent the divisions from being vectorised
        top = max(top, gains[i])
    return top


@jit
def separate_rows(column, goes_left, rows, spare, lo, hi):
    """Move the rows of lo..hi that go left to the front, and write the others to spare; how many go left."""
    left, right = np.uint64(lo), np.uint64(lo)
    for i in range(lo, hi):
        row = rows[i]
        goes = np.uint64(goes_left[column[np.uint64(row)]])
        rows[left] = row
        spare[right] = row
        left += goes
        right += ONE - goes
    return np.int64(left) - lo
