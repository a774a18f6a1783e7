"""How smooth: one choice for all linear smoothers, from their values and leverages at the rows.

    g(x_i) = sum_j l_j(x_i) y_j,  h_i = l_i(x_i)
    leave-one-out              sum_i w_i ((y_i - g(x_i)) / (1 - h_i))^2 / sum_i w_i     nothing is fitted again
    generalised cross-validation   mean squared residual / (1 - mean h)^2
    cross-validation           mean squared error on folds that took no part in the fit

A row of weight two is there twice, and one of the two is left out. Of many rows some take part in the sums, evenly
along an order that the content of the rows decides; of splines and bins, whose leverages cost little, all.

Craven & Wahba (1979), Smoothing noisy data with spline functions; Golub, Heath & Wahba (1979).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix

Criterion = Literal["loo", "gcv", "cv"]
SCORED_PAIRS = 2e7  # pairs of a scored row and a row, about, from which on more are not scored
MIN_SCORED = 1000  # rows that are scored, at least; fewer, but MIN_COSTLY, where windows have many functions to fit
MIN_COSTLY = 200
TIE = 1e-9  # scores that differ by no more than this share are equal: their sums were rounded
MIN_LEFT = 1e-9  # 1 - h below which a row is predicted from its own target alone


class LinearFit(Protocol):
    """A smoother with rows."""

    def row_fits(self, picked: Indices, *, apart: bool) -> tuple[Doubles, Doubles]:
        """Values and leverages, per unit of weight, at some of its rows, relative to the offset.

        `apart`: of a window that would hold as much without the row, for leave-one-out.
        """

    @property
    def y(self) -> Doubles: ...

    @property
    def w(self) -> Doubles: ...


@dataclass(frozen=True)
class SmoothnessSearch:
    """The settings that were tried, and the score of each: a mean squared error."""

    criterion: str
    names: tuple[str, ...]
    settings: Matrix  # (settings, names)
    scores: Doubles  # (settings,)

    @property
    def best(self) -> int:
        """The place of the best setting; of equals, the last: candidates are listed from rough to smooth."""
        least = self.scores.min()
        return int(np.flatnonzero(self.scores <= least * (1 + TIE)).max()) if np.isfinite(least) else -1


def scored_rows(w: Doubles, order: Indices, terms: int) -> tuple[Indices, Doubles]:
    """Rows to score and how often each counts: all, or of many some, evenly along the order, by weight.

    `terms` is the number of functions that are fitted in a window.
    """
    total = float(w.sum())
    count = max(MIN_COSTLY, int(max(MIN_SCORED, SCORED_PAIRS / total) / max(1, terms - 1)))
    if total <= count:
        return np.arange(len(w)), w
    places = np.searchsorted(np.cumsum(w[order]), (np.arange(count) + 0.5) / count * total)
    return order[places.clip(max=len(w) - 1)], np.ones(count)


def left_out_residuals(fit: LinearFit, picked: Indices) -> Doubles:
    """y - (the value without one unit of the row's weight); alone in its window, y - the mean of the others."""
    value, leverage = fit.row_fits(picked, apart=True)
    y = fit.y[picked]
    left = (1.0 - leverage).reshape(-1, *[1] * (y.ndim - 1))
    alone = left <= MIN_LEFT
    total = max(float(fit.w.sum()) - 1.0, MIN_LEFT)
    found: Doubles = np.where(alone, y * (1 + 1 / total), (y - value) / np.where(alone, 1.0, left))
    return found


def score(fit: LinearFit, criterion: str, picked: Indices, counts: Doubles) -> float:
    """The criterion in closed form; infinite where it is not defined."""
    if criterion == "loo":
        return _mean_square(left_out_residuals(fit, picked), counts)
    value, leverage = fit.row_fits(picked, apart=False)
    left = 1.0 - float(counts @ leverage) / float(counts.sum())
    if left <= MIN_LEFT:
        return np.inf
    return _mean_square(fit.y[picked] - value, counts) / left**2


def _mean_square(errors: Doubles, counts: Doubles) -> float:
    """Over rows that count this often, summed over targets."""
    return float(counts @ np.square(errors).reshape(len(errors), -1).sum(axis=1) / counts.sum())
