"""Compiled choice of the working set of sequential minimal optimisation, which one thread makes in each round.

What a multiplier may do is coded in a byte, so that a pass over all of them reads little more than the residuals. The
largest violations are found by counts in buckets of equal width, and by counts within the bucket that holds the last of
them, until nothing is left to divide: passes without the branches of a partition.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.optim.dual.smo_loops import NO_BOUND

MAY_NOT_RISE, MAY_NOT_FALL, BELOW_ZERO, NOT_ABOVE_ZERO = 1, 2, 4, 8  # bits of what a multiplier may do, and is
BUCKETS = 256  # the first is for what does not violate
LEAST_WIDTH = 1e-290  # of all buckets together: numbers that are closer count as equal


@jit(error_model="numpy", reference_counting=False)
def code_sides(b, low, high, sides):
    """Code what all multipliers may do."""
    for i in range(len(b)):
        sides[i] = code_of(b[i], low[i], high[i])


@jit(error_model="numpy")
def code_of(b, low, high):
    """What a multiplier may do, and is."""
    code = (MAY_NOT_RISE if b >= high else 0) | (MAY_NOT_FALL if b <= low else 0)
    return code | (BELOW_ZERO if b < 0.0 else 0) | (NOT_ABOVE_ZERO if b <= 0.0 else 0)


@jit(error_model="numpy")
def is_free(code, tube_width):
    """Is a multiplier inside its box, and not at the kink of the tube?"""
    kink = tube_width > 0.0 and code & (BELOW_ZERO | NOT_ABOVE_ZERO) == NOT_ABOVE_ZERO
    return code & (MAY_NOT_RISE | MAY_NOT_FALL) == 0 and not kink


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def mark_violations(f, sides, tube_width, group_ends, equality, tol, extremes, marks):
    """The largest violation, and the buckets of those upwards and downwards in marks[0] and marks[1].

    Nothing is marked where no group violates the conditions by `tol`. `extremes` becomes the largest slope upwards and
    the least downwards of each group.
    """
    worst, start = -NO_BOUND if equality else 0.0, 0
    for g in range(len(group_ends)):
        fs, codes, top, bottom = f[start : group_ends[g]], sides[start : group_ends[g]], -NO_BOUND, NO_BOUND
        for t in range(len(fs)):
            u = -NO_BOUND if codes[t] & MAY_NOT_RISE else fs[t] + (tube_width if codes[t] & BELOW_ZERO else -tube_width)
            down = NO_BOUND if codes[t] & MAY_NOT_FALL else (
                fs[t] + (tube_width if codes[t] & NOT_ABOVE_ZERO else -tube_width)
            )  # fmt: skip
            top = u if u > top else top
            bottom = down if down < bottom else bottom
        extremes[0, g], extremes[1, g], start = top, bottom, group_ends[g]
        violation = top - bottom if equality else (top if top > -bottom else -bottom)
        worst = violation if violation > worst else worst
    if worst < tol:
        return worst
    start = 0
    for g in range(len(group_ends)):
        fs, codes = f[start : group_ends[g]], sides[start : group_ends[g]]
        upward, downward = marks[0, start : group_ends[g]], marks[1, start : group_ends[g]]
        top, bottom = extremes[0, g], extremes[1, g]
        above, below = (bottom, top) if equality else (0.0, 0.0)
        up_scale = (BUCKETS - 2) / (top - above) if top - above > LEAST_WIDTH else 0.0
        down_scale = (BUCKETS - 2) / (below - bottom) if below - bottom > LEAST_WIDTH else 0.0
        for t in range(len(fs)):
            u = fs[t] + (tube_width if codes[t] & BELOW_ZERO else -tube_width) - above
            down = below - fs[t] - (tube_width if codes[t] & NOT_ABOVE_ZERO else -tube_width)
            u = 0.0 if codes[t] & MAY_NOT_RISE else u
            down = 0.0 if codes[t] & MAY_NOT_FALL else down
            upward[t] = 1 + np.int32(u * up_scale) if u > 0.0 else 0
            downward[t] = 1 + np.int32(down * down_scale) if down > 0.0 else 0
        start = group_ends[g]
    return worst


@jit(error_model="numpy")
def take_largest(values, found, want, counts, rows, order, m, marks):
    """Put those of rows[:found] with the `want` largest values into order[m:]; the new m."""
    while want > 0 and found > 0:
        least, most = values[0], values[0]
        for k in range(found):
            least, most = min(least, values[k]), max(most, values[k])
        if found <= want or most - least < LEAST_WIDTH:
            found = min(found, want)
            for k in range(found):
                order[m] = rows[k]
                marks[1, rows[k]] = 0
                m += 1
            break
        scale = (BUCKETS - 1) / (most - least)
        for k in range(BUCKETS):
            counts[0, k] = 0
        for k in range(found):
            counts[0, int((values[k] - least) * scale)] += 1
        cut = BUCKETS - 1
        while counts[0, cut] <= want:
            want -= counts[0, cut]
            cut -= 1
        kept = 0
        for k in range(found):
            v, i = values[k], rows[k]
            at = int((v - least) * scale)
            if at > cut:
                order[m] = i
                marks[1, i] = 0
                m += 1
            elif at == cut:
                values[kept], rows[kept] = v, i
                kept += 1
        found = kept
    return m


@jit(error_model="numpy", reference_counting=False)
def choose_working_set(
    b, f, low, high, ridge, sides, tube_width, group_ends, working, marks, order, rows, parts, ends, counts, values,
):  # fmt: skip
    """The set in order[:m], and sorted in rows[:m] with its b, f, bounds and ridge in `parts`; m is returned.

    `ends` become the ends of the groups in it.

    First half of the last set, `working`, free multipliers at the end; then, of each group, those marked with the
    largest violations upwards and downwards. Scratch: two rows of `counts` of buckets, `values` of n numbers, and what
    is left of `rows` and `marks`.
    """
    size, m = len(order), 0
    for free in range(2):
        for k in range(len(working)):
            if is_free(sides[working[k]], tube_width) == (free == 1):
                order[m] = working[k]
                m += 1
    excess = max(m - size // 2, 0)
    m -= excess
    for k in range(m):
        order[k] = order[k + excess]
        marks[0, order[k]], marks[1, order[k]] = 0, 0
    room, start = (size - m) // (2 * len(group_ends)), 0
    for g in range(len(group_ends)):
        for side in range(2):
            bucket = marks[side]
            for k in range(BUCKETS):
                counts[0, k], counts[1, k] = 0, 0
            for t in range((group_ends[g] - start) // 2):  # neighbours are often equal: two counters do not wait
                counts[0, bucket[start + 2 * t]] += 1
                counts[1, bucket[start + 2 * t + 1]] += 1
            if (group_ends[g] - start) % 2:
                counts[0, bucket[group_ends[g] - 1]] += 1
            cut, want = BUCKETS - 1, room
            while cut > 0 and counts[0, cut] + counts[1, cut] <= want:
                want -= counts[0, cut] + counts[1, cut]
                cut -= 1
            found = 0  # in the bucket of the last ones
            for i in range(start, group_ends[g]):
                if bucket[i] > cut:
                    order[m] = i
                    marks[1, i] = 0
                    m += 1
                elif bucket[i] == cut and cut > 0:
                    if side == 0:
                        v = f[i] + (tube_width if sides[i] & BELOW_ZERO else -tube_width)
                    else:
                        v = -f[i] - (tube_width if sides[i] & NOT_ABOVE_ZERO else -tube_width)
                    values[found], rows[found] = v, i
                    found += 1
            m = take_largest(values, found, want, counts, rows, order, m, marks)
        start = group_ends[g]
    taken, found = marks[0], 0
    for i in range(len(f)):
        taken[i] = 0
    for k in range(m):
        taken[order[k]] = 1
    start = 0
    for g in range(len(group_ends)):
        for i in range(start, group_ends[g]):
            rows[found] = i
            found += taken[i]
        ends[g], start = found, group_ends[g]
    for k in range(m):
        i = rows[k]
        parts[0, k], parts[1, k], parts[2, k], parts[3, k], parts[4, k] = b[i], f[i], low[i], high[i], ridge[i]
    return m


@jit(error_model="numpy", reference_counting=False)
def keep_changes(parts, rows, tube_width, b, sides, changed, change, free):
    """Put what steps made of the multipliers `rows` into b; how many changed.

    Which, by how much, and whether they are free now, goes to `changed`, `change` and `free`.
    """
    count = 0
    for k in range(len(rows)):
        i, new = rows[k], parts[0, k]
        if new != b[i]:
            changed[count], change[count] = i, new - b[i]
            b[i], sides[i] = new, code_of(new, parts[2, k], parts[3, k])
            free[count] = is_free(sides[i], tube_width)
            count += 1
    return count
