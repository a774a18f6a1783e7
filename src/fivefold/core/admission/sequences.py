"""Sequences: tables of different lengths that are learned from together.

A method for sequences takes X as one table with `lengths`, rows of one sequence after the other; as a list of tables;
or as `Sequences`, which is indexed by sequence and so survives `cross_validate`, `GridSearchCV` and pickling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.admission.refusals import name_of
from fivefold.core.admission.tables import admit
from fivefold.core.admission.takes import AdmittingEstimator
from fivefold.core.types import Indices, Table, UserTable


class Sequences:
    """Sequences of rows, kept as one table.

    Parameters
    ----------
    X
        a list of tables, one per sequence, or one table with the rows of all of them.
    lengths
        the number of rows of each sequence, if X is one table.

    Examples
    --------
    >>> walks = Sequences([[[0], [1], [2]], [[2], [2]]])
    >>> len(walks), walks.lengths
    (2, array([3, 2]))
    >>> walks[1]
    array([[2],
           [2]])
    >>> walks[[1, 0]].lengths
    array([2, 3])
    """

    def __init__(self, X: UserTable, lengths: ArrayLike | None = None) -> None:
        if lengths is None:
            tables = [_as_table(table, i) for i, table in enumerate(X)]
            lengths = [len(table) for table in tables]
            X = _stacked(tables)
        self.table = _as_table(X, 0)
        self.offsets = sequence_offsets(lengths, len(self.table))

    @property
    def lengths(self) -> Indices:
        """The number of rows of each sequence (S,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Table]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, at: int | np.integer[Any]) -> Table: ...

    @overload
    def __getitem__(self, at: slice | list[int] | Indices) -> Sequences: ...

    def __getitem__(self, at: Any) -> Any:
        """One sequence by its number; several by a slice, a mask or a list of numbers."""
        chosen = np.arange(len(self))[at]
        if np.ndim(chosen):
            return Sequences([self[i] for i in chosen])
        rows = slice(int(self.offsets[chosen]), int(self.offsets[chosen + 1]))
        if isinstance(self.table, np.ndarray):
            return self.table[rows]
        return nw.from_native(self.table)[rows].to_native()

    def __repr__(self) -> str:
        return f"Sequences({len(self)} of {int(self.lengths.min())} to {int(self.lengths.max())} rows)"


def sequence_offsets(lengths: ArrayLike, n: int) -> Indices:
    """Where each sequence begins, and the end of the last (S + 1,), for these lengths, which must sum to n."""
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iuf" or (sizes != np.rint(sizes)).any():
        raise ValueError(f"lengths must be a list of whole numbers, one per sequence; got {lengths!r}")
    if (short := np.flatnonzero(sizes < 1)).size:
        raise ValueError(
            f"sequence {short[0]} has the length {sizes[short[0]]}: a sequence has one row or more. Leave it out"
        )
    if (total := int(sizes.sum())) != n:
        raise ValueError(f"the lengths sum to {total}, but there are {n} rows (n_samples={n})")
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def admit_sequences(
    estimator: AdmittingEstimator, X: UserTable, lengths: ArrayLike | None, *, fitting: bool
) -> tuple[Table, Indices]:
    """The rows of all sequences as one clean table, and the offsets of the sequences."""
    try:
        if isinstance(X, Sequences) or is_list_of_tables(X):
            if lengths is not None:
                raise ValueError("the sequences say how long they are: leave lengths out")
            X = X if isinstance(X, Sequences) else Sequences(X)
            lengths = X.lengths
        rows = X.table if isinstance(X, Sequences) else X
        if type(rows) is np.ndarray and rows.dtype.kind in "iu" and rows.ndim == 2:
            rows = rows.astype(np.float64)  # codes and counts, in the form that is admitted without further questions
        table = admit(estimator, rows, fitting=fitting)
        return table, np.array([0, len(table)]) if lengths is None else sequence_offsets(lengths, len(table))
    except ValueError as error:
        if str(error).startswith(("lengths", "the ", "sequence ")):
            raise ValueError(f"{name_of(estimator)}: {error}") from None
        raise


def is_list_of_tables(X: UserTable) -> bool:
    """Is X a list whose items are tables, not rows?"""
    return (
        isinstance(X, list | tuple) and len(X) > 0 and (np.ndim(X[0]) == 2 or nw.dependencies.is_into_dataframe(X[0]))
    )


def _as_table(table: UserTable, i: int) -> Table:
    if nw.dependencies.is_into_dataframe(table):
        return table
    table = np.asarray(table)
    if table.ndim == 2 and len(table):
        return table
    if not table.size:
        raise ValueError(f"sequence {i} has no rows: a sequence has one row or more. Leave it out")
    raise ValueError(f"sequence {i} must be a table (rows, columns); got the shape {table.shape}")


def _stacked(tables: list[Table]) -> Table:
    if isinstance(tables[0], np.ndarray):
        if len({table.shape[1] for table in tables}) > 1:
            width = tables[0].shape[1]
            i = next(i for i, table in enumerate(tables) if table.shape[1] != width)
            raise ValueError(f"sequence {i} has {tables[i].shape[1]} columns, and sequence 0 has {width}")
        return np.concatenate(tables)
    return nw.concat([nw.from_native(table) for table in tables]).to_native()
