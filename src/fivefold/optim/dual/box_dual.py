"""The dual of a linear machine with a penalised intercept: a quadratic over a box, without an equality constraint.

    primal    min over x of  1/2 x'R x + sum of s_i loss(y_i, z_i'x)          R the diagonal of the penalty
    dual      min over a of  1/2 |Z'a|^2_(1/R) + sum of s_i loss*(y_i, -a_i / s_i)        x = R^-1 Z'a

With the losses of support vector machines the second term is, inside a box,

    loss                  box                        term
    HingeLoss             0 <= y a <= s              -y a
    SquaredHingeLoss      0 <= y a                   -y a + a^2 / (4 s)
    InsensitiveLoss(e)    -s <= a <= s               -y a + e |a|
    SquaredInsensitive-   none                       -y a + e |a| + a^2 / (4 s)
        Loss(e)

The sum of the two values is the duality gap: at least the distance of either from its minimum, and zero at both.

Hsieh, Chang, Lin, Keerthi & Sundararajan (2008); Ho & Lin (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Any, TypeVar

import numpy as np

from fivefold.core.types import Array, Indices, Mask
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import HingeLoss, SquaredHingeLoss
from fivefold.optim.losses.regression_losses import InsensitiveLoss, SquaredInsensitiveLoss
from fivefold.optim.objective import Objective

MAX_FREE_MULTIPLIERS = 4000  # inside the box: with more of them the linear system of `polish` is too large
MAX_POLISH_ROUNDS = 12  # solutions of that system, each with other multipliers at their bounds

Memo = TypeVar("Memo")


@dataclass(frozen=True)
class DualTerms:
    """low <= a <= high, and the term -y a + tube_width |a| + curvature / 2 a^2 of each row."""

    low: Array
    high: Array
    tube_width: float
    curvature: Array


@dataclass(frozen=True)
class BoxDual(Objective):
    """The dual of a risk; its violation is the duality gap."""

    risk: EmpiricalRisk

    @cached_property
    def inverse_ridge(self) -> Array:
        """The diagonal of R^-1."""
        return np.broadcast_to(1.0 / np.asarray(self.risk.ridge, dtype=np.float64), self.risk.design.size)

    @cached_property
    def terms(self) -> DualTerms:
        """The box, and the term of each row."""
        return DUAL_TERMS[type(self.risk.loss)](self.risk.loss, self.risk.y, self.risk.s)

    @cached_property
    def row_products(self) -> Array:
        """Z R^-1 Z' (n, n)."""
        Z = self.risk.design.rows(slice(None)) * np.sqrt(self.inverse_ridge)
        return Z @ Z.T

    def primal(self, a: Array) -> Array:
        """The coefficients x of the multipliers a."""
        return self._memoised("primal", self._primal, a)

    def predictor(self, x: Array) -> Array:
        """eta of the coefficients."""
        return self._memoised("predictor", self._predictor, x)

    def _primal(self, a: Array) -> Array:
        design = self.risk.design
        if not a.any():  # the start of every descent
            return np.zeros(design.size)
        if not design.sparse:
            return self.inverse_ridge * design.transpose(a)
        v = design.X.T @ a  # a sparse product is done before the thread pool would have started
        return self.inverse_ridge * (np.append(v, a.sum()) if design.intercept else v)

    def _predictor(self, x: Array) -> Array:
        design = self.risk.design
        if not x.any():
            return np.zeros(len(self.risk.y))
        if not design.sparse:
            return design.predictor(x)
        w, b = design.split(x)
        return design.X @ w + b

    def remember_primal(self, a: Array, x: Array) -> None:
        """Let x be the coefficients of these multipliers: a solver may know them to more digits."""
        self._memo["primal"] = (a,), x

    @cached_property
    def _memo(self) -> dict[str, tuple[tuple[Array, ...], Any]]:
        return {}

    def _memoised(self, name: str, work: Callable[..., Memo], *given: Array) -> Memo:
        """The result of the last call, if the arguments are the same arrays: points are never written to."""
        last = self._memo.get(name)
        if last is None or not all(map(is_, last[0], given)):
            last = self._memo[name] = given, work(*given)
        return last[1]

    def value(self, a: Array) -> float:
        return self.value_at(a, self.primal(a))

    def violation(self, a: Array) -> float:
        x = self.primal(a)
        return self.value_at(a, x) + self.primal_value(x, self.predictor(x))

    def value_at(self, a: Array, x: Array) -> float:
        """The value where the coefficients are already known."""
        return float(self._memoised("value", self._value_at, a, x))

    def primal_value(self, x: Array, eta: Array) -> float:
        """The value of the primal where the predictors are already known."""
        return float(self._memoised("primal value", self._primal_value, x, eta))

    def _value_at(self, a: Array, x: Array) -> float:
        terms = self.terms
        per_row = terms.tube_width * np.abs(a) + (0.5 * terms.curvature * a - self.risk.y) * a
        return 0.5 * float(x @ (x / self.inverse_ridge)) + float(per_row.sum())

    def _primal_value(self, x: Array, eta: Array) -> float:
        return 0.5 * float(x @ (x / self.inverse_ridge)) + float(self.risk.s @ self.risk.loss.value(self.risk.y, eta))


