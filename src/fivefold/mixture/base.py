"""What the mixtures share: the climb by EM, and what a fitted mixture says about rows.

A mixture gives `_blank(X, w)`, the model to be fitted, and `_starts(blank, X, w, rng)`, an endless supply of fitted
ones to start from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.tables import admit
from fivefold.core.admission.targets import admit_weights, keep_positive
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators import params
from fivefold.core.estimators.base import DensityEstimator, learned_in_dtype
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Labels, Rng, Table, UserTable, UserTarget, UserWeights, Weights
from fivefold.distributions.family import GroupWeights
from fivefold.inference.em import EMResult, best_em
from fivefold.mixture.estimation.finite_mixture import (
    MIN_COMPONENT_SHARE,
    Assignment,
    FiniteMixture,
    HardAssignment,
    RestrictedAssignment,
    SoftAssignment,
)
from fivefold.mixture.estimation.initialisation import STARTS, labelled_start
from fivefold.spatial.points import Points

ASSIGNMENTS: dict[str, Assignment] = {"soft": SoftAssignment(), "hard": HardAssignment()}


class BaseMixture(DensityEstimator):
    """Base of the mixtures; fields are those of the methods.

    Parameters
    ----------
    max_iter
        most steps of one run.
    n_components
        number of components.
    tol
        stop when a step gains less than this per row.
    n_init
        runs from different starts; the likeliest is kept.
    random_state
        decides the starts and the samples.
    warm_start
        whether a further `fit` goes on from the present model.
    verbose
        whether to print the progress.
    verbose_interval
        steps between two lines of progress.
    assignment
        rows count in every component by its probability (soft), or in the likeliest alone (hard).
    weight_prior
        rows added to every component's count, a Dirichlet prior; infinite keeps all weights equal.

    Attributes
    ----------
    weights_
        share of each component.
    converged_
        whether the best run converged.
    n_iter_
        its steps.
    lower_bounds_
        that of every step.
    statistics_
        what the model was fitted to; `partial_fit` adds to it.
    """

    if TYPE_CHECKING:  # not fields of this class
        model_: FiniteMixture = field(init=False)
        statistics_: Any = field(init=False)
        n_components: int
        tol: float
        max_iter: int
        n_init: int
        init_params: str
        assignment: str
        random_state: Any
        warm_start: bool
        verbose: int | bool
        verbose_interval: int

    weights_ = learned_in_dtype("weights")

    def _blank(self, X: Table, w: Weights) -> FiniteMixture:
        raise TypeError(f"{type(self).__name__} does not say what is fitted")

    def _starts(self, blank: FiniteMixture, X: Table, w: Weights, rng: Rng) -> Iterator[FiniteMixture]:
        raise TypeError(f"{type(self).__name__} does not say where to start")

    def _rows(self, blank: FiniteMixture, points: Points, rng: Any) -> Any:
        """Rows given to components, as their points, complete numbers, suggest."""
        if self.n_components == 1:
            return GroupWeights(np.zeros(points.n, dtype=np.int64), points.w, 1)
        R = STARTS[self.init_params](points, self.n_components, rng)
        return labelled_start(R, points, blank.rule.allowed) if isinstance(blank.rule, RestrictedAssignment) else R

    def _fit(self, X: Table, w: Weights) -> None:
        self._climb(X, w, ASSIGNMENTS[self.assignment])

    def _update(self, X: Table, w: Weights) -> None:
        if not self.__sklearn_is_fitted__():
            return self._fit(X, w)
        stats, _ = self.model_.expect(X, w)
        self.statistics_ = stats if self.statistics_ is None else self.statistics_ + stats
        self.model_ = self.model_.maximise(self.statistics_)
        return None

    @with_callbacks
    def fit_labelled(self, X: Table, labels: Labels, sample_weight: UserWeights = None) -> Self:
        """Fit when the components of some rows are known.

        `labels` holds the component of each row, -1 where it is not known; or a mask (n, K) of the components that
        each row may come from.
        """
        params.check_params(self)
        self._forget()
        X = admit(self, X, fitting=True)
        allowed = self._allowed(np.asarray(labels), len(X))
        X, allowed, w = keep_positive(admit_weights(self, sample_weight, X), X, allowed)
        with interruptible_fit(self):
            self._climb(X, w, RestrictedAssignment(allowed, ASSIGNMENTS[self.assignment]))
        return self

    def fit_predict(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Any:
        """Fit, and give the likeliest component of each row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict(self, X: UserTable) -> Any:
        """The likeliest component of each row."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: UserTable) -> Any:
        """The probability that each row came from each component (n, K)."""
        return self._posterior(X)[0]

    def score_samples(self, X: UserTable) -> Any:
        """The log density of each row."""
        return self._posterior(X)[1]

    def score(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> float:
        """The mean log density of the rows."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def aic(self, X: Table) -> float:
        """Akaike's information criterion, -2 log-likelihood + 2 parameters: the lower the better."""
        return -2 * float(self.score_samples(X).sum(dtype=np.float64)) + 2 * self.model_.n_parameters

    def bic(self, X: Table) -> float:
        """The Bayesian information criterion, -2 log-likelihood + parameters * log n: the lower the better."""
        said = self.score_samples(X)
        return -2 * float(said.sum(dtype=np.float64)) + self.model_.n_parameters * float(np.log(len(said)))

    def sample(self, n_samples: int = 1) -> tuple[Any, Any]:
        """Draw rows, ordered by component, and their components."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"{type(self).__name__}: n_samples must be 1 or more; got {n_samples}")
        return self.model_.sample(n_samples, check_random_state(self.random_state))

    def _posterior(self, X: Table) -> tuple[Any, Any]:
        X = self._admit(X)
        return self.model_.posterior(X)

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()

    def _climb(self, X: Table, w: Weights, rule: Any) -> None:
        """Run EM from every start and keep the best end."""
        if self.n_components > len(X):
            raise ValueError(
                f"{type(self).__name__}: n_components={self.n_components} but X has only {len(X)} rows "
                f"(n_samples={len(X)}); ask for fewer components"
            )
        rng = check_random_state(self.random_state)
        blank = replace(self._blank(X, w), rule=rule, dtype=str(X.dtype))
        runs, weight = 1 if self._goes_on() else self.n_init, float(w.sum())
        starts = iter([replace(self.model_, rule=rule)]) if self._goes_on() else self._starts(blank, X, w, rng)
        before = self.lower_bound_ * weight if self._goes_on() else -np.inf
        with fit_steps(self, "step", runs * max(self.max_iter, 1), X) as monitor:
            talk = self._talk(monitor, weight)
            fit = best_em(islice(starts, runs), X, w, tol=self.tol, before=before, max_iter=self.max_iter, monitor=talk)
        self._keep(fit, weight)

    def _goes_on(self) -> bool:
        return self.warm_start and self.__sklearn_is_fitted__() and len(self.model_.weights) == self.n_components

    def _talk(self, monitor: Any, weight: float) -> Any:
        """The monitor, and a line on the screen now and then if `verbose`."""
        done = 0

        def talk(model: FiniteMixture, value: float) -> bool:
            nonlocal done
            done += 1
            if self.verbose and done % self.verbose_interval == 0:
                print(f"{type(self).__name__}: step {done}, {value / weight:.6g} per row")
            return bool(monitor(model, value))

        return talk

    def _keep(self, fit: EMResult[FiniteMixture], weight: float) -> None:
        name = type(self).__name__
        if fit.reason == "collapsed":
            raise ValueError(f"{name}: {fit.diagnosis}")
        self.model_ = replace(fit.model, rule=ASSIGNMENTS[self.assignment])
        self.statistics_ = fit.statistics
        self.n_iter_, self.converged_ = len(fit.history), fit.reason == "converged"
        self.lower_bounds_ = [np.float64(value / weight) for value in fit.history]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else -np.inf
        if fit.reason == "interrupted":
            warn_kept_best(self, self.n_iter_, "step")
        elif fit.reason == "max_iter" and self.max_iter > 0:
            warn(
                f"{name}: {self.n_iter_} steps were not enough: the last still gained more than tol={self.tol:g} per "
                "row. Raise max_iter or tol, or try other starts (init_params, n_init)",
                ConvergenceWarning,
            )
        for problem in self._problems() if fit.history else ():
            warn(f"{name}: {problem}", ConvergenceWarning)

    def _problems(self) -> list[str]:
        """What is wrong with the model, in plain words."""
        lost = np.flatnonzero(self.model_.weights < MIN_COMPONENT_SHARE)
        listed = ", ".join(str(k) for k in lost)
        return [f"no row is left for component {listed}: ask for fewer components"] if len(lost) else []

    def _allowed(self, labels: Labels, n: int) -> Any:
        """Labels, or a mask, as a mask (n, K)."""
        K, name = self.n_components, type(self).__name__
        if labels.ndim == 1:
            if labels.dtype.kind not in "iu" or labels.min(initial=0) < -1 or labels.max(initial=0) >= K:
                raise ValueError(f"{name}: labels must be the components 0 .. {K - 1}, and -1 where not known")
            labels = (labels[:, None] == np.arange(K)) | (labels[:, None] == -1)
        labels = labels.astype(bool)
        if labels.shape != (n, K):
            raise ValueError(f"{name}: labels must be ({n},) components or a mask ({n}, {K}); got shape {labels.shape}")
        if not labels.any(axis=1).all():
            raise ValueError(f"{name}: labels allow no component for row {int(labels.any(axis=1).argmin())}")
        return labels
