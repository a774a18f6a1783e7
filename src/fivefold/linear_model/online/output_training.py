"""Training of one surface per output by passes over rows: starts, validation rows, progress, further passes.

A point is (w, b), twice as long where the plan keeps the mean of all points. Points start at zero, at given
coefficients, or, with warm_start, at those of the last fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse import csr_array, issparse
from sklearn.metrics import r2_score

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Indices, Matrix, Table, Target, Vector, Weights
from fivefold.linear_model.base import LinearModel
from fivefold.linear_model.online.passes import (
    OnlineFit,
    Passes,
    RowStream,
    ScoreFunction,
    TrainingPlan,
    ValidationRows,
    refuse_overflow,
    train_stream,
    warn_unfinished,
)
from fivefold.optim.objective import Minimum, Reason
from fivefold.optim.stochastic.learning_rates import LearningRate

INITIAL_RANGE = 0.01  # random coefficients start within this distance of zero
MAX_SEED = 2**31 - 1  # seeds of the outputs are drawn below this

PassesFactory = Callable[[int, int, float], Passes]  # from the output, a seed and the number of the first step
PointMonitor = Callable[[Vector, float], bool]


class PassEstimator(Estimator):
    """Trained by passes over the rows.

    Parameters
    ----------
    fit_intercept
        fit an intercept.
    max_iter
        maximum number of passes over the rows.
    tol
        a pass that lowers the mean loss by less counts as no improvement; None never stops early.
    shuffle
        visit the rows in a new order in every pass.
    n_iter_no_change
        passes without improvement before training stops.
    verbose
        print a line per pass.

    Attributes
    ----------
    n_iter_
        passes made.
    t_
        number of the next step.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    max_iter: Count = 1000
    tol: NonNegative | None = 1e-3
    shuffle: bool = True
    n_iter_no_change: Count = 5
    verbose: Index | bool = 0
    random_state: Seed = None

    coef_ = learned("surface.coef")
    intercept_ = learned("surface.intercept")
    n_iter_ = learned("surface.n_iter")
    t_ = learned("t")
    history_ = learned("history")

    def _training_plan(self, loss_code: int, threshold: float, rate: LearningRate, **more: Any) -> TrainingPlan:
        """The plan that the parameters ask for; `more` are further fields of the plan."""
        return TrainingPlan(
            loss_code=loss_code,
            threshold=threshold,
            rate=rate,
            intercept=self.fit_intercept,
            shuffle=self.shuffle,
            max_iter=self.max_iter,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
            **more,
        )

    def _holdout_share(self) -> float | None:
        """The share of the rows held out for early stopping; None without it."""
        return None

    def _trains_in_parallel(self) -> bool:
        """Whether the outputs are trained side by side."""
        return False


class GivenStart(NamedTuple):
    """Coefficients (outputs, d) and intercepts (outputs,) to start from; None is zero."""

    coef: ArrayLike | None = None
    intercept: ArrayLike | None = None


ZERO_START = GivenStart()


class HoldoutSplit(NamedTuple):
    """Rows to train on, rows to validate on, and the score on the latter."""

    training: Indices
    validation: Indices
    score_function: ScoreFunction


def start_points(name: str, outputs: int, d: int, plan: TrainingPlan, start: GivenStart = ZERO_START) -> Matrix:
    """The point that each output starts from."""
    coef, intercept = start
    W = np.zeros((outputs, d)) if coef is None else np.asarray(coef, dtype=np.float64)
    b = np.zeros(outputs) if intercept is None else np.asarray(intercept, dtype=np.float64).reshape(-1)
    if W.size != outputs * d or (outputs > 1 and W.shape != (outputs, d)):
        raise ValueError(f"{name}: coef_init must be of shape {(outputs, d)}; got {W.shape}")
    if b.size != outputs:
        raise ValueError(f"{name}: intercept_init must hold {outputs} numbers; got {b.size}")
    x = np.column_stack([W.reshape(outputs, d), b])
    return np.hstack([x, x]) if plan.average else x


def sgd_passes(output: int, seed: int, t: float) -> Passes:
    """Stochastic gradient descent for every output."""
    return Passes(seed, t)


def fit_outputs(
    estimator: PassEstimator,
    X: Table,
    targets: Sequence[Target],
    w: Weights,
    factors: Sequence[Array | float],
    plan: TrainingPlan,
    x0: Matrix,
    passes: PassesFactory = sgd_passes,
    stream_type: type[RowStream] = RowStream,
) -> OnlineFit:
    """Train one surface for each target, the steps on its rows `factors` times as long."""
    name, split = type(estimator).__name__, holdout_split(estimator, X, targets, w)
    seeds = check_random_state(estimator.random_state).randint(MAX_SEED, size=len(targets))
    solvers = [passes(k, int(seed), 1.0) for k, seed in enumerate(seeds)]
    streams = [_stream(stream_type, X, y, w, plan, f, split) for y, f in zip(targets, factors, strict=True)]
    visits = len(streams[0].visits)
    points, found = x0.copy(), list[Minimum]()
    with fit_steps(estimator, "pass", len(targets) * plan.max_iter, X) as monitor:
        if len(targets) == 1 or not estimator._trains_in_parallel():
            for k, stream in enumerate(streams):
                report = _monitor(estimator, monitor, points, k, plan, X.dtype)
                limit = 1 if found and found[-1].reason == "interrupted" else None
                found.append(train_stream(stream, x0[k], solvers[k], monitor=report, max_iter=limit))
                points[k] = found[-1].x
        else:
            found = map_items(lambda k: train_stream(streams[k], x0[k], solvers[k]), len(streams))
            points = np.stack([one.x for one in found])
    for one in found:
        refuse_overflow(name, one)
    n_passes = max(one.steps for one in found)
    if any(one.reason == "interrupted" for one in found):
        warn_kept_best(estimator, n_passes, "pass")
    else:
        warn_unfinished(name, streams, found)
    model = online_fit(points, plan, X.dtype, n_passes, 1.0 + n_passes * visits)
    return replace(model, history=tuple(one.history[1:] for one in found))


