"""Standard errors of the coefficients of a likelihood, and likelihoods without a maximum.

    covariance = (sum_i s_i l''(eta_i) z_i z_i')^-1          the inverse of the information at the maximum

    2 (ln L - ln L_0) ~ chi^2 with as many degrees of freedom as columns, L_0 with the intercept alone

A direction along which no row becomes less likely, and some become more likely, is one of recession: the likelihood has
no maximum and the coefficients grow without end. For classes it is a separating direction (Albert & Anderson, 1984).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import chdtrc
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.estimators.base import Estimator
from fivefold.core.types import Array
from fivefold.linear_model.diagnostics.summary import Summary
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.risk_minimisation.preconditioners import inverse_root

UNPENALISED_TOL = 1e-3  # an unpenalised fit uses this times tol: standard errors need more digits than predictions
SEPARATED_LOSS = 1e-7  # mean loss per row: an unpenalised fit below it means the classes are separable
FREE_EIGENVALUE = 1e-12  # share of the information's largest eigenvalue (unit columns) below which a direction is free
MAX_INFORMATION_COST = 1e10  # rows times squared coefficients: the information matrix is not computed beyond this
STEEP_PREDICTOR = 15.0  # a predictor beyond this is a probability of 1 to six digits
BOUNDARY_MARGIN = 1e-7  # share of the largest margin: a row nearer to the boundary counts as on it
MAX_COLUMNS_NAMED = 3  # a warning names at most this many columns


class SeparationWarning(ConvergenceWarning):
    """The classes can be separated without error: the likelihood has no maximum at finite coefficients."""


@dataclass(frozen=True)
class MaximumLikelihood:
    """The maximum of a likelihood: estimates, intercept first, their information, and the log-likelihood."""

    estimate: Array  # (p,)
    information: Array  # (p, p)
    count: float  # total weight
    log_likelihood: float
    null: float  # log-likelihood of the intercept alone
    columns: int  # number of coefficients, intercepts not counted
    dispersion: float = 1.0  # the variance is this many times the family's variance function

    def summary(self, title: str, names: tuple[str, ...], *, level: float, facts: Mapping[str, float] = {}) -> Summary:
        """The table."""
        covariance, free = self.covariance()
        ratio = 2 * (self.log_likelihood - self.null)
        notes: tuple[str, ...] = () if free == len(names) else (
            f"Only {free} of {len(names)} coefficients are determined: columns depend on each other.",
        )  # fmt: skip
        if np.isnan(self.log_likelihood):
            notes += ("The density of this family is not known: there is no log-likelihood, nor what follows from it.",)
        figures = {
            "log-likelihood, null": self.null,
            "pseudo R^2": 1 - self.log_likelihood / self.null if self.null else np.nan,
            "likelihood ratio": ratio,
            "p of the ratio": float(chdtrc(self.columns, max(ratio, 0.0))) if self.columns else np.nan,
            **facts,
        }
        return Summary(
            title=title,
            names=names,
            estimate=self.estimate,
            covariance=covariance,
            count=self.count,
            log_likelihood=self.log_likelihood,
            facts=figures,
            notes=notes,
            level=level,
            free=free,
        )

    def covariance(self) -> tuple[Array, int]:
        """The inverse of the information, and how many directions it determines."""
        curvatures = self.information.diagonal()
        scale = 1 / np.sqrt(np.where(curvatures > 0, curvatures, 1.0))
        values, V = eigh(self.information * scale * scale[:, None])
        kept = values > FREE_EIGENVALUE * values[-1]
        root = scale[:, None] * V[:, kept] / np.sqrt(values[kept])
        return self.dispersion * root @ root.T, int(kept.sum())


def intercept_first(risk: EmpiricalRisk, x: Array, H: Array) -> tuple[Array, Array]:
    """Estimates and information of (b, w), for each output, from (w, b) about the centre of the design."""
    m, design = risk.design.size, risk.design
    d = design.X.shape[1]
    A = np.zeros((m, m))  # maps (b, w) to (w, height at the centre), which is b + w centre
    if design.intercept:
        A[:d, 1:], A[d, 0] = np.eye(d), 1.0
        A[d, 1:] = 0.0 if design.centre is None else design.centre
    else:
        A[:] = np.eye(m)
    outputs = len(x) // m
    whole = np.kron(np.eye(outputs), A)
    W = x.reshape(outputs, m).copy()
    if design.intercept and design.centre is not None:
        W[:, d] -= W[:, :d] @ design.centre
    return np.roll(W, int(design.intercept), axis=1).ravel(), whole.T @ H @ whole


def shortest_maximum(x: Array, H: Array) -> Array:
    """Of all maxima with the same predictions as x the shortest, coefficients measured by their curvature."""
    curvatures = H.diagonal()
    scale = 1 / np.sqrt(np.where(curvatures > 0, curvatures, 1.0))
    values, V = eigh(H * scale * scale[:, None])
    N = V[:, values <= FREE_EIGENVALUE * max(values[-1], 0.0)]
    return x - scale * (N @ (N.T @ (x / scale))) if N.size else x


def newton_refinement(risk: EmpiricalRisk, x: Array, H: Array) -> Array:
    """One step of Newton's method, for digits that differences of the value are too small to show."""
    T, g = inverse_root(H), risk.gradient(x)
    moved: Array = x - T @ (g @ T)
    return moved if np.abs(risk.gradient(moved)).max() < np.abs(g).max() else x


