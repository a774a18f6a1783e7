"""Kernels as a Gaussian process needs them: ours, scikit-learn's, or a user's class with scikit-learn's methods.

scikit-learn's own kernels are computed by ours, which are the same functions; what is stored keeps the user's type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from fivefold.core.types import Array, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, as_kernel

SCIKIT_LEARN = "sklearn.gaussian_process.kernels"
METHODS = ("theta", "bounds", "diag", "clone_with_theta", "requires_vector_input")  # what a kernel of any library has

AnyKernel: TypeAlias = Any  # of whatever library, with scikit-learn's methods


class IsKernel:
    """A kernel of any library: for the declaration of a parameter."""

    def __contains__(self, value: object) -> bool:
        return not isinstance(value, type) and callable(value) and all(hasattr(type(value), name) for name in METHODS)

    def __str__(self) -> str:
        return "a kernel, such as 1.0 * RBF(1.0)"


@dataclass(frozen=True)
class ForeignKernel:
    """A user's kernel with scikit-learn's methods, asked as ours are; its derivatives come as one array (n, n, p)."""

    kernel: AnyKernel

    @property
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""
        return np.asarray(self.kernel.theta)

    def replace(self, theta: Vector) -> ForeignKernel:
        """The kernel with other parameters."""
        return ForeignKernel(self.kernel.clone_with_theta(theta))

    def __call__(self, X: Objects, Y: Objects | None = None) -> Matrix:
        return np.asarray(self.kernel(X, Y), dtype=np.float64)

    def diag(self, X: Objects) -> Vector:
        """k(x_i, x_i)."""
        return np.asarray(self.kernel.diag(X), dtype=np.float64)

    def pullback(self, X: Objects) -> tuple[Matrix, Callable[[Array], Vector]]:
        """The matrix, and what turns weights of its entries into the derivative by theta."""
        K, D = self.kernel(X, eval_gradient=True)
        return np.array(K, dtype=np.float64), lambda W: np.einsum("ij,ijk->k", W, D)


def computing_kernel(kernel: AnyKernel) -> Kernel | ForeignKernel:
    """The kernel by which matrices are computed."""
    if isinstance(kernel, Kernel):
        return kernel
    parts = [kernel, *(part for part in kernel.get_params().values() if hasattr(part, "clone_with_theta"))]
    known = all(type(part).__module__ == SCIKIT_LEARN for part in parts)
    return as_kernel(kernel) if known else ForeignKernel(kernel)


def with_theta(kernel: AnyKernel, theta: Vector) -> AnyKernel:
    """A copy of a user's kernel with these logarithms of its free parameters."""
    copy = clone(kernel)
    copy.theta = theta
    return copy
