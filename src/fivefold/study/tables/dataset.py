"""From a name or a file to a table with a target: what a study learns from.

The kind of every column is guessed from all rows, or given by the user. `notes` say what was guessed, replaced or left
out, with counts and lines; `warnings` say what to doubt. Every error that a user can correct is a `BadInput`.

    number      Float64, NaN where missing          boolean, date      Boolean, Datetime
    others      String                              null where missing
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fivefold.core.types import Indices
from fivefold.datasets.toy_datasets import EMBEDDED, TARGET_COLUMN, load_embedded
from fivefold.study.formatting import format_count, join_names
from fivefold.study.sequences.step_order import (
    Steps,
    copied_sequences,
    make_steps,
    refuse_split_sequences,
    sorted_steps,
)
from fivefold.study.tables.column import Column as Column
from fivefold.study.tables.column import parse_column_option
from fivefold.study.tables.conversion import RawColumn, TypedColumn, convert_column
from fivefold.study.tables.files import read_table
from fivefold.study.tables.kinds import check_names, raw_columns, type_columns
from fivefold.study.tables.large_tables import open_large
from fivefold.study.tables.leakage import find_copies, leakage_warnings
from fivefold.study.tables.missing_markers import clean_text
from fivefold.study.tables.table import BadInput as BadInput
from fivefold.study.tables.table import Table, find_column, is_column_place, quote_list, table_from_frame
from fivefold.study.tables.target import (
    check_target,
    order_warnings,
    target_labels,
    target_values,
    task_of_kind,
    treat_rare_classes,
)
from fivefold.study.tables.target import task_of as task_of
from fivefold.study.tables.task import Task as Task

ADD_COLUMNS = "add columns that say something about it"
ADD_LAGS = "add columns that are known in time, such as earlier values of the target"


@dataclass(frozen=True)
class Data:
    """A table, its target, and notes on how they were read."""

    name: str
    X: pl.DataFrame
    y: np.ndarray  # (n,)
    target: str
    task: Task
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    groups: np.ndarray | None = None  # (n,) group of each row; a group is never split
    time: np.ndarray | None = None  # (n,) order of the rows in time
    rows: np.ndarray | None = None  # (n,) line of each row in the file, or its number, from 1
    warnings: tuple[str, ...] = ()
    digest: str = ""  # SHA-256 of the content
    group_column: str = ""  # the column that `groups` are from
    time_column: str = ""  # the column that `time` is from
    merged_classes: tuple[str, ...] = ()  # rare classes that one class stands for
    records: np.ndarray | None = None  # (n,) identical rows have the same record, which is never split
    sequences: np.ndarray | None = None  # (n,) the sequence that each row is a step of; rows are sorted by it
    sequence_column: str = ""  # the column of X that `sequences` are from, and the one that orders their steps:
    order_column: str = ""  # neither is learned from
    step_columns: tuple[Column, ...] = ()  # what is known about both
    sampled: int | None = None  # rows asked of a table that is not read whole; None if these are all of its rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", Task(self.task))  # its name will do

    def of_kind(self, kind: str) -> list[str]:
        """Names of the columns of a kind."""
        return [column.name for column in self.columns if column.kind == kind]

    def take(self, rows: Indices) -> Data:
        """The same table with these rows only."""
        names = ("groups", "time", "records", "sequences")
        parts = {name: part[rows] for name in names if (part := getattr(self, name)) is not None}
        return replace(self, X=self.X[rows], y=self.y[rows], rows=None, **parts)

    @property
    def copies(self) -> int:
        """The number of rows that repeat an earlier one and are kept together with it."""
        return 0 if self.records is None else len(self.records) - len(np.unique(self.records))

    def sequences_of(self, rows: Indices) -> np.ndarray | None:
        """The sequences of these rows; None if rows are no steps of sequences."""
        return None if self.sequences is None else self.sequences[rows]

    @property
    def group_noun(self) -> str:
        """What a group is called."""
        return "sequence" if self.sequences is not None and self.group_column == self.sequence_column else "group"

    @property
    def problem(self) -> str:
        """The task in words."""
        if not self.task.is_classification:
            return self.task
        classes = len(np.unique(self.y))
        return "two-class classification" if classes == 2 else f"multi-class classification, {classes} classes"


def load(
    source: str | Path,
    target: str | None = None,
    task: str | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    group: str | None = None,
    time: str | None = None,
    header: bool | None = None,
    rare_classes: str | None = None,
    split_copies: bool = False,
    sample: int | None = None,
    sequence: str | None = None,
    order: str | None = None,
) -> Data:
    """The embedded set of that name, or the table in a file.

    Parameters
    ----------
    source
        wine, iris, breast_cancer, digits, diabetes, or a file: delimited text such as CSV, Parquet, JSON lines, ARFF.
    target
        The column to predict: its name, its number from 1, or `last`. So are other columns given.
    task
        classification or regression, if the values of the target mislead.
    kinds
        Kinds of columns, where the guess is wrong: `{"size": "ordinal:small<large", "day": "date:%d.%m.%Y"}`.
    group
        A column that says which rows belong together; it is not learned from.
    time
        A column that orders the rows in time; it is not learned from.
    header
        Does the first row of delimited text name the columns? None: decided by the rows.
    rare_classes
        `merge` or `drop` classes with fewer than 3 rows, `merge:10` or `drop:10` those with fewer than 10. Without it a
        study refuses classes that are too rare.
    split_copies
        Are identical rows split like others? By default they stay together.
    sample
        Take this many rows, drawn at random, of a Parquet file or a folder of them; a table that does not fit into
        memory is sampled without it.
    sequence, order
        A column that says which sequence each row is a step of, and the column of numbers or dates that orders the
        steps. Neither is learned from.

    Examples
    --------
    >>> load("iris").problem
    'multi-class classification, 3 classes'
    """
    path, large = Path(source), None
    if str(source) in EMBEDDED and not path.is_file():
        if sample is not None:
            raise BadInput(f"--sample is for Parquet files and folders of them; {source} is a small table")
        table, target = table_from_frame(str(source), load_embedded(str(source))), target or TARGET_COLUMN
    elif (large := open_large(path, sample)) is not None:
        if sequence is not None:
            raise BadInput(f"{large.name}: --sequence needs whole sequences, but only a sample of rows would be read")
        table = table_from_frame(large.name, large.sample(), [large.note])
    else:
        named = (target, group, time, sequence, order, *(kinds or ()))
        expected = [name for name in named if name and not is_column_place(name)]
        table = read_table(path, expected, header)
    if target is None:
        raise BadInput(
            f"{table.name}: say which column to predict with --target; the columns are "
            f"{quote_list(table.frame.columns)}; a number or last will do, too"
        )
    roles = Roles(target, task, kinds or {}, group, time, rare_classes, split_copies, sequence, order)
    data = admit_table(table, roles)
    return data if large is None else replace(data, sampled=large.sampled)


def from_frame(
    name: str, frame: pl.DataFrame, target: str, task: str | None = None, notes: Sequence[str] = (), **options: Any
) -> Data:
    """A frame as data for a study; the options are those of `load`."""
    return admit_table(table_from_frame(name, frame, notes), Roles(target, task, **options))


@dataclass(frozen=True)
class Roles:
    """What the user says about the columns of a table; see `load`."""

    target: str
    task: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    time: str | None = None
    rare_classes: str | None = None
    split_copies: bool = False
    sequence: str | None = None
    order: str | None = None

    @property
    def aside(self) -> dict[str, str]:
        """Columns that are not learned from, by the option that names them."""
        named = {"group": self.group, "time": self.time, "sequence": self.sequence, "order": self.order}
        return {option: name for option, name in named.items() if name}

    def resolve(self, table: Table) -> Roles:
        """The same with names in place of numbers and `last`."""
        aside: dict[str, Any] = {option: find_column(table, name) for option, name in self.aside.items()}
        kinds = {find_column(table, name): kind for name, kind in self.kinds.items()}
        return replace(self, target=find_column(table, self.target), kinds=kinds, **aside)

    def check(self, table: Table) -> None:
        """Refuse names that are not columns, and roles that exclude one another."""
        given = {name: f" (--column {name}={kind})" for name, kind in self.kinds.items()}
        given |= {name: f" (--{option})" for option, name in self.aside.items()}
        check_names(table, given | {self.target: ""})
        if own := [option for option, name in self.aside.items() if name == self.target]:
            raise BadInput(f"{table.name}: {self.target!r} is the target; it cannot be the {own[0]} as well")
        if (self.sequence is None) != (self.order is None):
            raise BadInput(
                "--sequence and --order go together: one column says which sequence a row is a step of, the other "
                "orders the steps"
            )
        if self.sequence is not None and self.sequence == self.order:
            raise BadInput(f"{table.name}: {self.sequence!r} cannot be both --sequence and --order")
        if self.sequence is not None and self.time is not None:
            raise BadInput(
                "give --sequence and --order, or --time, not both: folds of whole sequences cannot follow the order of "
                "time"
            )
        if table.frame.is_empty():
            raise BadInput(f"{table.name}: the table is empty: it has a header and no rows")


def admit_table(table: Table, roles: Roles) -> Data:
    """A table as data for a study."""
    roles = roles.resolve(table)
    roles.check(table)
    roles = replace(roles, kinds={**table.kinds, **roles.kinds})
    table, kind = clean_text(table), roles.kinds.get(roles.target)
    raw, notes = raw_columns(table)
    values, said = target_values(raw.pop(roles.target, None), roles.target, table, kind)
    labelled, known = values.is_not_null().to_numpy(), values.drop_nulls().to_numpy()
    given = roles.task or task_of_kind(kind)
    task = task_of(known, given)
    check_target(table.name, roles.target, known, task, said)
    notes = [*table.notes, *notes, *said]
    if not labelled.all():
        notes.append(_lost_rows(table, ~labelled, f"because the target {roles.target!r} is missing"))
        if roles.sequence is not None:
            notes[-1] += "; the steps before and after them are taken as neighbours"
        table, raw = _only_rows(table, raw, labelled)
    classes = treat_rare_classes(table.name, target_labels(known, task), task, roles.rare_classes)
    notes += classes.notes
    if not classes.kept.all():
        notes.append(_lost_rows(table, ~classes.kept, "because their classes are rare"))
        table, raw = _only_rows(table, raw, classes.kept)
        check_target(table.name, roles.target, classes.labels, task)
    data = _build_data(table, roles, task, classes.labels, raw, notes)
    ordered = order_warnings(roles.target, known) if given is None and task.is_classification else []
    return replace(data, merged_classes=classes.merged, warnings=(*ordered, *data.warnings))


def _lost_rows(table: Table, lost: np.ndarray, why: str) -> str:
    """A note on rows (a mask) that are left out."""
    return f"{format_count(int(lost.sum()), 'row')} of {len(lost):,} left out {why}: {table.where(lost)}"


def _only_rows(table: Table, raw: Mapping[str, RawColumn], rows: np.ndarray) -> tuple[Table, dict[str, RawColumn]]:
    """The table and its columns with these rows (a mask) only."""
    table = table.only(rows)
    return table, {name: column.only(rows, table) for name, column in raw.items()}


def data_digest(data: Data) -> str:
    """SHA-256 of what is learned from: names, kinds and values of the columns, target, groups, time."""
    roles = [data.target, data.task, data.groups is None, data.time is None]
    known = [*roles, [asdict(column) for column in data.columns]]
    found = hashlib.sha256(repr(known).encode())
    arrays = [np.asarray(array) for array in (data.y, data.groups, data.time) if array is not None]
    for series in [*data.X, *(pl.Series("", array) for array in arrays)]:
        numbers = series.str.len_bytes() if series.dtype == pl.String else series.to_physical()
        found.update(numbers.cast(pl.Float64).to_numpy().tobytes())  # NaN where missing
        if series.dtype == pl.String:
            found.update(series.str.join().item().encode())
    return found.hexdigest()


def _only_columns(roles: Roles) -> str:
    """The columns of a table that has none to learn from, with their verb."""
    aside = [f"{name!r} (--{option})" for option, name in roles.aside.items()]
    return f"only {join_names(['the target', *aside])} {'are' if aside else 'is'}"


def _build_data(
    table: Table, roles: Roles, task: Task, y: np.ndarray, raw: Mapping[str, RawColumn], notes: list[str]
) -> Data:
    """Data of the rows that have a target."""
    groups = _group_codes(_role_column(raw, roles.group, table), table) if roles.group else None
    order = _time_order(_role_column(raw, roles.time, table), roles.kinds.get(roles.time)) if roles.time else None
    notes += order.notes if order else ()
    steps = _read_steps(raw, roles, table, groups, notes) if roles.sequence else None
    aside = set(roles.aside.values())
    typed = type_columns({name: column for name, column in raw.items() if name not in aside}, roles.kinds)
    warnings = _useless_warnings(typed) + [warning for each in typed if not each.useless for warning in each.warnings]
    notes += [note for each in typed if not each.useless for note in each.notes]
    if not any(each.usable for each in typed):
        why = "; ".join(warnings) or f"{_only_columns(roles)} there; {ADD_LAGS if roles.time else ADD_COLUMNS}"
        raise BadInput(f"{table.name}: no column is left to learn from: {why}")
    kept = [each for each in typed if not each.useless]
    warnings += leakage_warnings(kept, y, classes=task.is_classification)
    records, said = None, list[str]()
    if steps is None:  # single steps repeat one another; only copies of whole sequences matter
        records, said = find_copies(kept, y, table, groups=groups, ordered=order is not None, split=roles.split_copies)
    data = Data(
        name=table.name,
        X=pl.DataFrame([*(_null_to_nan(each.values) for each in kept), *(steps.values if steps else ())]),
        y=y,
        target=roles.target,
        task=task,
        columns=tuple(each.column for each in kept),
        notes=tuple(notes),
        groups=steps.codes if steps and groups is None else groups,
        time=order.values.to_physical().to_numpy() if order else None,
        rows=table.at,
        warnings=(*warnings, *said),
        records=records,
        group_column=roles.group or roles.sequence or "",
        time_column=roles.time or "",
        sequences=steps.codes if steps else None,
        sequence_column=roles.sequence or "",
        order_column=roles.order or "",
        step_columns=steps.columns if steps else (),
    )
    if steps:
        data = sorted_steps(data)
        data = replace(data, warnings=(*data.warnings, *copied_sequences(data)))
    return replace(data, digest=data_digest(data))


def _read_steps(
    raw: Mapping[str, RawColumn], roles: Roles, table: Table, groups: np.ndarray | None, notes: list[str]
) -> Steps:
    """The sequence and the order of every row; `notes` get what was said about the order."""
    assert roles.sequence is not None and roles.order is not None
    named = _role_column(raw, roles.sequence, table)
    order = _time_order(_role_column(raw, roles.order, table), roles.kinds.get(roles.order))
    notes += order.notes
    steps = make_steps(_group_codes(named, table, "sequence"), named.text.alias(named.name), order, table)
    if groups is not None:
        refuse_split_sequences(groups, steps.values[0], table)
    return steps


def _role_column(raw: Mapping[str, RawColumn], name: str, table: Table) -> RawColumn:
    """A column of groups, sequences or their order, which must have a value in every row."""
    if name not in raw:
        raise BadInput(
            f"{table.name}: column {name!r} holds {table.frame[name].dtype}, which can be neither group nor order"
        )
    missing = raw[name].series.is_null().to_numpy()
    if missing.any():
        raise BadInput(
            f"{table.name}: column {name!r} is missing in {format_count(int(missing.sum()), 'row')}, "
            f"{table.where(missing)}; fill it or remove them"
        )
    return raw[name]


def _group_codes(raw: RawColumn, table: Table, noun: str = "group") -> np.ndarray:
    codes = raw.text.rank("dense").cast(pl.Int64).to_numpy() - 1
    if codes.max() == 0:
        raise BadInput(
            f"{table.name}: column {raw.name!r} puts all rows into one {noun}; at least two {noun}s are needed"
        )
    return codes


def _time_order(raw: RawColumn, kind: str | None) -> TypedColumn:
    """The numbers or dates that order the rows."""
    numeric = raw.numbers is not None or raw.series.dtype.is_numeric()
    typed = convert_column(raw, parse_column_option(raw.name, kind or ("number" if numeric else "date")))
    if typed.kind not in ("number", "date") or typed.values.null_count():
        said = "; ".join(typed.notes) or f"it is {typed.kind}"
        raise BadInput(f"{raw.table.name}: rows cannot be ordered by column {raw.name!r}: {said}")
    return typed


def _useless_warnings(typed: Sequence[TypedColumn]) -> list[str]:
    """Which columns are left out because they are empty or constant."""
    reasons = dict[str, list[str]]()
    for each in typed:
        if each.useless:
            reasons.setdefault(each.useless, []).append(each.values.name)
    return [f"left out, {reason}: {quote_list(names)}" for reason, names in reasons.items()]


def _null_to_nan(values: pl.Series) -> pl.Series:
    return values.fill_null(float("nan")) if values.dtype == pl.Float64 and values.null_count() else values
