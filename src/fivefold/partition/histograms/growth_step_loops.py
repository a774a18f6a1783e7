"""The books of a histogram tree that grows: which nodes are divided next, in which tasks, and what is kept of each.

`next_phase` is called by the first thread of the team between phases. It goes through the steps of a wave in turn:
PREPARE (choose nodes, make their children), SEPARATE (rows), BUILD (histograms), SEARCH (cuts), and back.
"""

from __future__ import annotations

import math

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.partition.histograms.bins import COLUMNS_PER_WORD
from fivefold.partition.histograms.growth_state import (
    BINS_LEFT,
    BUFFER,
    CHUNKS,
    COST,
    COUNTS,
    CUT,
    DEEPER,
    DEPTH,
    DIVIDED,
    FIRST,
    FIRST_PARTIAL,
    FOUND_BINS,
    FREE,
    HI,
    INDEX,
    LAST,
    LEFT,
    LEFT_IS_SMALL,
    LO,
    MAX_DEPTH,
    MAX_LEAVES,
    N_FREE,
    N_INDICES,
    N_LEAVES,
    N_NODES,
    N_QUEUED,
    N_ROWS,
    N_WAVE,
    NODE,
    ORDER,
    PARENT,
    PARTIAL,
    PARTS,
    PATH,
    PLACE,
    QUEUED,
    RIGHT,
    ROWS_ELSEWHERE,
    SEARCH_LEFT,
    SEARCH_RIGHT,
    SEED,
    SET_WORDS,
    SMALL_TABLE,
    STEP,
    TABLE,
    THREADS,
)
from fivefold.partition.histograms.histogram_loops import (
    COLUMN,
    CUT_NUMBERS,
    GAIN,
    GROUPS_PER_PASS,
    LEFT_G,
    LEFT_N,
    LOWER_BOUND,
    MIN_ROWS,
    RIDGE,
    SIGN,
    UPPER_BOUND,
    VALUE,
    G,
    H,
    N,
)
from fivefold.partition.histograms.node_queue_loops import FREE_TABLES, enqueue, pop, push, release_table, take_table

VALUES_PER_PART = 2**15  # values (rows x columns) from which a part of a node's rows is worth a task and a table
# From this many threads on, tasks are narrow: to add up the tables of many parts takes longer than to gather rows twice
MANY_THREADS, GROUPS_PER_TASK = 8, 2
COLUMNS_PER_SEARCH = 8  # columns per task of a search, at most
ROWS_PER_BUILT_ROW = 8  # rows that are separated, or moved, in the time in which one is added to histograms
UNBOUNDED = 1e300  # bound of the values below a node that is free: no value reaches it
# Steps, which are kinds of tasks as well; FILL builds histograms of whole nodes: of the root, and those given up. After
# FULL, kinds of tasks of passes over all rows
START, FILL, SEPARATE, BUILD, SEARCH, PREPARE, END, FULL, EXTENT, QUANTISE, ADD = range(11)


@jit
def next_phase(tree, interaction_sets, column_share):
    """The kind of the next tasks and how many there are; END when the tree is grown, FULL where nodes find no room.

    `interaction_sets` is None where nodes may use any column.
    """
    nodes, numbers, counters, wave, tasks = tree.nodes, tree.numbers, tree.counters, tree.wave, tree.tasks
    columns, terms, count = tree.columns, tree.terms, 0
    while count == 0:
        step = counters[STEP]
        if step == START:
            _make_root(nodes, numbers, counters, terms, wave[0], len(columns))
            counters[STEP] = FILL if counters[N_WAVE] > 0 else END
            count = _row_tasks(nodes, counters, wave, tasks)
        elif step == FILL:
            root = wave[0, SMALL_TABLE] < 0
            counters[STEP] = BUILD if root else SEPARATE
            count = 0 if root else _row_tasks(nodes, counters, wave, tasks)
        elif step == SEPARATE:
            _set_middles(nodes, counters, wave)
            counters[STEP] = BUILD
            count = _row_tasks(nodes, counters, wave, tasks)
        elif step == BUILD:
            if interaction_sets is not None:
                _draw_columns(nodes, numbers, counters, wave, tree.allowed, interaction_sets, column_share)
            counters[STEP] = SEARCH
            count = _search_tasks(counters, wave, tasks, len(columns))
        elif step == SEARCH:
            _keep_cuts(nodes, numbers, counters, wave, tasks, tree.found, len(columns))
            counters[STEP] = PREPARE
        elif step == PREPARE:
            counters[STEP] = _prepare_wave(nodes, numbers, counters, terms, wave, columns)
            count = _row_tasks(nodes, counters, wave, tasks) if counters[STEP] == FILL else 0
        else:
            return step, 0
    return counters[STEP], count


