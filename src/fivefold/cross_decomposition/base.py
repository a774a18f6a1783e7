"""What the methods for two tables share: scaling of both, and coordinates of rows of either."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import value_steps
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned, learned_in_dtype
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import NumericTarget, Regressor
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.types import (
    Array,
    Doubles,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.cross_decomposition.components.deflation import Components, FindPair, deflated_components
from fivefold.cross_decomposition.components.paired_tables import Standardisation, reduced


@dataclass(frozen=True)
class PairedProjection:
    """Directions of two tables; a row x has the coordinates x_rotations' (x - mean) / scale."""

    x: Standardisation
    y: Standardisation
    x_rotations: Matrix  # (d, k)
    y_rotations: Matrix  # (q, k)
    parts: Components
    dtype: DTypeLike
    single: bool  # was y a vector?
    x_scores: Matrix | None = None  # (n, k) of the training rows
    y_scores: Matrix | None = None

    @property
    def coef(self) -> Matrix:
        """Coefficients (q, d) of y on x - mean."""
        slopes: Matrix = self.x_rotations @ self.parts.y_loadings.T
        return (slopes * self.y.scale).T / self.x.scale

    @property
    def n_iter(self) -> list[int]:
        """One for each component found: each is a single decomposition."""
        return [1] * self.parts.found


class PairedTransformer(ClassNamePrefixFeaturesOutMixin, FloatTransformerMixin, NumericTarget):
    """Coordinates of rows of X, and of rows of y, along directions that were found from both.

    Parameters
    ----------
    n_components
        number of pairs of directions.
    scale
        whether columns of X and y are divided by their standard deviations.
    copy
        accepted for compatibility with scikit-learn; X and y are never overwritten.

    Attributes
    ----------
    x_weights_, y_weights_
        the directions, of what the earlier ones left of the tables (d, k) and (q, k).
    """

    n_components: Count = 2
    _: KW_ONLY
    scale: bool = True
    copy: bool = True

    takes = Takes(outputs=True)

    x_weights_ = learned_in_dtype("parts.x_weights")
    y_weights_ = learned_in_dtype("parts.y_weights")

    def _paired(self, X: Table, y: Target, w: Weights) -> tuple[Standardisation, Standardisation, Doubles, Doubles]:
        """How both tables are scaled, and the scaled tables."""
        Y = y.reshape(len(y), -1)
        (x_scaling, Xs), (y_scaling, Ys) = (Standardisation.of(table, w, self.scale) for table in (X, Y))
        return x_scaling, y_scaling, Xs, Ys

    def _check_count(self, most: int, n: int) -> None:
        if self.n_components > most:
            raise ValueError(
                f"{type(self).__name__}: the upper bound of `n_components` is {most} for these tables with "
                f"n_samples={n}. Got {self.n_components} instead. Reduce `n_components`"
            )

    def transform(self, X: UserTable, y: UserTarget = None) -> Any:  # Matrix, or two where y is given
        """Coordinates (n, k) of the rows of X; with y also those of the rows of y, as a second array."""
        return self._coordinates(X, y)

    def _coordinates(self, X: UserTable, y: UserTarget) -> Any:  # as `transform`
        X, model = self._admit(X), self.model_
        found = (model.x.apply(X) @ model.x_rotations).astype(X.dtype, copy=False)
        if y is None:
            return found
        Y = check_array(y, ensure_2d=False, dtype=(np.float64, np.float32), input_name="y", estimator=self)
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != len(model.y_rotations):
            raise ValueError(
                f"{type(self).__name__}: y has {Y.shape[1]} columns, but fit saw {len(model.y_rotations)}; give those"
            )
        return found, (model.y.apply(Y) @ model.y_rotations).astype(Y.dtype, copy=False)

    def fit_transform(
        self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None
    ) -> Any:  # as `transform`
        """Learn from both tables, and give the coordinates of their rows."""
        return self.fit(X, y, sample_weight).transform(X, y)

    @property
    def _n_features_out(self) -> int:
        return self.model_.x_rotations.shape[1]


