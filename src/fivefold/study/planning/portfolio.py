"""The methods that a study compares: the registry's portfolio, or those named, including any scikit-learn class.

GaussianNB                                 a method of the registry, tuned over what its card names
sklearn.ensemble.RandomForestClassifier    any class by its dotted name, with its defaults
all                                        every method that does the task
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from itertools import groupby
from typing import Any, cast

from sklearn.base import clone, is_classifier, is_regressor

from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card, Method, find, methods
from fivefold.evaluation.protocols import TunableModel
from fivefold.study.planning.hyperparameters import Setting, draw_settings
from fivefold.study.preparation.column_transformer import InputNeeds, input_needs
from fivefold.study.tables.dataset import BadInput, Data
from fivefold.study.tables.task import Task

PORTFOLIO_SIZE = 14  # learners of a study that names none, baselines included
TASK_CLASSES = {Task.CLASSIFICATION: Classifier, Task.REGRESSION: Regressor}
TASK_PREDICATES = {Task.CLASSIFICATION: is_classifier, Task.REGRESSION: is_regressor}


@dataclass(frozen=True)
class Learner:
    """A method and the settings that inner splits choose from."""

    method: Method
    settings: tuple[Setting, ...] = ({},)
    prototype: TunableModel | None = None  # the estimator to clone; None: the method with its defaults
    smoothed: bool = False  # are shares of leaves and votes drawn towards the shares of all rows?

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def baseline(self) -> bool:
        """Is it a baseline, there to be beaten?"""
        return is_baseline(self.method)

    @property
    def growth(self) -> float | None:
        """The exponent of n that its time grows with; None if it has to be measured."""
        return self.method.card.growth if self.method in methods() else None

    @property
    def takes(self) -> InputNeeds:
        """What it needs of its columns; see `describe_treatment`."""
        return input_needs(self._prototype_or_default())

    def make(self, setting: Setting, seed: int) -> TunableModel:
        """The unfitted estimator with this setting; `seed` sets every random_state in it."""
        estimator = clone(self._prototype_or_default()).set_params(**setting)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, seed))

    def _prototype_or_default(self) -> TunableModel:
        return self.method.cls(**self.method.card.given) if self.prototype is None else self.prototype


def smooth_votes(learner: Learner) -> Learner:
    """The learner with m-estimates of its probabilities, if they are shares of the rows of leaves, or of votes."""
    from fivefold.study.models.m_estimate import has_votes  # it knows all trees and forests: slow to import

    return replace(learner, smoothed=has_votes(learner._prototype_or_default()))


LearnerRequest = str | Learner | TunableModel  # a name, a learner, or an estimator that is used unchanged


def is_baseline(method: Method) -> bool:
    """Is the method a baseline, there to be beaten?"""
    return "baseline" in method.card.applications


def choose_learners(
    data: Data, names: Iterable[LearnerRequest], draws: int, seed: int, *, weighted: bool
) -> tuple[tuple[Learner, ...], dict[str, str]]:
    """The learners of a study, baselines last, and the methods left out, with reasons.

    A name may also be an estimator, which is used unchanged, or a `Learner`. If `weighted`, every method with a
    `class_weight` also tries "balanced".
    """
    fitting = [method for method in methods() if _does_task(method, data)]
    baselines = [method for method in fitting if is_baseline(method)]
    others = [method for method in fitting if not is_baseline(method)]
    names, omitted = list(names), dict[str, str]()
    chosen = [learner for name in names for learner in _learners_named(name, data, others)]
    if not names:
        portfolio = _interleave_chapters([method for method in others if method.card.portfolio])
        room = max(0, PORTFOLIO_SIZE - len(baselines))
        chosen = [Learner(method) for method in portfolio[:room]]
        omitted = {
            method.name: f"the portfolio is full, with {PORTFOLIO_SIZE} methods; name it to include it"
            for method in portfolio[room:]
        }
    unique = _number_duplicates([*chosen, *map(Learner, baselines)])
    return tuple(_with_settings(learner, draws, seed, weighted=weighted) for learner in unique), omitted


def _learners_named(name: LearnerRequest, data: Data, others: list[Method]) -> list[Learner]:
    if isinstance(name, Learner):
        return [name]
    if not isinstance(name, str):
        return [_learner_from_estimator(name, type(name).__name__, data)]
    name = name.strip()
    if name.lower() == "all":
        return [Learner(method) for method in others]
    return [_learner_from_path(name, data) if "." in name else Learner(_find_method(name, data))]


def _number_duplicates(learners: list[Learner]) -> list[Learner]:
    """The learners without repetition; different ones of the same name are numbered."""
    kept = dict[str, Learner]()
    for learner in learners:
        name, number = learner.name, 1
        while name in kept and learner.prototype is not kept[name].prototype:
            number += 1
            name = f"{learner.name} ({number})"
        kept[name] = replace(learner, method=replace(learner.method, name=name))
    return list(kept.values())


def _with_settings(learner: Learner, draws: int, seed: int, *, weighted: bool) -> Learner:
    """The learner with the settings to try, unless it already has some."""
    if learner.settings != ({},):
        return learner
    space: dict[str, Any] = dict(learner.method.card.search) if learner.prototype is None else {}
    if weighted and "class_weight" in learner._prototype_or_default().get_params(deep=False):
        space["class_weight"] = (None, "balanced")
    return replace(learner, settings=draw_settings(learner.name, space, draws, seed))


def _interleave_chapters(portfolio: list[Method]) -> list[Method]:
    """The first method of every chapter, then every second one, ..., so that a cut-off list covers all chapters."""
    ranked = [
        (rank, method)
        for _, chapter in groupby(portfolio, key=lambda method: method.chapter)
        for rank, method in enumerate(chapter)
    ]
    return [method for _, method in sorted(ranked, key=lambda entry: entry[0])]


def _does_task(method: Method, data: Data) -> bool:
    return issubclass(method.cls, TASK_CLASSES[data.task])


def _find_method(name: str, data: Data) -> Method:
    try:
        method = find(name)
    except KeyError as error:
        raise BadInput(error.args[0]) from None
    if not _does_task(method, data):
        fitting = ", ".join(m.name for m in methods() if _does_task(m, data))
        raise BadInput(f"{method.name} does not do {data.task}, which {data.target!r} asks for; there are {fitting}")
    return method


def _learner_from_path(name: str, data: Data) -> Learner:
    """A class by its dotted name: one of ours with its search space, any other with its defaults."""
    module_name, _, class_name = name.rpartition(".")
    try:
        module = import_module(module_name)
    except (ImportError, ValueError) as error:
        raise BadInput(f"{name}: the module {module_name} cannot be imported ({error})") from None
    cls = vars(module).get(class_name)
    if not inspect.isclass(cls):
        near = get_close_matches(class_name, [n for n, thing in vars(module).items() if inspect.isclass(thing)], n=2)
        hint = f"; did you mean {' or '.join(f'{module_name}.{n}' for n in near)}?" if near else ""
        raise BadInput(f"{name}: {module_name} has no class {class_name}{hint}")
    for method in methods():
        if method.cls is cls:
            return Learner(_find_method(method.name, data))
    try:
        return _learner_from_estimator(cast(TunableModel, cls()), name, data)
    except TypeError as error:
        raise BadInput(f"{name} cannot be constructed without arguments ({error}); name a class that can") from None


def _learner_from_estimator(estimator: TunableModel, name: str, data: Data) -> Learner:
    """A learner with a given estimator and its present parameters."""
    cls = type(estimator)
    try:
        does = TASK_PREDICATES[data.task](estimator)
    except AttributeError:
        raise BadInput(f"{name} is not a scikit-learn estimator: it has no tags") from None
    if not does:
        raise BadInput(f"{name} does not do {data.task}, which {data.target!r} asks for")
    card = Card(
        applications=(data.task.value,),  # type: ignore[arg-type]  # one of the two that a study does
        use="Named by the user; its defaults are the only setting.",
        steps=(),
        source=cls.__module__,
    )
    return Learner(Method(name, cls.__module__, cls, card), prototype=estimator)


def learner_to_json(learner: Learner) -> dict[str, Any]:
    """The learner and its settings, as plain values."""
    cls = learner.method.cls
    entry: dict[str, Any] = {
        "name": learner.name,
        "class": f"{cls.__module__}.{cls.__qualname__}",
        "baseline": learner.baseline,
        "settings": [dict(setting) for setting in learner.settings],
    }
    if learner.smoothed:
        entry["smoothed"] = "m-estimate"
    return entry if learner.prototype is None else entry | {"prototype": repr(learner.prototype)}
