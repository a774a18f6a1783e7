"""Regressogram: the mean target, or the least-squares line, of the rows in each bin.

    bins  [o + j h, o + (j + 1) h)                     cells of a grid in many columns
    g(x) = mean of y over the rows in the bin of x     or a line fitted to them

It is to regression what the histogram is to densities: a step function, or lines that do not meet.

Tukey (1961), Curves as parameters, and touch estimation.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core._sklearn import Tags
from fivefold.core.estimators.params import Positive
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Indices, Labels, Matrix
from fivefold.smoothing.base import WIDTHS, LinearSmoother
from fivefold.smoothing.local_fits.local_regression import EmptyPolicy
from fivefold.smoothing.local_fits.smoothness_selection import Criterion
from fivefold.spatial.distances import squared_distances

MAX_CELL = 2.0**62  # numbers of cells beyond this are those of the outermost one
SLOPE_ROUNDING = 1e-12  # of the eigenvalues of a scatter, below which rows of a bin lie in a plane
QUERY_BLOCK = 1024  # empty queries that are compared with all bins at a time


@dataclass(frozen=True)
class BinnedRows:
    """Rows as bins of any width take them."""

    rows: Doubles  # (n, d)
    y: Doubles  # (n,), relative to the offset
    w: Doubles  # (n,)
    offset: float
    origin: Doubles  # (d,)
    degree: int
    empty: EmptyPolicy

    @property
    def order(self) -> Indices:
        return np.arange(len(self.y))


@dataclass(frozen=True)
class BinnedFit:
    """The plane of each bin, which is flat for means."""

    data: BinnedRows
    width: float
    cells: Codes  # (m, d) of the bins that hold rows, in the order of their bytes
    weight: Doubles  # (m,)
    centre: Doubles  # (m, d) mean row
    height: Doubles  # (m,) mean target, relative to the offset
    slope: Doubles  # (m, d)
    spread: Doubles  # (m, d, d) inverse scatter of the rows; (m, 0, 0) for means

    @classmethod
    def of(cls, data: BinnedRows, width: float) -> BinnedFit:
        """Fit every bin."""
        cells = _cells(data.rows, data.origin, width)
        keys, codes = np.unique(_keys(cells), return_inverse=True)
        d, m = cells.shape[1], len(keys)
        weight = np.bincount(codes, data.w).astype(np.float64)
        about = data.w @ data.rows / data.w.sum()  # sums about the mean lose no digits to an offset
        centre = np.column_stack([np.bincount(codes, data.w * column) / weight for column in (data.rows - about).T])
        centre += about
        height = np.bincount(codes, data.w * data.y) / weight
        slope, spread = np.zeros((m, d)), np.zeros((m, 0, 0))
        if data.degree:
            Z, rest = data.rows - centre[codes], data.w * (data.y - height[codes])
            moments = [np.bincount(codes, data.w * Z[:, i] * Z[:, j]) for i in range(d) for j in range(d)]
            spread = np.linalg.pinv(np.stack(moments, axis=1).reshape(m, d, d), rcond=SLOPE_ROUNDING, hermitian=True)
            cross = np.column_stack([np.bincount(codes, Z[:, j] * rest) for j in range(d)])
            slope = np.einsum("kij,kj->ki", spread, cross)
        return cls(data, width, keys.view(np.int64).reshape(m, d), weight, centre, height, slope, spread)

    @property
    def y(self) -> Doubles:
        return self.data.y

    @property
    def w(self) -> Doubles:
        return self.data.w

    @property
    def order(self) -> Indices:
        return self.data.order

    def row_fits(self, picked: Indices, *, apart: bool) -> tuple[Doubles, Doubles]:
        """Values and leverages at some of the rows; a bin is where it is without the row, too."""
        rows = self.data.rows[picked]
        at, _ = self._bins(rows)
        leverage = 1.0 / self.weight[at]
        if self.data.degree:
            Z = rows - self.centre[at]
            leverage += np.einsum("ni,nij,nj->n", Z, self.spread[at], Z)
        return self._planes(rows, at), leverage

    def __call__(self, X: Matrix) -> Doubles:
        Z: Doubles = np.asarray(X, dtype=np.float64)
        at, found = self._bins(Z)
        out = self._planes(Z, at) + self.data.offset
        if not found.all():
            lost = np.flatnonzero(~found)
            if self.data.empty == "error":
                raise ValueError(
                    f"Regressogram: no row is in the bin of row {lost[0]}, nor of {len(lost) - 1} others. Take wider "
                    "bins, or empty='nearest'"
                )
            out[lost] = self._nearest(Z[lost]) + self.data.offset if self.data.empty == "nearest" else np.nan
        return out

    def _planes(self, X: Doubles, at: Indices) -> Doubles:
        out: Doubles = self.height[at]
        return out + ((X - self.centre[at]) * self.slope[at]).sum(axis=1) if self.data.degree else out

    def _bins(self, X: Doubles) -> tuple[Indices, Labels]:
        """The bin of each row, and whether there is one."""
        asked, known = _keys(_cells(X, self.data.origin, self.width)), _keys(self.cells)
        at = np.searchsorted(known, asked).clip(max=len(known) - 1)
        return at, known[at] == asked

    def _nearest(self, X: Doubles) -> Doubles:
        """The value at the nearest point of the nearest bin."""
        out = np.empty(len(X))
        middle = self.data.origin + (self.cells + 0.5) * self.width
        for a in range(0, len(X), QUERY_BLOCK):
            block = X[a : a + QUERY_BLOCK]
            at = squared_distances(block, middle).argmin(axis=1)
            half = self.width / 2
            out[a : a + QUERY_BLOCK] = self._planes(np.clip(block, middle[at] - half, middle[at] + half), at)
        return out


class Regressogram(LinearSmoother):
    """Regression by the mean target, or a line, of each bin.

    Parameters
    ----------
    width
        of the bins, in every column, or the criterion by which it is chosen.
    degree
        0 for the mean of a bin, 1 for its least-squares line or plane.
    origin
        where a bin begins, in every column; None for the least value of each.
    empty
        what a query has whose bin holds no row: the value at the closest point of the nearest bin that does, NaN, or an
        error.

    Examples
    --------
    >>> from fivefold.smoothing import Regressogram
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 8.0]
    >>> Regressogram(2.0).fit(X, y).predict([[0.5], [3.0], [9.0]])
    array([1., 6., 6.])
    >>> Regressogram(2.0, degree=1).fit(X, y).predict([[0.5], [3.5]])
    array([ 1., 10.])
    """

    width: Positive | Criterion = "loo"
    _: KW_ONLY
    degree: Literal[0, 1] = 0
    origin: float | None = None
    empty: EmptyPolicy = "nearest"

    card = Card(
        applications=("regression", "visualization"),
        use="A first picture of a relation, and very many rows of one or two columns. The edges of the bins decide the "
        "result; RunningMean has a window around every query instead.",
        steps=(
            "Put the rows into bins of equal width.",
            "Return the mean target, or the line, of the bin of the query.",
        ),
        source="Tukey (1961)",
        see_also=("RunningMean", "RunningLine"),
        variants=({"width": 4.0, "degree": 1}, {"width": "gcv", "origin": 0.0}),
    )

    _is_linear_in_rows = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # in the ten columns of scikit-learn's check almost every cell is empty
        return tags

    @property
    def width_(self) -> float:
        return float(self.model_.smoother.width)

    def _prepare(self, X: Doubles, y: Doubles, w: Doubles) -> BinnedRows:
        origin = X.min(axis=0) if self.origin is None else np.full(X.shape[1], float(self.origin))
        offset = float(w @ y / w.sum())
        return BinnedRows(X, y - offset, w, offset, origin, self.degree, self.empty)

    def _with(self, prepared: BinnedRows, settings: dict[str, Any]) -> BinnedFit:
        return BinnedFit.of(prepared, float(settings["width"]))

    def _candidates(self, prepared: BinnedRows, name: str) -> list[float]:
        centred = prepared.rows - prepared.w @ prepared.rows / prepared.w.sum()
        spread = float(np.sqrt(prepared.w @ np.square(centred).sum(axis=1) / prepared.w.sum()))
        return list(2 * WIDTHS * spread) if spread > 0 else [1.0]


def _cells(X: Doubles, origin: Doubles, width: float) -> Codes:
    """The number of the bin of each row in each column."""
    return np.ascontiguousarray(np.floor((X - origin) / width).clip(-MAX_CELL, MAX_CELL).astype(np.int64))


def _keys(cells: Codes) -> Labels:
    """Cells as keys that can be sorted and found: numbers in one column, bytes in many."""
    if cells.shape[1] == 1:
        return cells[:, 0]
    return cells.view(np.dtype((np.void, 8 * cells.shape[1])))[:, 0]
