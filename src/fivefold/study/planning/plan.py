"""What a study will do, decided before anything is fitted: learners, settings to try, splits, scores.

Nested cross-validation: inner splits choose among the settings of a learner, outer splits test what was chosen, so the
choice is part of what is tested. Every learner gets the same outer splits. The effort follows the number of rows:

up to 5,000     2 repeats of 5 outer folds, 3 inner folds; settings of costly methods race over them
up to 50,000    5 outer folds, settings halved over rows
above           3 outer folds, settings halved over rows, without methods whose time grows faster than n^1.5

and the budget of time, if there is one (`running.budget.fit_to_budget`). Unless they are named, methods whose time
grows as n^2 (kernel machines) are left out above 10,000 rows, and as n^3 above 2,000. A plan depends on its data and
options alone; the clock enters only through the measured costs, which are stored with it.
`evaluation.selection.nested_selection` is the same procedure for plain arrays and any estimators, without tables,
calibration, halving and a journal.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fivefold.decision.cost_matrix import CostMatrix
from fivefold.evaluation.scores import COST, SCORES, SEQUENCE_ACCURACY, Score
from fivefold.study.planning.hyperparameters import race_finalists
from fivefold.study.planning.portfolio import (
    STRONG_LEARNERS,
    Learner,
    LearnerRequest,
    asks_for_blend,
    choose_learners,
    learner_to_json,
    make_blend,
    smooth_votes,
)
from fivefold.study.planning.splits import (
    Split,
    TrainTestRows,
    class_sizes,
    draw_holdout,
    inner_splits,
    outer_splits,
    rows_outside,
)
from fivefold.study.preparation.column_transformer import USABLE_KINDS
from fivefold.study.preparation.log_target import is_skewed
from fivefold.study.tables.dataset import BadInput, Data
from fivefold.study.tables.table import quote_list
from fivefold.study.tables.target import MIN_CLASS_ROWS

FOLDS, REPEATS, INNER_FOLDS = 5, 2, 3
MAX_SETTINGS = 12  # settings tried per learner
SMALL_TABLE_ROWS, LARGE_TABLE_ROWS = 5_000, 50_000  # at most, and above: see the table
LARGE_TABLE_FOLDS = 3
MAX_TIME_EXPONENT = 1.5  # of n; slower methods are left out of studies of large tables
PORTFOLIO_ROWS = ((3.0, 2_000), (2.0, 10_000))  # exponents of n, and the most rows that methods with them get unnamed
HOLDOUT_SHARE, MIN_ROWS_FOR_HOLDOUT = 0.2, 500  # share of the rows held out; smaller tables have no hold-out
MANY_CLASSES = 6  # from this many on, boosting comes after other learners
MIN_GROUPS = 3  # groups that a study needs: one to train on, one to choose with, one to test on
RARE_CLASS_SHARE = 0.2  # a class is rare if its share of the rows is below this and below half of 1/K


@dataclass(frozen=True)
class Options:
    """What the user asks for; None: decided by the number of rows."""

    names: tuple[LearnerRequest, ...] = ()
    score: str | None = None
    seed: int = 0
    folds: int | None = None
    repeats: int | None = None
    holdout: float | None = None
    draws: int = MAX_SETTINGS  # settings tried per learner, the defaults among them
    own_draws: Mapping[str, int] = field(default_factory=dict)  # the same for single learners, as a budget allows
    without: Mapping[str, str] = field(default_factory=dict)  # learners to leave out, and why
    margin: float | None = None  # of practical equality, in units of the deciding score; None: by the table
    log_target: bool = False  # may the logarithm of a skewed target be tried? Not in studies begun by older versions
    tuning_folds: int | None = None  # inner folds that settings are tried on; None: all
    device: str | None = None  # of torch, where methods that take tensors are fitted; None: everything on the CPU
    costs: Mapping[str, Any] | None = None  # a cost matrix as plain values, which ranks and decides; None: the score


@dataclass(frozen=True)
class FitCost:
    """Seconds to fit a learner with its defaults on some rows and predict them, and what they grow with.

    fit          fixed + (seconds - fixed) (n / rows)^growth
    preparation  of the columns, once for all settings that are fitted on the same rows: the same with growth 1
    """

    seconds: float
    rows: int
    growth: float  # at least 1 is taken
    fixed: float = 0.0  # seconds of them that any number of rows takes
    preparation: float = 0.0  # seconds, for the same rows
    preparation_fixed: float = 0.0  # seconds of them that any number of rows takes
    others: float = 1.0  # mean time of the other settings, over that of the defaults

    def fit_at(self, rows: float) -> float:
        """Seconds for another number of rows, on prepared columns."""
        return float(self.fixed + (self.seconds - self.fixed) * (rows / self.rows) ** max(1.0, self.growth))

    def prepare_at(self, rows: float) -> float:
        """Seconds to prepare the columns of another number of rows."""
        return self.preparation_fixed + (self.preparation - self.preparation_fixed) * rows / self.rows

    def mean_of(self, settings: int) -> float:
        """The mean time of the defaults and other settings, this many in all, over that of the defaults."""
        return (1.0 + (settings - 1) * self.others) / settings


@dataclass(frozen=True)
class Plan:
    """A study, before it runs."""

    data: Data
    learners: tuple[Learner, ...]
    splits: tuple[Split, ...]
    scores: tuple[Score, ...]  # the first one ranks the learners
    seed: int
    warnings: tuple[str, ...] = ()
    # indices of the locked rows, which are in no split
    holdout: np.ndarray = field(default_factory=lambda: np.arange(0))
    folds: int = FOLDS
    repeats: int = REPEATS
    inner_folds: int = INNER_FOLDS
    tuning_folds: int = INNER_FOLDS  # of these folds, how many settings are tried on: fewer if a budget is short
    halving: bool = False  # are settings halved over rows?
    racing: bool = False  # do the settings of costly methods race over the inner folds?
    skipped: Mapping[str, str] = field(default_factory=dict)  # methods left out, and why
    options: Options = Options()
    budget: float | None = None  # seconds
    jobs: int = 1  # workers that the budget was planned for
    cuts: tuple[str, ...] = ()  # how the budget changed the plan, in words
    blend: bool = False  # does a blend take part, which needs the learners' predictions on inner splits?
    costs: Mapping[str, FitCost] = field(default_factory=dict)  # measured costs, by learner
    classes: np.ndarray | None = None  # the labels, sorted; None for regression
    codes: np.ndarray | None = None  # (n,) index of the label of each row among them
    log_target: bool = False  # is the logarithm of the target tried, too?

    def inner_splits(self, data: Data, rows: np.ndarray, seed: int) -> list[TrainTestRows]:
        """The inner splits of some training rows that settings are tried on; the latest ones if rows are in order."""
        return inner_splits(data, rows, self.inner_folds, seed)[-self.tuning_folds :]

    def coded(self, data: Data) -> Data:
        """The table with codes 0, 1, ... in place of labels, since text is slow to compare."""
        return data if self.codes is None else replace(data, y=self.codes)

    def decoded(self, predicted: np.ndarray) -> np.ndarray:
        """The labels of these codes; the numbers of a regression as they are."""
        return predicted if self.classes is None else self.classes[predicted]

    def races(self, learner: Learner) -> bool:
        """Do the settings of this learner race over the inner folds?"""
        count = len(learner.settings)
        return self.racing and learner.costly and race_finalists(count) < count

    def strength(self, learner: Learner) -> int:
        """How early a budget of time is spent on it, and how late it is left out; 0 if it is not known as strong.

        Boosting grows a tree for each class in every round: of many classes it takes longer than all others together.
        """
        many = self.classes is not None and len(self.classes) >= MANY_CLASSES
        return min(learner.strength, 1) if many and learner.strength == len(STRONG_LEARNERS) else learner.strength

    def chooses(self, learner: Learner) -> bool:
        """Has this learner something to choose from: several settings, members, or the logarithm of the target?"""
        return len(learner.settings) > 1 or bool(learner.members) or (self.log_target and learner.tries_logarithm)

    @property
    def rows(self) -> np.ndarray:
        """All rows outside the hold-out, without copies of the rows in it."""
        return rows_outside(self.data, self.holdout)

    def without_data(self) -> Plan:
        """The plan as it is sent to workers, which hold the data."""
        return replace(self, data=None)  # type: ignore[arg-type]  # a worker puts its own in

    def for_single_task(self, splits: tuple[Split, ...] = ()) -> Plan:
        """The plan for a worker that is told which learner and split it gets, and needs no others, or these."""
        return replace(self.without_data(), learners=(), splits=splits)

    @property
    def cost_matrix(self) -> CostMatrix | None:
        """What decisions cost, if that is what ranks the learners."""
        return None if self.options.costs is None else CostMatrix.from_json(self.options.costs)

    @property
    def shown(self) -> tuple[Score, ...]:
        """The scores to show where there is little room: the one that ranks, and the next."""
        return self.scores[:2]

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides the results; equal plans on equal data give equal results."""
        return hashlib.sha256(json.dumps(plan_to_json(self), sort_keys=True).encode()).hexdigest()


