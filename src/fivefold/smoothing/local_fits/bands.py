"""Confidence bands of linear smoothers: g(x) +- t s sqrt(sum_i l_i(x)^2).

    local    s^2 = variance of the targets about the polynomial of the window; t has its effective degrees of freedom
    global   s^2 = sum_i w_i (y_i - g(x_i))^2 / (n - 2 tr S + tr SS')

For the running mean the local band is that of a mean: s / sqrt(number of rows in the window). A band covers the mean of
g, the curve that the smoother would find in ever more rows at this width; where the curve bends within the window, that
is not the curve itself. The band holds at each x, not at all of them at once.

Hastie & Tibshirani (1990), Generalized additive models, section 3.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student_t

from fivefold.core.types import Doubles
from fivefold.smoothing.local_fits.local_regression import LocalRegression
from fivefold.smoothing.local_fits.window_fit_loops import FREEDOM, LEVERAGE, SQUARED_WEIGHTS, TOTAL, VALUE, VARIANCE


@dataclass(frozen=True)
class ConfidenceBand:
    """The curve at some rows, and an interval round each value; without ends where a window holds too few rows."""

    value: Doubles  # (m,)
    low: Doubles
    high: Doubles
    level: float
    assumptions: tuple[str, ...] = (
        "the targets are independent, and normal or many about the curve",
        "the curve hardly bends within a window",
    )

    @property
    def half_width(self) -> Doubles:
        """Half of each interval."""
        return (self.high - self.low) / 2


def confidence_band(
    model: LocalRegression, Z: Doubles, level: float, variance: Literal["local", "global"]
) -> ConfidenceBand:
    """The band of a local regression at white rows Z."""
    fits, value = model.fits(Z, full=True), model.values(Z)
    if variance == "local":
        spread, freedom = fits[:, VARIANCE], fits[:, FREEDOM]
    else:
        spread, freedom = _global_variance(model)
    known = (fits[:, TOTAL] > 0) & (freedom > 0)
    freedom = np.where(known, freedom, 1.0)
    half = student_t.ppf((1 + level) / 2, freedom) * np.sqrt(spread * fits[:, SQUARED_WEIGHTS])
    half = np.where(known, half, np.inf)
    return ConfidenceBand(value, value - half, value + half, level)


def _global_variance(model: LocalRegression) -> tuple[Doubles, Doubles]:
    """The variance of targets about the curve, and its degrees of freedom."""
    fits = model.fits(model.rows, full=True)
    squares = model.w @ np.square(model.y - fits[:, VALUE])
    freedom = model.total - 2 * model.w @ fits[:, LEVERAGE] + model.w @ fits[:, SQUARED_WEIGHTS]
    return np.asarray(squares / freedom if freedom > 0 else 0.0), np.asarray(freedom)
