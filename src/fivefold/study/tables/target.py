"""The column to predict: which task it sets, and whether anything can be learned from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fivefold.core.types import Target
from fivefold.study.tables.column import parse_column_option
from fivefold.study.tables.conversion import RawColumn, convert_to_number
from fivefold.study.tables.kinds import number_slip_notes
from fivefold.study.tables.table import BadInput, Table
from fivefold.study.tables.task import Task

MIN_STUDY_ROWS = 20  # rows with a target that a study needs
MAX_INTEGER_CLASSES = 20  # integers with more distinct values than this are quantities, not classes
MIN_ROWS_PER_CLASS = 5  # integers with fewer rows than this per distinct value are quantities, too
CLASS_KINDS = ("category", "ordinal", "boolean")  # kinds of columns whose values are classes


def task_of(y: Target, task: str | None = None) -> Task:
    """The task a target defines; `task` overrides what its values suggest.

    Text and truth values are classes. Floats are quantities, even if they happen to be whole: 1.0, 2.0, 3.0 may be
    grades or counts, and only the user knows. Integers are classes if few of them are distinct and each is frequent.

    Examples
    --------
    >>> task_of(["spam", "ham"]), task_of([1.0, 2.0, 1.0]), task_of([0, 1] * 20)
    ('classification', 'regression', 'classification')
    """
    y = np.asarray(y)
    y = np.asarray(y.tolist()) if y.dtype == object else y  # numbers stored as objects are numbers
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim > 2 or y.dtype.kind not in "OUSTbiuf":
        raise BadInput(f"a target holds text, truth values or numbers; got shape {y.shape} of type {y.dtype}")
    if task == Task.REGRESSION and y.dtype.kind not in "biuf":
        raise BadInput(f"regression needs a target of numbers; got text, for example {str(y.flat[0])!r}")
    if task is not None:
        return _check_task(task)
    if y.ndim == 2:
        return Task.MULTIVARIATE_REGRESSION
    if y.dtype.kind == "f":
        return Task.REGRESSION
    if y.dtype.kind in "iu" and len(np.unique(y)) > min(MAX_INTEGER_CLASSES, max(2, len(y) // MIN_ROWS_PER_CLASS)):
        return Task.REGRESSION
    return Task.CLASSIFICATION


def target_values(raw: RawColumn | None, target: str, table: Table, kind: str | None) -> tuple[pl.Series, list[str]]:
    """The values of the target: numbers, truth values or text; null where missing."""
    wanted = parse_column_option(target, kind).kind if kind else None
    if raw is None or raw.series.dtype.is_temporal() or wanted in ("date", "text", "identifier"):
        what = wanted or str(table.frame[target].dtype)
        raise BadInput(f"{table.name}: the target {target!r} holds {what}; predict a number or a class")
    if raw.series.null_count() == len(raw.series):
        raise BadInput(f"{table.name}: the target {target!r} is missing in every row; there is nothing to learn from")
    if wanted == "number":
        typed = convert_to_number(raw)
        return typed.values, list(typed.notes)
    if wanted is not None:
        return raw.text, []
    if raw.numbers is not None:
        return raw.numbers.values, []
    return raw.series, list(number_slip_notes(raw)) if raw.series.dtype == pl.String else []


def check_target(name: str, target: str, y: Target, task: Task, notes: Sequence[str] = ()) -> None:
    """Refuse a target from which nothing can be learned; `notes` say how it was read."""
    values, counts = np.unique(y.astype(str) if y.dtype == object else y, return_counts=True)
    if not task.is_studied:
        raise BadInput(f"{name}: the target is one column; the task is classification or regression, not {task}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise BadInput(f"{name}: the target {target!r} holds infinity; replace it or drop those rows")
    if len(values) == 1 and task.is_classification:
        raise BadInput(f"{name}: the target {target!r} has only one class: {str(values[0])!r}; at least two are needed")
    if len(values) == 1:
        raise BadInput(f"{name}: the target {target!r} is constant: {values[0]}; there is nothing to predict")
    if len(y) < MIN_STUDY_ROWS:
        raise BadInput(f"{name}: {len(y)} rows have a target; a study needs at least {MIN_STUDY_ROWS}")
    if task.is_classification and (len(values) > len(y) // 2 or counts.max() < MIN_ROWS_PER_CLASS <= len(y)):
        raise BadInput(
            f"{name}: the target {target!r} has {len(values)} classes in {len(y)} rows; a class needs several rows. "
            f"{'; '.join(notes) or 'Was another column meant?'}"
        )


def target_labels(y: np.ndarray, task: Task) -> np.ndarray:
    """Floats for regression; integers or text for classes."""
    if task is Task.REGRESSION:
        return y.astype(float)
    if y.dtype.kind == "f":
        return np.array([f"{value:g}" for value in y])
    return y if y.dtype.kind in "iu" else y.astype(str)


def _check_task(task: str) -> Task:
    try:
        return Task(task)
    except ValueError:
        raise BadInput(f"the task is one of {', '.join(Task)}; got {task!r}") from None


def task_of_kind(kind: str | None) -> Task | None:
    """The task that the kind of a target implies."""
    return Task.CLASSIFICATION if kind and parse_column_option("", kind).kind in CLASS_KINDS else None