def make_plan(
    data: Data,
    names: Iterable[LearnerRequest] = (),
    *,
    score: str | None = None,
    seed: int = 0,
    folds: int | None = None,
    repeats: int | None = None,
    holdout: float | None = None,
    margin: float | None = None,
    device: str | None = None,
    costs: CostMatrix | None = None,
) -> Plan:
    """Plan a study of the named methods, or of the portfolio; the baselines are always included."""
    options = Options(
        tuple(names),
        score=score,
        seed=seed,
        folds=folds,
        repeats=repeats,
        holdout=holdout,
        margin=margin,
        log_target=True,
        device=device,
        costs=None if costs is None else costs.to_json(),
    )
    return plan_from_options(data, options)


def plan_from_options(data: Data, options: Options) -> Plan:
    """The plan for these options; raises BadInput if there is no sound one."""
    _check_options(data, options)
    seed, large, warnings = options.seed, len(data.y) > LARGE_TABLE_ROWS, list[str]()
    held = draw_holdout(data, _holdout_share(data, options), seed)
    rows = rows_outside(data, held)
    usual = LARGE_TABLE_FOLDS if large else FOLDS
    folds = _possible_folds(data, rows, options.folds or usual, warnings)
    repeats = _possible_repeats(data, options, warnings)
    splits = outer_splits(data, rows, folds, repeats, seed)
    if len(splits) < 2:
        raise BadInput(f"{data.name}: too few folds have two classes to learn from; leave out --group or --time")
    if lost := folds * repeats - len(splits):
        warnings.append(f"{lost} of {folds * repeats} folds are dropped: their training rows hold only one class")
    rare = _rare_classes(data, rows)
    warnings.extend(_plan_warnings(data, rows, rare))
    learners, skipped = choose_learners(
        data, options.names, options.draws, seed, weighted=bool(rare), own_draws=options.own_draws
    )
    skipped = skipped | dict(options.without) | (_slow_learners(learners, {}) if large else {})
    count = len(np.unique(data.y)) if data.task.is_classification else 1
    skipped |= {} if options.names else _slow_portfolio(learners, len(data.y), count)
    learners = tuple(learner for learner in learners if learner.name not in skipped)
    scores = _ordered_scores(data, options.score, rare=bool(rare))
    if options.costs is not None:
        scores = (CostMatrix.from_json(options.costs).score, *scores)
    if scores[0].name in ("log_loss", COST):  # one zero of a leaf would decide the mean of all rows
        learners = tuple(map(smooth_votes, learners))
    blend = make_blend(data, learners) if asks_for_blend(options.names) else None
    if blend is None and options.names and asks_for_blend(options.names) and not options.without:
        raise BadInput("Blend combines other learners: name at least two methods besides it")
    if blend is not None:
        last = sum(not learner.baseline for learner in learners)  # baselines come after it
        learners = (*learners[:last], blend, *learners[last:])
    classes, codes = np.unique(data.y, return_inverse=True) if data.task.is_classification else (None, None)
    return Plan(
        data=data,
        learners=learners,
        splits=splits,
        scores=scores,
        seed=seed,
        warnings=tuple(warnings),
        holdout=held,
        folds=folds,
        repeats=repeats,
        tuning_folds=options.tuning_folds or INNER_FOLDS,
        halving=len(data.y) > SMALL_TABLE_ROWS,
        racing=len(data.y) <= SMALL_TABLE_ROWS,
        skipped=skipped,
        options=options,
        blend=blend is not None,
        classes=classes,
        codes=codes,
        log_target=options.log_target and not data.task.is_classification and is_skewed(data.y[rows]),
    )


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """All that decides the results, as plain values without times."""
    data, options = plan.data, vars(plan.options) | {"names": [str(name) for name in plan.options.names]}
    for name in ("device", "costs"):  # as in plans of versions that did not know them
        if options[name] is None:
            del options[name]
    entry = {
        "data": {
            "name": data.name,
            "target": data.target,
            "task": data.task,
            "rows": len(data.y),
            "digest": data.digest,
        },
        "options": options,
        "learners": [learner_to_json(learner) for learner in plan.learners],
        "skipped": dict(plan.skipped),
        "outer": {
            "folds": plan.folds,
            "repeats": plan.repeats,
            "stratified": data.task.is_classification and data.time is None,
            "grouped": data.groups is not None,
            "ordered": data.time is not None,
            "splits": [[s.repeat, s.fold, len(s.train), len(s.test)] for s in plan.splits],
            "digest": _fingerprint(*(part for s in plan.splits for part in (s.train, s.test))),
        },
        "inner": {
            "folds": plan.inner_folds,
            "tuning_folds": plan.tuning_folds,
            "halving": plan.halving,
            "racing": plan.racing,
            "log_target": plan.log_target,
        },
        "copies": data.copies,
        **({} if data.sequences is None else {"sequences": [data.sequence_column, data.order_column]}),
        "holdout": {"rows": len(plan.holdout), "digest": _fingerprint(plan.holdout)},
        "scores": [score.name for score in plan.scores],
        "seed": plan.seed,
        "budget": plan.budget,
        "cuts": list(plan.cuts),
        "warnings": list(plan.warnings),
    }
    return json.loads(json.dumps(entry, default=repr))


