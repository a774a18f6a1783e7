"""Passes over rows, one step a row: what SGD, perceptrons and the delta rule share.

    f(w, b) = mean over visits of s loss(y, x'w + b) + l2 / 2 |w|^2 + l1 |w|_1

A `Plan` says which loss, penalty and rate; `train` runs it through `minimise`, a step of which is one pass. A row of
weight k is visited k times, so that weights mean repetition; a weight that is no whole number is spread over as many
visits as it takes to keep each at one or below. A pass shuffles the visits anew. Training ends when for `patience`
passes the mean loss met on the way, or the score on rows held out, has not improved by `tol`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.user_warnings import warn
from fivefold.core.parallel import one_blas_thread
from fivefold.core.types import Array, Indices
from fivefold.linear_model.base import LinearModel
from fivefold.optim.losses.catalogue import (
    HingeLoss,
    HuberLoss,
    InsensitiveLoss,
    LogLoss,
    Loss,
    ModifiedHuberLoss,
    PerceptronLoss,
    SquaredHingeLoss,
    SquaredInsensitiveLoss,
    SquaredLoss,
)
from fivefold.optim.minimise import Solver, State, minimise
from fivefold.optim.objective import Minimum, Objective
from fivefold.optim.stochastic import sgd_loops as loop
from fivefold.optim.stochastic.learning_rates import AdaptiveRate, LearningRate
from fivefold.optim.stochastic.sgd_loops import DenseRows, SparseRows, as_rows, sgd_epoch, shuffle_rows

MAX_VISITS = 64  # a row of greater weight takes so many visits, each of more weight
LOSS_BY_CODE: dict[int, Callable[[float], Loss]] = {
    loop.HINGE: lambda edge: HingeLoss() if edge else PerceptronLoss(),
    loop.SQUARED_HINGE: lambda edge: SquaredHingeLoss(),
    loop.LOG: lambda edge: LogLoss(),
    loop.MODIFIED_HUBER: lambda edge: ModifiedHuberLoss(),
    loop.SQUARED: lambda edge: SquaredLoss(),
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
DIVERGENCE_FACTOR = 1e3  # a loss so many times that of the start is no noise: the steps are too long
SPARSE_INTERCEPT_RATE = 0.01  # its share of a step on sparse rows, where it moves with every row and columns with few


@dataclass(frozen=True)
class TrainingPlan:
    """What is minimised, and how."""

    kind: int  # a loss of sgd_kernels
    edge: float  # threshold of a hinge, width of a tube
    rate: LearningRate
    l1: float = 0.0
    l2: float = 0.0
    rule: int = 0  # how long a step is: GRADIENT, PASSIVE, PASSIVE_SOFT
    intercept: bool = True
    average: int = 0  # the step from which the answer is the mean of all points; 0 for the last
    shuffle: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    patience: int = 5
    clean: bool = False  # a pass without a mistake ends the training
    slow: bool = True  # on sparse rows the intercept takes SLOW_INTERCEPT of a step
    outputs: int = 1  # surfaces that one point stands for


@dataclass(frozen=True)
class ValidationRows:
    """Rows held out, and how an answer is judged on them: the greater the better."""

    X: Any
    y: Array
    w: Array
    judge: Callable[[Array, Array, Array], float]

    def score(self, x: Array) -> float:
        """Of coefficients (w, b)."""
        return self.judge(self.y, np.asarray(self.X @ x[:-1]) + x[-1], self.w)


@dataclass(frozen=True)
class RowStream(Objective):
    """Rows to be visited, with a plan. A point is (w, b), followed by the mean of all points where the plan asks."""

    X: Any
    rows: DenseRows | SparseRows
    y: Array
    s: Array  # weight of one visit
    visits: Indices  # rows in the order they come
    plan: TrainingPlan
    held: ValidationRows | None = None

    @classmethod
    def of(
        cls, X: Any, y: Array, w: Array, plan: TrainingPlan, factor: Any = 1.0, held: ValidationRows | None = None
    ) -> RowStream:
        """Rows of X, each w times, in steps that are `factor` times as long."""
        count = np.minimum(np.ceil(w), MAX_VISITS).astype(np.int64)
        visits = np.repeat(np.arange(len(y)), count)
        return cls(X, as_rows(X), y.astype(np.float64), np.ascontiguousarray(factor * w / count), visits, plan, held)

    def answer(self, x: Array) -> Array:
        """The coefficients (w, b) that a point stands for."""
        return x[len(x) // 2 :] if self.plan.average else x

    def value(self, x: Array) -> float:
        plan, x = self.plan, self.answer(x)
        w = x[:-1]
        with one_blas_thread():
            eta = self.X @ w + x[-1] if x.any() else np.zeros(len(self.y))  # at zero no column is needed
        loss = LOSS_BY_CODE[plan.kind](plan.edge).value(self.y, eta)
        # sums, not inner products: for vectors BLAS's helpers spin longer than they work
        penalty = 0.5 * plan.l2 * np.square(w).sum() + plan.l1 * np.abs(w).sum()
        return float((self.mass * loss).sum() / len(self.visits) + penalty)

    def violation(self, x: Array) -> float:
        """Not known: a stochastic rule does not come to rest, and a gradient costs as much as a pass."""
        return np.inf

    @cached_property
    def mass(self) -> Array:
        """Weight of all visits to each row."""
        return self.s * np.bincount(self.visits, minlength=len(self.y))

    @cached_property
    def knobs(self) -> tuple[Any, ...]:
        """Loss, penalties, rate and rule as the compiled loop takes them."""
        plan = self.plan
        loss = plan.kind, float(plan.edge), float(plan.l1), float(plan.l2)
        return *loss, plan.rate.code, float(plan.rate.shape), plan.rule, plan.average, self.drift

    @property
    def drift(self) -> float:
        """How far the intercept goes with a step."""
        return self.plan.intercept * (
            SPARSE_INTERCEPT_RATE if self.plan.slow and isinstance(self.rows, SparseRows) else 1.0
        )


class PassMemory(NamedTuple):
    """Where training stands: the next step, the rate, the L1 penalty due and paid, and how long nothing improved."""

    t: float
    eta: float
    paid: Array
    due: float = 0.0
    passes: int = 0
    stale: int = 0
    best: float = np.inf


@dataclass(frozen=True)
class Passes(Solver):
    """One pass a step; done when the plan's patience is at an end."""

    seed: int = 0
    t: float = 1.0  # number of the first step

    accepts = (RowStream,)
    convergent = False

    def start(self, objective: RowStream, x0: Array) -> State:
        return replace(self.begin(objective, x0), value=objective.value(x0))

    def begin(self, objective: RowStream, x0: Array) -> State:
        """The state at x0, its value not asked for."""
        memory = PassMemory(self.t, objective.plan.rate.eta0, np.zeros(len(objective.answer(x0)) - 1))
        return State(x0, np.inf, np.inf, memory)

    def step(self, objective: RowStream, state: State) -> State:
        plan, memory = objective.plan, state.memory
        order = shuffle_rows(objective.visits, self.seed + memory.passes * 2**32) if plan.shuffle else objective.visits
        x, memory, value, moved = self.sweep(objective, state.x, memory, order)
        if not math.isfinite(np.dot(x, x)) and not np.isfinite(x).all():
            return State(x, np.inf, np.inf, memory)
        goal = -objective.held.score(objective.answer(x)) if objective.held else value
        stale = 0 if plan.tol is None or goal <= memory.best - plan.tol else memory.stale + 1
        # a pass over a small table takes no longer than a _replace: the fields are given in their order
        memory = PassMemory(*memory[:4], memory.passes + 1, stale, min(memory.best, goal))
        done = plan.clean and not moved and plan.l1 == plan.l2 == 0
        if stale >= plan.patience:
            lower = plan.rate.lowered(memory.eta) if isinstance(plan.rate, AdaptiveRate) else None
            done, memory = done or lower is None, memory._replace(eta=lower or memory.eta, stale=0)
        return State(x, value, 0.0 if done else np.inf, memory)

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        """One pass: the next point and memory, the mean value met, and the number of steps that moved the point."""
        return sgd_pass(stream, x, memory, order)


