"""Functions given by the user as objectives, and two landscapes to watch solvers on.

    bowl      (t1 - 5)^2 + (t1 - 5)(t2 - 5) + (t2 - 5)^2, a convex quadratic with its minimum 0 at (5, 5)
    valley    (t2 - t1^2)^2 + 0.01 (1 - t1)^2, a flat variant of Rosenbrock's, with its minimum 0 at (1, 1)

Derivatives that are not given are taken by central differences. To maximise f is to minimise -f.

    >>> from fivefold.optim.minimise import minimise
    >>> from fivefold.optim.smooth.bfgs import BFGS
    >>> found = minimise(Function(lambda x: (x[0] - 3) ** 2 + x[1] ** 4), [0.0, 1.0], BFGS(), tol=1e-6)
    >>> found.x.round(2), found.reason
    (array([3., 0.]), 'converged')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array
from fivefold.optim.derivative_checks import jacobian_by_differences
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum, ResidualObjective, SmoothObjective, TwiceSmoothObjective


@dataclass(frozen=True)
class Function(TwiceSmoothObjective):
    """f with those of its derivatives that are known."""

    f: Callable[[Array], float]
    slope: Callable[[Array], ArrayLike] | None = None
    curvature: Callable[[Array], ArrayLike] | None = None

    def value(self, x: Array) -> float:
        return float(self.f(x))

    def gradient(self, x: Array) -> Array:
        if self.slope is None:
            return jacobian_by_differences(lambda z: np.array([self.value(z)]), x)[0]
        return np.asarray(self.slope(x), dtype=np.float64)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        return self.value(x), self.gradient(x)

    def hessian(self, x: Array) -> Array:
        if self.curvature is None:
            # gradients by differences have lost half their digits, so differences of them need longer steps
            H = jacobian_by_differences(self.gradient, x, relative_step=1e-4 if self.slope is None else None)
            return (H + H.T) / 2
        return np.asarray(self.curvature(x), dtype=np.float64)


@dataclass(frozen=True)
class ResidualFunction(ResidualObjective):
    """Half the sum of squares of residuals r(x), with their derivatives where they are known.

    >>> import numpy as np
    >>> from fivefold.optim.smooth.nonlinear_least_squares import LevenbergMarquardt
    >>> from fivefold.optim.minimise import minimise
    >>> t = np.linspace(0, 4, 20)
    >>> decay = ResidualFunction(lambda x: x[0] * np.exp(-x[1] * t) - 3 * np.exp(-0.7 * t))
    >>> minimise(decay, [1.0, 1.0], LevenbergMarquardt(), tol=1e-6).x.round(4)
    array([3. , 0.7])
    """

    r: Callable[[Array], ArrayLike]
    slopes: Callable[[Array], ArrayLike] | None = None

    def residuals(self, x: Array) -> Array:
        return np.asarray(self.r(x), dtype=np.float64)

    def jacobian(self, x: Array) -> Array:
        if self.slopes is None:
            return jacobian_by_differences(self.residuals, x)
        return np.asarray(self.slopes(x), dtype=np.float64)


@dataclass(frozen=True)
class Quadratic(TwiceSmoothObjective):
    """1/2 (x - centre)' A (x - centre) + least, A symmetric."""

    A: Array
    centre: Array
    least: float = 0.0

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        z = x - self.centre
        g = self.A @ z
        return 0.5 * float(z @ g) + self.least, g

    def hessian(self, x: Array) -> Array:
        return self.A

    def hessian_product(self, x: Array, v: Array) -> Array:
        return self.A @ v


@dataclass(frozen=True)
class NegatedFunction(TwiceSmoothObjective):
    """-f: its minima are the maxima of f."""

    function: SmoothObjective

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        value, g = self.function.value_and_gradient(x)
        return -value, -g

    def hessian(self, x: Array) -> Array:
        if not isinstance(self.function, TwiceSmoothObjective):
            raise TypeError(f"a {type(self.function).__name__} has no second derivatives")
        return -self.function.hessian(x)


def maximise(objective: SmoothObjective, x0: Array, solver: Solver, **options: Any) -> Minimum:
    """The minimum of -f, with the values of f; the options are those of `minimise`."""
    found = minimise(NegatedFunction(objective), x0, solver, **options)
    return replace(found, value=-found.value, history=tuple(-value for value in found.history))


@dataclass(frozen=True)
class Landscape:
    """A function of two variables with what is known about it, where to start and what to draw."""

    name: str
    function: TwiceSmoothObjective
    inverse_hessian: Callable[[Array], Array]
    minimum: tuple[float, float]
    start: tuple[float, float]
    window: tuple[tuple[float, float], tuple[float, float]]  # of t1 and t2


BOWL = Landscape(
    "quadratic",
    Quadratic(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([5.0, 5.0])),
    lambda t: np.array([[2.0, -1.0], [-1.0, 2.0]]) / 3,
    minimum=(5.0, 5.0),
    start=(-9.0, 14.0),
    window=((-10.0, 15.0), (-5.0, 15.0)),
)

VALLEY = Landscape(
    "Rosenbrock",
    Function(
        lambda t: (t[1] - t[0] ** 2) ** 2 + 0.01 * (1 - t[0]) ** 2,
        lambda t: [4 * t[0] ** 3 - 4 * t[0] * t[1] + 0.02 * t[0] - 0.02, 2 * t[1] - 2 * t[0] ** 2],
        lambda t: [[12 * t[0] ** 2 - 4 * t[1] + 0.02, -4 * t[0]], [-4 * t[0], 2.0]],
    ),
    lambda t: (
        np.array([[0.25, 0.5 * t[0]], [0.5 * t[0], 1.5 * t[0] ** 2 - 0.5 * t[1] + 0.0025]]) / (t[0] ** 2 - t[1] + 0.005)
    ),
    minimum=(1.0, 1.0),
    start=(-2.0, 2.0),
    window=((-2.5, 2.5), (-2.0, 4.0)),
)

LANDSCAPES = (BOWL, VALLEY)
