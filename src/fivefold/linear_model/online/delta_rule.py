"""Linear units trained row by row: least squares by the delta rule, and classes by softmax.

    delta rule   y = W x + b,           W <- W + eta (r - y) x',   b <- b + eta (r - y)
    softmax      y = softmax(W x + b),  the same, with r the one-hot label

An update is a factor times (desired - actual output) times the input. K outputs are K units side by side. The rate
falls, eta_t = eta0 / (1 + (t - 1) / t0), which meets the conditions of Robbins & Monro, so the delta rule ends at the
least squares solution and softmax at the maximum of the likelihood. Coefficients start within 0.01 of zero and rows
come in random order.

Widrow & Hoff (1960).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from scipy.special import logsumexp

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Matrix, Table, Target, UserTable, Weights
from fivefold.linear_model.base import class_scores, decision_values, predictor
from fivefold.linear_model.online.output_training import (
    INITIAL_RANGE,
    PassEstimator,
    fit_outputs,
    online_fit,
    update_outputs,
)
from fivefold.linear_model.online.passes import OnlineFit, Passes, PassMemory, RowStream, TrainingPlan
from fivefold.optim.design import Design
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.stochastic.learning_rates import InverseTimeDecay
from fivefold.optim.stochastic.sgd_loops import SQUARED, softmax_epoch

HALVING_PASSES = 10  # passes after which the default rate is halved


def initial_rate(X: Table, w: Array, eta0: float | None, t0: float | None) -> InverseTimeDecay:
    """The given rate; by default one at which no row's step overshoots, halved after HALVING_PASSES passes."""
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
    safe = 1 / (1 + float(np.max(squares)))
    return InverseTimeDecay(
        safe if eta0 is None else eta0, HALVING_PASSES * float(np.ceil(w).sum()) if t0 is None else t0
    )


class DecayingRateEstimator(PassEstimator, keywords="eta0 t0"):
    """Linear units whose learning rate falls with every step.

    Parameters
    ----------
    eta0
        the first rate; None takes 1 / (1 + the largest squared length of a row), at which no step overshoots.
    t0
        steps after which the rate is halved; None takes ten passes.
    random_state
        seed of the start and of the row orders.
    """

    _: KW_ONLY
    eta0: Positive | None = None
    t0: Positive | None = None
    tol: NonNegative | None = 1e-4

    def _units_plan(self, X: Table, w: Weights, *, outputs: int = 1, fresh: bool = True) -> TrainingPlan:
        """Squared error or softmax of the units, with the rate for these rows, or that of the last fit."""
        rate = initial_rate(X, w, self.eta0, self.t0) if fresh else self.model_.rate
        return self._training_plan(SQUARED, 0.0, rate, slow_intercept=False, outputs=outputs)


class DeltaRule(DecayingRateEstimator, Regressor):
    """Least squares learned row by row.

    Attributes
    ----------
    coef_
        shape (d,), or (n_outputs, d).
    intercept_
        the prediction at the origin.
    history_
        mean loss met in each pass, for each output.

    Examples
    --------
    >>> from fivefold.linear_model import DeltaRule
    >>> model = DeltaRule(tol=1e-9, random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(2), round(model.intercept_, 2)
    (array([2.]), np.float64(1.0))
    """

    takes = Takes(sparse=True, outputs=True)
    card = Card(
        applications=("regression",),
        use="Rows that arrive as a stream and a target that may drift; a first neural unit. Scale the columns first. "
        "Where all rows are available, LinearRegression is exact and faster.",
        steps=(
            "Take the next row and its output.",
            "Add the rate times (desired - actual) times the row to the coefficients.",
            "Lower the rate with every step; stop when a pass gains less than tol.",
        ),
        source="Widrow & Hoff (1960)",
        see_also=("SGDRegressor", "OnlineSoftmax"),
        variants=({"fit_intercept": False}, {"shuffle": False, "t0": 1000.0}),
        order_dependent=True,
    )

    def predict(self, X: UserTable) -> Any:
        """The output of each unit for each row."""
        X = self._admit(X)
        return predictor(self.model_.surface, X)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        plan, targets = self._units_plan(X, w), list(y.reshape(len(y), -1).T)
        x0 = initial_coefficients(self, len(targets), X.shape[1] + 1)
        model = fit_outputs(self, X, targets, w, [1.0] * len(targets), plan, x0)
        self.model_ = self._shaped(model, plan, y.ndim)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        targets = list(y.reshape(len(y), -1).T)
        fresh = not self.__sklearn_is_fitted__()
        plan = self._units_plan(X, w, fresh=fresh)
        model = (
            online_fit(initial_coefficients(self, len(targets), X.shape[1] + 1), plan, X.dtype, 0, 1.0)
            if fresh
            else self.model_
        )
        model = update_outputs(self, X, targets, w, [1.0] * len(targets), plan, model)
        self.model_ = self._shaped(model, plan, y.ndim)

    def _shaped(self, model: OnlineFit, plan: TrainingPlan, dimensions: int) -> OnlineFit:
        """As in scikit-learn: the coefficients of one output are a vector, its intercept a number."""
        if dimensions == 1:
            surface = model.surface
            model = replace(model, surface=replace(surface, coef=surface.coef[0], intercept=surface.intercept[0]))
        return replace(model, rate=plan.rate)