def slow_learners(plan: Plan) -> dict[str, str]:
    """Learners that are too slow for a large table, by their cards or measured costs, and why."""
    return _slow_learners(plan.learners, plan.costs) if len(plan.data.y) > LARGE_TABLE_ROWS else {}


def _slow_learners(learners: Iterable[Learner], costs: Mapping[str, FitCost]) -> dict[str, str]:
    found = {
        learner.name: learner.growth or (costs[learner.name].growth if learner.name in costs else 0.0)
        for learner in learners
        if not learner.baseline
    }
    return {
        name: f"its time grows faster than n^{MAX_TIME_EXPONENT:g}, too fast for more than {LARGE_TABLE_ROWS:,} rows; "
        "study a sample to include it"
        for name, growth in found.items()
        if growth > MAX_TIME_EXPONENT
    }


def _slow_portfolio(learners: Iterable[Learner], rows: int, classes: int) -> dict[str, str]:
    """Methods that nobody named and that would take too long on this many rows or classes, by their cards, and why."""
    per_class = {
        learner.name: f"its time grows as n^{learner.growth:g}, for each of {classes} classes; name it to include it"
        for learner in learners
        if classes > 2 and (learner.growth or 0.0) >= PORTFOLIO_ROWS[0][0]
    }
    return per_class | {
        learner.name: f"its time grows as n^{exponent:g}, too fast for more than {limit:,} rows; name it to include it"
        for exponent, limit in reversed(PORTFOLIO_ROWS)
        for learner in learners
        if rows > limit and (learner.growth or 0.0) >= exponent
    }


