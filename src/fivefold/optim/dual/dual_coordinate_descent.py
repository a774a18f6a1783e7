"""Dual coordinate descent: one multiplier at a time to its own minimum, with the coefficients updated along the way.

With c the curvature of the dual term and e its tube width, h = z_i'R^-1 z_i + c_i and g = z_i'x - y_i + c_i a_i, the
minimum over a_i alone is

    a_i <- S(a_i - g / h, e / h) clipped to its box        x <- x + R^-1 z_i (change of a_i)

with S(z, t) = sign(z) max(|z| - t, 0). A step starts with a pass over all rows. Rows at a kink of their term or a
bound of the box, and pushed against it by more than the largest violation of the pass before, are left out of its
further passes.

Hsieh, Chang, Lin, Keerthi & Sundararajan (2008); Ho & Lin (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Array, Indices, Rng, Table
from fivefold.optim.design import Design
from fivefold.optim.dual.box_dual import BoxDual
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.proximal.coordinate_descent_loops import soft_threshold
from fivefold.optim.stochastic.sgd_loops import shuffle_rows

MAX_PASSES = 300  # per step, at most, over the rows that were not left out
MAX_VISITS_PER_ROW = 6  # per step, at most, on average
VIOLATION_SHARE = 0.02  # a step ends when the worst violation is this share of that of its first pass
MAX_ROWS_ONE_CALL = 2000  # with at most this many dense rows a step is one compiled call,
ONE_CALL_VISIT_FACTOR = 5  # with this many times the visits, because the call costs more than a pass
VIOLATION_ROUNDING = 1e-5  # as a share of the first violation: a step of one call ends below it
ROWS_PER_RUN = 4  # adjacent rows are visited together, because memory is then read far faster


@dataclass(frozen=True)
class DualCoordinateDescent(Solver):
    """Passes over runs of rows, in a new random order each time, drawn from `seed`; a step is a few passes."""

    seed: int = 0

    accepts = (BoxDual,)

    def start(self, objective: BoxDual, x0: Array) -> State:
        inverse_ridge, design = objective.inverse_ridge, objective.risk.design
        column, one = float(inverse_ridge[0]), float(inverse_ridge[-1]) if design.intercept else 0.0
        if (inverse_ridge[: design.X.shape[1]] != column).any():
            raise TypeError("DualCoordinateDescent takes one penalty for all columns; scale the columns instead")
        h = column * row_squares(design) + one + objective.terms.curvature
        fixed = (np.maximum(h, np.finfo(np.float64).tiny), column, one)
        small = len(objective.risk.s) <= MAX_ROWS_ONE_CALL and not design.sparse
        return _state(objective, x0, fixed, self.seed if small else np.random.RandomState(self.seed), np.inf)

    def step(self, objective: BoxDual, state: State) -> State:
        kept_x, fixed, rng, worst = state.memory
        a, x = state.x.copy(), kept_x.copy()
        design, dual_terms = objective.risk.design, objective.terms
        X, loop = (as_csr_arrays(design.X), sparse_pass) if design.sparse else ((design.X,), dense_pass)
        terms = objective.risk.y, dual_terms.low, dual_terms.high, dual_terms.tube_width, dual_terms.curvature
        if isinstance(rng, int):
            first, worst = dense_step(design.X, rng, worst, *terms, *fixed, a, x)
            if first == 0.0:
                raise NoDescentError
            return _state(objective, a, fixed, rng + 1, worst)
        rows: Indices = np.arange(len(a))
        first, visits = None, MAX_VISITS_PER_ROW * len(a)
        for _ in range(MAX_PASSES):
            rows, visits = shuffled_runs(rows, rng), visits - len(rows)
            kept, worst = loop(*X, rows, worst, *terms, *fixed, a, x)
            first = worst if first is None else first
            rows = rows[:kept]
            if worst <= VIOLATION_SHARE * first or visits <= 0 or not kept:
                break
        if first == 0.0:
            raise NoDescentError  # every row is at its minimum, to the last digit
        return _state(objective, a, fixed, rng, worst)


def _state(dual: BoxDual, a: Array, fixed: Any, rng: Any, worst: float) -> State:
    x = dual.primal(a)  # recomputed, because the running value accumulates rounding
    value = dual.value_at(a, x)
    return State(a, value, value + dual.primal_value(x, dual.predictor(x)), (x, fixed, rng, worst))


def row_squares(design: Design) -> Array:
    """|x_i|^2 of each row."""
    if not design.sparse:
        return np.einsum("ij,ij->i", design.X, design.X, dtype=np.float64)
    data, _, indptr = as_csr_arrays(design.X)
    out = np.zeros(len(indptr) - 1)
    sparse_squares(data, indptr, out)
    return out


def shuffled_runs(rows: Indices, rng: Rng) -> Indices:
    """Runs of rows in random order."""
    whole = len(rows) // ROWS_PER_RUN * ROWS_PER_RUN
    runs = rng.permutation(rows[:whole].reshape(-1, ROWS_PER_RUN))
    return np.concatenate([runs.ravel(), rows[whole:]])


def as_csr_arrays(X: Table) -> tuple[Any, ...]:
    """The arrays of a CSR matrix in fixed types, so that the loop is compiled once."""
    return X.data.astype(np.float64, copy=False), X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64)


@jit(fastmath=FAST, error_model="numpy")
def minimise_multiplier(a, g, h, low, high, insensitive):
    """The minimum over one multiplier."""
    return min(max(soft_threshold(a - g / h, insensitive / h, False), low), high)


@jit(fastmath=FAST, error_model="numpy")
def can_shrink(a, g, low, high, insensitive, worst):
    """Is the multiplier pushed against an edge, or held at the kink, by more than `worst`?"""
    if a == low and g - insensitive > worst:
        return True
    if a == high and -g - insensitive > worst:
        return True
    return insensitive > 0.0 and a == 0.0 and abs(g) + worst < insensitive


@jit(fastmath=FAST, error_model="numpy")
def sparse_squares(data, indptr, out):
    """out_i = |x_i|^2."""
    for i in range(len(out)):
        start = indptr[i]
        for t in range(indptr[i + 1] - start):
            out[i] += data[start + t] * data[start + t]


@jit(error_model="numpy")  # without fastmath: vectorised, its gathers and scatters are slower
def sparse_pass(data, indices, indptr, rows, worst, y, low, high, insensitive, bend, h, column, one, a, x):
    """One pass over `rows` of a CSR matrix; a and x change in place, rows that stay in are moved to the front.

    `column` and `one` are 1 / R of a column and of the intercept, zero where there is none. Returns the number of rows
    that stay in, and the largest violation of a row.
    """
    kept, most, last = 0, 0.0, len(x) - 1
    for k in range(len(rows)):
        i = rows[k]
        start, stop = indptr[i], indptr[i + 1]
        g = bend[i] * a[i] - y[i]
        if one > 0.0:
            g += x[last]
        for t in range(start, stop):
            g += data[t] * x[indices[t]]
        if can_shrink(a[i], g, low[i], high[i], insensitive, worst):
            continue
        rows[k], rows[kept] = rows[kept], i
        kept += 1
        new = minimise_multiplier(a[i], g, h[i], low[i], high[i], insensitive)
        step = new - a[i]
        if step != 0.0:
            a[i] = new
            most = max(most, abs(step) * h[i])
            pull = step * column
            for t in range(start, stop):
                x[indices[t]] += pull * data[t]
            x[last] += step * one
    return kept, most


@jit(fastmath=FAST, error_model="numpy")
def dense_pass(X, rows, worst, y, low, high, insensitive, bend, h, column, one, a, x):
    """The same over rows of a table."""
    kept, most, last, d = 0, 0.0, len(x) - 1, X.shape[1]
    for k in range(len(rows)):
        i = rows[k]
        z = X[i]
        g = bend[i] * a[i] - y[i]
        if one > 0.0:
            g += x[last]
        for j in range(d):
            g += z[j] * x[j]
        if can_shrink(a[i], g, low[i], high[i], insensitive, worst):
            continue
        rows[k], rows[kept] = rows[kept], i
        kept += 1
        new = minimise_multiplier(a[i], g, h[i], low[i], high[i], insensitive)
        step = new - a[i]
        if step != 0.0:
            a[i] = new
            most = max(most, abs(step) * h[i])
            pull = step * column
            for j in range(d):
                x[j] += pull * z[j]
            x[last] += step * one
    return kept, most


@jit(error_model="numpy")
def dense_step(X, seed, worst, y, low, high, insensitive, bend, h, column, one, a, x):
    """The passes of one step over rows of a table, in an order that the seed decides.

    Returns the largest violation of a row in the first pass and in the last.
    """
    rows, visits, first, top, whole = (
        np.arange(len(a)),
        ONE_CALL_VISIT_FACTOR * MAX_VISITS_PER_ROW * len(a),
        0.0,
        0.0,
        True,
    )
    for k in range(MAX_PASSES):
        rows = shuffle_rows(rows, seed + (k << 32))
        visits -= len(rows)
        kept, worst = dense_pass(X, rows, worst, y, low, high, insensitive, bend, h, column, one, a, x)
        if whole:
            top = worst
            first = max(first, worst)
        whole = worst <= VIOLATION_SHARE * top or kept == 0
        if visits <= 0 or (len(rows) == len(a) and worst <= VIOLATION_ROUNDING * first):
            break
        if whole:  # the rows that were left out are visited again
            rows, worst = np.arange(len(a)), np.inf
        else:
            rows = rows[:kept]
    return first, worst
