"""Compiled steps of t-SNE: attraction along affinities, repulsion of all places, and momentum with gains.

    dC/dy_i = c (sum_j e p_ij u_ij (y_i - y_j) - r_i / Z)        Z = sum_i z_i,   c = 2 (a + 1) / a

with r, z, u and a of `repulsion_loops`, and the exaggeration e. Each coordinate has a gain, which grows while the
gradient and the last step disagree in sign (Jacobs, 1988):

    gain <- gain + 0.2 or 0.8 gain        step <- momentum step - rate gain dC/dy        y <- y + step

A step is three phases on a team of threads: forces on groups, gradients of rows, new places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Doubles, Indices
from fivefold.manifold.embeddings.repulsion_loops import GROUPS, Repulsion, Singles, build_tree, repel_group

ROWS_PER_TASK = 256  # places that a task moves: about 50 microseconds of work
MAX_TASKS = 1024
REPEL, ALL_PAIRS, STEP, PLACE = range(4)  # kinds of tasks
NORM_PART, COST_PART = range(2)  # places in a row of `parts`
RAISE, SHRINK, MIN_GAIN = 0.2, 0.8, 0.01  # of gains
TINY = 1e-300  # least sum of the kernel over all pairs: all places are infinitely far apart
# Numbers of a step: what the caller sets, and what it reads
EXAGGERATION, MOMENTUM, RATE, WANTS_COST, Z, COST, NORM, NUMBERS = range(8)


class Descent(NamedTuple):
    """Places on their way, and what moves them."""

    tree: Repulsion
    starts: Indices  # (n + 1,) int64: entries of each row of the affinities
    columns: Indices  # (entries,) int32
    P: Singles  # (entries,)
    dense: Doubles  # (n, n) affinities of all pairs, or (0, 0)
    Y: Doubles  # (d, n) places
    F: Singles  # (d, n) the same, in single precision
    step: Doubles  # (d, n)
    gain: Doubles  # (d, n)
    pull: Doubles  # (d, n) attraction
    numbers: Doubles  # (NUMBERS,)
    parts: Doubles  # (MAX_TASKS, 8) per task: squared length of the gradient, and cost
    least: Doubles  # (MAX_TASKS, d) per task, the smallest coordinates
    largest: Doubles  # (MAX_TASKS, d)


@jit(error_model="numpy")
def task_count(n):
    return max(1, min(MAX_TASKS, n // ROWS_PER_TASK))


@jit(error_model="numpy", fastmath=FAST)
def _pull_1(i, F, columns, P, lo, m):
    x, f = F[0, i], np.float32(0.0)
    a, one = F[0], np.float32(1.0)
    at, p = columns[lo : lo + m], P[lo : lo + m]
    for t in range(m):
        dx = x - a[at[t]]
        f += p[t] / (one + dx * dx) * dx
    return f


@jit(error_model="numpy", fastmath=FAST)
def _pull_2(i, F, columns, P, lo, m):
    x, y, f, g = F[0, i], F[1, i], np.float32(0.0), np.float32(0.0)
    a, b, one = F[0], F[1], np.float32(1.0)
    at, p = columns[lo : lo + m], P[lo : lo + m]
    for t in range(m):
        j = at[t]
        dx, dy = x - a[j], y - b[j]
        w = p[t] / (one + dx * dx + dy * dy)
        f += w * dx
        g += w * dy
    return f, g


@jit(error_model="numpy", fastmath=FAST)
def _pull_3(i, F, columns, P, lo, m):
    x, y, s = F[0, i], F[1, i], F[2, i]
    f, g, h = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    a, b, c, one, half = F[0], F[1], F[2], np.float32(1.0), np.float32(0.5)
    at, p = columns[lo : lo + m], P[lo : lo + m]
    for t in range(m):
        j = at[t]
        dx, dy, ds = x - a[j], y - b[j], s - c[j]
        w = p[t] / (one + half * (dx * dx + dy * dy + ds * ds))
        f += w * dx
        g += w * dy
        h += w * ds
    return f, g, h


@jit(error_model="numpy")
def _neighbor_cost(i, Y, dof, columns, P, lo, m):
    """sum_j p_ij (-log k_ij)."""
    total = 0.0
    for t in range(m):
        j, square = columns[lo + t], 0.0
        for c in range(len(Y)):
            square += (Y[c, i] - Y[c, j]) ** 2
        total += P[lo + t] * np.log1p(square / dof)
    return total * 0.5 * (dof + 1.0)


@jit(error_model="numpy", fastmath=FAST)
def _all_pairs(state, i):
    """Forces on place i of all others, in double precision; the cost of its affinities."""
    tree, Y, p, dof = state.tree, state.Y, state.dense[i], state.tree.dof
    d, n = Y.shape
    power, z, cost = 0.5 * (dof + 1.0), 0.0, 0.0
    wanted = state.numbers[WANTS_COST] > 0.0
    for c in range(d):
        state.pull[c, i], tree.force[c, i] = 0.0, 0.0
    for j in range(n):
        square = 0.0
        for c in range(d):
            square += (Y[c, i] - Y[c, j]) ** 2
        v = 1.0 + square / dof
        u = 1.0 / v
        k = u if dof == 1.0 else u**power
        z += k if j != i else 0.0
        if wanted:
            cost += p[j] * power * np.log(v)
        for c in range(d):
            away = Y[c, i] - Y[c, j]
            state.pull[c, i] += p[j] * u * away
            tree.force[c, i] += k * u * away
    tree.z[i] = z
    return cost


@jit(error_model="numpy")
def _neighbors(state, r):
    """Attraction of place r to its neighbours; the cost of its affinities."""
    F, columns, P = state.F, state.columns, state.P
    lo, m = state.starts[r], state.starts[r + 1] - state.starts[r]
    if len(F) == 1:
        state.pull[0, r] = _pull_1(r, F, columns, P, lo, m)
    elif len(F) == 2:
        f, g = _pull_2(r, F, columns, P, lo, m)
        state.pull[0, r], state.pull[1, r] = f, g
    else:
        f, g, h = _pull_3(r, F, columns, P, lo, m)
        state.pull[0, r], state.pull[1, r], state.pull[2, r] = f, g, h
    return _neighbor_cost(r, state.Y, state.tree.dof, columns, P, lo, m) if state.numbers[WANTS_COST] > 0.0 else 0.0


@jit(error_model="numpy")
def _gain_and_step(state, r):
    """The next step of place r; the squared length of its gradient, gains included."""
    tree, numbers, norm = state.tree, state.numbers, 0.0
    scale = 2.0 * (tree.dof + 1.0) / tree.dof
    for c in range(len(state.Y)):
        slope = scale * (numbers[EXAGGERATION] * state.pull[c, r] - tree.force[c, r] / numbers[Z])
        step, gain = state.step[c, r], state.gain[c, r]
        gain = max(gain + RAISE if step * slope < 0.0 else gain * SHRINK, MIN_GAIN)
        slope *= gain
        norm += slope * slope
        state.gain[c, r], state.step[c, r] = gain, numbers[MOMENTUM] * step - numbers[RATE] * slope
    return norm


@run_task.rule(Descent)
def _descend_task(state, kind, i, rank):
    n, part = state.Y.shape[1], state.parts[i]
    tasks = task_count(n)
    lo, hi = n * i // tasks, n * (i + 1) // tasks
    if kind == REPEL:
        groups = state.tree.counts[GROUPS]
        for number in range(groups * i // tasks, groups * (i + 1) // tasks):
            repel_group(state.tree, number, rank)
    elif kind == ALL_PAIRS:
        part[COST_PART] = 0.0
        for r in range(lo, hi):
            part[COST_PART] += _all_pairs(state, r)
    elif kind == STEP:
        norm, cost = 0.0, 0.0
        for r in range(lo, hi):
            if len(state.dense) == 0:
                cost += _neighbors(state, r)
            norm += _gain_and_step(state, r)
        part[NORM_PART] = norm
        if len(state.dense) == 0:
            part[COST_PART] = cost
    else:
        for c in range(len(state.Y)):
            least, largest = np.inf, -np.inf
            for r in range(lo, hi):
                y = state.Y[c, r] + state.step[c, r]
                state.Y[c, r], state.F[c, r] = y, y
                least, largest = min(least, y), max(largest, y)
            state.least[i, c], state.largest[i, c] = least, largest


@jit(error_model="numpy")
def _share(team, state, kind, tasks):
    if tasks == 1:
        run_task(state, kind, 0, 0)
    else:
        share_tasks(team, state, kind, tasks)


@jit(error_model="numpy", reference_counting=False)
def descend(team, state, count):
    """This many steps; the cost is that before the last of them."""
    d, n = state.Y.shape
    tree, numbers = state.tree, state.numbers
    tasks = task_count(n)
    for _ in range(count):
        if len(state.dense) > 0:
            _share(team, state, ALL_PAIRS, tasks)
        else:
            tree.box[d] = 0.0
            for c in range(d):
                least, largest = np.inf, -np.inf
                for i in range(tasks):
                    least, largest = min(least, state.least[i, c]), max(largest, state.largest[i, c])
                tree.box[c] = least
                tree.box[d] = max(tree.box[d], largest - least)
            build_tree(tree, state.Y)
            _share(team, state, REPEL, tasks)
        numbers[Z] = 0.0
        for r in range(n):
            numbers[Z] += tree.z[r]
        numbers[Z] = max(numbers[Z], TINY)
        _share(team, state, STEP, tasks)
        numbers[COST], numbers[NORM] = 0.0, 0.0
        for i in range(tasks):
            numbers[COST] += state.parts[i, COST_PART]
            numbers[NORM] += state.parts[i, NORM_PART]
        _share(team, state, PLACE, tasks)
