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
from typing import NamedTuple, TypeVar, TypeVarTuple

import numpy as np
from sklearn.pipeline import Pipeline

from fivefold.core.estimators.params import allows, declared_params
from fivefold.core.types import Table
from fivefold.evaluation.calibration import CALIBRATION_FOLDS, CrossFittedCalibration
from fivefold.evaluation.protocols import Model
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.planning.hyperparameters import (
    MAX_EXTENSIONS,
    Setting,
    halving_rungs,
    race_finalists,
    values_beyond,
)
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.portfolio import Learner, MemberShare
from fivefold.study.planning.splits import Split, TrainTestRows, derive_seed, inner_splits, subsample
from fivefold.study.preparation.column_transformer import make_transformer
from fivefold.study.preparation.log_target import LOG_TARGET, LogTargetRegressor, with_logarithm
from fivefold.study.running.blend import as_predictions, blend_weights, weighted_mean
from fivefold.study.tables.dataset import Data

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

MAX_BLEND_ROWS = 10_000  # training rows per split that the weights and the training score of a blend come from
REFIT_INDEX = 2**32 - 1  # in place of repeat and fold, for the seed of the final fit on all rows


class TriedSetting(NamedTuple):
    """A setting, its mean loss over inner splits, and its predictions for their test rows, if they are kept."""

    setting: Setting
    loss: float
    predictions: np.ndarray | None  # (n,) or (n, K)


class DroppedSetting(NamedTuple):
    """A setting that fell out early, its mean loss until then, and the share of the rows it was tried on."""

    setting: Setting
    loss: float
    share: float  # on a rung of halving; in a race, the share of the inner folds


@dataclass(frozen=True)
class SettingChoice:
    """The setting that the inner splits chose, and the mean loss of all that were tried on the same rows as it."""

    parameters: Setting
    tried: tuple[tuple[Setting, float], ...] = ()
    dropped: tuple[DroppedSetting, ...] = ()
    extended: tuple[str, ...] = ()  # parameters whose range was extended, since the choice lay at its end
    at_edge: tuple[str, ...] = ()  # those of them whose choice still lies at the end
    inner: np.ndarray | None = None  # predictions of the chosen setting for the test rows of the inner splits
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
    tried: tuple[tuple[Setting, float], ...] = ()  # and the next three: see SettingChoice
    dropped: tuple[DroppedSetting, ...] = ()
    extended: tuple[str, ...] = ()
    at_edge: tuple[str, ...] = ()
    inner: np.ndarray | None = None  # predictions for the test rows of the inner splits, for the weights of a blend
    fitted: np.ndarray | None = None  # predictions for training rows, for the training score of a blend


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
    model = stopwatch(fit_pipeline, data, learner, choice.parameters, split.train, seed)
    fit_seconds = stopwatch.last
    prepare, method = model[:-1], model[-1]  # the columns are prepared once for both kinds of prediction
    on_test = CachedPredictions(method, stopwatch(prepare.transform, data.X[split.test]))
    predict_seconds = stopwatch.last
    stopwatch(lambda: on_test.predictions)
    predict_seconds += stopwatch.last
    on_train = CachedPredictions(method, stopwatch(prepare.transform, data.X[split.train]))
    classes = None if plan.classes is None else np.arange(len(plan.classes))
    proba = None if classes is None else stopwatch(on_test.proba_for, classes)
    if not np.isfinite(on_test.predictions if proba is None else proba).all():
        raise ValueError("predictions hold NaN or infinity")
    stopwatch(lambda: (on_train.predictions, None if proba is None else on_train.proba))
    fitted = on_train.predictions if classes is None else on_train.proba_for(classes)
    kept = _kept_for_blend(data, split.train, len(split.train), seed)
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
        dropped=choice.dropped,
        extended=choice.extended,
        at_edge=choice.at_edge,
        inner=choice.inner,
        fitted=None if choice.inner is None else fitted[kept].astype(np.float32),
    )


