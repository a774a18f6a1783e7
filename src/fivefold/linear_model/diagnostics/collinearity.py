"""Near-singularity of a table: which columns are almost combinations of others, and what ridge would do about it.

With singular values s_k of the centred columns, l_k = s_k^2 are the eigenvalues of Z'Z and its condition is l_1 / l_d.
Ridge replaces them by l_k + alpha, the condition by (l_1 + alpha) / (l_d + alpha).

Units do not matter to collinearity, so columns are scaled to unit length for the rest: Z D = U diag(r) V'. The variance
of coefficient j is proportional to sum_k v_jk^2 / r_k^2, its variance inflation; the share of dimension k in it is the
variance-decomposition proportion. A dimension of high condition index r_1 / r_k in which two or more columns have more
than half of their variance is a near dependency between them.

Belsley, Kuh & Welsch (1980).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from fivefold.core.types import Array, Table, Target, UserWeights, Vector
from fivefold.linear_model.solvers.least_squares_solver import EPS, qr_root

HIGH_CONDITION_INDEX = 30.0  # a dimension with a larger condition index counts as nearly dependent
HIGH_PROPORTION = 0.5  # share of the variance of a coefficient above which its column belongs to a dimension


@dataclass(frozen=True)
class CollinearityReport:
    """Singular values, condition, near dependencies, and the ridge penalty that would cure them."""

    names: tuple[str, ...]  # (d,)
    singular: Array  # (d,) of the centred columns, largest first
    scaled: Array  # (d,) the same of the columns scaled to unit length
    proportions: Array  # (d, d) shares of each dimension in the variance of each coefficient
    inflation: Array  # (d,) of the variance of each coefficient, relative to orthogonal columns
    weight: float  # rows, each counted by its weight
    high: float  # condition index above which a dimension counts as nearly dependent

    @property
    def eigenvalues(self) -> Array:
        """l, the eigenvalues of Z'Z, of the centred columns."""
        return self.singular**2

    @property
    def condition(self) -> float:
        """Largest over smallest singular value."""
        return float(self.singular[0] / self.singular[-1]) if self.singular[-1] > 0 else np.inf

    @property
    def index(self) -> Vector:
        """Condition indices of the columns scaled to unit length."""
        with np.errstate(divide="ignore"):
            return self.scaled[0] / self.scaled

    @property
    def tiny(self) -> int:
        """How many dimensions are nearly dependent, whatever the units."""
        return int(np.sum(self.index > self.high))

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """For each nearly dependent dimension, the worst first, the columns in it."""
        return tuple(self._columns(k) for k in range(len(self.index) - 1, len(self.index) - 1 - self.tiny, -1))

    def _columns(self, k: int) -> tuple[str, ...]:
        share = self.proportions[k]
        those = np.flatnonzero(share > HIGH_PROPORTION)
        if len(those) < 2:  # several dependencies may share the variance
            those = np.sort(np.argsort(-share, kind="stable")[:2])
        return tuple(self.names[j] for j in those)

    def with_ridge(self, alpha: float, *, standardised: bool = False) -> tuple[Array, float]:
        """The eigenvalues l + alpha, of columns as they are or of unit variance, and largest over smallest."""
        values = self._squares(standardised) + alpha
        return values, float(values[0] / values[-1]) if values[-1] > 0 else np.inf

    def alpha_for(self, condition: float, *, standardised: bool = False) -> float:
        """The least alpha with (l_1 + alpha) / (l_d + alpha) <= condition."""
        values = self._squares(standardised)
        return max(0.0, float((values[0] - condition * values[-1]) / (condition - 1)))

    def _squares(self, standardised: bool) -> Array:
        return self.weight * self.scaled**2 if standardised else self.eigenvalues

    def __str__(self) -> str:
        lines = [
            f"{len(self.names)} columns, condition number {self.condition:.4g} "
            f"({self.index[-1]:.4g} with columns of unit length)",
            f"nearly dependent dimensions: {self.tiny}",
        ]
        for k, group in enumerate(self.groups):
            lines.append(f"  condition index {self.index[len(self.index) - 1 - k]:.4g}: {', '.join(group)}")
        worst = int(np.argmax(self.inflation))
        lines.append(f"largest variance inflation: {self.inflation[worst]:.4g} ({self.names[worst]})")
        if self.tiny:
            alpha = self.alpha_for(self.high**2, standardised=True)
            lines.append(
                "Drop a column of each group, or scale the columns to unit variance and take Ridge: "
                f"alpha = {alpha:.4g} brings the condition of the normal equations from {self.index[-1] ** 2:.4g} to "
                f"{self.with_ridge(alpha, standardised=True)[1]:.4g}"
            )
        return "\n".join(lines)


def diagnose(
    X: Table, sample_weight: UserWeights = None, *, centred: bool = True, high: float = HIGH_CONDITION_INDEX
) -> CollinearityReport:
    """Near-singularity of the columns of X, about their means if `centred`."""
    names = _names(X)
    X = check_array(X, dtype=np.float64)
    w = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    root = qr_root(X, w, centred)[0]
    size = np.linalg.norm(root, axis=0)
    _, scaled, axes = np.linalg.svd(root / np.where(size > 0, size, 1.0))
    scaled, singular = (np.pad(s, (0, len(size) - len(s))) for s in (scaled, np.linalg.svd(root, compute_uv=False)))
    floor = 10 * EPS * scaled[0]  # a constant column, or an exact combination: zero except for rounding
    parts = axes**2 / np.maximum(scaled, floor)[:, None] ** 2  # (d, d)
    scaled = np.where(scaled > floor, scaled, 0.0)
    inflation = parts.sum(axis=0)
    names = names or tuple(f"x{j}" for j in range(X.shape[1]))
    weight = float(len(X) if w is None else w.sum())
    return CollinearityReport(
        names=names,
        singular=singular,
        scaled=scaled,
        proportions=parts / inflation,
        inflation=inflation,
        weight=weight,
        high=high,
    )


def _names(X: Table) -> tuple[str, ...]:
    return tuple(nw.from_native(X).columns) if nw.dependencies.is_into_dataframe(X) else ()


@dataclass(frozen=True)
class OutlierSensitivity:
    """Coefficients of several fits as one target is moved."""

    amounts: Array  # (m,) added to the target
    coefficients: Mapping[str, Array]  # name of a fit -> (m, d)


def outlier_sensitivity(fits: Mapping[str, Any], X: Table, y: Target, row: int, amounts: Vector) -> OutlierSensitivity:
    """Refit each estimator of `fits` with growing amounts added to the target of one row.

    The coefficients of least squares move in proportion to the amount; under a loss that grows slower than squares they
    come to a stop.
    """
    amounts, y = np.asarray(amounts, dtype=np.float64), np.asarray(y, dtype=np.float64)
    moved = [np.where(np.arange(len(y)) == row, y + amount, y) for amount in amounts]
    found = {name: np.stack([clone(fit).fit(X, t).coef_ for t in moved]) for name, fit in fits.items()}
    return OutlierSensitivity(amounts, found)