class PartialLeastSquares(PairedTransformer, Regressor):
    """Components of two tables found one after the other, and the regression of y on those of X.

    Parameters
    ----------
    algorithm, max_iter, tol
        kept for scikit-learn's signature: every component comes from one singular value decomposition.

    Attributes
    ----------
    x_loadings_, y_loadings_
        coefficients of the tables on their scores (d, k) and (q, k): the scores times these approximate the tables.
    x_rotations_, y_rotations_
        what scaled rows are multiplied by to give their coordinates.
    coef_, intercept_
        y is about intercept + coef (x - mean of x).
    n_iter_
        one for each component.
    """

    _: KW_ONLY
    max_iter: Count = 500
    tol: NonNegative = 1e-06

    x_loadings_ = learned_in_dtype("parts.x_loadings")
    y_loadings_ = learned_in_dtype("parts.y_loadings")
    x_rotations_ = learned_in_dtype("x_rotations")
    y_rotations_ = learned_in_dtype("y_rotations")
    coef_ = learned_in_dtype("coef")
    intercept_ = learned_in_dtype("y.mean")
    n_iter_ = learned("n_iter")

    def _decompose(self, X: Table, y: Target, w: Weights, finder: Any, *, regression: bool) -> PairedProjection:
        x_scaling, y_scaling, Xs, Ys = self._paired(X, y, w)
        n, d, q = len(Xs), Xs.shape[1], Ys.shape[1]
        self._check_count(min(n, d) if regression else min(n, d, q), n)
        A, B = reduced(Xs, Ys, w)
        find: FindPair = finder(A, B)
        with value_steps(self, "component", self.n_components, X) as report:
            parts = deflated_components(A, B, self.n_components, find, report, regression=regression)
        if parts.exhausted:
            warn(
                f"{type(self).__name__}: the y residual is constant at iteration {parts.found}, or X has no variance "
                f"left: {parts.found} of {self.n_components} components were found, and the others are zero"
            )
        rotations = _rotations(parts.x_weights, parts.x_loadings)
        T, U = _regression_scores(parts, Xs @ rotations, Ys) if regression else (None, None)
        return PairedProjection(
            x=x_scaling,
            y=y_scaling,
            x_rotations=rotations,
            y_rotations=_rotations(parts.y_weights, parts.y_loadings),
            parts=parts,
            dtype=X.dtype,
            single=y.ndim == 1,
            x_scores=T,
            y_scores=U,
        )

    def transform(self, X: UserTable, y: UserTarget = None, copy: bool = True) -> Any:  # as `_coordinates`
        """Coordinates (n, k) of the rows of X; with y also those of the rows of y, as a second array."""
        return self._coordinates(X, y)

    def inverse_transform(self, X: UserTable, y: UserTarget = None) -> Any:  # Matrix, or two where y is given
        """The rows of X whose coordinates these are; with coordinates y of rows of y also those, as a second array."""
        check_is_fitted(self)
        model = self.model_
        back = [(X, model.x, model.parts.x_loadings)] + ([] if y is None else [(y, model.y, model.parts.y_loadings)])
        found = [
            scaling.restore(check_array(Z, dtype=(np.float64, np.float32)) @ loadings.T)
            for Z, scaling, loadings in back
        ]
        return found[0] if y is None else tuple(found)

    def predict(self, X: UserTable, copy: bool = True) -> Array:
        """The predicted targets of each row."""
        X, model = self._admit(X), self.model_
        said = ((X - model.x.mean) @ model.coef.T + model.y.mean).astype(X.dtype, copy=False)
        return said[:, 0] if model.single else said


def _rotations(weights: Matrix, loadings: Matrix) -> Matrix:
    """W (P'W)^+: products with the tables themselves, not with what the earlier components left of them."""
    found: Matrix = weights @ linalg.pinv(loadings.T @ weights, check_finite=False)
    return found


def _regression_scores(parts: Components, T: Doubles, Y: Doubles) -> tuple[Matrix, Matrix]:
    """Scores (n, k) of the training rows of both tables, where y is regressed on those of X, T.

    u = Y c / c'c, from what the earlier components left of Y, which is Y - sum t q'.
    """
    size = (parts.y_weights**2).sum(axis=0)
    C = parts.y_weights / np.where(size > 0, size, 1.0)
    return T, Y @ C - T @ np.triu(parts.y_loadings.T @ C, 1)