def _check_options(data: Data, options: Options) -> None:
    """Refuse options that are wrong whatever the rows hold."""
    if not data.task.is_studied:
        raise BadInput(f"a study does classification or regression, not {data.task}")
    if data.groups is not None and data.time is not None:
        raise BadInput("give --group or --time, not both: folds cannot respect groups and the order of time at once")
    if not any(column.kind in USABLE_KINDS for column in data.columns):
        raise BadInput(f"{data.name}: no column is left to learn from")
    if options.folds is not None and not 2 <= options.folds <= len(data.y) // 2:
        raise BadInput(f"--folds is a number from 2 to {len(data.y) // 2} for this table; got {options.folds}")
    if options.repeats is not None and options.repeats < 1:
        raise BadInput(f"--repeats is 1 or more; got {options.repeats}")
    if options.holdout is not None and not 0 <= options.holdout <= 0.5:
        raise BadInput(f"--holdout is a share of the rows from 0 to 0.5; got {options.holdout:g}")
    if options.margin is not None and not 0 <= options.margin < math.inf:
        raise BadInput(f"--margin is a difference of the deciding score, 0 or more; got {options.margin:g}")
    if options.costs is not None and options.score is not None:
        raise BadInput("give --costs or --metric, not both: the expected cost ranks the learners")


def _holdout_share(data: Data, options: Options) -> float:
    if options.holdout is not None:
        return options.holdout
    return HOLDOUT_SHARE if len(data.y) >= MIN_ROWS_FOR_HOLDOUT else 0.0


