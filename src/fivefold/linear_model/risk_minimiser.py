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

from fivefold.core.data import Takes
from fivefold.core.estimator import learned
from fivefold.core.messages import warn
from fivefold.core.params import Count, Fraction, NonNegative
from fivefold.core.progress import kept_best, steps
from fivefold.core.registry import Card
from fivefold.core.supervised import Classifier, Regressor
from fivefold.distributions.family import Array
from fivefold.linear_model.base import Linear, class_scores, decision, predictor
from fivefold.optim import losses
from fivefold.optim.design import Design
from fivefold.optim.kinks import minimise_kinked
from fivefold.optim.lbfgs import LBFGS
from fivefold.optim.losses import LOSSES, Loss
from fivefold.optim.minimise import minimise
from fivefold.optim.newton import Newton
from fivefold.optim.objective import Composite, Minimum
from fivefold.optim.penalties import L1
from fivefold.optim.proximal import FISTA
from fivefold.optim.proximal_newton import ProximalNewton
from fivefold.optim.raised import Raised
from fivefold.optim.risk import Risk
from fivefold.optim.sample import from_sample

FEW = 500  # coefficients of a Hessian that is decomposed at every step
RUNS = 25  # of a solver, at most, within one fit: starts, or levels of rounded kinks
SCALES = (0.3, 1.0, 3.0, 10.0)  # of the logistic solution, where a loss that is not convex is started

CLASS_LOSSES = (
    "log", "softmax", "hinge", "squared_hinge", "probit", "probit_margin", "exponential", "perceptron", "absolute",
    "huber",
)  # fmt: skip
OF_CLASSES = {name: LOSSES[name] for name in CLASS_LOSSES} | {"squared": LOSSES["squared_margin"]}  # the same at +-1
NUMBER_LOSSES = (
    "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma",
)  # fmt: skip
OF_NUMBERS = {name: LOSSES[name] for name in NUMBER_LOSSES}
# penalty -> shares of alpha on |w| and on w^2 / 2, given l1_ratio
SHARES: dict[str | None, Callable[[float], tuple[float, float]]] = {
    None: lambda ratio: (0.0, 0.0),
    "l2": lambda ratio: (0.0, 1.0),
    "l1": lambda ratio: (1.0, 0.0),
    "elasticnet": lambda ratio: (ratio, 1.0 - ratio),
}
LIKELIHOODS = (losses.Log, losses.Softmax, losses.Probit, losses.ProbitMargin, losses.Exponential)


def least_risk(
    risk: Risk, lasso: Any, *, tol: float, max_iter: int, monitor: Any = None, x0: Array | None = None
) -> Minimum:
    """The minimum of a risk plus sum of lasso |x|, by the solver that suits the loss; of a convex one from x0."""
    loss, x0 = risk.loss, np.zeros(risk.design.size * max(risk.outputs, 1)) if x0 is None else x0
    if not loss.smooth:
        if not loss.convex:
            raise ValueError(f"{type(loss).__name__} is for judging: no solver can descend it. Take a convex loss")
        return minimise_kinked(risk, x0, lasso=lasso, max_iter=max_iter, monitor=monitor)
    if loss.convex:
        return _descend(risk, lasso, x0, tol, max_iter, monitor)
    guide = replace(risk, loss=losses.Log(), ridge=np.broadcast_to(risk.ridge, x0.shape) + 0.0)
    x = _descend(guide, 0.0, x0, 1e-3, 50, None).x
    found: list[Minimum] = []
    for t in (0.0, *SCALES):
        found.append(_descend(risk, lasso, t * x, tol, max_iter, monitor))
        if found[-1].reason == "interrupted":
            return replace(min(found, key=lambda minimum: minimum.value), reason="interrupted")
    return min(found, key=lambda minimum: minimum.value)


def _descend(risk: Risk, lasso: Any, x0: Array, tol: float, max_iter: int, monitor: Any) -> Minimum:
    """The nearest minimum of a smooth loss; `tol` is a share of the gradient at zero."""
    tol = tol * max(float(np.abs(risk.gradient(np.zeros_like(x0))).max()), np.finfo(float).tiny)
    curved = _has_curvature(risk)
    if np.any(lasso):
        objective = Composite(Raised(risk, risk.loss.convex) if curved else risk, L1(lasso))
        solver: Any = ProximalNewton() if curved else FISTA()
        return minimise(objective, x0, solver, tol=tol, max_iter=max_iter, monitor=monitor)
    if curved and not risk.loss.convex and len(x0) <= FEW:
        return minimise(Raised(risk, convex=False), x0, Newton(), tol=tol, max_iter=max_iter, monitor=monitor)
    inverse = None
    if curved and risk.loss.convex:
        x0, inverse = from_sample(risk, x0)
    return minimise(risk, x0, LBFGS(inverse=inverse), tol=tol, max_iter=max_iter, monitor=monitor)


def _has_curvature(risk: Risk) -> bool:
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
    with steps(estimator, "step", RUNS * max_iter * len(risks)) as monitor:
        for risk in risks:
            lassos = np.tile(_on_columns(risk.design, lasso), max(risk.outputs, 1))
            if found and found[-1].reason == "interrupted":  # what is left gets a first guess
                found.append(replace(least_risk(risk, lassos, tol=tol, max_iter=1), reason="interrupted"))
            else:
                found.append(least_risk(risk, lassos, tol=tol, max_iter=max_iter, monitor=monitor))
    if found[-1].reason == "interrupted":
        kept_best(estimator, sum(m.steps for m in found), "step")
    short = [m for m in found if m.reason in ("max_iter", "diverged")]
    if short:
        warn(
            f"{type(estimator).__name__}: {short[0].steps} steps did not reach the minimum (gradient still "
            f"{short[0].violation:.3g}). Raise max_iter, scale the columns, or penalise more",
            ConvergenceWarning,
        )
    x = np.vstack([m.x.reshape(max(r.outputs, 1), -1) for m, r in zip(found, risks, strict=True)])
    return x, max(1, *(m.steps for m in found))


