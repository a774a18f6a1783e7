"""Tables whose cells come from different rows of one table: what a model is asked when columns are exchanged."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from fivefold.core.types import Indices, Table


def mixed_rows(X: Table, index: Indices) -> Table:
    """The table whose cell (i, j) is cell (index[i, j], j) of X, an array or a frame of any library.

    Examples
    --------
    >>> mixed_rows(np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0], [0, 0]]))
    array([[1, 4],
           [3, 2],
           [1, 2]])
    """
    if isinstance(X, np.ndarray):
        return np.take_along_axis(X, index, axis=0)
    first, *others = (column[index[:, j]] for j, column in enumerate(_frame(X).iter_columns()))
    return first.to_frame().with_columns(*others).to_native()


def stacked(X: Table, Y: Table) -> Table:
    """The rows of X, then those of Y."""
    if isinstance(X, np.ndarray):
        return np.concatenate([X, np.asarray(Y)])
    return nw.concat([_frame(X), _frame(Y)]).to_native()


def column_names(X: Table) -> list[Any]:
    """The names of the columns; their numbers in an array."""
    return list(range(X.shape[1])) if isinstance(X, np.ndarray) else _frame(X).columns


def column_values(X: Table, column: Any) -> np.ndarray:
    """The values of a column, given by its name, or by its number in an array."""
    names = column_names(X)
    if column not in names:
        raise ValueError(f"the table has no column {column!r}; it has {', '.join(map(repr, names[:8]))}")
    return X[:, column] if isinstance(X, np.ndarray) else _frame(X).get_column(column).to_numpy()


def _frame(X: Table) -> nw.DataFrame[Any]:
    return nw.from_native(X, eager_only=True)
