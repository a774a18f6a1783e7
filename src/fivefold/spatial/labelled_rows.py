"""Distinct rows with their labels and total weights, in an order that depends on their values alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices, Matrix, Weights
from fivefold.spatial.row_order import content_order


class LabelledRows(NamedTuple):
    """Each pair of a row and its label once: neither repetition in place of weight nor the order of rows matters."""

    X: Matrix  # (n, d)
    y: Codes  # (n,)
    w: Doubles  # (n,) weight of all copies
    numbers: Indices  # (n,) of the first copy in the table of fit

    @classmethod
    def of(cls, X: Matrix, y: Codes, w: Weights) -> LabelledRows:
        """The distinct rows of a table."""
        order = content_order(X, y).astype(np.int64)
        Z, codes = X[order], y[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (Z[1:] != Z[:-1]).any(axis=1) | (codes[1:] != codes[:-1])
        starts = np.flatnonzero(new)
        return cls(Z[starts], codes[starts], np.add.reduceat(w[order], starts), np.minimum.reduceat(order, starts))

    def by_label(self) -> LabelledRows:
        """The same, those of the first label first."""
        order = np.argsort(self.y, kind="stable")
        return LabelledRows(self.X[order], self.y[order], self.w[order], self.numbers[order])