def sgd_pass(stream: RowStream, x: Array, memory: PassMemory, order: Indices) -> tuple[Array, PassMemory, float, int]:
    """A pass of stochastic gradient descent."""
    plan, m = stream.plan, len(stream.answer(x))
    x, paid = x.copy(), memory.paid.copy() if plan.l1 else memory.paid
    v = x[: m - 1]
    mean = x[m:-1] if plan.average else np.zeros(m - 1)
    z = np.array([x[m - 1], x[-1], memory.t, memory.eta, memory.due, 0.0, 0.0])
    if plan.average and plan.average >= memory.t:  # the mean begins in this pass or later: what stood in for it goes
        mean[:] = 0.0
    sgd_epoch(stream.rows, stream.y, stream.s, order, v, mean, paid, z, *stream.knobs)
    b, b_mean, t, _, due, value, moved = z.tolist()
    x[m - 1] = b
    if plan.average:
        x[-1] = b_mean
        if plan.average >= t:  # too early for a mean
            x[m:] = x[:m]
    return x, PassMemory(t, memory.eta, paid, due, *memory[4:]), value, int(moved)


@dataclass(frozen=True)
class OnlineFit:
    """A linear surface, the points that training goes on from, and how it went."""

    surface: LinearModel
    points: Array  # (outputs, d + 1), or twice as wide with means
    t: float  # number of the next step
    history: tuple[tuple[float, ...], ...] = ()  # mean value met in each pass, for each output
    rate: Any = None  # where it followed from the first rows


def train_stream(
    stream: RowStream, x0: Array, solver: Passes, *, monitor: Any = None, max_iter: int | None = None
) -> Minimum:
    """Passes over the stream from x0 until nothing improves."""
    limit = stream.plan.max_iter if max_iter is None else max_iter
    return minimise(stream, x0, solver, tol=0.0, max_iter=limit, monitor=monitor)


def refuse_overflow(name: str, found: Minimum) -> None:
    """Say that the steps were too long for the data."""
    if found.reason == "diverged":
        raise ValueError(
            f"{name}: the coefficients overflowed in pass {found.steps}: the steps are too long for columns of this "
            "size. Scale the columns, for example with sklearn.preprocessing.StandardScaler, or lower eta0"
        )


def warn_unfinished(name: str, streams: Sequence[RowStream], found: Sequence[Minimum]) -> None:
    """Say that the steps were too long, or that max_iter came before the end."""
    plan = streams[0].plan
    for stream, one in zip(streams, found, strict=True):
        start = stream.value(np.zeros_like(one.x)) if one.value > DIVERGENCE_FACTOR * one.history[0] else np.inf
        if not plan.clean and one.value > DIVERGENCE_FACTOR * start:
            warn(
                f"{name}: the mean loss rose from {start:.3g} to {one.value:.3g}: the steps are too long for columns "
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
