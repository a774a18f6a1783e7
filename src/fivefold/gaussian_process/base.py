"""What regression and classification by Gaussian processes share: the kernel, its search, and rows of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.tables import admit
from fivefold.core.estimators.base import Estimator
from fivefold.core.estimators.params import Index, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices, UserTable
from fivefold.gaussian_process.posterior.foreign_kernels import AnyKernel, IsKernel
from fivefold.kernels.base import Objects, count
from fivefold.kernels.elementary import ConstantKernel, WhiteKernel
from fivefold.kernels.radial import RBF

STUDY_EVIDENCE_ROWS = 300  # in a study: more change the widths little, 200 are not always enough
HEIGHTS, WIDTHS, NOISE = (1e-3, 1e3), (0.1, 1e3), (1e-4, 10.0)  # bounds of the kernels with names

KernelParameter = Annotated[Any, IsKernel()]  # of any library


class GaussianProcess(Estimator):
    """A distribution over functions, given by a kernel whose parameters the evidence decides.

    Parameters
    ----------
    kernel
        covariance of the function's values at two rows, such as `1.0 * RBF(1.0) + WhiteKernel()`: a kernel of
        `fivefold.kernels`, of scikit-learn, or with the methods of either. For columns of similar scale: "rbf" for a
        Gaussian one whose width and height the evidence decides, "ard" for one with a width for each column (automatic
        relevance determination); both add noise if the targets are numbers.
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

    kernel: Literal["rbf", "ard"] | KernelParameter | None = None
    _: KW_ONLY
    optimizer: Literal["fmin_l_bfgs_b"] | Callable[..., Any] | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: Index = 0
    copy_X_train: bool = True
    random_state: Seed = None

    def _kernel_for(self, X: Objects, *, noisy: bool, bounds: Any = (1e-5, 1e5)) -> AnyKernel:
        """The kernel for these rows; `noisy` if one that is given by its name has a part for noise."""
        if isinstance(self.kernel, str):
            return gaussian_kernel(np.shape(X)[1], per_column=self.kernel == "ard", noisy=noisy)
        return default_kernel(bounds) if self.kernel is None else self.kernel

    @property
    def _wants_vectors(self) -> bool:
        """Are rows tables of numbers? Kernels of texts, graphs and the like take them as they are."""
        return bool(getattr(self.kernel, "requires_vector_input", True))

    def _objects(self, X: UserTable, *, fitting: bool) -> Objects:
        """Admitted rows in float64, or objects of another kind as they were given."""
        if not self._wants_vectors:
            return X
        return np.asarray(admit(self, X, fitting=fitting), dtype=np.float64)

    def _refuse_too_many(self, n: int, arrays: float, cure: str) -> None:
        refuse_square(type(self).__name__, n, arrays, f"Take {cure}, or fit a sample of the rows")


def default_kernel(bounds: Any = (1e-5, 1e5)) -> AnyKernel:
    """1.0 * RBF(1.0), as scikit-learn's default; bounds "fixed" keep it so."""
    return ConstantKernel(1.0, bounds) * RBF(1.0, bounds)


def gaussian_kernel(columns: int, *, per_column: bool, noisy: bool) -> AnyKernel:
    """A Gaussian kernel for standardised columns, with a width for all or for each, and noise if asked for.

    The squared distance of two rows grows with the number of columns, and so does the width that the search starts at.
    A column whose width reaches the upper bound plays no part.
    """
    width = np.sqrt(columns)
    kernel = ConstantKernel(1.0, HEIGHTS) * RBF([width] * columns if per_column else width, WIDTHS)
    return kernel + WhiteKernel(0.5, NOISE) if noisy else kernel


def evidence_sample(y: Doubles, most: int | None, seed: Seed, *, classes: bool = False) -> Indices:
    """The rows whose evidence decides the kernel's parameters: all, or this many drawn at random, sorted.

    Of classes every one is drawn in proportion, and at least one row of it.
    """
    n = len(y)
    if most is None or most >= n:
        return np.arange(n)
    order = check_random_state(seed).permutation(n)
    if classes:
        _, codes, counts = np.unique(y[order], return_inverse=True, return_counts=True)
        rank = np.empty(n)
        for k, count in enumerate(counts):
            rank[codes == k] = np.arange(count) / count
        order = order[np.argsort(rank, kind="stable")]
    return np.sort(order[:most])


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
