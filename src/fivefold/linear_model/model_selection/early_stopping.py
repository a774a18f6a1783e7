"""Early stopping of a linear classifier by its errors on the rows it learns from.

Steepest descent from zero turns the boundary first and hardens it later: once no more rows change sides, further steps
only make the coefficients longer. To stop there keeps them near zero, which is a penalty of another kind.

Morgan & Bourlard (1990).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.risk_minimisation.preconditioned_descent import WhitenedObjective
from fivefold.optim.smooth.steepest_descent import SteepestDescent


@dataclass
class FewestErrors:
    """The first point with the fewest errors so far, and for how many steps none was better."""

    risk: EmpiricalRisk
    patience: int
    x: Array
    errors: float = np.inf
    waited: int = 0

    def __call__(self, x: Array) -> bool:
        errors = float(self.risk.s[misclassified(self.risk, x)].sum())
        if errors < self.errors:
            self.x, self.errors, self.waited = x, errors, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


def misclassified(risk: EmpiricalRisk, x: Array) -> Any:
    """The rows on the wrong side: a mask (n,)."""
    eta = risk.design.predictor(risk.coefficient_matrix(x))
    if not risk.outputs:
        return np.where(eta > 0, 1.0, -1.0) != risk.y
    return eta.argmax(axis=0) != risk.y


def early_stopped_descent(risk: EmpiricalRisk, x0: Array, *, patience: int, max_iter: int, monitor: Monitor) -> Minimum:
    """Steepest descent, columns scaled alike, until `patience` steps in a row bring no fewer errors."""
    scale = 1 / np.sqrt(np.maximum(risk.hessian_diagonal(np.zeros_like(x0)), np.finfo(np.float64).tiny))
    view = WhitenedObjective(risk, x0, scale)
    kept = FewestErrors(risk, patience, x0)
    kept(x0)

    def told(z: Array, value: float) -> bool:
        x = view.at(z)
        return monitor(x, value) or kept(x)

    found = minimise(view, np.zeros(len(x0)), SteepestDescent(), tol=0.0, max_iter=max_iter, monitor=told)
    return replace(found, x=kept.x, value=risk.value(kept.x))
