"""Running a plan: every learner on every outer split, in worker processes.

A task is one learner on one split. Its random numbers depend on the seed and the split alone, and linear algebra runs
on one thread in it, so neither the number of workers nor their order changes a result. A learner that fails is
reported with its reason; the others go on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from fivefold.evaluation.scores import Score
from fivefold.study.data import Data
from fivefold.study.plan import Learner, Plan, Split, inner_splits
from fivefold.study.prepare import prepare


@dataclass(frozen=True)
class Fold:
    """What one learner did on one outer split."""

    repeat: int
    fold: int
    n_train: int
    n_test: int
    scores: Mapping[str, float]
    parameters: Mapping[str, Any]  # chosen by the inner splits


@dataclass(frozen=True)
class Outcome:
    """What became of a learner."""

    learner: Learner
    folds: tuple[Fold, ...]
    failure: str | None
    warnings: tuple[str, ...]


def run(plan: Plan, *, jobs: int = 1, tick: Callable[[str], None] = lambda name: None) -> tuple[Outcome, ...]:
    """The outcome of every learner, in the order of the plan; `tick(name)` is called after each split."""
    tasks = [(i, learner, split) for i, learner in enumerate(plan.learners) for split in plan.splits]
    found: dict[int, list[Fold | str]] = {i: [] for i in range(len(plan.learners))}
    said: dict[int, dict[str, None]] = {i: {} for i in found}
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        results = Parallel(return_as="generator")(
            delayed(attempt)(plan.data, learner, split, plan.scores, plan.seed) for _, learner, split in tasks
        )
        for (i, learner, _), (result, messages) in zip(tasks, results, strict=True):
            found[i].append(result)
            said[i] |= dict.fromkeys(messages)
            tick(learner.name)
    return tuple(
        Outcome(
            learner,
            tuple(fold for fold in found[i] if isinstance(fold, Fold)),
            next((reason for reason in found[i] if isinstance(reason, str)), None),
            tuple(said[i]),
        )
        for i, learner in enumerate(plan.learners)
    )


def attempt(
    data: Data, learner: Learner, split: Split, scores: tuple[Score, ...], seed: int
) -> tuple[Fold | str, tuple[str, ...]]:
    """The fold, or why there is none; and what was warned of on the way."""
    with warnings.catch_warnings(record=True) as heard, threadpool_limits(1):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "Found unknown categories")  # encoded as none of the known: meant
        try:
            result: Fold | str = evaluate(data, learner, split, scores, seed)
        except Exception as error:  # any failure of one learner is a finding about that learner
            result = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return result, tuple(dict.fromkeys(" ".join(str(warning.message).split()) for warning in heard))


def evaluate(data: Data, learner: Learner, split: Split, scores: tuple[Score, ...], seed: int) -> Fold:
    """Choose a setting on the training rows, fit it on all of them, judge it on the test rows."""
    state = int(np.random.SeedSequence([seed, split.repeat, split.fold]).generate_state(1)[0] % 2**31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that are tried; those of the chosen one are heard below
        parameters = choose(data, learner, split.train, scores[0], state)
    model = build(data, learner, parameters, state).fit(data.X[split.train], data.y[split.train])
    X, y = data.X[split.test], data.y[split.test]
    judged = {score.name: score.of(model, X, y) for score in scores}
    if unsound := [name for name, value in judged.items() if not np.isfinite(value)]:
        raise ValueError(f"{' and '.join(unsound)} came out as no finite number: predictions hold NaN or infinity")
    return Fold(split.repeat, split.fold, len(split.train), len(split.test), judged, parameters)


def choose(data: Data, learner: Learner, train: np.ndarray, score: Score, state: int) -> Mapping[str, Any]:
    """The setting with the best mean score over inner splits of the training rows; the first of equals."""
    if len(learner.settings) == 1:
        return learner.settings[0]
    splits = inner_splits(data.y[train], state, stratified=data.task == "classification")
    losses, failure = list[float](), None
    for parameters in learner.settings:
        try:
            losses.append(float(np.mean([_loss(data, learner, parameters, train, s, score, state) for s in splits])))
        except Exception as error:  # a setting that cannot be fitted is not chosen
            losses.append(np.inf)
            failure = error
    if failure is not None and np.isinf(losses).all():
        raise failure
    return learner.settings[int(np.argmin(losses))]


def build(data: Data, learner: Learner, parameters: Mapping[str, Any], state: int) -> Pipeline:
    """The method behind what makes its columns ready."""
    estimator = learner.method.cls(**parameters)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=state)
    ready = prepare(estimator.takes, data.of_kind("number"), data.of_kind("category"))
    return Pipeline([("prepare", ready), ("method", estimator)])


def _loss(
    data: Data,
    learner: Learner,
    parameters: Mapping[str, Any],
    train: np.ndarray,
    inner: tuple[np.ndarray, np.ndarray],
    score: Score,
    state: int,
) -> float:
    fit, judge = train[inner[0]], train[inner[1]]
    model = build(data, learner, parameters, state).fit(data.X[fit], data.y[fit])
    return score.loss(score.of(model, data.X[judge], data.y[judge]))
