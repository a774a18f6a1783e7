"""Regression of a standardised target, for methods whose settings are in units of the target, such as epsilon of SVR.

    z_i = (y_i - mean y) / s          f is fitted to (x_i, z_i)          prediction  mean y + s f(x)

with s the standard deviation of the training targets. The same settings then suit any unit.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import RegressorMixin, clone

from fivefold.core._sklearn import BaseEstimator
from fivefold.core.types import Table, Target, Vector
from fivefold.evaluation.protocols import FittedModel, TunableModel


class ScaledTargetRegressor(RegressorMixin, BaseEstimator):
    """A regressor fitted to a target of mean 0 and variance 1.

    Examples
    --------
    >>> from fivefold.svm import SVR
    >>> X, y = np.linspace(0.0, 3.0, 40)[:, None], 1e6 * np.sin(np.linspace(0.0, 3.0, 40))
    >>> model = ScaledTargetRegressor(SVR()).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() < 2e5), bool(np.abs(SVR().fit(X, y).predict(X) - y).max() < 2e5)
    (True, False)
    """

    regressor_: FittedModel
    mean_: float
    scale_: float

    def __init__(self, regressor: TunableModel):
        self.regressor = regressor

    def fit(self, X: Table, y: Target) -> Self:
        """Fit the regressor to the standardised target; a constant target is only shifted."""
        y = np.asarray(y, dtype=float)
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        self.regressor_ = clone(self.regressor).fit(X, (y - self.mean_) / self.scale_)
        return self

    def predict(self, X: Table) -> Vector:
        """Predictions on the scale of the target."""
        return np.asarray(self.mean_ + self.scale_ * self.regressor_.predict(X))
