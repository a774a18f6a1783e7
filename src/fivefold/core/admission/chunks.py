"""Tables in chunks, admitted like any X: names, widths, types, categories, missing values, targets and weights.

A survey reads what has to be known before the first sum: the lengths of the chunks, the labels, the categories, the
total weight. Of files it reads the columns that it needs. Every pass then admits each chunk anew, where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from fivefold.core.admission.categories import Categories, columns_as_numbers, columns_of_frame
from fivefold.core.admission.refusals import listed, name_of, refuse_nonfinite
from fivefold.core.admission.tables import admit, remember_columns
from fivefold.core.admission.takes import AdmittingEstimator
from fivefold.core.admission.targets import admit_target, admit_weights, given_weights, keep_positive
from fivefold.core.chunks.chunked_array import ChunkedArray, RowChunks, Rows, pick_w, pick_X, pick_y
from fivefold.core.chunks.dask_source import is_dask
from fivefold.core.chunks.sources import ChunkSource, Side
from fivefold.core.chunks.user_chunks import Chunks
from fivefold.core.types import Doubles, Labels, Table, UserTarget, UserWeights

TargetKind: TypeAlias = Literal["labels", "numbers"] | None
SMALL_TABLE_ROWS = 2  # rows of the table that stands for one chunk where only its type and shape matter


@dataclass(frozen=True)
class ChunkAdmission:
    """How the table, targets and weights of one chunk become clean arrays; it is sent to workers."""

    estimator: AdmittingEstimator  # unfitted; it knows the columns
    target: TargetKind
    dtype: Any = None
    classes: Labels | None = None
    class_factor: Doubles | None = None

    def __call__(self, where: str, table: Table, y: Any, w: Any) -> Rows:
        with placed_errors(where):
            if not table.shape[0]:
                return self._no_rows()
            table, y, w = split_sides(self.estimator, table, y, w)
            X = admit(self.estimator, table, fitting=False, learning=True)
            if self.estimator.takes.finite_later:
                refuse_nonfinite(self.estimator, X)
            if self.dtype is not None and X.dtype != self.dtype:
                raise ValueError(
                    f"{name_of(self.estimator)}: the numbers are {X.dtype} here and {self.dtype} in the first chunk; "
                    "give all chunks the same type"
                )
            v = chunk_weights(self.estimator, w, X.shape[0])
            if self.target is None:
                X, v = keep_positive(v, X)
                return Rows(X, None, v, 0)
            t = admit_target(self.estimator, X, y, numeric=self.target == "numbers")
            t = self._codes(t) if self.target == "labels" else t.astype(X.dtype, copy=False)
            X, t, v = keep_positive(v, X, t)
            return Rows(X, t, v if self.class_factor is None else v * self.class_factor[t], 0)

    def _no_rows(self) -> Rows:
        """Those of a chunk without rows, such as a partition of which a query leaves nothing."""
        X = np.empty((0, vars(self.estimator)["n_features_in_"]), self.dtype)
        return Rows(X, None if self.target is None else X[:, 0], np.empty(0), 0)

    def _codes(self, y: Labels) -> Labels:
        """The index of each label among the classes."""
        classes = self.classes
        if classes is None:
            return y
        codes = np.searchsorted(classes, y).clip(0, len(classes) - 1)
        if (unknown := classes[codes] != y).any():
            label = y[unknown].tolist()[0]
            raise ValueError(
                f"{name_of(self.estimator)}: y holds {label!r}, which was not there when the labels were "
                "counted: the data changes while the model is fitted. Fit to a copy that stays as it is"
            )
        return codes.astype(np.int64, copy=False)


@dataclass(frozen=True)
class ChunkFacts:
    """What the survey finds in a chunk, or in all of them."""

    lengths: tuple[int, ...]  # rows of each chunk
    kept: tuple[int, ...]  # those of positive weight
    weight: float = 0.0
    ones: bool = True  # is every weight one?
    labels: Any = None  # Labels, and the weight and number of their rows, where y holds labels
    label_weight: Any = None  # Doubles
    label_rows: Any = None  # Doubles
    categories: Mapping[Any, tuple[object, ...]] | None = None  # by name or number of the column

    def merged(self, other: ChunkFacts) -> ChunkFacts:
        """The facts of both."""
        found = ChunkFacts(
            self.lengths + other.lengths,
            self.kept + other.kept,
            self.weight + other.weight,
            self.ones and other.ones,
            categories=_merged_categories(self.categories or {}, other.categories or {}),
        )
        if self.labels is None or other.labels is None:  # a chunk without rows has none
            known = self if other.labels is None else other
            return replace(found, labels=known.labels, label_weight=known.label_weight, label_rows=known.label_rows)
        labels, place = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        weight, rows = (
            np.bincount(place, np.concatenate([a, b]), len(labels))
            for a, b in ((self.label_weight, other.label_weight), (self.label_rows, other.label_rows))
        )
        return replace(found, labels=labels, label_weight=weight, label_rows=rows)


@dataclass(frozen=True)
class AdmittedChunks:
    """The rows of a table in chunks, and what the survey found."""

    rows: RowChunks
    facts: ChunkFacts

    @property
    def is_single(self) -> bool:
        """Is there one chunk? It is fitted as a table in memory is."""
        return len(self.rows.lengths) == 1

    @property
    def _admission(self) -> ChunkAdmission:
        assert isinstance(self.rows.admit, ChunkAdmission)
        return self.rows.admit

    def in_memory(self) -> tuple[Table, Any, Any]:
        """The table of a single chunk, its targets and its weights, as they were given."""
        estimator = self._admission.estimator
        parts = self.rows.source.map(lambda where, i, *parts: split_sides(estimator, *parts), self.rows.y, self.rows.w)
        return next(iter(parts))

    def arrays(self, classes: Labels | None = None, factor: Doubles | None = None) -> tuple[Any, ...]:
        """X, y and w, ChunkedArrays; y as codes of the classes, w times the factor of the class, where given."""
        admit = replace(self._admission, classes=classes, class_factor=factor)
        rows = replace(self.rows, admit=admit)
        example = next(rows.map(_small, first=True), None) or next(rows.map(_small))
        rows = replace(rows, admit=replace(admit, dtype=example.X.dtype))
        if classes is not None:
            weight = self.facts.label_weight if factor is None else self.facts.label_weight * factor
            rows = replace(rows, class_rows=self.facts.label_rows, class_weight=weight)
        total = self.facts.weight if factor is None else float(self.facts.label_weight @ factor)
        X, y = ChunkedArray(rows, pick_X, example.X), ChunkedArray(rows, pick_y, example.y)
        ones = self.facts.ones and factor is None
        return X, y, ChunkedArray(rows, pick_w, example.w, total=total, ones=ones)


def admit_chunks(
    estimator: Any, source: ChunkSource, y: UserTarget, sample_weight: UserWeights, target: TargetKind
) -> AdmittedChunks:
    """The rows of the source, after a survey of them; the estimator remembers names and categories."""
    if not estimator.takes.chunks:
        raise chunks_error(estimator)
    if target is not None and y is None:
        raise ValueError(
            f"{name_of(estimator)} requires y to be passed, but the target y is None: pass one label or value per row, "
            "or the name of a column"
        )
    sides = side(y) if target is not None else None, side(sample_weight)
    refuse_absent(estimator, source, sides)
    head = next(source.map(_first_rows, first=True), None)
    if head is None or not head.shape[0]:
        head = next((rows for rows in source.map(_first_rows) if rows.shape[0]), None)
    if head is None:
        raise ValueError(f"{name_of(estimator)}: there are no chunks, or no rows in them: nothing to learn from")
    with placed_errors(source.place(0)):
        head = split_sides(estimator, head, *(s if isinstance(s, str) else None for s in sides))[0]
        remember_columns(estimator, head)
    known = copy(estimator)
    facts = _survey(known, source, *sides, target)
    if not facts.weight > 0:
        raise ValueError(f"{name_of(estimator)}: sample_weight is zero for every row: nothing is left to learn from")
    if facts.categories:
        _remember_categories(estimator, facts.categories)
        known = copy(estimator)
    starts = tuple(np.cumsum((0, *facts.kept)).tolist())
    admission = ChunkAdmission(known, target)
    return AdmittedChunks(RowChunks(source, *sides, admission, facts.lengths, starts, {}), facts)


def side(given: Any) -> Side:
    """Targets or weights as a source reads them: the name of a column, an array, or a source of chunks."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Chunks):
        return given._source
    if is_dask(given):
        return given
    entries = np.asarray(given)
    if not entries.ndim:
        raise TypeError(
            f"y and sample_weight have one entry per row; got {type(given).__name__}: give an array, or chunks"
        )
    return entries


