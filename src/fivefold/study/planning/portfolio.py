"""The methods that a study compares: the registry's portfolio, or those named, including any scikit-learn class.

GaussianNB                                 a method of the registry, tuned over what its card names
sklearn.ensemble.RandomForestClassifier    any class by its dotted name, with its defaults
LogisticRegression (neighbours)            the same with the columns of the steps before and after, in a study of
                                           sequences
MixedNB (HMM)                              its classes as the states of a hidden Markov model, there as well
all                                        every method that does the task
Blend                                      a weighted mean of the predictions of all others, or a product of powers of
                                           their probabilities, in the portfolio by default
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from itertools import groupby
from typing import Any, NamedTuple, cast

from sklearn.base import clone, is_classifier, is_regressor

from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card, Method, SearchRange, SearchValues, find, methods
from fivefold.evaluation.protocols import TunableModel
from fivefold.study.planning.hyperparameters import Setting, draw_settings, searched_ranges
from fivefold.study.preparation.column_transformer import USABLE_KINDS, InputNeeds, input_needs
from fivefold.study.preparation.log_target import LOG_TARGET
from fivefold.study.tables.dataset import BadInput, Data
from fivefold.study.tables.task import Task

PORTFOLIO_SIZE = 20  # learners of a study that names none, baselines included
BLEND_NAME = "Blend"
CODED_SUFFIX = " (codes)"  # of the name of a learner that gets categories as codes
NEIGHBOURS_SUFFIX = " (neighbours)"  # of the name of a learner that also gets the columns of neighbouring steps
HMM_SUFFIX = " (HMM)"  # of the name of a learner whose classes are the states of a hidden Markov model
# defaults of boosting that gets codes, where they differ from its own: docs/study.md says how they were chosen
CODED_BOOSTING: Mapping[str, object] = {"learning_rate": 0.1, "max_leaf_nodes": 8}
MANY_LEVELS = 5  # of a category: codes of fewer levels and sets of them are split alike
SEQUENCE_LEARNERS = {  # of a study of sequences that names none, besides the baselines
    Task.CLASSIFICATION: (
        "LinearChainCRF",
        "LinearChainCRF (neighbours)",
        "StructuredPerceptron",
        "MixedNB (HMM)",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingClassifier (neighbours)",
        "HistGradientBoostingClassifier (HMM)",
        "ExtraTreesClassifier (neighbours)",
        "LogisticRegression",
        "LogisticRegression (neighbours)",
    ),
    Task.REGRESSION: (
        "HistGradientBoostingRegressor",
        "HistGradientBoostingRegressor (neighbours)",
        "ExtraTreesRegressor",
        "ExtraTreesRegressor (neighbours)",
        "Ridge",
        "Ridge (neighbours)",
    ),
}
STRONG_LEARNERS = (  # how names begin, strongest first: the order in which a budget of time is spent on them
    "HistGradientBoosting",
    "LinearChainCRF",  # of studies of sequences
    "ExtraTrees",
    "SVC",
    "SVR",
    "GaussianProcess",
    "RandomForest",  # after other kinds: a blend has forests by ExtraTrees
    "KNeighbors",
    "LogisticRegression",
    "Ridge",
    "LinearRegression",
)
TASK_CLASSES = {Task.CLASSIFICATION: Classifier, Task.REGRESSION: Regressor}
TASK_PREDICATES = {Task.CLASSIFICATION: is_classifier, Task.REGRESSION: is_regressor}


class MemberShare(NamedTuple):
    """A member of a blend: its weight, and the setting that inner splits chose for it."""

    weight: float
    setting: Setting

    def __str__(self) -> str:
        return f"{self.weight:.0%}"


@dataclass(frozen=True)
class Learner:
    """A method and the settings that inner splits choose from, or a blend of other learners.

    A setting of a blend names its members, each with a `MemberShare`.
    """

    method: Method
    settings: tuple[Setting, ...] = ({},)
    prototype: TunableModel | None = None  # the estimator to clone; None: the method with its defaults
    smoothed: bool = False  # are shares of leaves and votes drawn towards the shares of all rows?
    space: Mapping[str, SearchValues] = field(default_factory=dict)  # what the settings were drawn from
    finish: Setting = field(default_factory=dict)  # what is tried with the best of several settings alone
    members: tuple[Learner, ...] = ()  # of a blend; empty for any other learner
    coded: bool = False  # does it get categories as codes, in the order of their names, instead of as they are?
    chained: bool = False  # is it fitted to whole sequences, each step beside the next?
    neighbours: bool = False  # does it get the columns of the steps before and after each row, too?
    hidden: bool = False  # are its classes the states of a hidden Markov model, which it says how rows come from?

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def baseline(self) -> bool:
        """Is it a baseline, there to be beaten?"""
        return is_baseline(self.method)

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters of an empty setting."""
        return self._prototype_or_default().get_params(deep=False)

    @property
    def ranges(self) -> dict[str, SearchRange]:
        """The ranges that are extended if a choice lies at the end of one."""
        return searched_ranges(self.space)

    @property
    def strength(self) -> int:
        """How early a budget of time is spent on it, and how late it is left out; 0 if it is not known as strong."""
        own = self.name.rpartition(".")[2]
        return next((i for i, name in enumerate(reversed(STRONG_LEARNERS), 1) if own.startswith(name)), 0)

    @property
    def costly(self) -> bool:
        """Does a fit take long even on few rows? Ensembles fit many models; the time of others grows fast with rows."""
        return self.method.chapter == "ensemble" or (self.growth or 0.0) >= 2

    @property
    def tries_logarithm(self) -> bool:
        """Is it also fitted to the logarithm of a skewed target? Estimators of the user are used as they are."""
        return self.prototype is None and not self.baseline

    @property
    def scales_target(self) -> bool:
        """Is it fitted to a standardised target? Estimators of the user are used as they are."""
        return self.prototype is None and self.method.card.scaled_target

    @property
    def twin(self) -> str:
        """The name of the same learner that gets categories as they are; its own if it does."""
        return self.name.removesuffix(CODED_SUFFIX) if self.coded else self.name

    @property
    def sees_sequences(self) -> bool:
        """Does a prediction depend on the rows before and after it?"""
        own = self.chained or self.neighbours or self.hidden
        return own or any(member.sees_sequences for member in self.members)

    @property
    def growth(self) -> float | None:
        """The exponent of n that its time grows with; None if it has to be measured."""
        derived = self.coded or self.neighbours or self.hidden
        return self.method.card.growth if derived or self.method in methods() else None

    @property
    def takes(self) -> InputNeeds:
        """What it needs of its columns; see `describe_treatment`."""
        needs = input_needs(self._prototype_or_default())
        return replace(needs, categories="codes") if self.coded else needs

    @property
    def takes_tensors(self) -> bool:
        """Can it be fitted on a device of torch? A blend can if a member can."""
        own = getattr(self.method.cls if self.prototype is None else self.prototype, "takes", None)
        return getattr(own, "tensors", False) or any(member.takes_tensors for member in self.members)

    def make(self, setting: Setting, seed: int) -> TunableModel:
        """The unfitted estimator with this setting, except LOG_TARGET; `seed` sets every random_state in it."""
        if self.members:
            inner = [(member.name, member.make(setting[member.name].setting, seed)) for member in self.present(setting)]
            return self.combine(inner, setting)
        own = {name: value for name, value in setting.items() if name != LOG_TARGET}
        estimator = clone(self._prototype_or_default()).set_params(**own)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, seed))

    def with_draws(self, draws: int, seed: int) -> Learner:
        """The learner with at most this many settings of its space; unchanged if it has none."""
        if not self.space:
            return self
        return replace(self, settings=draw_settings(self.name, self.space, draws, seed, self.defaults))

    def present(self, setting: Setting) -> list[Learner]:
        """The members of a blend that have a share in this setting."""
        return [member for member in self.members if member.name in setting]

    def combine(self, estimators: Sequence[tuple[str, object]], setting: Setting) -> TunableModel:
        """The unfitted blend of these estimators, with the weights of the setting."""
        weights, voting = [setting[name].weight for name, _ in estimators], self.method.card.given
        return cast(TunableModel, self.method.cls(list(estimators), weights=weights, **voting))

    def _prototype_or_default(self) -> TunableModel:
        if self.members:
            even = {member.name: MemberShare(1 / len(self.members), {}) for member in self.members}
            return self.combine([(member.name, member._prototype_or_default()) for member in self.members], even)
        card = self.method.card
        return self.method.cls(**{**card.given, **card.study}) if self.prototype is None else self.prototype


