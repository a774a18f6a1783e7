"""What a study will do, decided before anything is fitted: learners, settings to try, splits, scores.

Nested cross-validation: the outer splits judge, the inner splits choose among the settings of a learner, so choosing
is part of what is judged. Every learner meets the same outer splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ParameterGrid, RepeatedKFold, RepeatedStratifiedKFold, StratifiedKFold

from fivefold.core.registry import Method, find, methods
from fivefold.core.supervised import Classifier, Regressor
from fivefold.evaluation.scores import SCORES, Score
from fivefold.study.data import BadInput, Data

FOLDS, REPEATS, INNER_FOLDS, MOST_SETTINGS = 5, 2, 3, 12
KINDS = {"classification": Classifier, "regression": Regressor}


@dataclass(frozen=True)
class Learner:
    """A method and the settings its inner splits choose from."""

    method: Method
    settings: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def baseline(self) -> bool:
        """Is it there to be beaten?"""
        return is_baseline(self.method)


@dataclass(frozen=True)
class Split:
    """One outer split: what is learned from and what is judged on."""

    repeat: int
    fold: int
    train: np.ndarray  # indices of rows
    test: np.ndarray


@dataclass(frozen=True)
class Plan:
    """A study, before it runs."""

    data: Data
    learners: tuple[Learner, ...]
    splits: tuple[Split, ...]
    scores: tuple[Score, ...]  # the first decides
    seed: int
    warnings: tuple[str, ...] = ()


def make_plan(data: Data, names: Iterable[str] = (), *, score: str | None = None, seed: int = 0) -> Plan:
    """Plan a study of the named methods, or of the portfolio; the baselines are always in."""
    if data.task not in KINDS:
        raise BadInput(f"a study does classification or regression, not {data.task}")
    scores = _scores(data, score)
    fitting = [method for method in methods() if _fits(method, data)]
    baselines = [method for method in fitting if is_baseline(method)]
    portfolio = [method for method in fitting if method.card.portfolio and not is_baseline(method)]
    chosen = [_named(name, data) for name in names] or portfolio
    learners = {method.name: Learner(method, _settings(method)) for method in [*chosen, *baselines]}
    return Plan(data, tuple(learners.values()), _splits(data, seed), scores, seed, tuple(_doubts(data)))


def is_baseline(method: Method) -> bool:
    """Is the method there to be beaten?"""
    return "baseline" in method.card.applications


def inner_splits(y: np.ndarray, seed: int, *, stratified: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits of a training set that choose a setting."""
    splitter = (StratifiedKFold if stratified else KFold)(INNER_FOLDS, shuffle=True, random_state=seed)
    return _quietly(splitter, y)


def _splits(data: Data, seed: int) -> tuple[Split, ...]:
    splitter = RepeatedStratifiedKFold if data.task == "classification" else RepeatedKFold
    pairs = _quietly(splitter(n_splits=FOLDS, n_repeats=REPEATS, random_state=seed), data.y)
    return tuple(Split(i // FOLDS, i % FOLDS, train, test) for i, (train, test) in enumerate(pairs))


def _quietly(splitter: Any, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits, without scikit-learn's warning of rare classes: `_doubts` says it once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return list(splitter.split(np.zeros(len(y)), y))


def _scores(data: Data, name: str | None) -> tuple[Score, ...]:
    fitting = [score for score in SCORES.values() if score.task == data.task]
    first = [score for score in fitting if score.name == name]
    if name is not None and not first:
        allowed = " or ".join(score.name for score in fitting)
        raise BadInput(f"{data.task} is scored by {allowed}; got {name!r}")
    return tuple(dict.fromkeys([*first, *fitting]))


def _fits(method: Method, data: Data) -> bool:
    return issubclass(method.cls, KINDS[data.task])


def _named(name: str, data: Data) -> Method:
    try:
        method = find(name.strip())
    except KeyError as error:
        raise BadInput(error.args[0]) from None
    if not _fits(method, data):
        fitting = ", ".join(m.name for m in methods() if _fits(m, data))
        raise BadInput(f"{method.name} does not do {data.task}, which {data.target!r} asks for; there are {fitting}")
    return method


def _settings(method: Method) -> tuple[Mapping[str, Any], ...]:
    """All combinations of the values the method wants tried; an even choice of them where they are many."""
    grid = list(ParameterGrid(dict(method.card.search)))
    if len(grid) > MOST_SETTINGS:
        grid = [grid[i] for i in np.linspace(0, len(grid) - 1, MOST_SETTINGS).round().astype(int)]
    return tuple(grid)


def _doubts(data: Data) -> Iterable[str]:
    """What makes the judgement less sure than it looks."""
    if data.task == "classification":
        classes, counts = np.unique(data.y, return_counts=True)
        rare = [f"{label} ({count})" for label, count in zip(classes, counts, strict=True) if count < FOLDS]
        if rare:
            yield f"fewer than {FOLDS} rows of class {', '.join(rare)}: some folds do not hold it"
