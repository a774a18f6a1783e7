"""A table whose every column has a few states, for networks of discrete variables.

Words, truth values and numbers of few different values are states as they are; other numbers are cut at quantiles into
intervals; dates, identifiers and texts are left out, with a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from fivefold.study.tables.conversion import TypedColumn
from fivefold.study.tables.files import read_table
from fivefold.study.tables.kinds import raw_columns, type_columns
from fivefold.study.tables.missing_markers import clean_text
from fivefold.study.tables.table import BadInput

MAX_NUMBER_STATES = 10  # numbers with more different values are cut into intervals
MAX_STATES = 100  # a column of words with more different values is no variable of a table


@dataclass(frozen=True)
class DiscreteTable:
    """Columns of labels, the states of each, and what was done to make them."""

    columns: dict[str, list[str | None]]
    states: dict[str, tuple[str, ...]]  # in the order of the numbers, where they are numbers
    notes: tuple[str, ...]


def read_states(
    path: Path,
    *,
    kinds: Mapping[str, str] | None = None,
    header: bool | None = None,
    bins: int = 4,
    known: Mapping[str, Sequence[object]] | None = None,
) -> DiscreteTable:
    """A file as columns of states; `known` are the variables of a network that the columns belong to."""
    table = clean_text(read_table(path, tuple(known or ()), header))
    raw, notes = raw_columns(table)
    if known is not None:
        raw = {name: column for name, column in raw.items() if name in known}
        if not raw:
            raise BadInput(f"{table.name}: no column is called as a variable of the network")
        texts = {name: column.text.to_list() for name, column in raw.items()}
        return DiscreteTable(texts, {name: tuple(map(str, known[name])) for name in raw}, (*table.notes, *notes))
    columns, states = {}, {}
    for typed in type_columns(raw, {**table.kinds, **(kinds or {})}):
        name = typed.values.name
        if why := _unusable(typed):
            notes.append(f"column {name!r} is left out: {why}")
            continue
        if typed.kind == "number":
            columns[name], states[name], note = _number_states(typed.values, bins)
            notes += [note] if note else []
        elif typed.kind == "boolean" and typed.levels:
            words = dict(zip((False, True), typed.levels, strict=False))
            columns[name] = [None if v is None else words[v] for v in typed.values.to_list()]
            states[name] = tuple(typed.levels)
        else:
            columns[name] = [None if v is None else str(v) for v in typed.values.to_list()]
            states[name] = typed.levels or tuple(sorted({v for v in columns[name] if v is not None}))
    if len(columns) < 2:
        raise BadInput(f"{table.name}: a network needs at least two columns with states; {len(columns)} is left")
    return DiscreteTable(columns, states, (*table.notes, *notes))


def _unusable(typed: TypedColumn) -> str | None:
    if typed.useless:
        return typed.useless
    if typed.kind not in ("number", "boolean", "category", "ordinal"):
        return f"it holds values of kind {typed.kind}"
    if typed.kind != "number" and typed.distinct > MAX_STATES:
        return f"it has {typed.distinct} different values, more than {MAX_STATES}"
    return None


def _number_states(values: pl.Series, bins: int) -> tuple[list[str | None], tuple[str, ...], str]:
    """Numbers as labels: themselves if there are few, else intervals between quantiles."""
    numbers = values.cast(pl.Float64).to_numpy()
    given = np.unique(numbers[~np.isnan(numbers)])
    if len(given) <= MAX_NUMBER_STATES:
        labels = tuple(f"{value:g}" for value in given)
        if len(set(labels)) < len(labels):
            labels = tuple(repr(float(value)) for value in given)
        code, note = np.searchsorted(given, numbers), ""
    else:
        inner = np.quantile(numbers[~np.isnan(numbers)], np.linspace(0, 1, bins + 1)[1:-1])
        limits = np.unique(inner)
        edges = [f"{limit:.4g}" for limit in limits]
        if len(set(edges)) < len(edges):
            edges = [repr(float(limit)) for limit in limits]
        labels = (f"below {edges[0]}", *(f"{a} to {b}" for a, b in pairwise(edges)))
        labels = (*labels, f"from {edges[-1]}")
        code = np.searchsorted(limits, numbers, side="right")
        note = f"column {values.name!r} is cut into {len(labels)} intervals at {', '.join(edges)}"
    columns = [None if np.isnan(x) else labels[c] for x, c in zip(numbers, code, strict=True)]
    return columns, labels, note
