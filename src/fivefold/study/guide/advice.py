"""Which methods to use, given what is known about the source of the data, and whether trees suit a table.

distributions   all densities and priors are known: nothing is learned, Bayes' rule gives the best decision
form            the form of the densities is known, but not their parameters: estimate them
labels          the form is unknown, but examples are labelled: learn to predict the labels directly
nothing         the form is unknown and there are no labels: find groups or directions by similarity
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fivefold.core.registry import Method, methods
from fivefold.study.tables.dataset import Data
from fivefold.study.tables.task import Task

PriorKnowledge = Literal["distributions", "form", "labels", "nothing"]

PARAMETRIC_CHAPTERS = frozenset({"naive_bayes", "discriminant_analysis", "mixture"})
SUPERVISED_TASKS = frozenset({"classification", "regression"})


def advise(known: PriorKnowledge) -> tuple[str, ...]:
    """Dotted names of the methods to use, given what is known.

    Examples
    --------
    >>> "fivefold.cluster.KMeans" in advise("nothing")
    True
    """
    if known not in get_args(PriorKnowledge):
        raise ValueError(f"known must be one of {', '.join(get_args(PriorKnowledge))}; got {known!r}")
    if known == "distributions":
        return ("fivefold.decision.minimum_risk.decide", "fivefold.evaluation.metrics.misclassification_rate")
    return tuple(f"fivefold.{m.chapter}.{m.name}" for m in methods() if _knowledge_for(m) == known)


def _knowledge_for(method: Method) -> PriorKnowledge:
    if method.chapter in PARAMETRIC_CHAPTERS:
        return "form"
    return "labels" if SUPERVISED_TASKS & set(method.card.applications) else "nothing"


TREE_METHODS = {Task.CLASSIFICATION: "DecisionTreeClassifier", Task.REGRESSION: "DecisionTreeRegressor"}
LINEAR_METHODS = {Task.CLASSIFICATION: "LogisticRegression", Task.REGRESSION: "Ridge"}
MIN_CONDITIONS = 3  # trees are advised if at least this many of the five conditions hold


@dataclass(frozen=True)
class SuitabilityCondition:
    """One condition under which trees suit, whether it holds, and the reason."""

    name: str
    holds: bool
    reason: str


@dataclass(frozen=True)
class TreeSuitability:
    """Five conditions that speak for decision trees, on one table."""

    conditions: tuple[SuitabilityCondition, ...]
    methods: tuple[str, ...]  # tree methods for the task

    @property
    def suitable(self) -> bool:
        """Is the data in a form that trees take, and do most conditions hold?"""
        must = [c.holds for c in self.conditions if c.name in ("task", "attribute-value data")]
        return all(must) and sum(c.holds for c in self.conditions) >= MIN_CONDITIONS

    def __str__(self) -> str:
        lines = [f"  {'yes' if c.holds else 'no ':3} {c.name}: {c.reason}" for c in self.conditions]
        verdict = "trees suit this table" if self.suitable else "little speaks for trees on this table"
        return "\n".join([verdict, *lines, f"  try  {', '.join(self.methods)}"])


def tree_suitability(
    data: Data, *, interpretable: bool = False, disjunctive: bool | None = None, seed: int = 0
) -> TreeSuitability:
    """Do decision trees suit a table?

    They do for classification (and, by extension, regression) of rows described by attributes and values, if answers
    are disjunctions (this and that, or else ...), if attributes are missing, and if people want to read the reasons.

    Parameters
    ----------
    data
        A table as `fivefold.study.load` gives it.
    interpretable
        Do people need to understand the predictions?
    disjunctive
        Are answers known to be disjunctions? None: a tree is compared with a linear method by cross-validation.
    seed
        Seed of that comparison.

    Examples
    --------
    >>> from fivefold.study import load
    >>> print(tree_suitability(load("iris"), interpretable=True, disjunctive=True))
    trees suit this table
      yes task: multi-class classification, 3 classes
      yes attribute-value data: 4 columns with names and values
      yes disjunctive answers: as you say
      no  missing attributes: every value is there
      yes interpretability: people will read the reasons, and a tree is a list of them
      try  ...
    """
    kinds = [column.kind for column in data.columns]
    text = sum(kind == "text" for kind in kinds)
    missing = sum(column.missing > 0 for column in data.columns)
    bent = disjunctive if disjunctive is not None else _tree_beats_linear(data, seed)
    found = (
        SuitabilityCondition(
            "task", data.task.is_studied, data.problem + ("" if data.task.is_classification else ", by extension")
        ),
        SuitabilityCondition(
            "attribute-value data",
            text < len(kinds),
            f"{len(kinds)} columns with names and values"
            if not text
            else f"{text} of {len(kinds)} columns hold free text, which a tree cannot ask about as it is",
        ),
        SuitabilityCondition(
            "disjunctive answers",
            bent,
            "as you say"
            if disjunctive is not None
            else f"a tree {'errs less than' if bent else 'does not err less than'} a straight boundary",
        ),
        SuitabilityCondition(
            "missing attributes",
            missing > 0,
            f"{missing} columns have gaps, which trees can route" if missing else "every value is there",
        ),
        SuitabilityCondition(
            "interpretability",
            interpretable,
            "people will read the reasons, and a tree is a list of them"
            if interpretable
            else "nobody asked to read the reasons",
        ),
    )
    named = tuple(m.name for m in methods() if m.chapter == "tree" and data.task in m.card.applications)
    return TreeSuitability(found, named)


def _tree_beats_linear(data: Data, seed: int) -> bool:
    from fivefold.study.running.trial import significantly_less, trial_losses, trial_plan

    tree, line = TREE_METHODS[data.task], LINEAR_METHODS[data.task]
    plan = trial_plan(data, [tree, line], score=data.task.quick_score, seed=seed)
    losses = trial_losses(plan)
    return significantly_less(losses[tree], losses[line], plan)