def update_outputs(
    estimator: PassEstimator,
    X: Table,
    targets: Sequence[Target],
    w: Weights,
    factors: Sequence[Array | float],
    plan: TrainingPlan,
    model: OnlineFit,
    passes: PassesFactory = sgd_passes,
) -> OnlineFit:
    """One more pass for each target from where the model stands."""
    seeds = check_random_state(estimator.random_state).randint(MAX_SEED, size=len(targets))
    points, visits, values = model.points.copy(), 0, []
    for k, (y, f) in enumerate(zip(targets, factors, strict=True)):
        stream, solver = RowStream.of(X, y, w, plan, f), passes(k, int(seeds[k]), model.t)
        state = solver.step(stream, solver.initial_state(stream, points[k]))
        refuse_overflow(type(estimator).__name__, Minimum(state.x, state.value, 0.0, (0.0, 0.0), _reason(state.value)))
        points[k], visits = state.x, len(stream.visits)
        values.append((*(model.history[k] if model.history else ()), state.value))
    return replace(online_fit(points, plan, X.dtype, 1, model.t + visits), history=tuple(values))


def online_fit(points: Matrix, plan: TrainingPlan, dtype: DTypeLike, passes: int, t: float) -> OnlineFit:
    """The model of the points: numbers that users see get this dtype."""
    x = points[:, points.shape[1] // 2 :] if plan.average else points
    x = x.reshape(len(x) * plan.outputs, -1)
    surface = LinearModel(np.ascontiguousarray(x[:, :-1], dtype=dtype), x[:, -1].astype(dtype), n_iter=passes)
    return OnlineFit(surface, points, t)


def holdout_split(estimator: PassEstimator, X: Table, targets: Sequence[Target], w: Weights) -> HoldoutSplit | None:
    """Rows to train on and rows to validate on; None without early stopping."""
    share = estimator._holdout_share()
    if share is None:
        return None
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    classes = estimator.__sklearn_tags__().classifier_tags is not None
    split = StratifiedShuffleSplit if classes else ShuffleSplit
    strata = np.argmax(np.stack([-np.max(targets, axis=0), *targets]), axis=0) if classes else targets[0]
    rows = np.zeros((len(w), 1))
    cut = split(test_size=share, random_state=estimator.random_state)
    kept, out = next(cut.split(rows, strata))
    kept = np.sort(kept)  # with shuffle=False rows are visited in the order of the table
    return HoldoutSplit(kept, out, accuracy if classes else r2)


def accuracy(y: Target, p: Vector, w: Weights) -> float:
    """Share of rows on the right side."""
    return float(np.average((p > 0) == (y > 0), weights=w))


def r2(y: Target, p: Vector, w: Weights) -> float:
    """R^2."""
    return float(r2_score(y, p, sample_weight=w))


def sparsify_model(model: OnlineFit) -> OnlineFit:
    """The same with the coefficients as a sparse matrix."""
    return replace(model, surface=replace(model.surface, coef=csr_array(model.surface.coef)))


def densify_model(model: OnlineFit) -> OnlineFit:
    """The same with the coefficients as an array."""
    coef = model.surface.coef
    return replace(model, surface=replace(model.surface, coef=coef.toarray())) if issparse(coef) else model


def _stream(
    stream_type: type[RowStream],
    X: Table,
    y: Target,
    w: Weights,
    plan: TrainingPlan,
    factor: Array | float,
    split: HoldoutSplit | None,
) -> RowStream:
    if split is None:
        return stream_type.of(X, y, w, plan, factor)
    kept, out, factor = split.training, split.validation, np.broadcast_to(factor, len(w))
    validation = ValidationRows(X[out], y[out], w[out], split.score_function)
    return stream_type.of(X[kept], y[kept], w[kept], plan, factor[kept], validation)


def _monitor(
    estimator: PassEstimator, monitor: Callable[..., bool], points: Matrix, k: int, plan: TrainingPlan, dtype: DTypeLike
) -> PointMonitor:
    """Reports the model with point k replaced to `monitor`, and prints a line per pass if `verbose`."""
    done = 0

    def report(x: Vector, value: float) -> bool:
        nonlocal done
        done += 1
        if estimator.verbose:
            print(f"{type(estimator).__name__}: output {k + 1}, pass {done}, mean value {value:.6g}")

        def model() -> OnlineFit:
            points[k] = x
            return online_fit(points.copy(), plan, dtype, done, 1.0)

        return bool(monitor(model, value))

    return report


def _reason(value: float) -> Reason:
    return "diverged" if not np.isfinite(value) else "max_iter"
