"""Kernel densities whose width follows the density: narrow windows where rows are dense, wide ones in the tails.

    neighbors    p(x) = 1 / (W h(x)^d V_d)  sum of w_i k(|x - x_i| / h(x)),       h(x) = r_k(x)
    abramson     p(x) = 1 / (W V_d)  sum of w_i h_i^-d k(|x - x_i| / h_i),          h_i = h (pilot(x_i) / g)^-a

r_k is the distance of the k-th nearest row, pilot the density with one width h, g the geometric mean of it over the
rows, and a = 1/2 by Abramson's square root law; a = 0 gives the pilot back. The first is not a density; the second
integrates to one.

Breiman, Meisel & Purcell (1977); Abramson (1982); Silverman (1986), chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Count, Fraction, NonNegative, Positive
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, Vector, Weights
from fivefold.density.base import RowDensity
from fivefold.density.kernel_density import WidthRule, WindowDensity, fit_windows
from fivefold.density.neighbor_density import check_neighbors
from fivefold.density.sums.kernel_sums import KernelSums, PairwiseSums
from fivefold.density.sums.weighted_neighbors import WeightedNeighbors
from fivefold.density.sums.window_kernels import KernelName


@dataclass(frozen=True)
class AdaptiveWindows:
    """Windows with the widths of the points, or of the queries."""

    pilot: WindowDensity
    sums: Any  # KernelSums or PairwiseSums, whose points have widths for rule="abramson"
    neighbors: WeightedNeighbors | None  # for rule="neighbors"
    widths: Vector | None  # (n,) of the points, for rule="abramson"


class AdaptiveKernelDensity(RowDensity):
    """Kernel density estimation with widths that follow the density.

    Parameters
    ----------
    rule
        "abramson": a width for each training row, from a pilot density; "neighbors": a width for each query, the
        distance of its k-th nearest row.
    bandwidth
        width of the pilot, or a rule for it as in KernelDensity.
    n_neighbors
        k, for rule="neighbors".
    sensitivity
        a, for rule="abramson": zero for one width, 1/2 by the square root law.
    kernel
        a name, or a function of the distance in units of the width that integrates to one over all columns.
    shape
        of the windows, as in KernelDensity.
    rtol
        relative error of a density that is allowed; with zero it is that of rounding.

    Attributes
    ----------
    widths_
        the width of each training row, for rule="abramson".

    Examples
    --------
    >>> from fivefold.density import AdaptiveKernelDensity
    >>> model = AdaptiveKernelDensity(bandwidth=1.0).fit([[0.0], [0.2], [0.4], [5.0]])
    >>> model.widths_.round(2)
    array([0.88, 0.87, 0.88, 1.49])
    """

    _: KW_ONLY
    rule: Literal["abramson", "neighbors"] = "abramson"
    bandwidth: Positive | WidthRule = 1.0
    n_neighbors: Count = 10
    sensitivity: Fraction = 0.5
    kernel: KernelName | Callable[..., Any] = "gaussian"
    shape: Literal["spherical", "diagonal", "full"] | np.ndarray = "spherical"
    rtol: NonNegative = 0

    card = Card(
        applications=("density estimation",),
        use="Long tails beside sharp peaks, where one width is too wide for the one or too narrow for the other.",
        steps=(
            "Estimate a pilot density with one width.",
            "Give each row a width that falls with the root of its pilot density.",
            "The density is the mean of these windows.",
        ),
        source="Abramson (1982); Breiman, Meisel & Purcell (1977)",
        see_also=("KernelDensity", "KNeighborsDensity"),
        variants=({"rule": "neighbors", "n_neighbors": 5}, {"kernel": "epanechnikov", "bandwidth": 3.0}),
        growth=2.0,
    )

    def _fit(self, X: Table, w: Weights) -> None:
        pilot = fit_windows(self, X, w)
        if self.rule == "neighbors":
            check_neighbors(self, self.n_neighbors, X, w)
            neighbors = WeightedNeighbors(np.ascontiguousarray(pilot.points, dtype=np.float64), w)
            self.model_ = AdaptiveWindows(pilot, pilot.sums, neighbors, None)
            return
        logs = pilot.log_density(X, self.rtol)
        factors = np.exp(-self.sensitivity * (logs - w @ logs / w.sum()))
        d = X.shape[1]
        kind: Any = PairwiseSums if isinstance(pilot.sums, PairwiseSums) else KernelSums
        sums = kind(pilot.kernel, pilot.points, w * factors ** -float(d), widths=factors)
        self.model_ = AdaptiveWindows(pilot, sums, None, pilot.width * factors)

    @property
    def widths_(self) -> Vector | None:
        """The width of each training row; None for rule="neighbors"."""
        return self.model_.widths

    def _log_density(self, X: Table) -> Doubles:
        model = self.model_
        pilot, d = model.pilot, X.shape[1]
        Z = pilot.shape.coordinates(X)
        h: Any = pilot.width
        if model.neighbors is not None:
            h = model.neighbors.within(np.asarray(Z, dtype=np.float64), self.n_neighbors)[0]
        logs = model.sums.log_sums(Z, h, rtol=self.rtol)
        unit = np.log(pilot.weights.sum()) + pilot.kernel.log_integral(d) + pilot.shape.log_volume
        return np.asarray(logs - d * np.log(h) - unit)

    def _left_out(self) -> tuple[Doubles, Vector]:
        """The widths stay as they are; one copy of the window of each row is taken out."""
        model = self.model_
        pilot, w, d = model.pilot, model.pilot.weights, model.pilot.points.shape[1]
        own = np.minimum(w, 1.0)
        if model.neighbors is not None:
            h = model.neighbors.within(None, self.n_neighbors)[0]
            logs, log_own = model.sums.log_sums(pilot.points, h), np.log(own)
        else:
            h = np.full(len(w), pilot.width)
            logs = model.sums.log_sums(pilot.points, pilot.width)
            log_own = np.log(own) - d * np.log(model.widths / pilot.width)
        at_zero = np.log(float(pilot.kernel.values(np.zeros(1))[0]))
        with np.errstate(divide="ignore"):
            rest = logs + np.log1p(-np.minimum(np.exp(log_own + at_zero - logs), 1.0))
        unit = np.log(w.sum() - own) + pilot.kernel.log_integral(d) + pilot.shape.log_volume
        return np.asarray(rest - d * np.log(h) - unit), w
