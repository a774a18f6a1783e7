"""Estimators whose parameter `kernel` may be "precomputed": X is then the matrix of kernels between its rows."""

from __future__ import annotations

from typing import Any

from fivefold.core._sklearn import Tags
from fivefold.core.estimators.base import Estimator
from fivefold.core.types import Table


class TakesPrecomputedKernels(Estimator):
    """Says in its tags that folds take rows and columns, and refuses matrices that are not square."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        kernel: Any = vars(self).get("kernel")
        return isinstance(kernel, str) and kernel == "precomputed"

    def _refuse_oblong(self, X: Table) -> None:
        n, d = X.shape
        if self._is_precomputed and n != d:
            raise ValueError(
                f"{type(self).__name__}: precomputed kernels of n rows with themselves are (n, n); X is ({n}, {d})"
            )
