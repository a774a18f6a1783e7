"""Minimisers of any risk: a linear predictor, a loss by name or of your own, a penalty.

    min over w, b of   sum_i s_i loss(y_i, w'x_i + b) + lasso |w|_1 + ridge/2 |w|^2

    loss     squared -> least squares, ridge     hinge -> support vector machine     log -> logistic regression
             absolute, quantile -> medians, quantiles       insensitive -> support vector regression

The loss decides the solver: see linear_model.solvers.risk_solver.

Vapnik (1992) for the principle.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from sklearn.utils.metaestimators import available_if

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Fraction, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, UserTable, Weights
from fivefold.linear_model.base import predictor
from fivefold.linear_model.solvers.class_outputs import (
    binary_probabilities,
    centre_offsets,
    normalise_rows,
    one_vs_rest_targets,
)
from fivefold.linear_model.solvers.risk_solver import (
    L1_L2_SHARES,
    LinearRiskClassifier,
    LinearRiskEstimator,
    centred_design,
    column_strengths,
    fit_linear,
    linear_from_outputs,
)
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.catalogue import LOSSES
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.margin_losses import ExponentialLoss, LogLoss, ProbitLoss, ProbitMarginLoss

ClassifierLoss: TypeAlias = Literal[
    "log", "softmax", "hinge", "squared_hinge", "squared", "probit", "probit_margin", "exponential", "perceptron",
    "absolute", "huber",
]  # fmt: skip
RegressorLoss: TypeAlias = Literal[
    "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma"
]
# at -1 and 1 the squared loss is one of margins
CLASSIFIER_LOSSES = {name: LOSSES[f"{name}_margin" if name == "squared" else name] for name in get_args(ClassifierLoss)}
REGRESSOR_LOSSES = {name: LOSSES[name] for name in get_args(RegressorLoss)}
PROBABILITY_LOSSES = (
    LogLoss,
    SoftmaxLoss,
    ProbitLoss,
    ProbitMarginLoss,
    ExponentialLoss,
)


class RiskMinimiser(LinearRiskEstimator):
    """Any loss, any of the penalties.

    Parameters
    ----------
    penalty
        "l2", "l1", "elasticnet" or None.
    l1_ratio
        share of the L1 part of an elastic net.
    """

    losses: ClassVar[dict[str, Loss]]  # by the names that `loss` takes

    loss: str | Loss = "squared"
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = "l2"
    alpha: NonNegative = 1.0
    l1_ratio: Fraction = 0.5

    @property
    def _loss(self) -> Loss:
        return self.losses[self.loss] if isinstance(self.loss, str) else self.loss

    def _strengths(self) -> tuple[float, float]:
        """Of the penalties on |w| and on w^2 / 2."""
        l1, l2 = L1_L2_SHARES[self.penalty](self.l1_ratio)
        return self.alpha * l1, self.alpha * l2


class RiskMinimiserRegressor(RiskMinimiser, Regressor, keywords="penalty alpha l1_ratio"):
    """A linear surface that minimises any loss, penalised or not.

    Parameters
    ----------
    loss
        "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma", or an
        object of fivefold.optim.losses.catalogue, or an object of your own with value, slope and, if it has one,
        curvature.
    alpha
        strength of the penalty added to the sum of the losses; ridge regression's with the squared loss.

    Attributes
    ----------
    coef_, intercept_
        of the surface; predictions are the inverse link of the loss at it.

    Examples
    --------
    >>> from fivefold.linear_model import RiskMinimiserRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, 99.0]
    >>> RiskMinimiserRegressor("absolute", penalty=None).fit(X, y).coef_.round(6)
    array([1.])
    """

    loss: RegressorLoss | Loss = "squared"

    losses = REGRESSOR_LOSSES
    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A loss that no other method here has, or several losses side by side under one name. Where a method of "
        "its own exists (Ridge, HuberRegressor, QuantileRegressor) it is quicker.",
        steps=(
            "Take the loss, the penalty and the rows as one objective.",
            "Minimise it by L-BFGS, by proximal Newton for an L1 penalty, or by smoothing kinks.",
            "Hold the rows that rest on a kink and solve for the exact minimum.",
        ),
        source="Vapnik (1992); Madsen & Nielsen (1993); Lee, Sun & Saunders (2014)",
        see_also=("Ridge", "RiskMinimiserClassifier"),
        variants=(
            {"loss": "absolute", "penalty": None},
            {"loss": "insensitive", "penalty": "elasticnet"},
            {"loss": "huber", "penalty": "l1", "fit_intercept": False},
        ),
    )

    coef_ = learned("coef")
    intercept_ = learned("intercept")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        design, y = centred_design(X, w, self.fit_intercept), y.astype(np.float64)
        lasso, ridge = self._strengths()
        risk = EmpiricalRisk(self._loss, design, y, w, column_strengths(design, ridge))
        x, done = fit_linear(self, [risk], lasso)
        self.model_ = linear_from_outputs(x, design, done, one=True)

    def predict(self, X: UserTable) -> Any:
        """The predicted target of each row: the surface, or the inverse link of the loss at it."""
        X = self._admit(X)
        return self._loss.inverse_link(predictor(self.model_, X))


def _has_probabilities(estimator: RiskMinimiserClassifier) -> bool:
    return isinstance(estimator._loss, PROBABILITY_LOSSES)


class RiskMinimiserClassifier(RiskMinimiser, LinearRiskClassifier, keywords="penalty alpha l1_ratio"):
    """A linear classifier that minimises any loss of the margin, penalised or not.

    Parameters
    ----------
    loss
        "log", "softmax", "hinge", "squared_hinge", "squared", "probit", "probit_margin", "exponential", "perceptron",
        "absolute", "huber", or an object of fivefold.optim.losses.catalogue, or an object of your own with value and
        slope. Targets are -1 and +1; of more than two classes each is separated from the rest, except with "softmax".
    alpha
        strength of the penalty added to the sum of the losses: 1 / C of a support vector machine.

    Attributes
    ----------
    n_iter_
        steps taken, the largest number over the classes.

    Examples
    --------
    >>> from fivefold.linear_model import RiskMinimiserClassifier
    >>> model = RiskMinimiserClassifier("hinge").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.coef_.round(6), model.predict([[0.3]])
    (array([[1.]]), array([1]))
    """

    loss: ClassifierLoss | Loss = "log"

    losses = CLASSIFIER_LOSSES
    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="A loss that no other method here has, or several losses side by side under one name. Where a method of "
        "its own exists (LogisticRegression, LinearSVC) it is quicker.",
        steps=(
            "Take the loss, the penalty and the rows as one objective, for each class against the rest.",
            "Minimise it by L-BFGS, by proximal Newton for an L1 penalty, or by smoothing kinks.",
            "Hold the rows that rest on a kink and solve for the exact minimum.",
        ),
        source="Vapnik (1992); Madsen & Nielsen (1993); Lee, Sun & Saunders (2014)",
        see_also=("RiskMinimiserRegressor", "ProbitRegression"),
        variants=(
            {"loss": "hinge"},
            {"loss": "squared_hinge", "penalty": "l1"},
            {"loss": "softmax", "penalty": "elasticnet"},
        ),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, design = len(self.classes_), centred_design(X, w, self.fit_intercept)
        lasso, ridge = self._strengths()
        ridges = column_strengths(design, ridge)
        if self._loss.kind == "classes":
            risks = [EmpiricalRisk(self._loss, design, y, w, np.tile(ridges, K), K)]
        else:
            risks = [EmpiricalRisk(self._loss, design, t, w, ridges) for t in one_vs_rest_targets(y, K)]
        x, done = fit_linear(self, risks, lasso)
        if self._loss.kind == "classes":
            x = centre_offsets(x, X.shape[1])
            x = x[1:] - x[:1] if K == 2 else x
        self.model_ = linear_from_outputs(x, design, done)

    @available_if(_has_probabilities)
    def predict_proba(self, X: UserTable) -> Any:
        """Probabilities of the classes, if the loss is a likelihood; of many classes scaled to sum to one."""
        eta = self.decision_function(X)
        if self._loss.kind == "classes":
            return (
                binary_probabilities(LogLoss().inverse_link(eta)) if eta.ndim == 1 else self._loss.inverse_link(eta.T).T
            )
        P = self._loss.inverse_link(eta)
        return binary_probabilities(P) if P.ndim == 1 else normalise_rows(P)
