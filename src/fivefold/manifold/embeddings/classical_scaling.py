"""Classical scaling: coordinates whose scalar products are those behind a matrix of distances.

    A = -D^2 / 2,   B = H A H,   H = I - 11'/n        B = V L V'        y_i = (sqrt l_1 v_i1, ..., sqrt l_k v_ik)

Distances of points in a space give a B without negative eigenvalues, and are reproduced exactly by as many coordinates
as there are positive ones. Negative eigenvalues say that no such points exist. Torgerson (1952); Gower (1966).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fivefold.core.numerics.eigenpairs import EigenDecomposition, eigen, krylov_eigenpairs
from fivefold.core.numerics.products import double_centre
from fivefold.core.parallel import map_items, scratch
from fivefold.core.types import Array, Doubles, Rng

MIN_KRYLOV_ROWS = 200  # smaller matrices are decomposed whole
KRYLOV_RATIO = 20  # Lanczos is taken where at most one pair in this many rows is wanted
TOLERANCE = 1e-12  # of Lanczos, as a share of the largest eigenvalue, where all that rounding allows is asked for
ROWS_PER_TASK = 64  # rows of the matrix that one task squares: they stay in the cache until they are multiplied
ZERO = 1e-12  # share of the largest eigenvalue below which one counts as zero


class ScalarProducts(NamedTuple):
    """Distances D (n, n) and the means of the columns of A: with squares and centring implied, the matrix B.

    A is made a few rows at a time, whenever it is needed: to square numbers takes less time than to fetch as many more.
    """

    D: Doubles
    means: Doubles
    squared_rows: Doubles  # (n,) the sum of squares of each row of A

    @classmethod
    def of(cls, D: Doubles) -> ScalarProducts:
        """From distances, which are the same both ways: means of rows are those of columns."""
        means, squared_rows = np.empty(len(D)), np.empty(len(D))

        def look(rows: slice, A: Doubles) -> None:
            means[rows] = A.mean(axis=1)
            squared_rows[rows] = np.einsum("ij,ij->i", A, A)

        cls(D, means, squared_rows)._by_rows(look)
        return cls(D, means, squared_rows)

    def _by_rows(self, work: Callable[[slice, Doubles], None]) -> None:
        """work(rows, A[rows]) for runs of rows, on the threads; A[rows] is scratch."""
        n = len(self.D)

        def task(i: int) -> None:
            rows = slice(i * ROWS_PER_TASK, min((i + 1) * ROWS_PER_TASK, n))
            A = scratch("scalar products", rows.stop - rows.start, n)
            np.multiply(self.D[rows], self.D[rows], out=A)
            A *= -0.5
            work(rows, A)

        map_items(task, -(-n // ROWS_PER_TASK))

    def times(self, V: Array) -> Array:
        """B V, without making B."""
        centred, image = np.ascontiguousarray(V - V.mean(axis=0)), np.empty(V.shape)

        def multiply(rows: slice, A: Doubles) -> None:
            np.matmul(A, centred, out=image[rows])

        self._by_rows(multiply)
        return image - image.mean(axis=0)

    @property
    def trace(self) -> float:
        """The sum of all eigenvalues of B."""
        diagonal = self.D.diagonal()
        return float(-0.5 * (diagonal @ diagonal) - len(self.D) * self.means.mean())

    @property
    def squares(self) -> float:
        """The sum of squares of all entries of B, and of all its eigenvalues."""
        n, m = len(self.D), self.means.mean()
        return float(self.squared_rows.sum() - 2 * n * (self.means @ self.means) + n * n * m * m)

    def leading(self, k: int, rng: Rng, dense: bool = False, tol: float = 0.0, steps: int = 200) -> EigenDecomposition:
        """The k largest eigenpairs of B, fewer if there are fewer rows."""
        n = len(self.D)
        if not dense and n > MIN_KRYLOV_ROWS and KRYLOV_RATIO * k <= n:
            found = krylov_eigenpairs(self.times, n, k, rng, max(tol, TOLERANCE), steps)
            if found is not None:
                return found
        values, vectors = eigen(double_centre(-0.5 * self.D * self.D), count=k)
        return EigenDecomposition(values[:k], vectors[:, :k])


def places(pairs: EigenDecomposition, k: int) -> Doubles:
    """Coordinates (n, k) from eigenpairs; zero where an eigenvalue is not positive."""
    values, vectors = pairs
    floor = ZERO * max(float(values.max(initial=0.0)), 0.0)
    found = vectors * np.sqrt(np.where(values > floor, values, 0.0))
    return np.asarray(np.pad(found, ((0, 0), (0, max(0, k - found.shape[1])))))
