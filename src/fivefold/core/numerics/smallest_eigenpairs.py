"""The smallest eigenpairs of a matrix without negative eigenvalues, of which one null vector is known.

Block Lanczos on the inverse of A + s I, orthogonal to the known vector: small eigenvalues become the largest. The
factor is sparse, with an order of columns that keeps it so, or that of Cholesky where many entries are there anyway.
The shift s keeps rounding from making the matrix indefinite; the eigenvectors are those of A.

Of A = R'R, R square, R is factored instead: it is sparser, and so are its factors, and a solution with R' and one with
R take the place of one with A. Where there are further null vectors, they would drown the rest, and A is factored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import eye_array, issparse
from scipy.sparse.linalg import splu

from fivefold.core.numerics.eigenpairs import EigenDecomposition, eigen, krylov_eigenpairs
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Doubles, Rng, Table

MIN_KRYLOV_ROWS = 200  # smaller matrices are decomposed whole
KRYLOV_RATIO = 20  # Lanczos is taken where at most one pair in this many rows is wanted
SPARSE_SHARE = 0.02  # of entries that are there, above which the factor is a dense matrix
ROOT_SPARSE_SHARE = 0.005  # the same of R, whose product with itself has several times as many
ROOT_SHIFT = 1e-12  # of the diagonal of R, as a share of its mean: far below a singular value that is not zero
NULL_SHIFTS = 10  # shifts s below which an eigenvalue of R'R counts as zero
PIVOT_SHARE = 0.1  # of the largest entry of a column, from which one on the diagonal of R is a pivot


def smallest_eigenpairs(
    owner: str,
    A: Table,
    null: Doubles,
    k: int,
    rng: Rng,
    shift: float,
    *,
    squared: bool = False,
    dense: bool = False,
    tol: float = 1e-11,
    steps: int = 200,
) -> EigenDecomposition:
    """The k smallest eigenpairs of a symmetric A among vectors orthogonal to `null`, a vector that A maps to zero.

    If `squared`, they are those of A'A, where A is a sparse square matrix.
    """
    n = A.shape[0]
    null = null / np.linalg.norm(null)
    search = not dense and n > MIN_KRYLOV_ROWS and KRYLOV_RATIO * k <= n
    if squared and search and A.nnz <= ROOT_SPARSE_SHARE * n * n:
        solve = _squared_solver(A, null)
        found = None if solve is None else _largest(solve, null, k, rng, tol, steps)
        if found is not None and found.values.max() * NULL_SHIFTS * shift < 1:
            return EigenDecomposition(1.0 / found.values, found.vectors)
    A = (A.T @ A).tocsc() if squared else A
    if search:
        found = _largest(_solver(owner, A, shift), null, k, rng, tol, steps)
        if found is not None:
            return EigenDecomposition(1.0 / found.values - shift, found.vectors)
    refuse_square(owner, n, 3, "Take a sample of the rows, or another eigen_solver")
    whole = np.asarray(A.toarray() if issparse(A) else A, dtype=np.float64)
    size = (
        float(np.abs(whole).sum(axis=1).max(initial=0.0)) + 1.0
    )  # above every eigenvalue: the known vector comes last
    values, vectors = eigen(whole + size * np.outer(null, null), "ascending", count=k)
    return EigenDecomposition(values[:k], vectors[:, :k])


def _largest(
    solve: Callable[[Array], Array], null: Doubles, k: int, rng: Rng, tol: float, steps: int
) -> EigenDecomposition | None:
    """The k largest eigenpairs of the inverse among vectors orthogonal to a unit vector."""

    def times(V: Array) -> Array:
        image = solve(V - np.outer(null, null @ V))
        return np.asarray(image - np.outer(null, null @ image))

    return krylov_eigenpairs(times, len(null), k, rng, tol, steps)


def _solver(owner: str, A: Table, shift: float) -> Callable[[Array], Array]:
    """V -> (A + s I)^-1 V."""
    n = A.shape[0]
    if issparse(A) and A.nnz <= SPARSE_SHARE * n * n:
        shifted = (A + shift * eye_array(n, format="csc")).tocsc()
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        return lambda V: np.asarray(factor.solve(V))
    refuse_square(owner, n, 2, "Ask for fewer neighbours, or take a sample of the rows")
    whole = np.array(A.toarray() if issparse(A) else A, dtype=np.float64)
    whole[np.diag_indices(n)] += shift
    held = cho_factor(whole, lower=True, overwrite_a=True, check_finite=False)
    return lambda V: np.asarray(cho_solve(held, V, check_finite=False))


def _squared_solver(R: Table, null: Doubles) -> Callable[[Array], Array] | None:
    """V -> (R'R)^+ V, up to multiples of `null`, for V orthogonal to it; None where a pivot is zero.

    R Z = V has solutions only for V orthogonal to u, R'u = 0, so what R' gave is made so.
    """
    shift = ROOT_SHIFT * float(np.abs(R.diagonal()).mean()) or ROOT_SHIFT
    shifted = (R + shift * eye_array(R.shape[0], format="csc")).tocsc()
    try:
        factor = splu(
            shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=PIVOT_SHARE, options={"SymmetricMode": True}
        )
    except RuntimeError:  # SuperLU's word for a singular matrix
        return None
    u = null
    for _ in range(2):  # inverse iteration: the shift is far below all other singular values
        u = factor.solve(u, "T")
        u /= np.linalg.norm(u)

    def solve(V: Array) -> Array:
        Z = factor.solve(V, "T")
        return np.asarray(factor.solve(Z - np.outer(u, u @ Z)))

    return solve
