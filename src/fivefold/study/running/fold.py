"""One learner on one outer split: choose a setting on the training rows, fit it on all of them, judge it on the rest.

Whatever is learned, the treatment of the columns and the calibration of probabilities included, is learned from
training rows. Random numbers depend on the seed of the study and on the split alone.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.planning.hyperparameters import Setting, halving_rungs
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import Split, TrainTestRows, derive_seed, inner_splits, subsample
from fivefold.study.preparation.column_transformer import make_transformer
from fivefold.study.tables.dataset import Data

CALIBRATION_FOLDS = 3
REFIT_INDEX = 2**32 - 1  # stands for repeat and fold when all rows are learned from


@dataclass(frozen=True)
class SettingChoice:
    """The setting that the inner splits chose, and the mean loss of every one, on the most rows it was tried on."""

    parameters: Setting
    tried: tuple[tuple[Setting, float], ...] = ()
    seconds: float = 0.0  # inside fit and predict


@dataclass(frozen=True)
class FoldResult:
    """What one learner did on one outer split."""

    repeat: int
    fold: int
    n_train: int
    n_test: int
    scores: Mapping[str, float]
    parameters: Setting  # chosen by the inner splits
    fit_seconds: float = 0.0  # of the chosen setting on all training rows
    predict_seconds: float = 0.0  # of the test rows
    busy_seconds: float = 0.0  # inside fit and predict, choosing included
    size_bytes: int | None = None  # of the fitted model with its treatment of columns, pickled
    test: np.ndarray = field(default_factory=lambda: np.arange(0))  # indices of rows
    predicted: np.ndarray = field(default_factory=lambda: np.arange(0))  # (n_test,) labels or numbers
    proba: np.ndarray | None = None  # (n_test, K), the classes of the whole table sorted
    train_score: Mapping[str, float] = field(default_factory=dict)  # the scores that are shown, on training rows
    tried: tuple[tuple[Setting, float], ...] = ()


class Stopwatch:
    """Adds up the seconds inside the calls made through it."""

    def __init__(self) -> None:
        self.seconds = self.last = 0.0

    def __call__(self, work: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            self.last = time.perf_counter() - start
            self.seconds += self.last


def evaluate_fold(data: Data, learner: Learner, split: Split, plan: Plan) -> FoldResult:
    """Tune and fit on the training rows of a split, judge on its test rows."""
    data, state = plan.coded(data), derive_seed(plan.seed, split.repeat, split.fold)
    watch, choice = Stopwatch(), choose_setting(data, learner, split.train, plan, state)
    known, new = data.X[split.train], data.X[split.test]
    model = build_pipeline(data, learner, choice.parameters, state)
    watch(model.fit, known, data.y[split.train])
    fit_seconds = watch.last
    on_test, on_train = CachedPredictions(model, new), CachedPredictions(model, known)
    watch(lambda: on_test.predictions)
    predict_seconds = watch.last
    classes = None if plan.classes is None else np.arange(len(plan.classes))
    proba = None if classes is None else watch(on_test.proba_for, classes)
    if not np.isfinite(on_test.predictions if proba is None else proba).all():
        raise ValueError("predictions hold NaN or infinity")
    watch(lambda: (on_train.predictions, None if proba is None else on_train.proba))
    return FoldResult(
        split.repeat,
        split.fold,
        len(split.train),
        len(split.test),
        _score_all(plan.scores, on_test, data.y[split.test]),
        choice.parameters,
        fit_seconds,
        predict_seconds,
        choice.seconds + watch.seconds,
        pickled_size(model),
        split.test,
        plan.decoded(on_test.predictions),
        proba,
        _score_all(plan.shown, on_train, data.y[split.train]),
        choice.tried,
    )


def tune_and_fit(data: Data, learner: Learner, rows: np.ndarray, plan: Plan) -> tuple[Pipeline, SettingChoice]:
    """The learner tuned and fitted on these rows: for `plan.rows`, the model that a study leaves behind."""
    state = derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)
    choice = choose_setting(plan.coded(data), learner, rows, plan, state)
    return build_pipeline(data, learner, choice.parameters, state).fit(data.X[rows], data.y[rows]), choice


def choose_setting(data: Data, learner: Learner, train: np.ndarray, plan: Plan, state: int) -> SettingChoice:
    """The setting with the best mean score over inner splits of the training rows; the first of equals."""
    splits = inner_splits(data, train, plan.inner_folds, state)  # one setting is judged too: to choose among learners
    if not splits:
        return SettingChoice(learner.settings[0])
    watch, settings, found = Stopwatch(), learner.settings, dict[int, float]()
    alive = list(range(len(settings)))
    for rung in halving_rungs(len(settings), len(train), halving=plan.halving):
        alive = sorted(sorted(alive, key=lambda i: found.get(i, 0.0))[: rung.settings])
        parts = [(subsample(data, a, rung.share, state), subsample(data, b, rung.share, state)) for a, b in splits]
        losses = _setting_losses(data, learner, [settings[i] for i in alive], parts, plan.scores[0], state, watch)
        found |= dict(zip(alive, losses, strict=True))
    best = min(alive, key=found.__getitem__)
    return SettingChoice(settings[best], tuple((settings[i], loss) for i, loss in sorted(found.items())), watch.seconds)


def build_pipeline(data: Data, learner: Learner, parameters: Setting, state: int) -> Pipeline:
    """The method behind what makes its columns ready, unfitted; calibrated if it gives no probabilities."""
    return Pipeline(
        [
            ("prepare", make_transformer(learner.takes, data)),
            ("method", _make_estimator(data, learner, parameters, state)),
        ]
    )


def pickled_size(model: Any) -> int | None:
    """Bytes of a model when pickled; None where it cannot be."""
    counter = _ByteCounter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return counter.bytes


class _ByteCounter:
    bytes = 0

    def write(self, part: Any) -> int:
        self.bytes += (length := memoryview(part).nbytes)
        return length


def _make_estimator(data: Data, learner: Learner, parameters: Setting, state: int) -> Any:
    estimator = learner.make(parameters, state)
    if data.task != "classification" or callable(getattr(estimator, "predict_proba", None)):
        return estimator
    method = "sigmoid" if len(np.unique(data.y)) == 2 else "temperature"
    return CalibratedClassifierCV(estimator, method=method, cv=CALIBRATION_FOLDS, ensemble=False)


def _setting_losses(
    data: Data,
    learner: Learner,
    settings: Sequence[Setting],
    splits: Sequence[TrainTestRows],
    score: Score,
    state: int,
    watch: Stopwatch,
) -> list[float]:
    """Mean loss of each setting over the splits; the columns are made ready once a split."""
    table, failure = np.zeros((len(settings), len(splits))), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that are tried; those of the chosen one are heard
        for j, (fit, judge) in enumerate(splits):
            ready, target = make_transformer(learner.takes, data), data.y[fit]
            known = watch(ready.fit_transform, data.X[fit], target)
            new = watch(ready.transform, data.X[judge])
            for i, setting in enumerate(settings):
                try:
                    model = _make_estimator(data, learner, setting, state)
                    watch(model.fit, known, target)
                    loss = score.loss(watch(score.score_model, model, new, data.y[judge]))
                    table[i, j] = loss if np.isfinite(loss) else np.inf
                except Exception as error:  # a setting that cannot be fitted is not chosen
                    table[i, j], failure = np.inf, error
    losses = table.mean(axis=1)
    if failure is not None and np.isinf(losses).all():
        raise failure
    return losses.tolist()


def _score_all(scores: Sequence[Score], answers: CachedPredictions, y: np.ndarray) -> dict[str, float]:
    return {score.name: score.function(answers, y) for score in scores}
