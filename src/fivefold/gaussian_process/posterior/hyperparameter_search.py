"""Parameters of a kernel by evidence: L-BFGS-B from the given ones and from random starts within the bounds.

Every evaluation of the evidence is a step of the fit: it is reported, and Ctrl-C or a callback that says stop ends the
search there, with the best parameters so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Matrix, Rng, Vector
from fivefold.kernels.base import Objects

# of theta and a flag: minus the evidence, with its gradient where the flag is set
Objective = Callable[..., Any]
Optimizer = str | Callable[..., Any] | None
MAX_EVALUATIONS = 15_000  # of the evidence in one run of L-BFGS-B: SciPy's own limit


class BestParameters(NamedTuple):
    """Logarithms of the parameters, and minus the evidence there."""

    theta: Vector
    value: float


class SearchEnd(Exception):
    """Somebody wants the search to end with what it has."""


class EvaluationReports:
    """Reports evaluations of the evidence, of one search or of several, until one of them is told to stop."""

    def __init__(self, monitor: Callable[[object, float], bool]) -> None:
        self.monitor, self.done, self.stopped, self.interrupted = monitor, 0, False, False

    def __call__(self, model: Callable[[], object], evidence: float) -> None:
        self.done += 1
        try:
            self.stopped = self.stopped or self.monitor(model, evidence)
        except KeyboardInterrupt:
            self.stopped = self.interrupted = True
        if self.stopped:
            raise SearchEnd


@contextmanager
def evaluation_reports(
    estimator: Any, searches: int, X: Objects
) -> Iterator[EvaluationReports]:  # any of the processes
    """The reports of a fit with this many searches, and a warning after it if Ctrl-C ended them."""
    most = MAX_EVALUATIONS * searches * (1 + estimator.n_restarts_optimizer)
    with fit_steps(estimator, "evaluation", most, X) as monitor:
        reports = EvaluationReports(monitor)
        yield reports
    if reports.interrupted:
        warn_kept_best(estimator, reports.done, "evaluation")


def search(
    estimator: Any,  # any of the processes: its optimizer and number of restarts are used
    objective: Objective,
    theta: Vector,
    bounds: Matrix,
    rng: Rng,
    report: Callable[[Vector, float], None],
) -> BestParameters:
    """The best of the runs from `theta` and from restarts, uniform in the logarithms; `report` may end it early."""
    owner, restarts = type(estimator).__name__, estimator.n_restarts_optimizer
    if restarts and not np.isfinite(bounds).all():
        raise ValueError(
            f"{owner}: Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite; give "
            "every parameter of the kernel a lower and an upper bound"
        )
    starts = [theta, *(rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(restarts))]
    runs, best = list[BestParameters](), BestParameters(theta, np.inf)

    def watched(at: Vector, *more: Any, **options: Any) -> Any:  # as the objective
        nonlocal best
        found = objective(at, *more, **options)
        value = float(found[0] if isinstance(found, tuple) else found)
        if value < best.value:
            best = BestParameters(np.array(at, dtype=np.float64), value)
        report(at, -value)
        return found

    try:
        for start in starts:
            runs.append(_run(owner, watched, start, bounds, estimator.optimizer))
    except SearchEnd:
        runs.append(best)
    return min(runs, key=lambda run: run.value)


def _run(owner: str, objective: Objective, start: Vector, bounds: Matrix, optimizer: Optimizer) -> BestParameters:
    if callable(optimizer):
        theta, value = optimizer(objective, start, bounds=bounds)
        return BestParameters(np.asarray(theta, dtype=np.float64), float(value))
    options = {"maxfun": MAX_EVALUATIONS}
    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
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
