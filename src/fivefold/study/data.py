"""From a name or a file to a table with a target: what a study learns from.

Numbers stay numbers (float64, NaN where missing); anything else is a category (text, null where missing). What a kind
was guessed from, and what was left out, is said in `notes`. Everything a user can put right is a `BadInput`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from fivefold.datasets.embedded import EMBEDDED, TARGET, embedded
from fivefold.study.csvfile import BadInput as BadInput
from fivefold.study.csvfile import read_csv

Task = Literal["classification", "regression", "multivariate regression"]

LEAST_ROWS = 20
MOST_CLASSES = 20  # whole numbers with more distinct values are quantities,
ROWS_A_CLASS = 5  # and so are those that hardly repeat


@dataclass(frozen=True)
class Column:
    """A column to learn from."""

    name: str
    kind: Literal["number", "category", "ordinal", "boolean", "date", "text", "identifier"]
    distinct: int
    missing: int
    levels: tuple[str, ...] = ()  # of an ordinal column, from low to high


@dataclass(frozen=True)
class Data:
    """A table, its target, and how they were read."""

    name: str
    X: pl.DataFrame  # Float64 for numbers, String for categories
    y: np.ndarray  # (n,)
    target: str
    task: Task
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    groups: np.ndarray | None = None  # (n,) rows of one group stay together
    time: np.ndarray | None = None  # (n,) what the rows are ordered by
    rows: np.ndarray | None = None  # (n,) where they stood in the source, from 1
    warnings: tuple[str, ...] = ()
    digest: str = ""  # of the admitted content

    def of_kind(self, kind: str) -> list[str]:
        """Names of the columns of a kind."""
        return [column.name for column in self.columns if column.kind == kind]


def load(source: str | Path, target: str | None = None, task: str | None = None) -> Data:
    """The embedded set of that name, or the CSV file."""
    path = Path(source)
    if str(source) in EMBEDDED and not path.is_file():
        return from_frame(str(source), embedded(str(source)), target or TARGET, task)
    if not path.is_file():
        raise BadInput(_not_found(path))
    frame, notes = read_csv(path)
    if target is None:
        raise BadInput(f"{path}: say which column to predict with --target; the columns are {_listed(frame.columns)}")
    return from_frame(path.name, frame, target, task, notes)


def from_frame(name: str, frame: pl.DataFrame, target: str, task: str | None = None, notes: Sequence[str] = ()) -> Data:
    """A frame of Int64, Float64 and String columns as data for a study."""
    if target not in frame.columns:
        near = get_close_matches(target, frame.columns, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {_listed(frame.columns)}"
        raise BadInput(f"{name}: no column is called {target!r}; {hint}")
    if frame.is_empty():
        raise BadInput(f"{name}: the table is empty: it has a header and no rows")
    notes = list(notes)
    labelled = frame.filter(pl.col(target).is_not_null())
    if labelled.is_empty():
        raise BadInput(f"{name}: the target {target!r} is missing in every row; there is nothing to learn from")
    if lost := len(frame) - len(labelled):
        notes.append(f"{lost} of {len(frame)} rows left out: the target {target!r} is missing there")
    y = labelled[target].to_numpy()
    found = task_of(y, task)
    _check_target(name, target, y, found)
    X, columns = _predictors(name, labelled.drop(target), notes)
    return Data(name, X, _labels(y, found), target, found, columns, tuple(notes))


def task_of(y: Any, task: str | None = None) -> Task:
    """The task a target defines; `task` overrides what its values suggest.

    Text and truth values are classes. Floats are quantities, also when they happen to be whole: 1.0, 2.0, 3.0 may be
    grades or counts, and only the user knows. Integers are classes when they are few and each comes often.

    Examples
    --------
    >>> task_of(["spam", "ham"]), task_of([1.0, 2.0, 1.0]), task_of([0, 1] * 20)
    ('classification', 'regression', 'classification')
    """
    y = np.asarray(y)
    y = np.asarray(y.tolist()) if y.dtype == object else y  # numbers kept as objects are numbers
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim > 2 or y.dtype.kind not in "OUSTbiuf":
        raise BadInput(f"a target holds text, truth values or numbers; got shape {y.shape} of type {y.dtype}")
    if task == "regression" and y.dtype.kind not in "biuf":
        raise BadInput(f"regression needs a target of numbers; got text, for example {str(y.flat[0])!r}")
    if task is not None:
        return _chosen(task)
    if y.ndim == 2:
        return "multivariate regression"
    if y.dtype.kind == "f":
        return "regression"
    if y.dtype.kind in "iu" and len(np.unique(y)) > min(MOST_CLASSES, max(2, len(y) // ROWS_A_CLASS)):
        return "regression"
    return "classification"


def _chosen(task: str) -> Task:
    for known in get_args(Task):
        if task == known:
            return known  # type: ignore[no-any-return]
    raise BadInput(f"the task is one of {', '.join(get_args(Task))}; got {task!r}")


def _check_target(name: str, target: str, y: Any, task: Task) -> None:
    """Refuse targets from which nothing can be learned or judged."""
    values, counts = np.unique(y.astype(str) if y.dtype == object else y, return_counts=True)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise BadInput(f"{name}: the target {target!r} holds infinity; replace it or drop those rows")
    if len(values) == 1 and task == "classification":
        raise BadInput(f"{name}: the target {target!r} has one class only: {str(values[0])!r}; two or more are needed")
    if len(values) == 1:
        raise BadInput(f"{name}: the target {target!r} is constant: {values[0]}; there is nothing to predict")
    if len(y) < LEAST_ROWS:
        raise BadInput(f"{name}: {len(y)} rows have a target; a study needs {LEAST_ROWS} or more")
    if task == "classification" and (len(values) > len(y) // 2 or counts.max() < ROWS_A_CLASS <= len(y)):
        raise BadInput(
            f"{name}: the target {target!r} has {len(values)} classes in {len(y)} rows; a class needs several rows. "
            "Was another column meant?"
        )


def _labels(y: np.ndarray, task: Task) -> np.ndarray:
    """Floats for regression; integers or text for classes."""
    if task == "regression":
        return y.astype(float)
    if y.dtype.kind == "f":
        return np.array([f"{value:g}" for value in y])
    return y if y.dtype.kind in "iu" else y.astype(str)


def _predictors(name: str, frame: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, tuple[Column, ...]]:
    """The columns worth learning from, by kind; the others are noted."""
    kept, columns = list[pl.Series](), list[Column]()
    useless = dict[str, list[str]]()
    for series in frame:
        number = series.dtype.is_numeric()
        values = series.cast(pl.Float64).fill_nan(None) if number else series.cast(pl.String)
        distinct, missing = values.drop_nulls().n_unique(), values.null_count()
        if distinct == 0:
            useless.setdefault("every value is missing", []).append(series.name)
        elif distinct == 1 and not missing:
            useless.setdefault("constant", []).append(series.name)
        elif not number and distinct > max(MOST_CLASSES, len(values) // 2):
            useless.setdefault("text that hardly repeats", []).append(series.name)
        else:
            if number and values.is_infinite().any():
                row = int(values.is_infinite().arg_max() or 0)
                raise BadInput(f"{name}: column {series.name!r} holds infinity, first in row {row + 1}; replace it")
            kept.append(values.fill_null(float("nan")) if number else values)
            columns.append(Column(series.name, "number" if number else "category", distinct, missing))
    notes.extend(f"left out, {reason}: {_listed(names)}" for reason, names in useless.items())
    if not kept:
        raise BadInput(f"{name}: no column is left to learn from: {'; '.join(notes) or 'there is only the target'}")
    return pl.DataFrame(kept), tuple(columns)


def _not_found(path: Path) -> str:
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, [*EMBEDDED, *beside], n=2, cutoff=0.6)
    if path.is_dir():
        return f"{path} is a folder; give a CSV file in it"
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"no file {path}, and no embedded set of that name; {hint}Embedded: {', '.join(EMBEDDED)}"


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
