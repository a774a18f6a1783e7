"""The column to predict: which task it sets, and whether anything can be learned from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fivefold.core.types import Target
from fivefold.study.formatting import first_names
from fivefold.study.tables.column import parse_column_option
from fivefold.study.tables.conversion import RawColumn, convert_to_number
from fivefold.study.tables.kinds import number_slip_notes
from fivefold.study.tables.table import BadInput, Table, quote_value
from fivefold.study.tables.task import Task

MIN_STUDY_ROWS = 20  # rows with a target that a study needs
MAX_INTEGER_CLASSES = 20  # integers with more distinct values than this are quantities, not classes
MIN_ROWS_PER_CLASS = 5  # integers with fewer rows than this per distinct value are quantities, too
MIN_CLASS_ROWS = 3  # rows of a class that a study needs: one to train on, one to choose with, one to test on
MIN_GRADES = 5  # distinct integers that may show an order; the counts of fewer rise and fall by chance
MIN_GRADE_RATIO = 2.0  # most to least frequent value of grades and counts; codes of classes may be equally frequent
MERGED_CLASS = "other"  # what rare classes become together
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


def order_warnings(target: str, y: Target) -> list[str]:
    """A warning if the integers that are studied as classes look like counts or grades, which have an order.

    They do if their frequencies rise to one peak and fall, up to two standard errors of a difference.

    Examples
    --------
    >>> order_warnings("codes", np.repeat([1, 2, 3, 4, 5], [30, 9, 40, 11, 35]))
    []
    >>> len(order_warnings("grade", np.repeat([1, 2, 3, 4, 5], [3, 20, 60, 30, 4])))
    1
    """
    if y.dtype.kind not in "iu":
        return []
    values, counts = np.unique(y, return_counts=True)
    if len(values) < MIN_GRADES or counts.max() < MIN_GRADE_RATIO * counts.min():
        return []
    steps = np.diff(counts) / np.sqrt(counts[:-1] + counts[1:])  # in standard errors of a difference of counts
    peak = int(counts.argmax())
    if (steps[:peak] < -2).any() or (steps[peak:] > 2).any():
        return []
    return [
        f"the target {target!r} looks like counts or grades: whole numbers from {values[0]} to {values[-1]}, rarer the "
        f"further they are from {values[peak]}. They are studied as {len(values)} classes, which have no order: an "
        "error by one counts as much as any other. --task regression predicts numbers"
    ]


@dataclass(frozen=True)
class TreatedClasses:
    """Labels after rare classes were merged, or their rows dropped."""

    labels: np.ndarray  # of the rows that are kept
    kept: np.ndarray  # (n,) mask
    merged: tuple[str, ...] = ()  # the classes that one class stands for
    notes: tuple[str, ...] = ()


def treat_rare_classes(name: str, y: np.ndarray, task: Task, option: str | None) -> TreatedClasses:
    """Labels without rare classes, as the option says: merge, drop, merge:10, drop:10; as they are without one.

    Examples
    --------
    >>> y = np.array(["a"] * 9 + ["b"] * 2 + ["c"])
    >>> treat_rare_classes("t", y, Task.CLASSIFICATION, "merge").labels[-4:].tolist()
    ['a', 'other', 'other', 'other']
    >>> treat_rare_classes("t", y, Task.CLASSIFICATION, "drop:2").labels[-4:].tolist()
    ['a', 'a', 'b', 'b']
    """
    everything = np.ones(len(y), dtype=bool)
    if option is None:
        return TreatedClasses(y, everything)
    found = re.fullmatch(r"(merge|drop)(?::(\d{1,9}))?", option.strip().lower())
    if found is None or (found[2] and int(found[2]) < 2):
        raise BadInput(f"--rare-classes is merge, drop, or with a number of rows merge:10 or drop:10; got {option!r}")
    if not task.is_classification:
        raise BadInput(f"{name}: --rare-classes is for classes, and the task is {task}")
    least = int(found[2] or MIN_CLASS_ROWS)
    classes, counts = np.unique(y, return_counts=True)
    rare = {str(label): int(n) for label, n in zip(classes, counts, strict=True) if n < least}
    shown = f"classes with fewer than {least} rows: {first_names([f'{quote_value(k)} ({n})' for k, n in rare.items()])}"
    if not rare:
        return TreatedClasses(
            y,
            everything,
            notes=(f"no class has fewer than {least} rows: none is {'merged' if found[1] == 'merge' else 'dropped'}",),
        )
    if found[1] == "drop":
        kept = ~np.isin(y.astype(str), list(rare))
        return TreatedClasses(y[kept], kept, notes=(f"dropped, {shown}",))
    merged = merge_classes(y, tuple(rare))
    if (total := int((merged == MERGED_CLASS).sum())) < MIN_CLASS_ROWS:
        raise BadInput(
            f"{name}: {shown}; together they have {total}, and a class needs {MIN_CLASS_ROWS}. Merge more of them with "
            f"a larger number, as in --rare-classes merge:{2 * least}, or leave them out with --rare-classes drop"
        )
    return TreatedClasses(merged, everything, tuple(rare), (f"merged into the class {MERGED_CLASS!r}, {shown}",))


def merge_classes(y: np.ndarray, merged: Sequence[str]) -> np.ndarray:
    """The labels as text, with one class in place of the merged ones; as they are if none are merged."""
    if not merged:
        return y
    text = y.astype(str)
    return np.where(np.isin(text, list(merged)), MERGED_CLASS, text)


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
