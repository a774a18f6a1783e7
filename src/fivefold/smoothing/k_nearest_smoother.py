"""k-nearest smoother: the mean target of the k rows that are closest, or a kernel as wide as they reach.

    g(x) = sum_i k(|x - x_i| / d_k(x)) y_i / sum_i k(|x - x_i| / d_k(x))        d_k(x) the distance of the k-th row

Windows are narrow where rows are dense. Rows as far as the k-th count too, so that the order of the rows decides
nothing; a row of weight two counts as two of the k. With k = 1 the curve meets every target whose row is there once.

Loftsgaarden & Quesenberry (1965); Stone (1977), Consistent nonparametric regression.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card, SearchRange
from fivefold.smoothing.base import LocalSmoother
from fivefold.smoothing.local_fits.smoothness_selection import Criterion
from fivefold.spatial.smoothing_kernels import KernelName


class KNearestSmoother(LocalSmoother):
    """Regression by the mean target of the nearest rows, tied ones included.

    Parameters
    ----------
    n_neighbors
        k, or the criterion by which it is chosen; where there are fewer rows, all count.
    kernel
        how weights fall up to the distance of the k-th row; "tophat" gives a plain mean.

    Examples
    --------
    >>> from fivefold.smoothing import KNearestSmoother
    >>> KNearestSmoother(2).fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 7.0]).predict([[0.4], [4.0]])
    array([0.5, 4. ])
    """

    n_neighbors: Count | Criterion = 5
    kernel: KernelName = "tophat"
    _: KW_ONLY

    _tuned = ("n_neighbors",)
    card = Card(
        applications=("regression",),
        use="Curves and surfaces from rows whose density varies; no window is ever empty.",
        steps=("Find the distance of the k-th nearest row.", "Average the targets of the rows up to that distance."),
        source="Loftsgaarden & Quesenberry (1965); Stone (1977)",
        see_also=("NadarayaWatson", "Loess"),
        variants=({"n_neighbors": "loo", "kernel": "tricube"},),
        search={"n_neighbors": SearchRange(2, 60)},
        growth=2.0,
    )

    def _form(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "degree": 0}
