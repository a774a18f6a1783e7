"""Nystroem's method: features from the kernel with a few rows of the sample.

    z(x) = K_mm^(-1/2) (k(b_1, x), ..., k(b_m, x)),    <z(x), z(y)> = k_x' K_mm^-1 k_y

which is the kernel of the projections onto the span of the m rows: exact between these, too small elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, NonNegative, Range, Seed
from fivefold.core.estimators.precomputed_kernels import TakesPrecomputedKernels
from fivefold.core.numerics.arrays import like
from fivefold.core.numerics.products import product
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Matrix, Table, UserTable
from fivefold.kernels.base import Kernel, take
from fivefold.kernels.kernel_parameter import kernel_of
from fivefold.kernels.low_rank import inverse_root

ROWS_PER_BLOCK = 4096  # rows whose kernels with the basis are held at a time

KernelName = Literal[
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "precomputed",
    "rbf",
    "sigmoid",
]


@dataclass(frozen=True)
class NystroemModel:
    """The rows of the basis, and what makes features of the kernel with them."""

    kernel: Kernel | None  # None: X holds the kernels
    basis: Table  # (m, d)
    indices: Indices  # (m,) numbers of these rows in fit
    normalization: Matrix  # (m, m)


class Nystroem(TakesPrecomputedKernels, Transformer):
    """Features of a kernel from a random subset of the rows.

    Parameters
    ----------
    kernel
        a name, a kernel of `fivefold.kernels`, a function of two rows, or "precomputed".
    gamma
        of the kernels that have one; by default one over the number of columns, for "chi2" one.
    coef0, degree
        of the polynomial and the sigmoid kernel.
    kernel_params
        further arguments of a function.
    n_components
        number of rows to draw, and of features.
    random_state
        seed of the draw.
    n_jobs
        no effect: kernels are computed on all cores, and the result does not depend on their number.

    Attributes
    ----------
    components_, component_indices_
        the rows drawn, and their numbers.
    normalization_
        inverse root of their kernels (m, m).

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_approximation import Nystroem
    >>> from fivefold.kernels import RBF
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Z = Nystroem(RBF(), n_components=3, random_state=0).fit_transform(X)
    >>> np.allclose(Z @ Z.T, RBF()(X))
    True
    """

    kernel: KernelName | Callable[..., Any] = "rbf"
    _: KW_ONLY
    gamma: NonNegative | None = None
    coef0: float | None = None
    degree: Annotated[float, Range(1)] | None = None
    kernel_params: dict[str, Any] | None = None
    n_components: Count = 100
    random_state: Seed = None
    n_jobs: int | None = None

    takes = Takes(sparse=True)
    card = Card(
        applications=("dimension reduction",),
        use="Kernel methods for many rows: a linear model of these features stands for one with the kernel. Its "
        "features follow the rows: fewer are needed than of RBFSampler, and each costs more.",
        steps=(
            "Draw rows at random.",
            "Take the inverse root of their kernel matrix.",
            "A row's features are its kernels with those rows, times the root.",
        ),
        source="Williams & Seeger (2001); Drineas & Mahoney (2005)",
        see_also=("RBFSampler", "KernelSVD"),
        given={"n_components": 5},
        variants=({"kernel": "poly", "n_components": 2}, {"kernel": "laplacian", "n_components": 3}),
    )

    components_ = learned("basis")
    component_indices_ = learned("indices")
    normalization_ = learned("normalization")

    def _fit(self, X: Table) -> None:
        n = X.shape[0]
        if self.n_components > n:
            warn(
                f"Nystroem: n_components={self.n_components} > n_samples={n}: all {n} rows are the basis, and their "
                "whole kernel matrix is decomposed"
            )
        indices = check_random_state(self.random_state).permutation(n)[: self.n_components]
        basis, kernel = take(X, indices), self._kernel(X.shape[1])
        if kernel is None:
            self._refuse_oblong(X)
            K = basis[:, indices]
        else:
            K = kernel(basis)
        root = inverse_root(np.asarray(K, dtype=np.float64))
        self.model_ = NystroemModel(kernel, basis, indices, like(root, X))

    def _kernel(self, d: int) -> Kernel | None:
        asked = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        given = {name: value for name, value in asked.items() if value is not None}
        if (callable(self.kernel) or self._is_precomputed) and given:
            raise ValueError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel: functions "
                "get their arguments from kernel_params"
            )
        options = self.kernel_params or {}
        if not callable(self.kernel):
            given = {**{name: options[name] for name in asked if name in options}, **given}
        return None if self._is_precomputed else kernel_of(self.kernel, d, **given, options=options)

    def transform(self, X: UserTable) -> Matrix:
        """The features of each row."""
        X = self._admit(X)
        model = self.model_
        out = np.empty((X.shape[0], len(model.normalization)), dtype=X.dtype)
        root = np.ascontiguousarray(model.normalization.T)
        for a in range(0, X.shape[0], ROWS_PER_BLOCK):
            Z = X[a : a + ROWS_PER_BLOCK]
            K = Z[:, model.indices] if model.kernel is None else model.kernel(Z, model.basis)
            out[a : a + ROWS_PER_BLOCK] = product(np.ascontiguousarray(K), root)
        return out

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.normalization)
