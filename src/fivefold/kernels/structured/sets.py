"""Kernels of sets and bags.

SharedElements    |A & B|, or the share |A & B| / |A | B| (Jaccard, Tanimoto)
SetKernel         sum, or mean, over a in A and b in B of a kernel of elements (Haussler, 1999)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fivefold.core.types import Matrix, Sparse, Table, Vector
from fivefold.kernels.base import Kernel, Objects
from fivefold.kernels.structured.base import CountKernel, counts, numbered


class SharedElements(CountKernel):
    """Number of elements that two sets share, or with `share` their share of the union.

    Examples
    --------
    >>> SharedElements()([{1, 2}, {2, 3, 4}]), SharedElements(share=True)([{1, 2}], [{2, 3, 4}])
    (array([[2., 1.],
           [1., 3.]]), array([[0.25]]))
    """

    share: bool = False

    def features(self, objects: Sequence[Any]) -> Table:
        known: dict[Hashable, int] = {}
        rows = np.repeat(np.arange(len(objects)), [len(set(elements)) for elements in objects])
        numbers = numbered(list(chain.from_iterable(set(elements) for elements in objects)), known)
        return counts(rows, numbers, len(objects), max(len(known), 1))

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        K = super()._gram(X, Y)
        if not self.share:
            return K
        a, b = (np.array([len(set(elements)) for elements in Z], dtype=np.float64) for Z in (X, X if Y is None else Y))
        union = a[:, None] + b - K
        return np.divide(K, union, out=np.ones_like(K), where=union > 0)  # two empty sets are equal

    def diag(self, X: Objects) -> Vector:
        return np.ones(len(X)) if self.share else super().diag(X)


class SetKernel(Kernel):
    """Sum over all pairs of elements of a kernel of elements; with `mean`, its mean.

    Examples
    --------
    >>> from fivefold.kernels import Linear
    >>> SetKernel(Linear())([[[1.0], [2.0]], [[5.0]]])
    array([[ 9., 15.],
           [15., 25.]])
    """

    kernel: Kernel
    mean: bool = False

    @property
    def requires_vector_input(self) -> bool:
        return False

    def is_stationary(self) -> bool:
        return False

    def _bags(self, X: Objects) -> tuple[Objects, Sparse]:
        """All elements, and the matrix that adds up, or averages, those of each bag."""
        bags = [list(bag) for bag in X]
        sizes = np.array([len(bag) for bag in bags])
        elements: Any = list(chain.from_iterable(bags))
        elements = np.asarray(elements, dtype=np.float64) if self.kernel.requires_vector_input else elements
        data = np.repeat(1.0 / np.maximum(sizes, 1) if self.mean else np.ones(len(sizes)), sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return elements, csr_array((data, np.arange(len(data)), offsets), shape=(len(bags), len(data)))

    def _added(self, K: Matrix, A: Sparse, B: Sparse, symmetric: bool) -> Matrix:
        found = np.asarray(A @ (B @ K.T).T)
        return (found + found.T) / 2 if symmetric else found

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        (x, A), (y, B) = self._bags(X), self._bags(X if Y is None else Y)
        return self._added(self.kernel(x, None if Y is None else y), A, B, Y is None)

    def diag(self, X: Objects) -> Vector:
        return np.array([self._gram([bag], [bag])[0, 0] for bag in X])

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        (x, A), (y, B) = self._bags(X), self._bags(X if Y is None else Y)
        yield from (self._added(D, A, B, Y is None) for D in self.kernel.gradient(x, None if Y is None else y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        found = [list(self.gradient([bag], [bag])) for bag in X]
        yield from (np.array([D[j][0, 0] for D in found]) for j in range(self.n_dims))
