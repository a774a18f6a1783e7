"""Steps of sequences as columns: where each row stands, and what the rows before and after it hold.

Both encoders look at the rows that they are given and learn nothing, so inside a fold they see its rows alone; and
they find the neighbours of a row by its sequence and order, wherever it stands in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import polars as pl

from fivefold.core.types import Indices, UserTarget
from fivefold.study.preparation.encoders import Encoder
from fivefold.study.tables.column import Column
from fivefold.study.tables.dataset import Data

NEIGHBOURS = 2  # steps before a row, and steps after it, whose columns a learner gets
MANY_COLUMNS = 40  # with more columns than this, one step before and one after are enough
NEIGHBOUR_KINDS = ("number", "ordinal", "boolean", "category")  # of columns whose neighbours are worth having


def step_places(X: pl.DataFrame, sequence: str, order: str) -> Indices:
    """The number of the sequence of each row, and its step in it, from 0, (n, 2).

    A second row at the same place begins a copy of the sequence, so that copies of a table can be stacked.

    Examples
    --------
    >>> frame = pl.DataFrame({"walk": ["b", "a", "b", "b"], "t": [2.0, 1.0, 1.0, 2.0]})
    >>> step_places(frame, "walk", "t").tolist()
    [[1, 1], [0, 0], [1, 0], [2, 0]]
    """
    places = pl.DataFrame({"sequence": X[sequence].rank("dense"), "order": X[order]})
    copy = places.select(pl.int_range(pl.len()).over("sequence", "order")).to_series().to_numpy()
    number = places["sequence"].to_numpy().astype(np.int64)
    _, codes = np.unique(number * (copy.max(initial=0) + 1) + copy, return_inverse=True)
    at = np.lexsort((places["order"].to_physical().to_numpy(), codes))
    counts = np.bincount(codes)
    steps = np.empty(len(codes), dtype=np.int64)
    steps[at] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([codes, steps])


class StepPlaces(Encoder):
    """The two columns that say where a row stands, as numbers: its sequence, and its step there."""

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Learn the names of the two columns."""
        self.names_ = X.columns
        return self

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """Sequence and step of each row, (n, 2)."""
        sequence, order = self.names_
        return step_places(X, sequence, order).astype(np.float64)


class NeighbourColumns(Encoder):
    """The columns of the steps before and after a row, beside its own; missing where a sequence begins or ends.

    Parameters
    ----------
    sequence, order
        names of the columns that say where a row stands.
    columns
        names of the columns whose neighbours are added.
    reach
        how many steps before, and how many after.
    """

    def __init__(self, sequence: str, order: str, columns: Sequence[str], reach: int = 1):
        self.sequence = sequence
        self.order = order
        self.columns = columns
        self.reach = reach

    def fit(self, X: pl.DataFrame, y: UserTarget = None) -> Self:
        """Learn the names of all columns."""
        self.names_ = [*X.columns, *(_neighbour_name(name, k) for k in _shifts(self.reach) for name in self.columns)]
        return self

    def transform(self, X: pl.DataFrame) -> pl.DataFrame:
        """The table with more columns."""
        places = step_places(X, self.sequence, self.order)
        at = np.lexsort((places[:, 1], places[:, 0]))
        codes, n, added = places[at, 0], len(X), list[pl.Series]()
        for k in _shifts(self.reach):
            there = np.clip(np.arange(n) + k, 0, n - 1)
            inside = (np.arange(n) + k == there) & (codes[there] == codes)
            source = np.empty(n, dtype=np.int64)
            source[at] = np.where(inside, at[there], -1)
            index = pl.Series(source).cast(pl.UInt32, strict=False)  # null where there is no neighbour
            for name in self.columns:
                values = X.select(pl.col(name).gather(index)).to_series()
                values = values.fill_null(float("nan")) if values.dtype.is_float() else values
                added.append(values.alias(_neighbour_name(name, k)))
        return X.with_columns(added)


def neighbour_encoder(data: Data) -> NeighbourColumns:
    """The encoder for the columns of a table."""
    named = [column.name for column in data.columns if column.kind in NEIGHBOUR_KINDS]
    return NeighbourColumns(data.sequence_column, data.order_column, named, _reach(data))


def with_neighbours(data: Data) -> Data:
    """What is known about the columns after `neighbour_encoder`; the values stay as they are."""
    own = [column for column in data.columns if column.kind in NEIGHBOUR_KINDS]
    added = [_renamed(column, k) for k in _shifts(_reach(data)) for column in own]
    return replace(data, columns=(*data.columns, *added))


def _reach(data: Data) -> int:
    return NEIGHBOURS if len(data.columns) <= MANY_COLUMNS else 1


def _shifts(reach: int) -> list[int]:
    return [k for k in range(-reach, reach + 1) if k]


def _renamed(column: Column, k: int) -> Column:
    return replace(column, name=_neighbour_name(column.name, k))


def _neighbour_name(name: str, k: int) -> str:
    return f"{name} ({abs(k)} {'before' if k < 0 else 'after'})"
