"""What ridge regression of numbers and of labels by kernels share: the kernel, the dual system, predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.precomputed_kernels import TakesPrecomputedKernels
from fivefold.core.parallel import threads
from fivefold.core.storage.memory_limits import refuse_square, square_fits
from fivefold.core.types import Array, Doubles, Matrix, Table, Vector, Weights
from fivefold.kernel_ridge.solvers.dual_system import (
    PRECONDITIONER_RANK,
    DualSolution,
    by_conjugate_gradients,
    by_factor,
)
from fivefold.kernel_ridge.solvers.strength_path import WeightedSpectrum
from fivefold.kernels.base import Kernel
from fivefold.kernels.gram import Gram
from fivefold.kernels.kernel_parameter import kernel_of
from fivefold.kernels.low_rank import incomplete_cholesky

BLOCK_ENTRIES = 1 << 22  # kernels of new rows with training rows that are held at a time
ARRAYS_OF_A_FACTOR = 2.5  # n x n arrays that a fit by "cholesky" holds
SECONDS_PER_ENTRY = 1e-9  # on one core, of a kernel that is quickly made
LONG_PRODUCT = 2.0  # minutes of a step of "cg" from which there is a warning
KEPT_SHARE = 0.25  # of the free memory: kernels that take less are kept between the products of "cg"

KernelName = Literal[
    "linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "additive_chi2", "precomputed"
]


@dataclass(frozen=True)
class DualModel:
    """f(x) = sum_i a_i k(x_i, x) + offset."""

    kernel: Kernel
    rows: Table  # (n, d), or the Gram matrix of the training rows
    dual: Array  # (n,) or (n, t)
    solver: str
    n_iter: int
    offset: Vector | float = 0.0  # (t,)

    def __call__(self, X: Table) -> Array:
        """f of the rows, by blocks."""
        n = X.shape[0]
        out = np.empty((n, *self.dual.shape[1:]), dtype=np.result_type(X.dtype, self.dual.dtype))
        step = max(1, BLOCK_ENTRIES // max(1, len(self.dual)))
        for a in range(0, n, step):
            out[a : a + step] = self.kernel(X[a : a + step], self.rows) @ self.dual
        return (out + self.offset).astype(X.dtype, copy=False)


class KernelRidgeEstimator(TakesPrecomputedKernels):
    """Ridge regression in the feature space of a kernel.

    Parameters
    ----------
    kernel
        the name of a kernel, a kernel of `fivefold.kernels`, a function of two rows, or "precomputed": then X holds the
        kernels of its rows with the training rows.
    gamma
        factor of "rbf", "laplacian", "poly", "sigmoid" and "chi2"; by default one over the number of columns, and one
        for "chi2".
    degree
        exponent of "poly".
    coef0
        constant term of "poly" and "sigmoid".
    kernel_params
        further arguments of a function, by name.
    solver
        "cholesky" factors the kernels of all pairs, "eigen" decomposes them, "cg" (conjugate gradients with a
        preconditioner of low rank) keeps them only while they are small; "auto" is "cholesky" as long
        as memory allows, then "cg".
    tol
        where "cg" stops, as a share of the length of the targets.
    max_iter
        most steps of "cg".

    Attributes
    ----------
    dual_coef_
        coefficient of each training row, (n,) or (n, targets).
    X_fit_
        the training rows, or their kernels if precomputed.
    solver_, n_iter_
        the way that was taken, and how many steps it took.
    """

    _: KW_ONLY
    kernel: KernelName | Kernel | Callable[..., Any] = "linear"
    gamma: NonNegative | None = None
    degree: NonNegative = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    solver: Literal["auto", "cholesky", "eigen", "cg"] = "auto"
    tol: NonNegative = 1e-10
    max_iter: Count = 1000

    takes = Takes(sparse=True)

    dual_coef_ = learned("dual")
    X_fit_ = learned("rows")
    solver_ = learned("solver")
    n_iter_ = learned("n_iter")

    def _chosen_kernel(self, X: Table) -> Kernel:
        self._refuse_oblong(X)
        return kernel_of(self.kernel, X.shape[1], self.gamma, self.degree, self.coef0, self.kernel_params)

    def _solve(self, X: Table, Y: Doubles, w: Weights, alpha: Vector) -> tuple[Kernel, DualSolution]:
        """Dual coefficients (n, t) of targets (n, t), one strength for each."""
        kernel, n = self._chosen_kernel(X), X.shape[0]
        if self.solver == "cg" or (self.solver == "auto" and not square_fits(n, ARRAYS_OF_A_FACTOR)):
            return kernel, self._by_products(kernel, X, Y, w, alpha)
        refuse_square(type(self).__name__, n, ARRAYS_OF_A_FACTOR, 'Take solver="cg", which stores no such array')
        K = kernel(X)
        if not np.isfinite(K).all():
            raise ValueError(
                f"{type(self).__name__}: the kernel {kernel} is not finite for these rows: scale the columns"
            )
        found = by_factor(K, Y, w, alpha) if self.solver != "eigen" else None
        if found is not None:
            return kernel, DualSolution(found, "cholesky")
        if self.solver != "eigen":
            warn(
                f"{type(self).__name__}: the system is singular to rounding (alpha={self.alpha!r}): the shortest least-"
                "squares solution was taken. Raise alpha, or scale the columns"
            )
        spectrum = WeightedSpectrum.of(K, w)
        duals = [spectrum.dual(Y[:, [t]], float(alpha[t])) for t in range(Y.shape[1])]
        return kernel, DualSolution(np.concatenate(duals, axis=1), "eigen")

    def _by_products(self, kernel: Kernel, X: Table, Y: Doubles, w: Weights, alpha: Vector) -> DualSolution:
        if not (alpha > 0).all():
            raise ValueError(f'{type(self).__name__}: solver="cg" needs alpha above 0; got {self.alpha!r}')
        if self._is_precomputed:
            K = np.asarray(kernel(X), dtype=np.float64)
            return by_conjugate_gradients(lambda V: K @ V, Y, w, alpha, K[:, :0], self.tol, self.max_iter)
        gram, n = Gram(kernel, X), X.shape[0]
        if square_fits(n, ARRAYS_OF_A_FACTOR, KEPT_SHARE):
            gram.matrix  # noqa: B018  computed once, and kept
        elif (minutes := SECONDS_PER_ENTRY / 60 * n**2 / threads()) > LONG_PRODUCT:
            warn(
                f'{type(self).__name__}: each step of solver="cg" makes the kernels of all pairs of {n} rows, which '
                f"takes {minutes:.0f} minutes or more. Take Ridge on features of Nystroem or RBFSampler, which takes "
                "seconds, or fit a sample of the rows"
            )
        rank = min(X.shape[0], int(PRECONDITIONER_RANK * np.sqrt(X.shape[0])) + 1)
        Z = incomplete_cholesky(kernel, X, rank, tol=1e-14).Z.astype(np.float64)
        return by_conjugate_gradients(
            lambda V: np.asarray(gram @ V, dtype=np.float64), Y, w, alpha, Z, self.tol, self.max_iter
        )

    alpha: Any  # each of the two says which numbers


def as_targets(y: Matrix) -> Doubles:
    """Targets as a table (n, t) of float64."""
    Y = np.asarray(y, dtype=np.float64)
    return Y.reshape(len(Y), -1)
