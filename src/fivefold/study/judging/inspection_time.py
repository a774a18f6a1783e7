"""Which inspections of the winner there is time for, judging by the times of its folds.

Each has a limit of its own. With a budget, what is left of it for the report is given to them in the order of the
fields of `AffordableInspections`, so that those that say most come first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fivefold.study.judging.column_effects import BACKGROUND_ROWS, EFFECT_ROWS, MAX_EFFECT_VALUES, MAX_EFFECTS
from fivefold.study.judging.inspection import CURVE_SHARES, MAX_SHUFFLED_COLUMNS, MAX_SHUFFLED_ROWS, SHUFFLES
from fivefold.study.judging.linear_coefficients import BOOTSTRAP_DRAWS
from fivefold.study.judging.results import Results
from fivefold.study.preparation.column_transformer import USABLE_KINDS

MAX_SECONDS = {"shuffles": 30.0, "effects": 15.0, "examples": 15.0, "intervals": 10.0, "learning_curve": 30.0}
EXPLAINED_ROWS = 6  # rows times outputs of the single predictions, about
MIN_TIMED_ROWS = 120  # as many rows are taken to need no more time than fewer ones


@dataclass(frozen=True)
class AffordableInspections:
    """What there is time for, the most important first."""

    shuffles: int = 0  # of each column, for its importance
    effects: bool = False  # of columns, by varying them
    examples: bool = False  # single predictions taken apart
    intervals: bool = False  # of the coefficients of a linear winner
    learning_curve: bool = False


def affordable_inspections(results: Results) -> AffordableInspections:
    """What there is time for; nothing if no learner finished."""
    if not results.judged:
        return AffordableInspections()
    left = math.inf if results.inspection_seconds is None else results.inspection_seconds
    shuffles = 0
    for count in (SHUFFLES, 1):  # one is enough to see which columns matter most
        seconds = _shuffling_seconds(results, count)
        if not shuffles and seconds <= min(left, MAX_SECONDS["shuffles"]):
            shuffles, left = count, left - seconds
    chosen = dict[str, bool]()
    for name, seconds in _inspection_seconds(results).items():
        chosen[name] = seconds <= min(left, MAX_SECONDS[name])
        left -= seconds if chosen[name] else 0.0
    return AffordableInspections(shuffles, **chosen)


def _shuffling_seconds(results: Results, shuffles: int) -> float:
    """What shuffling every column this often takes, by the time of a fit and of the test rows."""
    plan, best = results.plan, results.judged[0]
    rows = min(MAX_SHUFFLED_ROWS, len(plan.splits[0].test))
    per_fold = min(MAX_SHUFFLED_COLUMNS, _width(results)) * shuffles * rows * _row_seconds(results)
    return plan.folds * (best.fit_seconds + per_fold)


def _inspection_seconds(results: Results) -> dict[str, float]:
    """What each of the others takes."""
    plan, best, per_row, width = results.plan, results.judged[0], _row_seconds(results), _width(results)
    return {
        "effects": min(MAX_EFFECTS, width) * EFFECT_ROWS * MAX_EFFECT_VALUES * per_row,
        "examples": EXPLAINED_ROWS * BACKGROUND_ROWS * (width + 1) * per_row,
        "intervals": BOOTSTRAP_DRAWS * best.fit_seconds,
        "learning_curve": plan.folds * best.fit_seconds * sum(CURVE_SHARES),
    }


def _row_seconds(results: Results) -> float:
    """To predict a row, by the time of the test rows; of few rows most is the time of the call."""
    return results.judged[0].predict_seconds / max(MIN_TIMED_ROWS, len(results.plan.splits[0].test))


def _width(results: Results) -> int:
    return sum(column.kind in USABLE_KINDS for column in results.plan.data.columns)
