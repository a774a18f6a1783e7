"""Surrogate questions: what a row is asked in place of a question whose value is missing.

For a node with two branches every other column is cut, by a threshold in either direction or value by value, so that it
sends as much weight as possible the same way as the question. Surrogates that agree with it more often than sending all
rows into the larger branch are kept, the best first; a row goes by the first whose value it has, otherwise with the
majority.

Breiman, Friedman, Olshen & Stone (1984), section 5.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fivefold.core.types import Array, Codes, Indices, Table, Weights
from fivefold.partition.column_access import midpoint
from fivefold.partition.splitters.multiway_loops import AgreementBuffers, surrogate_agreement

if TYPE_CHECKING:
    from fivefold.partition.tree_arrays.multiway_tree import ValueCodes

MAX_SURROGATES = 5  # surrogates kept per node


SurrogateKey = tuple[float, int] | Indices  # threshold and branch up to it; or the branch of each code, -1 if unknown


class Surrogate(NamedTuple):
    """A question that takes the place of another."""

    feature: int
    discrete: bool
    key: SurrogateKey
    agreement: float  # share of the rows with both values known that both questions send the same way

    def branch(self, x: Array) -> Indices:
        """The branch of each value, -1 where it is missing or unknown."""
        known = ~np.isnan(x)
        if self.discrete:
            codes = np.where(known & (x >= 0), x, 0).astype(np.int64)
            return np.where(known & (x >= 0), np.asarray(self.key)[codes], -1).astype(np.int64)
        threshold, low = self.key
        return np.where(known, np.where(x <= threshold, low, 1 - low), -1).astype(np.int64)


class NodeRows(Protocol):
    """What is known of a node: its rows, and the lists of those whose value is known, per column."""

    @property
    def rows(self) -> Indices:
        """Its rows."""
        ...

    @property
    def order(self) -> Indices:
        """(d, m) row lists of all columns."""
        ...

    @property
    def lo(self) -> int:
        """Where its part of the lists begins."""
        ...

    @property
    def known(self) -> Indices:
        """(d,) number of its rows in each list."""
        ...


def agreement_buffers(n: int) -> AgreementBuffers:
    """Working memory of `find_surrogates` for n rows."""
    (zero, one), (low, high) = np.empty((2, n)), np.empty((2, n), dtype=np.int32)
    best, share = np.empty(MAX_SURROGATES, dtype=np.int64), np.empty(MAX_SURROGATES)
    return AgreementBuffers(zero=zero, one=one, low=low, high=high, best=best, share=share)


def find_surrogates(
    columns: ValueCodes, node: NodeRows, side: Indices, w: Weights, room: AgreementBuffers, feature: int
) -> tuple[Surrogate, ...]:
    """The surrogates of a question about `feature` that sends rows to sides 0 and 1 (-1 where unknown).

    `side` and the weights `w` are indexed by row.
    """
    found, out = np.zeros((len(columns.codes), 6)), []
    count = surrogate_agreement(
        columns.codes, columns.discrete, node.order, node.lo, node.known, side, w, feature, room, found
    )
    for j in room.best[:count].tolist():
        key: SurrogateKey
        agreement, _, known, below, above, first = found[j].tolist()
        if discrete := bool(columns.discrete[j]):
            key = _by_value(columns.codes[j], len(columns.values[j]), node.rows, side, w)
        else:
            values = columns.values[j]
            key = midpoint(values.item(int(below)), values.item(int(above))), int(first)
        out.append(Surrogate(j, discrete, key, agreement / known))
    return tuple(out)


def surrogate_branches(surrogates: tuple[Surrogate, ...], X: Table, branch: Indices) -> Indices:
    """`branch` with entries of -1 replaced by the branch that the first surrogate with a known value gives, if any."""
    out = branch.copy()
    for surrogate in surrogates:
        lost = np.flatnonzero(out == -1)
        if not len(lost):
            break
        out[lost] = surrogate.branch(X[lost, surrogate.feature])
    return out


def _by_value(codes: Codes, levels: int, rows: Indices, side: Indices, w: Weights) -> Indices:
    """The side with the most weight for each code, -1 where no row has the code."""
    rows = rows[(codes[rows] >= 0) & (side[rows] >= 0)]
    table = np.bincount(codes[rows] * 2 + side[rows], w[rows], 2 * levels).reshape(-1, 2)
    return np.where(table.sum(axis=1) > 0, table.argmax(axis=1), -1)
