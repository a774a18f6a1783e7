"""What classifiers trained by passes over rows share: labels as signs, class weights, starts, scores.

A method says how its plan looks; see `training` for the rest. Weights of rows mean repetition; weights of classes make
the steps on their rows longer: of two classes on both sides, of more on the side of the class alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Array, Codes, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.linear_model.base import predictor
from fivefold.linear_model.online.output_training import (
    densify_model,
    fit_outputs,
    online_fit,
    sgd_passes,
    sparsify_model,
    start_points,
    update_outputs,
)
from fivefold.linear_model.online.passes import LOSS_FUNCTIONS, Passes, TrainingPlan
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets


class OnlineClassifier(Classifier):
    """`_plan()` says what is minimised and how."""

    if TYPE_CHECKING:
        model_: Any

    loss_functions = LOSS_FUNCTIONS
    coef_ = learned("surface.coef")
    intercept_ = learned("surface.intercept")
    n_iter_ = learned("surface.n_iter")
    t_ = learned("t")
    history_ = learned("history")

    def _plan(self) -> TrainingPlan:
        raise TypeError(f"{type(self).__name__} does not say what it minimises")

    def fit(
        self,
        X: UserTable,
        y: UserTarget,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: UserWeights = None,
    ) -> Self:
        """Learn from rows and their labels, from given coefficients on; a weight of two means a row is there twice."""
        self._given = coef_init, intercept_init
        try:
            super().fit(X, y, sample_weight=sample_weight)
        finally:
            del self._given
        return self

    def decision_function(self, X: UserTable) -> Any:
        """Height over the boundary: one number a row for two classes, one a class for more."""
        X = self._admit(X)
        eta = self._heights(X)
        return eta[:, 0] if eta.shape[1] == 1 else eta

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

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, plan = len(self.classes_), self._plan()
        coef, intercept = self._given
        if self.__sklearn_is_fitted__():  # only where warm_start kept the model
            surface = densify_model(self.model_).surface
            coef = surface.coef if coef is None else coef
            intercept = surface.intercept if intercept is None else intercept
        x0 = self._start(1 if K == 2 else K, X.shape[1], plan, coef, intercept)
        self.model_ = fit_outputs(self, X, one_vs_rest_targets(y, K), w, self._factors(y, w), plan, x0, self._rule)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        name, K, plan = type(self).__name__, len(self.classes_), self._plan()
        if getattr(self, "early_stopping", False):
            raise ValueError(f"{name}: early_stopping should be False with partial_fit, which makes one pass a call")
        if K < 2:
            raise ValueError(f"{name} needs two classes or more; `classes` lists one class: {self.classes_[0]!r}")
        fresh = not self.__sklearn_is_fitted__()
        before = online_fit(self._start(1 if K == 2 else K, X.shape[1], plan), plan, X.dtype, 0, 1.0) if fresh else None
        model = before or densify_model(self.model_)
        self.model_ = update_outputs(
            self, X, one_vs_rest_targets(y, K), w, self._factors(y, w), plan, model, self._rule
        )

    def _rule(self, output: int, seed: int, t: float) -> Passes:
        return sgd_passes(output, seed, t)

    def _heights(self, X: Table) -> Array:
        return predictor(self.model_.surface, X)

    def _start(self, outputs: int, d: int, plan: TrainingPlan, coef: Any = None, intercept: Any = None) -> Array:
        return start_points(type(self).__name__, outputs, d, plan, coef, intercept)

    def _scores(self, X: Table) -> Any:
        eta = self._heights(X)
        return np.hstack([np.zeros_like(eta), eta]) if eta.shape[1] == 1 else eta

    def _fold(self, y: Target, codes: Codes, w: Weights) -> Any:
        if "_given" not in vars(self) and getattr(self, "class_weight", None) == "balanced":
            raise ValueError(
                f"{type(self).__name__}: class_weight='balanced' is not known to partial_fit, which sees a part of the "
                "rows. Give the weights as a dict, for example from sklearn.utils.compute_class_weight on a sample"
            )
        return w  # class weights lengthen steps: see _factors

    def _factors(self, codes: Codes, w: Weights) -> list[Any]:
        """How much longer the steps on each row are, for each output."""
        K, rule = len(self.classes_), getattr(self, "class_weight", None)
        if rule is None:
            return [1.0] * (1 if K == 2 else K)
        y = self.classes_[codes]
        c = compute_class_weight(rule, classes=self.classes_, y=y, sample_weight=w if rule == "balanced" else None)
        return [c[codes]] if K == 2 else [np.where(codes == k, c[k], 1.0) for k in range(K)]

    def _forget(self) -> None:
        if not getattr(self, "warm_start", False):
            super()._forget()
