"""What the machines of a dual problem have in common: the solver, its warnings, attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative, Positive, Range
from fivefold.core.types import Doubles, Indices, Matrix, Table, UserWeights
from fivefold.kernels.row_cache import RowSource
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo import EXACT_ROWS
from fivefold.svm.support.expansion import SupportExpansion
from fivefold.svm.support.kernel_estimator import KernelEstimator
from fivefold.svm.support.pairwise_training import SolverOptions
from fivefold.svm.support.training import TrainingRows

Cost = Annotated[float, Range(0, open_low=True)]  # infinity allows no error at all
Share = Annotated[float, Range(0, 1, open_low=True)]
StepLimit = Annotated[int, Range(-1)]  # -1 is no limit


class KernelMachine(KernelEstimator):
    """A solver of the dual problem, and learned attributes.

    Parameters
    ----------
    tol
        the largest violation of the optimality conditions, and the largest duality gap as a share of the objective. On
        at most 2000 rows the last digits are found too; below 1e-4 rows of the Gram matrix are float64.
    shrinking
        has no effect, and is accepted as in scikit-learn: the solver works on small sets of variables, and all others
        are set aside.
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
    shrinking: bool = True
    tol: NonNegative = 1e-3
    cache_size: Positive = 200
    verbose: bool | int = False
    max_iter: StepLimit = -1

    n_support_ = learned("n_support")
    fit_status_ = learned("fit_status")
    duality_gap_ = learned("duality_gap")
    objective_ = learned("objective")
    squared_norm_ = learned("squared_norm")

    def _training(self, X: Table, given: UserWeights, objects: Any, tol: float = 0.0) -> tuple[TrainingRows, Indices]:
        return super()._training(X, given, objects, float(self.tol))

    def _expansion(
        self, training: TrainingRows, positions: Indices, support: Indices, coef: Matrix, **more: Any
    ) -> SupportExpansion:
        """The learned sum of kernels at rows `support` of the training rows."""
        more["n_support"] = np.asarray(more["n_support"]).astype(np.int32)
        return self._kernel_sum(SupportExpansion, training, positions, support, coef, **more)

    def _options(self) -> SolverOptions:
        return SolverOptions(float(self.tol), int(self.max_iter), float(self.cache_size) * 2**20)

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
            found = self._options().solver(source).minimise(dual, monitor=lambda b, value: monitor(None, value))
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

    def _warn_unconverged(self, solutions: list[DualSolution]) -> None:
        """Warn if a descent did not end by itself."""
        self._refuse_unbounded(solutions)
        if not any(found.reason == "max_iter" for found in solutions):
            return
        limit, price = "max_iter", f", lower C={self.C:g}" if hasattr(self, "C") else ""
        if self.max_iter < 0:
            limit = "the most that are taken where max_iter=-1"
        warn(
            f"{type(self).__name__}: {max(found.steps for found in solutions)} steps ({limit}) were not enough for "
            f"tol={self.tol:g}; raise max_iter{price}, or scale the columns",
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


@contextmanager
def step_reports(machine: KernelMachine, name: str, count: int, X: Table) -> Iterator[Callable[[Any, Any], bool]]:
    """`fit_steps`; a small table is fitted before a step could be reported, unless a callback asks for it."""
    if X.shape[0] <= EXACT_ROWS and not getattr(machine, "_skl_callbacks", ()):
        yield lambda model, value: False
        return
    with fit_steps(machine, name, count, X) as monitor:
        yield monitor
