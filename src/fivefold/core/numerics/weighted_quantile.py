"""Quantiles of numbers with weights, in which a weight of two means that the number is there twice."""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array, Weights


def weighted_quantile(values: Array, w: Weights, share: float) -> float:
    """The number below which a share of all lies; between two numbers it is interpolated if weights are whole.

    >>> weighted_quantile(np.array([3.0, 1.0]), np.array([1.0, 3.0]), 0.75)
    1.5
    """
    if (w == np.rint(w)).all():
        order = np.argsort(values)
        ends, place = np.cumsum(w[order]), share * (w.sum() - 1)
        low, high = (values[order][np.searchsorted(ends, k, side="right")] for k in (np.floor(place), np.ceil(place)))
        return float(low + (high - low) * (place - np.floor(place)))
    return float(np.quantile(values, share, weights=w, method="inverted_cdf"))
