"""Tables of discrete columns as codes: what family counts are made from.

States of a column are coded 0, 1, ...; the code after the last stands for a missing value. Where there are fewer
combinations of states than rows, equal rows become one row with their weight, and every count costs less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from fivefold.core.admission.refusals import is_missing
from fivefold.core.estimators.supervised_learning import encode_labels
from fivefold.core.types import Codes, Doubles, Indices, Mask, UserTable, UserWeights
from fivefold.graphical.structure_learning.family_count_loops import WORD_BITS, set_bits
from fivefold.graphical.variables import State, Variables

MAX_STATES = 2**15  # of a column: more are surely not meant as states


@dataclass(frozen=True)
class CodedTable:
    """Columns of codes, and a weight per row.

    Examples
    --------
    >>> table = code_table({"sky": ["sun", "rain", "sun"], "road": ["dry", "wet", "dry"]})
    >>> table.variables.states, table.levels
    ((('rain', 'sun'), ('dry', 'wet')), (2, 2))
    >>> table.codes
    array([[1, 0, 1],
           [0, 1, 0]], dtype=uint8)
    """

    variables: Variables
    codes: Codes  # (d, n), column by column
    weights: Doubles  # (n,)

    @property
    def levels(self) -> tuple[int, ...]:
        """Numbers of states of the columns."""
        return self.variables.cards

    @cached_property
    def total_weight(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def incomplete(self) -> Mask:
        """Which columns hold missing values (d,)."""
        return np.array([codes.max(initial=0) >= m for codes, m in zip(self.codes, self.levels, strict=True)])

    @cached_property
    def is_unweighted(self) -> bool:
        """Has every row the weight one?"""
        return bool((self.weights == 1).all())

    @cached_property
    def bit_starts(self) -> Indices:
        """The bit row of the first state of each column, and their number (d + 1,)."""
        return np.cumsum((0, *self.levels))

    @cached_property
    def bits(self) -> Codes:
        """A bit row per state: which rows have it."""
        n = self.codes.shape[1]
        found = np.zeros((self.bit_starts[-1], -(-n // WORD_BITS)), dtype=np.uint64)
        set_bits(self.codes, self.bit_starts, found)
        return found

    def with_missing_states(self) -> CodedTable:
        """The table in which to be missing is a further state, the last, of columns that hold missing values."""
        known = zip(self.variables.states, self.incomplete, strict=True)
        states = tuple((*labels, unused_label("missing", labels)) if gap else labels for labels, gap in known)
        return replace(self, variables=Variables(self.variables.nodes, states))

    def without_missing_rows(self) -> CodedTable:
        """The rows in which no value is missing."""
        known = (self.codes < np.array(self.levels)[:, None]).all(axis=0)
        return replace(self, codes=self.codes[:, known], weights=self.weights[known])

    def collapsed(self) -> CodedTable:
        """Equal rows as one with their weight, where combinations of states are fewer than rows."""
        sizes = [m + int(gap) for m, gap in zip(self.levels, self.incomplete, strict=True)]
        if prod(sizes) >= self.codes.shape[1]:
            return self
        joint = np.ravel_multi_index(tuple(self.codes.astype(np.int64)), sizes)
        weights = np.bincount(joint, self.weights, minlength=prod(sizes))
        seen = np.flatnonzero(weights > 0)
        codes = np.array(np.unravel_index(seen, sizes), dtype=self.codes.dtype)
        return replace(self, codes=codes, weights=weights[seen].astype(np.float64))


def code_table(
    X: UserTable | CodedTable, *, states: Mapping[str, Sequence[State]] | None = None, weights: UserWeights = None
) -> CodedTable:
    """Any table of discrete columns as codes: a frame, a mapping of columns, or an array, whose columns are x0, x1, ...

    States are the values that occur, sorted, or those of `states`, by column. None and NaN are missing values.
    """
    if isinstance(X, CodedTable):
        return X
    columns = _columns(X)
    n = len(next(iter(columns.values()), ()))
    if not n:
        raise ValueError("a table of no rows or no columns was given; there is nothing to count")
    coded = [_code(name, column, (states or {}).get(name)) for name, column in columns.items()]
    codes = np.array([column for column, _ in coded])
    codes = codes.astype(np.uint8 if codes.max() <= 255 else np.int32)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (n,) or not (np.isfinite(w) & (w >= 0)).all() or not w.any():
        raise ValueError(f"weights must be {n} finite numbers from 0 up, one per row, and not all 0")
    if not (kept := w > 0).all():
        codes, w = np.ascontiguousarray(codes[:, kept]), w[kept]
    return CodedTable(Variables(tuple(columns), tuple(labels for _, labels in coded)), codes, w)


def unused_label(word: str, labels: Sequence[State]) -> str:
    """A label that begins with a word and is none of the others."""
    while word in labels:
        word += "_"
    return word


def _columns(X: UserTable) -> dict[str, Any]:
    """Columns by name, as arrays of whole numbers or as lists."""
    if isinstance(X, Mapping):
        return {str(name): list(values) for name, values in X.items()}
    if nw.dependencies.is_into_dataframe(X):
        series = nw.from_native(X, eager_only=True).iter_columns()
        return {
            str(s.name): s.to_numpy() if s.dtype.is_integer() and not s.is_null().any() else s.to_list() for s in series
        }
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"a table has rows and columns; got an array of {array.ndim} axes")
    return {f"x{j}": column if array.dtype.kind in "iu" else column.tolist() for j, column in enumerate(array.T)}


def _code(name: str, column: Any, states: Sequence[State] | None) -> tuple[Codes, tuple[State, ...]]:
    """Codes of a column, and its states; missing values get the code after the last."""
    if isinstance(column, np.ndarray) and states is None:
        labels, codes = encode_labels(np.ascontiguousarray(column))
        known = tuple(labels.tolist())
    else:
        values = [None if is_missing(value) else value for value in column]
        found = {value for value in values if value is not None}
        known = tuple(sorted(found, key=lambda v: (isinstance(v, str), v)) if states is None else states)
        if unknown := found.difference(known):
            raise ValueError(f"column {name!r} holds {min(unknown, key=str)!r}, none of its states {list(known)[:8]!r}")
        if not known:
            raise ValueError(f"column {name!r} has no value: drop it, or give its states")
        place = {value: code for code, value in enumerate(known)} | {None: len(known)}
        codes = np.array([place[value] for value in values])
    if len(known) > MAX_STATES:
        raise ValueError(f"column {name!r} has {len(known)} states; bin its numbers first, or leave it out")
    return codes, known