@dataclass(frozen=True)
class SoftmaxStream(RowStream):
    """Rows with codes 0..K-1; a point is K rows of (w, b)."""

    def value(self, x: Array) -> float:
        P = x.reshape(self.plan.outputs, -1)
        loss = SoftmaxLoss().value(self.y.astype(np.int64), Design(self.X).predictor(P))
        return float((self.visit_weight * loss).sum() / len(self.visits))


@dataclass(frozen=True)
class SoftmaxPasses(Passes):
    """The update of K units at each row."""

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        plan, K = stream.plan, stream.plan.outputs
        P = x.reshape(K, -1)
        W, b = np.ascontiguousarray(P[:, :-1]), P[:, -1].copy()
        z = np.array([memory.t, memory.eta, 0.0])
        rate = plan.rate.code, float(plan.rate.shape), float(stream.intercept_rate)
        softmax_epoch(stream.rows, stream.y, stream.s, order, W, b, np.empty(K), z, *rate)
        return np.column_stack([W, b]).ravel(), memory._replace(t=z[0]), float(z[2]), 1


class OnlineSoftmax(
    DecayingRateEstimator,
    Classifier,
    keywords="eta0 t0 fit_intercept max_iter tol shuffle n_iter_no_change class_weight",
):
    """Multi-class logistic regression learned row by row.

    Parameters
    ----------
    class_weight
        how many times rows of a class count: a dict, or "balanced" for the inverse of its frequency.

    Attributes
    ----------
    coef_
        (K, d).
    intercept_
        (K,).
    history_
        mean loss met in each pass.

    Examples
    --------
    >>> from fivefold.linear_model import OnlineSoftmax
    >>> model = OnlineSoftmax(random_state=0).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [4.5]])
    array(['a', 'b'], dtype='<U1')
    """

    _: KW_ONLY
    class_weight: Literal["balanced"] | dict[Any, float] | None = None

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Rows that arrive as a stream, several classes, probabilities wanted; a first neural layer. Scale the "
        "columns first. Where all rows are available, a solver of logistic regression is exact and faster.",
        steps=(
            "Take the next row and the probabilities of its classes.",
            "Add the rate times (label - probability) times the row to each class's coefficients.",
            "Lower the rate with every step; stop when a pass gains less than tol.",
        ),
        source="Widrow & Hoff (1960); Bridle (1990)",
        see_also=("SGDClassifier", "DeltaRule"),
        variants=({"class_weight": "balanced", "t0": 1000.0},),
        order_dependent=True,
    )

    def predict_proba(self, X: UserTable) -> Any:
        """Probability of each class (n, K)."""
        X = self._admit(X)
        return SoftmaxLoss().inverse_link(predictor(self.model_.surface, X).T).T

    def predict_log_proba(self, X: UserTable) -> Any:
        """Log of predict_proba."""
        X = self._admit(X)
        eta = predictor(self.model_.surface, X)
        return eta - logsumexp(eta, axis=1, keepdims=True)

    def decision_function(self, X: UserTable) -> Any:
        """Log odds of the second of two classes, or one score per class."""
        X = self._admit(X)
        eta = decision_values(self.model_.surface, X)
        return eta[:, 1] - eta[:, 0] if eta.shape[1] == 2 else eta

    def _scores(self, X: Table) -> Matrix:
        return class_scores(self.model_.surface, X)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        plan = self._units_plan(X, w, outputs=K)
        x0 = initial_coefficients(self, K, X.shape[1] + 1).reshape(1, -1)
        model = fit_outputs(self, X, [y], w, [1.0], plan, x0, _softmax_passes, SoftmaxStream)
        self.model_ = replace(model, rate=plan.rate)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        fresh = not self.__sklearn_is_fitted__()
        if len(self.classes_) < 2:
            raise ValueError(
                f"OnlineSoftmax needs two classes or more; `classes` lists one class: {self.classes_[0]!r}"
            )
        plan = self._units_plan(X, w, outputs=len(self.classes_), fresh=fresh)
        x0 = initial_coefficients(self, plan.outputs, X.shape[1] + 1).reshape(1, -1)
        model = online_fit(x0, plan, X.dtype, 0, 1.0) if fresh else self.model_
        self.model_ = replace(update_outputs(self, X, [y], w, [1.0], plan, model, _softmax_passes), rate=plan.rate)


def initial_coefficients(estimator: DecayingRateEstimator, outputs: int, width: int) -> Array:
    """Coefficients (outputs, width) within INITIAL_RANGE of zero; the last, the intercept, is zero if there is none."""
    x = check_random_state(estimator.random_state).uniform(-INITIAL_RANGE, INITIAL_RANGE, size=(outputs, width))
    x[:, -1] *= estimator.fit_intercept
    return np.asarray(x)


def _softmax_passes(output: int, seed: int, t: float) -> Passes:
    return SoftmaxPasses(seed, t)