def centred_design(X: Any, w: Array, intercept: bool) -> Design:
    """Rows about their mean where there is an offset to take it up."""
    centre = np.asarray(w @ X).ravel() / w.sum() if intercept else None
    return Design(X, intercept=intercept, centre=centre)


def as_linear(x: Array, design: Design, n_iter: int, *, one: bool = False) -> Linear:
    """The value for coefficients (outputs, size) about the centre of the design."""
    coef, offset = design.split(x)
    kind, centre = design.X.dtype, design.centre
    if one:
        coef, offset = coef[0], offset[0]
    intercept = (offset - coef @ centre if centre is not None else offset).astype(kind)
    coef = np.ascontiguousarray(coef, dtype=kind)
    if centre is None or design.sparse:
        return Linear(coef, intercept[()], n_iter=n_iter)
    return Linear(coef, intercept[()], centre, offset, n_iter=n_iter)


class RiskMinimiserRegressor(Regressor):
    """A linear surface that minimises any loss, penalised or not.

    Parameters
    ----------
    loss
        "squared", "absolute", "huber", "quantile", "insensitive", "squared_insensitive", "poisson", "gamma", or an
        object of fivefold.optim.losses, or one of your own class with value, slope and, if it has one, curvature.
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

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        loss = OF_NUMBERS[self.loss] if isinstance(self.loss, str) else self.loss
        design, y = centred_design(X, w, self.fit_intercept), y.astype(np.float64)
        lasso, ridge = (self.alpha * share for share in SHARES[self.penalty](self.l1_ratio))
        risk = Risk(loss, design, y, w, _on_columns(design, ridge))
        x, done = fit_linear(self, [risk], lasso, self.tol, self.max_iter)
        self.model_ = as_linear(x, design, done, one=True)

    def predict(self, X: Any) -> Any:
        """What the loss predicts at each row: the surface, or its inverse link."""
        X = self._admit(X)
        loss = OF_NUMBERS[self.loss] if isinstance(self.loss, str) else self.loss
        return loss.inverse_link(predictor(self.model_, X))


def _probable(estimator: Any) -> bool:
    loss = OF_CLASSES[estimator.loss] if isinstance(estimator.loss, str) else estimator.loss
    return isinstance(loss, LIKELIHOODS)


class RiskMinimiserClassifier(Classifier):
    """A linear classifier that minimises any loss of the margin, penalised or not.

    Parameters
    ----------
    loss
        "log", "softmax", "hinge", "squared_hinge", "squared", "probit", "probit_margin", "exponential", "perceptron",
        "absolute", "huber", or an object of fivefold.optim.losses, or one of your own class with value and slope.
        Targets are -1 and +1; more than two classes are separated each from the rest, but for "softmax".
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
        return OF_CLASSES[self.loss] if isinstance(self.loss, str) else self.loss

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        K, design = len(self.classes_), centred_design(X, w, self.fit_intercept)
        lasso, ridge = (self.alpha * share for share in SHARES[self.penalty](self.l1_ratio))
        ridge_of = _on_columns(design, ridge)
        if self._loss.kind == "classes":
            risks = [Risk(self._loss, design, y, w, np.tile(ridge_of, K), K)]
        else:
            risks = [Risk(self._loss, design, t, w, ridge_of) for t in one_against_rest(y, K)]
        x, done = fit_linear(self, risks, lasso, self.tol, self.max_iter)
        if self._loss.kind == "classes":
            x = balanced(x, X.shape[1])
            x = x[1:] - x[:1] if K == 2 else x
        self.model_ = as_linear(x, design, done)

    def decision_function(self, X: Any) -> Any:
        """The predictor of each row: positive for the second of two classes, or one a class."""
        X = self._admit(X)
        return decision(self.model_, X)

    @available_if(_probable)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, where the loss is a likelihood; of many classes scaled to sum to one."""
        eta = self.decision_function(X)
        if self._loss.kind == "classes":
            return two_columns(losses.Log().inverse_link(eta)) if eta.ndim == 1 else self._loss.inverse_link(eta.T).T
        P = self._loss.inverse_link(eta)
        return two_columns(P) if P.ndim == 1 else scaled(P)

    def _scores(self, X: Any) -> Any:
        return class_scores(self.model_, X)


def one_against_rest(y: Array, K: int) -> list[Array]:
    """Targets -1 and +1: of the second of two classes, or of each of K."""
    return [np.where(y == k, 1.0, -1.0) for k in (range(1, 2) if K == 2 else range(K))]


def balanced(x: Array, d: int) -> Array:
    """Coefficients (K, size) whose offsets sum to zero: softmax does not see a shift of all of them."""
    return np.column_stack([x[:, :d], x[:, d:] - x[:, d:].mean(axis=0)])


def two_columns(p: Array) -> Array:
    """Probabilities of both classes from those of the second."""
    return np.column_stack([1 - p, p])


def scaled(P: Array) -> Array:
    """Rows that sum to one; a row of zeros is uniform."""
    total = P.sum(axis=1, keepdims=True)
    return np.where(total > 0, P / np.where(total > 0, total, 1), 1 / P.shape[1]).astype(P.dtype)


def _on_columns(design: Design, ridge: float) -> Array:
    """The ridge on every coefficient but the offset."""
    out = np.zeros(design.size)
    out[: design.X.shape[1]] = ridge
    return out
