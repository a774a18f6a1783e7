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
from typing import NamedTuple

import numpy as np

from fivefold.core.types import Array, Indices, Rng, Table
from fivefold.optim.design import Design
from fivefold.optim.dual.box_dual import BoxDual
from fivefold.optim.dual.dual_coordinate_loops import (
    MAX_PASSES,
    MAX_VISITS_PER_ROW,
    VIOLATION_SHARE,
    dense_pass,
    dense_step,
    sparse_pass,
    sparse_squares,
)
from fivefold.optim.minimise import NoDescentError, Solver, State

MAX_ROWS_ONE_CALL = 2000  # with at most this many dense rows a step is one compiled call
ROWS_PER_RUN = 4  # adjacent rows are visited together, because memory is then read far faster


class MultiplierTerms(NamedTuple):
    """The box of each multiplier, the dual term of each row, and what a step along a multiplier needs."""

    y: Array
    low: Array
    high: Array
    tube_width: float
    curvature: Array  # of the dual term
    h: Array  # of the dual along the multiplier
    column: float  # 1 / R of a column
    one: float  # 1 / R of the intercept, zero where there is none


class DescentMemory(NamedTuple):
    """What a step leaves to the next."""

    x: Array  # the coefficients of the multipliers
    terms: MultiplierTerms
    rng: Rng | int  # the seed of the next step where a step is one call
    worst: float  # the largest violation of the last pass


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
        dual, y = objective.terms, objective.risk.y
        h = np.maximum(column * row_squares(design) + one + dual.curvature, np.finfo(np.float64).tiny)
        terms = MultiplierTerms(
            y=y, low=dual.low, high=dual.high, tube_width=float(dual.tube_width), curvature=dual.curvature, h=h,
            column=column, one=one,
        )  # fmt: skip
        small = len(objective.risk.s) <= MAX_ROWS_ONE_CALL and not design.sparse
        return _state(objective, x0, terms, self.seed if small else np.random.RandomState(self.seed), np.inf)

    def step(self, objective: BoxDual, state: State) -> State:
        memory: DescentMemory = state.memory
        a, x, terms, rng, worst = state.x.copy(), memory.x.copy(), memory.terms, memory.rng, memory.worst
        design = objective.risk.design
        if isinstance(rng, int):
            first, worst = dense_step(design.X, rng, worst, *terms, a, x)
            if first == 0.0:
                raise NoDescentError
            return _state(objective, a, terms, rng + 1, worst)
        X, loop = (as_csr_arrays(design.X), sparse_pass) if design.sparse else ((design.X,), dense_pass)
        rows: Indices = np.arange(len(a))
        first, visits = None, MAX_VISITS_PER_ROW * len(a)
        for _ in range(MAX_PASSES):
            rows, visits = shuffled_runs(rows, rng), visits - len(rows)
            kept, worst = loop(*X, rows, worst, *terms, a, x)
            first = worst if first is None else first
            rows = rows[:kept]
            if worst <= VIOLATION_SHARE * first or visits <= 0 or not kept:
                break
        if first == 0.0:
            raise NoDescentError  # every row is at its minimum, to the last digit
        return _state(objective, a, terms, rng, worst)


def _state(dual: BoxDual, a: Array, terms: MultiplierTerms, rng: Rng | int, worst: float) -> State:
    x = dual.primal(a)  # recomputed, because the running value accumulates rounding
    value = dual.value_at(a, x)
    return State(a, value, value + dual.primal_value(x, dual.predictor(x)), DescentMemory(x, terms, rng, worst))


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


def as_csr_arrays(X: Table) -> tuple[Array, Indices, Indices]:
    """The arrays of a CSR matrix in fixed types, so that the loop is compiled once."""
    return X.data.astype(np.float64, copy=False), X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64)
