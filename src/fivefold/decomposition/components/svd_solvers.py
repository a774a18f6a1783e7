"""Ways to the leading singular values and axes of a table.

A solver takes the table, or its scatter matrix, the number k of axes wanted and the effort allowed; it gives
k singular values or more, largest first, and k axes in rows. All agree up to their accuracy:

full              LAPACK's singular value decomposition: exact, small values too
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
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import svds
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import mean_variance_axis

from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_numpy
from fivefold.core.numerics.linalg import (
    SingularAxes,
    centred_operator,
    eigen,
    fix_signs,
    gram_svd,
    leading_eigenpairs,
    randomized_svd,
    thin_svd,
    weighted_moments,
)
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Matrix, Table

MAX_SCATTER_COLUMNS = 1000  # columns up to which the scatter matrix is the quickest way for a long table
MAX_GRAM_ROWS = 500  # rows up to which the Gram matrix is the quickest way for a wide table, and LAPACK for any


@dataclass(frozen=True)
class SolverOptions:
    """How far an iterative solver goes."""

    seed: Any
    tol: float = 0.0
    steps: int | None = None  # power steps; None leaves it to the solver
    oversamples: int = 10
    normalise: str = "auto"

    @cached_property
    def rng(self) -> np.random.RandomState:
        """Made where it is needed: to draw one from the system takes as long as a small decomposition."""
        return check_random_state(self.seed)


def svd_full(A: Matrix, k: int, effort: SolverOptions) -> SingularAxes:
    _, s, Vt = thin_svd(A)
    return SingularAxes(s, fix_signs(Vt[:k]))


def svd_gram(A: Matrix, k: int, effort: SolverOptions) -> SingularAxes:
    return gram_svd(A, k)


def svd_arpack(A: Matrix, k: int, effort: SolverOptions) -> SingularAxes:
    start = effort.rng.uniform(-1, 1, size=min(A.shape))
    if not ((A if A.shape[1] <= A.shape[0] else A.T) @ start).any():  # a table of zeros
        return SingularAxes(np.zeros(k), np.eye(k, A.shape[1]))
    _, s, Vt = svds(A, k=k, tol=effort.tol, v0=start)
    return SingularAxes(s[::-1].copy(), fix_signs(Vt[::-1]))


def svd_randomized(A: Matrix, k: int, effort: SolverOptions) -> SingularAxes:
    steps = effort.steps if effort.steps is not None else 7 if k < 0.1 * min(A.shape) else 4
    return randomized_svd(A, k, effort.rng, oversamples=effort.oversamples, steps=steps, normalise=effort.normalise)


def svd_covariance_eigh(S: Matrix, k: int, effort: SolverOptions) -> SingularAxes:
    values, vectors = eigen(S, count=k)
    xp = namespace(values)
    return SingularAxes(xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values))), vectors.T[:k])


def svd_power(S: Matrix, k: int, effort: SolverOptions) -> SingularAxes:
    options = {} if effort.steps is None else {"max_iter": max(effort.steps, 1)}
    pairs = leading_eigenpairs(to_numpy(S).astype(np.float64), k, effort.rng, tol=effort.tol, **options)
    late = [i for i, pair in enumerate(pairs) if pair.reason == "max_iter"]
    if late:
        warn(
            f"power iteration stopped after {pairs[late[0]].steps} steps before component {late[0]} settled: its "
            "variance is close to the next one's. Raise iterated_power or tol, or use another svd_solver",
            ConvergenceWarning,
        )
    values, vectors = [max(pair.value, 0.0) for pair in pairs], [pair.vector for pair in pairs]
    return SingularAxes(like(np.sqrt(values), S), like(np.reshape(vectors, (k, len(S))), S))


@dataclass(frozen=True)
class Decomposition:
    """Singular values and axes of a centred table, and what it was centred and scaled by."""

    values: Array  # (k,) or all
    axes: Array  # (k, d)
    mean: Array  # (d,)
    scale: Array  # (d,) or None
    total: float  # sum of squares


def decompose(
    X: Table,
    k: int,
    solver: str,
    effort: SolverOptions,
    standardise: bool = False,
    refuse: Callable[[], None] = lambda: None,
) -> Decomposition:
    """The k leading axes of the rows of X about their mean, over their standard deviations if asked.

    `refuse` is called when the sums of the rows are not finite: X was not read for NaN before.
    """
    summed = _scatter if solver in SCATTER_SOLVERS else _centred
    with np.errstate(invalid="ignore"):
        table, mean, scale, total = summed(X, standardise)
    if not np.isfinite(total) or (issparse(X) and not np.isfinite(X.data.sum())):  # a sparse mean passes over NaN
        refuse()
    values, axes = {**SCATTER_SOLVERS, **ROW_SOLVERS}[solver](table, k, effort)
    return Decomposition(values[: min(X.shape)], axes, mean, scale, total)


def choose_solver(X: Table, k: int | None) -> str:
    """The solver for this table and k components; k is None when all principal values are needed."""
    n, d = X.shape
    if issparse(X):
        return "covariance_eigh" if k is None else "arpack"
    if d <= MAX_SCATTER_COLUMNS and n >= 10 * d:
        return "covariance_eigh"
    if is_tensor(X) or (n <= MAX_GRAM_ROWS and d >= 10 * n):
        return "gram"
    return "randomized" if max(n, d) > MAX_GRAM_ROWS and k is not None and 1 <= k < 0.8 * min(n, d) else "full"


def _scatter(X: Table, standardise: bool) -> tuple[Any, Any, Any, float]:
    """Scatter matrix of the columns, their mean and scale, and the total sum of squares."""
    weight, mean, S = weighted_moments(X, products=X.dtype)
    xp = namespace(S)
    scale = _scale(xp.linalg.diagonal(S), weight) if standardise else None
    S = S if scale is None else S / scale[:, None] / scale
    return S, mean, scale, float(xp.linalg.trace(S))


def _centred(X: Table, standardise: bool) -> tuple[Any, Any, Any, float]:
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
    left = xp.mean(Z, axis=0)  # rounding of the mean, large for data far from zero
    Z -= left
    scale = _scale(xp.sum(Z * Z, axis=0), n) if standardise else None
    if scale is not None:
        Z /= scale
    return Z, mean + left, scale, float(xp.linalg.vector_norm(Z)) ** 2


def _scale(squares: Any, n: float) -> Any:
    """Standard deviations of columns from their sums of squares; one for a constant column."""
    xp = namespace(squares)
    return xp.where(squares > 0, squares / (n - 1), xp.ones_like(squares)) ** 0.5


ROW_SOLVERS = {"full": svd_full, "gram": svd_gram, "arpack": svd_arpack, "randomized": svd_randomized}
SCATTER_SOLVERS = {"covariance_eigh": svd_covariance_eigh, "power": svd_power}
