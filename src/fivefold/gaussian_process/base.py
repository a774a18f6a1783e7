"""What regression and classification by Gaussian processes share: the kernel, its search, and rows of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.tables import admit
from fivefold.core.estimators.base import Estimator
from fivefold.core.estimators.params import Index, Seed
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, UserTable
from fivefold.gaussian_process.posterior.foreign_kernels import AnyKernel, IsKernel
from fivefold.kernels.base import Objects, count
from fivefold.kernels.elementary import ConstantKernel
from fivefold.kernels.radial import RBF

KernelParameter = Annotated[Any, IsKernel()]  # of any library


class GaussianProcess(Estimator):
    """A distribution over functions, given by a kernel whose parameters the evidence decides.

    Parameters
    ----------
    kernel
        covariance of the function's values at two rows, such as `1.0 * RBF(1.0) + WhiteKernel()`: a kernel of
        `fivefold.kernels`, of scikit-learn, or with the methods of either.
    optimizer
        "fmin_l_bfgs_b" for SciPy's L-BFGS-B; a function of (objective, theta, bounds) that returns the best theta and
        the value there; or None, which keeps the parameters as they are.
    n_restarts_optimizer
        number of further searches, from parameters drawn within their bounds.
    copy_X_train
        whether the training rows are copied; without, they must not change later.
    random_state
        seed of the restarts.

    Attributes
    ----------
    kernel_
        the kernel with the parameters found.
    log_marginal_likelihood_value_
        logarithm of the evidence there.
    """

    kernel: KernelParameter | None = None
    _: KW_ONLY
    optimizer: Literal["fmin_l_bfgs_b"] | Callable[..., Any] | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: Index = 0
    copy_X_train: bool = True
    random_state: Seed = None

    @property
    def _wants_vectors(self) -> bool:
        """Are rows tables of numbers? Kernels of texts, graphs and the like take them as they are."""
        return bool(getattr(self.kernel, "requires_vector_input", True))

    def _objects(self, X: UserTable, *, fitting: bool) -> Objects:
        """Admitted rows in float64, or objects of another kind as they were given."""
        if not self._wants_vectors:
            return X
        return np.asarray(admit(self, X, fitting=fitting), dtype=np.float64)

    def _refuse_too_many(self, n: int, arrays: float) -> None:
        refuse_square(
            type(self).__name__,
            n,
            arrays,
            "Take SparseGaussianProcessRegressor, which needs rows x inducing points, or fit a sample of the rows",
        )


def default_kernel(bounds: Any = (1e-5, 1e5)) -> AnyKernel:
    """1.0 * RBF(1.0), as scikit-learn's default; bounds "fixed" keep it so."""
    return ConstantKernel(1.0, bounds) * RBF(1.0, bounds)


def kept(X: Objects, copy: bool) -> Objects:
    """The training rows as the model keeps them."""
    return np.array(X) if copy and isinstance(X, np.ndarray) else X


def two_axes(y: Doubles) -> Doubles:
    """Targets as a table (n, t) of float64."""
    Y = np.asarray(y, dtype=np.float64)
    return Y.reshape(len(Y), -1)


def rows_of(X: Objects) -> int:
    """How many rows or objects there are."""
    return count(X)
