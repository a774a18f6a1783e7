"""The one loop of every iterative solver.

A solver is a value with two rules:

    start(objective, x0)       -> State
    step(objective, state)     -> State; raises NoDescentError where nothing lowers the value

The loop does what all solvers share: stopping by the violation, the history, the path, divergence, progress, and
Ctrl-C, after which the best point so far is the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array
from fivefold.optim.objective import Minimum, Monitor, Objective, Reason

DIVERGENCE_VALUE = 1e100  # an absolute value beyond this, or NaN, counts as divergence


class NoDescentError(Exception):
    """No step from here lowers the value: the solver can do no better than its present state."""


@dataclass(frozen=True)
class State:
    """A point, its value, its violation, and what the solver remembers."""

    x: Array
    value: float
    violation: float
    memory: Any = None  # each solver has its own record


class Solver(ABC):
    """An iterative rule. `accepts` lists the kinds of objective it can minimise.

    `objective` is untyped below: solvers narrow it to what they accept, and `minimise` checks that it is.

    A solver is `convergent` if, with its default fields, it reaches the minimum of every convex objective it accepts;
    tests/laws/test_solvers.py finds every solver of the package and checks that it does.
    """

    accepts: ClassVar[tuple[type, ...]] = (Objective,)
    convergent: ClassVar[bool] = True
    final_value: ClassVar[bool] = True  # compute the value of the last point anew? False keeps that of its state

    @abstractmethod
    def start(self, objective: Any, x0: Array) -> State:
        """The state at x0."""

    @abstractmethod
    def step(self, objective: Any, state: State) -> State:
        """The next state."""


def minimise(
    objective: Objective,
    x0: ArrayLike,
    solver: Solver,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    record: bool = False,
    monitor: Monitor | None = None,
) -> Minimum:
    """Iterate from x0 until the violation is at most tol, for at most max_iter steps.

    `record` keeps every point in `path`; `monitor(x, value)` is called after every step and ends the loop by returning
    True.
    """
    if not isinstance(objective, solver.accepts):
        wanted = " or ".join(kind.__name__ for kind in solver.accepts)
        raise TypeError(f"{type(solver).__name__} minimises a {wanted}; got a {type(objective).__name__}")
    x0 = np.array(x0, dtype=np.float64)
    state = solver.start(objective, x0)
    best, history, path, reason = state, [state.value], [state.x], _stop_reason(state, tol)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # _stop_reason reports a value beyond all bounds
            while reason is None and len(history) <= max_iter:
                state = solver.step(objective, state)
                history.append(state.value)
                if record:
                    path.append(state.x)
                if state.value <= best.value:
                    best = state
                reason = _stop_reason(state, tol)
                if reason is None and monitor is not None and monitor(state.x, state.value):
                    reason = "stopped"
    except NoDescentError:
        reason = "stuck"
    except KeyboardInterrupt:
        reason, state = "interrupted", best
    end = best if reason == "diverged" else state
    value, violation = objective.value_and_violation(end.x) if solver.final_value else (end.value, end.violation)
    return Minimum(end.x, value, violation, tuple(history), reason or "max_iter", tuple(path) if record else ())


def _stop_reason(state: State, tol: float) -> Reason | None:
    if not abs(state.value) <= DIVERGENCE_VALUE:  # also true for NaN
        return "diverged"
    return "converged" if state.violation <= tol else None
