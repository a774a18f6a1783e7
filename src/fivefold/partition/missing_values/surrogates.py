"""Surrogate questions: what a row is asked in place of a question whose value it lacks.

For a node of two branches every other column is cut, by a threshold in either direction or value by value, so that it
sends as much weight as possible the way the question does. Surrogates that agree more often than sending all rows into
the larger branch are kept, the best first; a row goes by the first whose value it has, and with the majority after all.

Breiman, Friedman, Olshen & Stone (1984), section 5.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.types import Array, Codes, Indices, Table, Weights
from fivefold.partition.splitters.multiway_loops import (
    AGREEMENT,
    BELOW,
    BRANCH_BELOW,
    KNOWN_WEIGHT,
    MAJORITY,
    surrogate_agreement,
)

MAX_SURROGATES = 5  # surrogates of a node
MIN_ADVANTAGE = 1e-9  # an agreement must be above the majority by more than rounding


class Surrogate(NamedTuple):
    """A question that stands for another."""

    feature: int
    discrete: bool
    key: Any  # a threshold and the branch of values up to it; or the branch of each code, -1 where unknown
    agreement: float  # share of the rows with both values that both questions send the same way

    def branch(self, x: Array) -> Any:
        """The branch of each value, -1 where it is missing or unknown."""
        known = ~np.isnan(x)
        if self.discrete:
            codes = np.where(known & (x >= 0), x, 0).astype(np.int64)
            return np.where(known & (x >= 0), np.asarray(self.key)[codes], -1).astype(np.int64)
        threshold, low = self.key
        return np.where(known, np.where(x <= threshold, low, 1 - low), -1).astype(np.int64)


class ThresholdBuffers(NamedTuple):
    """Working memory for the thresholds of a column: their agreements, and the codes on either side (n,)."""

    agreement: Any
    low: Any
    high: Any


def find_surrogates(
    columns: Any, node: Any, side: Any, w: Any, places: ThresholdBuffers, feature: int
) -> tuple[Surrogate, ...]:
    """The surrogates of a question about `feature` that sends rows to sides 0 and 1 (-1 where unknown).

    `node` has the lists of rows of the columns; `side` and the weights `w` are by row.
    """
    found = np.zeros((len(columns.codes), 6))
    surrogate_agreement(
        columns.codes, columns.discrete, node.order, node.lo, node.known, side, w, feature, *places, found
    )
    fits = np.flatnonzero(found[:, AGREEMENT] > found[:, MAJORITY] + MIN_ADVANTAGE * found[:, KNOWN_WEIGHT])
    share = found[fits, AGREEMENT] / found[fits, KNOWN_WEIGHT]
    best = np.argsort(-np.round(share, 9), kind="stable")[:MAX_SURROGATES]  # of equal ones the first column
    out = []
    for j, agreement in zip(fits[best].tolist(), share[best].tolist(), strict=True):
        discrete = bool(columns.discrete[j])
        if discrete:
            key = _by_value(columns.codes[j], len(columns.values[j]), node.rows, side, w)
        else:
            key = _threshold(columns.values[j], *found[j, BELOW : BRANCH_BELOW + 1].astype(np.int64).tolist())
        out.append(Surrogate(j, discrete, key, agreement))
    return tuple(out)


def surrogate_branches(surrogates: tuple[Surrogate, ...], X: Table, branch: Any) -> Any:
    """The branches of rows X, those that are -1 by the first surrogate that knows; -1 where none does."""
    out = branch.copy()
    for surrogate in surrogates:
        lost = np.flatnonzero(out == -1)
        if not len(lost):
            break
        out[lost] = surrogate.branch(X[lost, surrogate.feature])
    return out


def _by_value(codes: Codes, levels: int, rows: Indices, side: Any, w: Weights) -> Any:
    """The side of most weight for each code, -1 where no row has it."""
    rows = rows[(codes[rows] >= 0) & (side[rows] >= 0)]
    table = np.bincount(codes[rows] * 2 + side[rows], w[rows], 2 * levels).reshape(-1, 2)
    return np.where(table.sum(axis=1) > 0, table.argmax(axis=1), -1)


def _threshold(values: Array, low: int, high: int, first: int) -> tuple[float, int]:
    middle = values[low] / 2 + values[high] / 2
    return float(middle if middle < values[high] else values[low]), first
