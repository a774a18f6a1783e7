"""The winner in order of time: its score if every fold is later than its training rows, beside the shuffled one.

A table with dates is often a sample of a process that goes on. Shuffled folds then train on the future of the rows they
test, and the score is better than what the model will do on later rows. If the user has not said which column orders
the rows, the winner is tuned and tested once more on splits that follow the first column of dates, as --time would. No
row of the hold-out takes part.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from fivefold.evaluation.scores import KNOWN_SCORES
from fivefold.study.formatting import decimals_for, format_number
from fivefold.study.planning.plan import LARGE_TABLE_ROWS, Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import Split, outer_splits
from fivefold.study.preparation.column_transformer import USABLE_KINDS
from fivefold.study.running.costs import fold_seconds, fold_time_limit
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.journal import Journal
from fivefold.study.running.workers import WorkerPool
from fivefold.study.tables.dataset import Data

MAX_BUDGET_SHARE = 0.1  # of a budget, if there is one, that the splits in order of time may take


@dataclass(frozen=True)
class TimeOrderScore:
    """The deciding score of a learner with shuffled folds, and with folds in order of time."""

    column: str
    learner: str
    score: str
    shuffled: float
    ordered: float
    folds: int


def date_column(data: Data) -> str | None:
    """The first column of dates without a gap, of a table whose rows have neither an order nor groups."""
    if data.time is not None or data.groups is not None:
        return None
    return next((column.name for column in data.columns if column.kind == "date" and not column.missing), None)


def order_by_date(data: Data, name: str) -> Data:
    """The table as --time NAME would read it: the rows in this order, the column not learned from."""
    return replace(
        data,
        X=data.X.drop(name),
        columns=tuple(column for column in data.columns if column.name != name),
        time=data.X[name].to_physical().to_numpy(),
        records=None,
    )


def score_in_time_order(
    plan: Plan, learner: Learner, shuffled: float, journal: Journal, workers: WorkerPool
) -> TimeOrderScore | None:
    """The score of a learner in order of time, or the one in the journal; None if it has no date or costs too much."""
    if stored := journal.get("time_order"):
        return TimeOrderScore(**stored)
    name = date_column(plan.data)
    if name is None or not _affordable(plan, learner):
        return None
    ordered = order_by_date(plan.data, name)
    if not any(column.kind in USABLE_KINDS for column in ordered.columns):
        return None
    splits = outer_splits(ordered, plan.rows, plan.folds, 1, plan.seed)
    light = plan.for_single_task()
    limit = fold_time_limit(plan, learner)
    ended = list(workers.run(((_score_split, light, learner, name, split), limit) for split in splits))
    values = [float(one.value) for one in ended if one.value is not None]
    if len(values) < max(2, len(splits)):
        return None
    score = plan.scores[0].name
    found = TimeOrderScore(name, learner.name, score, shuffled, float(np.mean(sorted(values))), len(values))
    journal.put("time_order", asdict(found))
    return found


def time_order_sentences(found: TimeOrderScore | None) -> list[str]:
    """Both scores, and what to do; nothing if there is no date."""
    if found is None:
        return []
    digits = decimals_for(found.shuffled)
    return [
        f"In order of {found.column!r}, each fold later than its training rows, {found.learner} has "
        f"{KNOWN_SCORES[found.score].title} {format_number(found.ordered, digits)}; with shuffled folds it has "
        f"{format_number(found.shuffled, digits)}. If the model will predict later rows, expect the first, and give "
        f"--time {found.column}."
    ]


def _affordable(plan: Plan, learner: Learner) -> bool:
    """Is there time? Decided by the rows, or by the costs that the plan was made with, never by the clock."""
    if plan.budget is not None:
        return fold_seconds(plan, learner) * plan.folds / plan.jobs <= MAX_BUDGET_SHARE * plan.budget
    return len(plan.data.y) <= LARGE_TABLE_ROWS


def _score_split(data: Data, plan: Plan, learner: Learner, name: str, split: Split) -> float | None:
    """The deciding score on one split, in a worker; None if the learner fails there."""
    try:
        return evaluate_fold(order_by_date(data, name), learner, split, plan).scores[plan.scores[0].name]
    except Exception:  # the shuffled folds went well: the result stands without this
        return None
