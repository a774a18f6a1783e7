"""Strengths of an L1 penalty on a margin loss: the path of minima, and the choice among them on rows held out.

    min over w, b of   sum_i s_i loss(y_i (w'x_i + b)) + alpha |w|_1            y_i = -1 or +1

At a minimum the slope of the losses along w_j is at most alpha where w_j = 0, and -alpha sign(w_j) elsewhere. From the
largest alpha, which leaves no coefficient, to the least each minimum starts the search for the next.

`compare_strengths` puts the strength that theory predicts for the probit losses beside the one of least error on rows
held out.

Tibshirani (1996); McAllester (2003).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_X_y

from fivefold.core.admission.sparse import canonical_csr
from fivefold.core.admission.targets import admit_weights
from fivefold.core.estimators.params import Seed
from fivefold.core.estimators.supervised_learning import encode_labels
from fivefold.core.types import Array, Table, Target, UserWeights, Vector
from fivefold.linear_model.probit import ProbitRegression
from fivefold.linear_model.risk_minimiser import CLASSIFIER_LOSSES, RiskMinimiserClassifier
from fivefold.linear_model.solvers.risk_solver import centred_design, column_strengths, solve_risk
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss

MAX_DOUBLINGS = 60  # doublings, at most, of a strength until no coefficient is left


@dataclass(frozen=True)
class MarginPath:
    """The minima of a path, from the strongest penalty to the weakest."""

    alphas: Array  # (A,)
    coefs: Array  # (A, d)
    intercepts: Array  # (A,)
    values: Array  # (A,) losses and penalty
    steps: tuple[int, ...]


def margin_path(
    X: Table,
    y: Target,
    *,
    loss: str | Loss = "log",
    alphas: ArrayLike = 30,
    eps: float = 1e-2,
    fit_intercept: bool = True,
    sample_weight: UserWeights = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> MarginPath:
    """Minima of two classes under an L1 penalty, for `alphas` strengths falling to eps times the first, or those given.

    `loss` is a name that RiskMinimiserClassifier takes, or a convex loss.

    >>> path = margin_path([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1], loss="squared", alphas=[12.0, 2.0])
    >>> path.coefs.round(6)
    array([[0. ],
           [0.4]])
    """
    X = canonical_csr(X, "X") if issparse(X) else X
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, codes = encode_labels(y)
    chosen = CLASSIFIER_LOSSES[loss] if isinstance(loss, str) else loss
    if len(classes) != 2 or chosen.kind == "classes":
        raise ValueError(f"margin_path needs two classes and a loss of one predictor; y holds {len(classes)} classes")
    w, d = admit_weights(RiskMinimiserClassifier(), sample_weight, X), X.shape[1]
    risk = EmpiricalRisk(chosen, centred_design(X, w, fit_intercept), 2.0 * codes - 1.0, w)
    penalised = column_strengths(risk.design, 1.0)
    top, x = _emptying_strength(risk, penalised, tol, max_iter)
    given = np.asarray(alphas, dtype=np.float64)
    grid = np.geomspace(top, eps * top, int(given)) if given.ndim == 0 else np.sort(given)[::-1]
    found = []
    for alpha in grid:
        found.append(solve_risk(risk, alpha * penalised, x0=x, tol=tol, max_iter=max_iter))
        x = found[-1].x
    coefs, offsets = risk.design.split(np.array([m.x for m in found]))
    centre = np.zeros(d) if risk.design.centre is None else risk.design.centre
    values = np.array([m.value for m in found])
    return MarginPath(grid, coefs, offsets - coefs @ centre, values, tuple(m.steps for m in found))


def _emptying_strength(risk: EmpiricalRisk, penalised: Vector, tol: float, max_iter: int) -> tuple[float, Array]:
    """A strength that leaves no coefficient (for a smooth loss the smallest), and the minimum there."""
    columns = penalised > 0
    top = max(float(np.abs(risk.gradient(np.zeros(len(penalised)))[columns]).max()), np.finfo(np.float64).tiny)
    for _ in range(MAX_DOUBLINGS):
        x = solve_risk(risk, top * penalised, tol=tol, max_iter=max_iter).x
        if not x[columns].any():
            break
        top *= 2.0
    if risk.loss.smooth:
        top = float(np.abs(risk.gradient(x)[columns]).max())
    return top, x


@dataclass(frozen=True)
class StrengthComparison:
    """The share of errors on held-out rows for each strength, and for the predicted one."""

    alphas: Array  # (A,)
    errors: Array  # (A,)
    chosen: float  # the largest strength of least error
    predicted: float
    error_of_predicted: float


def compare_strengths(
    X: Table, y: Target, model: ProbitRegression, *, alphas: ArrayLike, share: float = 0.3, random_state: Seed = None
) -> StrengthComparison:
    """Fit `model` with each L1 strength to a share of the rows, and judge it, and the predicted strength, on the rest.

    >>> X = [[x, x % 3.0] for x in range(-20, 20)]
    >>> y = [int(x > 0) for x, _ in X]
    >>> found = compare_strengths(X, y, ProbitRegression(), alphas=[0.1, 1e4], random_state=0)
    >>> found.chosen, bool(found.errors[0] < found.errors[1])
    (0.1, True)
    """
    parts = train_test_split(np.asarray(X), np.asarray(y), test_size=share, stratify=y, random_state=random_state)
    X_train, X_test, y_train, y_test = parts
    grid = np.asarray(alphas, dtype=np.float64)

    def error(strength: float | str) -> tuple[float, float]:
        fitted = clone(model).set_params(penalty="l1", alpha=strength).fit(X_train, y_train)
        return fitted.alpha_, 1.0 - fitted.score(X_test, y_test)

    errors = np.array([error(float(alpha))[1] for alpha in grid])
    predicted, missed = error("predicted")
    return StrengthComparison(grid, errors, float(grid[errors == errors.min()].max()), predicted, missed)
