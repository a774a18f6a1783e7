"""Counts of a variable and its parents, from a table of codes.

The configuration of several columns is one whole number, digits to mixed bases, the last column changing fastest. With
the configuration of a family as first axis, one pass over the rows counts the states of many further columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from fivefold.core.types import Doubles, Indices
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.family_count_loops import add_to_cells, count_bits

MAX_CELLS = 2**24  # cells of one table of counts: 128 MB
COLUMNS_PER_PASS = 8  # candidate columns that one pass over the rows counts: their tables fit the first-level cache
# Cells of a table up to which counting ones in bit rows is faster than adding rows up: a word of 64 rows takes about
# as long as one addition
MAX_BIT_CELLS = 128


@dataclass(frozen=True)
class Configurations:
    """Configurations of some columns, renumbered where there are many more than rows."""

    table: CodedTable
    columns: tuple[int, ...]

    @cached_property
    def full_count(self) -> float:
        """The number of all configurations."""
        return prod(float(self.table.levels[j]) for j in self.columns)

    @property
    def is_renumbered(self) -> bool:
        return self.full_count > self._most

    @property
    def count(self) -> int:
        """The number of codes: of those configurations that occur, if they are renumbered."""
        return self._renumbered[1] if self.is_renumbered else int(self.full_count)

    @property
    def codes(self) -> Indices:
        """The configuration of each row; `count` where one of the columns is missing."""
        return self._renumbered[0]

    @property
    def _most(self) -> int:
        return max(4 * self.table.codes.shape[1], 4096)

    @cached_property
    def _renumbered(self) -> tuple[Indices, int]:
        table, n = self.table, self.table.codes.shape[1]
        codes, count, missing = np.zeros(n, dtype=np.int64), 1, np.zeros(n, dtype=bool)
        for j in self.columns:
            codes *= table.levels[j]
            codes += table.codes[j]
            count *= table.levels[j]
            if table.incomplete[j]:
                missing |= table.codes[j] >= table.levels[j]
            if count > self._most:
                codes[missing] = 0
                seen, codes = np.unique(codes, return_inverse=True)
                count = len(seen)
        codes[missing] = count
        return codes, count


def family_table(table: CodedTable, child: int, parents: Sequence[int]) -> Doubles:
    """Weights of the rows of every configuration of the parents and state of the child: an axis per parent, then it."""
    shape = tuple(table.levels[j] for j in (*parents, child))
    if prod(shape) > MAX_CELLS:
        names = ", ".join(table.variables.nodes[j] for j in parents)
        raise ValueError(
            f"the table of {table.variables.nodes[child]!r} given {names} has {prod(shape)} cells, more than "
            f"{MAX_CELLS}; allow fewer parents"
        )
    joint = Configurations(table, (*parents, child))
    if joint.is_renumbered:  # renumbered: the cells are few, and so can be named one by one
        found = np.zeros(shape)
        known = (table.codes[[*parents, child]] < np.array(shape)[:, None]).all(axis=0)
        np.add.at(found, tuple(table.codes[j][known] for j in (*parents, child)), table.weights[known])
        return found
    counts = np.bincount(joint.codes, table.weights, minlength=joint.count + 1)[: joint.count]
    return counts.astype(np.float64).reshape(shape)


@dataclass(frozen=True)
class CandidateCounts:
    """Tables [configuration, state of a candidate], end to end, of some candidate columns."""

    counts: Doubles
    offsets: Indices  # where the table of each candidate begins


def candidate_counts(at: Configurations, columns: Indices) -> CandidateCounts:
    """Counts of the configurations with the states of each candidate column."""
    table, levels = at.table, np.array(at.table.levels)[columns]
    gaps = table.incomplete[columns]
    if counts_bits(at, columns):
        offsets = np.concatenate([[0], np.cumsum(at.count * levels)])
        counts, scratch = np.zeros(offsets[-1]), np.empty_like(table.bits[0])
        base = np.array(at.columns, dtype=np.int64)
        count_bits(table.bits, table.bit_starts, base, columns, levels, offsets[:-1], counts, scratch)
        return CandidateCounts(counts, offsets[:-1])
    strides = levels + gaps
    sizes = (at.count + 1) * strides  # the last configuration takes rows with missing values
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.zeros(offsets[-1])
    add_to_cells(table.codes, columns, strides, offsets[:-1], at.codes, table.weights, counts)
    if not gaps.any():
        return CandidateCounts(counts, offsets[:-1])
    tables = [
        counts[start : start + size].reshape(-1, stride)[: at.count, :m].ravel()
        for start, size, stride, m in zip(offsets, sizes, strides, levels, strict=False)
    ]
    ends = np.cumsum([0, *map(len, tables)])
    return CandidateCounts(np.concatenate(tables), ends[:-1])


def counts_bits(at: Configurations, columns: Indices) -> bool:
    """Are the tables small enough for bit rows, and has every row the weight one?"""
    table = at.table
    small = at.full_count * np.array(table.levels)[columns].mean() <= MAX_BIT_CELLS
    return bool(small and table.is_unweighted and not table.incomplete[[*at.columns, *columns]].any())
