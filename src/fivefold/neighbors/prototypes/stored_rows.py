"""A growing and shrinking set of stored rows, and how many rows of a table its nearest neighbours classify wrongly.

For every row of the table the k nearest stored ones are kept, so that storing a further row costs one pass over the
table, and removing one costs a search for those rows alone that had it among their k.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices
from fivefold.spatial.labelled_rows import LabelledRows
from fivefold.spatial.search import NeighborIndex


class StoredRows:
    """Rows of a table, each stored as often as `counts` says, and the votes of the k nearest of them."""

    def __init__(self, rows: LabelledRows, index: NeighborIndex, k: int, K: int) -> None:
        n = len(rows.y)
        self.rows, self.index, self.k, self.K = rows, index, k, K
        self.counts = np.zeros(n, dtype=np.int64)
        self.near = np.full((n, k), np.inf)  # distances of the k nearest stored rows
        self.who = np.full((n, k), -1)  # their numbers; -1: there are fewer
        self.wrong = np.ones(n, dtype=bool)

    @property
    def size(self) -> int:
        """How many rows are stored."""
        return int(self.counts.sum())

    def errors(self, wrong: Codes | None = None) -> float:
        """The weight of the rows that the stored ones classify wrongly."""
        return float(self.rows.w[self.wrong if wrong is None else wrong].sum())

    def store(self, row: int) -> None:
        """Store a row, once more if it is stored already."""
        self.counts[row] += 1
        changed, near, who = self._with(row)
        self.near[changed], self.who[changed] = near, who
        self.wrong[changed] = self._is_wrong(changed, who)

    def remove(self, row: int) -> None:
        """Remove one copy of a stored row."""
        changed, near, who = self._without(row)
        self.counts[row] -= 1
        self.near[changed], self.who[changed] = near, who
        self.wrong[changed] = self._is_wrong(changed, who)

    def errors_with(self, row: int) -> float:
        """The errors that there would be with one more copy of a row."""
        return self._errors_after(*self._with(row)[::2])

    def errors_without(self, row: int) -> float:
        """The errors that there would be with one copy of a row less."""
        return self._errors_after(*self._without(row)[::2])

    def _errors_after(self, changed: Indices, who: Indices) -> float:
        wrong = self.wrong.copy()
        wrong[changed] = self._is_wrong(changed, who)
        return self.errors(wrong)

    def _with(self, row: int) -> tuple[Indices, Doubles, Indices]:
        """The rows to which a further stored row is among the k nearest, and their lists with it."""
        d = np.asarray(self.index.distances(self.rows.X[row : row + 1]), dtype=np.float64)[0]
        d[row] = 0.0
        changed = np.flatnonzero(d < self.near[:, -1])
        near = np.column_stack([self.near[changed], d[changed]])
        who = np.column_stack([self.who[changed], np.full(len(changed), row)])
        order = np.argsort(near, axis=1, kind="stable")[:, : self.k]
        return changed, np.take_along_axis(near, order, 1), np.take_along_axis(who, order, 1)

    def _without(self, row: int) -> tuple[Indices, Doubles, Indices]:
        """The rows that have a stored row among their k nearest, and their lists with one copy less of it."""
        changed = np.flatnonzero((self.who == row).any(axis=1))
        kept = np.repeat(np.arange(len(self.counts)), self.counts)
        kept = np.delete(kept, np.searchsorted(kept, row))
        near, who = np.full((len(changed), self.k), np.inf), np.full((len(changed), self.k), -1)
        if len(kept) and len(changed):
            found = min(self.k, len(kept))
            D = np.asarray(self.index.distances(self.rows.X[changed]), dtype=np.float64)
            D[np.arange(len(changed)), changed] = 0.0
            D = D[:, kept]
            order = np.argsort(D, axis=1, kind="stable")[:, :found]
            near[:, :found], who[:, :found] = np.take_along_axis(D, order, 1), kept[order]
        return changed, near, who

    def _is_wrong(self, of: Indices, who: Indices) -> Codes:
        """Does the vote of these stored rows differ from the label? Of classes with as many votes the first wins."""
        if self.k == 1:
            return np.asarray((who[:, 0] < 0) | (self.rows.y[who[:, 0]] != self.rows.y[of]))
        votes = np.zeros((len(of), self.K))
        known = who >= 0
        np.add.at(votes, (np.nonzero(known)[0], self.rows.y[who[known]]), 1.0)
        return np.asarray((votes.argmax(axis=1) != self.rows.y[of]) | ~known.any(axis=1))
