"""Probit regression: the likelihood with a Gaussian link, and the loss of the PAC-Bayes theorem.

    likelihood    sum -ln Phi(m_i)      P(y = 1 | x) = Phi(w'x + b): the sign of a noisy predictor; convex
    gibbs         sum Phi(-m_i)         expected errors of a classifier drawn from N(w, I); bounded, not convex

with m = y (w'x + b), plus lambda/2 |w|^2 or lambda |w|_1. Minimising the second loss with |w|^2 (lambda = 2)
minimises the PAC-Bayes bound with a Gaussian prior, for rows of unit length; with a Laplace prior the penalty is
lambda |w|_1, which leaves coefficients exactly at zero. The second loss is minimised from zero and from the
logistic solution at several scales, and the best minimum is kept.

For L1, theory suggests a strength for columns scaled to at most one: the smaller of the length |Phi|_2 of a row (root
of the mean square) and |w|_1 of the solution, which depends on the strength in turn: a fixed point.

Germain, Lacasse, Laviolette & Marchand (2009); McAllester (2003).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Weights
from fivefold.linear_model.base import LinearModel, class_scores, decision_values
from fivefold.linear_model.solvers.class_outputs import binary_probabilities, normalise_rows, one_vs_rest_targets
from fivefold.linear_model.solvers.risk_solver import (
    L1_L2_SHARES,
    LinearRiskClassifier,
    centred_design,
    column_strengths,
    fit_linear,
    linear_from_outputs,
)
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import ProbitLoss, ProbitMarginLoss

PROBIT_LOSSES: dict[str, Loss] = {"likelihood": ProbitLoss(), "gibbs": ProbitMarginLoss()}
THEORY_STRENGTHS = {"likelihood": 1.0, "gibbs": 2.0}  # loss -> lambda
MAX_FIXED_POINT_ROUNDS = 60  # bisections of the search for the fixed point: more than float64 has digits


@dataclass(frozen=True)
class ProbitModel:
    """The predictors, the strength of the penalty, and the mean Gibbs error on the rows learned from."""

    linear: LinearModel
    strength: float
    gibbs: float  # mean of Phi(-m)


class ProbitRegression(LinearRiskClassifier, keywords="loss penalty alpha"):
    """Linear classification by the normal distribution function: its likelihood, or the loss of PAC-Bayes.

    Parameters
    ----------
    loss
        "likelihood": maximum likelihood, convex; "gibbs": expected errors of a randomised classifier, for rows of unit
        length (Normalizer).
    penalty
        "l2", "l1" or None.
    alpha
        lambda in lambda/2 |w|^2 or lambda |w|_1; None is 1 for the likelihood and 2 for the Gibbs loss; "predicted",
        for L1, is the fixed point of the smaller of row length and |w|_1.
    fit_intercept
        fit an intercept, which is not penalised; the theory has no intercept.

    Attributes
    ----------
    alpha_
        the strength used.
    gibbs_error_
        mean of Phi(-m) over the rows learned from: errors of the randomised classifier.

    Examples
    --------
    >>> from fivefold.linear_model import ProbitRegression
    >>> model = ProbitRegression(alpha=0.1).fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[0.0]]).round(3)
    array([[0.5, 0.5]])
    """

    _: KW_ONLY
    loss: Literal["likelihood", "gibbs"] = "likelihood"
    penalty: Literal["l2", "l1"] | None = "l2"
    alpha: NonNegative | Literal["predicted"] | None = None

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="A Gaussian threshold behind the classes; or, with the Gibbs loss, few heavy outliers matter and a "
        "PAC-Bayes bound is wanted for what was learned. LogisticRegression is nearly the same as the likelihood and "
        "quicker.",
        steps=(
            "Take the loss of the margins and the penalty as one objective.",
            "The likelihood is convex: L-BFGS or proximal Newton finds its minimum.",
            "The Gibbs loss is not: descend from zero and from scaled logistic solutions, and keep the best.",
        ),
        source="Bliss (1934); McAllester (2003); Germain et al. (2009)",
        see_also=("RiskMinimiserClassifier", "BayesianLogisticRegression", "Normalizer"),
        variants=(
            {"loss": "gibbs"},
            {"penalty": "l1", "alpha": "predicted"},
            {"loss": "gibbs", "penalty": "l1"},
        ),
    )

    coef_ = learned("linear.coef")
    intercept_ = learned("linear.intercept")
    n_iter_ = learned("linear.n_iter")
    alpha_ = learned("strength")
    gibbs_error_ = learned("gibbs")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        design = centred_design(X, w, self.fit_intercept)
        targets = one_vs_rest_targets(y, len(self.classes_))

        def solve(strength: float) -> tuple[Array, int]:
            lasso, ridge = (strength * share for share in L1_L2_SHARES[self.penalty](0.0))
            ridges = column_strengths(design, ridge)
            risks = [EmpiricalRisk(PROBIT_LOSSES[self.loss], design, t, w, ridges) for t in targets]
            return fit_linear(self, risks, lasso)

        if self.alpha == "predicted":
            if self.penalty != "l1":
                raise ValueError(
                    f"ProbitRegression: alpha='predicted' is for penalty='l1'; got penalty={self.penalty!r}"
                )
            strength = predicted_strength(
                rms_row_length(X, w), lambda s: float(np.abs(solve(s)[0][:, : X.shape[1]]).sum())
            )
        else:
            strength = THEORY_STRENGTHS[self.loss] if self.alpha is None else float(self.alpha)
        x, done = solve(strength)
        eta = design.predictor(x)  # (outputs, n)
        errors = [float(w @ ProbitMarginLoss().value(t, e)) / w.sum() for t, e in zip(targets, eta, strict=True)]
        self.model_ = ProbitModel(linear_from_outputs(x, design, done), strength, float(np.mean(errors)))

    def decision_function(self, X: UserTable) -> Any:
        """The predictor of each row: positive for the second of two classes, or one per class."""
        X = self._admit(X)
        return decision_values(self.model_.linear, X)

    def predict_proba(self, X: UserTable) -> Any:
        """Phi of the predictors; of many classes scaled to sum to one."""
        P = ProbitLoss().inverse_link(self.decision_function(X))
        return binary_probabilities(P) if P.ndim == 1 else normalise_rows(P)

    def _scores(self, X: Table) -> Matrix:
        return class_scores(self.model_.linear, X)


def rms_row_length(X: Table, w: Array) -> float:
    """Root of the mean squared length of a row, columns scaled so that no entry exceeds one."""
    squares = X.multiply(X) if issparse(X) else X * X
    largest = squares.max(axis=0)
    largest = np.asarray(largest.todense() if issparse(largest) else largest, dtype=np.float64).ravel()
    mean = np.asarray(w @ squares).ravel() / w.sum()
    return float(np.sqrt(np.sum(mean / np.maximum(largest, np.finfo(float).tiny))))


def predicted_strength(length: float, size: Callable[[float], float]) -> float:
    """lambda = min(length, size(lambda)), size being |w|_1 of the solution, which falls as lambda grows."""
    if size(length) >= length:
        return length
    low, high = 0.0, length
    for _ in range(MAX_FIXED_POINT_ROUNDS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(middle) > middle else (low, middle)
        if high - low <= 1e-10 * length:
            break
    return 0.5 * (low + high)