def evaluate_blend(data: Data, blend: Learner, split: Split, plan: Plan, folds: Mapping[str, FoldResult]) -> FoldResult:
    """The same as `evaluate_fold` of a blend, from the folds of its members on this split: nothing is fitted."""
    data, seed, stopwatch = plan.coded(data), derive_seed(plan.seed, split.repeat, split.fold), Stopwatch()
    choices = {name: SettingChoice(fold.parameters, inner=fold.inner) for name, fold in folds.items()}
    choice = stopwatch(blend_choice, data, choices, split.train, plan, seed)
    weights = {name: share.weight for name, share in choice.parameters.items()}
    used = {name: fold for name, fold in folds.items() if name in weights}
    classes = None if plan.classes is None else len(plan.classes)
    given = {name: fold.predicted if fold.proba is None else fold.proba for name, fold in used.items()}
    answers = as_predictions(weighted_mean(given, weights), classes)
    fitted = {name: fold.fitted for name, fold in used.items() if fold.fitted is not None}
    on_train = as_predictions(weighted_mean(fitted, weights), classes) if len(fitted) == len(used) else None
    known = data.y[split.train[_kept_for_blend(data, split.train, len(split.train), seed)]]
    sizes = [fold.size_bytes for fold in used.values() if fold.size_bytes is not None]
    return FoldResult(
        repeat=split.repeat,
        fold=split.fold,
        n_train=len(split.train),
        n_test=len(split.test),
        scores=score_all(plan.scores, answers, data.y[split.test]),
        parameters=choice.parameters,
        fit_seconds=sum(fold.fit_seconds for fold in used.values()),
        predict_seconds=sum(fold.predict_seconds for fold in used.values()),
        busy_seconds=stopwatch.seconds,
        size_bytes=sum(sizes) if len(sizes) == len(used) else None,
        test=split.test,
        predicted=plan.decoded(answers.predictions),
        proba=None if classes is None else answers.proba,
        train_score={} if on_train is None else score_all(plan.shown, on_train, known),
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


def tune(data: Data, learner: Learner, rows: np.ndarray, plan: Plan) -> SettingChoice:
    """The setting that inner splits of these rows choose; with `plan.rows`, that of the model that a study saves."""
    return choose_setting(plan.coded(data), learner, rows, plan, derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX))


def tune_and_fit(
    data: Data,
    learner: Learner,
    rows: np.ndarray,
    plan: Plan,
    member_choices: Mapping[str, SettingChoice] | None = None,
) -> tuple[Pipeline, SettingChoice]:
    """The learner tuned and fitted on these rows; with `plan.rows`, the model that a study saves.

    `member_choices` holds what `tune` found for the members of a blend, if that was done before.
    """
    seed = derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)
    if member_choices:
        choice = blend_choice(plan.coded(data), member_choices, rows, plan, seed)
    else:
        choice = tune(data, learner, rows, plan)
    return fit_pipeline(data, learner, choice.parameters, rows, seed), choice


def choose_setting(data: Data, learner: Learner, train: np.ndarray, plan: Plan, seed: int) -> SettingChoice:
    """The setting with the best mean score over inner splits of the training rows; the first of equally good ones.

    The defaults stay until the end of halving or of a race, where all settings are tried on the same rows; ranges at
    whose ends the choice lies are extended there.
    """
    if learner.members:
        return _choose_shares(data, learner, train, plan, seed)
    splits = inner_splits(
        data, train, plan.inner_folds, seed
    )  # also for a single setting: InnerSelection compares learners by these losses
    if not splits:
        return SettingChoice(learner.settings[0])
    trials = _Trials(data, learner, plan, seed)
    search = _race if plan.races(learner) and len(splits) > 1 else _halve
    found, dropped = search(trials, splits, len(train))
    extended = _extend_ranges(learner, found, lambda settings: trials.run(settings, splits, keep=True))
    at_edge = tuple(_settings_beyond(learner, found))
    if learner.finish and len(learner.settings) > 1:
        found += trials.run([{**_best(found).setting, **learner.finish}], splits, keep=True)
    if plan.log_target and learner.tries_logarithm:
        found += trials.run([with_logarithm(_best(found).setting, plan.scores[0].name)], splits, keep=True)
    best = _best(found)
    return SettingChoice(
        parameters=best.setting,
        tried=tuple((one.setting, one.loss) for one in found),
        dropped=tuple(dropped),
        extended=extended,
        at_edge=at_edge,
        inner=best.predictions,
        seconds=trials.stopwatch.seconds,
    )


def _best(found: Sequence[TriedSetting]) -> TriedSetting:
    """The setting with the least loss; the first of equally good ones."""
    return min(found, key=lambda one: one.loss)


def _halve(
    trials: _Trials, splits: Sequence[TrainTestRows], rows: int
) -> tuple[list[TriedSetting], list[DroppedSetting]]:
    """Settings halved over rows, or all tried on all rows: those of the last rung, and those that fell out before."""
    data, alive, dropped = trials.data, list(trials.learner.settings), list[DroppedSetting]()
    rungs = halving_rungs(len(alive), rows, halving=trials.plan.halving)
    for number, rung in enumerate(rungs):
        parts = [
            (subsample(data, fit, rung.share, trials.seed), subsample(data, test, rung.share, trials.seed))
            for fit, test in splits
        ]
        last = number + 1 == len(rungs)
        found = trials.run_some(alive, parts, keep=last)
        if not last:
            found, lost = _keep_best(found, rungs[number + 1].settings, rung.share)
            alive, dropped = [one.setting for one in found], dropped + lost
    return found, dropped


