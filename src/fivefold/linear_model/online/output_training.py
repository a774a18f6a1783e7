"""Training of one surface an output by passes over rows: starts, rows held out, progress, and going on.

A point is (w, b), twice as long where the plan keeps the mean of all points. Points start at zero, at coefficients that
are given, or, warm, at those of the model from before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import r2_score

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Table
from fivefold.linear_model.base import LinearModel
from fivefold.linear_model.online.passes import (
    OnlineFit,
    Passes,
    RowStream,
    TrainingPlan,
    ValidationRows,
    refuse_overflow,
    train_stream,
    warn_unfinished,
)
from fivefold.optim.objective import Minimum

MAX_SEED = 2**31 - 1

PassesFactory = Callable[[int, int, float], Passes]  # of the output, a seed and the number of the first step


def start_points(name: str, outputs: int, d: int, plan: TrainingPlan, coef: Any = None, intercept: Any = None) -> Array:
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
    estimator: Any,
    X: Table,
    targets: Sequence[Array],
    w: Array,
    factors: Sequence[Any],
    plan: TrainingPlan,
    x0: Array,
    rule: PassesFactory = sgd_passes,
    kind: type[RowStream] = RowStream,
) -> OnlineFit:
    """Train one surface for each target, the steps on its rows `factors` times as long."""
    name, held = type(estimator).__name__, holdout_split(estimator, X, targets, w)
    seeds = check_random_state(estimator.random_state).randint(MAX_SEED, size=len(targets))
    solvers = [rule(k, int(seed), 1.0) for k, seed in enumerate(seeds)]
    streams = [_stream(kind, X, y, w, plan, f, held) for y, f in zip(targets, factors, strict=True)]
    visits = len(streams[0].visits)
    points, found = x0.copy(), list[Minimum]()
    with fit_steps(estimator, "pass", len(targets) * plan.max_iter, X) as monitor:
        if getattr(estimator, "n_jobs", None) in (None, 1) or len(targets) == 1:
            for k, stream in enumerate(streams):
                talk = _monitor(estimator, monitor, points, k, plan, X.dtype)
                limit = 1 if found and found[-1].reason == "interrupted" else None
                found.append(train_stream(stream, x0[k], solvers[k], monitor=talk, max_iter=limit))
                points[k] = found[-1].x
        else:
            found = map_items(lambda k: train_stream(streams[k], x0[k], solvers[k]), len(streams))
            points = np.stack([one.x for one in found])
    for one in found:
        refuse_overflow(name, one)
    passes = max(one.steps for one in found)
    if any(one.reason == "interrupted" for one in found):
        warn_kept_best(estimator, passes, "pass")
    else:
        warn_unfinished(name, streams, found)
    model = online_fit(points, plan, X.dtype, passes, 1.0 + passes * visits)
    return replace(model, history=tuple(one.history[1:] for one in found))


def update_outputs(
    estimator: Any,
    X: Table,
    targets: Sequence[Array],
    w: Array,
    factors: Sequence[Any],
    plan: TrainingPlan,
    model: OnlineFit,
    rule: PassesFactory = sgd_passes,
) -> OnlineFit:
    """One more pass for each target from where the model stands."""
    seeds = check_random_state(estimator.random_state).randint(MAX_SEED, size=len(targets))
    points, visits, values = model.points.copy(), 0, []
    for k, (y, f) in enumerate(zip(targets, factors, strict=True)):
        stream, solver = RowStream.of(X, y, w, plan, f), rule(k, int(seeds[k]), model.t)
        state = solver.step(stream, solver.begin(stream, points[k]))
        refuse_overflow(type(estimator).__name__, Minimum(state.x, state.value, 0.0, (0.0, 0.0), _reason(state.value)))
        points[k], visits = state.x, len(stream.visits)
        values.append((*(model.history[k] if model.history else ()), state.value))
    return replace(online_fit(points, plan, X.dtype, 1, model.t + visits), history=tuple(values))


def online_fit(points: Array, plan: TrainingPlan, kind: Any, passes: int, t: float) -> OnlineFit:
    """The model of the points: numbers that users see get the type `kind`."""
    x = points[:, points.shape[1] // 2 :] if plan.average else points
    x = x.reshape(len(x) * plan.outputs, -1)
    surface = LinearModel(np.ascontiguousarray(x[:, :-1], dtype=kind), x[:, -1].astype(kind), n_iter=passes)
    return OnlineFit(surface, points, t)


def holdout_split(estimator: Any, X: Table, targets: Sequence[Array], w: Array) -> Any:
    """Row numbers kept, and those held out to judge on; None without early stopping."""
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
    return kept, out, accuracy if classes else r2


def accuracy(y: Array, p: Array, w: Array) -> float:
    """Share of rows on the right side."""
    return float(np.average((p > 0) == (y > 0), weights=w))


def r2(y: Array, p: Array, w: Array) -> float:
    """R^2."""
    return float(r2_score(y, p, sample_weight=w))


def sparsify_model(model: OnlineFit) -> OnlineFit:
    """The same with coefficients that take memory only where they are not zero."""
    return replace(model, surface=replace(model.surface, coef=csr_array(model.surface.coef)))


def densify_model(model: OnlineFit) -> OnlineFit:
    """The same with coefficients as an array."""
    coef: Any = model.surface.coef
    return replace(model, surface=replace(model.surface, coef=coef.toarray())) if issparse(coef) else model


def _stream(
    kind: type[RowStream], X: Table, y: Array, w: Array, plan: TrainingPlan, factor: Any, held: Any
) -> RowStream:
    if held is None:
        return kind.of(X, y, w, plan, factor)
    kept, out, judge = held
    factor = np.broadcast_to(factor, len(w))
    return kind.of(X[kept], y[kept], w[kept], plan, factor[kept], ValidationRows(X[out], y[out], w[out], judge))


def _monitor(estimator: Any, monitor: Any, points: Array, k: int, plan: TrainingPlan, kind: Any) -> Any:
    """The monitor, told of the model with point k replaced, and a line for each pass if `verbose`."""
    done, verbose = 0, getattr(estimator, "verbose", 0)

    def talk(x: Array, value: float) -> bool:
        nonlocal done
        done += 1
        points[k] = x
        if verbose:
            print(f"{type(estimator).__name__}: output {k + 1}, pass {done}, mean value {value:.6g}")
        return bool(monitor(lambda: online_fit(points.copy(), plan, kind, done, 1.0), value))

    return talk


def _reason(value: float) -> Any:
    return "diverged" if not np.isfinite(value) else "max_iter"
