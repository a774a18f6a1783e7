"""Growing a histogram tree inside compiled code, on a team of threads (core.team_loops).

The leaf that gains most is divided next. Where its rows are too few for all threads, the next leaves of the queue are
worked out in the same wave: they are likely to be divided soon, so this work is seldom wasted, and it changes no tree.
A wave has three phases: rows are separated, histograms of the smaller sides are built, cuts are searched for; between
them the first thread keeps the books (growth_steps_loops.py). Sums are sums of integers, so rows may be cut into parts
by the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD, MISSING_BIN
from fivefold.partition.histograms.growth_state import (
    BINS_LEFT,
    BUFFER,
    CHUNKS,
    COUNTS,
    CUT,
    DEEPER,
    DIVIDED,
    FIRST,
    FOUND_BINS,
    GOES_LEFT,
    HI,
    INDEX,
    LAST,
    LEFT,
    LEFT_IS_SMALL,
    LO,
    N_NODES,
    NODE,
    PARENT,
    PARTIAL,
    PARTS,
    PLACE,
    SCRATCH,
    SEARCH_LEFT,
    SET_WORDS,
    SMALL_TABLE,
    TABLE,
    GrowthState,
)
from fivefold.partition.histograms.growth_step_loops import (
    ADD,
    BUILD,
    END,
    EXTENT,
    FILL,
    FULL,
    QUANTISE,
    SEARCH,
    SEPARATE,
    START,
    next_phase,
)
from fivefold.partition.histograms.histogram_loops import (
    BINS_PER_COLUMN,
    CATEGORICAL,
    COLUMN,
    COUNT_BITS,
    CURVATURE_UNIT,
    CUT_BIN,
    FOUND_LEVELS,
    GAIN,
    GRADIENT_UNIT,
    LEFT_N,
    N_LEVELS,
    SECOND_PASS,
    G,
    H,
    N,
    build_histograms,
    count_mask,
    gradient_extent,
    quantise_gradients,
    search_histograms,
    separate_rows,
)

BLOCK_ROWS = 8192  # rows per task of passes over all rows; sums are made per block
SUM_BITS = 61  # bits of a count and a sum of curvatures, side by side: what 64 bits leave beside the sign
SLACK = 1.0 + 2.0**-20  # sums in another order differ by less than this, so that each gives the same unit
SMALLEST_EXTENT = 1e-290  # of gradients and curvatures, so that there is a unit where all are zero


@jit(reference_counting=False)
def grow_tree(team, state, interaction_sets, column_share, kind):
    """Round the gradients and grow a tree; False where the list of nodes is too short.

    For the kind ADD the values of the tree's leaves are added to their rows instead.
    """
    while True:
        count = len(state.extents)
        if kind == START:
            kind = EXTENT
        elif kind == EXTENT:
            set_units(state.tree.terms, state.extents)
            kind = QUANTISE
        elif kind != ADD:
            if kind == QUANTISE:
                set_root_sums(state.tree, state.totals)
            kind, count = next_phase(state.tree, interaction_sets, column_share)
            if END <= kind <= FULL:
                return kind != FULL
        share_tasks(team, state, kind, count)
        if kind == ADD:
            return True


@jit
def run_tasks(state, kind, count):
    """Tasks 0..count of a phase, by this thread alone."""
    for i in range(count):
        run_task(state, kind, i, 0)


@jit
def share_search(team, state, count):
    """Tasks 0..count of a search, by all threads of a team."""
    share_tasks(team, state, SEARCH, count)


@run_task.rule(GrowthState)
def _task(state, kind, i, rank):
    """Task i of the current phase."""
    if kind == SEARCH:
        _search(state.tree, state.tables, state.lines[rank], state.gains[rank], i)
    elif kind < SEARCH:
        _divide_rows(state, kind, i, rank)
    else:
        _pass_over_rows(state, kind, i)


@jit
def _divide_rows(state, kind, i, rank):
    """Separate the rows of a part of a node, or write them where they belong; build histograms."""
    tree, scratch, spare = state.tree, state.scratch[rank], state.rows[2]
    wave, part, chunk = tree.wave[tree.tasks[i, PLACE]], tree.tasks[i, FIRST], tree.tasks[i, LAST]
    node, chunks, small = wave[NODE], wave[CHUNKS], wave[SMALL_TABLE]
    parts = 1 if kind == FILL and small >= 0 else wave[PARTS]  # what was given up is built in one part
    first, last = tree.nodes[node, LO], tree.nodes[node, HI]
    lo, hi = first + (last - first) * part // parts, first + (last - first) * (part + 1) // parts
    source = tree.nodes[node, BUFFER]
    rows = state.rows[source]
    table = tree.nodes[node, TABLE] if kind == FILL else small
    begin, end = lo, hi
    if kind == SEPARATE:
        goes_left = scratch[GOES_LEFT:SCRATCH]
        for code in range(BINS_PER_COLUMN):
            goes_left[code] = (tree.nodes[node, BINS_LEFT + (code >> 6)] >> (code & 63)) & 1
        column = state.codes[np.int64(tree.numbers[node, CUT + COLUMN])]
        left = separate_rows(column, goes_left, rows, spare, lo, hi)
        wave[COUNTS + part] = left
        if parts * chunks > 1:
            return
        for at in range(hi - lo - left):  # alone: the rows stay in their list
            rows[lo + left + at] = spare[lo + at]
        begin, end = (lo, lo + left) if wave[LEFT_IS_SMALL] else (lo + left, hi)
    elif kind == BUILD:
        left = wave[COUNTS + part]
        if chunk == 0:
            _move_rows(wave, part, parts, first, lo, hi, rows, spare, state.rows[1 - source])
        begin, end = (lo, lo + left) if wave[LEFT_IS_SMALL] else (lo, lo + hi - lo - left)
        source = source if wave[LEFT_IS_SMALL] else 2
    if wave[DEEPER] == 1:
        columns = len(tree.columns)
        groups = (columns + COLUMNS_PER_WORD - 1) // COLUMNS_PER_WORD
        bottom, top = groups * chunk // chunks, groups * (chunk + 1) // chunks
        table = table if part == 0 else wave[PARTIAL] + part - 1
        build_histograms(
            state.words,
            state.packed,
            columns,
            state.rows[source],
            begin,
            end,
            bottom,
            top,
            scratch,
            state.tables[table],
        )


@jit
def _move_rows(wave, part, parts, first, lo, hi, rows, spare, out):
    """Copy the rows of a part that have been separated to where they belong in the other list."""
    left, before, middle = wave[COUNTS + part], 0, first
    for p in range(parts):
        middle += wave[COUNTS + p]
        before += wave[COUNTS + p] if p < part else 0
    to = first + before
    for at in range(left):
        out[to + at] = rows[lo + at]
    to = middle + lo - first - before
    for at in range(hi - lo - left):
        out[to + at] = spare[lo + at]


@jit
def _search(tree, tables, lines, gains, i):
    """Complete the histograms of some columns of both sides of a node, and find their best cuts."""
    wave, first, last = tree.wave[tree.tasks[i, PLACE]], tree.tasks[i, FIRST], tree.tasks[i, LAST]
    node = wave[NODE]
    begin, end = first * BINS_PER_COLUMN * 2, last * BINS_PER_COLUMN * 2
    root = wave[SMALL_TABLE] < 0
    large = tables[tree.nodes[node, TABLE]]
    small = tables[tree.nodes[node, TABLE] if root else wave[SMALL_TABLE]]
    for p in range(wave[PARTS] - 1):
        more = tables[wave[PARTIAL] + p]
        for at in range(begin, end):
            small[at] += more[at]
    for at in range(begin, begin if root else end):
        large[at] -= small[at]
    for side in range(2):
        found = tree.found[i, side]
        found[GAIN] = 0.0
        if wave[SEARCH_LEFT + side] == 1:
            child = node if root else tree.nodes[node, LEFT + side]
            table = small if (side == 0) == (wave[LEFT_IS_SMALL] == 1) else large
            allowed = tree.allowed[tree.tasks[i, PLACE], side]
            search_histograms(
                table, first, last, tree.columns, tree.terms, tree.numbers[child], allowed, lines, gains, found
            )
            if found[GAIN] > 0:
                to = FOUND_BINS + side * SET_WORDS
                bins = tree.tasks[i, to : to + SET_WORDS]
                _write_bins_left(tree, table, tree.numbers[child, N], found, lines[FOUND_LEVELS], bins)


@jit
def _write_bins_left(tree, table, total, found, levels, out):
    """Which bins go left, as bits; where the node has no missing values, they go with the majority."""
    f, cut, m = np.int64(found[COLUMN]), np.int64(found[CUT_BIN]) + 1, np.int64(found[N_LEVELS])
    by_level, one = tree.columns[f, CATEGORICAL] == 1, np.int64(1)
    for k in range(len(out)):
        out[k] = 0
    for k in range(cut):
        code = np.int64(k)
        if by_level:
            code = levels[k] if found[SECOND_PASS] == 0 else levels[m - 1 - k]
        out[code >> 6] |= one << (code & 63)
    bit = one << (MISSING_BIN & 63)
    if not by_level and found[SECOND_PASS] == 1:
        out[MISSING_BIN >> 6] |= bit
    if (table[2 * (f * BINS_PER_COLUMN + MISSING_BIN) + 1] & count_mask(tree.terms)) == 0:
        out[MISSING_BIN >> 6] &= ~bit
        if 2 * found[LEFT_N] > total:
            out[MISSING_BIN >> 6] |= bit


@jit
def _pass_over_rows(state, kind, i):
    """The extent of a block of rows, its rounded numbers, or the values of their leaves."""
    tree, lo, hi = state.tree, i * BLOCK_ROWS, min((i + 1) * BLOCK_ROWS, len(state.g))
    if kind == EXTENT:
        state.extents[i, 0], state.extents[i, 1] = gradient_extent(state.g, state.h, state.repeats, lo, hi)
    elif kind == QUANTISE:
        state.totals[i, 0], state.totals[i, 1] = quantise_gradients(
            state.g, state.h, state.repeats, tree.terms, lo, hi, state.rows[0], state.packed
        )
    else:
        _add_leaves(tree.nodes, tree.counters[N_NODES], state.rows, lo, hi, state.value, state.out)


@jit
def _add_leaves(nodes, count, lists, lo, hi, value, out):
    """Add the value of its leaf to each of the rows lo..hi, which no other thread writes to.

    Nodes without children list their rows in increasing order; some are below a leaf, worked out in vain.
    """
    for t in range(count):
        node, leaf = nodes[t], t
        if node[LEFT] >= 0:
            continue
        while nodes[leaf, PARENT] >= 0 and nodes[nodes[leaf, PARENT], DIVIDED] == 0:
            leaf = nodes[leaf, PARENT]
        rows, end, more = lists[node[BUFFER]], node[HI], value[nodes[leaf, INDEX]]
        at, beyond = node[LO], end  # the first row from lo on is looked for between them
        while at < beyond:
            middle = (at + beyond) >> 1
            if rows[middle] < lo:
                at = middle + 1
            else:
                beyond = middle
        while at < end and rows[at] < hi:
            out[rows[at]] += more
            at += 1


@jit
def set_units(terms, extents):
    """Units that are powers of two, so that products with them are exact, and such that sums fit their bits."""
    top, total = SMALLEST_EXTENT, 0.0
    for i in range(len(extents)):
        top = max(top, extents[i, 0])
        total += extents[i, 1]
    bits = SUM_BITS - np.int64(terms[COUNT_BITS])
    terms[GRADIENT_UNIT] = math.ldexp(1.0, _ceil_log2(top) - 31)
    terms[CURVATURE_UNIT] = math.ldexp(1.0, _ceil_log2(max(SLACK * total, SMALLEST_EXTENT)) - bits)


@jit
def set_root_sums(tree, totals):
    """The sums of the root."""
    a, b, root = np.int64(0), np.int64(0), tree.numbers[0]
    for i in range(len(totals)):
        a += totals[i, 0]
        b += totals[i, 1]
    root[G], root[H] = (
        a * tree.terms[GRADIENT_UNIT],
        (b >> np.int64(tree.terms[COUNT_BITS])) * tree.terms[CURVATURE_UNIT],
    )
    root[N] = np.float64(b & count_mask(tree.terms))


@jit
def _ceil_log2(x):
    mantissa, exponent = math.frexp(x)
    return exponent - 1 if mantissa == 0.5 else exponent
