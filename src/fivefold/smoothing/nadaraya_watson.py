"""Kernel smoother of Nadaraya and Watson: targets averaged by weights that fall with distance.

    g(x) = sum_i k(|x - x_i| / h) y_i / sum_i k(|x - x_i| / h)

In many columns the kernel is a ball, or an ellipsoid with the shape of the covariance of the rows. The same function is
the general regression network: a hidden unit per row, with activation k, and an output that divides by their sum. Far
from all rows the Gaussian kernel, divided by its value at the nearest row, tends to the target of that row.

Nadaraya (1964); Watson (1964); Specht (1991), A general regression neural network.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from fivefold.core.estimators.params import Positive
from fivefold.core.registry import Card
from fivefold.smoothing.base import LocalSmoother
from fivefold.smoothing.local_fits.smoothness_selection import Criterion
from fivefold.spatial.smoothing_kernels import KernelName


class NadarayaWatson(LocalSmoother):
    """Regression by a mean of the targets, weighted by a kernel around the query.

    Parameters
    ----------
    width
        h, the distance at which the kernel is k(1), or the criterion by which it is chosen.
    kernel
        how weights fall with distance.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import NadarayaWatson
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> model = NadarayaWatson(0.3).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5], [100.0]]).round(3)
    array([ 0.954, -0.279])
    """

    width: Positive | Criterion = "loo"
    kernel: KernelName = "gaussian"
    _: KW_ONLY

    card = Card(
        applications=("regression",),
        use="A smooth curve or surface of any form in a few columns, with no model behind it. It flattens slopes at "
        "the edge of the rows, where LocalPolynomial does not; many columns leave every window empty.",
        steps=(
            "Weigh the rows by a kernel around the query.",
            "Return the weighted mean of their targets.",
        ),
        source="Nadaraya (1964); Watson (1964); Specht (1991)",
        see_also=("LocalPolynomial", "RunningMean", "KNearestSmoother"),
        variants=({"width": 1.5, "covariance_type": "full"}, {"kernel": "epanechnikov", "width": "gcv"}),
        growth=2.0,
    )

    def _form(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "degree": 0}
