"""What methods trained by passes over rows share: starts, labels as signs, class weights, scores.

A method says what its plan is; `output_training` does the rest. Weights of rows mean repetition; weights of classes
make the steps on their rows longer: for two classes on both sides, for more on the side of the class alone.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.params import Fraction, NonNegative, OpenFraction, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Array, Codes, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.linear_model.base import predictor
from fivefold.linear_model.online.output_training import (
    ZERO_START,
    GivenStart,
    PassesFactory,
    PassEstimator,
    densify_model,
    fit_outputs,
    online_fit,
    sgd_passes,
    sparsify_model,
    start_points,
    update_outputs,
)
from fivefold.linear_model.online.passes import LOSS_FUNCTIONS, OnlineFit, TrainingPlan
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.linear_model.solvers.risk_solver import L1_L2_SHARES
from fivefold.optim.stochastic.learning_rates import LearningRate


class OnlineEstimator(PassEstimator):
    """`_plan()` says what is minimised and how; training starts from given coefficients or from the last ones.

    Parameters
    ----------
    fit_intercept
        fit an intercept, which is not penalised.
    warm_start
        start from the coefficients of the last fit.
    penalty
        on the coefficients: "l2", "l1", both as "elasticnet", or None.
    l1_ratio
        share of the L1 penalty if penalty="elasticnet".
    early_stopping
        hold out validation rows and stop when the score on them no longer rises.
    validation_fraction
        share of the rows that are held out for validation.
    alpha
        strength of the penalty.
    random_state
        seed of the row orders and of the choice of validation rows.
    """

    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = "l2"
    alpha: NonNegative = 0.0001
    l1_ratio: Fraction | None = 0.15
    eta0: Positive = 0.01
    early_stopping: bool = False
    validation_fraction: OpenFraction = 0.1
    warm_start: bool = False

    if TYPE_CHECKING:
        model_: Any  # an OnlineFit, or a model with its fields

        def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self: ...

    def _plan(self) -> TrainingPlan:
        raise TypeError(f"{type(self).__name__} does not say what it minimises")

    def _training_plan(self, loss_code: int, threshold: float, rate: LearningRate, **more: Any) -> TrainingPlan:
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError(f"{type(self).__name__}: l1_ratio must be set when penalty is 'elasticnet'; got None")
        l1, l2 = L1_L2_SHARES[self.penalty](self.l1_ratio or 0.0)
        return super()._training_plan(loss_code, threshold, rate, l1=self.alpha * l1, l2=self.alpha * l2, **more)

    @with_callbacks
    def fit(
        self,
        X: UserTable,
        y: UserTarget,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: UserWeights = None,
    ) -> Self:
        """Learn from rows and their targets, starting at given coefficients; a weight of two counts a row twice."""
        return self._fit_admitted(X, y, sample_weight, start=GivenStart(coef_init, intercept_init))

    def sparsify(self) -> Self:
        """Keep the coefficients as a sparse matrix."""
        check_is_fitted(self)
        self.model_ = sparsify_model(self.model_)
        return self

    def densify(self) -> Self:
        """Keep the coefficients as an array again."""
        check_is_fitted(self)
        self.model_ = densify_model(self.model_)
        return self

    def _warm(self, start: GivenStart) -> GivenStart:
        """Coefficients to start from: those given, or else those of the last fit if warm_start kept it."""
        if not self.__sklearn_is_fitted__():
            return start
        surface = densify_model(self.model_).surface
        return GivenStart(
            surface.coef if start.coef is None else start.coef,
            surface.intercept if start.intercept is None else start.intercept,
        )

    def _holdout_share(self) -> float | None:
        return self.validation_fraction if self.early_stopping else None

    def _refuse_early_stopping(self) -> None:
        if self.early_stopping:
            raise ValueError(
                f"{type(self).__name__}: early_stopping should be False with partial_fit, which makes one pass per call"
            )

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()


class OnlineClassifier(OnlineEstimator, Classifier):
    """One surface for two classes, or one per class against the rest.

    Parameters
    ----------
    n_jobs
        None or 1 trains the classes one after the other, any other number in parallel; the result is the same.
    class_weight
        how much longer the steps are on rows of a class: a dict, or "balanced" for the inverse of its frequency.

    Attributes
    ----------
    intercept_
        one per output.
    history_
        mean value met in each pass, for each output.
    """

    _: KW_ONLY
    n_jobs: int | None = None
    class_weight: Literal["balanced"] | dict[Any, float] | None = None

    loss_functions = LOSS_FUNCTIONS

    def decision_function(self, X: UserTable) -> Any:
        """Height over the boundary: (n,) for two classes, (n, K) for more."""
        X = self._admit(X)
        eta = self._predictors(X)
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def _fit(self, X: Table, y: Target, w: Weights, start: GivenStart = ZERO_START) -> None:
        self.model_ = self._trained(X, y, w, start, sgd_passes)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = self._updated(X, y, w, sgd_passes)

    def _trained(self, X: Table, y: Codes, w: Weights, start: GivenStart, passes: PassesFactory) -> OnlineFit:
        K, plan = len(self.classes_), self._plan()
        x0 = self._start(1 if K == 2 else K, X.shape[1], plan, self._warm(start))
        return fit_outputs(self, X, one_vs_rest_targets(y, K), w, self._step_factors(y, w), plan, x0, passes)

    def _updated(self, X: Table, y: Codes, w: Weights, passes: PassesFactory) -> OnlineFit:
        """The model after one more pass over these rows."""
        if self.class_weight == "balanced":
            raise ValueError(
                f"{type(self).__name__}: class_weight='balanced' is not known to partial_fit, which sees a part of the "
                "rows. Give the weights as a dict, for example from sklearn.utils.compute_class_weight on a sample"
            )
        name, K, plan = type(self).__name__, len(self.classes_), self._plan()
        self._refuse_early_stopping()
        if K < 2:
            raise ValueError(f"{name} needs two classes or more; `classes` lists one class: {self.classes_[0]!r}")
        if self.__sklearn_is_fitted__():
            model = densify_model(self.model_)
        else:
            model = online_fit(self._start(1 if K == 2 else K, X.shape[1], plan), plan, X.dtype, 0, 1.0)
        return update_outputs(self, X, one_vs_rest_targets(y, K), w, self._step_factors(y, w), plan, model, passes)

    def _trains_in_parallel(self) -> bool:
        return self.n_jobs not in (None, 1)

    def _predictors(self, X: Table) -> Matrix:
        return predictor(self.model_.surface, X)

    def _start(self, outputs: int, d: int, plan: TrainingPlan, start: GivenStart = ZERO_START) -> Matrix:
        return start_points(type(self).__name__, outputs, d, plan, start)

    def _scores(self, X: Table) -> Matrix:
        eta = self._predictors(X)
        return np.hstack([np.zeros_like(eta), eta]) if eta.shape[1] == 1 else eta

    def _fold(self, y: Target, codes: Codes, w: Weights) -> Weights:
        return w  # class weights lengthen steps: see _step_factors

    def _step_factors(self, codes: Codes, w: Weights) -> list[Array | float]:
        """How much longer the steps on each row are, for each output."""
        K, rule = len(self.classes_), self.class_weight
        if rule is None:
            return [1.0] * (1 if K == 2 else K)
        y = self.classes_[codes]
        c = compute_class_weight(rule, classes=self.classes_, y=y, sample_weight=w if rule == "balanced" else None)
        return [c[codes]] if K == 2 else [np.where(codes == k, c[k], 1.0) for k in range(K)]
