"""Tables whose rows are steps of sequences: which sequence each row belongs to, and where it stands in it.

A sequence is all rows with the same value in one column; another column, of numbers or dates, orders them. The rows of
a table are sorted by sequence and order when it is read, so any part of it that holds whole sequences holds their
steps in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fivefold.study.formatting import format_count
from fivefold.study.tables.column import Column
from fivefold.study.tables.conversion import TypedColumn
from fivefold.study.tables.table import BadInput, Table

if TYPE_CHECKING:
    from fivefold.study.tables.dataset import Data


@dataclass(frozen=True)
class Steps:
    """The sequence and the order of every row."""

    codes: np.ndarray  # (n,) number of the sequence
    values: tuple[pl.Series, pl.Series]  # names of sequences as text; numbers or dates
    columns: tuple[Column, Column]  # what is known about both


def make_steps(codes: np.ndarray, names: pl.Series, order: TypedColumn, table: Table) -> Steps:
    """The steps of a table; two steps of a sequence at the same place are refused."""
    sequence = Column(names.name, "identifier", names.n_unique(), 0)
    place = Column(order.values.name, order.kind, order.values.n_unique(), 0, format=order.format)
    refuse_ties(names, order.values, table)
    return Steps(codes, (names, order.values), (sequence, place))


def refuse_ties(names: pl.Series, order: pl.Series, table: Table) -> None:
    """Refuse rows of one sequence that stand at the same place."""
    places = pl.DataFrame({"sequence": names, "order": order})
    again = places.is_duplicated().to_numpy()
    if not again.any():
        return
    first = places.row(int(again.argmax()))
    same = (places["sequence"] == first[0]) & (places["order"] == first[1])
    count = len(places.filter(pl.Series(again)).unique())
    others = f", and {format_count(count - 1, 'other place')} like it" if count > 1 else ""
    raise BadInput(
        f"{table.name}: sequence {first[0]!r} has {format_count(int(same.sum()), 'row')} with {order.name} = "
        f"{first[1]}, {table.where(same.to_numpy())}{others}; every step of a sequence needs a place of its own: "
        "remove copies, or name another column with --order"
    )


def refuse_split_sequences(groups: np.ndarray, names: pl.Series, table: Table) -> None:
    """Refuse sequences that belong to several groups."""
    spread = pl.DataFrame({"sequence": names, "group": groups}).group_by("sequence", maintain_order=True).n_unique()
    several = spread.filter(pl.col("group") > 1)["sequence"]
    if len(several):
        raise BadInput(
            f"{table.name}: {format_count(len(several), 'sequence')} belong to several groups, such as "
            f"{several[0]!r}; a sequence is never split, so --group must name a column that is the same in all its rows"
        )


def sorted_steps(data: Data) -> Data:
    """The table with its rows sorted by sequence, and by order within each."""
    assert data.sequences is not None
    at = np.lexsort((data.X[data.order_column].to_physical().to_numpy(), data.sequences))
    return replace(data.take(at), rows=None if data.rows is None else data.rows[at])


def sequence_lengths(sequences: np.ndarray) -> np.ndarray:
    """The number of rows of each sequence."""
    return np.unique(sequences, return_counts=True)[1]


def describe_lengths(sequences: np.ndarray) -> str:
    """How many sequences there are, and how long they are, in words.

    Examples
    --------
    >>> describe_lengths(np.array([0, 0, 1, 1, 1])), describe_lengths(np.array([0, 0, 1, 1]))
    ('2 sequences of 2 to 3 rows (median 2.5)', '2 sequences of 2 rows')
    """
    lengths = sequence_lengths(sequences)
    count, low, high = format_count(len(lengths), "sequence"), int(lengths.min()), int(lengths.max())
    if low == high:
        return f"{count} of {format_count(low, 'row')}"
    return f"{count} of {low:,} to {high:,} rows (median {np.median(lengths):,g})"


def copied_sequences(data: Data) -> list[str]:
    """A warning if sequences repeat an earlier one, step by step, target included."""
    assert data.sequences is not None
    own = data.X.drop(data.sequence_column, data.order_column).with_columns(pl.Series("\0target", data.y))
    hashes = pl.DataFrame({"sequence": data.sequences, "step": own.hash_rows()})
    whole = (
        hashes.group_by("sequence", maintain_order=True)
        .agg(pl.col("step"))["step"]
        .list.eval(pl.element().cast(pl.String))
    )
    again = int((~whole.list.join(" ").is_first_distinct()).sum())
    if not again:
        return []
    said = f"{format_count(again, 'sequence')} of {len(whole):,} {'repeats' if again == 1 else 'repeat'} an earlier one"
    return [f"{said} step by step: copies may be in both training and test rows: remove them"]
