"""Minimisers of any risk: a linear predictor, a loss by name or of your own, a penalty.

    min over w, b of   sum_i s_i loss(y_i, w'x_i + b) + lasso |w|_1 + ridge/2 |w|^2

    loss     squared -> least squares, ridge     hinge -> support vector machine     log -> logistic regression
             absolute, quantile -> medians, quantiles       insensitive -> support vector regression

The loss decides the solver: L-BFGS with the curvature of a sample of the rows where everything is smooth, proximal
Newton beside an L1 penalty, and rounding of the kinks with an exact end where the loss has kinks. A loss that is not
convex is descended from several starts: zero, and the logistic solution at several scales.

Vapnik (1992) for the principle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from fivefold.core.admission.tables import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, Target, UserTable, Weights
from fivefold.linear_model.base import LinearModel, class_scores, decision_values, predictor
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses import catalogue
from fivefold.optim.losses.catalogue import LOSSES, Loss
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import CompositeObjective, Minimum
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.proximal_gradient import FISTA
from fivefold.optim.proximal.proximal_newton import ProximalNewton
from fivefold.optim.risk_minimisation.convexified_hessian import ConvexifiedObjective
from fivefold.optim.risk_minimisation.kink_smoothing import minimise_kinked
from fivefold.optim.risk_minimisation.subsample_start import start_from_subsample
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.newton import Newton

MAX_HESSIAN_SIZE = 500  # coefficients of a Hessian that is decomposed at every step
MAX_SOLVER_RUNS = 25  # of a solver, at most, within one fit: starts, or levels of rounded kinks
START_SCALES = (0.3, 1.0, 3.0, 10.0)  # of the logistic solution, where a loss that is not convex is started

CLASSIFIER_LOSS_NAMES = (
    "log", "softmax", "hinge", "squared_hinge", "probit", "probit_margin", "exponential", "perceptron", "absolute",
    "huber",
)  # fmt: skip
CLASSIFIER_LOSSES = {name: LOSSES[name] for name in CLASSIFIER_LOSS_NAMES} | {
    "squared": LOSSES["squared_margin"]
}  # the same at +-1
REGRESSOR_LOSS_NAMES = (
    "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma",
)  # fmt: skip
REGRESSOR_LOSSES = {name: LOSSES[name] for name in REGRESSOR_LOSS_NAMES}
# penalty -> shares of alpha on |w| and on w^2 / 2, given l1_ratio
L1_L2_SHARES: dict[str | None, Callable[[float], tuple[float, float]]] = {
    None: lambda ratio: (0.0, 0.0),
    "l2": lambda ratio: (0.0, 1.0),
    "l1": lambda ratio: (1.0, 0.0),
    "elasticnet": lambda ratio: (ratio, 1.0 - ratio),
}
PROBABILITY_LOSSES = (
    catalogue.LogLoss,
    catalogue.SoftmaxLoss,
    catalogue.ProbitLoss,
    catalogue.ProbitMarginLoss,
    catalogue.ExponentialLoss,
)


def solve_risk(
    risk: EmpiricalRisk, lasso: Any, *, tol: float, max_iter: int, monitor: Any = None, x0: Array | None = None
) -> Minimum:
    """The minimum of a risk plus sum of lasso |x|, by the solver that suits the loss; of a convex one from x0."""
    loss, x0 = risk.loss, np.zeros(risk.design.size * max(risk.outputs, 1)) if x0 is None else x0
    if not loss.smooth:
        if not loss.convex:
            raise ValueError(f"{type(loss).__name__} is for judging: no solver can descend it. Take a convex loss")
        return minimise_kinked(risk, x0, lasso=lasso, max_iter=max_iter, monitor=monitor)
    if loss.convex:
        return _descend(risk, lasso, x0, tol, max_iter, monitor)
    guide = replace(risk, loss=catalogue.LogLoss(), ridge=np.broadcast_to(risk.ridge, x0.shape) + 0.0)
    x = _descend(guide, 0.0, x0, 1e-3, 50, None).x
    found: list[Minimum] = []
    for t in (0.0, *START_SCALES):
        found.append(_descend(risk, lasso, t * x, tol, max_iter, monitor))
        if found[-1].reason == "interrupted":
            return replace(min(found, key=lambda minimum: minimum.value), reason="interrupted")
    return min(found, key=lambda minimum: minimum.value)


def _descend(risk: EmpiricalRisk, lasso: Any, x0: Array, tol: float, max_iter: int, monitor: Any) -> Minimum:
    """The nearest minimum of a smooth loss; `tol` is a share of the gradient at zero."""
    tol = tol * max(float(np.abs(risk.gradient(np.zeros_like(x0))).max()), np.finfo(float).tiny)
    curved = _has_curvature(risk)
    if np.any(lasso):
        objective = CompositeObjective(ConvexifiedObjective(risk, risk.loss.convex) if curved else risk, L1(lasso))
        solver: Any = ProximalNewton() if curved else FISTA()
        return minimise(objective, x0, solver, tol=tol, max_iter=max_iter, monitor=monitor)
    if curved and not risk.loss.convex and len(x0) <= MAX_HESSIAN_SIZE:
        return minimise(
            ConvexifiedObjective(risk, convex=False), x0, Newton(), tol=tol, max_iter=max_iter, monitor=monitor
        )
    inverse = None
    if curved and risk.loss.convex:
        x0, inverse = start_from_subsample(risk, x0)
    return minimise(risk, x0, LBFGS(inverse=inverse), tol=tol, max_iter=max_iter, monitor=monitor)


def _has_curvature(risk: EmpiricalRisk) -> bool:
    """Does the loss say its second derivative? One of a user's own need not."""
    if risk.outputs:
        return True
    try:
        risk.loss.curvature(risk.y[:1], np.zeros(1))
    except TypeError:
        return False
    return True


