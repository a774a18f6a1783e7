"""One learner on one outer split: choose a setting on the training rows, fit it on all of them, test it on the rest.

Everything is learned from training rows, including the preparation of the columns and the calibration of probabilities.
Random numbers depend on the seed of the study and on the split alone.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, TypeVarTuple

import numpy as np
from sklearn.pipeline import Pipeline

from fivefold.evaluation.calibration import CALIBRATION_FOLDS, CrossFittedCalibration
from fivefold.evaluation.protocols import Model
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.planning.hyperparameters import Setting, halving_rungs
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import Split, TrainTestRows, derive_seed, inner_splits, subsample
from fivefold.study.preparation.column_transformer import make_transformer
from fivefold.study.tables.dataset import Data

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

REFIT_INDEX = 2**32 - 1  # in place of repeat and fold, for the seed of the final fit on all rows


@dataclass(frozen=True)
class SettingChoice:
    """The setting that the inner splits chose, and the mean loss of every setting on the largest rung that tried it."""

    parameters: Setting
    tried: tuple[tuple[Setting, float], ...] = ()
    seconds: float = 0.0  # inside fit and predict


@dataclass(frozen=True)
class FoldResult:
    """The result of one learner on one outer split."""

    repeat: int
    fold: int
    n_train: int
    n_test: int
    scores: Mapping[str, float]
    parameters: Setting  # chosen by the inner splits
    fit_seconds: float = 0.0  # of the chosen setting on all training rows
    predict_seconds: float = 0.0  # of the test rows
    busy_seconds: float = 0.0  # inside fit and predict, including the search
    size_bytes: int | None = None  # of the fitted pipeline, pickled
    test: np.ndarray = field(default_factory=lambda: np.arange(0))  # indices of rows
    predicted: np.ndarray = field(default_factory=lambda: np.arange(0))  # (n_test,) labels or numbers
    proba: np.ndarray | None = None  # (n_test, K), in the order of Plan.classes
    train_score: Mapping[str, float] = field(default_factory=dict)  # the main scores, on training rows
    tried: tuple[tuple[Setting, float], ...] = ()


class Stopwatch:
    """Adds up the seconds of the calls made through it."""

    def __init__(self) -> None:
        self.seconds = self.last = 0.0

    def __call__(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        start = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            self.last = time.perf_counter() - start
            self.seconds += self.last


def evaluate_fold(data: Data, learner: Learner, split: Split, plan: Plan) -> FoldResult:
    """Tune and fit on the training rows of a split, test on its test rows."""
    data, seed = plan.coded(data), derive_seed(plan.seed, split.repeat, split.fold)
    stopwatch, choice = Stopwatch(), choose_setting(data, learner, split.train, plan, seed)
    known, new = data.X[split.train], data.X[split.test]
    model = stopwatch(fit_pipeline, data, learner, choice.parameters, split.train, seed)
    fit_seconds = stopwatch.last
    on_test, on_train = CachedPredictions(model, new), CachedPredictions(model, known)
    stopwatch(lambda: on_test.predictions)
    predict_seconds = stopwatch.last
    classes = None if plan.classes is None else np.arange(len(plan.classes))
    proba = None if classes is None else stopwatch(on_test.proba_for, classes)
    if not np.isfinite(on_test.predictions if proba is None else proba).all():
        raise ValueError("predictions hold NaN or infinity")
    stopwatch(lambda: (on_train.predictions, None if proba is None else on_train.proba))
    return FoldResult(
        repeat=split.repeat,
        fold=split.fold,
        n_train=len(split.train),
        n_test=len(split.test),
        scores=score_all(plan.scores, on_test, data.y[split.test]),
        parameters=choice.parameters,
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        busy_seconds=choice.seconds + stopwatch.seconds,
        size_bytes=pickled_size(model),
        test=split.test,
        predicted=plan.decoded(on_test.predictions),
        proba=proba,
        train_score=score_all(plan.shown, on_train, data.y[split.train]),
        tried=choice.tried,
    )


def scores_at_share(
    plan: Plan, learner: Learner, settings: Sequence[tuple[Split, Setting]], share: float
) -> tuple[np.ndarray, np.ndarray]:
    """A point of a learning curve, per split: the number of training rows, (J,), and the first score, (J, 2).

    Every split comes with the setting to fit; nothing is tuned. Scores are those of the training rows that were used,
    and of the test rows. A smaller share is a subset of a larger one.
    """
    score, data, sizes, scores = plan.scores[0], plan.coded(plan.data), [], []
    for split, setting in settings:
        seed = derive_seed(plan.seed, split.repeat, split.fold)
        rows = subsample(data, split.train, share, seed)
        model = fit_pipeline(data, learner, setting, rows, seed)
        scores.append([score.score_model(model, data.X[part], data.y[part]) for part in (rows, split.test)])
        sizes.append(len(rows))
    return np.array(sizes), np.array(scores)


def tune_and_fit(data: Data, learner: Learner, rows: np.ndarray, plan: Plan) -> tuple[Pipeline, SettingChoice]:
    """The learner tuned and fitted on these rows; with `plan.rows`, the model that a study saves."""
    seed = derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)
    choice = choose_setting(plan.coded(data), learner, rows, plan, seed)
    return fit_pipeline(data, learner, choice.parameters, rows, seed), choice


def choose_setting(data: Data, learner: Learner, train: np.ndarray, plan: Plan, seed: int) -> SettingChoice:
    """The setting with the best mean score over inner splits of the training rows; the first of equally good ones."""
    splits = inner_splits(
        data, train, plan.inner_folds, seed
    )  # also for a single setting: InnerSelection compares learners by these losses
    if not splits:
        return SettingChoice(learner.settings[0])
    stopwatch, settings, found = Stopwatch(), learner.settings, dict[int, float]()
    alive = list(range(len(settings)))
    for rung in halving_rungs(len(settings), len(train), halving=plan.halving):
        alive = sorted(sorted(alive, key=lambda i: found.get(i, 0.0))[: rung.settings])
        parts = [(subsample(data, a, rung.share, seed), subsample(data, b, rung.share, seed)) for a, b in splits]
        losses = _setting_losses(data, learner, [settings[i] for i in alive], parts, plan.scores[0], seed, stopwatch)
        found |= dict(zip(alive, losses, strict=True))
    best = min(alive, key=found.__getitem__)
    return SettingChoice(
        settings[best], tuple((settings[i], loss) for i, loss in sorted(found.items())), stopwatch.seconds
    )


def fit_pipeline(data: Data, learner: Learner, parameters: Setting, rows: np.ndarray, seed: int) -> Pipeline:
    """The pipeline fitted on these rows."""
    return build_pipeline(data, learner, parameters, seed, rows).fit(data.X[rows], data.y[rows])


def build_pipeline(
    data: Data, learner: Learner, parameters: Setting, seed: int, rows: np.ndarray | None = None
) -> Pipeline:
    """The unfitted pipeline: preparation of the columns, then the method, calibrated if it gives no probabilities.

    `rows` are those it will be fitted on, so that folds that calibrate can follow groups, time and copies.
    """
    return Pipeline(
        [
            ("prepare", make_transformer(learner.takes, data)),
            ("method", _make_estimator(data, learner, parameters, seed, rows)),
        ]
    )


def pickled_size(model: object) -> int | None:
    """Bytes of the pickled model; None if it cannot be pickled."""
    counter = _ByteCounter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return counter.count


class _ByteCounter:
    count = 0

    def write(self, part: bytes | memoryview | pickle.PickleBuffer) -> int:
        self.count += (length := memoryview(part).nbytes)
        return length


def _make_estimator(data: Data, learner: Learner, parameters: Setting, seed: int, rows: np.ndarray | None) -> Model:
    """The unfitted method, for these rows of the table."""
    estimator = learner.make(parameters, seed)
    if learner.smoothed:
        from fivefold.study.models.m_estimate import MEstimateClassifier  # slow to import

        return MEstimateClassifier(estimator)
    if not data.task.is_classification or callable(getattr(estimator, "predict_proba", None)):
        return estimator
    folds = None if rows is None else _calibration_folds(data, rows, seed)
    return CrossFittedCalibration(estimator, folds, ordered=data.time is not None)


def _calibration_folds(data: Data, rows: np.ndarray, seed: int) -> np.ndarray:
    """The fold of each of these rows, as for inner splits; -1 for rows that are only trained on."""
    folds = np.full(len(data.y), -1, dtype=np.int8)  # it is part of the model file
    for fold, (_, test) in enumerate(inner_splits(data, rows, CALIBRATION_FOLDS, seed)):
        folds[test] = fold
    return folds[rows]


def _setting_losses(
    data: Data,
    learner: Learner,
    settings: Sequence[Setting],
    splits: Sequence[TrainTestRows],
    score: Score,
    seed: int,
    stopwatch: Stopwatch,
) -> list[float]:
    """Mean loss of each setting over the splits; the columns are prepared once per split."""
    table, failure = np.zeros((len(settings), len(splits))), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # only those of the chosen setting are reported
        for j, (fit, test) in enumerate(splits):
            ready, target = make_transformer(learner.takes, data), data.y[fit]
            known = stopwatch(ready.fit_transform, data.X[fit], target)
            new = stopwatch(ready.transform, data.X[test])
            for i, setting in enumerate(settings):
                try:
                    model = _make_estimator(data, learner, setting, seed, fit)
                    stopwatch(model.fit, known, target)
                    loss = score.loss(stopwatch(score.score_model, model, new, data.y[test]))
                    table[i, j] = loss if np.isfinite(loss) else np.inf
                except Exception as error:  # a setting that cannot be fitted is not chosen
                    table[i, j], failure = np.inf, error
    losses = table.mean(axis=1)
    if failure is not None and np.isinf(losses).all():
        raise failure
    return losses.tolist()


def score_all(scores: Sequence[Score], answers: CachedPredictions, y: np.ndarray) -> dict[str, float]:
    """Every score of these predictions, by name."""
    return {score.name: score.function(answers, y) for score in scores}
