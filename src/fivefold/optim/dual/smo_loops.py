"""Compiled steps of sequential minimal optimisation; the problem and its symbols are in `kernel_dual`.

Which multipliers may rise or fall is coded as a shift: u_i = f_i + rise_i and l_i = f_i + fall_i, with -BARRED and
+BARRED where they may not. Then both choices of the working pair are maxima of plain sums, which vectorise; columns are
worked through in chunks whose extremes are kept, so that a search for an index reads one chunk.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Doubles, Indices

NO_BOUND = 1e300  # stands for infinity, as the loops assume finite numbers
BARRED = 1e30  # the shift of a multiplier at its bound; residuals are far smaller
CHUNK_COLUMNS = 64  # columns whose extremes are kept as one: a search reads all chunks, then the columns of one
MIN_CURVATURE = 1e-12  # along a pair; for kernels that are not positive definite, and equal rows

CONVERGED, PAUSED = 0, 1  # why the loops return
STEPS, INDEFINITE = 0, 1  # slots of `counters`: steps taken, a curvature below zero
NEGATIVE_CURVATURE = -1e-5  # along a pair, as a share of the entries: below it the matrix is not positive semidefinite


class Multipliers(NamedTuple):
    """The columns that are worked on, by position; arrays change in place."""

    b: Doubles
    f: Doubles  # residuals t - (G + R) b
    low: Doubles
    high: Doubles
    ridge: Doubles
    diagonal: Doubles  # of G + R
    rise: Doubles
    fall: Doubles


class Chunks(NamedTuple):
    """Runs of columns, and the runs of them that are groups."""

    starts: Indices
    group_starts: Indices  # in chunks
    tops: Doubles
    bottoms: Doubles
    gains: Doubles


@jit(error_model="numpy")
def set_shifts(i, b, low, high, tube_width, rise, fall):
    """The shifts of multiplier i: what the tube adds to its slopes, or that it is barred."""
    rise[i] = -BARRED if b[i] >= high[i] else (-tube_width if b[i] >= 0.0 else tube_width)
    fall[i] = BARRED if b[i] <= low[i] else (-tube_width if b[i] > 0.0 else tube_width)


@jit(error_model="numpy")
def set_all_shifts(b, low, high, tube_width, rise, fall):
    """The shifts of all multipliers."""
    for i in range(len(b)):
        set_shifts(i, b, low, high, tube_width, rise, fall)


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def find_extremes(f, rise, fall, starts, tops, bottoms):
    """The largest u and the smallest l of each chunk."""
    for c in range(len(tops)):
        at, end, top, bottom = starts[c], starts[c + 1], -1e300, 1e300
        fs, ups, downs = f[at:end], rise[at:end], fall[at:end]
        for t in range(end - at):
            top = max(top, fs[t] + ups[t])
            bottom = min(bottom, fs[t] + downs[t])
        tops[c], bottoms[c] = top, bottom


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def move_pair(f, Q, first, second, step, rise, fall, starts, tops, bottoms):
    """f -= step (row `first` - row `second` of Q), and the extremes of each chunk afterwards."""
    for c in range(len(tops)):
        at, end, top, bottom = starts[c], starts[c + 1], -1e300, 1e300
        fs, ups, downs, one, two = f[at:end], rise[at:end], fall[at:end], Q[first, at:end], Q[second, at:end]
        for t in range(end - at):
            v = fs[t] - step * (one[t] - two[t])
            fs[t] = v
            top = max(top, v + ups[t])
            bottom = min(bottom, v + downs[t])
        tops[c], bottoms[c] = top, bottom


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def move_one(f, Q, row, step, rise, fall, starts, tops, bottoms):
    """f -= step (a row of Q), and the extremes of each chunk afterwards."""
    for c in range(len(tops)):
        at, end, top, bottom = starts[c], starts[c + 1], -1e300, 1e300
        fs, ups, downs, one = f[at:end], rise[at:end], fall[at:end], Q[row, at:end]
        for t in range(end - at):
            v = fs[t] - step * one[t]
            fs[t] = v
            top = max(top, v + ups[t])
            bottom = min(bottom, v + downs[t])
        tops[c], bottoms[c] = top, bottom


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def find_gains(f, Q, row, diagonal, own, top, least, fall, starts, first, last, gains):
    """The largest gain of a partner in each of the chunks first..last."""
    for c in range(last - first):
        at, end, best = starts[first + c], starts[first + c + 1], 0.0
        fs, downs, squares, one = f[at:end], fall[at:end], diagonal[at:end], Q[row, at:end]
        for t in range(end - at):
            d = max(top - fs[t] - downs[t], 0.0)
            a = max(own + squares[t] - (one[t] + one[t]), least)
            best = max(best, d * d / a)
        gains[first + c] = best


@jit(error_model="numpy", reference_counting=False)
def best_partner(f, Q, row, diagonal, own, top, least, fall, start, stop):
    """The partner with the largest gain in one chunk."""
    best, at = -1.0, start
    for t in range(start, stop):
        d = max(top - (f[t] + fall[t]), 0.0)
        gain = d * d / max(own + diagonal[t] - 2 * Q[row, t], least)
        if gain > best:
            best, at = gain, t
    return at


@jit(error_model="numpy", reference_counting=False)
def best_riser(f, rise, start, stop):
    """The multiplier with the largest u in one chunk."""
    best, at = f[start] + rise[start], start
    for t in range(start + 1, stop):
        if f[t] + rise[t] > best:
            best, at = f[t] + rise[t], t
    return at


@jit(error_model="numpy", reference_counting=False)
def largest(values, first, last):
    """Index of the largest of values[first:last]."""
    best, at = values[first], first
    for c in range(first + 1, last):
        if values[c] > best:
            best, at = values[c], c
    return at


@jit(error_model="numpy", reference_counting=False)
def widest_group(tops, bottoms, group_starts):
    """The group of multipliers with the largest violation, its violation, and the chunk of its largest u."""
    group, violation, chunk = 0, -1e300, 0
    for g in range(len(group_starts) - 1):
        at = largest(tops, group_starts[g], group_starts[g + 1])
        bottom = 1e300
        for c in range(group_starts[g], group_starts[g + 1]):
            bottom = min(bottom, bottoms[c])
        if tops[at] - bottom > violation:
            group, violation, chunk = g, tops[at] - bottom, at
    return group, violation, chunk


@jit(error_model="numpy", reference_counting=False)
def room_above(b, high, tube_width):
    """Where a rising multiplier has to stop: its bound, or the kink at zero."""
    return 0.0 if tube_width > 0.0 and b < 0.0 else high


@jit(error_model="numpy", reference_counting=False)
def room_below(b, low, tube_width):
    """Where a falling multiplier has to stop."""
    return 0.0 if tube_width > 0.0 and b > 0.0 else low


@jit(error_model="numpy", reference_counting=False)
def pair_steps(m, Q, chunks, counters, tube_width, least, tol, max_steps):
    """Steps along pairs, until none violates the optimality conditions by `tol`, or `max_steps`."""
    while True:
        group, violation, chunk = widest_group(chunks.tops, chunks.bottoms, chunks.group_starts)
        if violation < tol:
            return CONVERGED
        if counters[STEPS] >= max_steps:
            return PAUSED
        first, last = chunks.group_starts[group], chunks.group_starts[group + 1]
        i = best_riser(m.f, m.rise, chunks.starts[chunk], chunks.starts[chunk + 1])
        top, own = m.f[i] + m.rise[i], m.diagonal[i]
        find_gains(m.f, Q, i, m.diagonal, own, top, least, m.fall, chunks.starts, first, last, chunks.gains)
        chunk = largest(chunks.gains, first, last)
        if chunks.gains[chunk] <= 0.0:
            return CONVERGED  # rounding leaves nothing to gain
        j = best_partner(m.f, Q, i, m.diagonal, own, top, least, m.fall, chunks.starts[chunk], chunks.starts[chunk + 1])
        counters[STEPS] += 1
        curvature = Q[i, i] - Q[i, j] - Q[j, i] + Q[j, j] + m.ridge[i] + m.ridge[j]
        if curvature < NEGATIVE_CURVATURE * (abs(Q[i, i]) + abs(Q[j, j])):
            counters[INDEFINITE] = 1
        step = take_step(m, i, j, (top - (m.f[j] + m.fall[j])) / max(curvature, least), tube_width)
        move_pair(m.f, Q, i, j, step, m.rise, m.fall, chunks.starts, chunks.tops, chunks.bottoms)


@jit(error_model="numpy", reference_counting=False)
def take_step(m, i, j, step, tube_width):
    """Let b_i rise and b_j fall by at most `step`, as far as bounds and kinks allow; returns the step taken."""
    above, below = room_above(m.b[i], m.high[i], tube_width), room_below(m.b[j], m.low[j], tube_width)
    room_i, room_j = above - m.b[i], m.b[j] - below
    step = min(step, room_i, room_j)
    m.b[i] = above if step == room_i else m.b[i] + step
    m.b[j] = below if step == room_j else m.b[j] - step
    set_shifts(i, m.b, m.low, m.high, tube_width, m.rise, m.fall)
    set_shifts(j, m.b, m.low, m.high, tube_width, m.rise, m.fall)
    m.f[i] -= step * m.ridge[i]
    m.f[j] += step * m.ridge[j]
    return step


@jit(error_model="numpy", reference_counting=False)
def single_steps(m, Q, chunks, counters, tube_width, least, tol, max_steps):
    """The same for multipliers without an equality: one at a time, the one with the largest gain."""
    while True:
        violation, best, i = 0.0, -1.0, 0
        for t in range(len(m.b)):
            v = max(m.f[t] + m.rise[t], -(m.f[t] + m.fall[t]))
            violation = max(violation, v)
            if v > 0.0 and v * v / max(m.diagonal[t], least) > best:
                best, i = v * v / max(m.diagonal[t], least), t
        if violation < tol or best <= 0.0:
            return CONVERGED
        if counters[STEPS] >= max_steps:
            return PAUSED
        counters[STEPS] += 1
        up = m.f[i] + m.rise[i] > 0.0
        slope = m.f[i] + (m.rise[i] if up else m.fall[i])
        end = room_above(m.b[i], m.high[i], tube_width) if up else room_below(m.b[i], m.low[i], tube_width)
        step = slope / max(Q[i, i] + m.ridge[i], least)
        if abs(step) >= abs(end - m.b[i]):
            step = end - m.b[i]
            m.b[i] = end
        else:
            m.b[i] += step
        set_shifts(i, m.b, m.low, m.high, tube_width, m.rise, m.fall)
        m.f[i] -= step * m.ridge[i]
        move_one(m.f, Q, i, step, m.rise, m.fall, chunks.starts, chunks.tops, chunks.bottoms)


@jit(error_model="numpy", reference_counting=False)
def assess(t, low, high, ridge, b, f, group_ends, equality, tube_width, offsets, out):
    """The offsets of the groups, and value, gap, violation and b'Gb in `out`: what `KernelDual` says of a point."""
    start, worst = 0, 0.0 if not equality else -1e300
    gap = value = norm = 0.0
    for g in range(len(group_ends)):
        top, bottom, total, count = -1e300, 1e300, 0.0, 0
        for i in range(start, group_ends[g]):
            u = f[i] - (tube_width if b[i] >= 0.0 else -tube_width)
            down = f[i] - (tube_width if b[i] > 0.0 else -tube_width)
            if b[i] < high[i]:
                top = max(top, u)
            if b[i] > low[i]:
                bottom = min(bottom, down)
            if low[i] < b[i] < high[i] and (tube_width == 0.0 or b[i] != 0.0):
                total += u
                count += 1
        if not equality:
            worst, c = max(worst, top, -bottom), 0.0
        else:
            worst = max(worst, top - bottom)
            c = offset_between(top, bottom, total, count)
        offsets[g] = c
        for i in range(start, group_ends[g]):
            gap += row_gap(f[i] - c, b[i], low[i], high[i], ridge[i], tube_width)
            value += tube_width * abs(b[i]) - 0.5 * b[i] * (t[i] + f[i])
            norm += b[i] * (t[i] - f[i] - ridge[i] * b[i])
        start = group_ends[g]
    out[0], out[1], out[2], out[3] = value, gap, worst, norm