def split_sides(estimator: object, table: Table, y: Any, w: Any) -> tuple[Table, Any, Any]:
    """The table without the columns that y and w name, and these columns."""
    names = [s for s in (y, w) if isinstance(s, str)]
    if not names:
        return table, y, w
    if not nw.dependencies.is_into_dataframe(table):
        raise ValueError(
            f"{name_of(estimator)}: {names[0]!r} names a column, but the chunks are arrays without names. Give the "
            "targets as an array or as chunks of their own"
        )
    frame = nw.from_native(table, eager_only=True)
    y, w = (frame[s].to_numpy() if isinstance(s, str) else s for s in (y, w))
    return nw.to_native(frame.drop(names)), y, w


def chunk_weights(estimator: object, given: Any, n: int) -> Doubles:
    """The weights of a chunk; all of them may be zero."""
    if given is None:
        return np.ones(n)
    if not given_weights(estimator, given, n).any():
        return np.zeros(n)
    return admit_weights(estimator, given, np.empty((n, 0)))


def chunks_error(estimator: object) -> TypeError:
    """For a method that has to see all rows at once."""
    return TypeError(
        f"{name_of(estimator)} has to see all rows at once, and does not take a table in chunks. Give it a sample, "
        "such as Chunks(...).sample(100_000); `fivefold methods` says of each method whether it takes chunks"
    )


