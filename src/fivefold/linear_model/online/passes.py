"""Passes over rows, one step per row: what SGD, perceptrons and the delta rule share.

    f(w, b) = mean over visits of s loss(y, x'w + b) + l2 / 2 |w|^2 + l1 |w|_1

A `TrainingPlan` says which loss, penalty and rate; `train_stream` runs it through `minimise`, a step of which is one
pass. A row of weight k is visited k times, so that weights mean repetition; a weight that is not a whole number is
spread over as many visits as keep each at one or below. Every pass shuffles the visits again. Training ends when for
`n_iter_no_change` passes the mean loss met on the way, or the score on the validation rows, has not improved by `tol`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Array, Indices, Table, Target, Vector, Weights
from fivefold.linear_model.base import LinearModel
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import HingeLoss, LogLoss, ModifiedHuberLoss, PerceptronLoss, SquaredHingeLoss
from fivefold.optim.losses.regression_losses import HuberLoss, InsensitiveLoss, SquaredInsensitiveLoss, SquaredLoss
from fivefold.optim.minimise import Solver, State, minimise
from fivefold.optim.objective import Minimum, Monitor, Objective
from fivefold.optim.stochastic import sgd_loops as loop
from fivefold.optim.stochastic.learning_rates import AdaptiveRate, LearningRate
from fivefold.optim.stochastic.sgd_loops import DenseRows, SparseRows, as_rows, sgd_epoch, shuffle_rows

MAX_VISITS = 64  # a row is visited at most this many times per pass; a larger weight makes each visit count more
LOSS_BY_CODE: dict[int, Callable[[float], Loss]] = {
    loop.HINGE: lambda threshold: HingeLoss() if threshold else PerceptronLoss(),
    loop.SQUARED_HINGE: lambda threshold: SquaredHingeLoss(),
    loop.LOG: lambda threshold: LogLoss(),
    loop.MODIFIED_HUBER: lambda threshold: ModifiedHuberLoss(),
    loop.SQUARED: lambda threshold: SquaredLoss(),
    loop.HUBER: HuberLoss,
    loop.INSENSITIVE: InsensitiveLoss,
    loop.SQUARED_INSENSITIVE: SquaredInsensitiveLoss,
}
LOSS_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # name -> the loss, and the threshold or width it is made with
    "hinge": (HingeLoss, 1.0),
    "squared_hinge": (SquaredHingeLoss, 1.0),
    "perceptron": (PerceptronLoss, 0.0),
    "log_loss": (LogLoss,),
    "modified_huber": (ModifiedHuberLoss,),
    "squared_error": (SquaredLoss,),
    "huber": (HuberLoss, 0.1),
    "epsilon_insensitive": (InsensitiveLoss, 0.1),
    "squared_epsilon_insensitive": (SquaredInsensitiveLoss, 0.1),
}
DIVERGENCE_FACTOR = 1e3  # a loss this many times the initial one is divergence, not noise: the steps are too long
SPARSE_INTERCEPT_RATE = 0.01  # share of a step on sparse rows: the intercept moves with every row, a column with few


@dataclass(frozen=True)
class TrainingPlan:
    """What is minimised, and how."""

    loss_code: int  # a loss of sgd_loops
    threshold: float  # threshold of a hinge, width of a tube
    rate: LearningRate
    l1: float = 0.0
    l2: float = 0.0
    step_rule: int = 0  # what sets the length of a step: GRADIENT_STEP, PA1_STEP or PA2_STEP of sgd_loops
    intercept: bool = True
    average: int = 0  # the step from which the answer is the mean of all points; 0 for the last
    shuffle: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    n_iter_no_change: int = 5  # passes without improvement after which training ends
    stop_when_separated: bool = False  # a pass without a mistake ends the training
    slow_intercept: bool = True  # on sparse rows the intercept takes SPARSE_INTERCEPT_RATE of a step
    outputs: int = 1  # surfaces that one point holds


ScoreFunction = Callable[[Target, Vector, Weights], float]  # of targets, predictors and weights


@dataclass(frozen=True)
class ValidationRows:
    """Rows held out, and the score of coefficients on them: the greater the better."""

    X: Table
    y: Target
    w: Weights
    score_function: ScoreFunction

    def score(self, x: Vector) -> float:
        """The score of coefficients (w, b)."""
        return self.score_function(self.y, np.asarray(self.X @ x[:-1]) + x[-1], self.w)


@dataclass(frozen=True)
class RowStream(Objective):
    """Rows to be visited, with a plan. A point is (w, b), followed by the mean of all points where the plan asks."""

    X: Table
    rows: DenseRows | SparseRows
    y: Array
    s: Array  # weight of one visit
    visits: Indices  # rows in the order they come
    plan: TrainingPlan
    validation: ValidationRows | None = None

    @classmethod
    def of(
        cls,
        X: Table,
        y: Target,
        w: Weights,
        plan: TrainingPlan,
        factor: Array | float = 1.0,
        validation: ValidationRows | None = None,
    ) -> RowStream:
        """Rows of X, each w times, in steps that are `factor` times as long."""
        count = np.minimum(np.ceil(w), MAX_VISITS).astype(np.int64)
        visits = np.arange(len(y))
        if (count > 1).any():
            visits = np.repeat(visits, count)
        return cls(
            X=X,
            rows=as_rows(X),
            y=y.astype(np.float64),
            s=np.ascontiguousarray(factor * w / count),
            visits=visits,
            plan=plan,
            validation=validation,
        )

    def coefficients(self, x: Array) -> Array:
        """The coefficients (w, b) of a point: its own, or the mean of all points where the plan asks."""
        return x[len(x) // 2 :] if self.plan.average else x

    def value(self, x: Array) -> float:
        plan, x = self.plan, self.coefficients(x)
        w = x[:-1]
        with one_blas_thread():
            eta = self.X @ w + x[-1] if x.any() else np.zeros(len(self.y))  # at zero no column is needed
        loss = LOSS_BY_CODE[plan.loss_code](plan.threshold).value(self.y, eta)
        # sums, not inner products: for vectors BLAS's helpers spin longer than they work
        penalty = 0.5 * plan.l2 * np.square(w).sum() + plan.l1 * np.abs(w).sum()
        return float((self.visit_weight * loss).sum() / len(self.visits) + penalty)

    def violation(self, x: Array) -> float:
        """Not known: a stochastic rule does not come to rest, and a gradient costs as much as a pass."""
        return np.inf

    @cached_property
    def visit_weight(self) -> Array:
        """The weight of all visits to each row."""
        return self.s if len(self.visits) == len(self.y) else self.s * np.bincount(self.visits, minlength=len(self.y))

    @cached_property
    def loop_arguments(self) -> tuple[Any, ...]:
        """Loss, penalties, rate and rule as the compiled loop takes them."""
        plan = self.plan
        loss = plan.loss_code, float(plan.threshold), float(plan.l1), float(plan.l2)
        return *loss, plan.rate.code, float(plan.rate.shape), plan.step_rule, plan.average, self.intercept_rate

    @property
    def intercept_rate(self) -> float:
        """The intercept's share of a step."""
        return self.plan.intercept * (
            SPARSE_INTERCEPT_RATE if self.plan.slow_intercept and isinstance(self.rows, SparseRows) else 1.0
        )