@jit(error_model="numpy", reference_counting=False)
def largest_violation(low, high, b, f, group_ends, equality, tube_width):
    """The largest u_i - l_j within a group; without equality the largest slope that could be followed."""
    start, worst = 0, 0.0 if not equality else -1e300
    for g in range(len(group_ends)):
        top, bottom = -1e300, 1e300
        for i in range(start, group_ends[g]):
            if b[i] < high[i]:
                top = max(top, f[i] - (tube_width if b[i] >= 0.0 else -tube_width))
            if b[i] > low[i]:
                bottom = min(bottom, f[i] - (tube_width if b[i] > 0.0 else -tube_width))
        worst = max(worst, top - bottom) if equality else max(worst, top, -bottom)
        start = group_ends[g]
    return worst


@jit(error_model="numpy", reference_counting=False)
def offset_between(top, bottom, total, count):
    """The offset of a group: the mean of `count` free slopes, or the middle of where it may be."""
    if count > 0:
        return total / count
    if top == -1e300:
        return bottom
    return top if bottom == 1e300 else 0.5 * (top + bottom)


@jit(error_model="numpy", reference_counting=False)
def row_gap(r, b, low, high, ridge, tube_width):
    """What a row adds to the duality gap, with r its residual less the offset."""
    if max(high, -low) < NO_BOUND:
        return max(high * (r - tube_width), low * (r + tube_width), 0.0) - (r * b - tube_width * abs(b))
    if ridge == 0.0:
        return np.inf
    loose = r + ridge * b if high > 0.0 else -(r + ridge * b)
    return 0.5 * (max(loose, 0.0) - ridge * abs(b)) ** 2 / ridge + max(-loose, 0.0) * abs(b)


