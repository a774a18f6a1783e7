"""Distances that are not functions of coordinates: a user's function, strings, kernels, and tables of distances.

kernel-induced      d(x, y)^2 = k(x, x) - 2 k(x, y) + k(y, y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fivefold.core.types import Matrix


class ObjectMetric(Protocol):
    """A distance between objects of any kind."""

    name: str
    triangle: bool  # may a search rely on the triangle inequality?

    def between(self, A: Any, B: Any) -> Matrix:
        """Distances (len(A), len(B)) of two collections of objects."""


@dataclass(frozen=True)
class UserMetric:
    """A function of two rows."""

    function: Callable[..., float]
    params: Mapping[str, Any] = field(default_factory=dict)
    name: str = "pyfunc"
    triangle: bool = False

    def between(self, A: Any, B: Any) -> Matrix:
        out = np.empty((len(A), len(B)))
        for i in range(len(A)):
            for j in range(len(B)):
                out[i, j] = self.function(A[i], B[j], **self.params)
        return out


@dataclass(frozen=True)
class PrecomputedMetric:
    """Rows of distances to the fitted rows, in their order."""

    name: str = "precomputed"
    triangle: bool = False

    def between(self, A: Any, B: Any) -> Matrix:
        raise TypeError("metric='precomputed': distances are given, and cannot be computed")


@dataclass(frozen=True)
class EditMetric:
    """The fewest insertions, deletions and substitutions of letters that turn one string into the other."""

    name: str = "edit"
    triangle: bool = True

    def between(self, A: Sequence[Any], B: Sequence[Any]) -> Matrix:
        from fivefold.kernels.structured.alignment import EditDistance

        return EditDistance()(list(A), list(B))


@dataclass(frozen=True)
class KernelMetric:
    """The distance of two objects in the feature space of a kernel."""

    kernel: Any  # a kernel of fivefold.kernels, or an object with __call__(X, Y) and diag(X)
    name: str = "kernel"
    triangle: bool = True

    def between(self, A: Any, B: Any) -> Matrix:
        squares = self.kernel.diag(A)[:, None] - 2 * self.kernel(A, B) + self.kernel.diag(B)
        return np.sqrt(np.maximum(squares, 0.0))
