"""Derivatives by differences, and checks of what is claimed about a function.

    forward     (f(x + h e_j) - f(x)) / h            d + 1 values, an error of about 1e-8
    central     (f(x + h e_j) - f(x - h e_j)) / 2h   2 d values, an error of about 1e-10

A convex set holds the segment between any two of its points. A convex function lies below its chords, above its
tangents, and has a positive semi-definite Hessian; v is a subgradient at x0 if f(x) >= f(x0) + v'(x - x0) for all x.
These four are tried at random points: a failure is a proof, and is returned; the absence of one is only evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.core.numerics.eigenpairs import definiteness
from fivefold.core.types import Array
from fivefold.optim.objective import SmoothObjective, TwiceSmoothObjective

EPS = float(np.finfo(np.float64).eps)
# as a share of the coordinate: there the errors of rounding and of curvature are about equal
DIFFERENCE_STEPS = {"forward": EPS**0.5, "central": EPS ** (1 / 3)}
DifferenceMethod = Literal["forward", "central"]
VALUE_ROUNDING = 1e-9  # as a share of the values compared: a smaller gap is rounding


def jacobian_by_differences(
    f: Callable[[Array], Array], x: Array, method: DifferenceMethod = "central", *, relative_step: float | None = None
) -> Array:
    """Derivatives (m, d) of the values f (m,) in every coordinate of x (d,)."""
    x = np.asarray(x, dtype=np.float64)
    h = (DIFFERENCE_STEPS[method] if relative_step is None else relative_step) * np.maximum(1.0, np.abs(x))
    h = (x + h) - x  # rounded to a step that floating point adds exactly
    middle = f(x) if method == "forward" else None
    columns = []
    for step in np.diag(h):
        low = f(x - step) if middle is None else middle
        columns.append((f(x + step) - low) / (step.sum() * (2 if middle is None else 1)))
    return np.stack(columns, axis=-1)


def gradient_by_differences(f: Callable[[Array], float], x: Array, method: DifferenceMethod = "central") -> Array:
    """The gradient (d,) of a function at x.

    >>> gradient_by_differences(lambda x: x[0] ** 2 + 3 * x[1], np.array([2.0, 1.0])).round(6)
    array([4., 3.])
    """
    return jacobian_by_differences(lambda z: np.array([f(z)]), x, method)[0]


@dataclass(frozen=True)
class GradientCheck:
    """A gradient and its differences; `error` is their largest gap over the largest entry of both, or over one."""

    analytic: Array
    numeric: Array
    error: float

    @property
    def worst(self) -> int:
        """The coordinate with the largest gap."""
        return int(np.argmax(np.abs(self.analytic - self.numeric)))

    def __bool__(self) -> bool:
        return self.error < 1e-6


def check_gradient(objective: SmoothObjective, x: Array, method: DifferenceMethod = "central") -> GradientCheck:
    """Compare the gradient of an objective with differences of its values; true where they agree to 1e-6."""
    x = np.asarray(x, dtype=np.float64)
    return compare_derivatives(objective.gradient(x), gradient_by_differences(objective.value, x, method))


def compare_derivatives(analytic: Array, numeric: Array) -> GradientCheck:
    """Compare derivatives of any shape with their differences."""
    scale = max(1.0, float(np.abs(analytic).max()), float(np.abs(numeric).max()))
    return GradientCheck(analytic, numeric, float(np.abs(analytic - numeric).max()) / scale)


@dataclass(frozen=True)
class ClaimCheck:
    """Whether a claim held at every point tried; if not, the points at which it fails and by how much."""

    holds: bool
    witness: tuple[Array, ...] = ()
    gap: float = 0.0

    def __bool__(self) -> bool:
        return self.holds


PointSampler = Callable[[np.random.RandomState], Array]


def check_convex_set(
    contains: Callable[[Array], bool], draw: PointSampler, rng: np.random.RandomState, n_draws: int = 1000
) -> ClaimCheck:
    """Whether segments between points of the set stay in it; `draw` gives candidates, and those inside are used.

    The witness is two points of the set and the point between them that is not in it.
    """
    for x, y, a in _pairs(lambda rng: _kept(contains, draw, rng), rng, n_draws):
        z = a * x + (1 - a) * y
        if not contains(z):
            return ClaimCheck(False, (x, y, z), 1.0)
    return ClaimCheck(True)


def check_chords(
    f: Callable[[Array], float], draw: PointSampler, rng: np.random.RandomState, n_draws: int = 1000
) -> ClaimCheck:
    """Whether f(a x + (1 - a) y) <= a f(x) + (1 - a) f(y); f needs no derivative."""
    for x, y, a in _pairs(draw, rng, n_draws):
        z = a * x + (1 - a) * y
        chord = a * f(x) + (1 - a) * f(y)
        gap = f(z) - chord
        if gap > VALUE_ROUNDING * max(1.0, abs(chord)):
            return ClaimCheck(False, (x, y, z), gap)
    return ClaimCheck(True)


def check_tangents(
    objective: SmoothObjective, draw: PointSampler, rng: np.random.RandomState, n_draws: int = 1000
) -> ClaimCheck:
    """Whether f(y) >= f(x) + grad f(x)'(y - x)."""
    for x, y, _ in _pairs(draw, rng, n_draws):
        value, g = objective.value_and_gradient(x)
        found = _support(objective.value, value, g, x, y)
        if not found:
            return found
    return ClaimCheck(True)


def check_curvature(
    objective: TwiceSmoothObjective, draw: PointSampler, rng: np.random.RandomState, n_draws: int = 200
) -> ClaimCheck:
    """Whether the Hessian is positive semi-definite; the witness is a point and a direction in which it is not."""
    for _ in range(n_draws):
        x = draw(rng)
        found = definiteness(objective.hessian(x))
        if found.witness is not None:
            return ClaimCheck(False, (x, found.witness), -float(found.values[-1]))
    return ClaimCheck(True)


def check_subgradient(
    f: Callable[[Array], float],
    v: Array,
    x0: Array,
    draw: PointSampler,
    rng: np.random.RandomState,
    n_draws: int = 1000,
) -> ClaimCheck:
    """Whether f(x) >= f(x0) + v'(x - x0) at the points drawn."""
    value = f(x0)
    for _ in range(n_draws):
        found = _support(f, value, v, x0, draw(rng))
        if not found:
            return found
    return ClaimCheck(True)


def _support(f: Callable[[Array], float], value: float, v: Array, x: Array, y: Array) -> ClaimCheck:
    """Whether the plane through (x, value) with slope v is below f at y."""
    there, plane = f(y), value + float(np.asarray(v) @ (y - x))
    gap = plane - there
    return ClaimCheck(gap <= VALUE_ROUNDING * max(1.0, abs(there), abs(value)), (x, y), max(gap, 0.0))


def _pairs(draw: PointSampler, rng: np.random.RandomState, n_draws: int) -> Iterator[tuple[Array, Array, float]]:
    for _ in range(n_draws):
        yield draw(rng), draw(rng), rng.random_sample()


def _kept(contains: Callable[[Array], bool], draw: PointSampler, rng: np.random.RandomState) -> Array:
    for _ in range(10_000):
        x = draw(rng)
        if contains(x):
            return x
    raise ValueError("10000 points were drawn and none is in the set; draw closer to it")
