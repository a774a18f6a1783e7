"""Linear models by stochastic gradient descent.

    min over w, b of   mean of loss(y, x'w + b) + alpha (r |w|_1 + (1 - r) / 2 |w|^2)

A step takes one row: w <- (1 - eta alpha (1 - r)) w - eta loss'(y, x'w + b) x, with the L1 part applied to a
column when a row next uses it. The rate eta falls as `learning_rate` says; "pa1" and "pa2" instead take a step just
long enough for the row (Crammer et al., 2006). With more than two classes each is separated from the rest.

Robbins & Monro (1951); Zhang (2004); Bottou (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Sparse, Table, Target, UserTable, Weights
from fivefold.linear_model.base import predictor
from fivefold.linear_model.online.base import OnlineClassifier, OnlineEstimator
from fivefold.linear_model.online.output_training import (
    ZERO_START,
    GivenStart,
    densify_model,
    fit_outputs,
    online_fit,
    start_points,
    update_outputs,
)
from fivefold.linear_model.online.passes import LOSS_FUNCTIONS, OnlineFit, TrainingPlan
from fivefold.linear_model.solvers.class_outputs import binary_probabilities, normalise_rows
from fivefold.optim.stochastic import sgd_loops as loop
from fivefold.optim.stochastic.learning_rates import (
    AdaptiveRate,
    ConstantRate,
    InverseScalingRate,
    LearningRate,
    optimal_rate,
)

Rates = Literal["constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"]

# name -> code of the compiled loop, and its threshold; None where the threshold is the parameter epsilon
LOSS_CODES: dict[str, tuple[int, float | None]] = {
    "hinge": (loop.HINGE, 1.0),
    "log_loss": (loop.LOG, 0.0),
    "modified_huber": (loop.MODIFIED_HUBER, 1.0),
    "squared_hinge": (loop.SQUARED_HINGE, 1.0),
    "perceptron": (loop.HINGE, 0.0),
    "squared_error": (loop.SQUARED, 0.0),
    "huber": (loop.HUBER, None),
    "epsilon_insensitive": (loop.INSENSITIVE, None),
    "squared_epsilon_insensitive": (loop.SQUARED_INSENSITIVE, None),
}
REGRESSION_LOSSES = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
LEARNING_RATES: dict[str, Callable[[SGDEstimator], LearningRate]] = {
    "constant": lambda s: ConstantRate(s.eta0),
    "optimal": lambda s: optimal_rate(s.alpha),
    "invscaling": lambda s: InverseScalingRate(s.eta0, s.power_t),
    "adaptive": lambda s: AdaptiveRate(s.eta0),
    "pa1": lambda s: ConstantRate(s.eta0),
    "pa2": lambda s: ConstantRate(s.eta0),
}
STEP_RULES = {"pa1": loop.PA1_STEP, "pa2": loop.PA2_STEP}
CARD_STEPS = (
    "Take the rows in random order.",
    "Shrink the coefficients a little, and step against the slope of the row's loss.",
    "Lower the rate with every step; stop when a pass gains less than tol.",
)
PROBABILITY_LINKS = {"log_loss": expit, "modified_huber": lambda eta: (np.clip(eta, -1, 1) + 1) / 2}


class SGDEstimator(OnlineEstimator):
    """The parameters of stochastic gradient descent, and the plan they ask for.

    Parameters
    ----------
    alpha
        strength of the penalty; "optimal" rates follow from it.
    epsilon
        where the Huber loss bends, and half the width of the insensitive tubes.
    learning_rate
        "constant", "optimal" = 1 / (alpha (t + t0)), "invscaling" = eta0 / t^power_t, "adaptive" = eta0 until progress
        stops, then a fifth of it; "pa1" and "pa2" (losses "hinge" and "epsilon_insensitive" only) take the
        step that removes the loss of the row, or a part of it.
    eta0
        the rate, the first one, or the longest step of "pa1" and "pa2".
    power_t
        exponent of the rate "invscaling".
    average
        keep the mean of the coefficients over all steps, or over those from this step on.
    """

    loss: str = "squared_error"  # each method says which
    _: KW_ONLY
    epsilon: NonNegative = 0.1
    learning_rate: Rates = "optimal"
    power_t: float = 0.5
    average: bool | Count = False

    def _plan(self) -> TrainingPlan:
        name, (loss_code, threshold) = type(self).__name__, LOSS_CODES[self.loss]
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ValueError(f"{name}: alpha must be > 0 where learning_rate='optimal', which divides by it")
        step_rule = STEP_RULES.get(self.learning_rate, loop.GRADIENT_STEP)
        if step_rule and self.loss not in ("hinge", "epsilon_insensitive"):
            raise ValueError(
                f"{name}: learning_rate={self.learning_rate!r} takes its step from the loss 'hinge' of classes or "
                f"'epsilon_insensitive' of targets; got loss={self.loss!r}"
            )
        if self.power_t < 0:
            warn(
                f"{name}: power_t={self.power_t:g} lets steps grow without end; scikit-learn deprecates it and will "
                "refuse it. Take 0 or more",
                FutureWarning,
            )
        threshold = self.epsilon if threshold is None else threshold
        rate = LEARNING_RATES[self.learning_rate](self)
        return self._training_plan(loss_code, threshold, rate, step_rule=step_rule, average=int(self.average))


def _says_probabilities(estimator: SGDClassifier) -> bool:
    if estimator.loss in PROBABILITY_LINKS:
        return True
    raise AttributeError(
        f"probability estimates are not available for loss={estimator.loss!r}; take {' or '.join(PROBABILITY_LINKS)}"
    )


class SGDClassifier(
    SGDEstimator,
    OnlineClassifier,
    keywords="penalty alpha l1_ratio fit_intercept max_iter tol shuffle verbose epsilon n_jobs random_state "
    "learning_rate eta0 power_t early_stopping validation_fraction n_iter_no_change class_weight warm_start",
):
    """Linear classifier by stochastic gradient descent: support vector machine, logistic regression and others.

    Parameters
    ----------
    loss
        "hinge" is the support vector machine, "log_loss" logistic regression; "modified_huber" and "squared_hinge" are
        smooth, "perceptron" has no margin; the losses of regression take -1 and +1 as targets.

    Attributes
    ----------
    coef_
        (1, d) for two classes, (K, d) for more.

    Examples
    --------
    >>> from fivefold.linear_model import SGDClassifier
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2]
    >>> SGDClassifier(random_state=0).fit(X, y).predict([[-0.8, -1.0]])
    array([1])
    """

    loss: Literal[
        "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber",
        "epsilon_insensitive", "squared_epsilon_insensitive",
    ] = "hinge"  # fmt: skip

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Very many rows, sparse text, or a stream of rows (partial_fit). Scale the columns first. For data "
        "that fit in memory a solver that converges gives a better and steadier answer.",
        steps=CARD_STEPS,
        source="Robbins & Monro (1951); Zhang (2004); Bottou (2012)",
        see_also=("SGDRegressor", "Perceptron", "Pegasos"),
        variants=(
            {"loss": "log_loss", "average": True},
            {"loss": "modified_huber", "penalty": "elasticnet", "learning_rate": "invscaling", "eta0": 0.1},
            {"loss": "squared_hinge", "penalty": "l1", "learning_rate": "adaptive"},
            {"learning_rate": "pa1", "penalty": None},
            {"n_jobs": 2},
        ),
        search={"alpha": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2), "penalty": ("l2", "l1", "elasticnet")},
        order_dependent=True,
    )

    @available_if(_says_probabilities)
    def predict_proba(self, X: UserTable) -> Any:
        """Probability of each class (n, K); of more than two, each class against the rest, scaled to sum to one."""
        X = self._admit(X)
        P = PROBABILITY_LINKS[self.loss](predictor(self.model_.surface, X))
        return binary_probabilities(P[:, 0]) if P.shape[1] == 1 else normalise_rows(P)

    @available_if(_says_probabilities)
    def predict_log_proba(self, X: UserTable) -> Any:
        """Log of predict_proba."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class SGDRegressor(
    SGDEstimator,
    Regressor,
    keywords="penalty alpha l1_ratio fit_intercept max_iter tol shuffle verbose epsilon random_state learning_rate "
    "eta0 power_t early_stopping validation_fraction n_iter_no_change warm_start",
):
    """Linear regression by stochastic gradient descent.

    Parameters
    ----------
    loss
        "squared_error", "huber", or the tubes "epsilon_insensitive" and "squared_epsilon_insensitive".

    Attributes
    ----------
    coef_
        shape (d,).
    intercept_
        the prediction at the origin, as an array of one.
    history_
        mean value met in each pass.

    Examples
    --------
    >>> from fivefold.linear_model import SGDRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SGDRegressor(penalty=None, eta0=0.1, tol=1e-9, random_state=0).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(2)
    array([9.])
    """

    loss: Literal["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"] = "squared_error"
    _: KW_ONLY
    learning_rate: Rates = "invscaling"
    power_t: float = 0.25

    takes = Takes(sparse=True)
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = {name: LOSS_FUNCTIONS[name] for name in REGRESSION_LOSSES}
    card = Card(
        applications=("regression",),
        use="Very many rows, sparse columns, or a stream of rows (partial_fit). Scale columns and target first. "
        "For data that fit in memory a solver that converges gives a better and steadier answer.",
        steps=CARD_STEPS,
        source="Robbins & Monro (1951); Zhang (2004); Bottou (2012)",
        see_also=("SGDClassifier", "DeltaRule", "Ridge"),
        variants=(
            {"loss": "huber", "epsilon": 1.0, "penalty": "elasticnet"},
            {"average": True, "eta0": 0.1},
            {"loss": "squared_epsilon_insensitive", "penalty": "l1", "learning_rate": "adaptive"},
            {"loss": "epsilon_insensitive", "learning_rate": "pa2", "penalty": None},
        ),
        search={"alpha": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2), "penalty": ("l2", "l1", "elasticnet")},
        order_dependent=True,
    )

    @property
    def coef_(self) -> Array | Sparse:
        """Coefficients (d,)."""
        coef = self._model().surface.coef
        return coef[0] if isinstance(coef, np.ndarray) else coef

    @property
    def history_(self) -> tuple[float, ...]:
        """Mean value met in each pass."""
        return self._model().history[0]

    def predict(self, X: UserTable) -> Any:
        """The predicted target of each row."""
        X = self._admit(X)
        return predictor(self.model_.surface, X)[:, 0]

    def _fit(self, X: Table, y: Target, w: Weights, start: GivenStart = ZERO_START) -> None:
        plan = self._plan()
        x0 = start_points(type(self).__name__, 1, X.shape[1], plan, self._warm(start))
        self.model_ = fit_outputs(self, X, [y], w, [1.0], plan, x0)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        name, plan = type(self).__name__, self._plan()
        self._refuse_early_stopping()
        if self.__sklearn_is_fitted__():
            model = densify_model(self.model_)
        else:
            model = online_fit(start_points(name, 1, X.shape[1], plan), plan, X.dtype, 0, 1.0)
        self.model_ = update_outputs(self, X, [y], w, [1.0], plan, model)

    def _model(self) -> OnlineFit:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"{type(self).__name__} has no coefficients before fit")
        return self.model_
