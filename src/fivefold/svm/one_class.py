"""The region where most rows lie: one-class machine and smallest enclosing sphere, with kernels.

    OneClassSVM   f(x) = sum of b_i k(x_i, x) - rho >= 0 for all but the share nu of the rows: the half space farthest
    from
                  the origin that holds them
    SVDD          |phi(x) - a|^2 <= R^2 for all but the share nu: the smallest sphere; its centre is a = sum of b_i
    phi(x_i)

For kernels with k(x, x) = 1 both give the same region.

Schoelkopf, Platt, Shawe-Taylor, Smola & Williamson (2001); Tax & Duin (2004).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import OutlierDetector
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.svm.support.base import KernelMachine, Share
from fivefold.svm.support.dual_problems import enclosing_sphere, quantile_support

BOUNDARY_ROUNDING = {8: 1e-10, 4: 1e-6}  # of an answer, as a share of the boundary's own, by the bytes of a number


class KernelRegion(
    KernelMachine,
    OutlierDetector,
    keywords="kernel degree gamma coef0 tol nu shrinking cache_size verbose max_iter",
):
    """What both have in common.

    Parameters
    ----------
    nu
        upper bound of the share of rows outside the region, lower bound of the share of support vectors.
    """

    _: KW_ONLY
    nu: Share = 0.5

    takes = Takes(sparse=True)

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Self:
        """Learn from the rows of X; a weight of two means a row is there twice."""
        fitted: Self = self._fit_objects(X, y, sample_weight)
        return fitted

    @property
    def coef_(self) -> Any:
        """The weights of the columns (1, d), for kernel="linear"."""
        return self._linear_coef(self.model_.coefficients().T)


class OneClassSVM(KernelRegion):
    """The region of most rows, by the half space of the kernel's features that is farthest from the origin.

    Attributes
    ----------
    dual_coef_
        coefficients (1, support vectors).
    intercept_, offset_
        -rho and rho: the lowest score of a row inside.

    Examples
    --------
    >>> from fivefold.svm import OneClassSVM
    >>> model = OneClassSVM(nu=0.3, gamma=0.1).fit([[0.0], [0.4], [0.5], [0.6], [5.0]])
    >>> model.predict([[0.5], [9.0]])
    array([ 1, -1])
    """

    card = Card(
        applications=("outlier detection",),
        use="Novelties beside rows that are mostly sound. Scale the columns first; gamma decides how tightly the "
        "region follows the rows.",
        steps=(
            "Give the first rows multipliers that sum to nu of the weight.",
            "Minimise the dual problem, two multipliers at a time.",
            "A row is inside if its sum of kernels reaches that of the rows at the boundary.",
        ),
        source="Schoelkopf et al. (2001)",
        see_also=("SVDD", "IsolationForest"),
        variants=({"kernel": "linear", "nu": 0.3},),
        growth=2.0,
    )

    def _fit(self, X: Table, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        dual = quantile_support(float(self.nu), w.astype(np.float64))
        self.model_, _ = self._fit_single(X, training, positions, dual, training.source())

    @property
    def offset_(self) -> Array:  # type: ignore[override]  # an array, as in scikit-learn
        """rho, as an array of one number."""
        return np.asarray(-self.intercept_)

    def decision_function(self, X: UserTable) -> Vector:
        """Positive inside the region, negative outside."""
        X = self._admit(X)
        return _at_boundary(self._single_outputs(X), float(np.abs(self.intercept_[0])))

    def score_samples(self, X: UserTable) -> Vector:
        """The sum of kernels at the support vectors."""
        return np.asarray(self.decision_function(X) + self.offset_.astype(self.model_.dtype))


class SVDD(KernelRegion):
    """Support vector data description: the smallest sphere that holds most rows, in the features of the kernel.

    Attributes
    ----------
    dual_coef_
        coefficients (1, support vectors), which sum to 1: the centre is their mean in the features.
    radius_
        of the sphere.
    intercept_
        the part of the decision function that does not depend on the row.

    Examples
    --------
    >>> from fivefold.svm import SVDD
    >>> model = SVDD(kernel="linear", nu=0.01).fit([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> round(model.radius_, 6), model.centre_.round(6)
    (1.0, array([1., 0.]))
    """

    _: KW_ONLY
    nu: Share = 0.1

    card = Card(
        applications=("outlier detection",),
        use="Novelties beside rows that fill a compact region. With kernel='linear' the sphere is one of the columns "
        "themselves. Scale the columns first.",
        steps=(
            "Minimise the dual problem of the sphere, two multipliers at a time.",
            "The centre is the sum of the rows with their multipliers, the radius its distance from a row at the edge.",
        ),
        source="Tax & Duin (2004)",
        see_also=("OneClassSVM",),
        variants=({"kernel": "linear", "nu": 0.3},),
        growth=2.0,
    )

    def _fit(self, X: Table, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        training, positions = self._training(X, given, objects)
        source = training.source()
        squares = source.diagonal()
        dual = enclosing_sphere(float(self.nu), w.astype(np.float64), squares)
        self.model_, _ = self._fit_single(X, training, positions, dual, source)

    @property
    def radius_(self) -> float:
        """Radius of the sphere in the features of the kernel."""
        return float(np.sqrt(-self.offset_))

    @property
    def centre_(self) -> Vector:
        """The centre among the columns, for kernel="linear"."""
        return np.asarray(self.coef_)[0]

    @property
    def offset_(self) -> float:
        """Minus the squared radius."""
        return -max(2.0 * float(self.intercept_[0]) + float(self.squared_norm_[0]), 0.0)

    def score_samples(self, X: UserTable) -> Vector:
        """Minus the squared distance from the centre."""
        return np.asarray(self.decision_function(X) + self.offset_)

    def decision_function(self, X: UserTable) -> Vector:
        """The squared radius less the squared distance from the centre."""
        X = self._admit(X)
        model = self.model_
        if model.kernel.name == "precomputed":
            raise ValueError(
                "SVDD: kernel='precomputed' gives no k(x, x) of new rows; pass a function as the kernel instead"
            )
        answers = 2.0 * model.outputs(X, model.coefficients().T)[:, 0]
        distances = (answers - model.kernel.diagonal(X)).astype(model.dtype, copy=False)
        return _at_boundary(distances, -self.offset_)


def _at_boundary(answers: Vector, scale: float) -> Vector:
    """The answers, with zero for rows at the boundary, such as support vectors: rounding would throw a coin there."""
    answers[np.abs(answers) <= BOUNDARY_ROUNDING[answers.dtype.itemsize] * scale] = 0.0
    return answers
