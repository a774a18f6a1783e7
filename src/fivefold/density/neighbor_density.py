"""Density by the k-th nearest neighbour: the volume that k rows need.

    p(x) = k / (W V_d r_k(x)^d),        V_d = pi^(d/2) / Gamma(d/2 + 1),   in one column  k / (2 W r_k)

r_k is the distance of the k-th nearest row. The estimate adapts to the density, has kinks, and does not integrate to
one: its tails fall as |x|^-d.

Loftsgaarden & Quesenberry (1965).
"""

from __future__ import annotations

import numpy as np

from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, Vector, Weights
from fivefold.density.base import RowDensity
from fivefold.density.sums.weighted_neighbors import WeightedNeighbors
from fivefold.density.sums.window_kernels import log_ball_volume


class KNeighborsDensity(RowDensity):
    """Density from the distance of the k-th nearest row.

    Parameters
    ----------
    n_neighbors
        k: more neighbours, a smoother estimate. A row of weight two counts as two.

    Examples
    --------
    >>> from fivefold.density import KNeighborsDensity
    >>> KNeighborsDensity(2).fit([[0.0], [1.0], [3.0], [7.0]]).density([[0.0], [2.0]])
    array([0.25, 0.25])
    """

    n_neighbors: Count = 10

    card = Card(
        applications=("density estimation",),
        use="Densities that differ greatly from place to place; ranking rows by how rare they are. Where its "
        "integral must be one, use KernelDensity.",
        steps=("Find the k-th nearest row of x.", "Divide its share k / n by the volume of the ball that reaches it."),
        source="Loftsgaarden & Quesenberry (1965)",
        see_also=("KernelDensity", "AdaptiveKernelDensity"),
        variants=({"n_neighbors": 3},),
        growth=2.0,
    )

    def _fit(self, X: Table, w: Weights) -> None:
        check_neighbors(self, self.n_neighbors, X, w)
        self.model_ = WeightedNeighbors(X, w)

    def _log_density(self, X: Table) -> Doubles:
        radius, mass = self.model_.within(X, self.n_neighbors)
        return self._logs(radius, mass, float(self.model_.weights.sum()))

    def _left_out(self) -> tuple[Doubles, Vector]:
        w = self.model_.weights
        radius, mass = self.model_.within(None, min(self.n_neighbors, max(int(w.sum()) - 1, 1)))
        return self._logs(radius, mass, w.sum() - np.minimum(w, 1.0)), w

    def _logs(self, radius: Doubles, mass: Doubles, total: float | Doubles) -> Doubles:
        d = self.model_.points.shape[1]
        with np.errstate(divide="ignore"):  # all rows equal: infinite
            return np.asarray(np.log(mass[:, 0]) - np.log(total) - log_ball_volume(d) - d * np.log(radius))


def check_neighbors(estimator: object, k: int, X: Table, w: Weights) -> None:
    """Refuse more neighbours than there are rows, and rows that are all equal."""
    name = type(estimator).__name__
    if k > w.sum() * (1 + 1e-12):
        raise ValueError(
            f"{name}: n_neighbors={k}, but X has only {float(w.sum()):g} rows (n_samples={len(X)}): ask for fewer"
        )
    if (X == X[0]).all():
        raise ValueError(
            f"{name}: all rows are equal (n_samples={len(X)}, or 1 sample repeated): no distance is positive, and no "
            "density can be told"
        )
    widest = float(np.abs(X - X[0]).max())
    if widest * widest == 0:
        raise ValueError(
            f"{name}: no two rows differ by more than {2 * widest:.3g} in a column, and the squares of such distances "
            "are zero in floating point: multiply the columns by a large number"
        )
