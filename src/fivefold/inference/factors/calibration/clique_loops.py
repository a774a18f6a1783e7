"""Compiled loops of a junction tree: products and sums over cells, messages, evidence sets in a batch."""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.inference.factors.calibration.clique_layout import ALL_ZERO

# A product of two positive numbers below this may have lost digits: the calibration is made again in logarithms.
SMALLEST = 1e-280
# A table whose cells sum to less, or to more, is scaled before the next product.
SMALL_SUM, LARGE_SUM = 1e-60, 1e60
# How a product, or the calibration of an evidence set, ended: the worst counts.
DONE, IMPOSSIBLE, UNDERFLOW = 0, 1, 2


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def multiply_by(cells, starts, maps, steps, number, message, at):
    """table *= message, cell by cell; the new sum, and whether a product of positive numbers is too small."""
    start, outer, n_outer = starts[maps[number, 0]], maps[number, 1], maps[number, 2]
    inner, n_inner, kind = maps[number, 3], maps[number, 4], maps[number, 5]
    total, lost = 0.0, False
    for a in range(n_outer):
        row, base = start + a * n_inner, at + steps[outer + a]
        if kind == ALL_ZERO:
            factor = message[base]
            for b in range(n_inner):
                before = cells[row + b]
                after = before * factor
                cells[row + b] = after
                total += after
                lost |= (after < SMALLEST) & (before > 0.0) & (factor > 0.0)
        else:
            for b in range(n_inner):
                before, factor = cells[row + b], message[base + steps[inner + b]]
                after = before * factor
                cells[row + b] = after
                total += after
                lost |= (after < SMALLEST) & (before > 0.0) & (factor > 0.0)
    return total, lost


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def sum_onto(cells, starts, maps, steps, number, target, at, size):
    """target = sum of the table's cells that the map takes to it."""
    start, outer, n_outer = starts[maps[number, 0]], maps[number, 1], maps[number, 2]
    inner, n_inner, kind = maps[number, 3], maps[number, 4], maps[number, 5]
    for b in range(size):
        target[at + b] = 0.0
    for a in range(n_outer):
        row, base = start + a * n_inner, at + steps[outer + a]
        if kind == ALL_ZERO:
            total = 0.0
            for b in range(n_inner):
                total += cells[row + b]
            target[base] += total
        else:
            for b in range(n_inner):
                target[base + steps[inner + b]] += cells[row + b]


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def scale_table(cells, first, last):
    """Divide the cells by their sum; the sum."""
    total = 0.0
    for i in range(last - first):
        total += cells[first + i]
    if total > 0.0:
        factor = 1.0 / total
        for i in range(last - first):
            cells[first + i] *= factor
    return total


@jit(error_model="numpy", reference_counting=False)
def multiply_and_scale(layout, cells, number, message, at):
    """multiply_by, and scale the table if its sum is far from one: (log of the scale, how it ended)."""
    total, lost = multiply_by(cells, layout.starts, layout.maps, layout.steps, number, message, at)
    if not total > 0.0:
        return -np.inf, UNDERFLOW if lost else IMPOSSIBLE
    state = UNDERFLOW if lost else DONE
    if SMALL_SUM < total < LARGE_SUM:
        return 0.0, state
    table = layout.maps[number, 0]
    return np.log(scale_table(cells, layout.starts[table], layout.starts[table + 1])), state


@jit(error_model="numpy", reference_counting=False)
def load_factors(layout, tables, cells):
    """Products of the factors of each clique: (log of the scales taken out, how it ended)."""
    for i in range(layout.starts[len(layout.parents)]):
        cells[i] = 1.0
    log_scale, worst = 0.0, DONE
    for i in range(len(layout.factor_maps)):
        log_part, state = multiply_and_scale(layout, cells, layout.factor_maps[i], tables, layout.factor_starts[i])
        log_scale, worst = log_scale + log_part, max(worst, state)
    return log_scale, worst


@jit(error_model="numpy", reference_counting=False)
def collect(layout, cells):
    """Messages to the root: (log of the sum of all, how it ended)."""
    starts, n = layout.starts, len(layout.parents)
    log_sum, worst = 0.0, DONE
    for i in range(n):
        k = n - 1 - i
        total = scale_table(cells, starts[k], starts[k + 1])
        if not total > 0.0:
            return -np.inf, max(worst, IMPOSSIBLE)
        log_sum += np.log(total)
        if layout.parents[k] >= 0:
            at, size = starts[n + k], starts[n + k + 1] - starts[n + k]
            sum_onto(cells, starts, layout.maps, layout.steps, layout.child_maps[k], cells, at, size)
            log_part, state = multiply_and_scale(layout, cells, layout.parent_maps[k], cells, at)
            log_sum, worst = log_sum + log_part, max(worst, state)
    return log_sum, worst


@jit(error_model="numpy", reference_counting=False)
def distribute(layout, cells, ratio):
    """Messages from the root; separators hold their marginals afterwards. Zero divided by zero is zero."""
    starts, maps, steps, n = layout.starts, layout.maps, layout.steps, len(layout.parents)
    for i in range(n - 1):
        k = i + 1
        at, size = starts[n + k], starts[n + k + 1] - starts[n + k]
        for j in range(size):
            ratio[j] = cells[at + j]
        sum_onto(cells, starts, maps, steps, layout.parent_maps[k], cells, at, size)
        for j in range(size):
            ratio[j] = cells[at + j] / ratio[j] if ratio[j] > 0.0 else 0.0
        multiply_by(cells, starts, maps, steps, layout.child_maps[k], ratio, 0)


@jit(error_model="numpy", reference_counting=False)
def calibrate_sets(layout, potentials, observed, likelihoods, weights, cells, ratio, marginals, log_sums, states, sums):
    """Calibrate evidence set after evidence set: marginals (sets * sum of cards,), log sums, how each ended.

    `likelihoods` has the layout of `marginals`; `observed` (sets, V) says which of them count. `cells` holds the
    beliefs of the last set; weight times beliefs is added to `sums`, where it has room.
    """
    starts, variables, n = layout.starts, layout.variable_starts, len(layout.parents)
    for b in range(len(observed)):
        for i in range(starts[n]):
            cells[i] = potentials[i]
        first_of_set = b * variables[-1]
        log_sums[b], states[b] = 0.0, DONE
        for v in range(len(layout.evidence_maps)):
            if observed[b, v]:
                at = first_of_set + variables[v]
                log_part, state = multiply_and_scale(layout, cells, layout.evidence_maps[v], likelihoods, at)
                log_sums[b], states[b] = log_sums[b] + log_part, max(states[b], state)
        if states[b] == DONE:
            log_part, states[b] = collect(layout, cells)
            log_sums[b] += log_part
        if states[b] != DONE:
            continue
        distribute(layout, cells, ratio)
        for v in range(len(layout.variable_maps)):
            at, size = first_of_set + variables[v], variables[v + 1] - variables[v]
            sum_onto(cells, starts, layout.maps, layout.steps, layout.variable_maps[v], marginals, at, size)
            scale_table(marginals, at, at + size)
        for i in range(len(sums)):
            sums[i] += weights[b] * cells[i]
