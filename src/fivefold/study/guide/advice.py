"""Which methods to turn to, by what is known about the source of the data, and whether trees suit a table.

distributions   all densities and priors are known: nothing is learned, the best decision follows from Bayes' rule
form            the form of the densities is known, their parameters are not: estimate them
labels          the form is unknown, examples carry their answers: learn the answer directly
nothing         the form is unknown and there are no answers: find groups or directions by similarity
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from fivefold.core.registry import Method, methods

PriorKnowledge = Literal["distributions", "form", "labels", "nothing"]

PARAMETRIC_CHAPTERS = frozenset({"naive_bayes", "discriminant_analysis", "mixture"})
SUPERVISED_TASKS = frozenset({"classification", "regression"})


def advise(known: PriorKnowledge) -> tuple[str, ...]:
    """Dotted names of what to use, given what is known.

    Examples
    --------
    >>> advise("nothing")[0]
    'fivefold.cluster.KMeans'
    """
    if known not in get_args(PriorKnowledge):
        raise ValueError(f"known must be one of {', '.join(get_args(PriorKnowledge))}; got {known!r}")
    if known == "distributions":
        return ("fivefold.evaluation.decisions.decide", "fivefold.evaluation.metrics.misclassification_rate")
    return tuple(f"fivefold.{m.chapter}.{m.name}" for m in methods() if _knowledge_for(m) == known)


def _knowledge_for(method: Method) -> PriorKnowledge:
    if method.chapter in PARAMETRIC_CHAPTERS:
        return "form"
    return "labels" if SUPERVISED_TASKS & set(method.card.applications) else "nothing"


TREE_METHODS = {
    "classification": "DecisionTreeClassifier",
    "regression": "DecisionTreeRegressor",
}  # tried beside a straight boundary
LINEAR_METHODS = {"classification": "LogisticRegression", "regression": "Ridge"}
MIN_CONDITIONS = 3  # conditions of five that speak for trees


@dataclass(frozen=True)
class SuitabilityCondition:
    """One condition under which trees suit, whether it holds, and why that is thought."""

    name: str
    holds: bool
    reason: str


@dataclass(frozen=True)
class TreeSuitability:
    """Five conditions that speak for decision trees, on one table."""

    conditions: tuple[SuitabilityCondition, ...]
    methods: tuple[str, ...]  # trees that fit the task

    @property
    def suitable(self) -> bool:
        """Is the data in the form that trees take, and do most conditions speak for them?"""
        must = [c.holds for c in self.conditions if c.name in ("task", "attribute-value data")]
        return all(must) and sum(c.holds for c in self.conditions) >= MIN_CONDITIONS

    def __str__(self) -> str:
        lines = [f"  {'yes' if c.holds else 'no ':3} {c.name}: {c.reason}" for c in self.conditions]
        verdict = "trees suit this table" if self.suitable else "little speaks for trees on this table"
        return "\n".join([verdict, *lines, f"  try  {', '.join(self.methods)}"])


def tree_suitability(
    data: Any, *, interpretable: bool = False, disjunctive: bool | None = None, seed: int = 0
) -> TreeSuitability:
    """Do decision trees suit a table?

    They do for classification with two classes or more (and, by extension, regression) of rows described by attributes
    and values, where answers are disjunctions (this and that, or else ...), where attributes are missing, and where
    people want to read the reasons.

    Parameters
    ----------
    data
        A table as `fivefold.study.load` gives it.
    interpretable
        Do people need to read how answers come about?
    disjunctive
        Are answers known to be disjunctions? None tries it: a tree beside a straight boundary, by cross-validation.
    seed
        Of the trial.

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
    regression = data.task == "regression"
    straight = disjunctive if disjunctive is not None else _tree_beats_linear(data, seed)
    found = (
        SuitabilityCondition(
            "task", data.task in TREE_METHODS, data.problem + (", by extension" if regression else "")
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
            straight,
            "as you say"
            if disjunctive is not None
            else f"a tree {'errs less than' if straight else 'does not err less than'} a straight boundary",
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
    wanted = "regression" if regression else "classification"
    named = tuple(m.name for m in methods() if m.chapter == "tree" and wanted in m.card.applications)
    return TreeSuitability(found, named)


def _tree_beats_linear(data: Any, seed: int) -> bool:
    from fivefold.study.running.trial import significantly_less, trial_losses, trial_plan

    tree, line = TREE_METHODS[data.task], LINEAR_METHODS[data.task]
    score = "accuracy" if data.task == "classification" else "rmse"
    plan = trial_plan(data, [tree, line], score=score, seed=seed)
    losses = trial_losses(plan)
    return significantly_less(losses[tree], losses[line], plan)
