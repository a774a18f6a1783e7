"""What methods trained by passes over rows share: starts, labels as signs, class weights, scores.

A method says what its plan is; `output_training` does the rest. Weights of rows mean repetition; weights of classes
make the steps on their rows longer: for two classes on both sides, for more on the side of the class alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Array, Codes, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.linear_model.base import predictor
from fivefold.linear_model.online.output_training import (
    PassesFactory,
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


class OnlineEstimator(Estimator):
    """`_plan()` says what is minimised and how; training starts from given coefficients or from the last ones.

    Parameters
    ----------
    max_iter
        maximum number of passes over the rows.
    tol
        a pass that lowers the mean loss by less counts as no improvement; None never stops early.
    shuffle
        visit the rows in a new order in every pass.
    n_iter_no_change
        passes without improvement before training stops.
    verbose
        print a line per pass.
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
        strength of the penalty; "optimal" rates follow from it.
    epsilon
        where the Huber loss bends, and half the width of the insensitive tubes.
    random_state
        seed of the row orders and of the choice of validation rows.
    eta0
        the rate, the first one, or the longest step of "pa1" and "pa2".
    power_t
        how fast "invscaling" falls.
    average
        keep the mean of the coefficients over all steps, or over those from this step on.

    Attributes
    ----------
    n_iter_
        passes made.
    t_
        number of the next step.
    """

    if TYPE_CHECKING:
        model_: Any  # an OnlineFit, or a model with its fields

        def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self: ...

    n_iter_ = learned("surface.n_iter")
    intercept_ = learned("surface.intercept")
    t_ = learned("t")

    def _plan(self) -> TrainingPlan:
        raise TypeError(f"{type(self).__name__} does not say what it minimises")

    @with_callbacks
    def fit(
        self,
        X: UserTable,
        y: UserTarget,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: UserWeights = None,
    ) -> Self:
        """Learn from rows and their targets, starting at given coefficients; a weight of two counts a row twice."""
        return self._fit_admitted(X, y, sample_weight, coef_init=coef_init, intercept_init=intercept_init)

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

    def _warm(self, coef: Any, intercept: Any) -> tuple[Any, Any]:
        """Coefficients to start from: those given, or else those of the last fit if warm_start kept it."""
        if not self.__sklearn_is_fitted__():
            return coef, intercept
        surface = densify_model(self.model_).surface
        return surface.coef if coef is None else coef, surface.intercept if intercept is None else intercept

    def _refuse_early_stopping(self) -> None:
        if getattr(self, "early_stopping", False):
            raise ValueError(
                f"{type(self).__name__}: early_stopping should be False with partial_fit, which makes one pass per call"
            )

    def _forget(self) -> None:
        if not getattr(self, "warm_start", False):
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

    loss_functions = LOSS_FUNCTIONS
    coef_ = learned("surface.coef")
    history_ = learned("history")

    def decision_function(self, X: UserTable) -> Any:
        """Height over the boundary: (n,) for two classes, (n, K) for more."""
        X = self._admit(X)
        eta = self._predictors(X)
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def _fit(self, X: Table, y: Target, w: Weights, coef_init: Any = None, intercept_init: Any = None) -> None:
        self.model_ = self._trained(X, y, w, coef_init, intercept_init, sgd_passes)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = self._updated(X, y, w, sgd_passes)

    def _trained(self, X: Table, y: Codes, w: Weights, coef: Any, intercept: Any, passes: PassesFactory) -> OnlineFit:
        K, plan = len(self.classes_), self._plan()
        x0 = self._start(1 if K == 2 else K, X.shape[1], plan, *self._warm(coef, intercept))
        return fit_outputs(self, X, one_vs_rest_targets(y, K), w, self._step_factors(y, w), plan, x0, passes)

    def _updated(self, X: Table, y: Codes, w: Weights, passes: PassesFactory) -> OnlineFit:
        """The model after one more pass over these rows."""
        if getattr(self, "class_weight", None) == "balanced":
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

    def _predictors(self, X: Table) -> Matrix:
        return predictor(self.model_.surface, X)

    def _start(self, outputs: int, d: int, plan: TrainingPlan, coef: Any = None, intercept: Any = None) -> Matrix:
        return start_points(type(self).__name__, outputs, d, plan, coef, intercept)

    def _scores(self, X: Table) -> Any:
        eta = self._predictors(X)
        return np.hstack([np.zeros_like(eta), eta]) if eta.shape[1] == 1 else eta

    def _fold(self, y: Target, codes: Codes, w: Weights) -> Weights:
        return w  # class weights lengthen steps: see _step_factors

    def _step_factors(self, codes: Codes, w: Weights) -> list[Array | float]:
        """How much longer the steps on each row are, for each output."""
        K, rule = len(self.classes_), getattr(self, "class_weight", None)
        if rule is None:
            return [1.0] * (1 if K == 2 else K)
        y = self.classes_[codes]
        c = compute_class_weight(rule, classes=self.classes_, y=y, sample_weight=w if rule == "balanced" else None)
        return [c[codes]] if K == 2 else [np.where(codes == k, c[k], 1.0) for k in range(K)]
