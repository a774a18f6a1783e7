"""Outliers by densities without a family: rows where windows are few, or neighbours far.

    kernel       score(x) = log of the kernel density at x
    neighbours   score(x) = log (k / (W V_d r_k^d)),   or  -r_k,   or  minus the mean distance of the k nearest

Both follow the rows as they are, so that a few outliers among the rows of fit spoil little.

Knorr & Ng (1998); Ramaswamy, Rastogi & Shim (2000), the distance of the k-th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, Weights
from fivefold.density.detectors.base import RowScorer, ScoreDetector
from fivefold.density.kernel_density import WidthRule, WindowDensity, fit_windows
from fivefold.density.neighbor_density import check_neighbors
from fivefold.density.sums.weighted_neighbors import WeightedNeighbors
from fivefold.density.sums.window_kernels import KernelName, log_ball_volume


@dataclass(frozen=True)
class WindowScorer:
    """Windows, and the error that is allowed."""

    density: WindowDensity
    rtol: float

    def scores(self, X: Table) -> Doubles:
        """log density of each row; the smallest number where no window reaches."""
        logs = self.density.log_density(X, self.rtol)
        return np.maximum(logs, LOWEST_SCORE)


@dataclass(frozen=True)
class NeighborScorer:
    """Rows and what is read off the k nearest."""

    neighbors: WeightedNeighbors
    k: int
    kind: str

    def scores(self, X: Table | None) -> Doubles:
        """The score of each row; without X that of each training row, itself left out."""
        w, d = self.neighbors.weights, self.neighbors.points.shape[1]
        k = self.k if X is not None else min(self.k, max(int(w.sum()) - 1, 1))
        radius, mass = self.neighbors.within(X, k)
        if self.kind == "distance":
            return -radius
        total = w.sum() if X is not None else w.sum() - np.minimum(w, 1.0)
        return np.asarray(np.log(mass[:, 0]) - np.log(total) - log_ball_volume(d) - d * np.log(radius))


LOWEST_SCORE = -1e30  # score of a row beyond the reach of every window


class KernelDensityOutlierDetector(ScoreDetector):
    """Marks rows of low kernel density.

    Parameters
    ----------
    bandwidth
        the width of the windows, or a rule, as in KernelDensity.
    kernel
        a name, or a function of the distance in units of the width that integrates to one over all columns.
    shape
        of the windows, as in KernelDensity.
    rtol
        relative error of a density that is allowed; with zero it is that of rounding.

    Examples
    --------
    >>> from fivefold.density import KernelDensityOutlierDetector
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0]]
    >>> KernelDensityOutlierDetector(bandwidth=1.0, shape="spherical", contamination=0.1).fit_predict(X)
    array([ 1,  1,  1,  1,  1,  1, -1])
    """

    _: KW_ONLY
    bandwidth: Positive | WidthRule = "scott"
    kernel: KernelName | Callable[..., Any] = "gaussian"
    shape: Literal["spherical", "diagonal", "full"] | np.ndarray = "diagonal"
    rtol: NonNegative = 0

    card = Card(
        applications=("outlier detection",),
        use="Rows of any form in a few columns, outliers among them. With many columns use IsolationForest.",
        steps=("Put a window on every row.", "Score rows by the log of the mean of the windows.", "Mark the lowest."),
        source="Parzen (1962)",
        see_also=("KernelDensity", "KNeighborsOutlierDetector", "IsolationForest"),
        variants=({"kernel": "exponential", "bandwidth": 1.0, "shape": "spherical", "contamination": 0.2},),
        growth=2.0,
    )

    def _learn(self, X: Table, w: Weights) -> tuple[RowScorer, Doubles | None]:
        density = fit_windows(self, X, w)
        known = np.maximum(density.left_out(), LOWEST_SCORE) if w.sum() > 1 else None
        return WindowScorer(density, float(self.rtol)), known


class KNeighborsOutlierDetector(ScoreDetector):
    """Marks rows whose nearest rows are far.

    Parameters
    ----------
    n_neighbors
        k; in fit a row counts as one of its own neighbours, and a row of weight two as two.
    method
        "density" from the distance of the k-th neighbour, or "distance": minus that distance. Both rank rows alike.

    Examples
    --------
    >>> from fivefold.density import KNeighborsOutlierDetector
    >>> X = [[0.0], [1.0], [2.0], [3.0], [10.0]]
    >>> model = KNeighborsOutlierDetector(3, method="distance", contamination=0.2).fit(X)
    >>> model.score_samples(X), model.predict(X)
    (array([-2., -1., -1., -2., -8.]), array([ 1,  1,  1,  1, -1]))
    """

    n_neighbors: Count = 10
    _: KW_ONLY
    method: Literal["density", "distance"] = "density"

    card = Card(
        applications=("outlier detection",),
        use="Rows of any form, outliers among them; also clusters of different density if LocalOutlierFactor is too "
        "local. Scale the columns first.",
        steps=("Find the k-th nearest row.", "Score by its distance, or the density it tells.", "Mark the lowest."),
        source="Ramaswamy, Rastogi & Shim (2000)",
        see_also=("KNeighborsDensity", "KernelDensityOutlierDetector"),
        variants=({"n_neighbors": 3, "method": "distance", "contamination": 0.2},),
        growth=2.0,
    )

    def _learn(self, X: Table, w: Weights) -> tuple[RowScorer, Doubles | None]:
        check_neighbors(self, self.n_neighbors, X, w)
        scorer = NeighborScorer(WeightedNeighbors(X, w), int(self.n_neighbors), self.method)
        return scorer, scorer.scores(None)
