"""One margin between all classes: the machine of Crammer and Singer, solved in the dual one row at a time.

    primal    min over W of  1/2 sum over k of w_k'R w_k + sum of s_i max over k of (1[k != y_i] - (w_{y_i} - w_k)'z_i)
    dual      min over A of  1/2 sum over k of |Z'a_k|^2_(1/R) + sum of a_ik over k != y_i       w_k = R^-1 Z'a_k

with a_ik <= 0 for k != y_i, a_ik <= s_i for k = y_i, and multipliers of a row that sum to zero. The minimum over the
multipliers of one row, with h = z_i'R^-1 z_i, u_k its upper bounds and g_k = w_k'z_i + 1[k != y_i] its slopes, is

    a_k <- min(u_k, (beta - b_k) / h)        b_k = g_k - h a_k,  beta such that they sum to zero

A multiplier that rests at its bound and is pushed against it is left out of the next passes, and so is a row with a
single multiplier left; the next step visits all of them again. The sum of the two values is the duality gap.

Crammer & Singer (2001); Keerthi, Sundararajan, Chang, Hsieh & Lin (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Array, Indices, Rng
from fivefold.optim.design import Design
from fivefold.optim.dual.crammer_singer_loops import dense_pass, sparse_pass
from fivefold.optim.dual.dual_coordinate_descent import as_csr_arrays, row_squares, shuffled_runs
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import Objective

MAX_PASSES = 3000  # per step, at most, over the rows that were not left out
MAX_VISITS_PER_ROW = 10  # per step, at most, on average
VIOLATION_SHARE = 0.02  # a step ends when the worst violation is this share of that of its first pass


@dataclass(frozen=True)
class CrammerSingerDual(Objective):
    """The dual over multipliers (n K,) of rows with codes y of K classes; its violation is the duality gap."""

    design: Design
    y: NDArray[np.int64]
    s: Array  # (n,), the cost of a unit of loss
    classes: int
    ridge: Array  # (size,), the diagonal of R, one number for all columns

    def primal(self, a: Array) -> Array:
        """The coefficients (K, size) of the multipliers."""
        if self._known.get("a") is a:
            return self._known["W"]
        return self.design.transpose(np.ascontiguousarray(a.reshape(-1, self.classes).T)) / self.ridge

    def remember_primal(self, a: Array, W: Array) -> None:
        """Let W be the coefficients of these multipliers: a solver may know them to more digits."""
        self._known.update(a=a, W=W)

    @cached_property
    def _known(self) -> dict[str, Array]:
        return {}

    def value(self, a: Array) -> float:
        return self.value_at(a, self.primal(a))

    def violation(self, a: Array) -> float:
        W = self.primal(a)
        return self.value_at(a, W) + self.primal_value(W)

    def value_at(self, a: Array, W: Array) -> float:
        """The value where the coefficients are already known."""
        own = np.take_along_axis(a.reshape(-1, self.classes), self.y[:, None], axis=1)
        return 0.5 * float((self.ridge * W * W).sum()) + float(a.sum() - own.sum())

    def primal_value(self, W: Array) -> float:
        """The penalty and the losses of the coefficients."""
        eta, rows = self.design.predictor(W) + 1.0, np.arange(len(self.y))  # (K, n)
        eta[self.y, rows] -= 1.0
        losses = eta.max(axis=0) - eta[self.y, rows]
        return 0.5 * float((self.ridge * W * W).sum()) + float(self.s @ losses)


@dataclass(frozen=True)
class CrammerSingerCoordinate(Solver):
    """Passes over runs of rows, in a new random order each time, drawn from `seed`; a step is a few passes."""

    seed: int = 0

    accepts = (CrammerSingerDual,)

    def start(self, objective: CrammerSingerDual, x0: Array) -> State:
        return _state(objective, x0, np.random.RandomState(self.seed))

    def step(self, objective: CrammerSingerDual, state: State) -> State:
        W, rng = state.memory
        a, design = state.x.reshape(-1, objective.classes).copy(), objective.design
        n, W = len(a), np.ascontiguousarray(W.T) if design.sparse else W.copy()
        column, one = 1.0 / objective.ridge[0], 1.0 / objective.ridge[-1] if design.intercept else 0.0
        h = np.maximum(column * row_squares(design) + one, np.finfo(np.float64).tiny)
        X, loop = (as_csr_arrays(design.X), sparse_pass) if design.sparse else ((design.X,), dense_pass)
        order = np.tile(np.arange(objective.classes), (n, 1))
        rows: Indices = np.arange(n)
        open_classes, first, visits = np.full(n, objective.classes), None, MAX_VISITS_PER_ROW * n
        for _ in range(MAX_PASSES):
            rows, visits = shuffled_runs(rows, rng), visits - len(rows)
            kept, worst = loop(*X, rows, objective.y, objective.s, h, column, one, order, open_classes, a, W)
            first = worst if first is None else first
            rows = rows[:kept]
            if worst <= VIOLATION_SHARE * first or visits <= 0 or not kept:
                break
        if first == 0.0:
            raise NoDescentError  # every row is at its minimum, to the last digit
        return _state(objective, a.ravel(), rng)


def _state(dual: CrammerSingerDual, a: Array, rng: Rng) -> State:
    W = dual.primal(a)  # recomputed, because the running value accumulates rounding
    value = dual.value_at(a, W)
    return State(a, value, value + dual.primal_value(W), (W, rng))
