"""Regression of a logarithm, for a positive and skewed target: errors that grow with its size become alike.

    z_i = log y_i          f is fitted to (x_i, z_i)          prediction  s exp f(x)

With s = 1 the prediction is the median of y where f(x) is that of z. Its mean is larger; Duan's smearing factor
s = mean exp(z_i - f(x_i)) estimates it without any assumption on the distribution of the residuals.

Duan (1983), Smearing estimate: a nonparametric retransformation method.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import skew
from sklearn.base import RegressorMixin, clone

from fivefold.core._sklearn import BaseEstimator
from fivefold.core.types import Table, Target, Vector
from fivefold.evaluation.protocols import FittedModel, TunableModel

LOG_TARGET = "log_target"  # the key of a setting; its value says what is predicted, the mean or the median
MIN_SKEWNESS = 1.0  # of targets whose logarithm is tried; that of an exponential distribution is 2
MAX_EXTRAPOLATION = 2.0  # predictions reach at most this multiple of the largest target, and this part of the smallest

MEDIAN_SCORES = ("mae",)  # scores that the median minimises; the others ask for the mean

Estimate = Literal["mean", "median"]


def is_skewed(y: Target) -> bool:
    """Is it a positive target whose logarithm is less skewed, so that it is worth trying?

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> is_skewed(rng.lognormal(size=200)), is_skewed(rng.normal(size=200)), is_skewed(rng.uniform(1, 2, 200))
    (True, False, False)
    """
    if not (y > 0).all():
        return False
    return bool(skew(y) >= MIN_SKEWNESS and abs(skew(np.log(y))) < skew(y))


def with_logarithm(setting: Mapping[str, Any], score: str) -> dict[str, Any]:
    """The setting with the logarithm of the target; the score decides whether the mean or the median is predicted."""
    estimate: Estimate = "median" if score in MEDIAN_SCORES else "mean"
    return {**setting, LOG_TARGET: estimate}


def describe_log_target(target: str, setting: Mapping[str, Any]) -> list[str]:
    """What a setting does to the target: a line, or none."""
    if LOG_TARGET not in setting:
        return []
    scaled = ", times the mean of exp(residual)" if setting[LOG_TARGET] == "mean" else ""
    return [f"target ({target}): its logarithm is learned; a prediction is the exponential{scaled}"]


class LogTargetRegressor(RegressorMixin, BaseEstimator):
    """A regressor fitted to the logarithm of the target; `estimate` says what is predicted: the mean or the median."""

    regressor_: FittedModel
    smearing_: float  # s above
    limits_: tuple[float, float]  # of predicted logarithms

    def __init__(self, regressor: TunableModel, estimate: Estimate = "mean"):
        self.regressor = regressor
        self.estimate = estimate

    def fit(self, X: Table, y: Target) -> Self:
        """Fit the regressor to log y."""
        z = np.log(np.asarray(y, dtype=float))
        self.regressor_ = clone(self.regressor).fit(X, z)
        self.limits_ = (float(z.min()) - log(MAX_EXTRAPOLATION), float(z.max()) + log(MAX_EXTRAPOLATION))
        residuals = z - self._logarithms(X)
        self.smearing_ = float(np.exp(residuals).mean()) if self.estimate == "mean" else 1.0
        return self

    def predict(self, X: Table) -> Vector:
        """Predictions on the scale of the target."""
        return np.asarray(self.smearing_ * np.exp(self._logarithms(X)))

    def _logarithms(self, X: Table) -> Vector:
        return np.clip(self.regressor_.predict(X), *self.limits_)
