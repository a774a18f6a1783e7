"""The rows that a kernel machine is fitted to, as the solver of the dual problem sees them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fivefold.core.types import Indices, Matrix, Table
from fivefold.kernels.row_cache import FunctionRows, MatrixRows, RowSource, SparseRows, VectorRows
from fivefold.optim.dual.smo import EXACT_ROWS, row_type
from fivefold.svm.support.expansion import KernelChoice

SYMMETRY = 1e-6  # difference of two entries of a given matrix that should be equal, as a share of the largest
# Entries of a sparse table that is made dense: where several solutions are best, both kinds of table give the same one
DENSE_ENTRIES = 1_000_000


@dataclass(frozen=True)
class TrainingRows:
    """A table or a collection of objects with its kernel; `gram` where the matrix is at hand."""

    kernel: KernelChoice
    X: Table
    objects: Any = None
    gram: Matrix | None = None
    given: Any = None  # the objects before those of weight zero left
    tol: float = 1e-3

    @classmethod
    def of(
        cls, name: str, kernel: KernelChoice, X: Table, positions: Indices, objects: Any, tol: float
    ) -> TrainingRows:
        """`positions` are the numbers that the rows of X had before rows of weight zero left."""
        if kernel.name == "precomputed":
            G = np.ascontiguousarray(X[:, positions], dtype=np.float64)
            _refuse_asymmetric(name, G)
            return cls(kernel, X, gram=G, tol=tol)
        if kernel.name == "function":
            chosen = take_objects(objects, positions)
            if len(positions) > EXACT_ROWS:
                return cls(kernel, X, chosen, given=objects, tol=tol)
            made = kernel.matrix(chosen, chosen)
            if made.shape != (len(positions), len(positions)):
                raise ValueError(
                    f"{name}: the kernel of {len(positions)} objects with themselves must be a square matrix; "
                    f"kernel(X, X) has shape {made.shape}"
                )
            return cls(kernel, X, chosen, np.ascontiguousarray(made), objects, tol)
        return cls(kernel, X, tol=tol)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def source(self, rows: Indices | None = None) -> RowSource:
        """Rows of the Gram matrix between all rows, or some."""
        if self.gram is not None:
            return MatrixRows(self.gram if rows is None else self.gram.take(rows, 0).take(rows, 1))
        size = self.n if rows is None else len(rows)
        if self.kernel.name == "function":
            objects = self.objects if rows is None else take_objects(self.objects, rows)
            return FunctionRows(self.kernel.matrix, objects, take_objects, size, row_type(size, self.tol))
        X = self.X if rows is None else self.X[rows]
        X = dense_if_small(X)
        made = SparseRows if issparse(X) else VectorRows
        return made.of(self.kernel.rule, X, row_type(size, self.tol))

    def with_gram(self) -> TrainingRows:
        """With the whole matrix where it is small: machines for several pairs of classes use its parts."""
        if self.gram is not None or self.n > EXACT_ROWS:
            return self
        return replace(self, gram=self.source().matrix())


def dense_if_small(X: Table) -> Table:
    """A small sparse table as a dense one; others as they are."""
    return X.toarray() if issparse(X) and X.shape[0] <= EXACT_ROWS and np.prod(X.shape) <= DENSE_ENTRIES else X


def take_objects(objects: Any, chosen: Indices) -> Any:
    """Some of a collection: a list, an array, a sparse matrix or a frame."""
    if len(chosen) == count_objects(objects) and np.array_equal(chosen, np.arange(len(chosen))):
        return objects
    if hasattr(objects, "iloc"):
        return objects.iloc[chosen]
    return objects[chosen] if hasattr(objects, "shape") else [objects[i] for i in chosen]


def count_objects(objects: Any) -> int:
    """How many there are."""
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)


def _refuse_asymmetric(name: str, G: Matrix) -> None:
    if np.abs(G - G.T).max(initial=0.0) > SYMMETRY * np.abs(G).max(initial=0.0):
        i, j = np.unravel_index(np.abs(G - G.T).argmax(), G.shape)
        raise ValueError(
            f"{name}: a precomputed kernel must be symmetric; X[{i}, {j}] is {G[i, j]:g} and X[{j}, {i}] is {G[j, i]:g}"
        )
