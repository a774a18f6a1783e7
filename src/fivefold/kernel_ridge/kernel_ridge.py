"""Kernel ridge regression: ridge regression on the features behind a kernel, which are never computed.

    min over f of  sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2,     f(x) = sum_i a_i k(x_i, x),   (K + alpha W^-1) a = y

With the linear kernel it is ridge regression without an intercept; with noise of variance alpha it is the mean of a
Gaussian process. Predictions without row i, and those for every other alpha, follow from one decomposition.

Saunders, Gammerman & Vovk (1998).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import admit_pair, admit_weights, as_float64
from fivefold.core.estimators.params import NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.kernel_ridge.base import DualModel, KernelRidgeEstimator, as_targets
from fivefold.kernel_ridge.solvers.strength_path import StrengthPath, strength_path

DEFAULT_STRENGTHS = np.logspace(-6, 3, 19)  # two per power of ten


class KernelRidge(
    KernelRidgeEstimator, Regressor, keywords="kernel gamma degree coef0 kernel_params solver tol max_iter"
):
    """Ridge regression in the feature space of a kernel.

    Parameters
    ----------
    alpha
        strength of the penalty, one for all targets or one for each.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_ridge import KernelRidge
    >>> X = np.linspace(0, 3, 7)[:, None]
    >>> model = KernelRidge(alpha=0.01, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.25]]).round(3)
    array([0.945])
    """

    alpha: NonNegative | np.ndarray | list[Any] | tuple[Any, ...] = 1
    _: KW_ONLY

    takes = Takes(outputs=True, sparse=True)
    card = Card(
        applications=("regression",),
        use="Smooth functions of a few columns, up to some ten thousand rows. Choose alpha and gamma by validation; the"
        " path over alpha costs one decomposition. Where a standard deviation is wanted, take a Gaussian process.",
        steps=(
            "Take the kernels of all pairs of rows.",
            "Add alpha to the diagonal and solve for the dual coefficients.",
            "Predict a row by its kernels with the training rows, times the coefficients.",
        ),
        source="Saunders, Gammerman & Vovk (1998)",
        see_also=("KernelRidgeClassifier", "Ridge"),
        variants=(
            {"kernel": "rbf", "alpha": 0.1},
            {"kernel": "poly", "degree": 2, "solver": "eigen"},
            {"kernel": "rbf", "solver": "cg"},
        ),
        search={"kernel": ("rbf",), "alpha": SearchRange(1e-3, 10.0), "gamma": SearchRange(1e-3, 1.0)},
        growth=3.0,
    )

    def _admitted_rows(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights, *, fitting: bool
    ) -> tuple[Table, Target, Weights]:
        """Of precomputed kernels no row is dropped: a row of weight zero is a column too, and gets no coefficient."""
        if not self._is_precomputed:
            return super()._admitted_rows(X, y, sample_weight, fitting=fitting)
        X, y = admit_pair(self, X, y, numeric=True, fitting=fitting)
        return X, y.astype(X.dtype, copy=False), admit_weights(self, sample_weight, X)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        Y = as_targets(y)
        kernel, found = self._solve(X, Y, w, self._strengths(Y.shape[1]))
        dual = found.dual.reshape(y.shape).astype(X.dtype, copy=False)
        rows = X if self._is_precomputed else X.copy()
        self.model_ = DualModel(kernel, rows, dual, found.solver, found.steps)

    def _strengths(self, targets: int) -> Vector:
        alpha = as_float64(self, self.alpha, "alpha").ravel()
        if alpha.size not in (1, targets) or not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(
                f"KernelRidge: alpha must be a number from 0 up, or one for each of {targets} targets: {self.alpha!r}"
            )
        return np.broadcast_to(alpha, targets)

    def predict(self, X: UserTable) -> Array:
        """The predicted target of each row."""
        X = self._admit(X)
        return self.model_(X)

    def path(
        self, X: UserTable, y: UserTarget, alphas: Vector = DEFAULT_STRENGTHS, sample_weight: UserWeights = None
    ) -> StrengthPath:
        """Coefficients, leave-one-out predictions and their error for every strength, from one decomposition.

        Examples
        --------
        >>> X = np.linspace(0, 3, 7)[:, None]
        >>> path = KernelRidge(kernel="rbf").path(X, np.sin(X[:, 0]), [1e-4, 1.0])
        >>> path.best_alpha, path.loo_predictions.shape
        (0.0001, (2, 7))
        """
        X, y, w = self._admitted_rows(X, y, sample_weight, fitting=True)
        strengths = as_float64(self, alphas, "alphas").ravel()
        if not (strengths > 0).all():
            raise ValueError(f"KernelRidge: alphas must be above 0; got {alphas!r}")
        refuse_square("KernelRidge", X.shape[0], 5, "Take the path of a sample of the rows")
        return strength_path(self._chosen_kernel(X)(X), as_targets(y), w, strengths, y.shape)

    def leave_one_out(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Array:
        """Each row's prediction from all other rows, for this alpha; none of the n fits is made."""
        if not np.ndim(self.alpha) == 0:
            raise ValueError("KernelRidge: leave_one_out takes one alpha for all targets; path takes several")
        found = self.path(X, y, np.array([self.alpha], dtype=np.float64), sample_weight)
        return found.loo_predictions[0]
