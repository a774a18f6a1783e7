"""What the density estimators of this chapter share: scores from `_log_density`, also of rows left out."""

from __future__ import annotations

import numpy as np

from fivefold.core.estimators.base import DensityEstimator, not_fitted_error
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Doubles, Table, UserTable, UserTarget, UserWeights, Vector


class RowDensity(DensityEstimator):
    """Gives rows a log density by `_log_density(X)`, and training rows that of the others by `_left_out()`."""

    def _log_density(self, X: Table) -> Doubles:
        raise TypeError(f"{type(self).__name__} has no density")

    def _left_out(self) -> tuple[Doubles, Vector]:
        """log density of each training row under the others, and the weights of the rows."""
        raise TypeError(f"{type(self).__name__} does not leave rows out in closed form")

    def score_samples(self, X: UserTable) -> Vector:
        """The log density of each row; minus infinity where it is zero."""
        X = self._admit(X)
        return self._log_density(X).astype(X.dtype, copy=False)

    def density(self, X: UserTable) -> Vector:
        """The density at each row."""
        return np.exp(to_numpy(self.score_samples(X)))

    def score(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> float:
        """The log-likelihood of the rows: the sum of their log densities."""
        logs = np.asarray(to_numpy(self.score_samples(X)), dtype=np.float64)
        return float(logs.sum() if sample_weight is None else logs @ np.asarray(to_numpy(sample_weight), np.float64))

    def leave_one_out_score(self) -> float:
        """The log-likelihood of the training rows, each under the density of the others; a weight of two counts twice.

        It can be compared between widths, bins or neighbours without another table.
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "model_")
        logs, w = self._left_out()
        return float(logs @ w)
