"""Compiled loops for family counts and family scores: one pass over the rows serves several candidate columns.

A table of counts has the axes [configuration of the parents, state of the child, state of one more column]. It is made
by adding the weight of each row to its cell, or, for rows of weight one, by counting the ones of bit rows: a bit row
has one bit per row of the table, set where a column is in one of its states.
"""

from math import lgamma, log

import numpy as np

from fivefold.core.compilation.jit import jit

WORD_BITS = 64  # rows per word of a bit row
# How a family score is made of its counts (`rule`): the logarithm of the likelihood at its maximum, or of the marginal
# likelihood with the same Dirichlet parameter for every cell, or with a total that is divided among the cells
LIKELIHOOD, SAME_PER_CELL, DIVIDED = range(3)


@jit(error_model="numpy")
def add_to_cells(codes, columns, strides, offsets, base, w, counts):
    """counts[offset_j + base_i stride_j + code_ij] += w_i for each of the columns j."""
    n, m = len(base), len(columns)
    for i in range(n):
        b, v = base[i], w[i]
        for j in range(m):
            counts[offsets[j] + b * strides[j] + codes[columns[j], i]] += v


@jit
def ones(x):
    """How many bits of a word are set; compilers know this formula, and use one instruction for it."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit(error_model="numpy")
def set_bits(codes, starts, bits):
    """Bit rows of every state of every column; a code without a state of its own sets none."""
    d, n = codes.shape
    for j in range(d):
        last = starts[j + 1] - starts[j]
        for i in range(n):
            if codes[j, i] < last:
                bits[starts[j] + codes[j, i], i // WORD_BITS] |= np.uint64(1) << np.uint64(i % WORD_BITS)


@jit(error_model="numpy")
def count_bits(bits, starts, base, columns, strides, offsets, counts, chosen):
    """As `add_to_cells` for rows of weight one; `base` are the columns whose configurations are the first axes.

    `chosen` is scratch, a bit row: the rows of one configuration.
    """
    words, configurations = len(chosen), 1
    for a in range(len(base)):
        configurations *= starts[base[a] + 1] - starts[base[a]]
    for q in range(configurations):
        rest = q
        for i in range(words):
            chosen[i] = ~np.uint64(0)
        for a in range(len(base) - 1, -1, -1):
            levels = starts[base[a] + 1] - starts[base[a]]
            row = starts[base[a]] + rest % levels
            rest //= levels
            for i in range(words):
                chosen[i] &= bits[row, i]
        any_row = np.uint64(0)
        for i in range(words):
            any_row |= chosen[i]
        if any_row == 0:
            continue
        for j in range(len(columns)):
            first = starts[columns[j]]
            for x in range(starts[columns[j] + 1] - first):
                found = 0
                for i in range(words):
                    found += ones(chosen[i] & bits[first + x, i])
                counts[offsets[j] + q * strides[j] + x] = found


@jit(error_model="numpy")
def score_counts(counts, outer, child, inner, configurations, rule, strength, penalty):
    """The score of a family from its counts [outer, child, inner]; cells of other configurations are empty.

    `configurations` is their full number; `strength` the Dirichlet parameter of a cell, or the total of all cells.
    """
    total = 0.0
    cell_prior = strength if rule == SAME_PER_CELL else strength / (configurations * child)
    row_prior = cell_prior * child
    if rule != LIKELIHOOD:
        log_cell, log_row = lgamma(cell_prior), lgamma(row_prior)
    for p in range(outer):
        for x in range(inner):
            row = 0.0
            for c in range(child):
                value = counts[(p * child + c) * inner + x]
                if value > 0:
                    row += value
                    total += value * log(value) if rule == LIKELIHOOD else lgamma(cell_prior + value) - log_cell
            if row > 0:
                total -= row * log(row) if rule == LIKELIHOOD else lgamma(row_prior + row) - log_row
    return total - penalty * (child - 1) * configurations


@jit(error_model="numpy")
def score_tables(counts, offsets, outer, child, inner, configurations, rule, strength, penalty, scores):
    """Scores of several families from tables [outer, child, inner] end to end; sizes are arrays, except `outer`."""
    for j in range(len(offsets)):
        table = counts[offsets[j] : offsets[j] + outer * child[j] * inner[j]]
        scores[j] = score_counts(table, outer, child[j], inner[j], configurations[j], rule, strength, penalty)
