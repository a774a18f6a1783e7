"""Votes of neighbours: who votes on each query, and what each vote counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Vector


@dataclass(frozen=True)
class Votes:
    """Voters of m queries: those of query i are entries indptr[i] to indptr[i + 1], nearest first."""

    indptr: Indices  # (m + 1,)
    rows: Indices  # numbers among the rows that were kept in fit
    distances: Vector
    weights: Vector | None  # None: all votes are equal

    @property
    def queries(self) -> Indices:
        """The query that each vote is on."""
        m = len(self.indptr) - 1
        return np.repeat(np.arange(m), np.diff(self.indptr))

    def totals(self) -> Doubles:
        """The sum of the votes on each query (m,)."""
        m = len(self.indptr) - 1
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        return np.bincount(self.queries, self.weights, minlength=m).astype(np.float64, copy=False)

    def class_votes(self, codes: Codes, K: int) -> Matrix:
        """The sum of the votes for each class (m, K), where `codes` are the classes of the rows."""
        m = len(self.indptr) - 1
        place = self.queries * K + codes[self.rows]
        return np.bincount(place, self.weights, minlength=m * K).reshape(m, K).astype(np.float64, copy=False)

    def sums(self, y: Array) -> Doubles:
        """The sum of votes times targets (m,) or (m, outputs)."""
        m, of, known = len(self.indptr) - 1, self.queries, y[self.rows]
        columns = known[:, None] if known.ndim == 1 else known
        weighted = columns if self.weights is None else columns * self.weights[:, None]
        found = np.stack([np.bincount(of, column, minlength=m) for column in weighted.T], axis=1)
        return found.reshape(m, *y.shape[1:]).astype(np.float64, copy=False)
