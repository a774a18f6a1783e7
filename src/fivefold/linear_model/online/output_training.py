"""Training of one surface per output by passes over rows: starts, validation rows, progress, further passes.

A point is (w, b), twice as long where the plan keeps the mean of all points. Points start at zero, at given
coefficients, or, with warm_start, at those of the last fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array, issparse
from sklearn.metrics import r2_score

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
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

MAX_SEED = 2**31 - 1  # seeds of the outputs are drawn below this

PassesFactory = Callable[[int, int, float], Passes]  # from the output, a seed and the number of the first step
PointMonitor = Callable[[Vector, float], bool]


class HoldoutSplit(NamedTuple):
    """Rows to train on, rows to validate on, and the score on the latter."""

    training: Indices
    validation: Indices
    score_function: ScoreFunction


def start_points(
    name: str, outputs: int, d: int, plan: TrainingPlan, coef: Any = None, intercept: Any = None
) -> Matrix:
    """A point for each output, from coefficients (outputs, d) and intercepts (outputs,), zero where they are None."""
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
    estimator: Any,  # its fields random_state, n_jobs, verbose, early_stopping are read, as far as it has them
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
        if getattr(estimator, "n_jobs", None) in (None, 1) or len(targets) == 1:
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
    estimator: Any,
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


def holdout_split(estimator: Any, X: Table, targets: Sequence[Target], w: Weights) -> HoldoutSplit | None:
    """Rows to train on and rows to validate on; None without early stopping."""
    if not getattr(estimator, "early_stopping", False):
        return None
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    classes = estimator.__sklearn_tags__().classifier_tags is not None
    split = StratifiedShuffleSplit if classes else ShuffleSplit
    strata = np.argmax(np.stack([-np.max(targets, axis=0), *targets]), axis=0) if classes else targets[0]
    rows = np.zeros((len(w), 1))
    cut = split(test_size=estimator.validation_fraction, random_state=estimator.random_state)
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
    coef: Any = model.surface.coef
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
    estimator: Any, monitor: Callable[..., bool], points: Matrix, k: int, plan: TrainingPlan, dtype: DTypeLike
) -> PointMonitor:
    """Reports the model with point k replaced to `monitor`, and prints a line per pass if `verbose`."""
    done, verbose = 0, getattr(estimator, "verbose", 0)

    def report(x: Vector, value: float) -> bool:
        nonlocal done
        done += 1
        points[k] = x
        if verbose:
            print(f"{type(estimator).__name__}: output {k + 1}, pass {done}, mean value {value:.6g}")
        return bool(monitor(lambda: online_fit(points.copy(), plan, dtype, done, 1.0), value))

    return report


def _reason(value: float) -> Reason:
    return "diverged" if not np.isfinite(value) else "max_iter"
