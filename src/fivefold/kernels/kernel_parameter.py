"""The kernel that an estimator's parameters name: scikit-learn's names with gamma, degree and coef0, or a function.

A function takes two rows, with further arguments from `kernel_params`, and returns a number, as in scikit-learn. A
kernel of this package is taken as it is; "precomputed" means that a table already holds the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.types import Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, as_kernel
from fivefold.kernels.differences import FunctionKernel
from fivefold.kernels.expression import parse
from fivefold.kernels.gram_blocks import as_rows, densified
from fivefold.kernels.named_kernels import NAMED, named_kernel

KernelChoice: TypeAlias = str | Callable[..., Any] | Kernel
UNIT_GAMMA = ("chi2",)  # names whose gamma is one by default; that of the others is one over the number of columns
SMALLEST_GAMMA = 1e-100  # a gamma of zero counts as this: widths are its inverse


class PrecomputedKernel(Kernel):
    """The rows hold their kernels with the training rows already."""

    def is_stationary(self) -> bool:
        return False

    @property
    def requires_vector_input(self) -> bool:
        return True

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return densified(as_rows(X)).copy()

    def diag(self, X: Objects) -> Vector:
        return np.diag(densified(as_rows(X))).copy()

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from ()


def kernel_of(
    kernel: KernelChoice,
    columns: int,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    options: Mapping[str, Any] | None = None,
) -> Kernel:
    """The kernel of these parameters for a table of this many columns; text that is no name is an expression.

    Examples
    --------
    >>> kernel_of("rbf", 2), kernel_of("poly", 4, degree=2)
    (RBF(length_scale=1.0), Polynomial(degree=2, gamma=0.25, coef0=1))
    >>> kernel_of("0.5 * rbf(sigma=1) + linear()", 2)
    0.5 * RBF(length_scale=1) + Linear()
    """
    if isinstance(kernel, Kernel) or type(kernel).__module__.startswith("sklearn.gaussian_process"):
        return as_kernel(kernel)
    if not isinstance(kernel, str):
        return FunctionKernel(kernel, dict(options or {}))
    if kernel == "precomputed":
        return PrecomputedKernel()
    if kernel not in NAMED:
        return parse(kernel)
    width = gamma if gamma is not None else 1.0 if kernel in UNIT_GAMMA else 1.0 / columns
    return named_kernel(kernel, max(width, SMALLEST_GAMMA) if kernel in ("rbf", "laplacian") else width, degree, coef0)
