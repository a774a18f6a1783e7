"""The dual of a linear machine with a penalised intercept: a quadratic over a box, without equality.

    primal    min over x of  1/2 x'R x + sum of s_i loss(y_i, z_i'x)          R the diagonal of the penalty
    dual      min over a of  1/2 |Z'a|^2_(1/R) + sum of s_i loss*(y_i, -a_i / s_i)        x = R^-1 Z'a

With the losses of support vector machines the second term is, inside a box,

    loss                  box                        term
    Hinge                 0 <= y a <= s              -y a
    SquaredHinge          0 <= y a                   -y a + a^2 / (4 s)
    Insensitive(e)        -s <= a <= s               -y a + e |a|
    SquaredInsensitive    none                       -y a + e |a| + a^2 / (4 s)

The sum of the two values is the duality gap: at least the distance of either from its minimum, and zero at both.

Hsieh, Chang, Lin, Keerthi & Sundararajan (2008); Ho & Lin (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Any

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.catalogue import HingeLoss, InsensitiveLoss, Loss, SquaredHingeLoss, SquaredInsensitiveLoss
from fivefold.optim.objective import Objective

MAX_FREE_MULTIPLIERS = 4000  # with more multipliers inside the box than this the system that polishes them is too large
MAX_POLISH_ROUNDS = 12


@dataclass(frozen=True)
class DualTerms:
    """low <= a <= high, and the term -y a + insensitive |a| + bend / 2 a^2 of each row."""

    low: Array
    high: Array
    insensitive: float
    bend: Array


@dataclass(frozen=True)
class BoxDual(Objective):
    """The dual of a risk; its violation is the duality gap."""

    risk: EmpiricalRisk

    @cached_property
    def metric(self) -> Array:
        """The diagonal of R^-1."""
        return np.broadcast_to(1.0 / np.asarray(self.risk.ridge, dtype=np.float64), self.risk.design.size)

    @cached_property
    def box(self) -> DualTerms:
        return DUAL_TERMS[type(self.risk.loss)](self.risk.loss, self.risk.y, self.risk.s)

    def primal(self, a: Array) -> Array:
        """The coefficients that belong to the multipliers."""
        return self._once("primal", self._primal, a)

    def predictor(self, x: Array) -> Array:
        """eta of the coefficients."""
        return self._once("predictor", self._predictor, x)

    def _primal(self, a: Array) -> Array:
        design = self.risk.design
        if not a.any():  # where every descent begins
            return np.zeros(design.size)
        if not design.sparse:
            return self.metric * design.transpose(a)
        v = design.X.T @ a  # sparse products are over before a pool of threads has begun
        return self.metric * (np.append(v, a.sum()) if design.intercept else v)

    def _predictor(self, x: Array) -> Array:
        design = self.risk.design
        if not x.any():
            return np.zeros(len(self.risk.y))
        if not design.sparse:
            return design.predictor(x)
        w, b = design.split(x)
        return design.X @ w + b

    def pair(self, a: Array, x: Array) -> None:
        """Take x for the coefficients of these multipliers: a solver may know them to more digits."""
        self._last["primal"] = (a,), x

    @cached_property
    def _last(self) -> dict[str, tuple[tuple[Array, ...], Any]]:
        return {}

    def _once(self, name: str, work: Callable[..., Any], *given: Array) -> Any:
        """The result of the last call again, where it is asked for the same arrays: points are never written to."""
        last = self._last.get(name)
        if last is None or not all(map(is_, last[0], given)):
            last = self._last[name] = given, work(*given)
        return last[1]

    def value(self, a: Array) -> float:
        return self.value_at(a, self.primal(a))

    def violation(self, a: Array) -> float:
        x = self.primal(a)
        return self.value_at(a, x) + self.primal_value(x, self.predictor(x))

    def value_at(self, a: Array, x: Array) -> float:
        """The value where the coefficients are known already."""
        return float(self._once("value", self._value_at, a, x))

    def primal_value(self, x: Array, eta: Array) -> float:
        """The value of the primal where the predictors are known already."""
        return float(self._once("primal value", self._primal_value, x, eta))

    def _value_at(self, a: Array, x: Array) -> float:
        box = self.box
        terms = box.insensitive * np.abs(a) + (0.5 * box.bend * a - self.risk.y) * a
        return 0.5 * float(x @ (x / self.metric)) + float(terms.sum())

    def _primal_value(self, x: Array, eta: Array) -> float:
        return 0.5 * float(x @ (x / self.metric)) + float(self.risk.s @ self.risk.loss.value(self.risk.y, eta))


def polish(dual: BoxDual, a: Array) -> tuple[Array, Array]:
    """Multipliers and coefficients to the last digit, once a says which multipliers lie inside the box.

    Rows inside the box lie on their margin exactly, which is a linear system; a row that leaves the box on the way is
    put on its edge, one that its margin calls is let in. What does not lower the gap is not taken.
    """
    x = dual.primal(a)
    best, gap = (a, x), dual.value_at(a, x) + dual.primal_value(x, dual.predictor(x))
    for _ in range(MAX_POLISH_ROUNDS):
        a, free = _snap_to_bounds(dual, a, dual.predictor(x))
        rows = np.flatnonzero(free)
        if not 0 < len(rows) <= MAX_FREE_MULTIPLIERS:
            break
        a = _move_to_margin(dual, a, dual.primal(a), rows)
        x = dual.primal(a)
        before, gap = gap, min(gap, dual.value_at(a, x) + dual.primal_value(x, dual.predictor(x)))
        if not gap < before:
            break
        best = a, x
    return best


def _snap_to_bounds(dual: BoxDual, a: Array, eta: Array) -> tuple[Array, Any]:
    """Each multiplier on the edge or kink that its margin pushes it to harder than it stands off; and which are left.

    The push is in units of the target, the distance in units of the box.
    """
    box, r = dual.box, dual.risk.y - eta
    width, scale, e = box.high - box.low, float(np.abs(dual.risk.y).mean()) or 1.0, box.insensitive
    up, down = (r - e) / scale, (-r - e) / scale
    high, low = up * width > box.high - a, down * width > a - box.low
    kink = (e > 0) & ((e - np.abs(r)) / scale * width > np.abs(a))
    a = np.where(high, box.high, np.where(low, box.low, np.where(kink, 0.0, a)))
    return a, ~(high | low | kink)


def _move_to_margin(dual: BoxDual, a: Array, x: Array, rows: Any) -> Array:
    """Move the multipliers of `rows`, as little as it takes, so that these lie on the margin; then into the box."""
    box, design = dual.box, dual.risk.design
    Z = design.X[rows]
    Z = Z.toarray() if design.sparse else Z.astype(np.float64)
    if design.intercept:
        Z = np.column_stack([Z, np.ones(len(Z))])
    side = dual.risk.y[rows] - Z @ x
    away = side - box.insensitive * np.where(a[rows] == 0, np.sign(side), np.sign(a[rows]))
    A = Z * np.sqrt(dual.metric)  # (free, size)
    U, sigma, _ = np.linalg.svd(A, full_matrices=False)
    kept = sigma > 1e-10 * sigma.max(initial=0.0)
    U, sigma = U[:, kept], sigma[kept]
    out = a.copy()
    out[rows] = np.clip(a[rows] + U @ ((U.T @ away) / sigma**2), box.low[rows], box.high[rows])
    return out


def _hinge_terms(loss: Loss, y: Array, s: Array) -> DualTerms:
    return DualTerms(np.minimum(y * s, 0.0), np.maximum(y * s, 0.0), 0.0, np.zeros(len(s)))


def _squared_hinge_terms(loss: Loss, y: Array, s: Array) -> DualTerms:
    return DualTerms(np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0), 0.0, 0.5 / s)


def _insensitive_terms(loss: Any, y: Array, s: Array) -> DualTerms:
    return DualTerms(-s, s, loss.epsilon, np.zeros(len(s)))


def _sq_insensitive_terms(loss: Any, y: Array, s: Array) -> DualTerms:
    return DualTerms(np.full(len(s), -np.inf), np.full(len(s), np.inf), loss.epsilon, 0.5 / s)


DUAL_TERMS = {
    HingeLoss: _hinge_terms,
    SquaredHingeLoss: _squared_hinge_terms,
    InsensitiveLoss: _insensitive_terms,
    SquaredInsensitiveLoss: _sq_insensitive_terms,
}
