"""The proximal Newton method: minimise the quadratic model plus the penalty, by coordinate descent.

    u = argmin of g'(u - x) + 1/2 (u - x)'H(u - x) + penalty(u)        x <- x + t (u - x)

t is the first of 1, 1/2, 1/4, ... that lowers the sum enough. Once the zero coordinates are identified the steps are
Newton's on the others.

Lee, Sun & Saunders (2014); Friedman, Hastie & Tibshirani (2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import CompositeObjective, TwiceSmoothObjective
from fivefold.optim.penalties.proximal_operators import L1, L2, ElasticNetPenalty, NoPenalty, Penalty
from fivefold.optim.proximal.quadratic_net import FactorQuadratic, GramQuadratic, solve_quadratic_net
from fivefold.optim.smooth.line_search import MAX_TRIALS, SUFFICIENT_SHARE, VALUE_ROUNDING

Strength = float | Array

# strengths on |x| and on x^2 / 2; each function takes the penalty of its key
PENALTY_STRENGTHS: dict[type[Penalty], Callable[[Any], tuple[Strength, Strength]]] = {
    NoPenalty: lambda penalty: (0.0, 0.0),
    L1: lambda penalty: (penalty.strength, 0.0),
    L2: lambda penalty: (0.0, penalty.strength),
    ElasticNetPenalty: lambda penalty: (penalty.lasso, penalty.ridge),
}


@dataclass(frozen=True)
class ProximalNewton(Solver):
    """For a smooth part with a Hessian of moderate size, and a penalty that acts on each coordinate separately."""

    accepts = (CompositeObjective,)

    def start(self, objective: CompositeObjective, x0: Array) -> State:
        if not isinstance(objective.smooth, TwiceSmoothObjective) or type(objective.penalty) not in PENALTY_STRENGTHS:
            raise TypeError(
                "ProximalNewton minimises a TwiceSmoothObjective with no penalty, L1, L2 or ElasticNetPenalty; got a "
                f"{type(objective.smooth).__name__} with {type(objective.penalty).__name__}"
            )
        return _state(objective, x0)

    def step(self, objective: CompositeObjective, state: State) -> State:
        smooth = cast(TwiceSmoothObjective, objective.smooth)  # `start` checked it
        x, g, model = state.x, state.memory, smooth.least_squares_model(state.x)
        l1, l2 = PENALTY_STRENGTHS[type(objective.penalty)](objective.penalty)
        if model is not None:
            Z, y = model
            u = solve_quadratic_net(FactorQuadratic(np.ascontiguousarray(Z.T), y), l1, l2, x)
        else:
            H = np.ascontiguousarray(smooth.hessian(x))
            u = solve_quadratic_net(GramQuadratic(H, H @ x - g), l1, l2, x)
        d = u - x
        fall = float(g @ d) + objective.penalty.value(u) - objective.penalty.value(x)
        level = state.value + VALUE_ROUNDING * abs(state.value)
        if not fall < 0:  # near the minimum the decrease is lost in rounding before gradients are
            new = _state(objective, u)
            if new.value <= level and 2 * new.violation < state.violation:
                return new
            raise NoDescentError
        t = 1.0
        for _ in range(MAX_TRIALS):
            new = _state(objective, u if t == 1 else x + t * d)  # u itself: its zeros are exact
            if new.value <= state.value + SUFFICIENT_SHARE * t * fall:
                return new
            if new.value <= level and new.violation < state.violation:  # values are lost in rounding too
                return new
            t *= 0.5
        raise NoDescentError


def _state(objective: CompositeObjective, x: Array) -> State:
    value, g = objective.smooth.value_and_gradient(x)
    return State(x, value + objective.penalty.value(x), objective.violation_at(x, g), g)
