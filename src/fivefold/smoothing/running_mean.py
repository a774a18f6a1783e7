"""Running mean: the mean target of the rows within a window.

    g(x) = sum_i u((x - x_i) / h) y_i / sum_i u((x - x_i) / h)        u(t) = 1 where |t| < 1, else 0

The window reaches from x - h to x + h. As h grows, g becomes the mean of all targets.

Hastie & Tibshirani (1990), Generalized additive models, chapter 2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from fivefold.core.estimators.params import Positive
from fivefold.core.registry import Card
from fivefold.smoothing.base import LocalSmoother
from fivefold.smoothing.local_fits.smoothness_selection import Criterion


class RunningMean(LocalSmoother):
    """Regression by the mean target of the rows that are closer than a width.

    Parameters
    ----------
    width
        h, the distance from the query within which rows count, or the criterion by which it is chosen.

    Examples
    --------
    >>> from fivefold.smoothing import RunningMean
    >>> model = RunningMean(1.5).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 9.0])
    >>> model.predict([[1.0], [3.0]])
    array([1. , 5.5])
    >>> band = model.confidence_band([[1.0]], 0.9)
    >>> band.low.round(2), band.high.round(2)
    (array([-0.69]), array([2.69]))
    """

    width: Positive | Criterion = "loo"
    _: KW_ONLY

    card = Card(
        applications=("regression",),
        use="A first look at a curve, and series of equal steps. The result jumps where a row enters or leaves the "
        "window; NadarayaWatson with a smooth kernel does not.",
        steps=("Take the rows that are closer to the query than the width.", "Return the mean of their targets."),
        source="Hastie & Tibshirani (1990)",
        see_also=("RunningMedian", "RunningLine", "NadarayaWatson", "Regressogram"),
        variants=({"width": 2.5},),
        growth=2.0,
    )

    def _form(self) -> dict[str, Any]:
        return {"kernel": "tophat", "degree": 0}
