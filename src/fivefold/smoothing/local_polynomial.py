"""Local polynomials: at each query a constant, a line or a curve of chosen degree, fitted to the rows around it.

    min over c of  sum_i k(|x - x_i| / h) (y_i - sum_j c_j (x_i - x)^j)^2        g(x) = c_0

Degree 0 is the kernel smoother, degree 1 the locally weighted line. Odd degrees have no bias from the edge of the rows
beyond that inside. In many columns there are all products of columns up to the degree.

Stone (1977); Cleveland (1979); Fan & Gijbels (1996), Local polynomial modelling and its applications.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from fivefold.core.estimators.params import Count, Index, Positive
from fivefold.core.registry import Card
from fivefold.smoothing.base import LocalSmoother
from fivefold.smoothing.local_fits.smoothness_selection import Criterion
from fivefold.spatial.smoothing_kernels import KernelName


class LocalPolynomial(LocalSmoother):
    """Regression by a polynomial of the rows around a query, weighted by a kernel.

    Parameters
    ----------
    degree
        of the polynomial, or the criterion by which 0, 1, 2 or 3 is chosen.
    width
        the distance at which the kernel is k(1), or the criterion by which it is chosen.
    n_neighbors
        in place of a width: the kernel is as wide as this many rows reach; or the criterion by which it is chosen.
    kernel
        how weights fall with distance.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import LocalPolynomial
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> LocalPolynomial(2, 1.0).fit(X, X[:, 0] ** 2).predict([[2.5], [6.0]]).round(6)
    array([ 6.25, 36.  ])
    """

    degree: Index | Criterion = 1
    width: Positive | Criterion = "loo"
    n_neighbors: Count | Criterion | None = None
    kernel: KernelName = "epanechnikov"
    _: KW_ONLY

    _tuned = ("degree", "width", "n_neighbors")
    card = Card(
        applications=("regression",),
        use="A smooth curve or surface in one to a few columns that keeps slopes at the edges, and with degree 2 or 3 "
        "peaks too. Loess adds robustness against outliers.",
        steps=(
            "Weigh the rows by a kernel around the query.",
            "Fit a polynomial about the query by weighted least squares.",
            "Return its value at the query.",
        ),
        source="Cleveland (1979); Fan & Gijbels (1996)",
        see_also=("NadarayaWatson", "RunningLine", "Loess"),
        variants=(
            {"degree": 2, "n_neighbors": 40},
            {"degree": "gcv", "width": "gcv", "kernel": "gaussian", "covariance_type": "diag"},
        ),
        growth=2.0,
    )

    def _form(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "degree": self.degree if isinstance(self.degree, int) else 3}
