"""Surrogate questions: what a row is asked in place of a question whose value it lacks.

For a node of two branches every other column is cut, by a threshold in either direction or value by value, so that it
sends as much weight as possible the way the question does. Surrogates that agree more often than sending all rows into
the larger branch are kept, the best first; a row goes by the first whose value it has, and with the majority after all.

Breiman, Friedman, Olshen & Stone (1984), section 5.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

KEPT = 5  # surrogates of a node
MORE = 1e-9  # an agreement must be above the majority by more than rounding


class Surrogate(NamedTuple):
    """A question that stands for another."""

    feature: int
    discrete: bool
    key: Any  # a threshold and the branch of values up to it; or the branch of each code, -1 where unknown
    agreement: float  # share of the rows with both values that both questions send the same way

    def branch(self, x: Any) -> Any:
        """The branch of each value, -1 where it is missing or unknown."""
        known = ~np.isnan(x)
        if self.discrete:
            codes = np.where(known & (x >= 0), x, 0).astype(np.int64)
            return np.where(known & (x >= 0), np.asarray(self.key)[codes], -1).astype(np.int64)
        threshold, low = self.key
        return np.where(known, np.where(x <= threshold, low, 1 - low), -1).astype(np.int64)


def surrogates_of(columns: Any, rows: Any, w: Any, branch: Any, feature: int) -> tuple[Surrogate, ...]:
    """The surrogates of a question about `feature` that sends rows into branches 0 and 1 (-1 where unknown)."""
    sent = branch >= 0
    rows, w, branch = rows[sent], w[sent], branch[sent]
    found = []
    for j in range(len(columns.codes)):
        codes = columns.codes[j, rows]
        known = codes >= 0
        if j == feature or not known.any():
            continue
        levels = len(columns.values[j])
        place = codes[known] * 2 + branch[known]
        table = np.bincount(place, w[known], 2 * levels).reshape(levels, 2)  # weight by code and branch
        usual, all_ = table.sum(axis=0).max(), table.sum()
        rule = _by_value if columns.discrete[j] else _by_threshold
        agreed, key = rule(table, columns.values[j])
        if agreed > usual + MORE * all_:
            found.append(Surrogate(j, bool(columns.discrete[j]), key, float(agreed / all_)))
    found.sort(key=lambda s: -round(s.agreement, 9))  # stable: of equal ones the first column
    return tuple(found[:KEPT])


def filled(surrogates: tuple[Surrogate, ...], X: Any, branch: Any) -> Any:
    """The branches of rows X, those that are -1 by the first surrogate that knows; -1 where none does."""
    out = branch.copy()
    for surrogate in surrogates:
        lost = np.flatnonzero(out == -1)
        if not len(lost):
            break
        out[lost] = surrogate.branch(X[lost, surrogate.feature])
    return out


def _by_value(table: Any, values: Any) -> tuple[float, Any]:
    return float(table.max(axis=1).sum()), np.where(table.sum(axis=1) > 0, table.argmax(axis=1), -1)


def _by_threshold(table: Any, values: Any) -> tuple[float, Any]:
    present = np.flatnonzero(table.sum(axis=1) > 0)
    if len(present) < 2:
        return 0.0, None
    below = np.cumsum(table[present[:-1]], axis=0)
    total = table.sum(axis=0)
    agreed = np.stack([below[:, 0] + total[1] - below[:, 1], below[:, 1] + total[0] - below[:, 0]], axis=1)
    i, low = np.unravel_index(int(np.argmax(agreed >= agreed.max() * (1 - 1e-10))), agreed.shape)
    middle = values[present[i]] / 2 + values[present[i + 1]] / 2
    return float(agreed[i, low]), (float(middle if middle < values[present[i + 1]] else values[present[i]]), int(low))
