"""Parameters of a kernel by evidence: L-BFGS-B from the given ones and from random starts within the bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Matrix, Rng, Vector

# of theta and a flag: minus the evidence, with its gradient where the flag is set
Objective = Callable[..., Any]
Optimizer = str | Callable[..., Any] | None


class BestParameters(NamedTuple):
    """Logarithms of the parameters, and minus the evidence there."""

    theta: Vector
    value: float


def search(
    owner: str, objective: Objective, theta: Vector, bounds: Matrix, optimizer: Optimizer, restarts: int, rng: Rng
) -> BestParameters:
    """The best of the runs from `theta` and from `restarts` draws, uniform in the logarithms."""
    if restarts and not np.isfinite(bounds).all():
        raise ValueError(
            f"{owner}: Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite; give "
            "every parameter of the kernel a lower and an upper bound"
        )
    starts = [theta, *(rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(restarts))]
    runs = [_run(owner, objective, start, bounds, optimizer) for start in starts]
    return min(runs, key=lambda run: run.value)


def _run(owner: str, objective: Objective, start: Vector, bounds: Matrix, optimizer: Optimizer) -> BestParameters:
    if callable(optimizer):
        theta, value = optimizer(objective, start, bounds=bounds)
        return BestParameters(np.asarray(theta, dtype=np.float64), float(value))
    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
    if found.status != 0:
        warn(
            f"{owner}: the search of the kernel's parameters ended early, after {found.nit} steps: {found.message}. "
            "Scale the columns, start from other parameters, or take n_restarts_optimizer",
            ConvergenceWarning,
        )
    return BestParameters(found.x, float(found.fun))


def warn_of_bounds(owner: str, kernel: Any) -> None:  # a kernel of any library
    """Say which parameters ended at a bound of theirs."""
    values = iter(np.asarray(kernel.theta))
    for parameter in kernel.hyperparameters:
        for i in range(0 if parameter.fixed else parameter.n_elements):
            low, high = parameter.bounds[i]
            value = next(values)
            at_low = bool(np.isclose(value, np.log(low)))
            if at_low or np.isclose(value, np.log(high)):
                warn(
                    f"{owner}: {parameter.name}[{i}] ended at its {'lower' if at_low else 'upper'} bound, "
                    f"{low if at_low else high:g}: the evidence may be higher beyond it. Widen the bounds and fit "
                    "again, or fix the parameter if the bound was meant",
                    ConvergenceWarning,
                )
