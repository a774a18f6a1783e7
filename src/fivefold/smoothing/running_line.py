"""Running line: the least-squares line, or plane, of the rows within a window, at the query.

    min over a, b of  sum_i u((x - x_i) / h) (y_i - (a x_i + b))^2        g(x) = a x + b

The window has a width, or holds a number of rows. Straight lines are met exactly, also at the ends of the rows, where a
running mean is flat.

Cleveland (1979); Hastie & Tibshirani (1990), chapter 2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from fivefold.core.estimators.params import Count, Positive
from fivefold.core.registry import Card
from fivefold.smoothing.base import LocalSmoother
from fivefold.smoothing.local_fits.smoothness_selection import Criterion


class RunningLine(LocalSmoother):
    """Regression by the line of the rows around a query.

    Parameters
    ----------
    width
        the distance from the query within which rows count, or the criterion by which it is chosen.
    n_neighbors
        how many rows a window holds, in place of a width, or the criterion by which it is chosen; rows as far as the
        last of them count too.

    Examples
    --------
    >>> from fivefold.smoothing import RunningLine
    >>> model = RunningLine(n_neighbors=3).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[0.5], [4.0]])
    array([2., 9.])
    """

    width: Positive | Criterion = "loo"
    n_neighbors: Count | Criterion | None = None
    _: KW_ONLY

    _tuned = ("width", "n_neighbors")
    card = Card(
        applications=("regression",),
        use="Curves with a slope, up to the ends of the rows. LocalPolynomial and Loess weigh the rows of a window "
        "smoothly, so that the curve does not jump.",
        steps=(
            "Take the rows in the window of the query.",
            "Fit a line to their targets by least squares.",
            "Return its value at the query.",
        ),
        source="Cleveland (1979); Hastie & Tibshirani (1990)",
        see_also=("RunningMean", "Loess", "LocalPolynomial"),
        variants=({"n_neighbors": 20},),
        growth=2.0,
    )

    def _form(self) -> dict[str, Any]:
        return {"kernel": "tophat", "degree": 1}
