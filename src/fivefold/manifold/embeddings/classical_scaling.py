"""Classical scaling: coordinates whose scalar products are those behind a matrix of distances.

    A = -D^2 / 2,   B = H A H,   H = I - 11'/n        B = V L V'        y_i = (sqrt l_1 v_i1, ..., sqrt l_k v_ik)

Distances of points in a space give a B without negative eigenvalues, and are reproduced exactly by as many coordinates
as there are positive ones. Negative eigenvalues say that no such points exist. Torgerson (1952); Gower (1966).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.numerics.eigenpairs import EigenDecomposition, eigen, krylov_eigenpairs
from fivefold.core.numerics.products import double_centre, product
from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Doubles, Rng

MIN_KRYLOV_ROWS = 200  # smaller matrices are decomposed whole
KRYLOV_RATIO = 20  # Lanczos is taken where at most one pair in this many rows is wanted
TOLERANCE = 1e-12  # of Lanczos, as a share of the largest eigenvalue, where all that rounding allows is asked for
ROWS_PER_TASK = 128  # rows of the matrix that one task squares
ZERO = 1e-12  # share of the largest eigenvalue below which one counts as zero


class ScalarProducts(NamedTuple):
    """-D^2 / 2 (n, n) and the means of its columns: with the centring implied, the matrix B of classical scaling."""

    values: Doubles
    means: Doubles

    @classmethod
    def of(cls, D: Doubles) -> ScalarProducts:
        """From distances, which are the same both ways: means of rows are those of columns."""
        n, A, means = len(D), np.empty_like(D), np.empty(len(D))

        def task(i: int) -> None:
            rows = slice(i * ROWS_PER_TASK, (i + 1) * ROWS_PER_TASK)
            np.multiply(D[rows], D[rows], out=A[rows])
            A[rows] *= -0.5
            means[rows] = A[rows].mean(axis=1)

        map_items(task, -(-n // ROWS_PER_TASK))
        return cls(A, means)

    def times(self, V: Array) -> Array:
        """B V, without making B."""
        image = product(self.values, V - V.mean(axis=0))
        return image - image.mean(axis=0)

    @property
    def trace(self) -> float:
        """The sum of all eigenvalues of B."""
        return float(np.trace(self.values) - len(self.values) * self.means.mean())

    @property
    def squares(self) -> float:
        """The sum of squares of all entries of B, and of all its eigenvalues."""
        n, m = len(self.values), self.means.mean()
        rows = np.einsum("ij,ij->i", self.values, self.values)
        return float(rows.sum() - 2 * n * (self.means @ self.means) + n * n * m * m)

    def leading(self, k: int, rng: Rng, dense: bool = False, tol: float = 0.0, steps: int = 200) -> EigenDecomposition:
        """The k largest eigenpairs of B, fewer if there are fewer rows."""
        n = len(self.values)
        if not dense and n > MIN_KRYLOV_ROWS and KRYLOV_RATIO * k <= n:
            found = krylov_eigenpairs(self.times, n, k, rng, max(tol, TOLERANCE), steps)
            if found is not None:
                return found
        values, vectors = eigen(double_centre(self.values), count=k)
        return EigenDecomposition(values[:k], vectors[:, :k])


def places(pairs: EigenDecomposition, k: int) -> Doubles:
    """Coordinates (n, k) from eigenpairs; zero where an eigenvalue is not positive."""
    values, vectors = pairs
    floor = ZERO * max(float(values.max(initial=0.0)), 0.0)
    found = vectors * np.sqrt(np.where(values > floor, values, 0.0))
    return np.asarray(np.pad(found, ((0, 0), (0, max(0, k - found.shape[1])))))