@jit
def _make_root(nodes, numbers, counters, terms, wave, columns):
    """The root, whose sums are known, and a wave that finds its cut if it can be divided."""
    root, sums, n = nodes[0], numbers[0], counters[N_ROWS]
    sums[LOWER_BOUND], sums[UPPER_BOUND], sums[CUT + GAIN] = -UNBOUNDED, UNBOUNDED, 0.0
    sums[VALUE] = -sums[G] / (sums[H] + terms[RIDGE])
    for k in range(LO, BINS_LEFT):
        root[k] = 0
    root[HI], root[PARENT], root[LEFT], root[RIGHT], root[TABLE], root[PATH] = n, -1, -1, -1, -1, 1
    counters[N_NODES], counters[N_LEAVES], counters[N_QUEUED], counters[N_INDICES], counters[N_WAVE] = 1, 1, 0, 1, 0
    counters[N_FREE] = len(counters) - FREE
    for i in range(counters[N_FREE]):
        counters[FREE + i] = i
    if counters[MAX_LEAVES] != 1 and _can_divide(root, sums, counters, terms):
        root[TABLE] = take_table(counters)
        wave[NODE], wave[SMALL_TABLE], wave[PARTIAL] = 0, -1, counters[FIRST_PARTIAL]
        wave[DEEPER], wave[SEARCH_LEFT], wave[SEARCH_RIGHT], wave[LEFT_IS_SMALL] = 1, 1, 0, 1
        wave[PARTS], wave[CHUNKS] = _cut(counters, n, n, columns)
        counters[N_WAVE] = 1


@jit
def _can_divide(node, sums, counters, terms):
    """Could a node be divided, if the tree may have more leaves?"""
    return node[DEPTH] < counters[MAX_DEPTH] and sums[N] >= 2 * terms[MIN_ROWS] and node[HI] - node[LO] > 1