@jit(error_model="numpy", reference_counting=False)
def leave_out(b, out, low, high):
    """Set the multipliers of the rows `out` to zero and restore the sum of zero by others, free ones first."""
    excess = 0.0
    for i in range(len(b)):
        if out[i]:
            b[i] = 0.0
        excess += b[i]
    for late in range(2):
        for i in range(len(b)):
            free = low[i] < b[i] < high[i]
            if excess == 0.0:
                return
            if free != (late == 0):
                continue
            new = min(max(b[i] - excess, low[i]), high[i])
            excess -= b[i] - new
            b[i] = new


@jit(error_model="numpy")
def block_steps(Q, low, high, ridge, b, f, group_ends, equality, tube_width, least, tol, max_steps):
    """Steps of a problem all of whose rows are at hand; returns the status, their number and INDEFINITE."""
    n = len(b)
    rise, fall, diagonal = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        diagonal[i] = Q[i, i] + ridge[i]
    set_all_shifts(b, low, high, tube_width, rise, fall)
    count = 0
    for g in range(len(group_ends)):
        size = group_ends[g] - (group_ends[g - 1] if g > 0 else 0)
        count += (size + CHUNK_COLUMNS - 1) // CHUNK_COLUMNS
    starts, group_starts = np.zeros(count + 1, np.int64), np.zeros(len(group_ends) + 1, np.int64)
    c, at = 0, 0
    for g in range(len(group_ends)):
        while at < group_ends[g]:
            at = min(at + CHUNK_COLUMNS, group_ends[g])
            c += 1
            starts[c] = at
        group_starts[g + 1] = c
    tops, bottoms, gains = np.empty(count), np.empty(count), np.empty(count)
    find_extremes(f, rise, fall, starts, tops, bottoms)
    counters = np.zeros(2, np.int64)
    m = Multipliers(b, f, low, high, ridge, diagonal, rise, fall)
    chunks = Chunks(starts, group_starts, tops, bottoms, gains)
    if equality:
        status = pair_steps(m, Q, chunks, counters, tube_width, least, tol, max_steps)
    else:
        status = single_steps(m, Q, chunks, counters, tube_width, least, tol, max_steps)
    return status, counters[STEPS], counters[INDEFINITE]
