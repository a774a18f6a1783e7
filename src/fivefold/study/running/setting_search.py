"""The setting of a learner that inner splits of its training rows choose: tried, halved over rows or raced over splits.

The setting with the least loss replaces the defaults only if it is better by more than a standard error, row by row:
of a dozen settings that are equally good, the luckiest one looks better than it is (the rule of one standard error;
Breiman, Friedman, Olshen & Stone 1984). The weights of a blend are chosen on the same splits, from the predictions that
its members made there.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, TypeVarTuple

import numpy as np

from fivefold.core.estimators.params import allows, declared_params
from fivefold.core.types import Table
from fivefold.evaluation.scores import CachedPredictions
from fivefold.study.planning.hyperparameters import (
    MAX_EXTENSIONS,
    Setting,
    halving_rungs,
    race_finalists,
    values_beyond,
)
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.portfolio import Learner, MemberShare
from fivefold.study.planning.splits import TrainTestRows, subsample
from fivefold.study.preparation.log_target import with_logarithm
from fivefold.study.running.blend import blend_weights, standard_errors_apart
from fivefold.study.running.pipelines import make_estimator, make_preparation
from fivefold.study.tables.dataset import Data

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

MAX_BLEND_ROWS = 10_000  # training rows per split that the weights and the training score of a blend come from


class TriedSetting(NamedTuple):
    """A setting, its mean loss over inner splits, and what is kept for their test rows, one split after the other."""

    setting: Setting
    loss: float
    predictions: np.ndarray | None  # (n,) or (n, K)
    row_losses: np.ndarray | None = None  # (n,); None if the score is no mean over rows, or nothing was fitted


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


def choose_setting(data: Data, learner: Learner, train: np.ndarray, plan: Plan, seed: int) -> SettingChoice:
    """The setting with the best mean score over inner splits of the training rows; the first of equally good ones.

    The defaults stay until the end of halving or of a race, where all settings are tried on the same rows; ranges at
    whose ends the choice lies are extended there.
    """
    if learner.members:
        return _choose_shares(data, learner, train, plan, seed)
    # also for a single setting: InnerSelection compares learners by these losses
    splits = plan.inner_splits(data, train, seed)
    if not splits:
        return SettingChoice(learner.settings[0])
    trials = SettingTrials(data, learner, plan, seed)
    search = _race if plan.races(learner) and len(splits) > 1 else _halve
    found, dropped = search(trials, splits, len(train))
    extended = _extend_ranges(learner, found, lambda settings: trials.run(settings, splits, keep=True))
    best = _chosen(found)
    at_edge = tuple(_settings_beyond(learner, found, best))
    if learner.finish and len(learner.settings) > 1:
        found += trials.run([{**best.setting, **learner.finish}], splits, keep=True)
        best = _least_loss([best, found[-1]])
    if plan.log_target and learner.tries_logarithm:
        found += trials.run([with_logarithm(best.setting, plan.scores[0].name)], splits, keep=True)
        best = _least_loss([best, found[-1]])
    return SettingChoice(
        parameters=best.setting,
        tried=tuple((one.setting, one.loss) for one in found),
        dropped=tuple(dropped),
        extended=extended,
        at_edge=at_edge,
        inner=best.predictions,
        seconds=trials.stopwatch.seconds,
    )


def _least_loss(found: Sequence[TriedSetting]) -> TriedSetting:
    """The setting with the least loss; the first of equally good ones."""
    return min(found, key=lambda one: one.loss)


def _chosen(found: Sequence[TriedSetting]) -> TriedSetting:
    """The setting with the least loss, or the defaults, which come first, if it is not better by a standard error."""
    defaults, best = found[0], _least_loss(found)
    if defaults.row_losses is None or best.row_losses is None:
        return best
    return best if standard_errors_apart(defaults.row_losses - best.row_losses) > 1 else defaults


def _halve(
    trials: SettingTrials, splits: Sequence[TrainTestRows], rows: int
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
    trials: SettingTrials, splits: Sequence[TrainTestRows], rows: int
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
    rows = [one.row_losses for one in (first, rest) if one.row_losses is not None]
    losses = np.concatenate(rows) if len(rows) == 2 else None
    return TriedSetting(first.setting, (first.loss + count * rest.loss) / (1 + count), predictions, losses)


def _extend_ranges(
    learner: Learner, found: list[TriedSetting], run: Callable[[list[Setting]], list[TriedSetting]]
) -> tuple[str, ...]:
    """Add settings beyond the ends of ranges while that helps; returns the names of the ranges that were extended."""
    names = list[str]()
    for _ in range(MAX_EXTENSIONS):
        beyond = _settings_beyond(learner, found, _least_loss(found))
        names += beyond
        found += run(list(beyond.values())) if beyond else []
    return tuple(dict.fromkeys(names))


def _settings_beyond(learner: Learner, found: Sequence[TriedSetting], chosen: TriedSetting) -> dict[str, Setting]:
    """This setting with a value beyond the end of its range, by parameter, if that is allowed and was not tried."""
    best = chosen.setting
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
    splits, inner = plan.inner_splits(data, train, seed), {n: c.inner for n, c in choices.items()}
    known = {name: predictions for name, predictions in inner.items() if predictions is not None}
    if not splits or not known:
        even = 1 / len(choices)  # there is nothing to weigh them by
        return SettingChoice({name: MemberShare(even, choice.parameters) for name, choice in choices.items()})
    total = sum(len(test) for _, test in splits)
    tests = [data.y[test[kept_for_blend(data, test, total, seed)]] for _, test in splits]
    classes = None if plan.classes is None else len(plan.classes)
    weights, loss = blend_weights(known, tests, plan.scores[0], classes)
    shares = {name: MemberShare(weight, choices[name].parameters) for name, weight in weights.items()}
    return SettingChoice(shares, ((shares, loss),), seconds=sum(choice.seconds for choice in choices.values()))


def kept_for_blend(data: Data, rows: np.ndarray, total: int, seed: int) -> np.ndarray:
    """Which of these rows, of a total, have their predictions kept for a blend: a mask."""
    return np.isin(rows, subsample(data, rows, min(1.0, MAX_BLEND_ROWS / total), seed))


class SettingTrials:
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
        rows: list[list[np.ndarray]] = [[] for _ in settings]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # only those of the chosen setting are reported
            for j, (fit, test) in enumerate(splits):
                known, new = self._prepare(fit, test)
                kept = kept_for_blend(data, test, total, self.seed)
                for i, setting in enumerate(settings):
                    try:
                        losses[i, j], answers = self._fit_and_score(setting, known, fit, new, test)
                        if self.plan.scores[0].row_losses is not None:
                            rows[i].append(self.plan.scores[0].row_losses(answers, data.y[test]))
                        if keep:
                            predictions[i].append(self._blend_predictions(answers)[kept])
                    except Exception as error:  # a setting that cannot be fitted is not chosen
                        losses[i, j], self.failure = np.inf, error
        return [
            TriedSetting(setting, loss, *(np.concatenate(x) if len(x) == len(splits) else None for x in parts))
            for setting, loss, *parts in zip(settings, losses.mean(axis=1).tolist(), predictions, rows, strict=True)
        ]

    def _prepare(self, fit: np.ndarray, test: np.ndarray) -> tuple[Table, Table]:
        """The columns of both parts, prepared by what the first says; kept for later runs if the table is small."""
        if id(fit) in self.prepared:
            return self.prepared[id(fit)][1:]
        ready, data = make_preparation(self.learner, self.data), self.data
        known = self.stopwatch(ready.fit_transform, data.X[fit], data.y[fit])
        new = self.stopwatch(ready.transform, data.X[test])
        if not self.plan.halving:
            self.prepared[id(fit)] = (fit, known, new)  # while it is held, no other array has its id
        return known, new

    def _fit_and_score(
        self, setting: Setting, known: Table, fit: np.ndarray, new: Table, test: np.ndarray
    ) -> tuple[float, CachedPredictions]:
        score, model = self.plan.scores[0], make_estimator(self.data, self.learner, setting, self.seed, fit)
        self.stopwatch(model.fit, known, self.data.y[fit])
        answers = CachedPredictions(model, new)
        loss = score.loss(self.stopwatch(score.function, answers, self.data.y[test]))
        return (loss if np.isfinite(loss) else np.inf), answers

    def _blend_predictions(self, answers: CachedPredictions) -> np.ndarray:
        """Numbers, or probabilities of all classes, in half the space."""
        classes = self.plan.classes
        found = answers.predictions if classes is None else self.stopwatch(answers.proba_for, np.arange(len(classes)))
        return found.astype(np.float32)