def fit_linear(estimator: Any, risks: Any, lasso: float, tol: float, max_iter: int) -> tuple[Array, int]:
    """Coefficients (outputs, size) of these risks, one after the other, and the most steps one took."""
    found: list[Minimum] = []
    with fit_steps(estimator, "step", MAX_SOLVER_RUNS * max_iter * len(risks)) as monitor:
        for risk in risks:
            lassos = np.tile(_on_columns(risk.design, lasso), max(risk.outputs, 1))
            if found and found[-1].reason == "interrupted":  # what is left gets a first guess
                found.append(replace(solve_risk(risk, lassos, tol=tol, max_iter=1), reason="interrupted"))
            else:
                found.append(solve_risk(risk, lassos, tol=tol, max_iter=max_iter, monitor=monitor))
    if found[-1].reason == "interrupted":
        warn_kept_best(estimator, sum(m.steps for m in found), "step")
    short = [m for m in found if m.reason in ("max_iter", "diverged")]
    if short:
        warn(
            f"{type(estimator).__name__}: {short[0].steps} steps did not reach the minimum (gradient still "
            f"{short[0].violation:.3g}). Raise max_iter, scale the columns, or penalise more",
            ConvergenceWarning,
        )
    x = np.vstack([m.x.reshape(max(r.outputs, 1), -1) for m, r in zip(found, risks, strict=True)])
    return x, max(1, *(m.steps for m in found))


def centred_design(X: Table, w: Array, intercept: bool) -> Design:
    """Rows about their mean where there is an offset to take it up."""
    centre = np.asarray(w @ X).ravel() / w.sum() if intercept else None
    return Design(X, intercept=intercept, centre=centre)


def linear_from_outputs(x: Array, design: Design, n_iter: int, *, one: bool = False) -> LinearModel:
    """The value for coefficients (outputs, size) about the centre of the design."""
    coef, offset = design.split(x)
    kind, centre = design.X.dtype, design.centre
    if one:
        coef, offset = coef[0], offset[0]
    intercept = (offset - coef @ centre if centre is not None else offset).astype(kind)
    coef = np.ascontiguousarray(coef, dtype=kind)
    if centre is None or design.sparse:
        return LinearModel(coef, intercept[()], n_iter=n_iter)
    return LinearModel(coef, intercept[()], centre, offset, n_iter=n_iter)


