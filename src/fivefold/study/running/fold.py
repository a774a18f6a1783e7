"""One learner on one outer split: choose a setting on the training rows, fit it on all of them, test it on the rest.

Everything is learned from training rows, including the preparation of the columns and the calibration of probabilities.
Random numbers depend on the seed of the study and on the split alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.pipeline import Pipeline

from fivefold.core.admission.fit_device import fits_on
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.planning.hyperparameters import Setting
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import Split, derive_seed, subsample
from fivefold.study.running.blend import as_predictions, combine_predictions
from fivefold.study.running.pipelines import fit_pipeline, pickled_size
from fivefold.study.running.setting_search import (
    DroppedSetting,
    SettingChoice,
    Stopwatch,
    blend_choice,
    choose_setting,
    kept_for_blend,
)
from fivefold.study.tables.dataset import Data

REFIT_INDEX = 2**32 - 1  # in place of repeat and fold, for the seed of the final fit on all rows


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
    device: str = "cpu"  # where it was fitted


def evaluate_fold(data: Data, learner: Learner, split: Split, plan: Plan) -> FoldResult:
    """Tune and fit on the training rows of a split, test on its test rows."""
    with fits_on(plan.options.device) as places:
        result = _evaluate_fold(data, learner, split, plan)
    return replace(result, device=max(places.values(), default="cpu"))  # of those of its parts, a device before the CPU


def _evaluate_fold(data: Data, learner: Learner, split: Split, plan: Plan) -> FoldResult:
    data, seed = plan.coded(data), derive_seed(plan.seed, split.repeat, split.fold)
    stopwatch, choice = Stopwatch(), choose_setting(data, learner, split.train, plan, seed)
    model = stopwatch(fit_pipeline, data, learner, choice.parameters, split.train, seed)
    fit_seconds = stopwatch.last
    prepare, method = model[:-1], model[-1]  # the columns are prepared once for both kinds of prediction
    on_test = CachedPredictions(method, stopwatch(prepare.transform, data.X[split.test]), data.sequences_of(split.test))
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
    kept = kept_for_blend(data, split.train, len(split.train), seed)
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
    answers = as_predictions(combine_predictions(given, weights, classes), classes)
    answers = replace(answers, sequences=data.sequences_of(split.test))
    fitted = {name: fold.fitted for name, fold in used.items() if fold.fitted is not None}
    on_train = None
    if len(fitted) == len(used):
        on_train = as_predictions(combine_predictions(fitted, weights, classes), classes)
    known = data.y[split.train[kept_for_blend(data, split.train, len(split.train), seed)]]
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
        device=max((fold.device for fold in used.values()), default="cpu"),
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
    if not plan.chooses(learner):
        return SettingChoice(learner.settings[0])
    return choose_setting(plan.coded(data), learner, rows, plan, derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX))


def tune_and_fit(data: Data, learner: Learner, rows: np.ndarray, plan: Plan) -> tuple[Pipeline, SettingChoice]:
    """The learner tuned and fitted on these rows; with `plan.rows`, the model that a study saves."""
    choice, seed = tune(data, learner, rows, plan), derive_seed(plan.seed, REFIT_INDEX, REFIT_INDEX)
    return fit_pipeline(data, learner, choice.parameters, rows, seed), choice


def score_all(scores: Sequence[Score], answers: CachedPredictions, y: np.ndarray) -> dict[str, float]:
    """Every score of these predictions, by name."""
    return {score.name: score.function(answers, y) for score in scores}
