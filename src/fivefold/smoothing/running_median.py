"""Running median: the median target of the rows within a window.

    g(x) = median of y_i over the rows with |x - x_i| < h

One gross error in a window of three rows or more changes it little, where a running mean follows it. The median is no
sum of targets, so its width is chosen on folds.

Tukey (1977), Exploratory data analysis.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Positive
from fivefold.core.parallel import are_whole
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.smoothing.base import CANDIDATES, Smoother
from fivefold.smoothing.local_fits.local_regression import (
    CHUNK_WORK,
    EmptyPolicy,
    LocalRegression,
    Shape,
    in_chunks,
    queries_per_block,
)
from fivefold.smoothing.local_fits.window_median_loops import listed_medians, sorted_medians
from fivefold.spatial.search import NeighborIndex


@dataclass(frozen=True)
class WindowMedians:
    """Rows, with the ranks of their targets."""

    local: LocalRegression  # its windows
    rank: Indices  # (n,)
    ascending: Doubles  # (n,) targets, sorted

    @classmethod
    def of(cls, local: LocalRegression) -> WindowMedians:
        order = np.argsort(local.y, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return cls(local, rank, local.y[order])

    def __call__(self, X: Matrix) -> Doubles:
        local, n = self.local, len(self.rank)
        Z = local.white(X)
        order = np.argsort(Z[:, 0], kind="stable") if Z.shape[1] == 1 else np.arange(len(Z))
        Z, found, totals = Z[order], np.zeros(len(Z)), np.zeros(len(Z))
        index = NeighborIndex(local.rows)
        one_column, whole = Z.shape[1] == 1, are_whole(local.w)

        def chunk(lo: int, hi: int) -> None:
            trees = np.zeros((2, n + 1))
            last = self.rank, self.ascending
            out = trees[0], trees[1], found[lo:hi], totals[lo:hi]
            if one_column:
                queries = np.ascontiguousarray(Z[lo:hi, 0])
                sorted_medians(queries, local.rows[:, 0], local.w, *last, local.width, whole, *out)
            else:
                found_rows = local.windows(Z[lo:hi], index)
                inside = found_rows.squares < local.width**2
                ends = np.concatenate([[0], np.cumsum(inside)])[found_rows.indptr]
                listed_medians(ends, found_rows.rows[inside], local.w, *last, *out)

        in_chunks(chunk, len(Z), 64.0 if one_column else CHUNK_WORK / queries_per_block(n))
        found += local.offset
        if (lost := np.flatnonzero(totals == 0)).size:
            if local.empty == "error":
                local.values(Z[lost])  # refuses, in words
            found[lost] = local.nearest_targets(Z[lost]) if local.empty == "nearest" else np.nan
        out = np.empty(len(Z))
        out[order] = found
        return out


class RunningMedian(Smoother):
    """Regression by the median target of the rows that are closer than a width.

    Parameters
    ----------
    width
        the distance from the query within which rows count; "cv" chooses it on folds.
    covariance_type
        the shape of windows in many columns: "spherical", or in deviations of each column ("diag"), or under the
        covariance of the rows ("full").
    empty
        what a query has whose window holds no row: the mean target of the nearest row, NaN, or an error.

    Attributes
    ----------
    width_
        the width that was given or chosen.

    Examples
    --------
    >>> from fivefold.smoothing import RunningMedian
    >>> RunningMedian(1.5).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 100.0, 2.0, 3.0]).predict([[1.0], [2.0]])
    array([2., 3.])
    """

    width: Positive | Literal["cv"] = "cv"
    _: KW_ONLY
    covariance_type: Shape = "spherical"
    empty: EmptyPolicy = "nearest"

    card = Card(
        applications=("regression", "denoising"),
        use="Noisy curves and series with gross errors among the targets.",
        steps=("Take the rows that are closer to the query than the width.", "Return the median of their targets."),
        source="Tukey (1977)",
        see_also=("RunningMean", "Loess"),
        variants=({"width": 2.5},),
        growth=2.0,
    )

    @property
    def width_(self) -> float:
        return float(self.model_.smoother.local.width)

    def _prepare(self, X: Doubles, y: Doubles, w: Doubles) -> WindowMedians:
        form: dict[str, Any] = {"kernel": "tophat", "empty": self.empty, "owner": "RunningMedian"}
        return WindowMedians.of(LocalRegression.of(X, y, w, self.covariance_type, **form))

    def _with(self, prepared: WindowMedians, settings: dict[str, Any]) -> WindowMedians:
        return replace(prepared, local=replace(prepared.local, width=float(settings["width"])))

    def _candidates(self, prepared: WindowMedians, name: str) -> list[float]:
        return CANDIDATES[name](prepared.local)
