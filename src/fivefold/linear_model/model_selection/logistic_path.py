"""Logistic regression for strength after strength, and what of them folds have found best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import (
    Array,
    Mask,
    Table,
    Target,
    Vector,
    Weights,
)
from fivefold.linear_model.diagnostics.standard_errors import SEPARATED_LOSS, UNPENALISED_TOL
from fivefold.linear_model.logistic import LogisticRegression
from fivefold.linear_model.solvers.risk_solver import (
    coefficient_strengths,
    zero_sum_coefficients,
)
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.objective import Minimum
from fivefold.optim.risk_minimisation.preconditioned_descent import minimise_risk

STALLED_PASSES = 5  # a descent ends after this many passes without a lower value


@dataclass(frozen=True)
class PathSearch:
    """The result of every strength on every fold, and the choice."""

    Cs: Array
    ratios: Array
    paths: Array  # (folds, ratios, Cs, outputs, columns and intercept)
    scores: Array  # (folds, ratios, Cs)
    passes: Array  # (folds, ratios, Cs)
    C: float = np.nan
    ratio: float = np.nan

    @classmethod
    def empty(cls, Cs: Array, ratios: Array, count: int, outputs: int, size: int) -> PathSearch:
        """Nothing judged yet."""
        shape = (count, len(ratios), len(Cs))
        return cls(
            Cs=Cs,
            ratios=ratios,
            paths=np.zeros((*shape, outputs, size)),
            scores=np.full(shape, np.nan),
            passes=np.zeros(shape, np.int32),
        )

    @property
    def judged(self) -> Mask:
        """(folds,): True for the folds that were judged."""
        return np.isfinite(self.scores[:, 0, 0])

    def best(self, scores: Array) -> tuple[int, int]:
        """The first C, and the first share for it, with the highest of these scores (ratios, Cs)."""
        j, i = np.unravel_index(int(np.argmax(scores.T)), scores.T.shape)
        return int(i), int(j)


@dataclass
class StallMonitor:
    """Ends a descent whose value no longer falls: near the end of a path it may change in the last digit only."""

    low_enough: float  # a value below which the descent ends
    lowest: float = np.inf
    stalled_passes: int = 0

    def __call__(self, x: Vector, value: float) -> bool:
        self.stalled_passes = 0 if value < self.lowest else self.stalled_passes + 1
        self.lowest = min(self.lowest, value)
        return value < self.low_enough or self.stalled_passes >= STALLED_PASSES


@dataclass(frozen=True)
class LogisticPath:
    """Minima of one kind of logistic regression for strength after strength."""

    estimator: LogisticRegression

    def minima(self, X: Table, y: Target, w: Weights, Cs: Vector, ratio: float) -> list[tuple[EmpiricalRisk, Minimum]]:
        """One per C, in the order of Cs; found from the strongest penalty to the weakest, each from the one before."""
        risk = self.estimator._risk(X, y, w, 0.0)
        x: Array = np.zeros(risk.design.size * max(risk.outputs, 1))
        found: dict[int, tuple[EmpiricalRisk, Minimum]] = {}
        for j in np.argsort(Cs, kind="stable"):
            found[j] = self.minimum(risk, x, float(Cs[j]), ratio)
            if found[j][1].reason == "interrupted":
                raise KeyboardInterrupt
            x = found[j][1].x
        return [found[j] for j in range(len(Cs))]

    def minimum(self, risk: EmpiricalRisk, x: Vector, C: float, ratio: float) -> tuple[EmpiricalRisk, Minimum]:
        """The minimum for one C from x."""
        estimator, weight, unpenalised = self.estimator, float(risk.s.sum()), bool(np.isinf(C))
        ridge, lasso = (1 - ratio) / C, ratio / C
        risk = replace(risk, ridge=coefficient_strengths(risk, ridge, estimator._on_intercept(ridge, 2)))
        end = minimise_risk(
            risk,
            x,
            lasso=coefficient_strengths(risk, lasso, estimator._on_intercept(lasso)) if lasso else None,
            tol=estimator.tol * (UNPENALISED_TOL if unpenalised else 1.0),
            max_iter=estimator.max_iter,
            monitor=StallMonitor(SEPARATED_LOSS * weight if unpenalised else -np.inf),
        )
        return risk, replace(end, x=zero_sum_coefficients(risk, end.x))