class PassMemory(NamedTuple):
    """Where training stands."""

    t: float  # number of the next step
    eta: float  # the rate
    l1_applied: Vector  # (d,) what each coefficient has shrunk by the L1 penalty so far
    l1_due: float = 0.0  # what every coefficient should have shrunk by now
    passes: int = 0
    stalled_passes: int = 0  # passes since the last improvement
    best: float = np.inf  # the lowest mean value of a pass, or the negative of the best validation score


@dataclass(frozen=True)
class Passes(Solver):
    """One pass per step; done after `n_iter_no_change` passes without improvement."""

    seed: int = 0
    t: float = 1.0  # number of the first step

    accepts = (RowStream,)
    convergent = False
    final_value = False  # it costs as much as a pass, and only `warn_unfinished` may want it

    def start(self, objective: RowStream, x0: Array) -> State:
        return replace(self.initial_state(objective, x0), value=objective.value(x0))

    def initial_state(self, objective: RowStream, x0: Array) -> State:
        """The state at x0, without computing its value."""
        memory = PassMemory(self.t, objective.plan.rate.eta0, np.zeros(len(objective.coefficients(x0)) - 1))
        return State(x0, np.inf, np.inf, memory)

    def step(self, objective: RowStream, state: State) -> State:
        plan, memory = objective.plan, state.memory
        order = shuffle_rows(objective.visits, self.seed + memory.passes * 2**32) if plan.shuffle else objective.visits
        x, memory, value, moved = self.sweep(objective, state.x, memory, order)
        if not math.isfinite(np.dot(x, x)) and not np.isfinite(x).all():
            return State(x, np.inf, np.inf, memory)
        goal = -objective.validation.score(objective.coefficients(x)) if objective.validation else value
        stalled = 0 if plan.tol is None or goal <= memory.best - plan.tol else memory.stalled_passes + 1
        # by position: on a small table a _replace would take as long as the pass
        memory = PassMemory(*memory[:4], memory.passes + 1, stalled, min(memory.best, goal))
        done = plan.stop_when_separated and not moved and plan.l1 == plan.l2 == 0
        if stalled >= plan.n_iter_no_change:
            lower = plan.rate.lowered(memory.eta) if isinstance(plan.rate, AdaptiveRate) else None
            done, memory = done or lower is None, memory._replace(eta=lower or memory.eta, stalled_passes=0)
        return State(x, value, 0.0 if done else np.inf, memory)

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        """One pass: the next point and memory, the mean value met, and the number of steps that moved the point."""
        return sgd_pass(stream, x, memory, order)


