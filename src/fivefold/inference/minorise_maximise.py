"""Minorise-maximise: increase a function by maximising lower bounds that touch it.

    b(x, a) <= f(x),   b(a, a) = f(a)   =>   f(argmax_x b(x, a)) >= b(argmax_x b(x, a), a) >= f(a)

A step improves f strictly unless the gradient is zero at a, where bound and function have the same gradient. It is the
loop of `em`, which is the case b = Q + entropy. Hunter & Lange (2004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from fivefold.core.types import Array
from fivefold.inference.em import EMResult, em

ScalarFunction = Callable[[Array], float]
LowerBound = Callable[[Array, Array], float]
BoundMaximiser = Callable[[Array], Array]


@dataclass(frozen=True)
class MMState:
    """A point, the function to maximise, and a function that maximises the bound touching it at a point."""

    point: Array
    objective: ScalarFunction
    climb: BoundMaximiser

    def expect(self, X: None, w: Array) -> tuple[Array, float]:
        return self.point, float(self.objective(self.point))

    def maximise(self, stats: Array) -> MMState:
        return replace(self, point=self.climb(stats))


def minorise_maximise(
    objective: ScalarFunction,
    start: Array,
    *,
    bound: LowerBound | None = None,
    climb: BoundMaximiser | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> EMResult[MMState]:
    """Maximise `objective` from `start`.

    Give either `bound`, bound(x, a), which is maximised numerically, or `climb`, climb(a) = argmax_x bound(x, a), if
    that is known.
    """
    if climb is None:
        if bound is None:
            raise ValueError("minorise_maximise needs a bound, or climb, a function that returns its maximum")
        climb = _numerical_maximiser(bound)
    start = np.atleast_1d(np.asarray(start, dtype=np.float64))
    return em(MMState(start, objective, climb), None, np.ones(1), tol=tol, max_iter=max_iter)


def _numerical_maximiser(bound: LowerBound) -> BoundMaximiser:
    return lambda a: minimize(lambda x: -bound(x, a), a, method="BFGS", options={"gtol": 1e-9}).x
