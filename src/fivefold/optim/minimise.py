"""The one loop of every iterative solver.

A solver is a value with two rules:

    start(objective, x0)       -> State
    step(objective, state)     -> State, or Stuck where nothing lowers the value

and the loop does what they share: stopping by the violation, the history, the path, divergence, progress, and Ctrl-C,
after which the best point so far is the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.objective import Minimum, Objective, Reason

DIVERGENCE_VALUE = 1e100  # a value beyond it, or none, is divergence


class NoDescentError(Exception):
    """No step from here lowers the value: the state is as good as the solver can make it."""


@dataclass(frozen=True)
class State:
    """A point, its value, its violation, and what the solver remembers."""

    x: Array
    value: float
    violation: float
    memory: Any = None


class Solver(ABC):
    """An iterative rule. `accepts` names the kinds of objective it can work on.

    A solver is `convergent` if, with its default fields, it reaches the minimum of every convex objective it accepts;
    tests/laws/test_solvers.py finds every solver of the package and asks it for that.
    """

    accepts: ClassVar[tuple[type, ...]] = (Objective,)
    convergent: ClassVar[bool] = True

    @abstractmethod
    def start(self, objective: Any, x0: Array) -> State:
        """The state at x0."""

    @abstractmethod
    def step(self, objective: Any, state: State) -> State:
        """The next state."""


def minimise(
    objective: Objective,
    x0: Any,
    solver: Solver,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    record: bool = False,
    monitor: Callable[[Array, float], bool] | None = None,
) -> Minimum:
    """Go from x0 until the violation is at most tol, for max_iter steps at most.

    `record` keeps every point in `path`; `monitor(x, value)` is told of every step and ends the loop by answering True.
    """
    if not isinstance(objective, solver.accepts):
        wanted = " or ".join(kind.__name__ for kind in solver.accepts)
        raise TypeError(f"{type(solver).__name__} minimises a {wanted}; got a {type(objective).__name__}")
    x0 = np.array(x0, dtype=np.float64)
    state = solver.start(objective, x0)
    best, history, path, reason = state, [state.value], [state.x], _verdict(state, tol)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a value beyond all bounds is seen by the verdict
            while reason is None and len(history) <= max_iter:
                state = solver.step(objective, state)
                history.append(state.value)
                if record:
                    path.append(state.x)
                if state.value <= best.value:
                    best = state
                reason = _verdict(state, tol)
                if reason is None and monitor is not None and monitor(state.x, state.value):
                    reason = "stopped"
    except NoDescentError:
        reason = "stuck"
    except KeyboardInterrupt:
        reason, state = "interrupted", best
    x = best.x if reason == "diverged" else state.x
    value, violation = objective.judged(x)
    return Minimum(x, value, violation, tuple(history), reason or "max_iter", tuple(path) if record else ())


def _verdict(state: State, tol: float) -> Reason | None:
    if not abs(state.value) <= DIVERGENCE_VALUE:  # also where it is not a number
        return "diverged"
    return "converged" if state.violation <= tol else None