def polish(dual: BoxDual, a: Array) -> tuple[Array, Array]:
    """Multipliers and coefficients to the last digit, once a says which multipliers lie inside the box.

    Rows with a multiplier inside the box lie exactly on their margin, which is a linear system; a multiplier that
    leaves the box is put on its bound, and one that its margin pushes off its bound is freed. A round that does not
    lower the gap is discarded.
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


def _snap_to_bounds(dual: BoxDual, a: Array, eta: Array) -> tuple[Array, Mask]:
    """Put a multiplier on the bound or kink to which its margin pushes it, where the push exceeds the distance.

    Also returns which multipliers are left free. The push is in units of the target, the distance in units of the box.
    """
    terms, r = dual.terms, dual.risk.y - eta
    width, scale, e = terms.high - terms.low, float(np.abs(dual.risk.y).mean()) or 1.0, terms.tube_width
    up, down = (r - e) / scale, (-r - e) / scale
    high, low = up * width > terms.high - a, down * width > a - terms.low
    kink = (e > 0) & ((e - np.abs(r)) / scale * width > np.abs(a))
    a = np.where(high, terms.high, np.where(low, terms.low, np.where(kink, 0.0, a)))
    return a, ~(high | low | kink)


def _move_to_margin(dual: BoxDual, a: Array, x: Array, rows: Indices) -> Array:
    """Move the multipliers of `rows` as little as possible so that the rows lie on the margin; then clip to the box."""
    terms, design = dual.terms, dual.risk.design
    Z = design.rows(rows)
    side = dual.risk.y[rows] - Z @ x
    away = side - terms.tube_width * np.where(a[rows] == 0, np.sign(side), np.sign(a[rows]))
    A = Z * np.sqrt(dual.inverse_ridge)  # (free, size)
    U, sigma, _ = np.linalg.svd(A, full_matrices=False)
    kept = sigma > 1e-10 * sigma.max(initial=0.0)
    U, sigma = U[:, kept], sigma[kept]
    out = a.copy()
    out[rows] = np.clip(a[rows] + U @ ((U.T @ away) / sigma**2), terms.low[rows], terms.high[rows])
    return out


def _hinge_terms(loss: Loss, y: Array, s: Array) -> DualTerms:
    return DualTerms(np.minimum(y * s, 0.0), np.maximum(y * s, 0.0), 0.0, np.zeros(len(s)))


def _squared_hinge_terms(loss: Loss, y: Array, s: Array) -> DualTerms:
    return DualTerms(np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0), 0.0, 0.5 / s)


def _insensitive_terms(loss: InsensitiveLoss, y: Array, s: Array) -> DualTerms:
    return DualTerms(-s, s, loss.epsilon, np.zeros(len(s)))


def _sq_insensitive_terms(loss: SquaredInsensitiveLoss, y: Array, s: Array) -> DualTerms:
    return DualTerms(np.full(len(s), -np.inf), np.full(len(s), np.inf), loss.epsilon, 0.5 / s)


DUAL_TERMS: dict[type[Loss], Callable[[Any, Array, Array], DualTerms]] = {  # each takes the loss of its key
    HingeLoss: _hinge_terms,
    SquaredHingeLoss: _squared_hinge_terms,
    InsensitiveLoss: _insensitive_terms,
    SquaredInsensitiveLoss: _sq_insensitive_terms,
}
