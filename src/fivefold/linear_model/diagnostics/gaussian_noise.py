"""A linear surface with Gaussian noise: the probabilistic model that least squares fits.

y = f(x) + e,  e ~ N(0, 1/beta)        p(y | x) = N(y | f(x), 1/beta)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from fivefold.core.admission.sparse import canonical_csr
from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Table, Target, UserTable, UserWeights
from fivefold.linear_model.base import LinearModel, predictor


@dataclass(frozen=True)
class GaussianNoise:
    """Targets spread about a linear surface with one precision per output."""

    linear: LinearModel
    precision: Array  # a number, or (outputs,)

    def mean(self, X: UserTable) -> Array:
        """The expected target of each row."""
        X = canonical_csr(X, "X") if issparse(X) else X
        return predictor(self.linear, check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]))

    def band(self, X: Table, width: float = 1.0) -> tuple[Array, Array]:
        """The mean minus and plus `width` standard deviations."""
        mean, half = self.mean(X), width / np.sqrt(self.precision)
        return mean - half, mean + half

    def sample(self, X: UserTable, rng: Seed = None) -> Array:
        """A target drawn for each row."""
        mean = self.mean(X)
        return np.asarray(mean + check_random_state(rng).normal(size=mean.shape) / np.sqrt(self.precision))

    def log_likelihood(self, X: Table, y: Target, sample_weight: UserWeights = None) -> float:
        """ln p(y | X), each row counted by its weight."""
        E = np.asarray(y) - self.mean(X)
        logs = 0.5 * (np.log(self.precision) - np.log(2 * np.pi)) - 0.5 * self.precision * E**2
        logs = logs.reshape(len(E), -1).sum(axis=1)
        return float(logs.sum() if sample_weight is None else np.dot(sample_weight, logs))
