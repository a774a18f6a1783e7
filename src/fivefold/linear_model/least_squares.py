"""Linear regression by least squares, which is maximum likelihood under Gaussian noise.

    y = w'x + b + e,  e ~ N(0, 1/beta)        w, b minimise sum_i s_i (y_i - w'x_i - b)^2
                                              1/beta = sum_i s_i (y_i - w'x_i - b)^2 / sum_i s_i

The residuals at the solution are orthogonal to every column and to the ones. solvers.least_squares_solver chooses the
route: moments and Cholesky, QR, or QR with corrections held with twice the digits. Dependent columns have many
solutions; the shortest is taken and a `RankWarning` names the columns.

Legendre (1805); Gauss (1809); Lawson & Hanson (1974) for coefficients of one sign.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.places import WIDE, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative
from fivefold.core.numerics.linear_dependence import linear_dependencies
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, Target, UserTable, Weights
from fivefold.linear_model.base import (
    LinearModel,
    SurfaceRegressor,
    cast_learned,
    finite_predictor,
    solve_unchecked,
    weights_or_none,
)
from fivefold.linear_model.diagnostics.gaussian_noise import GaussianNoise
from fivefold.linear_model.diagnostics.summary import Summary, least_squares_summary
from fivefold.linear_model.solvers.least_squares_solver import (
    MAX_MOMENT_COLUMNS,
    LeastSquaresSolution,
    least_squares,
    solve_nonnegative,
)

MAX_COLUMNS_NAMED = 8  # a warning names at most this many columns


class RankWarning(UserWarning):
    """Columns depend on each other: the coefficients are the shortest of many that fit equally well."""


@dataclass(frozen=True)
class LeastSquaresFit:
    """The surface, and the solution it was taken from."""

    linear: LinearModel
    solution: LeastSquaresSolution
    shape: tuple[int, int]
    bound: bool  # whether coefficients were kept from being negative

    @property
    def singular(self) -> Array:
        """Singular values of the centred columns, largest first, as many as the shorter side of the table."""
        values = np.zeros(min(self.shape))
        found = np.linalg.svd(self.solution.root, compute_uv=False)[: len(values)]
        values[: len(found)] = found
        return values.astype(self.linear.coef.dtype)

    @property
    def precision(self) -> Array:
        """beta of each output: one over the mean squared residual."""
        with np.errstate(divide="ignore"):
            beta = self.solution.weight / self.solution.rest
        return beta if self.linear.coef.ndim == 2 else beta[0]


class LinearRegression(SurfaceRegressor):
    """Least squares: the linear surface with the smallest sum of squared residuals.

    Parameters
    ----------
    copy_X, tol, n_jobs
        kept for scikit-learn's signature: X is never overwritten, the rank is decided by rounding, and all cores are
        used.
    positive
        keep every coefficient from being negative.

    Attributes
    ----------
    coef_
        shape (d,), or (n_outputs, d).
    rank_
        how many columns are independent.
    singular_
        singular values of the centred columns.
    noise_precision_
        beta, the most likely precision of Gaussian noise, one per output.
    solver_
        the route taken: "cholesky", "qr", "refined" or "lsqr".

    Examples
    --------
    >>> from fivefold.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0])
    >>> model.coef_, model.intercept_
    (array([0.5]), np.float64(0.666666...))
    >>> model.summary().standard_error
    array([0.62360956, 0.28867513])
    """

    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True
    tol: NonNegative = 1e-6
    n_jobs: int | None = None
    positive: bool = False

    takes = Takes(outputs=True, sparse=True, tensors=True, chunks=True, finite_later=True)
    card = Card(
        applications=("regression",),
        use="A linear surface with standard errors and p-values, more rows than columns. With many or collinear "
        "columns take Ridge; with outliers a robust loss.",
        steps=(
            "Take the centred second moments of columns and targets in one pass.",
            "Factor them by Cholesky and solve for every output, if the estimated condition allows.",
            "Otherwise take the QR decomposition of the scaled columns, and correct a small table from residuals of "
            "twice the digits.",
            "Of dependent columns take the shortest solution and name them.",
        ),
        source="Gauss (1809); Bjorck (1967)",
        see_also=("Ridge", "KernelRidge", "MeanRegressor"),
        variants=({"fit_intercept": False}, {"positive": True}),
        portfolio=True,
    )

    solver_ = learned("solution.route")
    rank_ = learned("solution.rank")
    singular_ = learned("singular")
    noise_precision_ = learned("precision")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        Y = y.reshape(len(y), -1)  # (n, t)
        found = solve_unchecked(self, X, lambda: least_squares(X, Y, weights_or_none(w), self.fit_intercept))
        if self.positive:
            found = self._kept_positive(found)
        elif found.rank < X.shape[1]:
            warn(self._shortfall(found, X.shape), RankWarning)
        coef = cast_learned(found.W.T.reshape(*y.shape[1:], -1), X.dtype)
        height, offset = (part.reshape(y.shape[1:])[()] for part in (found.intercept, found.offset))
        intercept = cast_learned(height, X.dtype)[()] if self.fit_intercept else 0.0
        self.model_ = LeastSquaresFit(
            LinearModel(coef, intercept, found.centre, offset, found.route), found, tuple(X.shape), self.positive
        )

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path({WIDE: X.shape[0] <= X.shape[1]})

    def predict(self, X: UserTable) -> Any:
        """The predicted target of each row."""
        X = self._admit(X)
        return finite_predictor(self, self.model_.linear, X)

    def noise(self) -> GaussianNoise:
        """The surface with its most likely Gaussian noise, for samples of targets, bands and log-likelihoods."""
        check_is_fitted(self)
        return GaussianNoise(self.model_.linear, self.model_.precision)

    def summary(self, level: float = 0.95, output: int = 0) -> Summary:
        """Standard errors, t, p, intervals, R^2, F, AIC and BIC of one output; a weight of two counts as two rows."""
        check_is_fitted(self)
        model = self.model_
        if model.bound:
            raise ValueError(
                "LinearRegression.summary: coefficients kept from being negative have no standard errors of least "
                "squares; fit with positive=False"
            )
        if model.solution.route == "lsqr":
            raise ValueError(
                f"LinearRegression.summary: the sparse table has more than {MAX_MOMENT_COLUMNS} columns and its "
                "moments were not computed; select columns first"
            )
        names = tuple(map(self._name, range(model.shape[1])))
        return least_squares_summary(model.solution, names, centred=self.fit_intercept, level=level, output=output)

    def _kept_positive(self, found: LeastSquaresSolution) -> LeastSquaresSolution:
        """The surface with no coefficient below zero, from the unconstrained minimum."""
        if found.route == "lsqr":
            raise ValueError(
                f"LinearRegression: positive=True takes a sparse table of at most {MAX_MOMENT_COLUMNS} columns; it has "
                f"{len(found.W)}"
            )
        W = solve_nonnegative(found.root, found.root @ found.W)
        rest = found.rest + np.sum((found.root @ (W - found.W)) ** 2, axis=0)
        return replace(found, W=W, intercept=found.offset - found.centre @ W, rest=rest)

    def _shortfall(self, found: LeastSquaresSolution, shape: tuple[int, int]) -> str:
        n, d = shape
        end = "the shortest coefficients that fit were taken; drop columns, or take Ridge"
        if n <= d:
            return f"LinearRegression: {n} rows cannot tell {d} columns apart; {end}"
        pairs = list(linear_dependencies(found.root).items())
        listed = "; ".join(f"{self._name(j)} {self._relation(others)}" for j, others in pairs[:MAX_COLUMNS_NAMED])
        more = f"; and {len(pairs) - MAX_COLUMNS_NAMED} more" if len(pairs) > MAX_COLUMNS_NAMED else ""
        return f"LinearRegression: only {found.rank} of {d} columns are independent ({listed}{more}); {end}"

    def _relation(self, others: tuple[int, ...]) -> str:
        if not others:
            return "is constant"
        more = f" and {len(others) - MAX_COLUMNS_NAMED} more" if len(others) > MAX_COLUMNS_NAMED else ""
        return "depends on " + ", ".join(map(self._name, others[:MAX_COLUMNS_NAMED])) + more

    def _name(self, j: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"x{j}" if names is None else str(names[j])