@contextmanager
def placed_errors(where: str) -> Iterator[None]:
    """An error of a chunk says which one it is."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if str(error).startswith(("chunk ", "partition ")):
            raise
        raise type(error)(f"{where}: {error}") from error


def _survey(estimator: Any, source: ChunkSource, y: Side, w: Side, target: TargetKind) -> ChunkFacts:
    schema, lengths = source.schema, source.lengths
    named = {s for s in (y, w) if isinstance(s, str)}
    text = [c for c, number in schema.items() if not number and c not in named] if schema else []
    if not estimator.takes.categories:
        text = []
    elif schema is None and not _has_numbers_only(source):
        text = ["?"]  # any column may hold categories
    if target != "labels" and w is None and not text and lengths is not None:
        return ChunkFacts(lengths, lengths, float(sum(lengths)))
    columns = None
    if schema is not None:
        columns = [c for c in schema if c in {*text, *named}] or [next(iter(schema))]
    idle = estimator.takes.idle_classes

    def task(where: str, i: int, table: Table, y: Any, w: Any) -> ChunkFacts:
        with placed_errors(where):
            if not table.shape[0]:
                return ChunkFacts((0,), (0,))
            table, y, w = split_sides(estimator, table, y, w)
            n = table.shape[0]
            v = chunk_weights(estimator, w, n)
            found = ChunkFacts((n,), (int(np.count_nonzero(v)),), float(v.sum()), bool((v == 1).all()))
            if text:
                found = replace(found, categories=_categories(estimator, table))
            if target != "labels":
                return found
            labels = admit_target(estimator, np.empty((n, 0)), y, numeric=False)
            if labels.ndim != 1:
                raise ValueError(f"{name_of(estimator)}: chunks take one column of labels; y has {labels.shape[1]}")
            labels, v = (labels, v) if idle else keep_positive(v, labels)
            names, place = np.unique(labels, return_inverse=True)
            weight, rows = np.bincount(place, v, len(names)), np.bincount(place, minlength=len(names))
            return replace(found, labels=names, label_weight=weight, label_rows=rows.astype(np.float64))

    facts: ChunkFacts | None = None
    for found in source.map(task, y, w, columns=columns):
        facts = found if facts is None else facts.merged(found)
    if facts is None or not sum(facts.lengths):
        raise ValueError(f"{name_of(estimator)}: there are no chunks, or no rows in them: nothing to learn from")
    return facts


def _categories(estimator: Any, table: Table) -> dict[Any, tuple[object, ...]]:
    """The categories of the columns of a chunk, by name."""
    if not nw.dependencies.is_into_dataframe(table):
        return {}
    looking, columns = copy(estimator), columns_of_frame(table)
    vars(looking).pop("categories_in_", None)
    columns_as_numbers(looking, columns, table.shape[0], True, True)
    found = vars(looking).get("categories_in_", Categories({})).values
    return {columns[j].name: values for j, values in found.items()}


def _merged_categories(
    one: Mapping[Any, tuple[object, ...]], other: Mapping[Any, tuple[object, ...]]
) -> dict[Any, tuple[object, ...]]:
    def union(a: tuple[object, ...], b: tuple[object, ...]) -> tuple[object, ...]:
        if a == b or set(b) <= set(a):
            return a
        return tuple(sorted({*a, *b}, key=lambda v: (type(v).__name__, v)))

    return {name: union(one.get(name, ()), other.get(name, ())) for name in {**one, **other}}


def _remember_categories(estimator: Any, found: Mapping[Any, tuple[object, ...]]) -> None:
    names = [str(name) for name in vars(estimator).get("feature_names_in_", ())]
    vars(estimator)["categories_in_"] = Categories({names.index(str(name)): v for name, v in found.items()})


def _has_numbers_only(source: ChunkSource) -> bool:
    """Are the chunks arrays of numbers, as far as their first one tells?"""

    def task(where: str, i: int, table: Table, y: Any, w: Any) -> bool:
        return not nw.dependencies.is_into_dataframe(table) and getattr(table, "dtype", np.dtype("f8")).kind in "biuf"

    return next(iter(source.map(task, first=True)))


def refuse_absent(estimator: object, source: ChunkSource, sides: tuple[Side, Side]) -> None:
    """Refuse names of targets and weights that are no columns."""
    schema = source.schema
    for what, name in zip(("y", "sample_weight"), sides, strict=True):
        if schema is not None and isinstance(name, str) and name not in schema:
            raise ValueError(
                f"{name_of(estimator)}: {what}={name!r} is no column of the chunks; they have {listed(list(schema))}"
            )


def _first_rows(where: str, i: int, table: Table, y: Any, w: Any) -> Table:
    if nw.dependencies.is_into_dataframe(table):
        return nw.to_native(nw.from_native(table, eager_only=True).head(SMALL_TABLE_ROWS))
    return table[:SMALL_TABLE_ROWS]


def _small(rows: Rows) -> Rows:
    """The first row, as an example of types and shapes."""
    return Rows(rows.X[:1].copy(), None if rows.y is None else rows.y[:1].copy(), rows.w[:1].copy(), 0)
