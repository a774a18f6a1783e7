"""How far to go along a direction d from x: line searches, as values.

    FixedStep(rate)         t = rate, whether f falls or not
    ScheduledStep(rate)     t = rate(iteration); DecreasingStep: rate / (1 + iteration / half_life)
    Armijo                  the first of t, ct, c^2 t, ... with f(x + t d) <= f(x) + sufficient_decrease t g'd
    AdaptiveStep(rate)      Armijo from a rate that grows after every step and shrinks when f would rise
    Wolfe                   Armijo's condition, and |g(x + t d)'d| <= curvature |g'd|
    ExactSearch             t = -g'd / d'Hd: the minimum along the line where f is quadratic
    GoldenSection, Brent    the minimum along the line from values alone, to the square root of the rounding error

A search returns the step and the new point with value and gradient, so that an accepted first trial costs one
evaluation.
The bracketing and zooming of `Wolfe` is that of Nocedal & Wright (2006), algorithms 3.5 and 3.6, in one loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, State
from fivefold.optim.objective import SmoothObjective, TwiceSmoothObjective

SUFFICIENT_SHARE = 1e-4  # a step must lower f by at least this share of t g'd
VALUE_ROUNDING = 1e-14  # as a share of the value: a smaller rise is rounding
# the share of the slope left, on a parabola, by a step that lowers f just enough
FLATTER_SLOPE_SHARE = 1 - 2 * SUFFICIENT_SHARE
MAX_TRIALS = 40  # evaluations per search
GOLDEN_RATIO = (1 + 5**0.5) / 2


class Point(NamedTuple):
    """A point with its value and gradient."""

    x: Array
    value: float
    gradient: Array

    @classmethod
    def at(cls, objective: SmoothObjective, x: Array) -> Point:
        """The point x of an objective."""
        return cls(x, *objective.value_and_gradient(x))

    @property
    def violation(self) -> float:
        """The largest entry of the gradient."""
        return float(np.abs(self.gradient).max(initial=0.0))


def point_state(point: Point, *memory: object) -> State:
    """The state of a solver at a point, which it remembers together with `memory`."""
    return State(point.x, point.value, point.violation, (point, *memory))


class LineSearch(ABC):
    """A rule for the length of a step."""

    @abstractmethod
    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        """The step t and the point `here.x + t direction`; raises NoDescentError where there is none.

        `trial` is the step the solver suggests, `iteration` counts its steps from zero.
        """


@dataclass(frozen=True)
class FixedStep(LineSearch):
    """Always the same step. Below 2 / L, L the largest curvature, steepest descent converges; beyond it diverges."""

    rate: float = 1.0

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        return self.rate, Point.at(objective, here.x + self.rate * direction)


@dataclass(frozen=True)
class ScheduledStep(LineSearch):
    """A step that depends on the iteration alone."""

    rate: Callable[[int], float]

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        t = float(self.rate(iteration))
        return t, Point.at(objective, here.x + t * direction)


@dataclass(frozen=True)
class DecreasingStep(LineSearch):
    """rate / (1 + iteration / half_life). The sum of the steps is infinite, the sum of their squares finite."""

    rate: float = 1.0
    half_life: float = 100.0

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        return FixedStep(self.rate / (1 + iteration / self.half_life)).find_step(objective, here, direction)


@dataclass(frozen=True)
class Armijo(LineSearch):
    """Backtracking from `growth` times the trial."""

    sufficient_decrease: float = SUFFICIENT_SHARE
    shrink: float = 0.5
    growth: float = 1.0

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        slope = descent_slope(here, direction)
        t = trial * self.growth
        for _ in range(MAX_TRIALS):
            there = Point.at(objective, here.x + t * direction)
            if has_decreased(here, there, self.sufficient_decrease * t * slope) or within_rounding(here, there):
                return t, there
            t *= self.shrink
        raise NoDescentError


@dataclass(frozen=True)
class AdaptiveStep(LineSearch):
    """The rate grows by a tenth after every step, and is halved until f does not rise."""

    rate: float = 0.1
    growth: float = 1.1
    shrink: float = 0.5

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        first = self.growth * trial if iteration else self.rate
        return Armijo(shrink=self.shrink).find_step(objective, here, direction, first)


@dataclass(frozen=True)
class Wolfe(LineSearch):
    """The strong Wolfe conditions: the value has fallen, and the slope has lost most of its steepness."""

    sufficient_decrease: float = SUFFICIENT_SHARE
    curvature: float = 0.9

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        slope = descent_slope(here, direction)
        low, high, t = _LinePoint(0.0, here, slope), None, trial
        for _ in range(MAX_TRIALS):
            there = Point.at(objective, here.x + t * direction)
            place = _LinePoint(t, there, float(there.gradient @ direction))
            enough = has_decreased(here, there, self.sufficient_decrease * t * slope)
            if not enough and within_rounding(here, there):
                return t, there
            if not enough or (low.t and not there.value < low.point.value):
                high = place
            elif abs(place.slope) <= self.curvature * abs(slope):
                return t, there
            else:
                rising = place.slope * ((high.t if high else np.inf) - low.t) >= 0
                low, high = place, low if rising else high
            t = _cubic_minimum(low, high) if high else _extrapolated_step(low, slope)
        if low.t:
            return low.t, low.point  # sufficient decrease, though not the curvature condition
        raise NoDescentError


@dataclass(frozen=True)
class ExactSearch(LineSearch):
    """The minimum along the line of a quadratic."""

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        if not isinstance(objective, TwiceSmoothObjective):
            raise TypeError(
                f"ExactSearch needs the Hessian of a TwiceSmoothObjective; got a {type(objective).__name__}"
            )
        slope, curvature = (
            float(here.gradient @ direction),
            float(direction @ objective.hessian_product(here.x, direction)),
        )
        if not curvature > 0:
            raise ValueError(f"the curvature along the line is {curvature:.3g}: it has no minimum there. Use Wolfe()")
        t = -slope / curvature
        return t, Point.at(objective, here.x + t * direction)


@dataclass(frozen=True)
class GoldenSection(LineSearch):
    """The bracket shrinks by the golden ratio at every evaluation, to a share `tol` of its middle."""

    tol: float = 1e-9

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        return _minimise_along_line("golden", self.tol, objective, here, direction, trial)


@dataclass(frozen=True)
class Brent(LineSearch):
    """Parabolas through three values, and golden sections where they fail."""

    tol: float = 1e-9

    def find_step(
        self, objective: SmoothObjective, here: Point, direction: Array, trial: float = 1.0, iteration: int = 0
    ) -> tuple[float, Point]:
        return _minimise_along_line("brent", self.tol, objective, here, direction, trial)


def descent_slope(here: Point, direction: Array) -> float:
    """The slope along the direction; raises NoDescentError where it is not negative."""
    slope = float(here.gradient @ direction)
    if not slope < 0:
        raise NoDescentError
    return slope


def cautious_step(gradient: Array) -> float:
    """A first step along -gradient no longer than one."""
    return min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-300))


def has_decreased(here: Point, there: Point, promised: float) -> bool:
    """Whether the value fell by at least what was promised, and by more than rounding."""
    return there.value < here.value and there.value <= here.value + promised


def within_rounding(here: Point, there: Point) -> bool:
    """Whether the value rose by no more than rounding and the slope fell: near the minimum values lose digits first."""
    if not there.value <= here.value + VALUE_ROUNDING * abs(here.value):
        return False
    step = there.x - here.x
    return bool(abs(float(there.gradient @ step)) < FLATTER_SLOPE_SHARE * abs(float(here.gradient @ step)))


class _LinePoint(NamedTuple):
    """A step with its point and the slope along the line there."""

    t: float
    point: Point
    slope: float


def _cubic_minimum(low: _LinePoint, high: _LinePoint) -> float:
    """The minimum of the cubic through both points, kept away from the ends."""
    width = high.t - low.t
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rise = np.float64(high.point.value - low.point.value) / width
        a = low.slope + high.slope - 3 * rise
        root = np.sqrt(a**2 - low.slope * high.slope)
        share = 1 - (high.slope + root - a) / (high.slope - low.slope + 2 * root)
    return low.t + width * (float(np.clip(share, 0.1, 0.9)) if np.isfinite(share) else 0.5)


def _extrapolated_step(low: _LinePoint, first: float) -> float:
    """Where the slope, extrapolated linearly from the start, is zero; 1.5 to 10 times as far as `low`."""
    lost = low.slope - first
    return low.t * (min(max(-first / lost, 1.5), 10.0) if lost > 0 else 10.0)


def _minimise_along_line(
    method: str, tol: float, objective: SmoothObjective, here: Point, direction: Array, trial: float
) -> tuple[float, Point]:
    descent_slope(here, direction)

    def f(t: float) -> float:
        return objective.value(here.x + t * direction)

    bracket = _bracket(f, f(0.0), trial)
    t = float(minimize_scalar(f, bracket=bracket, method=method, options={"xtol": tol}).x)
    there = Point.at(objective, here.x + t * direction)
    if not (there.value < here.value or within_rounding(here, there)):
        raise NoDescentError
    return t, there


def _bracket(f: Callable[[float], float], start: float, t: float) -> tuple[float, float, float]:
    """0 <= a < b < c with f(b) below f(a) and f(c)."""
    a, b, low = 0.0, t, f(t)
    if not low < start:
        for _ in range(MAX_TRIALS):
            b, c = b / GOLDEN_RATIO, b
            if f(b) < start:
                return 0.0, b, c
        raise NoDescentError
    c = b
    for _ in range(10 * MAX_TRIALS):
        c = c + GOLDEN_RATIO * (c - a)
        value = f(c)
        if value > low:
            return a, b, c
        if value < low:
            a, b, low = b, c, value
    raise NoDescentError  # f falls without end, or is flat
