"""Ways to the leading singular values and axes of a table.

A solver takes the table or its scatter matrix, the number k of axes wanted, and options of its iteration. It returns
at least k singular values, largest first, and k axes in rows. All solvers agree up to their accuracy:

full              LAPACK's singular value decomposition: exact, even for small values
covariance_eigh   eigenvectors of the (d, d) scatter matrix: quickest for long tables
gram              eigenvectors of the smaller of the (d, d) and (n, n) Gram matrices: quickest for wide tables
arpack            Lanczos iteration: a few axes of a large, perhaps sparse matrix
randomized        random sketch with power steps: a few axes, approximate, quickest for large matrices
power             power iteration with deflation on the scatter matrix
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import mean_variance_axis

from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Seed
from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_numpy
from fivefold.core.numerics.eigenpairs import eigen, fix_signs, leading_eigenpairs
from fivefold.core.numerics.products import centred_operator
from fivefold.core.numerics.svd import SingularAxes, gram_svd, randomized_svd, thin_svd
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Table
from fivefold.decomposition.components.projection import ArrayOrTensor

MAX_SCATTER_COLUMNS = 1000  # up to this many columns, the scatter matrix of a long table is quickest
MAX_GRAM_ROWS = 500  # up to this many rows, the Gram matrix of a wide table is quickest, and LAPACK for other tables


@dataclass(frozen=True)
class SolverOptions:
    """Options of iterative solvers."""

    seed: Seed
    tol: float = 0.0
    steps: int | None = None  # number of power steps; None leaves it to the solver
    oversamples: int = 10  # random vectors in addition to the axes
    normalise: Literal["auto", "QR", "LU", "none"] = "auto"  # factorization of the vectors after each power step

    @cached_property
    def rng(self) -> np.random.RandomState:
        """Made only when needed: seeding a generator from the system takes as long as a small decomposition."""
        return check_random_state(self.seed)


Solver: TypeAlias = Callable[[ArrayOrTensor | LinearOperator, int, SolverOptions], SingularAxes]


def svd_full(A: ArrayOrTensor, k: int, options: SolverOptions) -> SingularAxes:
    _, s, Vt = thin_svd(A)
    return SingularAxes(s, fix_signs(Vt[:k]))


def svd_gram(A: Table, k: int, options: SolverOptions) -> SingularAxes:
    return gram_svd(A, k)


def svd_arpack(A: Table | LinearOperator, k: int, options: SolverOptions) -> SingularAxes:
    start = options.rng.uniform(-1, 1, size=min(A.shape))
    if not ((A if A.shape[1] <= A.shape[0] else A.T) @ start).any():  # a table of zeros
        return SingularAxes(np.zeros(k), np.eye(k, A.shape[1]))
    _, s, Vt = svds(A, k=k, tol=options.tol, v0=start)
    return SingularAxes(s[::-1].copy(), fix_signs(Vt[::-1]))


def svd_randomized(A: Table | LinearOperator, k: int, options: SolverOptions) -> SingularAxes:
    steps = options.steps if options.steps is not None else 7 if k < 0.1 * min(A.shape) else 4
    return randomized_svd(A, k, options.rng, oversamples=options.oversamples, steps=steps, normalise=options.normalise)


def svd_covariance_eigh(S: ArrayOrTensor, k: int, options: SolverOptions) -> SingularAxes:
    values, vectors = eigen(S, count=k)
    xp = namespace(values)
    return SingularAxes(xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values))), vectors.T[:k])


def svd_power(S: ArrayOrTensor, k: int, options: SolverOptions) -> SingularAxes:
    limit = {} if options.steps is None else {"max_iter": max(options.steps, 1)}
    pairs = leading_eigenpairs(to_numpy(S).astype(np.float64), k, options.rng, tol=options.tol, **limit)
    unsettled = [i for i, pair in enumerate(pairs) if pair.reason == "max_iter"]
    if unsettled:
        warn(
            f"power iteration stopped after {pairs[unsettled[0]].steps} steps before component {unsettled[0]} settled: "
            "its variance is close to the next one's. Raise iterated_power or tol, or use another svd_solver",
            ConvergenceWarning,
        )
    values, vectors = [max(pair.value, 0.0) for pair in pairs], [pair.vector for pair in pairs]
    return SingularAxes(like(np.sqrt(values), S), like(np.reshape(vectors, (k, len(S))), S))


@dataclass(frozen=True)
class Decomposition:
    """Singular values and axes of a centred table, with its mean and scale."""

    values: ArrayOrTensor  # (k,) or all
    axes: ArrayOrTensor  # (k, d)
    mean: ArrayOrTensor  # (d,)
    scale: ArrayOrTensor | None  # (d,)
    total: float  # sum of squares of the centred and scaled table


def decompose(
    X: Table,
    k: int,
    solver: str,
    options: SolverOptions,
    standardise: bool = False,
    on_nonfinite: Callable[[], None] = lambda: None,
) -> Decomposition:
    """The k leading axes of the centred rows of X, with columns divided by their standard deviations if asked.

    `on_nonfinite` is called if the sums of the rows are not finite: X has not been searched for NaN before.
    """
    summed = _scatter if solver in SCATTER_SOLVERS else _centred
    with np.errstate(invalid="ignore"):
        table, mean, scale, total = summed(X, standardise)
    if not np.isfinite(total) or (issparse(X) and not np.isfinite(X.data.sum())):  # mean_variance_axis skips NaN
        on_nonfinite()
    values, axes = {**SCATTER_SOLVERS, **ROW_SOLVERS}[solver](table, k, options)
    return Decomposition(values[: min(X.shape)], axes, mean, scale, total)


def choose_solver(X: Table, k: int | None) -> str:
    """The quickest solver for this table and k components; k is None if all principal values are needed."""
    n, d = X.shape
    if is_chunked(X):
        return "covariance_eigh"
    if issparse(X):
        return "covariance_eigh" if k is None else "arpack"
    if d <= MAX_SCATTER_COLUMNS and n >= 10 * d:
        return "covariance_eigh"
    if is_tensor(X) or (n <= MAX_GRAM_ROWS and d >= 10 * n):
        return "gram"
    return "randomized" if max(n, d) > MAX_GRAM_ROWS and k is not None and 1 <= k < 0.8 * min(n, d) else "full"


def _scatter(X: Table, standardise: bool) -> tuple[ArrayOrTensor, ArrayOrTensor, ArrayOrTensor | None, float]:
    """Scatter matrix of the columns, their mean and scale, and the total sum of squares."""
    weight, mean, S = weighted_moments(X, products=X.dtype)
    xp = namespace(S)
    scale = _scale(xp.linalg.diagonal(S), weight) if standardise else None
    S = S if scale is None else S / scale[:, None] / scale
    return S, mean, scale, float(xp.linalg.trace(S))


def _centred(
    X: Table, standardise: bool
) -> tuple[ArrayOrTensor | LinearOperator, ArrayOrTensor, ArrayOrTensor | None, float]:
    """Centred rows, or an operator that stands for them; mean and scale of the columns, total sum of squares."""
    n = X.shape[0]
    if issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        scale = _scale(n * variance, n) if standardise else np.ones_like(variance)
        return (
            centred_operator(X, mean, scale),
            mean,
            scale if standardise else None,
            n * float((variance / scale**2).sum()),
        )
    xp = namespace(X)
    mean = xp.mean(X, axis=0)
    Z = X - mean
    correction = xp.mean(Z, axis=0)  # rounding error of the mean, large for data far from zero
    Z -= correction
    scale = _scale(xp.sum(Z * Z, axis=0), n) if standardise else None
    if scale is not None:
        Z /= scale
    return Z, mean + correction, scale, float(xp.linalg.vector_norm(Z)) ** 2


def _scale(squares: ArrayOrTensor, n: float) -> ArrayOrTensor:
    """Standard deviations of columns from their sums of squares; one for a constant column."""
    xp = namespace(squares)
    return xp.where(squares > 0, squares / (n - 1), xp.ones_like(squares)) ** 0.5


ROW_SOLVERS: dict[str, Solver] = {
    "full": svd_full,
    "gram": svd_gram,
    "arpack": svd_arpack,
    "randomized": svd_randomized,
}
SCATTER_SOLVERS: dict[str, Solver] = {"covariance_eigh": svd_covariance_eigh, "power": svd_power}