def smooth_votes(learner: Learner) -> Learner:
    """The learner with m-estimates of its probabilities, if they are shares of the rows of leaves, or of votes."""
    from fivefold.study.models.m_estimate import has_votes  # it knows all trees and forests: slow to import

    return replace(learner, smoothed=has_votes(learner._prototype_or_default()))


LearnerRequest = str | Learner | TunableModel  # a name, a learner, or an estimator that is used unchanged


def is_baseline(method: Method) -> bool:
    """Is the method a baseline, there to be beaten?"""
    return "baseline" in method.card.applications


def labels_sequences(method: Method) -> bool:
    """Can the method be fitted to whole sequences?"""
    return getattr(method.cls, "labels_sequences", False)


def asks_for_blend(names: Sequence[LearnerRequest]) -> bool:
    """Is a blend asked for, by name or because no learner is named?"""
    return not names or any(map(_is_blend_name, names))


def make_blend(data: Data, learners: Iterable[Learner]) -> Learner | None:
    """The blend of these learners without the baselines; None if fewer than two are left."""
    from fivefold.ensemble.voting import VotingClassifier, VotingRegressor  # with all ensembles: slow to import

    members = tuple(learner for learner in learners if not learner.baseline)
    if len(members) < 2:
        return None
    classify = data.task.is_classification
    card = Card(
        applications=(data.task.value,),  # type: ignore[arg-type]  # one of the two that a study does
        use="Predicts better than each of its members if they err on different rows; it takes the time of all of them.",
        steps=(
            "Predict every training row by each learner, fitted on the other inner folds.",
            "Weigh the learners so that the targets are likeliest, on few rows also by how plausibly each is the best.",
            "Predict the product of their powers." if classify else "Predict their weighted mean.",
        ),
        source="Wolpert (1992), Stacked generalization; Breiman (1996), Stacked regressions",
        given={"voting": "product"} if classify else {},
    )
    method = Method(BLEND_NAME, "ensemble", VotingClassifier if classify else VotingRegressor, card)
    return Learner(method, members=members)


