"""What all estimators with a kernel parameter of support vector machines share: kernels by name, admission of objects.

What they learn is a sum of kernels at some rows of fit (`expansion`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import pairwise
from numbers import Real
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.callback import with_callbacks

from fivefold.core._sklearn import Tags
from fivefold.core.admission.sparse import configured_csr
from fivefold.core.estimators.base import Estimator, learned, not_fitted_error
from fivefold.core.estimators.params import Index, Range
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices, Matrix, Table, UserTable, UserTarget, UserWeights, Weights
from fivefold.svm.support.expansion import KernelChoice, KernelSum
from fivefold.svm.support.training import TrainingRows, count_objects, dense_if_small, take_objects

KernelName = Literal["linear", "poly", "rbf", "sigmoid", "precomputed"] | Callable[..., Any]
Gamma = Literal["scale", "auto"] | Annotated[float, Range(0, open_high=True)]
Finite = Annotated[float, Range(open_low=True, open_high=True)]

Sum = TypeVar("Sum", bound=KernelSum)


class KernelEstimator(Estimator):
    """A kernel by name or as a function, and a learned sum of kernels.

    Parameters
    ----------
    kernel
        "rbf", "linear", "poly", "sigmoid"; "precomputed", where X is the Gram matrix; or a function of two collections
        of objects that returns the matrix between them, such as a kernel of `fivefold.kernels`: X is any sequence then.
    degree
        of the polynomial kernel.
    gamma
        of the kernels "rbf", "poly" and "sigmoid": a number; "scale", 1 / (columns * variance of X); "auto", 1 /
        columns.
    coef0
        the constant of the kernels "poly" and "sigmoid".

    Attributes
    ----------
    support_, support_vectors_
        numbers among the rows of fit of those with a coefficient, and these rows.
    dual_coef_
        the coefficients of these rows (outputs, rows).
    intercept_
        one per output.
    """

    _: KW_ONLY
    kernel: KernelName = "rbf"
    degree: Index = 3
    gamma: Gamma = "scale"
    coef0: Finite = 0.0

    support_ = learned("support")
    support_vectors_ = learned("support_vectors")
    dual_coef_ = learned("dual_coef")
    intercept_ = learned("intercept")
    n_iter_ = learned("n_iter")
    shape_fit_ = learned("shape_fit")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel_name() == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _kernel_name(self) -> str:
        kernel: KernelName = vars(self).get("kernel", "rbf")
        return kernel if isinstance(kernel, str) else "function"

    def _fit_objects(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Any:
        """Fit to a table, or to objects that only the kernel understands: then X stands for their numbers."""
        name = self._kernel_name()
        if name == "precomputed" and issparse(X):
            raise TypeError(f"{type(self).__name__}: a precomputed kernel must be dense; got a sparse matrix")
        if name != "function":
            return self._fit_admitted(X, y, sample_weight, given=sample_weight, **extra)  # type: ignore[attr-defined]  # of classes below
        numbers = np.arange(count_objects(X), dtype=np.float64)[:, None]
        self._fit_admitted(numbers, y, sample_weight, given=sample_weight, objects=X, **extra)  # type: ignore[attr-defined]  # of classes below
        for known in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(known, None)
        return self

    def _admit(self, X: UserTable) -> Table:
        if self._kernel_name() != "function":
            X = super()._admit(X)
            if issparse(X) != issparse(self.model_.support_vectors):
                X = csr_array(X) if not issparse(X) else self._refuse_sparse()
            return X
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "model_")
        return X

    def _refuse_sparse(self) -> Table:
        raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")

    def _training(self, X: Table, given: UserWeights, objects: Any, tol: float = 0.0) -> tuple[TrainingRows, Indices]:
        """The rows as the solver sees them, and their numbers before rows of weight zero left.

        Rows of the Gram matrix are exact enough for this tolerance of a dual problem.
        """
        name, weights = type(self).__name__, None if given is None else np.ravel(np.asarray(given, dtype=np.float64))
        n = X.shape[0] if weights is None or len(weights) == 1 else len(weights)
        positions = np.arange(n) if weights is None or len(weights) == 1 else np.flatnonzero(weights)
        if self._kernel_name() == "precomputed" and X.shape[1] != n:
            raise ValueError(f"{name}: a precomputed kernel must be square; got {n} rows and {X.shape[1]} columns")
        shares = None if weights is None or len(weights) == 1 else weights[positions]
        return TrainingRows.of(name, choose_kernel(self, X, shares), X, positions, objects, tol), positions

    def _kernel_sum(
        self, made: type[Sum], training: TrainingRows, positions: Indices, support: Indices, coef: Matrix, **more: Any
    ) -> Sum:
        """The learned sum of kernels at rows `support` of the training rows, with further fields of its class."""
        X = training.X
        kind = training.kernel.name
        objects, vectors = None, np.empty((0, 0))
        if kind == "function":
            objects = take_objects(training.objects, support) if training.kernel.is_of_pairs else training.given
        elif kind != "precomputed":
            vectors = X[support]
        self._refuse_infinite(coef, more["intercept"])
        if issparse(X):
            coef = configured_csr(csr_array(coef))
        return made(
            kernel=training.kernel,
            support=positions[support].astype(np.int32),
            support_vectors=vectors,
            objects=objects,
            dual_coef=coef,
            shape_fit=tuple(X.shape) if kind != "function" else (len(positions),),
            dtype=X.dtype,
            **more,
        )

    def _outputs(self, X: Table) -> Doubles:
        """The learned sums at admitted rows (n, outputs), in float64."""
        model = self.model_
        return np.asarray(model.outputs(X, model.coefficients().T))

    def _refuse_infinite(self, coef: Matrix, intercept: Matrix) -> None:
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: the dual coefficients or the intercept are not finite; scale the columns of X"
            )

    def _linear_coef(self, W: Doubles) -> Any:
        if self._kernel_name() != "linear":
            raise AttributeError(f"coef_ of {type(self).__name__} exists for kernel='linear' only")
        coef = self.model_.linear_coefficients(W)
        coef = configured_csr(coef) if issparse(coef) else coef
        data = coef.data if issparse(coef) else coef
        data.flags.writeable = False
        return coef


class SupervisedKernelEstimator(KernelEstimator):
    """Learns from a table, or from objects that only the kernel understands, and targets.

    `_fit(X, y, w, given, objects)` hands `given` and `objects` on to `_training`.
    """

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice."""
        fitted: Self = self._fit_objects(X, y, sample_weight)
        return fitted