def sgd_pass(stream: RowStream, x: Array, memory: PassMemory, order: Indices) -> tuple[Array, PassMemory, float, int]:
    """A pass of stochastic gradient descent."""
    plan, m = stream.plan, len(stream.coefficients(x))
    x, l1_applied = x.copy(), memory.l1_applied.copy() if plan.l1 else memory.l1_applied
    v = x[: m - 1]
    mean = x[m:-1] if plan.average else np.empty(0)
    z = np.array([x[m - 1], x[-1], memory.t, memory.eta, memory.l1_due, 0.0, 0.0])
    if plan.average and plan.average >= memory.t:  # the mean begins in this pass or later: drop its placeholder
        mean[:] = 0.0
    sgd_epoch(stream.rows, stream.y, stream.s, order, v, mean, l1_applied, z, *stream.loop_arguments)
    b, b_mean, t, _, l1_due, value, moved = z.tolist()
    x[m - 1] = b
    if plan.average:
        x[-1] = b_mean
        if plan.average >= t:  # too early for a mean
            x[m:] = x[:m]
    return x, PassMemory(t, memory.eta, l1_applied, l1_due, *memory[4:]), value, int(moved)


@dataclass(frozen=True)
class OnlineFit:
    """A linear surface, the points from which training can continue, and its history."""

    surface: LinearModel
    points: Array  # (outputs, d + 1), or twice as wide with means
    t: float  # number of the next step
    history: tuple[tuple[float, ...], ...] = ()  # mean value met in each pass, for each output
    rate: LearningRate | None = None  # kept if it was computed from the first rows


def train_stream(
    stream: RowStream, x0: Vector, solver: Passes, *, monitor: Monitor | None = None, max_iter: int | None = None
) -> Minimum:
    """Passes over the stream from x0 until nothing improves."""
    limit = stream.plan.max_iter if max_iter is None else max_iter
    return minimise(stream, x0, solver, tol=0.0, max_iter=limit, monitor=monitor)


def refuse_overflow(name: str, found: Minimum) -> None:
    """Raise if the steps were too long for the data."""
    if found.reason == "diverged":
        raise ValueError(
            f"{name}: the coefficients overflowed in pass {found.steps}: the steps are too long for columns of this "
            "size. Scale the columns, for example with sklearn.preprocessing.StandardScaler, or lower eta0"
        )


def warn_unfinished(name: str, streams: Sequence[RowStream], found: Sequence[Minimum]) -> None:
    """Warn if the steps were too long, or if max_iter ended the training."""
    plan = streams[0].plan
    for stream, one in zip(streams, found, strict=True):
        met = max(one.history) if plan.average else one.history[-1]  # a mean keeps what early steps did
        if plan.stop_when_separated or met <= one.history[0]:
            continue
        start, end = stream.value(np.zeros_like(one.x)), stream.value(one.x)
        if end > DIVERGENCE_FACTOR * max(start, one.history[0]):
            warn(
                f"{name}: the mean loss rose from {start:.3g} to {end:.3g}: the steps are too long for columns "
                "of this size. Scale the columns, for example with sklearn.preprocessing.StandardScaler, or lower eta0",
                ConvergenceWarning,
            )
            return
    if plan.tol is not None and any(one.reason == "max_iter" for one in found):
        warn(
            f"{name}: {plan.max_iter} passes were not enough: the last still gained more than tol={plan.tol:g}. "
            "Raise max_iter or tol",
            ConvergenceWarning,
        )