def _possible_folds(data: Data, rows: np.ndarray, folds: int, warnings: list[str]) -> int:
    """The number of folds, reduced to what the groups and the rarest class allow."""
    if data.groups is not None:
        groups = len(np.unique(data.groups[rows]))
        noun = data.group_noun
        if groups < MIN_GROUPS:
            raise BadInput(f"{data.name}: {groups} {noun}s are left to split; a study needs {MIN_GROUPS} or more")
        if groups < folds:
            warnings.append(f"{groups} folds instead of {folds}: there are no more {noun}s")
            folds = groups
    if not data.task.is_classification:
        return folds
    named = class_sizes(data, rows)
    if len(named) < 2:
        raise BadInput(f"{data.name}: outside the hold-out there is only one class: {', '.join(named)}")
    if data.time is not None:
        return folds
    if single := [label for label, count in named.items() if count < MIN_CLASS_ROWS]:
        classes, have = ("class", "has") if len(single) == 1 else ("classes", "have")
        listed = ", ".join(f"{label!r} ({named[label]})" for label in single)
        noun = "rows" if data.records is None else "distinct rows"
        raise BadInput(
            f"{data.name}: {classes} {listed} of {data.target!r} {have} too few {noun}; a class needs "
            f"{MIN_CLASS_ROWS}, to train on, to choose with and to test on. {_rare_class_advice(data, single)}"
        )
    if few := [f"{label} ({count})" for label, count in named.items() if count < folds]:
        classes = "class" if len(few) == 1 else "classes"
        warnings.append(f"{min(named.values())} folds instead of {folds}: few rows of {classes} {', '.join(few)}")
    return min(folds, *named.values())


def _rare_class_advice(data: Data, rare: list[str]) -> str:
    """The options that would make a study of these classes possible."""
    classes, totals = np.unique(data.y, return_counts=True)
    most = max(int(total) for label, total in zip(classes, totals, strict=True) if str(label) in rare)
    advice = []
    for total in np.unique(totals[totals >= most]):
        if totals[totals <= total].sum() >= MIN_CLASS_ROWS and (totals > total).any():
            advice.append(f"--rare-classes merge:{total + 1} joins the classes with fewer than {total + 1} rows")
            break
    if (totals > most).sum() > 1:
        advice.append(f"--rare-classes drop:{most + 1} leaves out those with fewer than {most + 1}")
    return "; ".join(advice) or "Collect more rows"


def _possible_repeats(data: Data, options: Options, warnings: list[str]) -> int:
    """The number of repeats, which draw new folds; rows in order of time can be split in only one way."""
    if data.time is not None:
        if (options.repeats or 1) > 1:
            warnings.append("no repeats: rows in order of time can be split in one way only")
        return 1
    return options.repeats or (REPEATS if len(data.y) <= SMALL_TABLE_ROWS else 1)


def _ordered_scores(data: Data, name: str | None, *, rare: bool) -> tuple[Score, ...]:
    """All scores of the task: first the one that ranks, second balanced accuracy if there are rare classes."""
    fitting = [score for score in SCORES.values() if score.task == data.task]
    first = [score for score in fitting if score.name == name]
    if name is not None and not first:
        *others, last = (score.name for score in fitting)
        raise BadInput(f"{data.task} is scored by {', '.join(others)} or {last}; got {name!r}")
    second = [SCORES["balanced_accuracy"]] if rare else []
    ordered = list(dict.fromkeys([*(first or fitting[:1]), *second, *fitting]))
    if data.sequences is not None and data.task.is_classification:
        ordered.insert(2, SEQUENCE_ACCURACY)
    return tuple(ordered)


def _rare_classes(data: Data, rows: np.ndarray) -> dict[str, float]:
    """The rare classes and their shares of the rows."""
    if not data.task.is_classification:
        return {}
    classes, counts = np.unique(data.y[rows], return_counts=True)
    shares = dict(zip(map(str, classes), (counts / len(rows)).tolist(), strict=True))
    return {label: share for label, share in shares.items() if share < min(RARE_CLASS_SHARE, 0.5 / len(shares))}


def _plan_warnings(data: Data, rows: np.ndarray, rare: Mapping[str, float]) -> Iterable[str]:
    """What makes the results less certain than they look."""
    if rare:
        named = ", ".join(f"{label} ({share:.1%})" for label, share in rare.items())
        classes = "class" if len(rare) == 1 else "classes"
        yield f"few rows of {classes} {named}: accuracy says little; look at balanced accuracy"
    dates = data.of_kind("date")
    if dates and data.time is None and data.groups is None:
        yield (
            f"column {quote_list(dates)} holds dates, and shuffled folds train on rows later than those they test: if "
            f"the model will predict later rows, give --time {dates[0]}"
        )
    width = sum(column.kind in USABLE_KINDS for column in data.columns)
    if width > len(rows):
        yield f"{width} columns and {len(rows)} rows: with more columns than rows, simple methods may win"


def _fingerprint(*arrays: np.ndarray) -> str:
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        sha.update(b"|")
    return sha.hexdigest()[:16]