def whole_gram(training: TrainingRows, owner: str, arrays: float, cure: str) -> Doubles:
    """The Gram matrix of all rows in float64, refused in words where memory does not hold this many of its size."""
    n = training.n
    if training.gram is not None:
        return np.asarray(training.gram, dtype=np.float64)
    refuse_square(owner, n, arrays, cure)
    return training.source().matrix().astype(np.float64, copy=False)


def distinct_rows(training: TrainingRows, G: Doubles) -> Indices:
    """The first of each set of equal rows; given or computed kernels tell objects apart by their kernels with all."""
    if training.kernel.name in ("precomputed", "function"):
        keys = [row.tobytes() for row in G]
    elif issparse(training.X):
        X = training.X
        keys = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr)]
    else:
        keys = [row.tobytes() for row in np.ascontiguousarray(training.X) + 0.0]  # -0.0 becomes 0.0
    first: dict[bytes, int] = {}
    for i, key in enumerate(keys):
        first.setdefault(key, i)
    return np.fromiter(first.values(), dtype=np.int64)


def choose_kernel(machine: KernelEstimator, X: Table, w: Weights | None) -> KernelChoice:
    """The kernel of a machine, with the gamma that its setting means for this table with weights w of its rows."""
    if not isinstance(machine.kernel, str):
        return KernelChoice("function", function=machine.kernel)
    if machine.kernel == "precomputed":
        return KernelChoice("precomputed")
    return KernelChoice(machine.kernel, kernel_width(machine.gamma, X, w), float(machine.coef0), int(machine.degree))


def kernel_width(gamma: Any, X: Table, w: Weights | None) -> float:
    """gamma as a number; a weight of two counts a row twice."""
    if isinstance(gamma, Real):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    X = dense_if_small(X)
    if issparse(X):
        squares, sums = X.multiply(X).mean(axis=1), X.mean(axis=1)
        mean = np.average(np.ravel(sums), weights=w)
        variance = float(np.average(np.ravel(squares), weights=w) - mean**2)
    elif w is None:
        variance = float(X.var(dtype=np.float64))
    else:
        mean = np.average(X.mean(axis=1, dtype=np.float64), weights=w)
        variance = float(np.average(((X - mean) ** 2).mean(axis=1, dtype=np.float64), weights=w))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
