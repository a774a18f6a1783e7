"""Support vector machines for regression, with kernels.

    SVR     min over f, b of  1/2 |f|^2 + C sum of w_i max(0, |t_i - f(x_i) - b| - epsilon)
    NuSVR   the same with epsilon found: at most the share nu of the weight lies outside the tube

Multipliers run from -C to C, one per row, with the kink of epsilon |b_i| at zero (optim/dual/kernel_dual).

Drucker, Burges, Kaufman, Smola & Vapnik (1997); Schoelkopf, Smola, Williamson & Bartlett (2000).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Table, Target, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.kernels.row_cache import RepeatedRows
from fivefold.svm.support.base import Cost, KernelMachine, Share
from fivefold.svm.support.dual_problems import nu_tube, tube


class KernelRegressor(KernelMachine, Regressor):
    """What both regressors share.

    Parameters
    ----------
    C
        weight of the errors relative to the smoothness of the surface.
    """

    _: KW_ONLY
    C: Cost = 1.0

    takes = Takes(sparse=True)

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice."""
        fitted: Self = self._fit_objects(X, y, sample_weight)
        return fitted

    def predict(self, X: UserTable) -> Vector:
        """Predicted target of each row."""
        X = self._admit(X)
        return self._single_outputs(X)

    @property
    def coef_(self) -> Any:
        """The weights of the columns (1, d), for kernel="linear"."""
        return self._linear_coef(self.model_.coefficients().T)


class SVR(KernelRegressor, keywords="kernel degree gamma coef0 tol C epsilon shrinking cache_size verbose max_iter"):
    """Support vector machine for regression with kernels: errors up to epsilon are free.

    Parameters
    ----------
    epsilon
        errors up to this size cost nothing; in units of the target.

    Attributes
    ----------
    dual_coef_
        coefficients (1, support vectors).
    intercept_
        the constant of the surface.
    duality_gap_, objective_
        how far the objective may be from its minimum, and the objective.

    Examples
    --------
    >>> from fivefold.svm import SVR
    >>> model = SVR(kernel="linear", C=100.0, epsilon=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[0.0], [2.0]]).round(6)
    array([0.5, 1.5])
    """

    _: KW_ONLY
    epsilon: NonNegative = 0.1

    card = Card(
        applications=("regression",),
        use="A smooth surface that a few outlying targets must not distort, on up to some ten thousand rows. Scale the "
        "columns and the target first.",
        steps=(
            "Count the part of each error beyond epsilon as its loss.",
            "Minimise the dual problem, two multipliers at a time.",
            "Answer with the sum of kernels at the rows whose multiplier is not zero.",
        ),
        source="Drucker et al. (1997); Fan, Chen & Lin (2005)",
        see_also=("LinearSVR", "NuSVR"),
        variants=({"kernel": "linear", "epsilon": 0.3}, {"kernel": "poly", "degree": 2, "coef0": 1.0}),
        search={
            "C": SearchRange(0.1, 100.0),
            "gamma": SearchRange(0.02, 2.0, per_column=True),
            "epsilon": SearchRange(0.02, 0.5),
        },
        portfolio=True,
        growth=2.0,
        scaled_target=True,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        dual = tube(y.astype(np.float64), float(self.C), w.astype(np.float64), float(self.epsilon))
        self.model_, _ = self._fit_single(X, training, positions, dual, training.source())


class NuSVR(KernelRegressor, keywords="nu C kernel degree gamma coef0 shrinking tol cache_size verbose max_iter"):
    """Support vector machine for regression with kernels, by a share of rows outside the tube.

    Parameters
    ----------
    nu
        upper bound of the share of rows outside the tube, lower bound of the share of support vectors.

    Attributes
    ----------
    dual_coef_
        coefficients (1, support vectors).
    intercept_
        the constant of the surface.
    epsilon_
        the width of the tube that was found.

    Examples
    --------
    >>> from fivefold.svm import NuSVR
    >>> model = NuSVR(kernel="linear", C=100.0, nu=0.5).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.predict([[1.5]]).round(6)
    array([1.5])
    """

    _: KW_ONLY
    nu: Share = 0.5

    card = Card(
        applications=("regression",),
        use="As SVR, where the share of rows outside the tube is easier to choose than its width.",
        steps=(
            "Count the part of each error beyond epsilon as its loss, and nu times epsilon as well.",
            "Minimise the dual problem, two multipliers of one sign at a time.",
            "Read epsilon off the rows at the edge of the tube.",
        ),
        source="Schoelkopf, Smola, Williamson & Bartlett (2000)",
        see_also=("SVR",),
        variants=({"kernel": "linear", "nu": 0.3},),
        search={"C": SearchRange(0.1, 100.0), "nu": (0.25, 0.75)},
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        if not np.isfinite(self.C):
            raise ValueError("NuSVR: C must be finite: the share nu of an infinite price is no number")
        training, positions = self._training(X, given, objects)
        dual = nu_tube(y.astype(np.float64), float(self.C), w.astype(np.float64), float(self.nu))
        source = RepeatedRows(training.source(), np.tile(np.arange(training.n), 2))
        self.model_, found = self._fit_single(X, training, positions, dual, source)
        self.epsilon_ = float(0.5 * (found.offsets[0] - found.offsets[1]))