def choose_learners(
    data: Data,
    names: Iterable[LearnerRequest],
    draws: int,
    seed: int,
    *,
    weighted: bool,
    own_draws: Mapping[str, int] | None = None,
) -> tuple[tuple[Learner, ...], dict[str, str]]:
    """The learners of a study, baselines last, and the methods left out, with reasons.

    A name may also be an estimator, which is used unchanged, or a `Learner`. If `weighted`, every method with a
    `class_weight` also tries "balanced". Learners have `draws` settings at most, or their own number of `own_draws`.
    The blend is not among them: it is made when it is known who takes part.
    """
    fitting = [method for method in methods() if _does_task(method, data)]
    baselines = [method for method in fitting if is_baseline(method)]
    others = [method for method in fitting if not is_baseline(method)]
    names, omitted = list(names), dict[str, str]()
    chosen = [learner for name in names if not _is_blend_name(name) for learner in _learners_named(name, data, others)]
    if not names and data.sequences is not None:
        chosen = [x for name in SEQUENCE_LEARNERS[data.task] for x in _learners_named(name, data, others)]
    elif not names:
        portfolio = _interleave_chapters([method for method in others if method.card.portfolio])
        room = max(0, PORTFOLIO_SIZE - len(baselines))
        chosen = [x for method in portfolio[:room] for x in _with_coded_twin(Learner(method), data)]
        omitted = {
            method.name: f"the portfolio is full, with {PORTFOLIO_SIZE} methods; name it to include it"
            for method in portfolio[room:]
        }
    unique = _number_duplicates([*chosen, *map(Learner, baselines)])
    own = own_draws or {}
    width = max(1, sum(column.kind in USABLE_KINDS for column in data.columns))
    return tuple(
        _with_settings(learner, own.get(learner.name, draws), seed, weighted=weighted, columns=width)
        for learner in unique
    ), omitted