def _race(
    trials: _Trials, splits: Sequence[TrainTestRows], rows: int
) -> tuple[list[TriedSetting], list[DroppedSetting]]:
    """All settings on the first split, the best ones on the others, too: those, and the ones that fell out."""
    settings, first = trials.learner.settings, splits[:1]
    heats = trials.run_some(settings, first, keep=True)
    kept, dropped = _keep_best(heats, race_finalists(len(settings)), len(first) / len(splits))
    rest = trials.run_some([one.setting for one in kept], splits[1:], keep=True)
    return [_joined(a, b, len(splits) - 1) for a, b in zip(kept, rest, strict=True)], dropped


def _keep_best(
    found: Sequence[TriedSetting], count: int, share: float
) -> tuple[list[TriedSetting], list[DroppedSetting]]:
    """The defaults and this many of the best settings, in their order, and those that fall out."""
    order = np.argsort([one.loss for one in found], kind="stable")[:count]
    kept = {0, *order.tolist()}  # the defaults come first
    dropped = [DroppedSetting(one.setting, one.loss, share) for i, one in enumerate(found) if i not in kept]
    return [found[i] for i in sorted(kept)], dropped


def _joined(first: TriedSetting, rest: TriedSetting, count: int) -> TriedSetting:
    """A setting tried on one split, and then on this many others."""
    parts = [one.predictions for one in (first, rest) if one.predictions is not None]
    predictions = np.concatenate(parts) if len(parts) == 2 else None
    return TriedSetting(first.setting, (first.loss + count * rest.loss) / (1 + count), predictions)


def _extend_ranges(
    learner: Learner, found: list[TriedSetting], run: Callable[[list[Setting]], list[TriedSetting]]
) -> tuple[str, ...]:
    """Add settings beyond the ends of ranges while that helps; returns the names of the ranges that were extended."""
    names = list[str]()
    for _ in range(MAX_EXTENSIONS):
        beyond = _settings_beyond(learner, found)
        names += beyond
        found += run(list(beyond.values())) if beyond else []
    return tuple(dict.fromkeys(names))


def _settings_beyond(learner: Learner, found: Sequence[TriedSetting]) -> dict[str, Setting]:
    """The best setting with a value beyond the end of its range, by parameter, if that is allowed and was not tried."""
    best = _best(found).setting
    beyond, cls = values_beyond(learner.ranges, {**learner.defaults, **best}), learner.method.cls
    settings = {n: {**best, n: value} for n, value in beyond.items() if allows(declared_params(cls)[n], value)}
    return {name: new for name, new in settings.items() if all(new != one.setting for one in found)}


def _choose_shares(data: Data, blend: Learner, train: np.ndarray, plan: Plan, seed: int) -> SettingChoice:
    """The members of a blend tuned on these rows, and their weights."""
    choices = {member.name: choose_setting(data, member, train, plan, seed) for member in blend.members}
    return blend_choice(data, choices, train, plan, seed)


def blend_choice(
    data: Data, choices: Mapping[str, SettingChoice], train: np.ndarray, plan: Plan, seed: int
) -> SettingChoice:
    """The weights of learners that were tuned on these rows, from their predictions on the inner splits."""
    splits, inner = inner_splits(data, train, plan.inner_folds, seed), {n: c.inner for n, c in choices.items()}
    known = {name: predictions for name, predictions in inner.items() if predictions is not None}
    if not splits or not known:
        even = 1 / len(choices)  # there is nothing to weigh them by
        return SettingChoice({name: MemberShare(even, choice.parameters) for name, choice in choices.items()})
    total = sum(len(test) for _, test in splits)
    tests = [data.y[test[_kept_for_blend(data, test, total, seed)]] for _, test in splits]
    classes = None if plan.classes is None else len(plan.classes)
    weights, loss = blend_weights(known, tests, plan.scores[0], classes)
    shares = {name: MemberShare(weight, choices[name].parameters) for name, weight in weights.items()}
    return SettingChoice(shares, ((shares, loss),), seconds=sum(choice.seconds for choice in choices.values()))


def _kept_for_blend(data: Data, rows: np.ndarray, total: int, seed: int) -> np.ndarray:
    """Which of these rows, of a total, have their predictions kept for a blend: a mask."""
    return np.isin(rows, subsample(data, rows, min(1.0, MAX_BLEND_ROWS / total), seed))


def fit_pipeline(data: Data, learner: Learner, parameters: Setting, rows: np.ndarray, seed: int) -> Pipeline:
    """The pipeline fitted on these rows."""
    return build_pipeline(data, learner, parameters, seed, rows).fit(data.X[rows], data.y[rows])