class RiskMinimiserRegressor(Regressor):
    """A linear surface that minimises any loss, penalised or not.

    Parameters
    ----------
    loss
        "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma", or an
        object of fivefold.optim.losses.catalogue, or one of your own class with value, slope and, if it has one,
        curvature.
    penalty
        "l2", "l1", "elasticnet" or None.
    alpha
        strength of the penalty beside the sum of the losses; ridge regression's with the squared loss.
    l1_ratio
        share of the L1 part of an elastic net.
    fit_intercept
        fit an offset, which is never penalised.
    tol
        stop when the gradient is this share of the gradient at zero.
    max_iter
        steps of the solver at most.

    Attributes
    ----------
    coef_, intercept_
        of the surface; predictions are the inverse link of the loss at it.
    n_iter_
        steps taken.

    Examples
    --------
    >>> from fivefold.linear_model import RiskMinimiserRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, 99.0]
    >>> RiskMinimiserRegressor("absolute", penalty=None).fit(X, y).coef_.round(6)
    array([1.])
    """

    loss: (
        Literal["squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma"]
        | Loss
    ) = "squared"
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = "l2"
    alpha: NonNegative = 1.0
    l1_ratio: Fraction = 0.5
    fit_intercept: bool = True
    tol: NonNegative = 1e-9
    max_iter: Count = 1000

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A loss that no other method here has, or several losses side by side under one name. Where a method of "
        "its own exists (Ridge, HuberRegressor, QuantileRegressor) it is quicker.",
        steps=(
            "Take the loss, the penalty and the rows as one objective.",
            "Minimise it by L-BFGS, by proximal Newton beside an L1 penalty, or by rounding kinks.",
            "Of kinks, hold the rows that rest on one and solve for the exact minimum.",
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
    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        loss = REGRESSOR_LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
        design, y = centred_design(X, w, self.fit_intercept), y.astype(np.float64)
        lasso, ridge = (self.alpha * share for share in L1_L2_SHARES[self.penalty](self.l1_ratio))
        risk = EmpiricalRisk(loss, design, y, w, _on_columns(design, ridge))
        x, done = fit_linear(self, [risk], lasso, self.tol, self.max_iter)
        self.model_ = linear_from_outputs(x, design, done, one=True)

    def predict(self, X: Any) -> Any:
        """What the loss predicts at each row: the surface, or its inverse link."""
        X = self._admit(X)
        loss = REGRESSOR_LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
        return loss.inverse_link(predictor(self.model_, X))


def _probable(estimator: Any) -> bool:
    loss = CLASSIFIER_LOSSES[estimator.loss] if isinstance(estimator.loss, str) else estimator.loss
    return isinstance(loss, PROBABILITY_LOSSES)


class RiskMinimiserClassifier(Classifier):
    """A linear classifier that minimises any loss of the margin, penalised or not.

    Parameters
    ----------
    loss
        "log", "softmax", "hinge", "squared_hinge", "squared", "probit", "probit_margin", "exponential", "perceptron",
        "absolute", "huber", or an object of fivefold.optim.losses.catalogue, or one of your own class with value and
        slope. Targets are -1 and +1; more than two classes are separated each from the rest, but for "softmax".
    penalty
        "l2", "l1", "elasticnet" or None.
    alpha
        strength of the penalty beside the sum of the losses: 1 / C of a support vector machine.
    l1_ratio
        share of the L1 part of an elastic net.
    fit_intercept
        fit an offset, which is never penalised.
    tol
        stop when the gradient is this share of the gradient at zero.
    max_iter
        steps of the solver at most.
    class_weight
        weights of the classes, "balanced", or None.

    Attributes
    ----------
    coef_, intercept_
        of the predictors: one for two classes, positive for the second; else one a class.
    classes_
        the labels.
    n_iter_
        steps taken, the most of all classes.

    Examples
    --------
    >>> from fivefold.linear_model import RiskMinimiserClassifier
    >>> model = RiskMinimiserClassifier("hinge").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.coef_.round(6), model.predict([[0.3]])
    (array([[1.]]), array([1]))
    """

    loss: (
        Literal[
            "log", "softmax", "hinge", "squared_hinge", "squared", "probit", "probit_margin", "exponential",
            "perceptron", "absolute", "huber",
        ]
        | Loss
    ) = "log"  # fmt: skip
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = "l2"
    alpha: NonNegative = 1.0
    l1_ratio: Fraction = 0.5
    fit_intercept: bool = True
    tol: NonNegative = 1e-9
    max_iter: Count = 1000
    class_weight: dict[Any, float] | Literal["balanced"] | None = None

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="A loss that no other method here has, or several losses side by side under one name. Where a method of "
        "its own exists (LogisticRegression, LinearSVC) it is quicker.",
        steps=(
            "Take the loss, the penalty and the rows as one objective, for each class against the rest.",
            "Minimise it by L-BFGS, by proximal Newton beside an L1 penalty, or by rounding kinks.",
            "Of kinks, hold the rows that rest on one and solve for the exact minimum.",
        ),
        source="Vapnik (1992); Madsen & Nielsen (1993); Lee, Sun & Saunders (2014)",
        see_also=("RiskMinimiserRegressor", "ProbitRegression"),
        variants=(
            {"loss": "hinge"},
            {"loss": "squared_hinge", "penalty": "l1"},
            {"loss": "softmax", "penalty": "elasticnet"},
        ),
    )

    coef_ = learned("coef")
    intercept_ = learned("intercept")
    n_iter_ = learned("n_iter")

    @property
    def _loss(self) -> Loss:
        return CLASSIFIER_LOSSES[self.loss] if isinstance(self.loss, str) else self.loss

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, design = len(self.classes_), centred_design(X, w, self.fit_intercept)
        lasso, ridge = (self.alpha * share for share in L1_L2_SHARES[self.penalty](self.l1_ratio))
        ridge_of = _on_columns(design, ridge)
        if self._loss.kind == "classes":
            risks = [EmpiricalRisk(self._loss, design, y, w, np.tile(ridge_of, K), K)]
        else:
            risks = [EmpiricalRisk(self._loss, design, t, w, ridge_of) for t in one_vs_rest_targets(y, K)]
        x, done = fit_linear(self, risks, lasso, self.tol, self.max_iter)
        if self._loss.kind == "classes":
            x = centre_offsets(x, X.shape[1])
            x = x[1:] - x[:1] if K == 2 else x
        self.model_ = linear_from_outputs(x, design, done)

    def decision_function(self, X: UserTable) -> Any:
        """The predictor of each row: positive for the second of two classes, or one a class."""
        X = self._admit(X)
        return decision_values(self.model_, X)

    @available_if(_probable)
    def predict_proba(self, X: UserTable) -> Any:
        """Probabilities of the classes, where the loss is a likelihood; of many classes scaled to sum to one."""
        eta = self.decision_function(X)
        if self._loss.kind == "classes":
            return (
                binary_probabilities(catalogue.LogLoss().inverse_link(eta))
                if eta.ndim == 1
                else self._loss.inverse_link(eta.T).T
            )
        P = self._loss.inverse_link(eta)
        return binary_probabilities(P) if P.ndim == 1 else normalise_rows(P)

    def _scores(self, X: Table) -> Any:
        return class_scores(self.model_, X)


def one_vs_rest_targets(y: Array, K: int) -> list[Array]:
    """Targets -1 and +1: of the second of two classes, or of each of K."""
    return [np.where(y == k, 1.0, -1.0) for k in (range(1, 2) if K == 2 else range(K))]


def centre_offsets(x: Array, d: int) -> Array:
    """Coefficients (K, size) whose offsets sum to zero: softmax does not see a shift of all of them."""
    return np.column_stack([x[:, :d], x[:, d:] - x[:, d:].mean(axis=0)])


def binary_probabilities(p: Array) -> Array:
    """Probabilities of both classes from those of the second."""
    return np.column_stack([1 - p, p])


def normalise_rows(P: Array) -> Array:
    """Rows that sum to one; a row of zeros is uniform."""
    total = P.sum(axis=1, keepdims=True)
    return np.where(total > 0, P / np.where(total > 0, total, 1), 1 / P.shape[1]).astype(P.dtype)


def _on_columns(design: Design, ridge: float) -> Array:
    """The ridge on every coefficient but the offset."""
    out = np.zeros(design.size)
    out[: design.X.shape[1]] = ridge
    return out
