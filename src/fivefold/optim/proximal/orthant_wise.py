"""Orthant-wise limited-memory quasi-Newton steps: a smooth f plus an L1 penalty, where no Hessian can be made.

Within an orthant |x| is linear, so a step is L-BFGS's on f plus that linear function, kept inside the orthant:

    p          the shortest subgradient of f + strength |x|
    d = -B p   B the estimate of the inverse Hessian of f alone; entries that do not descend along p are set to zero
    x' = x + t d, entries that leave the orthant of x (of -p where x is zero) set to zero

t is halved until the sum falls enough. Andrew & Gao (2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import CompositeObjective
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.smooth.lbfgs import inverse_hessian_times, with_new_pair
from fivefold.optim.smooth.line_search import MAX_TRIALS, SUFFICIENT_SHARE, VALUE_ROUNDING, Point, cautious_step


@dataclass(frozen=True)
class OrthantWise(Solver):
    """L-BFGS for an L1 penalty: one gradient per trial, and `memory` pairs of vectors."""

    memory: int = 10

    accepts = (CompositeObjective,)

    def start(self, objective: CompositeObjective, x0: Array) -> State:
        if not isinstance(objective.penalty, L1):
            raise TypeError(f"OrthantWise minimises a sum with an L1 penalty; got {type(objective.penalty).__name__}")
        return _state(objective, Point.at(objective.smooth, x0), ())

    def step(self, objective: CompositeObjective, state: State) -> State:
        here, pairs = state.memory
        strength = objective.penalty.strength  # type: ignore[attr-defined]  # `start` checked it
        p = shortest_subgradient(here, strength)
        d = -inverse_hessian_times(p, pairs)
        d[d * p >= 0] = 0.0
        orthant = np.where(here.x != 0, np.sign(here.x), -np.sign(p))
        t = 1.0 if pairs else cautious_step(p)
        level = state.value + VALUE_ROUNDING * abs(state.value)
        for _ in range(MAX_TRIALS):
            x = here.x + t * d
            x[x * orthant < 0] = 0.0
            there = Point.at(objective.smooth, x)
            new = _state(objective, there, with_new_pair(pairs, here, there, self.memory))
            if new.value <= state.value + SUFFICIENT_SHARE * float(p @ (x - here.x)):
                return new
            if new.value <= level and new.violation < state.violation:  # the decrease is lost in rounding
                return new
            t *= 0.5
        if pairs:  # from a poor estimate of the Hessian no step may descend: begin again without one
            return self.step(objective, State(state.x, state.value, state.violation, (here, ())))
        raise NoDescentError


def shortest_subgradient(here: Point, strength: float | Array) -> Array:
    """The subgradient of f + strength |x| with the least length: zero only at a minimum."""
    g, right, left = here.gradient, here.gradient + strength, here.gradient - strength
    at_zero = np.where(right < 0, right, np.where(left > 0, left, 0.0))
    return np.where(here.x != 0, g + strength * np.sign(here.x), at_zero)


def _state(objective: CompositeObjective, here: Point, pairs: tuple[tuple[Array, Array], ...]) -> State:
    violation = objective.violation_at(here.x, here.gradient)
    return State(here.x, here.value + objective.penalty.value(here.x), violation, (here, pairs))
