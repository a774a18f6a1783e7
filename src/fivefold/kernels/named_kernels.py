"""Kernels by name: as scikit-learn's estimators and `pairwise_kernels` name them, with gamma, degree and coef0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fivefold.core.types import Array, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, count
from fivefold.kernels.composition import NormalisedKernel
from fivefold.kernels.differences import ChiSquared, FunctionKernel, Laplace, additive_chi_squares
from fivefold.kernels.gram_blocks import as_rows
from fivefold.kernels.inner_product import Linear, Polynomial, Sigmoid
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS, Bounds
from fivefold.kernels.radial import RBF


class AdditiveChiSquared(Kernel):
    """-sum_j (x_j - y_j)^2 / (x_j + y_j): conditionally positive definite only."""

    def is_stationary(self) -> bool:
        return False

    @property
    def requires_vector_input(self) -> bool:
        return True

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return -additive_chi_squares(X, Y)

    def diag(self, X: Objects) -> Vector:
        return np.zeros(as_rows(X).shape[0], dtype=as_rows(X).dtype)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from ()

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from ()


LOG_STEP = 1e-5  # of a central difference in log gamma: rounding and curvature cost about equally many digits
POWER_OF_GAMMA = {  # log of the parameter by which a kernel is written rises this much with log gamma
    "rbf": -0.5,
    "laplacian": -1.0,
    "linear": 0.0,
    "cosine": 0.0,
    "additive_chi2": 0.0,
}
NAMED: dict[str, Callable[[float, float, float], Kernel]] = {  # of gamma, degree and coef0
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: RBF(float(np.sqrt(0.5 / gamma)) if gamma else np.inf),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "laplacian": lambda gamma, degree, coef0: Laplace(1.0 / gamma if gamma else np.inf),
    "chi2": lambda gamma, degree, coef0: ChiSquared(gamma),
    "additive_chi2": lambda gamma, degree, coef0: AdditiveChiSquared(),
    "cosine": lambda gamma, degree, coef0: NormalisedKernel(Linear()),
}


def named_kernel(name: str, gamma: float | None = None, degree: float = 3, coef0: float = 1) -> Kernel:
    """The kernel that scikit-learn calls by this name; `gamma` has to be a number by now where the kernel uses it.

    Examples
    --------
    >>> named_kernel("rbf", gamma=0.5), named_kernel("poly", gamma=1.0, degree=2)
    (RBF(length_scale=1.0), Polynomial(degree=2, gamma=1.0, coef0=1))
    """
    if name not in NAMED:
        raise ValueError(f"no kernel is called {name!r}; there are {', '.join(sorted(NAMED))}")
    return NAMED[name](1.0 if gamma is None else gamma, degree, coef0)


class PairwiseKernel(Kernel):
    """A kernel by its name, or a function of two rows and gamma; the one searched parameter is gamma."""

    gamma: float = 1.0
    gamma_bounds: Bounds = DEFAULT_BOUNDS
    metric: Any = "linear"
    pairwise_kernels_kwargs: Any = None

    @property
    def requires_vector_input(self) -> bool:
        return True

    def is_stationary(self) -> bool:
        return self.metric in ("rbf", "laplacian")

    def _kernel(self) -> Kernel:
        """The kernel of that name."""
        options = self.pairwise_kernels_kwargs or {}
        if callable(self.metric):
            return FunctionKernel(self.metric, {"gamma": self.gamma, **options})
        return named_kernel(self.metric, self.gamma, options.get("degree", 3), options.get("coef0", 1))

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return self._kernel()(as_rows(X), None if Y is None else as_rows(Y))

    def diag(self, X: Objects) -> Vector:
        return self._kernel().diag(as_rows(X))

    def _quotient(self, value: Callable[[Kernel], Array]) -> Array:
        """The derivative by log gamma of a user's function, from a central difference."""
        up, down = self.replace(self.theta + LOG_STEP), self.replace(self.theta - LOG_STEP)
        return (value(up) - value(down)) / (2.0 * LOG_STEP)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self._free() and callable(self.metric):
            yield self._quotient(lambda k: k(X, Y))
        elif self._free():
            rise = POWER_OF_GAMMA.get(str(self.metric), 1.0)
            found = self._kernel().gradient(X, Y) if rise else iter(())
            yield rise * next(found, np.zeros((count(X), count(X if Y is None else Y))))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        if self._free() and callable(self.metric):
            yield self._quotient(lambda k: k.diag(X))
        elif self._free():
            rise = POWER_OF_GAMMA.get(str(self.metric), 1.0)
            found = self._kernel().diag_gradient(X) if rise else iter(())
            yield rise * next(found, np.zeros(count(X)))
