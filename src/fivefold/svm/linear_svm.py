"""Linear support vector machines for classification and regression, the intercept penalised like a coefficient.

    LinearSVC    min over w, b of   1/2 |w|^2 + 1/2 (b / k)^2 + C sum of s_i max(0, 1 - y_i (w'x_i + b))^p
    LinearSVR    min over w, b of   1/2 |w|^2 + 1/2 (b / k)^2 + C sum of s_i max(0, |t_i - w'x_i - b| - epsilon)^p

p is 1 or 2 and k is `intercept_scaling`: the intercept is the coefficient of a column of k's. With K > 2 classes there
is one problem per class, against all others; or one problem for all classes,

    min over W, b of   1/2 sum over k of |w_k|^2 + C sum of s_i max over k of (1[k != y_i] + eta_ik - eta_iy)

with one margin between the class of a row and the best of the others. The solvers are in
optim/risk_minimisation/linear_svm_solvers.

Cortes & Vapnik (1995); Crammer & Singer (2001); Fan, Chang, Hsieh, Wang & Lin (2008).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.admission.places import WIDE, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import class_totals, is_chunked, per_row
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor, class_weights
from fivefold.core.numerics.arrays import numpy_dtype, to_device_of
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Codes, Doubles, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.linear_model.base import LinearModel, SparseCoefficients, class_scores, decision_values, predictor
from fivefold.optim.design import Design
from fivefold.optim.dual.crammer_singer import CrammerSingerDual
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import HingeLoss, SquaredHingeLoss
from fivefold.optim.losses.regression_losses import InsensitiveLoss, SquaredInsensitiveLoss
from fivefold.optim.objective import Minimum
from fivefold.optim.risk_minimisation.linear_svm_solvers import (
    MAX_GRAM_SIZE,
    solve_crammer_singer,
    solve_l1_svm,
    solve_svm,
)

CLASSIFIER_LOSSES = {"hinge": HingeLoss(), "squared_hinge": SquaredHingeLoss()}
REGRESSOR_LOSSES = {"epsilon_insensitive": InsensitiveLoss, "squared_epsilon_insensitive": SquaredInsensitiveLoss}


class LinearMachine:
    """What both machines share; each declares its fields in the order of scikit-learn's.

    Parameters
    ----------
    tol
        precision: the gradient may be left at tol / 1e3 of that at zero, or the duality gap at tol / 1e5 of the value
        at zero, depending on the solver.
    C
        weight of the losses relative to the penalty.
    intercept_scaling
        the larger it is, the less the intercept is penalised.
    dual
        has no effect, and is accepted as in scikit-learn: the solver is chosen by the shape of X and reaches the same
        optimum.
    verbose
        has no effect, and is accepted as in scikit-learn.
    random_state
        seed of the order in which rows are visited when there are many columns.
    max_iter
        maximum number of steps of the solver.
    """

    coef_ = learned("coef")
    intercept_ = learned("intercept")
    n_iter_ = learned("n_iter")


class LinearSVC(LinearMachine, SparseCoefficients, Classifier):
    """Linear support vector machine for classification.

    Parameters
    ----------
    penalty
        "l2" on the squares of the coefficients; "l1" on their absolute values, which makes most of them zero.
    loss
        "squared_hinge" or "hinge" (not with "l1").
    multi_class
        "ovr": one machine per class, against all others. "crammer_singer": one problem for all classes, which ignores
        `loss`, `penalty` and `dual`.
    fit_intercept
        whether to fit an intercept; without it the boundary passes through the origin.
    class_weight
        one weight per class, or "balanced": inversely proportional to the class shares.

    Attributes
    ----------
    coef_, intercept_
        one row and one number per class; for two classes one of each, positive for the second class.
    n_iter_
        steps taken; the largest number of any class.
    classes_
        the labels.

    Examples
    --------
    >>> from fivefold.svm import LinearSVC
    >>> model = LinearSVC(C=100.0, random_state=0).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> model.predict([[1.9], [2.1]])
    array([0, 1])
    """

    penalty: Literal["l1", "l2"] = "l2"
    loss: Literal["hinge", "squared_hinge"] = "squared_hinge"
    _: KW_ONLY
    dual: bool | Literal["auto"] = "auto"
    tol: NonNegative = 1e-4
    C: Positive = 1.0
    multi_class: Literal["ovr", "crammer_singer"] = "ovr"
    fit_intercept: bool = True
    intercept_scaling: Positive = 1
    class_weight: dict[Any, Any] | Literal["balanced"] | None = None
    verbose: int = 0
    random_state: Seed = None
    max_iter: Count = 1000

    takes = Takes(sparse=True, one_class=False, tensors=True, chunks=True)
    card = Card(
        applications=("classification",),
        use="Many rows or many columns, sparse text, labels wanted and no probabilities. Scale the columns first. "
        "Where the boundary is curved take a kernel.",
        steps=(
            "Code the class +1 and all others -1.",
            "Minimise the penalty plus C times the losses of the margins.",
            "Assign a row to the class whose machine scores highest.",
        ),
        source="Cortes & Vapnik (1995); Fan et al. (2008); Mangasarian (2002)",
        see_also=("LinearSVR", "Ridge"),
        variants=(
            {"loss": "hinge"},
            {"penalty": "l1"},
            {"class_weight": "balanced", "intercept_scaling": 10.0},
            {"multi_class": "crammer_singer"},
        ),
        search={"C": SearchRange(1e-3, 100.0)},
        portfolio=True,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        _refuse(self, is_chunked(X))
        K = len(self.classes_)
        design, ridge = _design(self, X)
        share = np.ones(K)
        if self.class_weight is not None:
            share = class_weights(self.class_weight, self.classes_, np.arange(K), class_totals(y, w, K))
        if self.multi_class == "crammer_singer":
            self.model_ = _fitted_crammer_singer(self, CrammerSingerDual(design, y, self.C * w * share[y], K, ridge), X)
            return
        risks = []
        for k in range(K) if K > 2 else (1,):
            # as in liblinear: against all others only the rows of the class itself get its weight
            factor = share if K == 2 else np.where(np.arange(K) == k, share[k], 1.0)
            sign = per_row(to_device_of(np.where(np.arange(K) == k, 1.0, -1.0), y).__getitem__, y)
            s = self.C * w * per_row(to_device_of(factor, y).__getitem__, y)
            risks.append(EmpiricalRisk(CLASSIFIER_LOSSES[self.loss], design, sign, s, ridge))
        self.model_ = _fitted(self, risks, X)

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path(
            {
                WIDE: X.shape[0] < X.shape[1],
                "loss='hinge'": self.loss == "hinge" and self.multi_class == "ovr",
                "multi_class='crammer_singer'": self.multi_class == "crammer_singer",
                "a table of this many columns": X.shape[1] >= MAX_GRAM_SIZE,
            }
        )

    def _fold(self, y: Target, codes: Codes, w: Weights) -> Weights:
        return w  # `_fit` applies the class weights, each in its own problem

    def _class_factors(self, weight: Doubles) -> None:
        return None  # likewise

    def decision_function(self, X: UserTable) -> Array:
        """Signed score of the machine of each class (n, K); for two classes (n,), positive for the second."""
        X = self._admit(X)
        return decision_values(self.model_, X)

    def _scores(self, X: Table) -> Matrix:
        return class_scores(self.model_, X)


class LinearSVR(LinearMachine, Regressor):
    """Linear support vector machine for regression: errors up to epsilon are free.

    Parameters
    ----------
    epsilon
        errors up to this size cost nothing; in units of the target.
    loss
        "epsilon_insensitive", or "squared_epsilon_insensitive", its square.
    fit_intercept
        whether to fit an intercept; without it the surface passes through the origin.

    Attributes
    ----------
    coef_
        one number per column.
    intercept_
        the prediction at the origin.
    n_iter_
        steps taken.

    Examples
    --------
    >>> from fivefold.svm import LinearSVR
    >>> model = LinearSVR(C=100.0, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 70.0])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([2.]), array([1.]))
    """

    _: KW_ONLY
    epsilon: NonNegative = 0.0
    tol: NonNegative = 1e-4
    C: Positive = 1.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: Positive = 1.0
    dual: bool | Literal["auto"] = "auto"
    verbose: int = 0
    random_state: Seed = None
    max_iter: Count = 1000

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A linear surface that a few outlying targets must not distort; many columns, sparse or not. Scale columns "
        "and target first. With Gaussian noise least squares is better.",
        steps=(
            "Count the part of each error beyond epsilon as its loss.",
            "Minimise the penalty plus C times the losses.",
        ),
        source="Drucker et al. (1997); Ho & Lin (2012)",
        see_also=("LinearSVC", "Ridge"),
        variants=({"epsilon": 0.1}, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}, {"fit_intercept": False}),
        search={"C": SearchRange(1e-3, 100.0)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        design, ridge = _design(self, X)
        risk = EmpiricalRisk(REGRESSOR_LOSSES[self.loss](self.epsilon), design, y.astype(np.float64), self.C * w, ridge)
        model = _fitted(self, [risk], X)
        self.model_ = replace(model, coef=model.coef[0])

    def predict(self, X: UserTable) -> Vector:
        """Predicted target of each row."""
        X = self._admit(X)
        return predictor(self.model_, X)


def _design(estimator: LinearSVC | LinearSVR, X: Table) -> tuple[Design, Array]:
    """The design, with a column of ones for an intercept, and the penalty on the square of each coefficient."""
    ridge = np.ones(X.shape[1] + estimator.fit_intercept)
    if estimator.fit_intercept:
        ridge[-1] = 1.0 / estimator.intercept_scaling**2
    return Design(X, intercept=estimator.fit_intercept), ridge


def _refuse(estimator: LinearSVC, chunked: bool) -> None:
    asked = estimator.penalty, estimator.loss, estimator.multi_class
    if chunked and asked != ("l2", "squared_hinge", "ovr"):
        raise ValueError(
            "LinearSVC: penalty='l1', loss='hinge' and multi_class='crammer_singer' need all rows in memory; for a "
            "table in chunks take penalty='l2', loss='squared_hinge' and multi_class='ovr'"
        )
    if estimator.multi_class == "ovr" and estimator.penalty == "l1" and estimator.loss == "hinge":
        raise ValueError("LinearSVC: penalty='l1' takes loss='squared_hinge'; got loss='hinge'")


def _fitted(estimator: LinearSVC | LinearSVR, risks: list[EmpiricalRisk], X: Table) -> LinearModel:
    """Solve one problem per output; shapes and types are scikit-learn's."""
    seed = _seed(estimator.random_state)
    route = solve_l1_svm if getattr(estimator, "penalty", "l2") == "l1" else solve_svm
    found: list[Minimum] = []
    with fit_steps(estimator, "step", len(risks) * estimator.max_iter, X) as monitor:
        for k, risk in enumerate(risks):

            def report(x: Array, value: float, k: int = k) -> bool:
                xs = [*(done.x for done in found), x] + [np.zeros_like(x)] * (len(risks) - k - 1)
                return monitor(lambda: _linear(estimator, xs, k + 1, X.dtype), value)

            found.append(route(risk, estimator.tol, estimator.max_iter, seed, report))
            if found[-1].reason in ("interrupted", "stopped"):
                break
    _warn_unconverged(estimator, found)
    rest = [np.zeros_like(found[0].x)] * (len(risks) - len(found))
    return _linear(estimator, [done.x for done in found] + rest, max(1, *(done.steps for done in found)), X.dtype)