@jit
def _cut(counters, rows, total, columns):
    """Parts of the rows of a node of a wave with `total` rows, and tasks per part: two tasks per thread in the wave."""
    threads = counters[THREADS]
    if threads == 1 or rows * columns < VALUES_PER_PART or counters[ROWS_ELSEWHERE] == 1:
        return 1, 1
    groups = (columns + COLUMNS_PER_WORD - 1) // COLUMNS_PER_WORD
    width = GROUPS_PER_PASS if threads < MANY_THREADS else GROUPS_PER_TASK
    chunks = (groups + width - 1) // width
    parts = min(2 * threads * rows // total, rows * columns // VALUES_PER_PART) // chunks
    return min(max(1, parts), threads), chunks


@jit
def _prepare_wave(nodes, numbers, counters, terms, wave, columns):
    """Take the next node out of the queue; if its children are not known, the wave that works them out; the step."""
    while counters[N_QUEUED] > 0 and (counters[N_LEAVES] < counters[MAX_LEAVES] or counters[MAX_LEAVES] == 0):
        node = nodes[nodes[0, QUEUED]]
        if node[LEFT] < 0:
            if counters[N_NODES] + 2 * len(wave) > len(nodes):
                return FULL
            _choose_wave(nodes, numbers, counters, wave, len(columns))
            for w in range(counters[N_WAVE]):
                _make_children(nodes, numbers, counters, terms, wave[w], columns)
            return FILL
        pop(nodes, numbers, counters)
        counters[N_LEAVES] += 1
        node[DIVIDED] = 1
        for child in range(node[LEFT], node[LEFT] + 2):
            nodes[child, INDEX] = counters[N_INDICES]
            nodes[counters[N_INDICES], ORDER] = child
            counters[N_INDICES] += 1
            enqueue(nodes, numbers, counters, child)
    return END


@jit
def _choose_wave(nodes, numbers, counters, wave, columns):
    """The first node of the queue and, for several threads, those that are likely to be divided after it.

    Nodes are divided on trial, which puts children that are known into the queue for a while: half as many as can still
    be divided, so that few are worked out in vain, or more for want of work.
    """
    threads, room, taken, count, total = counters[THREADS], len(wave), 0, 0, 0
    aside, limited = len(nodes), counters[MAX_LEAVES] > 0  # popped nodes wait at the end of the queue
    left = counters[MAX_LEAVES] - counters[N_LEAVES] if limited else room
    likely = (left + 1) // 2 if limited else room
    while counters[N_QUEUED] > 0 and count < room and taken < left:
        if taken >= likely and total * columns >= threads * VALUES_PER_PART:
            break
        if count > 0 and (threads == 1 or counters[N_FREE] < 2 * (count + 1) + FREE_TABLES):
            break
        node = pop(nodes, numbers, counters)
        taken += 1
        if _is_leaf(nodes, node):
            aside -= 1
            nodes[aside, QUEUED] = node
        if nodes[node, LEFT] < 0:
            wave[count, NODE] = node
            total += nodes[node, HI] - nodes[node, LO]
            count += 1
        elif limited:
            for child in range(nodes[node, LEFT], nodes[node, LEFT] + 2):
                if numbers[child, CUT + GAIN] > 0:
                    push(nodes, numbers, counters, child)
    queued = counters[N_QUEUED]
    if limited:  # without those that were there on trial
        counters[N_QUEUED] = 0
        for i in range(queued):
            if _is_leaf(nodes, nodes[i, QUEUED]):
                push(nodes, numbers, counters, nodes[i, QUEUED])
    for i in range(aside, len(nodes)):
        push(nodes, numbers, counters, nodes[i, QUEUED])
    partial = counters[FIRST_PARTIAL]
    for w in range(count):
        one = wave[w]
        one[PARTIAL] = partial
        one[PARTS], one[CHUNKS] = _cut(counters, nodes[one[NODE], HI] - nodes[one[NODE], LO], total, columns)
        partial += one[PARTS] - 1
    counters[N_WAVE] = count


@jit
def _is_leaf(nodes, node):
    """Is a node that is not divided part of the tree, and not below a node that was worked out and may be divided?"""
    return nodes[node, PARENT] < 0 or nodes[nodes[node, PARENT], DIVIDED] == 1


@jit(error_model="numpy")
def _make_children(nodes, numbers, counters, terms, wave, columns):
    """Two nodes below a node of the wave: sums, values and the bounds of values; tables where they are needed."""
    left, node, sums = counters[N_NODES], nodes[wave[NODE]], numbers[wave[NODE]]
    counters[N_NODES] += 2
    node[LEFT], node[RIGHT] = left, left + 1
    low, high = sums[LOWER_BOUND], sums[UPPER_BOUND]
    full = counters[N_LEAVES] + 1 == counters[MAX_LEAVES]
    for side in range(2):
        child, values = nodes[left + side], numbers[left + side]
        for k in range(LO, QUEUED):
            child[k] = node[k]
        child[DEPTH] += 1
        child[PARENT], child[PATH] = wave[NODE], mixed(2 * node[PATH] + side)
        child[LEFT], child[RIGHT], child[TABLE], child[INDEX] = -1, -1, -1, -1
        for k in range(3):
            part = sums[CUT + LEFT_G + k]
            values[G + k] = part if side == 0 else sums[G + k] - part
        values[LOWER_BOUND], values[UPPER_BOUND], values[CUT + GAIN] = low, high, 0.0
        values[VALUE] = min(max(-values[G] / (values[H] + terms[RIDGE]), low), high)
        wave[SEARCH_LEFT + side] = 1 if not full and _can_divide(child, values, counters, terms) else 0
    sign = columns[np.int64(sums[CUT + COLUMN]), SIGN]
    if sign != 0:
        lower, upper = numbers[left + (1 - sign) // 2], numbers[left + (1 + sign) // 2]
        middle = 0.5 * (lower[VALUE] + upper[VALUE])
        lower[UPPER_BOUND], upper[LOWER_BOUND] = middle, middle
    wave[DEEPER] = wave[SEARCH_LEFT] | wave[SEARCH_RIGHT]
    wave[LEFT_IS_SMALL] = 1 if 2 * sums[CUT + LEFT_N] <= sums[N] else 0
    wave[SMALL_TABLE] = take_table(counters) if wave[DEEPER] == 1 else 0


@jit
def _row_tasks(nodes, counters, wave, tasks):
    """Write the tasks of this step on rows of all nodes of the wave, the longest first; how many."""
    kind, count = counters[STEP], 0
    for w in range(counters[N_WAVE]):
        one = wave[w]
        parts, chunks = one[PARTS], one[CHUNKS]
        if kind == FILL and one[SMALL_TABLE] >= 0:  # not the root: only what was given up
            parts = 1 if one[DEEPER] == 1 and nodes[one[NODE], TABLE] < 0 else 0
            if parts == 1:
                nodes[one[NODE], TABLE] = take_table(counters)
        if kind == BUILD and parts * chunks == 1:
            continue
        if kind == SEPARATE or one[DEEPER] == 0:
            chunks = 1
        for k in range(parts * chunks):
            task = tasks[count]
            task[PLACE], task[FIRST], task[LAST] = w, k // chunks, k % chunks
            task[COST] = _cost(nodes[one[NODE]], one, kind, k // chunks, k % chunks)
            count += 1
    if counters[THREADS] > 1:
        _sort_by_cost(tasks, count)
    return count


@jit
def _cost(node, one, kind, part, chunk):
    """About how long a task on rows takes, in rows that are separated."""
    rows = node[HI] - node[LO]
    size = rows * (part + 1) // one[PARTS] - rows * part // one[PARTS]
    if kind == SEPARATE and one[PARTS] * one[CHUNKS] == 1:
        return size * ROWS_PER_BUILT_ROW // 2 if one[DEEPER] == 1 else size
    if kind != BUILD:
        return size
    added = one[COUNTS + part] if one[LEFT_IS_SMALL] == 1 else size - one[COUNTS + part]
    return (size if chunk == 0 else 0) + (added * ROWS_PER_BUILT_ROW if one[DEEPER] == 1 else 0)


@jit
def _sort_by_cost(tasks, count):
    """Put the first tasks in decreasing order of their cost, so that none of the long ones begins last."""
    for i in range(1, count):
        place, first, last, cost, at = tasks[i, PLACE], tasks[i, FIRST], tasks[i, LAST], tasks[i, COST], i
        while at > 0 and tasks[at - 1, COST] < cost:
            for k in range(FOUND_BINS):
                tasks[at, k] = tasks[at - 1, k]
            at -= 1
        tasks[at, PLACE], tasks[at, FIRST], tasks[at, LAST], tasks[at, COST] = place, first, last, cost


@jit
def _set_middles(nodes, counters, wave):
    """Where the right side of each node of the wave begins."""
    for w in range(counters[N_WAVE]):
        one = wave[w]
        node = nodes[one[NODE]]
        middle = node[LO]
        for p in range(one[PARTS]):
            middle += one[COUNTS + p]
        nodes[node[LEFT], HI], nodes[node[RIGHT], LO] = middle, middle


@jit
def _search_tasks(counters, wave, tasks, columns):
    """Write the searches for cuts of all nodes of the wave; how many."""
    count, several, threads = 0, 0, counters[THREADS]
    for w in range(counters[N_WAVE]):
        several += wave[w, DEEPER]
    step = columns if threads == 1 else max(1, min(COLUMNS_PER_SEARCH, columns * several // (4 * threads)))
    for w in range(counters[N_WAVE]):
        for first in range(0, columns if wave[w, DEEPER] == 1 else 0, step):
            task = tasks[count]
            task[PLACE], task[FIRST], task[LAST] = w, first, min(first + step, columns)
            count += 1
    return count


@jit
def _keep_cuts(nodes, numbers, counters, wave, tasks, found, columns):
    """Give the children of the wave their lists of rows, tables, and the first of the best cuts that were found."""
    i = 0
    for w in range(counters[N_WAVE]):
        one = wave[w]
        node, root, first = nodes[one[NODE]], one[SMALL_TABLE] < 0, i
        if one[PARTS] * one[CHUNKS] > 1 and not root:
            node[BUFFER] = 1 - node[BUFFER]
        for side in range(1 if root else 2):
            at = one[NODE] if root else node[LEFT + side]
            child, i = nodes[at], first
            child[BUFFER] = node[BUFFER]
            if one[DEEPER] == 1 and not root:
                child[TABLE] = one[SMALL_TABLE] if (side == 0) == (one[LEFT_IS_SMALL] == 1) else node[TABLE]
            more = one[DEEPER] == 1
            while more:
                if found[i, side, GAIN] > numbers[at, CUT + GAIN]:
                    for k in range(CUT_NUMBERS):
                        numbers[at, CUT + k] = found[i, side, k]
                    for k in range(SET_WORDS):
                        child[BINS_LEFT + k] = tasks[i, FOUND_BINS + side * SET_WORDS + k]
                more = tasks[i, LAST] < columns
                i += 1
        if root:
            enqueue(nodes, numbers, counters, one[NODE])
        elif one[DEEPER] == 1:
            node[TABLE] = -1
        else:
            release_table(node, counters)


@jit
def mixed(x):
    """A 64-bit number that depends on every bit of x (the finaliser of SplitMix64)."""
    z = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@jit
def _draw_columns(nodes, numbers, counters, wave, allowed, sets, share):
    """The columns that children may use, drawn by the seed and the path from the root: weights mean repetition."""
    columns = allowed.shape[2]
    for k in range(2 * counters[N_WAVE]):
        one, out = wave[k // 2], allowed[k // 2, k % 2]
        node = nodes[one[NODE]]
        if one[SMALL_TABLE] >= 0:
            node = nodes[node[LEFT + k % 2]]
        for f in range(columns):
            out[f] = 1 if len(sets) == 0 else 0
        for s in range(len(sets)):
            fits, above = True, node[PARENT]
            while above >= 0 and fits:
                fits = sets[s, np.int64(numbers[above, CUT + COLUMN])] == 1
                above = nodes[above, PARENT]
            for f in range(columns if fits else 0):
                out[f] |= sets[s, f]
        left = np.int64(0)
        for f in range(columns):
            left += out[f]
        wanted = np.int64(max(1.0, math.ceil(share * left)))
        number = mixed(node[PATH] ^ mixed(counters[SEED]))
        for f in range(columns):  # keep each of those left with the chance wanted / left
            if out[f] == 1:
                number = mixed(number)
                keep = (np.uint64(number) >> np.uint64(11)) * 2.0**-53 * left < wanted
                out[f] = 1 if keep else 0
                left -= 1
                wanted -= 1 if keep else 0
