"""What the mixtures share: the fit by EM, and what a fitted mixture says about rows.

A mixture gives `_unfitted(X, w)`, the model to be fitted, and `_starts(unfitted, X, w, rng)`, an endless supply of
fitted ones to start from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.places import without_tensor_path
from fivefold.core.admission.tables import admit
from fivefold.core.admission.targets import admit_weights, keep_positive
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators import params
from fivefold.core.estimators.base import DensityEstimator, learned_in_dtype
from fivefold.core.numerics.arrays import numpy_dtype, to_device_of, to_numpy
from fivefold.core.numerics.tensors import on_host
from fivefold.core.random_state import check_random_state
from fivefold.core.types import (
    Codes,
    Labels,
    Mask,
    Matrix,
    Rng,
    Table,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.distributions.family import FamilyStats, GroupWeights, RowWeights
from fivefold.distributions.statistics.empty_groups import MIN_GROUP_SHARE
from fivefold.inference.em import EMResult, best_em
from fivefold.mixture.estimation.finite_mixture import (
    Assignment,
    FiniteMixture,
    HardAssignment,
    RestrictedAssignment,
    SoftAssignment,
)
from fivefold.mixture.estimation.initialisation import STARTS, AnyPoints, labelled_start
from fivefold.spatial.centres.chunked_lloyd import ChunkedPoints
from fivefold.spatial.points import Points

ASSIGNMENTS: dict[str, Assignment] = {"soft": SoftAssignment(), "hard": HardAssignment()}
MixtureMonitor: TypeAlias = Callable[[FiniteMixture, float], bool]  # of a model and its value; True to stop


class BaseMixture(DensityEstimator):
    """Base of the mixtures, each of which declares the fields in its own order.

    Parameters
    ----------
    max_iter
        maximum number of steps of one run.
    n_components
        number of components.
    tol
        stop when a step gains less than this per row.
    n_init
        runs from different starts, of which the one with the highest likelihood is kept.
    random_state
        seed of the starts and of the samples.
    warm_start
        whether another `fit` continues from the current model.
    verbose
        whether to print the progress.
    verbose_interval
        steps between two lines of progress.
    assignment
        whether a row counts in every component by its probability (soft), or in the likeliest one alone (hard).
    weight_prior
        number of pseudo-rows added to every component, a Dirichlet prior; infinite keeps all weights equal.

    Attributes
    ----------
    weights_
        share of each component.
    converged_
        whether the best run converged.
    n_iter_
        number of steps of the best run.
    lower_bound_
        log-likelihood per row, plus the log prior if there is one, at the end of the best run.
    lower_bounds_
        the same at every step of the best run.
    statistics_
        the sums that the model was fitted to; `partial_fit` adds to them.
    """

    if TYPE_CHECKING:  # fields of the methods, not of this class
        model_: FiniteMixture = field(init=False)
        statistics_: FamilyStats | None = field(init=False)
        n_components: int
        tol: float
        max_iter: int
        n_init: int
        init_params: str
        assignment: str
        random_state: params.Seed
        warm_start: bool
        verbose: int | bool
        verbose_interval: int

    weights_ = learned_in_dtype("weights")

    def _unfitted(self, X: Table, w: Weights) -> FiniteMixture:
        raise TypeError(f"{type(self).__name__} does not say what is fitted")

    def _starts(self, unfitted: FiniteMixture, X: Table, w: Weights, rng: Rng) -> Iterator[FiniteMixture]:
        raise TypeError(f"{type(self).__name__} does not say where to start")

    def _start_groups(self, unfitted: FiniteMixture, points: AnyPoints, rng: Rng) -> RowWeights:
        """The weights of the rows in the components at the start; no number of the points is missing."""
        if self.n_components == 1:
            if isinstance(points, ChunkedPoints):
                return GroupWeights(points.w.map(lambda w: np.zeros(len(w), dtype=np.int64)), points.w, 1)  # type: ignore[arg-type]  # in chunks
            return GroupWeights(to_device_of(np.zeros(points.n, dtype=np.int64), points.table), points.w, 1)
        R, rule = STARTS[self.init_params](points, self.n_components, rng), unfitted.rule
        if isinstance(rule, RestrictedAssignment) and isinstance(points, Points):
            return labelled_start(R, points, rule.allowed)
        return R

    def _fit(self, X: Table, w: Weights) -> None:
        self._run_em(X, w, ASSIGNMENTS[self.assignment])

    def _update(self, X: Table, w: Weights) -> None:
        if not self.__sklearn_is_fitted__():
            return self._fit(X, w)
        stats, _ = self.model_.expect(X, w)
        self.statistics_ = stats if self.statistics_ is None else self.statistics_ + stats
        self.model_ = self.model_.maximise(self.statistics_)
        return None

    @with_callbacks
    def fit_labelled(self, X: UserTable, labels: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Fit when the components of some rows are known.

        `labels` holds the component of each row, -1 if it is not known; or it is a mask (n, K) of the components that
        each row may come from.
        """
        params.check_params(self)
        self._forget()
        X = admit(self, to_numpy(X), fitting=True)
        allowed = self._allowed(np.asarray(to_numpy(labels)), len(X))
        X, allowed, w = keep_positive(admit_weights(self, sample_weight, X), X, allowed)
        with interruptible_fit(self):
            self._run_em(X, w, RestrictedAssignment(allowed, ASSIGNMENTS[self.assignment]))
        return self

    def fit_predict(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Codes:
        """Fit, and give the likeliest component of each row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict(self, X: UserTable) -> Codes:
        """The likeliest component of each row."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: UserTable) -> Matrix:
        """The probability that each row came from each component (n, K)."""
        return self._posterior(X)[0]

    def score_samples(self, X: UserTable) -> Vector:
        """The log density of each row."""
        return self._posterior(X)[1]

    def score(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> float:
        """The mean log density of the rows."""
        return float(np.average(to_numpy(self.score_samples(X)), weights=to_numpy(sample_weight)))

    def aic(self, X: UserTable) -> float:
        """Akaike's information criterion, -2 log-likelihood + 2 parameters: the lower the better."""
        return -2 * float(on_host(self.score_samples(X)).sum()) + 2 * self.model_.n_parameters

    def bic(self, X: UserTable) -> float:
        """The Bayesian information criterion, -2 log-likelihood + parameters * log n: the lower the better."""
        log_densities = self.score_samples(X)
        log_n = float(np.log(len(log_densities)))
        return -2 * float(on_host(log_densities).sum()) + self.model_.n_parameters * log_n

    def sample(self, n_samples: int = 1) -> tuple[Matrix, Codes]:
        """Draw rows, ordered by component; return them and their components."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"{type(self).__name__}: n_samples must be 1 or more; got {n_samples}")
        return self.model_.sample(n_samples, check_random_state(self.random_state))

    def _posterior(self, X: UserTable) -> tuple[Matrix, Vector]:
        X = self._admit(X)
        return self.model_.posterior(X)

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path({"a table with missing entries": bool(np.isnan(float(X.aminmax()[0])))})

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()

    def _run_em(self, X: Table, w: Weights, rule: Assignment) -> None:
        """Run EM from every start and store the best result."""
        if self.n_components > len(X):
            raise ValueError(
                f"{type(self).__name__}: n_components={self.n_components} but X has only {len(X)} rows "
                f"(n_samples={len(X)}); ask for fewer components"
            )
        rng = check_random_state(self.random_state)
        unfitted = replace(self._unfitted(X, w), rule=rule, dtype=numpy_dtype(X.dtype).name)
        warm, weight = self._is_warm(), float(w.sum())
        unit = self._bound_unit(weight)
        runs = 1 if warm else self.n_init
        starts = iter([replace(self.model_, rule=rule)]) if warm else self._starts(unfitted, X, w, rng)
        with fit_steps(self, "step", runs * max(self.max_iter, 1), X) as monitor:
            fit = best_em(
                islice(starts, runs),
                X,
                w,
                tol=self.tol * unit / weight,
                max_iter=self.max_iter,
                monitor=self._verbose_monitor(monitor, unit),
                previous_value=self.lower_bound_ * unit if warm else -np.inf,
            )
        self._store(fit, unit)

    def _bound_unit(self, weight: float) -> float:
        """What the value of EM is divided by in `lower_bound_`, and compared with `tol` in: the weight of all rows."""
        return weight

    def _is_warm(self) -> bool:
        """Whether this fit continues from the model of the last one."""
        return self.warm_start and self.__sklearn_is_fitted__() and len(self.model_.weights) == self.n_components

    def _verbose_monitor(self, monitor: MixtureMonitor, unit: float) -> MixtureMonitor:
        """The monitor, which also prints a line every `verbose_interval` steps if `verbose` is set."""
        done = 0

        def watch(model: FiniteMixture, value: float) -> bool:
            nonlocal done
            done += 1
            if self.verbose and done % self.verbose_interval == 0:
                print(f"{type(self).__name__}: step {done}, {value / unit:.6g}{' per row' if unit != 1 else ''}")
            return bool(monitor(model, value))

        return watch

    def _store(self, fit: EMResult[FiniteMixture], unit: float) -> None:
        name = type(self).__name__
        if fit.reason == "collapsed":
            raise ValueError(f"{name}: {fit.diagnosis}")
        self.model_ = replace(fit.model, rule=ASSIGNMENTS[self.assignment])
        self.statistics_ = fit.statistics
        self.n_iter_, self.converged_ = len(fit.history), fit.reason == "converged"
        self.lower_bounds_ = [np.float64(value / unit) for value in fit.history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        if fit.reason == "interrupted":
            warn_kept_best(self, self.n_iter_, "step")
        elif fit.reason == "max_iter" and self.max_iter > 0:
            warn(
                f"{name}: {self.n_iter_} steps were not enough: the last still gained more than tol={self.tol:g}"
                f"{' per row' if unit != 1 else ''}. Raise max_iter or tol, or try other starts (init_params, n_init)",
                ConvergenceWarning,
            )
        for problem in self._problems() if fit.history else ():
            warn(f"{name}: {problem}", ConvergenceWarning)

    def _problems(self) -> list[str]:
        """What is wrong with the model, as warnings say it."""
        lost = np.flatnonzero(self.model_.weights < MIN_GROUP_SHARE)
        listed = ", ".join(str(k) for k in lost)
        return [f"no row is left for component {listed}: ask for fewer components"] if len(lost) else []

    def _allowed(self, labels: Labels, n: int) -> Mask:
        """Labels, or a mask, as a mask (n, K)."""
        K, name = self.n_components, type(self).__name__
        if labels.ndim == 1:
            if labels.dtype.kind not in "iu" or labels.min(initial=0) < -1 or labels.max(initial=0) >= K:
                raise ValueError(f"{name}: labels must be the components 0 .. {K - 1}, and -1 where they are not known")
            labels = (labels[:, None] == np.arange(K)) | (labels[:, None] == -1)
        labels = labels.astype(bool)
        if labels.shape != (n, K):
            raise ValueError(f"{name}: labels must be ({n},) components or a mask ({n}, {K}); got shape {labels.shape}")
        if not labels.any(axis=1).all():
            raise ValueError(f"{name}: labels allow no component for row {int(labels.any(axis=1).argmin())}")
        return labels