def _fitted_crammer_singer(estimator: LinearSVC, dual: CrammerSingerDual, X: Table) -> LinearModel:
    """Solve one problem for all classes; for two classes keep the second less the first."""
    seed = _seed(estimator.random_state)

    def linear(W: Matrix, n_iter: int) -> LinearModel:
        return _linear(estimator, [W[1] - W[0]] if dual.classes == 2 else list(W), n_iter, X.dtype)

    with fit_steps(estimator, "step", estimator.max_iter, X) as monitor:
        found = solve_crammer_singer(
            dual, estimator.tol, estimator.max_iter, seed, lambda W, value: monitor(linear(W, 1), value)
        )
    _warn_unconverged(estimator, [found])
    return linear(found.x, max(1, found.steps))


def _seed(given: Seed) -> int:
    """A number for the order of the rows; making a generator takes as long as a small fit."""
    return int(given) if isinstance(given, Integral) else int(check_random_state(given).randint(2**31 - 1))


def _linear(estimator: LinearSVC | LinearSVR, xs: list[Array], n_iter: int, dtype: np.dtype[Any]) -> LinearModel:
    x, dtype = np.array(xs), numpy_dtype(dtype)
    if not estimator.fit_intercept:
        return LinearModel(x.astype(dtype), 0.0, n_iter=n_iter)
    return LinearModel(np.ascontiguousarray(x[:, :-1], dtype=dtype), x[:, -1].astype(dtype), n_iter=n_iter)


def _warn_unconverged(estimator: LinearSVC | LinearSVR, found: list[Minimum]) -> None:
    if found[-1].reason == "interrupted":
        warn_kept_best(estimator, sum(done.steps for done in found), "step")
    elif any(done.reason == "max_iter" for done in found):
        warn(
            f"{type(estimator).__name__}: max_iter={estimator.max_iter} steps were not enough for "
            f"tol={estimator.tol:g}; raise max_iter, or scale the columns",
            ConvergenceWarning,
        )
