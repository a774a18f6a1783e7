"""Compiled steps of sequential minimal optimisation; the problem and its symbols are in `kernel_dual`.

Which multipliers may rise or fall is coded as a shift: u_i = f_i + rise_i and l_i = f_i + fall_i, with -BARRED and
+BARRED where they may not. Then both choices of the working pair are maxima of plain sums, which vectorise; columns are
worked through in chunks whose extremes are kept, so that a search for an index reads one chunk. The steps are one long
loop, and maxima are written out, as every function that it called would take a tenth of a second to compile.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit

NO_BOUND = 1e300  # stands for infinity, as the loops assume finite numbers
LIMIT = 1e37  # above every residual and every shift, within float32
BARRED = 1e30  # the shift of a multiplier at its bound; residuals are far smaller
CHUNK_COLUMNS = 64  # columns whose extremes are kept as one: a search reads all chunks, then the columns of one

CONVERGED, PAUSED = 0, 1  # why the loops return
STEPS, INDEFINITE = 0, 1  # slots of `counters`: steps taken, a curvature below zero
VALUE, GAP, VIOLATION, SQUARED_NORM = range(4)  # slots of what `assess` writes
NEGATIVE_CURVATURE = -1e-5  # along a pair, as a share of the entries: below it the matrix is not positive semidefinite


@jit(error_model="numpy")
def rise_shift(b, high, tube_width):
    """What the tube adds to the slope upwards of a multiplier, or that it is barred."""
    return -BARRED if b >= high else (-tube_width if b >= 0.0 else tube_width)


@jit(error_model="numpy")
def fall_shift(b, low, tube_width):
    """The same downwards."""
    return BARRED if b <= low else (-tube_width if b > 0.0 else tube_width)


@jit(error_model="numpy", reference_counting=False)
def find_slopes(b, f, low, high, tube_width, u, down):
    """u and l of all multipliers; -inf and inf where one may not rise or fall."""
    for t in range(len(b)):
        rising, falling = tube_width if b[t] >= 0.0 else -tube_width, tube_width if b[t] > 0.0 else -tube_width
        u[t] = -np.inf if b[t] >= high[t] else f[t] - rising
        down[t] = np.inf if b[t] <= low[t] else f[t] - falling


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def pair_steps(
    Q, low, high, ridge, b, f, rise, fall, diagonal, starts, group_starts, tops, bottoms, counters,
    tube_width, least, tol, max_steps,
):  # fmt: skip
    """Steps along pairs, until none violates the optimality conditions by `tol`, or `max_steps`.

    Chunks run from starts[c] to starts[c + 1], groups over chunks likewise; rise, fall, diagonal, tops and bottoms are
    scratch, of the type of f: in float32 the searches take half the time. Each turn takes the step of the turn before.
    """
    number = f.dtype.type
    zero, lowest, largest, floor = number(0.0), number(-LIMIT), number(LIMIT), number(least)
    for t in range(len(b)):
        rise[t], fall[t] = rise_shift(b[t], high[t], tube_width), fall_shift(b[t], low[t], tube_width)
        diagonal[t] = Q[t, t] + ridge[t]
    i, j, step = 0, 0, 0.0
    while True:
        for c in range(len(tops)):
            at, end, top, bottom, s = starts[c], starts[c + 1], lowest, largest, number(step)
            fs, ups, downs, one, two = f[at:end], rise[at:end], fall[at:end], Q[i, at:end], Q[j, at:end]
            for t in range(end - at):
                v = fs[t] - s * (one[t] - two[t])
                fs[t] = v
                u, down = v + ups[t], v + downs[t]
                top = u if u > top else top
                bottom = down if down < bottom else bottom
            tops[c], bottoms[c] = top, bottom
        group, chunk, violation = 0, 0, -1e300
        for g in range(len(group_starts) - 1):
            at, top, bottom = 0, lowest, largest
            for c in range(group_starts[g], group_starts[g + 1]):
                if tops[c] > top:
                    at, top = c, tops[c]
                if bottoms[c] < bottom:
                    bottom = bottoms[c]
            if float(top) - float(bottom) > violation:
                group, chunk, violation = g, at, float(top) - float(bottom)
        if violation < tol:
            return CONVERGED
        if counters[STEPS] >= max_steps:
            return PAUSED
        i, top = starts[chunk], lowest
        for t in range(starts[chunk], starts[chunk + 1]):
            if f[t] + rise[t] > top:
                i, top = t, f[t] + rise[t]
        own, chunk, best = diagonal[i], -1, zero
        for c in range(group_starts[group], group_starts[group + 1]):
            at, end, most = starts[c], starts[c + 1], zero
            fs, downs, squares, one = f[at:end], fall[at:end], diagonal[at:end], Q[i, at:end]
            for t in range(end - at):
                d, a = top - fs[t] - downs[t], own + squares[t] - number(one[t] + one[t])
                d, a = d if d > zero else zero, a if a > floor else floor
                gain = d * d / a
                most = gain if gain > most else most
            if most > best:
                chunk, best = c, most
        if chunk < 0:
            return CONVERGED  # rounding leaves nothing to gain
        j, best = starts[chunk], number(-1.0)
        for t in range(starts[chunk], starts[chunk + 1]):
            d, a = top - f[t] - fall[t], own + diagonal[t] - number(Q[i, t] + Q[i, t])
            gain = (d * d if d > zero else zero) / (a if a > floor else floor)
            if gain > best:
                j, best = t, gain
        counters[STEPS] += 1
        curvature = Q[i, i] - Q[i, j] - Q[j, i] + Q[j, j] + ridge[i] + ridge[j]
        if curvature < NEGATIVE_CURVATURE * (abs(Q[i, i]) + abs(Q[j, j])):
            counters[INDEFINITE] = 1
        # b_i rises and b_j falls, as far as bounds and the kinks at zero allow
        above = 0.0 if tube_width > 0.0 and b[i] < 0.0 else high[i]
        below = 0.0 if tube_width > 0.0 and b[j] > 0.0 else low[j]
        room_i, room_j = above - b[i], b[j] - below
        step = float(top - (f[j] + fall[j])) / (curvature if curvature > least else least)
        step = step if step < room_i else room_i
        step = step if step < room_j else room_j
        b[i] = above if step == room_i else b[i] + step
        b[j] = below if step == room_j else b[j] - step
        rise[i], fall[i] = rise_shift(b[i], high[i], tube_width), fall_shift(b[i], low[i], tube_width)
        rise[j], fall[j] = rise_shift(b[j], high[j], tube_width), fall_shift(b[j], low[j], tube_width)
        f[i] -= step * ridge[i]
        f[j] += step * ridge[j]


@jit(error_model="numpy", reference_counting=False)
def single_steps(Q, low, high, ridge, b, f, counters, tube_width, least, tol, max_steps):
    """The same for multipliers without an equality: one at a time, the one with the largest gain."""
    while True:
        violation, best, i, slope = 0.0, 0.0, 0, 0.0
        for t in range(len(b)):
            u, down = f[t] + rise_shift(b[t], high[t], tube_width), f[t] + fall_shift(b[t], low[t], tube_width)
            v = u if u > -down else -down
            if v > 0.0:
                violation, a = v if v > violation else violation, Q[t, t] + ridge[t]
                gain = v * v / (a if a > least else least)
                if gain > best:
                    best, i, slope = gain, t, u if u > 0.0 else down
        if violation < tol or best <= 0.0:
            return CONVERGED
        if counters[STEPS] >= max_steps:
            return PAUSED
        counters[STEPS] += 1
        end = high[i] if slope > 0.0 else low[i]
        if tube_width > 0.0 and slope * b[i] < 0.0:
            end = 0.0
        curvature = Q[i, i] + ridge[i]
        step = slope / (curvature if curvature > least else least)
        if abs(step) >= abs(end - b[i]):
            step = end - b[i]
            b[i] = end
        else:
            b[i] += step
        f[i] -= step * ridge[i]
        row = Q[i]
        for t in range(len(b)):
            f[t] -= step * row[t]


@jit(error_model="numpy", reference_counting=False)
def assess(t, low, high, ridge, b, f, group_ends, equality, tube_width, offsets, out):
    """The offsets of the groups, and value, gap, violation and b'Gb in `out`; the gap is for bounds that are finite."""
    start, worst, gap, value, norm = 0, -1e300 if equality else 0.0, 0.0, 0.0, 0.0
    for g in range(len(group_ends)):
        top, bottom, total, count = -1e300, 1e300, 0.0, 0
        for i in range(start, group_ends[g]):
            u = f[i] - (tube_width if b[i] >= 0.0 else -tube_width)
            down = f[i] - (tube_width if b[i] > 0.0 else -tube_width)
            if b[i] < high[i] and u > top:
                top = u
            if b[i] > low[i] and down < bottom:
                bottom = down
            if low[i] < b[i] < high[i] and (tube_width == 0.0 or b[i] != 0.0):
                total += u
                count += 1
        if equality:
            c = 0.5 * (top + bottom)
            if count > 0:
                c = total / count
            elif top == -1e300:
                c = bottom
            elif bottom == 1e300:
                c = top
            violation = top - bottom
        else:
            c, violation = 0.0, top if top > -bottom else -bottom
        worst = violation if violation > worst else worst
        offsets[g] = c
        for i in range(start, group_ends[g]):
            r = f[i] - c
            up, down = high[i] * (r - tube_width), low[i] * (r + tube_width)
            reach = up if up > down else down
            gap += (reach if reach > 0.0 else 0.0) - (r * b[i] - tube_width * abs(b[i]))
            value += tube_width * abs(b[i]) - 0.5 * b[i] * (t[i] + f[i])
            norm += b[i] * (t[i] - f[i] - ridge[i] * b[i])
        start = group_ends[g]
    out[VALUE], out[GAP], out[VIOLATION], out[SQUARED_NORM] = value, gap, worst, norm


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
