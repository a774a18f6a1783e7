"""Where the winner is wrong: its errors on unseen rows by level, by range of values and by class.

The error is 1 for a wrong class and 0 for a right one, or the absolute residual. Numbers and dates are divided at their
quartiles. Every group is tested against all other rows, adjusted by Holm for all groups of all columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from fivefold.evaluation.inspection.group_errors import GroupError, errors_by_group, with_holm
from fivefold.study.judging.results import LearnerResult
from fivefold.study.planning.plan import Plan
from fivefold.study.tables.column import Column

MIN_GROUP_ROWS = 20  # smaller groups are left out: their errors say little
MAX_GROUPED_LEVELS = 12  # levels of a category that are groups; the others are one group
QUARTILES = (0.25, 0.5, 0.75)
MISSING, OTHERS = "(missing)", "(others)"


@dataclass(frozen=True)
class ColumnGroups:
    """The errors in the groups that the values of one column make, largest first."""

    column: str
    groups: tuple[GroupError, ...]

    @property
    def spread(self) -> float:
        """The smallest adjusted p-value."""
        return min(group.adjusted_p for group in self.groups)


def out_of_fold_errors(plan: Plan, judged: LearnerResult) -> tuple[np.ndarray, np.ndarray]:
    """Rows tested in the first repeat, and the error of each."""
    folds = [fold for fold in judged.outcome.folds if fold.repeat == 0]
    rows = np.concatenate([fold.test for fold in folds])
    predicted, y = np.concatenate([fold.predicted for fold in folds]), plan.data.y[rows]
    return rows, (predicted != y).astype(float) if plan.classes is not None else np.abs(predicted - y)


def error_groups(plan: Plan, judged: LearnerResult) -> tuple[ColumnGroups, ...]:
    """Errors by the values of the target and of every column that has two groups of enough rows, in that order."""
    rows, errors = out_of_fold_errors(plan, judged)
    labels = {plan.data.target: _target_groups(plan, rows)}
    labels |= {c.name: column_groups(plan.data.X[c.name][rows], c) for c in plan.data.columns if is_grouped(c)}
    found = {name: _large_groups(errors, groups) for name, groups in labels.items()}
    found = {name: groups for name, groups in found.items() if len(groups) > 1}
    adjusted = iter(with_holm([group for groups in found.values() for group in groups]))
    return tuple(
        ColumnGroups(name, tuple(sorted((next(adjusted) for _ in groups), key=lambda one: -one.mean)))
        for name, groups in found.items()
    )


def worst_groups(found: tuple[ColumnGroups, ...], target: str, level: float = 0.05) -> list[tuple[str, GroupError]]:
    """Groups made by columns, not by the target, with significantly larger errors than the other rows; worst first."""
    pairs = [(one.column, group) for one in found for group in one.groups if one.column != target]
    worse = [(name, group) for name, group in pairs if group.adjusted_p <= level and group.mean > group.rest]
    return sorted(worse, key=lambda pair: pair[1].rest - pair[1].mean)


def is_grouped(column: Column) -> bool:
    """Do its values make groups of rows?"""
    return column.kind not in ("text", "identifier")


def _target_groups(plan: Plan, rows: np.ndarray) -> np.ndarray:
    y = plan.data.y[rows]
    return y.astype(str) if plan.classes is not None else _quartile_groups(pl.Series(y))


def column_groups(values: pl.Series, column: Column) -> np.ndarray:
    """The group of each row by its value, in words: a level, or a range between quartiles."""
    if column.kind in ("number", "date"):
        return _quartile_groups(values)
    if column.kind == "boolean" and values.dtype == pl.Boolean and len(column.levels) == 2:
        words = dict(zip((False, True), column.levels, strict=True))
        return np.array([words.get(value, MISSING) for value in values.to_list()])
    text = values.cast(pl.String)
    kept = text.drop_nulls().value_counts(sort=True).head(MAX_GROUPED_LEVELS)[text.name].to_list()
    known = set(kept)
    return np.array([MISSING if v is None else v if v in known else OTHERS for v in text.to_list()])


def _quartile_groups(values: pl.Series) -> np.ndarray:
    """The range of each value, in words."""
    temporal = values.dtype.is_temporal()
    numbers = (values.dt.epoch("us") if temporal else values).cast(pl.Float64).fill_null(np.nan).to_numpy()
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return np.full(len(numbers), MISSING)
    cuts = np.unique(np.quantile(known, QUARTILES, method="inverted_cdf"))
    cuts = cuts[cuts < known.max()]

    def word(cut: float) -> str:
        return str(np.datetime64(int(cut), "us"))[:10] if temporal else f"{cut:.4g}"

    names = [
        *([f"at most {word(cuts[0])}"] if len(cuts) else ["all values"]),
        *(f"above {word(a)}, at most {word(b)}" for a, b in pairwise(cuts)),
        *([f"above {word(cuts[-1])}"] if len(cuts) else []),
    ]
    at = np.searchsorted(cuts, np.nan_to_num(numbers, nan=known.max()), side="left")
    return np.where(np.isfinite(numbers), np.array(names)[at], MISSING)


def _large_groups(errors: np.ndarray, groups: np.ndarray) -> list[GroupError]:
    return [one for one in errors_by_group(errors, groups) if one.rows >= MIN_GROUP_ROWS]
