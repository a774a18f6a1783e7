"""Early stopping of a linear classifier by its errors on the rows it learns from.

Steepest descent from zero first turns the boundary and then sharpens it: once no more rows change sides, further steps
only make the coefficients longer. Stopping there keeps them near zero, which acts as a penalty.

Morgan & Bourlard (1990).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Array, Mask, Vector
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.risk_minimisation.preconditioners import WhitenedObjective
from fivefold.optim.smooth.steepest_descent import SteepestDescent


@dataclass
class FewestErrors:
    """The first point with the fewest errors so far; called with a point, says whether to stop."""

    risk: EmpiricalRisk
    patience: int
    x: Array
    errors: float = np.inf
    steps_since: int = 0  # since the point was found

    def __call__(self, x: Array) -> bool:
        errors = float(self.risk.s[misclassified(self.risk, x)].sum())
        if errors < self.errors:
            self.x, self.errors, self.steps_since = x, errors, 0
        else:
            self.steps_since += 1
        return self.steps_since >= self.patience


def misclassified(risk: EmpiricalRisk, x: Vector) -> Mask:
    """The rows on the wrong side: a mask (n,)."""
    eta = risk.design.predictor(risk.coefficient_matrix(x))
    if not risk.outputs:
        return np.asarray(np.where(eta > 0, 1.0, -1.0) != risk.y)
    return np.asarray(eta.argmax(axis=0) != risk.y)


def early_stopped_descent(risk: EmpiricalRisk, x0: Array, *, patience: int, max_iter: int, monitor: Monitor) -> Minimum:
    """Steepest descent on columns of unit curvature, until `patience` steps in a row bring no fewer errors."""
    scale = 1 / np.sqrt(np.maximum(risk.hessian_diagonal(np.zeros_like(x0)), np.finfo(np.float64).tiny))
    view = WhitenedObjective(risk, x0, scale)
    kept = FewestErrors(risk, patience, x0)
    kept(x0)

    def report(z: Vector, value: float) -> bool:
        x = view.at(z)
        return monitor(x, value) or kept(x)

    found = minimise(view, np.zeros(len(x0)), SteepestDescent(), tol=0.0, max_iter=max_iter, monitor=report)
    return replace(found, x=kept.x, value=risk.value(kept.x))
