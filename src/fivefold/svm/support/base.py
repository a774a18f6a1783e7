"""What all kernel machines have in common: kernels by name, admission of objects, attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from fivefold.core._sklearn import Tags
from fivefold.core.admission.sparse import configured_csr
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Estimator, learned, not_fitted_error
from fivefold.core.estimators.params import Index, NonNegative, Positive, Range
from fivefold.core.types import Doubles, Indices, Matrix, Table, UserTable, UserTarget, UserWeights, Weights
from fivefold.kernels.row_cache import RowSource
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo import WHOLE_MATRIX_ROWS
from fivefold.svm.support.expansion import KernelChoice, SupportExpansion
from fivefold.svm.support.pairwise_training import SolverOptions
from fivefold.svm.support.training import TrainingRows, count_objects, take_objects

KernelName = Literal["linear", "poly", "rbf", "sigmoid", "precomputed"] | Callable[..., Any]
Gamma = Literal["scale", "auto"] | Annotated[float, Range(0, open_high=True)]
Cost = Annotated[float, Range(0, open_low=True)]  # infinity allows no error at all
Finite = Annotated[float, Range(open_low=True, open_high=True)]
Share = Annotated[float, Range(0, 1, open_low=True)]
StepLimit = Annotated[int, Range(-1)]  # -1 is no limit


class KernelMachine(Estimator):
    """Kernel, solver and learned attributes.

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
    tol
        the largest violation of the optimality conditions, and the largest duality gap as a share of the objective. On
        at most 2000 rows the last digits are found too; below 1e-4 rows of the Gram matrix are float64.
    shrinking
        whether variables that stay at their bounds are set aside during the descent.
    cache_size
        rows of the Gram matrix are kept in this many megabytes.
    verbose
        has no effect, and is accepted as in scikit-learn.
    max_iter
        maximum number of steps of the solver; -1 is no limit.

    Attributes
    ----------
    support_, support_vectors_
        numbers of the support vectors among the rows of fit, and these rows.
    n_support_
        their number.
    n_iter_
        steps of the solver.
    fit_status_
        0 if the solver converged, 1 if `max_iter` ended it.
    """

    _: KW_ONLY
    kernel: KernelName = "rbf"
    degree: Index = 3
    gamma: Gamma = "scale"
    coef0: Finite = 0.0
    shrinking: bool = True
    tol: NonNegative = 1e-3
    cache_size: Positive = 200
    verbose: bool | int = False
    max_iter: StepLimit = -1

    support_ = learned("support")
    support_vectors_ = learned("support_vectors")
    n_support_ = learned("n_support")
    dual_coef_ = learned("dual_coef")
    intercept_ = learned("intercept")
    fit_status_ = learned("fit_status")
    n_iter_ = learned("n_iter")
    shape_fit_ = learned("shape_fit")
    duality_gap_ = learned("duality_gap")
    objective_ = learned("objective")
    squared_norm_ = learned("squared_norm")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel_name() == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _kernel_name(self) -> str:
        kernel: KernelName = vars(self).get("kernel", "rbf")
        return kernel if isinstance(kernel, str) else "function"

    def _fit_objects(self, X: UserTable, y: UserTarget, sample_weight: UserWeights) -> Any:
        """Fit to a table, or to objects that only the kernel understands: then X stands for their numbers."""
        name = self._kernel_name()
        if name == "precomputed" and issparse(X):
            raise TypeError(f"{type(self).__name__}: a precomputed kernel must be dense; got a sparse matrix")
        if name != "function":
            return self._fit_admitted(X, y, sample_weight, given=sample_weight)  # type: ignore[attr-defined]  # of classes below
        numbers = np.arange(count_objects(X), dtype=np.float64)[:, None]
        self._fit_admitted(numbers, y, sample_weight, given=sample_weight, objects=X)  # type: ignore[attr-defined]  # of classes below
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

    def _training(self, X: Table, given: UserWeights, objects: Any) -> tuple[TrainingRows, Indices]:
        """The rows as the solver sees them, and their numbers before rows of weight zero left."""
        name, weights = type(self).__name__, None if given is None else np.ravel(np.asarray(given, dtype=np.float64))
        n = X.shape[0] if weights is None or len(weights) == 1 else len(weights)
        positions = np.arange(n) if weights is None or len(weights) == 1 else np.flatnonzero(weights)
        if self._kernel_name() == "precomputed" and X.shape[1] != n:
            raise ValueError(f"{name}: a precomputed kernel must be square; got {n} rows and {X.shape[1]} columns")
        shares = None if weights is None or len(weights) == 1 else weights[positions]
        return TrainingRows.of(name, choose_kernel(self, X, shares), X, positions, objects, float(self.tol)), positions

    def _options(self) -> SolverOptions:
        return SolverOptions(float(self.tol), int(self.max_iter), float(self.cache_size) * 2**20, bool(self.shrinking))

    def _expansion(
        self, training: TrainingRows, positions: Indices, support: Indices, coef: Matrix, **more: Any
    ) -> SupportExpansion:
        """The learned sum of kernels at rows `support` of the training rows."""
        X = training.X
        kind = training.kernel.name
        objects, vectors = None, np.empty((0, 0))
        if kind == "function":
            objects = take_objects(training.objects, support) if training.kernel.is_of_pairs else training.given
        elif kind != "precomputed":
            vectors = X[support]
        sparse = issparse(X)
        self._refuse_infinite(coef, more["intercept"])
        if sparse:
            coef = configured_csr(csr_array(coef))
        more["n_support"] = np.asarray(more["n_support"]).astype(np.int32)
        return SupportExpansion(
            kernel=training.kernel,
            support=positions[support].astype(np.int32),
            support_vectors=vectors,
            objects=objects,
            dual_coef=coef,
            shape_fit=tuple(X.shape) if kind != "function" else (len(positions),),
            dtype=X.dtype,
            **more,
        )

    def _fit_single(
        self, X: Table, training: TrainingRows, positions: Indices, dual: KernelDual, source: RowSource, **more: Any
    ) -> tuple[SupportExpansion, DualSolution]:
        """The machine of one dual problem, whose multipliers are those of the rows, or of the rows taken twice."""
        n = training.n

        def model(found: DualSolution) -> SupportExpansion:
            b = found.b if dual.n == n else found.b[:n] + found.b[n:]
            support = np.flatnonzero(b)
            return self._expansion(
                training, positions, support, b[None, support],
                intercept=np.array([found.offsets.mean()]), n_support=[len(support)], n_iter=found.steps,
                fit_status=int(found.reason == "max_iter"), duality_gap=np.array([found.gap]),
                objective=np.array([found.value]), squared_norm=np.array([found.squared_norm]), **more,
            )  # fmt: skip

        with step_reports(self, "solution", 1, X) as monitor:
            found = self._options().solve(dual, source, monitor=lambda b, value: monitor(None, value))
            try:
                monitor(lambda: model(found), found.value)
            except KeyboardInterrupt:
                found = replace(found, reason="interrupted")
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")
        self._warn_unconverged([found])
        return model(found), found

    def _single_outputs(self, X: Table) -> Doubles:
        """The answer of the only machine to admitted rows."""
        model = self.model_
        return np.asarray(model.outputs(X, model.coefficients().T)[:, 0].astype(model.dtype, copy=False))

    def _refuse_infinite(self, coef: Matrix, intercept: Matrix) -> None:
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: the dual coefficients or the intercept are not finite; scale the columns of X"
            )

    def _warn_unconverged(self, solutions: list[DualSolution]) -> None:
        """Warn if a descent did not end by itself."""
        self._refuse_unbounded(solutions)
        if not any(found.reason == "max_iter" for found in solutions):
            return
        warn(
            f"{type(self).__name__}: {max(found.steps for found in solutions)} steps (max_iter) were not enough for "
            f"tol={self.tol:g}; raise max_iter, or scale the columns",
            ConvergenceWarning,
        )

    def _refuse_unbounded(self, solutions: list[DualSolution]) -> None:
        if any(found.reason == "unbounded" for found in solutions):
            raise ValueError(
                f"{type(self).__name__}: with an infinite C no row may be on the wrong side, but classes or targets "
                "cannot be separated so; choose a finite C, or another kernel"
            )
        if self._kernel_name() in ("precomputed", "function") and any(found.indefinite for found in solutions):
            warn(
                f"{type(self).__name__}: the kernel is not positive semidefinite (a squared distance between two rows "
                "is negative): the solution is a local one, and distances and margins have no meaning"
            )

    def _linear_coef(self, W: Doubles) -> Any:
        if self._kernel_name() != "linear":
            raise AttributeError(f"coef_ of {type(self).__name__} exists for kernel='linear' only")
        coef = self.model_.linear_coefficients(W)
        coef = configured_csr(coef) if issparse(coef) else coef
        data = coef.data if issparse(coef) else coef
        data.flags.writeable = False
        return coef


@contextmanager
def step_reports(machine: KernelMachine, name: str, count: int, X: Table) -> Iterator[Callable[[Any, Any], bool]]:
    """`fit_steps`; a small table is fitted before a step could be reported, unless a callback asks for it."""
    if X.shape[0] <= WHOLE_MATRIX_ROWS and not getattr(machine, "_skl_callbacks", ()):
        yield lambda model, value: False
        return
    with fit_steps(machine, name, count, X) as monitor:
        yield monitor


def choose_kernel(machine: KernelMachine, X: Table, w: Weights | None) -> KernelChoice:
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
