"""A risk with an L1 penalty on many columns: only those that are not zero, or would not stay zero, take part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fivefold.core.types import Array, Indices
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.proximal.working_set import full_monitor, full_vector, restricted, working_set
from fivefold.optim.risk_minimisation.preconditioners import gradient_tolerance

MIN_NEW_COLUMNS = 100  # columns that may join a working set at a time, at least


def minimise_by_columns(
    risk: EmpiricalRisk,
    lasso: Array,
    x: Array,
    tol: float,
    max_iter: int,
    monitor: Monitor | None,
    descend: Callable[[EmpiricalRisk, Array, Array, Monitor | None], Minimum],
) -> Minimum:
    """The minimum of the risk plus sum of lasso |x|, from x.

    `descend(risk, lasso, start, monitor)` is called with the risk on some of the columns.
    """
    m, d = risk.design.size, risk.design.X.shape[1]
    K = len(x) // m
    history: list[float] = []
    weight = float(risk.s.sum())
    while True:
        value, g = risk.value_and_gradient(x)
        excess = (np.abs(g) - lasso).reshape(K, m)[:, :d].max(axis=0)
        inside = (x.reshape(K, m)[:, :d] != 0).any(axis=0)
        scale = np.sqrt(
            np.maximum(risk.hessian_diagonal(x).reshape(K, m)[:, :d].max(axis=0), np.finfo(np.float64).tiny)
        )
        excess /= scale
        value += float(lasso @ np.abs(x))
        history.append(value)
        worst = float(excess[~inside].max(initial=0.0))
        if history[1:] and (worst <= gradient_tolerance(value, weight, len(x), tol) or len(history) > max_iter):
            return Minimum(x, value, worst, tuple(history), "converged" if len(history) <= max_iter else "max_iter")
        chosen = working_set(excess, inside, max(MIN_NEW_COLUMNS, int(inside.sum())))
        kept = _entries(chosen, K, m, d, risk.design.intercept)
        part = restricted(risk, chosen, kept, intercept=risk.design.intercept)
        found = descend(part, lasso[kept], x[kept], full_monitor(monitor, kept, len(x)))
        x = full_vector(found.x, kept, len(x))
        if found.reason == "interrupted":
            return replace(found, x=x)


def _entries(chosen: Indices, K: int, m: int, d: int, intercept: bool) -> Indices:
    """Indices, among all coefficients, of those of these columns and of the intercepts."""
    columns = np.append(chosen, d) if intercept else chosen
    return (m * np.arange(K)[:, None] + columns).ravel()