def _is_blend_name(name: LearnerRequest) -> bool:
    return isinstance(name, str) and name.strip().lower() == BLEND_NAME.lower()


def _learners_named(name: LearnerRequest, data: Data, others: list[Method]) -> list[Learner]:
    if isinstance(name, Learner):
        return [name]
    if not isinstance(name, str):
        return [_learner_from_estimator(name, type(name).__name__, data)]
    name = name.strip()
    if name.lower() == "all":
        return [Learner(m, chained=data.sequences is not None and labels_sequences(m)) for m in others]
    if name.endswith(CODED_SUFFIX):
        return [_with_codes(Learner(_find_method(name.removesuffix(CODED_SUFFIX), data)))]
    for suffix in (NEIGHBOURS_SUFFIX, HMM_SUFFIX):
        if name.endswith(suffix):
            return [_with_suffix(name, suffix, data, others)]
    learner = _learner_from_path(name, data) if "." in name else Learner(_find_method(name, data))
    return [replace(learner, chained=data.sequences is not None and labels_sequences(learner.method))]


def _with_suffix(name: str, suffix: str, data: Data, others: list[Method]) -> Learner:
    """A learner of sequences by the name of another one and what it gets besides."""
    if data.sequences is None:
        raise BadInput(f"{name}: rows have neighbours in a sequence only; give --sequence and --order")
    (own,) = _learners_named(name.removesuffix(suffix), data, others)
    method = replace(own.method, name=own.name + suffix)
    if suffix == NEIGHBOURS_SUFFIX:
        return replace(own, method=method, neighbours=True)
    if own.chained or not data.task.is_classification:
        raise BadInput(f"{name}: the states of a hidden Markov model are the classes of a learner of single rows")
    return replace(own, method=method, hidden=True)


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


def _with_settings(learner: Learner, draws: int, seed: int, *, weighted: bool, columns: int) -> Learner:
    """The learner with the settings to try, unless it already has some."""
    if learner.settings != ({},):
        return learner
    search = learner.method.card.search if learner.prototype is None else {}
    space: dict[str, Any] = {
        name: values.for_columns(columns) if isinstance(values, SearchRange) else values
        for name, values in search.items()
    }
    if weighted and "class_weight" in learner.defaults:
        space["class_weight"] = (None, "balanced")
    finish = learner.method.card.finish if learner.prototype is None else {}
    return replace(learner, space=space, finish=finish).with_draws(draws, seed)


def _with_coded_twin(learner: Learner, data: Data) -> list[Learner]:
    """The learner and, if it is boosting that splits categories of many levels into two sets, one that gets codes.

    Sets follow the levels more closely, and codes overfit less; they err on different rows, so that a blend gains.
    """
    many = any(column.kind == "category" and column.distinct >= MANY_LEVELS for column in data.columns)
    if not many or not learner.name.startswith(STRONG_LEARNERS[0]):
        return [learner]
    return [learner, _with_codes(learner)]


def _with_codes(learner: Learner) -> Learner:
    """The learner with codes in place of categories; boosting then has smaller trees and larger steps."""
    own = CODED_BOOSTING if learner.name.startswith(STRONG_LEARNERS[0]) else {}
    card = replace(learner.method.card, study={**learner.method.card.study, **own})
    return replace(learner, method=replace(learner.method, name=learner.name + CODED_SUFFIX, card=card), coded=True)


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
    if learner.coded:
        entry["categories"] = "codes"
    if learner.chained:
        entry["chained"] = True
    if learner.neighbours:
        entry["neighbours"] = True
    if learner.hidden:
        entry["hidden"] = True
    if learner.scales_target:
        entry["target"] = "standardised"
    if learner.members:
        entry["members"] = [member.name for member in learner.members]
        entry |= learner.method.card.given
    return entry if learner.prototype is None else entry | {"prototype": repr(learner.prototype)}
