"""What linear models share: the learned value and its predictor.

    eta(x) = offset + (x - centre) coef' = x coef' + intercept

Rows are centred before the product where `centre` is kept, so that data far from zero cost no digits. Shapes are
scikit-learn's: a regressor of one output has coef (d,) and one number as intercept; of several outputs, and in every
classifier, coef is (outputs, d) and intercept (outputs,). A classifier of two classes has one output, positive for
the second.

    class Method(Regressor):                              class Method(LinearClassifier):
        coef_ = learned("coef")                               def _fit(self, X, y, w):
        def _fit(self, X, y, w):                                  self.model_ = LinearModel(coef, intercept)
            self.model_ = LinearModel(coef, intercept)
        def predict(self, X):
            X = self._admit(X)
            return predictor(self.model_, X)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.refusals import refuse_nonfinite
from fivefold.core.admission.sparse import configured_csr
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.numerics.arrays import is_tensor, namespace, numpy_dtype
from fivefold.core.numerics.products import affine, row_blocks
from fivefold.core.numerics.tensors import is_one
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Matrix, Table, UserTable, Vector, Weights

Result = TypeVar("Result")


@dataclass(frozen=True)
class LinearModel:
    """A linear surface, and the route and the number of steps that found it."""

    coef: Any  # (d,) or (outputs, d), an array or a sparse matrix
    intercept: Any  # a number or (outputs,)
    centre: Vector | None = None  # (d,)
    offset: Any = None  # the height at the centre, () or (outputs,)
    solver: str = ""
    n_iter: Any = 1  # a number, or an array where scikit-learn has one

    def exchanged(self, name: str, value: Any) -> LinearModel:
        """The same with another `coef` or `intercept`; the surface is then given by these two alone."""
        value = np.asarray(value)[()] if not issparse(value) else value
        return replace(self, **{name: value}, centre=None, offset=None)


def centred_linear(
    coef: Array,
    centre: Vector,
    offset: Array | np.floating[Any],
    dtype: DTypeLike,
    *,
    intercept: bool = True,
    solver: str = "",
) -> LinearModel:
    """The model of coefficients (d,) or (outputs, d), the means of X (d,), and the height there, () or (outputs,).

    Numbers that users see get this dtype; without an intercept the means are zero, and so is the intercept.
    """
    at_zero = cast_learned(np.asarray(offset - coef @ centre), dtype)[()] if intercept else 0.0
    return LinearModel(cast_learned(coef, dtype), at_zero, centre, offset, solver)


def cast_learned(numbers: Array, dtype: DTypeLike) -> Array:
    """Learned numbers in the dtype of X, if they are within its range."""
    dtype = numpy_dtype(dtype)
    with np.errstate(over="ignore"):
        out = np.asarray(numbers, dtype=dtype, order="C")
    if np.isinf(out).any() and np.isfinite(numbers).all():
        raise ValueError(
            f"learned numbers of up to {np.abs(numbers).max():.3g} exceed the range of {np.dtype(dtype)} because "
            "columns of X vary so little. Give X in float64, or multiply its columns by a large number"
        )
    return out


def weights_or_none(w: Weights) -> Weights | None:
    """The weights, or None if every row counts once: sums without weights are cheaper."""
    if is_chunked(w):
        return None if w.ones else w  # type: ignore[attr-defined]  # weights in chunks
    if is_tensor(w) and is_one(w):
        return None
    return None if (w == 1.0).all() else w


def predictor(model: LinearModel, X: Table) -> Array:
    """eta of each row of a dense or sparse X, (n,) or (n, outputs), in the dtype of X."""
    A = model.coef.toarray().T if issparse(model.coef) else model.coef.T
    if issparse(X):
        return np.asarray(X @ A + model.intercept).astype(X.dtype, copy=False)
    if is_tensor(X) and model.centre is None:
        return affine(X, np.zeros(X.shape[1]), A, model.intercept)
    if model.centre is not None:
        return affine(X, model.centre, A, model.offset)
    A = np.ascontiguousarray(A)
    out = np.empty((len(X), *A.shape[1:]), dtype=X.dtype)

    def part(lo: int, hi: int) -> None:
        for a, b, Z in row_blocks(X, lo, hi):
            out[a:b] = Z @ A + model.intercept

    map_parts(part, len(X))
    return out


def finite_predictor(estimator: Estimator, model: LinearModel, X: Table) -> Array:
    """The predictor, for a method that takes X unchecked: NaN and infinity in X show in the result."""
    eta = predictor(model, X)
    if not (eta.isfinite() if is_tensor(eta) else np.isfinite(eta)).all():
        refuse_nonfinite(estimator, X)
    return eta


def solve_unchecked(estimator: Estimator, X: Table, solve: Callable[[], Result]) -> Result:
    """The result of `solve` for an X that was not checked: if it fails over NaN or infinity, the error says so."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            return solve()
    except ValueError:
        if not is_chunked(X):  # chunks are searched as they are read
            refuse_nonfinite(estimator, X, fitting=True)
        raise


def decision_values(model: LinearModel, X: Table) -> Array:
    """The values of a classifier's decision_function: (n,) for two classes, (n, K) for more."""
    eta = predictor(model, X)
    return eta[:, 0] if eta.ndim == 2 and eta.shape[1] == 1 else eta


def class_scores(model: LinearModel, X: Table) -> Matrix:
    """(n, K), the largest wins; the first of two classes scores zero."""
    eta = decision_values(model, X)
    xp = namespace(eta)
    return xp.stack([xp.zeros_like(eta), eta], axis=1) if eta.ndim == 1 else eta


class SurfaceRegressor(Regressor):
    """A regressor whose `model_` has a LinearModel, `linear`.

    Parameters
    ----------
    fit_intercept
        fit an intercept; without one the surface passes through the origin.

    Attributes
    ----------
    coef_
        shape (d,).
    intercept_
        the prediction at the origin.
    """

    coef_ = learned("linear.coef")
    intercept_ = learned("linear.intercept")

    def predict(self, X: UserTable) -> Any:
        """The predicted target of each row."""
        X = self._admit(X)
        return predictor(self.model_.linear, X)


class LinearClassifier(Classifier):
    """A classifier whose `model_` is a LinearModel: the sign, or the largest predictor, decides.

    Attributes
    ----------
    coef_, intercept_
        of the predictors: one for two classes, positive for the second; else one per class.
    classes_
        the labels.
    """

    coef_ = learned("coef")
    intercept_ = learned("intercept")

    def decision_function(self, X: UserTable) -> Any:
        """The predictor of each row: positive for the second of two classes, or one per class."""
        X = self._admit(X)
        return decision_values(self.model_, X)

    def _scores(self, X: Table) -> Matrix:
        return class_scores(self.model_, X)


class SparseCoefficients:
    """For a method whose `model_` is a LinearModel: `coef_` can be kept sparse."""

    model_: LinearModel

    def sparsify(self) -> Self:
        """Keep `coef_` as a sparse matrix."""
        check_is_fitted(self)
        self.model_ = replace(self.model_, coef=configured_csr(self.model_.coef))
        return self

    def densify(self) -> Self:
        """Keep `coef_` as a plain array."""
        check_is_fitted(self)
        if issparse(self.model_.coef):
            self.model_ = replace(self.model_, coef=self.model_.coef.toarray())
        return self
