"""Distances between all rows of a table, from a metric or as they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from fivefold.core._sklearn import Tags
from fivefold.core.estimators.base import Estimator
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Table
from fivefold.spatial.distances import squared_distances

ASYMMETRY = 1e-10  # of two distances that should be equal, as a share of the largest: more is no rounding
Metric = str | Callable[..., Any]


class TakesDissimilarities(Estimator):
    """Says in its tags that folds take rows and columns where X holds distances."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._metric == "precomputed"
        return tags

    @property
    def _metric(self) -> Metric:
        found: Metric = vars(self)["metric"]
        return found

    def _dissimilarities(self, X: Table, arrays: float, params: dict[str, Any] | None = None) -> Doubles:
        """Distances of all pairs (n, n) in double precision; `arrays` of this size are needed in all."""
        name = type(self).__name__
        refuse_square(name, X.shape[0], arrays, "Take a sample of the rows, or PCA, which needs no distances")
        if self._metric == "precomputed":
            return symmetric_distances(name, X)
        if self._metric == "euclidean" and not params:
            return np.sqrt(squared_distances(X.astype(np.float64, copy=False)))
        found = pairwise_distances(X, metric=self._metric, **(params or {}))
        return np.asarray(found, dtype=np.float64)


def symmetric_distances(owner: str, D: Table) -> Doubles:
    """Given distances, checked: square, never negative, and the same both ways."""
    n, d = D.shape
    if n != d:
        raise ValueError(f"{owner}: precomputed distances of n rows to each other are (n, n); X is ({n}, {d})")
    found = np.asarray(D, dtype=np.float64)
    gap: Doubles = np.abs(found - found.T)
    if gap.max() > ASYMMETRY * max(float(np.abs(found).max()), np.finfo(float).tiny):
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"{owner}: precomputed distances must be symmetric; X[{i}, {j}] is {found[i, j]:g} and X[{j}, {i}] is "
            f"{found[j, i]:g}. Give (X + X.T) / 2 if both measure the same"
        )
    return (found + found.T) / 2 if gap.any() else found
