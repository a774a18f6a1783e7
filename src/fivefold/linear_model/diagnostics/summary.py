"""Coefficients with their uncertainty: the table that statisticians expect of a fitted model.

    standard error_j = sqrt(C_jj)      statistic_j = estimate_j / standard error_j

C is the covariance of the estimates. The statistic is Student's t with `dof` degrees of freedom where the spread of the
noise was estimated, as in least squares, and a standard Gaussian z where dof is None, as for maximum likelihood.
AIC = 2 p - 2 ln L and BIC = p ln n - 2 ln L, with p free coefficients and n rows, each counted by its weight.

    Summary(title, names, estimate, covariance, count, log_likelihood, *, dof=None, facts={}, notes=(), level=0.95,
            free=None)

builds it for any model: `names` (p,) with the intercept first, `estimate` (p,), `covariance` (p, p), `count` the total
weight, `facts` further numbers of the method, shown above the table in their order. str(summary) is the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from scipy.special import fdtrc, ndtr, ndtri, stdtr, stdtrit

from fivefold.core.types import Array, Vector
from fivefold.linear_model.solvers.least_squares_solver import LeastSquaresSolution, inverse_gram

TABLE_COLUMNS = ("estimate", "std. error", "{}", "p", "{:g}% from", "to")
NEAR_SINGULAR = 1e8  # condition number beyond which half the digits of a coefficient are rounding


@dataclass(frozen=True)
class Summary:
    """Estimates, their covariance, and how well the model fits."""

    title: str
    names: tuple[str, ...]  # (p,) the intercept first
    estimate: Array  # (p,)
    covariance: Array  # (p, p)
    count: float  # rows, each counted by its weight
    log_likelihood: float
    _: KW_ONLY
    dof: float | None = None  # of Student's t; None: the statistics are standard Gaussian
    facts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    level: float = 0.95
    free: int | None = None  # number of free coefficients, if fewer than p

    @property
    def standard_error(self) -> Array:
        """The spread of each estimate."""
        return np.sqrt(self.covariance.diagonal())

    @property
    def statistic(self) -> Array:
        """t or z: estimates over their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.estimate / self.standard_error

    @property
    def p_value(self) -> Vector:
        """The probability of a statistic at least as far from zero if the coefficient were zero."""
        size = -np.abs(self.statistic)
        return 2 * np.asarray(ndtr(size) if self.dof is None else stdtr(self.dof, size))

    @property
    def interval(self) -> Array:
        """(p, 2): where the coefficient lies, with confidence `level`."""
        tail = (1 + self.level) / 2
        reach = self.standard_error * (ndtri(tail) if self.dof is None else stdtrit(self.dof, tail))
        return np.stack([self.estimate - reach, self.estimate + reach], axis=1)

    @property
    def aic(self) -> float:
        """Akaike's criterion: the smaller the better."""
        return 2 * self._free - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion: the smaller the better."""
        return float(np.log(self.count)) * self._free - 2 * self.log_likelihood

    @property
    def _free(self) -> int:
        return len(self.estimate) if self.free is None else self.free

    def to_dict(self) -> dict[str, Any]:
        """One entry per column of the table, names first: ready for any data frame."""
        low, high = self.interval.T
        kind = "z" if self.dof is None else "t"
        values = (self.estimate, self.standard_error, self.statistic, self.p_value, low, high)
        heads = (head.format(kind if head == "{}" else 100 * self.level) for head in TABLE_COLUMNS)
        return {"name": list(self.names), **dict(zip(heads, values, strict=True))}

    def __str__(self) -> str:
        head, *columns = self.to_dict().items()
        width = max(len(name) for name in (*head[1], ""))
        lines = [self.title, *_pairs(self._figures()), ""]
        lines.append(" ".join([" " * width, *(f"{name:>12}" for name, _ in columns)]))
        for j, name in enumerate(self.names):
            cells = (_p(values[j]) if title == "p" else f"{values[j]:.6g}" for title, values in columns)
            lines.append(" ".join([f"{name:<{width}}", *(f"{cell:>12}" for cell in cells)]))
        return "\n".join([*lines, *(("", *self.notes) if self.notes else ())])

    def _figures(self) -> dict[str, float]:
        dof = {} if self.dof is None else {"degrees of freedom": self.dof}
        ends = {"log-likelihood": self.log_likelihood, "AIC": self.aic, "BIC": self.bic}
        return {"rows": self.count, **dof, **self.facts, **ends}


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _pairs(figures: Mapping[str, float]) -> list[str]:
    """Two figures per line."""
    cells = [f"{name:<22}{value:>14.6g}" for name, value in figures.items()]
    return ["    ".join(cells[i : i + 2]) for i in range(0, len(cells), 2)]


def least_squares_summary(
    fit: LeastSquaresSolution, names: tuple[str, ...], *, centred: bool, level: float, output: int
) -> Summary:
    """Least squares under Gaussian noise: t, F, R^2, and the condition of the columns with the constant one.

    Where columns depend on each other the coefficients are the shortest ones and their covariance that of the
    pseudo-inverse; degrees of freedom count the rank.
    """
    n, residual, total = fit.weight, float(fit.rest[output]), float(fit.spread[output])  # sums of squares
    dof = n - fit.rank - centred
    if not dof > 0:
        raise ValueError(
            f"summary: {n:g} rows leave no degree of freedom for {fit.rank + centred} coefficients; "
            "the spread of the noise cannot be estimated. Fit fewer columns or more rows"
        )
    noise = residual / dof
    C = noise * inverse_gram(fit)
    if centred:
        cross = C @ fit.centre
        C = np.block([[noise / n + fit.centre @ cross, -cross[None]], [-cross[:, None], C]])
    estimate = np.append(fit.intercept[output], fit.W[:, output]) if centred else fit.W[:, output]
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = float(1 - np.float64(residual) / total)
        F = float(np.float64(total - residual) / fit.rank / noise) if fit.rank else np.nan
        log_likelihood = float(-n / 2 * (np.log(2 * np.pi * np.float64(residual) / n) + 1))
    condition = _condition(fit, centred)
    facts = {
        "R^2": r2,
        "adjusted R^2": 1 - (1 - r2) * (n - centred) / dof,
        "F": F,
        "p of F": float(fdtrc(fit.rank, dof, F)) if fit.rank else np.nan,
        "noise spread": float(np.sqrt(noise)),
        "ML noise precision": n / residual if residual > 0 else np.inf,
        "condition number": condition,
    }
    notes = ["The target is constant: R^2 and F are not defined."] if total == 0 else []
    if fit.rank < fit.W.shape[0]:
        notes.append(f"Only {fit.rank} of {len(fit.W)} columns are independent: the shortest coefficients are shown.")
    elif condition > NEAR_SINGULAR:
        notes.append(
            f"The condition number is {condition:.3g}: columns are nearly dependent or of very different scales; "
            "see fivefold.linear_model.diagnose."
        )
    return Summary(
        title="Least squares",
        names=("intercept", *names) if centred else names,
        estimate=estimate,
        covariance=C,
        count=n,
        log_likelihood=log_likelihood,
        dof=dof,
        facts=facts,
        notes=tuple(notes),
        level=level,
        free=fit.rank + int(centred),
    )


def _condition(fit: LeastSquaresSolution, centred: bool) -> float:
    """Largest over smallest singular value of (1, X), or of X without an intercept."""
    A = fit.root
    if centred:
        top = np.sqrt(fit.weight) * np.append(1.0, fit.centre)
        A = np.vstack([top, np.column_stack([np.zeros(len(A)), A])])
    values = np.linalg.svd(A, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0 else np.inf
