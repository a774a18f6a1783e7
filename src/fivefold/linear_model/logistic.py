"""Logistic regression: class probabilities from linear predictors.

    two classes   P(y = 1 | x) = 1 / (1 + e^-eta),   eta = w.x + b           the log odds of the second class
    K classes     P(y = k | x) = e^eta_k / sum_l e^eta_l                     softmax

    min over (w, b)   sum_i s_i (-ln P(y_i | x_i)) + (1 / C) (l1_ratio |w|_1 + (1 - l1_ratio) |w|_2^2 / 2)

The cross-entropy of the classes is the negative log-likelihood, convex in (w, b); its gradient is the sum of
(P(k | x_i) - [y_i = k]) (x_i, 1). With C infinite it is maximum likelihood; where the classes can be separated that has
no maximum. With a reference class r, w_r = 0 and eta_k = ln P(k | x) / P(r | x).

Descent in whitened coordinates (optim.risk_minimisation.preconditioned_descent): Newton's method on a sample, L-BFGS
on all rows.

Cox (1958); Nocedal (1980); Lee, Sun & Saunders (2014).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, Literal

import numpy as np
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.places import WIDE, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, Index, NonNegative, Positive, Range, Seed
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Codes, Table, Target, UserTable, Vector, Weights
from fivefold.linear_model.base import LinearClassifier, SparseCoefficients, decision_values
from fivefold.linear_model.diagnostics.standard_errors import (
    SEPARATED_LOSS,
    UNPENALISED_TOL,
    MaximumLikelihood,
    SeparationWarning,
    coefficient_names,
    fisher_information,
    intercept_first,
    newton_refinement,
    separating_columns,
    separating_direction,
    shortest_maximum,
)
from fivefold.linear_model.diagnostics.summary import Summary
from fivefold.linear_model.model_selection.early_stopping import early_stopped_descent
from fivefold.linear_model.solvers.class_outputs import class_probabilities
from fivefold.linear_model.solvers.risk_solver import (
    centred_coefficients,
    coefficient_strengths,
    linear_from_risk,
    zero_sum_coefficients,
)
from fivefold.optim.design import Design, pilot_centre
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.objective import Minimum, Monitor
from fivefold.optim.risk_minimisation.preconditioned_descent import minimise_risk
from fivefold.optim.risk_minimisation.preconditioners import MAX_HESSIAN_SIZE


class LogLinearClassifier(SparseCoefficients, LinearClassifier):
    """Log odds of the classes are linear in the columns.

    Parameters
    ----------
    fit_intercept
        fit an intercept, which is not penalised.
    dual, random_state, verbose, n_jobs
        kept for scikit-learn's signature; they change nothing.
    intercept_scaling
        with solver="liblinear" the intercept is penalised as the coefficient of a column of this value.
    class_weight
        weights of the classes, a dictionary or "balanced"; they multiply the weights of the rows.
    solver
        every name reaches the optimum of its objective, under any penalty; "liblinear" also penalises the intercept.

    Attributes
    ----------
    classes_
        the labels; with two classes coefficients and log odds are those of the second.
    coef_, intercept_
        (1, d) and (1,) for two classes, (K, d) and (K,) for more.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    dual: bool = False
    tol: NonNegative = 1e-4
    intercept_scaling: Positive = 1
    class_weight: dict[Any, Any] | Literal["balanced"] | None = None
    random_state: Seed = None
    solver: Literal["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"] = "lbfgs"
    max_iter: Index = 100
    verbose: int | bool = 0
    n_jobs: int | None = None

    def decision_function(self, X: UserTable) -> Any:
        """The log odds (n,) of the second of two classes; the linear predictors (n, K) of more."""
        X = self._admit(X)
        return decision_values(self.model_, X)

    def predict_proba(self, X: UserTable) -> Any:
        """Probability of each class."""
        return class_probabilities(self.decision_function(X))

    def predict_log_proba(self, X: UserTable) -> Any:
        """Log probability of each class."""
        eta = self._scores(self._admit(X))
        if is_tensor(eta):
            return eta.log_softmax(dim=1)
        eta = eta - eta.max(axis=1, keepdims=True)
        return eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))