def separating_direction(risk: EmpiricalRisk, x: Array, H: Array | None) -> Array | None:
    """A direction in which every row is at least as well classified and some are better; None if none is found."""
    eta = risk.design.predictor(risk.coefficient_matrix(x))
    if not np.abs(eta).max(initial=0.0) > STEEP_PREDICTOR:
        return None
    candidates = [x]
    if H is not None:
        T = inverse_root(H)
        candidates += [-(T @ (risk.gradient(x) @ T)), *_flattest(H)]
    return next((v for v in candidates if _separates(risk, v)), None)


def _flattest(H: Array) -> tuple[Array, Array]:
    """The direction of least curvature, columns of unit size, and its opposite."""
    curvatures = H.diagonal()
    scale = 1 / np.sqrt(np.where(curvatures > 0, curvatures, 1.0))
    v = scale * eigh(H * scale * scale[:, None], subset_by_index=[0, 0])[1][:, 0]
    return v, -v


def _separates(risk: EmpiricalRisk, v: Array) -> bool:
    eta = risk.design.predictor(risk.coefficient_matrix(v))
    if not risk.outputs:
        margin = risk.y * eta
    else:
        own = eta[risk.y, np.arange(len(risk.y))].copy()
        eta[risk.y, np.arange(len(risk.y))] = -np.inf
        margin = own - eta.max(axis=0)
    top = float(margin.max(initial=0.0))
    return top > 1e-6 * float(np.abs(v).max()) and bool(margin.min() >= -BOUNDARY_MARGIN * top)


def separating_columns(risk: EmpiricalRisk, v: Array) -> list[int]:
    """The columns a direction uses most, each weighted by its spread."""
    d = risk.design.X.shape[1]
    W = np.atleast_2d(risk.coefficient_matrix(v))[:, :d]
    w = np.abs(W - W.mean(axis=0)).max(axis=0) if len(W) > 1 else np.abs(W[0])
    size = w * np.sqrt(np.maximum(risk.design.gram_diagonal(risk.s)[:d], 0.0))
    order = np.argsort(-size, kind="stable")[:MAX_COLUMNS_NAMED]
    return [int(j) for j in order if size[j] > 0.05 * size[order[0]]]


def fisher_information(risk: EmpiricalRisk, x: Array) -> Array | None:
    """The Hessian at x, unless it costs too much."""
    return risk.hessian(x) if risk.n_terms * float(len(x)) ** 2 <= MAX_INFORMATION_COST else None


def coefficient_names(estimator: Estimator, d: int, intercept: bool) -> tuple[str, ...]:
    """Names of the coefficients, intercept first."""
    columns = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(d)])
    return (*(("intercept",) if intercept else ()), *map(str, columns))
