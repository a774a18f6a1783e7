"""Parameters of a kernel by evidence: L-BFGS-B from the given ones and from random starts within the bounds.

Every evaluation of the evidence is a step of the fit: it is reported, and Ctrl-C or a callback that says stop ends the
search there, with the best parameters so far.

Where rows are many, a run first climbs the evidence of a sample of them: an evaluation takes time that grows with the
cube of the rows, and the steps on all of them then start near their end, in coordinates in which the curvature of the
sample's evidence is the same in every direction.
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
COARSE_GAIN = 1e-5  # share of the evidence of a sample that a step must gain: its end is only a start
CURVATURE_STEP = 1e-3  # of a logarithm, for differences of the gradient; nearer to a bound than this is at it
COARSE_SHARE = 4  # one row of this many is in the sample: an evaluation of it costs a sixty-fourth
LEAST_CURVATURE = 1.0  # of the sample's log evidence, by a logarithm: below, the sample hardly tells the parameter
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
    coarse: Objective | None = None,
) -> BestParameters:
    """The best of the runs from `theta` and from restarts, uniform in the logarithms; `report` may end it early.

    `coarse` is the objective of a sample of the rows, on which every run by L-BFGS-B is begun.
    """
    owner, restarts = type(estimator).__name__, estimator.n_restarts_optimizer
    if restarts and not np.isfinite(bounds).all():
        raise ValueError(
            f"{owner}: Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite; give "
            "every parameter of the kernel a lower and an upper bound"
        )
    starts = [theta, *(rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(restarts))]
    runs, best, best_of_sample = list[BestParameters](), BestParameters(theta, np.inf), np.inf

    def watched(at: Vector, *more: Any, **options: Any) -> Any:  # as the objective
        nonlocal best
        found = objective(at, *more, **options)
        value = float(found[0] if isinstance(found, tuple) else found)
        if value < best.value:
            best = BestParameters(np.array(at, dtype=np.float64), value)
        report(at, -value)
        return found

    def watched_coarsely(at: Vector) -> tuple[float, Vector]:
        nonlocal best, best_of_sample
        assert coarse is not None
        value, gradient = coarse(at)
        if value < best_of_sample and not np.isfinite(best.value):  # until all rows have been asked
            best, best_of_sample = BestParameters(np.array(at, dtype=np.float64), np.inf), value
        report(at, -value)
        return value, gradient

    begun = coarse is not None and not callable(estimator.optimizer)
    try:
        for start in starts:
            run = _run_from_sample(watched_coarsely, watched, start, bounds) if begun else None
            runs.append(run or _run(owner, watched, start, bounds, estimator.optimizer))
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
        why = "no step raised the evidence" if "ABNORMAL" in found.message else found.message
        warn(
            f"{owner}: the search of the kernel's parameters ended early, after {found.nit} steps: {why}. "
            "Scale the columns, start from other parameters, or take n_restarts_optimizer",
            ConvergenceWarning,
        )
    return BestParameters(found.x, float(found.fun))


def _run_from_sample(
    coarse: Callable[[Vector], tuple[float, Vector]], objective: Objective, start: Vector, bounds: Matrix
) -> BestParameters | None:
    """From the optimum of the sample, in coordinates whitened by its curvature; None if that leaves the bounds.

    A parameter that ends at a bound for the sample, or that its evidence hardly tells, keeps its coordinate and bounds.
    """
    begin = minimize(coarse, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"ftol": COARSE_GAIN}).x
    slope, steps = coarse(begin)[1], CURVATURE_STEP * np.eye(len(begin))
    H = np.stack([coarse(begin + step)[1] - slope for step in steps]) / CURVATURE_STEP
    inside = (begin > bounds[:, 0] + CURVATURE_STEP) & (begin < bounds[:, 1] - CURVATURE_STEP)
    free = np.flatnonzero(inside & (np.diag(H) > LEAST_CURVATURE))
    values, vectors = np.linalg.eigh((H + H.T)[np.ix_(free, free)] / 2)
    T = np.eye(len(begin))  # theta = begin + T u
    T[np.ix_(free, free)] = vectors / np.sqrt(COARSE_SHARE * np.maximum(np.abs(values), LEAST_CURVATURE))
    limits = np.array(bounds - begin[:, None])
    limits[free] = -np.inf, np.inf

    def whitened(u: Vector) -> tuple[float, Vector]:
        value, gradient = objective(begin + T @ u)
        return value, T.T @ gradient

    options = {"maxfun": MAX_EVALUATIONS}
    found = minimize(whitened, 0 * begin, method="L-BFGS-B", jac=True, bounds=limits, options=options)
    theta = begin + T @ found.x
    within = (theta >= bounds[:, 0]).all() and (theta <= bounds[:, 1]).all()
    return BestParameters(theta, float(found.fun)) if found.status == 0 and within else None


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