def _warn_ignored(text: str) -> None:
    warn(f"LogisticRegression: {text}", UserWarning)


class LogisticRegression(
    LogLinearClassifier,
    keywords="C l1_ratio dual tol fit_intercept intercept_scaling class_weight random_state solver max_iter verbose "
    "warm_start n_jobs",
):
    """Linear log odds: the likeliest coefficients, shrunk by an L1 or L2 penalty.

    Parameters
    ----------
    penalty
        kept for scikit-learn's signature: "l2", "l1" and "elasticnet" set l1_ratio (0, 1, as it is), None sets C to
        infinity.
    C
        inverse strength of the penalty; np.inf is no penalty: maximum likelihood.
    l1_ratio
        share of the L1 penalty: 0 is L2, 1 is L1, between them the elastic net. None is 0.
    tol
        the objective ends at most a share tol^2 / 10 above its minimum, 1e-9 by default.
    max_iter
        maximum number of passes over the rows; samples before them do not count.
    warm_start
        start from the coefficients of the last fit.
    reference_class
        with three classes or more, the label whose coefficients are zero; None treats all classes the same.
    stop_after
        None goes to the optimum; a number descends from zero by plain gradients, and stops after this many steps in a
        row without fewer errors on the rows: coefficients stay small. Not with an L1 penalty.

    Attributes
    ----------
    n_iter_
        passes over the rows.
    history_, reason_
        the objective before each pass and at the end, and why the descent ended.
    likelihood_
        the information and the log-likelihood behind `summary` after a fit without a penalty; otherwise None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict(X[:2]), round(model.score(X, y), 2)
    (array([0, 0]), 0.97)
    """

    penalty: Literal["l1", "l2", "elasticnet", "deprecated"] | None = "deprecated"
    _: KW_ONLY
    C: Annotated[float, Range(0, open_low=True)] = 1.0
    l1_ratio: Fraction | None = 0.0
    warm_start: bool = False
    reference_class: Any = None  # a label of any kind
    stop_after: Count | None = None

    takes = Takes(sparse=True, one_class=False, tensors=True, chunks=True)
    card = Card(
        applications=("classification",),
        use="Probabilities from a linear surface, many rows or columns, an answer that can be read. Scale the columns "
        "first; take an L1 penalty to drop columns, C=inf and summary() for standard errors.",
        steps=(
            "Take a sample of the rows and find its coefficients by Newton's method.",
            "Turn and scale the coordinates so that the sample's curvature is one.",
            "Descend on all rows by L-BFGS, or by proximal Newton steps under an L1 penalty.",
        ),
        source="Cox (1958); Nocedal (1980); Lee, Sun & Saunders (2014)",
        see_also=("LinearDiscriminantAnalysis", "GaussianNB"),
        variants=(
            {"l1_ratio": 1.0},
            {"l1_ratio": 0.5, "C": 0.1},
            {"solver": "liblinear", "class_weight": "balanced"},
        ),
        search={"C": SearchRange(1e-3, 100.0), "l1_ratio": (0.0, 1.0)},
        portfolio=True,
    )

    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if self.n_jobs is not None:
            warn("LogisticRegression: n_jobs has no effect, and scikit-learn will drop it; leave it out", FutureWarning)
        C, ratio = self._strength()
        risk = self._risk(X, y, w, (1 - ratio) / C)
        lasso = (
            None if ratio == 0 or np.isinf(C) else coefficient_strengths(risk, ratio / C, self._on_intercept(ratio / C))
        )
        unpenalised, weight = bool(np.isinf(C)), float(w.sum())
        with fit_steps(self, "pass", max(self.max_iter, 1), X) as monitor:

            def report(x: Vector, value: float) -> bool:
                stop = monitor(lambda: linear_from_risk(risk, x, X.dtype, 0), value)
                return bool(stop) or (unpenalised and value < SEPARATED_LOSS * weight)

            found = self._descend(risk, lasso, report, unpenalised)
        if unpenalised and self.stop_after is None and not is_chunked(X):
            found, self.likelihood_ = self._likelihood(risk, found)
        else:
            self.likelihood_ = None
        self.model_ = linear_from_risk(risk, zero_sum_coefficients(risk, found.x), X.dtype, found.steps)
        self.history_, self.reason_ = found.history, found.reason
        self._warn_unfinished(found)

    def _host_reason(self, X: Table) -> str:
        wide = X.shape[0] < X.shape[1] or X.shape[1] * 2 > MAX_HESSIAN_SIZE
        return without_tensor_path(
            {
                WIDE: X.shape[0] < X.shape[1],
                "an L1 penalty on this many columns": wide
                and (self.l1_ratio not in (0.0, None) or self.penalty == "l1"),
                "a fit without a penalty, with its standard errors,": self.penalty is None or bool(np.isinf(self.C)),
                "reference_class": self.reference_class is not None,
                "stop_after": self.stop_after is not None,
            }
        )

    def _descend(self, risk: EmpiricalRisk, lasso: Vector | None, monitor: Monitor, unpenalised: bool) -> Minimum:
        start = self._start(risk)
        if self.stop_after is None:
            tol = self.tol * UNPENALISED_TOL if unpenalised else self.tol
            return minimise_risk(risk, start, lasso=lasso, tol=tol, max_iter=self.max_iter, monitor=monitor)
        if is_chunked(risk):
            raise ValueError(
                "LogisticRegression: stop_after counts errors on all rows at once; leave it out for chunks"
            )
        if lasso is not None:
            raise ValueError("LogisticRegression: stop_after descends by gradients, which an L1 penalty lacks at zero")
        return early_stopped_descent(risk, start, patience=self.stop_after, max_iter=self.max_iter, monitor=monitor)

    def log_odds(self, X: UserTable, label: Any, against: Any) -> Vector:  # labels of any kind
        """ln P(label | x) / P(against | x), linear in x; the coding of the classes does not matter."""
        scores = self._scores(self._admit(X))
        return scores[:, self._code(label)] - scores[:, self._code(against)]

    def summary(self, level: float = 0.95) -> Summary:
        """Standard errors, z, p, intervals, likelihood ratio, AIC and BIC of a fit with C=np.inf.

        With three classes or more the coefficients are those against `reference_class`, or else the first class.
        """
        check_is_fitted(self)
        if self.likelihood_ is None:
            raise ValueError(
                f"LogisticRegression.summary: a penalty (C={self.C!r}) biases the coefficients and their standard "
                "errors, or the table was too large for the information; fit with C=np.inf on columns you chose"
            )
        names = coefficient_names(self, self.model_.coef.shape[1], self.fit_intercept)
        K = len(self.classes_)
        if K > 2:
            others = [str(c) for k, c in enumerate(self.classes_) if k != self._reference(default=0)]
            names = tuple(f"{label}: {name}" for label in others for name in names)
        return self.likelihood_.summary("Logistic regression", names, level=level)

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()

    def _strength(self) -> tuple[float, float]:
        """C and the share of L1."""
        ratio = self.l1_ratio
        if self.penalty == "elasticnet" and ratio is None:
            raise ValueError("LogisticRegression: penalty='elasticnet' needs l1_ratio, a number between 0 and 1")
        named = {"l1": 1.0, "l2": 0.0}.get(self.penalty or "")
        if named is not None and ratio and ratio != named:
            _warn_ignored(f"penalty={self.penalty!r} decides, and l1_ratio={ratio} is ignored; leave penalty out")
        if self.penalty is None and self.C not in (1.0, np.inf):
            _warn_ignored(f"penalty=None is no penalty, and C={self.C} is ignored; take C=np.inf instead")
        ratio = (ratio or 0.0) if named is None else named
        return (np.inf, 0.0) if self.penalty is None else (self.C, ratio)

    def _on_intercept(self, strength: float, power: int = 1) -> float:
        return strength / self.intercept_scaling**power if self.solver == "liblinear" else 0.0

    def _risk(self, X: Table, y: Target, w: Weights, ridge: float) -> EmpiricalRisk:
        K = len(self.classes_)
        centred = self.fit_intercept and self.solver != "liblinear"  # a penalised intercept fixes the origin
        design = Design(X, self.fit_intercept, pilot_centre(X) if centred else None)
        risk = EmpiricalRisk(LogLoss(), design, 2.0 * y - 1.0, w)
        if K > 2:
            risk = EmpiricalRisk(SoftmaxLoss(), design, y, w, outputs=K, reference=self._reference())
        return replace(risk, ridge=coefficient_strengths(risk, ridge, self._on_intercept(ridge, 2)))

    def _reference(self, default: int | None = None) -> int | None:
        return default if self.reference_class is None else self._code(self.reference_class)

    def _code(self, label: Any) -> int:  # a label of any kind
        found = np.flatnonzero(self.classes_ == label) if np.ndim(label) == 0 else np.empty(0)
        if not len(found):
            raise ValueError(f"LogisticRegression: {label!r} is not one of the classes {list(self.classes_)!r}")
        return int(found[0])

    def _start(self, risk: EmpiricalRisk) -> Array:
        outputs = risk.outputs - (risk.reference is not None) if risk.outputs else 1
        start: Array = np.zeros((outputs, risk.design.size))
        if self.warm_start and "model_" in vars(self):
            known = self.densify().model_
            if known.coef.shape == (max(risk.outputs, 1), risk.design.X.shape[1]):
                W = centred_coefficients(risk.design, known.coef, known.intercept)
                if not np.isfinite(W).all():
                    raise ValueError(
                        f"{type(self).__name__}: with warm_start=True the fit starts from coef_ and intercept_, which "
                        "hold numbers that are not finite; set them to finite ones, or fit with warm_start=False"
                    )
                start = W if risk.reference is None else np.delete(W - W[risk.reference], risk.reference, axis=0)
        return start.ravel()

    def _likelihood(self, risk: EmpiricalRisk, found: Minimum) -> tuple[Minimum, MaximumLikelihood | None]:
        """The maximum and the information there; warns if the classes can be separated."""
        symmetric = bool(risk.outputs) and risk.reference is None
        if symmetric:  # the first is as good a reference as any
            W = risk.coefficient_matrix(found.x)
            risk, found = replace(risk, reference=0, ridge=0.0), replace(found, x=(W - W[0])[1:].ravel())
        H = fisher_information(risk, found.x)
        direction = separating_direction(risk, found.x, H)
        if direction is not None:
            self._warn_separated(risk, direction)
        likelihood = None
        if H is not None:
            if direction is None and found.reason == "converged":
                found = replace(found, x=newton_refinement(risk, found.x, H))
                H = risk.hessian(found.x)
            found = replace(found, x=shortest_maximum(found.x, H))
            estimate, information = intercept_first(risk, found.x, H)
            count = np.bincount(self._codes(risk), risk.s)
            shares = count / count.sum() if self.fit_intercept else np.full(len(count), 1 / len(count))
            columns = len(found.x) // risk.design.size * risk.design.X.shape[1]
            likelihood = MaximumLikelihood(
                estimate=estimate,
                information=information,
                count=count.sum(),
                log_likelihood=-found.value,
                null=float(xlogy(count, shares).sum()),
                columns=columns,
            )
        if symmetric:
            W = risk.coefficient_matrix(found.x)
            found = replace(found, x=(W - W.mean(axis=0)).ravel())
        return found, likelihood

    def _codes(self, risk: EmpiricalRisk) -> Codes:
        return risk.y if risk.outputs else (risk.y > 0).astype(np.int64)

    def _warn_separated(self, risk: EmpiricalRisk, direction: Array) -> None:
        names = coefficient_names(self, risk.design.X.shape[1], False)
        listed = ", ".join(names[j] for j in separating_columns(risk, direction)) or "the intercept"
        warn(
            f"LogisticRegression: the classes can be separated, along {listed}: without a penalty the likelihood has "
            "no maximum, it grows as these coefficients grow without end, and the fit stopped at finite ones. Set C "
            "to a finite number (1.0 is the default), or leave the columns out",
            SeparationWarning,
        )

    def _warn_unfinished(self, found: Minimum) -> None:
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "pass")
        elif found.reason == "max_iter" and self.max_iter > 0 and self.stop_after is None:
            warn(
                f"LogisticRegression: {found.steps} passes were not enough for tol={self.tol:g}. Scale the columns, or "
                "raise max_iter or tol",
                ConvergenceWarning,
            )