def build_pipeline(
    data: Data, learner: Learner, parameters: Setting, seed: int, rows: np.ndarray | None = None
) -> Pipeline:
    """The unfitted pipeline: preparation of the columns, then the method, calibrated if it gives no probabilities.

    `rows` are those it will be fitted on, so that folds that calibrate can follow groups, time and copies.
    The members of a blend are pipelines, each with its own preparation.
    """
    if learner.members:
        inner = [
            (member.name, build_pipeline(data, member, parameters[member.name].setting, seed, rows))
            for member in learner.present(parameters)
        ]
        return Pipeline([("prepare", "passthrough"), ("method", learner.combine(inner, parameters))])
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
    if LOG_TARGET in parameters:
        return LogTargetRegressor(estimator, parameters[LOG_TARGET])
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


class _Trials:
    """Settings tried on splits; the columns are prepared once per split, on large tables once per run."""

    def __init__(self, data: Data, learner: Learner, plan: Plan, seed: int) -> None:
        self.data, self.learner, self.plan, self.seed = data, learner, plan, seed
        self.stopwatch = Stopwatch()
        self.prepared = dict[int, tuple[np.ndarray, Table, Table]]()  # by the id of the first: see `_prepare`
        self.failure: Exception | None = None

    def run_some(
        self, settings: Sequence[Setting], splits: Sequence[TrainTestRows], *, keep: bool = False
    ) -> list[TriedSetting]:
        """The same as `run`; raises the last error if none of the settings can be fitted."""
        found = self.run(settings, splits, keep=keep)
        if self.failure is not None and all(np.isinf(one.loss) for one in found):
            raise self.failure
        return found

    def run(
        self, settings: Sequence[Setting], splits: Sequence[TrainTestRows], *, keep: bool = False
    ) -> list[TriedSetting]:
        """The mean loss of each setting over the splits, infinite if it cannot be fitted; `failure` is the last error.

        With `keep`, and if a blend takes part, predictions are kept, too.
        """
        keep = keep and self.plan.blend and not self.learner.baseline
        data, total = self.data, sum(len(test) for _, test in splits)
        losses = np.zeros((len(settings), len(splits)))
        predictions: list[list[np.ndarray]] = [[] for _ in settings]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # only those of the chosen setting are reported
            for j, (fit, test) in enumerate(splits):
                known, new = self._prepare(fit, test)
                kept = _kept_for_blend(data, test, total, self.seed)
                for i, setting in enumerate(settings):
                    try:
                        losses[i, j], answers = self._fit_and_score(setting, known, fit, new, test)
                        if keep:
                            predictions[i].append(self._blend_predictions(answers)[kept])
                    except Exception as error:  # a setting that cannot be fitted is not chosen
                        losses[i, j], self.failure = np.inf, error
        return [
            TriedSetting(setting, loss, np.concatenate(parts) if keep and len(parts) == len(splits) else None)
            for setting, loss, parts in zip(settings, losses.mean(axis=1).tolist(), predictions, strict=True)
        ]

    def _prepare(self, fit: np.ndarray, test: np.ndarray) -> tuple[Table, Table]:
        """The columns of both parts, prepared by what the first says; kept for later runs if the table is small."""
        if id(fit) in self.prepared:
            return self.prepared[id(fit)][1:]
        ready, data = make_transformer(self.learner.takes, self.data), self.data
        known = self.stopwatch(ready.fit_transform, data.X[fit], data.y[fit])
        new = self.stopwatch(ready.transform, data.X[test])
        if not self.plan.halving:
            self.prepared[id(fit)] = (fit, known, new)  # while it is held, no other array has its id
        return known, new

    def _fit_and_score(
        self, setting: Setting, known: Table, fit: np.ndarray, new: Table, test: np.ndarray
    ) -> tuple[float, CachedPredictions]:
        score, model = self.plan.scores[0], _make_estimator(self.data, self.learner, setting, self.seed, fit)
        self.stopwatch(model.fit, known, self.data.y[fit])
        answers = CachedPredictions(model, new)
        loss = score.loss(self.stopwatch(score.function, answers, self.data.y[test]))
        return (loss if np.isfinite(loss) else np.inf), answers

    def _blend_predictions(self, answers: CachedPredictions) -> np.ndarray:
        """Numbers, or probabilities of all classes, in half the space."""
        classes = self.plan.classes
        found = answers.predictions if classes is None else self.stopwatch(answers.proba_for, np.arange(len(classes)))
        return found.astype(np.float32)


def score_all(scores: Sequence[Score], answers: CachedPredictions, y: np.ndarray) -> dict[str, float]:
    """Every score of these predictions, by name."""
    return {score.name: score.function(answers, y) for score in scores}
