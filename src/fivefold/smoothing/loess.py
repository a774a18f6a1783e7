"""Loess: locally weighted lines in windows that hold a share of the rows, robust against outliers.

    a_i(x) = r_i (1 - (|x - x_i| / d_k(x))^3)^3        k = frac n rows, r_i the robustness of row i, one at first
    g(x) = value at x of the line that minimises sum_i a_i(x) (y_i - p(x_i))^2
    r_i = (1 - (e_i / 6 s)^2)^2 or 0                   e_i = y_i - g(x_i), s the median of |e|; repeated `it` times

With `delta`, the rounds fit at rows about delta apart and interpolate between them. Values in one column are those of
statsmodels' and R's lowess.

Cleveland (1979), Robust locally weighted regression; Cleveland & Devlin (1988), which has many columns.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Fraction, Index, NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Matrix, Table, Target, UserWeights, Weights
from fivefold.smoothing.base import FittedSmoother, LocalSmoother
from fivefold.smoothing.local_fits.local_regression import LocalRegression, Shape
from fivefold.smoothing.local_fits.smoothness_selection import Criterion
from fivefold.smoothing.local_fits.window_fit_loops import FREEDOM, MIN_COUNTED, TOTAL, VALUE

REACH_OF_RESIDUALS = 6.0  # medians of absolute residuals from which on a row has no weight
RESIDUAL_ROUNDING = 1e-13  # residuals below this share of the largest target are rounding
SHARES = np.geomspace(0.05, 1.0, 16)  # of the rows that are tried as `frac`
COUNT_ROUNDING = 1e-10  # added to frac n before it is rounded down, as statsmodels does


@dataclass(frozen=True)
class LoessFit:
    """Local lines with the robustness of each row, and the rows between which values are interpolated."""

    local: LocalRegression
    anchors: Doubles  # (a,) places of fits, sorted; none where every query has its own
    heights: Doubles  # (a,) values there, relative to the offset

    @property
    def y(self) -> Doubles:
        return self.local.y

    @property
    def w(self) -> Doubles:
        return self.local.w

    @property
    def order(self) -> Indices:
        return self.local.order

    @property
    def robustness_of_rows(self) -> Doubles:
        """The robustness of each row, in the order of the table."""
        out = np.ones(len(self.y))
        if self.local.robustness is not None:
            out[self.order] = self.local.robustness
        return out

    def row_fits(self, picked: Indices, *, apart: bool) -> tuple[Doubles, Doubles]:
        """Values and leverages at some of the rows, with the robustness that they have."""
        value, leverage = self.local.row_fits(picked, apart=apart)
        return value, leverage * (1.0 if self.local.robustness is None else self.local.robustness[picked])

    def __call__(self, X: Matrix) -> Doubles:
        Z = self.local.white(X)
        if not len(self.anchors):
            return self._values(Z)
        z = Z[:, 0]
        out: Doubles = np.interp(z, self.anchors, self.heights) + self.local.offset
        outside = (z < self.anchors[0]) | (z > self.anchors[-1])
        if outside.any():
            out[outside] = self._values(Z[outside])
        return out

    def values_of_rows(self) -> Doubles:
        """The value at each row of the sorted table."""
        if len(self.anchors):
            spread: Doubles = np.interp(self.local.rows[:, 0], self.anchors, self.heights)
            return spread + self.local.offset
        return _at_rows(self.local, np.arange(len(self.y))) + self.local.offset

    def _values(self, Z: Doubles) -> Doubles:
        """The value at each query; where all rows of a window are outliers, that without robustness."""
        found = self.local.fits(Z)
        out: Doubles = found[:, VALUE] + self.local.offset
        if (lost := np.flatnonzero(found[:, TOTAL] <= MIN_COUNTED)).size:
            out[lost] = replace(self.local, robustness=None).values(Z[lost])
        return out


def robust_rounds(local: LocalRegression, x: Doubles, it: int, delta: float) -> LoessFit:
    """`it` rounds that lower the weights of rows with large residuals; then fits at the anchors, if any.

    x is the first column as given.
    """
    one_column = local.rows.shape[1] == 1
    spots = anchor_rows(x[local.order], delta) if one_column else np.arange(len(local.y))
    nothing = RESIDUAL_ROUNDING * float(np.abs(local.y).max())
    for _ in range(it):
        residuals = np.abs(local.y - _at_rows(local, spots))
        middle = _weighted_median(residuals, local.w)
        if middle > nothing:
            far = np.minimum(residuals / (REACH_OF_RESIDUALS * middle), 1.0)
        else:  # most rows are met exactly: any others are outliers
            far = (residuals > nothing).astype(np.float64)
        local = replace(local, robustness=np.square(1.0 - far * far))
    if not one_column or delta == 0:
        return LoessFit(local, np.empty(0), np.empty(0))
    places = local.rows[spots, 0]
    return LoessFit(local, places, _at_rows(local, spots)[spots])


def _at_rows(local: LocalRegression, spots: Indices) -> Doubles:
    """Values at all rows, relative to the offset: fitted at some, and interpolated between them.

    A row whose window holds fewer than two rows that count keeps its own target, as in statsmodels.
    """
    found = local.fits(local.rows[spots])
    counted = found[:, FREEDOM] if local.rows.shape[1] == 1 else np.where(found[:, TOTAL] > MIN_COUNTED, 2.0, 0.0)
    heights = np.where(counted < 2, local.y[spots], found[:, VALUE])
    if len(spots) == len(local.y):
        return heights
    x = local.rows[:, 0]
    out: Doubles = np.interp(x, x[spots], heights)
    return out


def anchor_rows(x: Doubles, delta: float) -> Indices:
    """The rows of sorted x that are fitted, as statsmodels walks along them: the last within delta, or the next."""
    if delta == 0:
        return np.flatnonzero(np.diff(x, prepend=-np.inf))
    n, found, i = len(x), [], 0
    while i < n:
        found.append(i)
        last = int(np.searchsorted(x, x[i], side="right")) - 1  # ties have the same value
        beyond = min(int(np.searchsorted(x, x[i] + delta, side="right")), n - 1)
        i = max(beyond - 1, last + 1)
    return np.array(found, dtype=np.int64)


def _weighted_median(values: Doubles, w: Doubles) -> float:
    """The median of values that are there w times each; halfway between two middles."""
    if (w == w[0]).all():
        return float(np.median(values))
    order = np.argsort(values)
    below = np.cumsum(w[order])
    half = below[-1] / 2
    at = int(np.searchsorted(below, half))
    after = min(at + 1, len(order) - 1) if below[at] == half else at
    return float(values[order[at]] + values[order[after]]) / 2


class Loess(LocalSmoother):
    """Regression by robust, locally weighted lines, or planes.

    Parameters
    ----------
    frac
        share of the rows in a window, or the criterion by which it is chosen (without robustness).
    it
        rounds in which rows with large residuals lose weight.
    delta
        in one column: rows closer than this are interpolated between fits, not fitted; a hundredth of the range makes
        many rows fast.

    Attributes
    ----------
    robustness_
        what is left of the weight of each row of the fit, between 0 for an outlier and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import Loess
    >>> X = np.linspace(0, 9, 10)[:, None]
    >>> y = 2 * X[:, 0] + 1
    >>> y[5] = 100.0
    >>> Loess().fit(X, y).predict([[5.0], [9.0]]).round(6)
    array([11., 19.])
    """

    frac: Fraction | Criterion = 2 / 3
    it: Index = 3
    delta: NonNegative = 0.0
    _: KW_ONLY
    covariance_type: Shape = "diag"

    _tuned: ClassVar[tuple[str, ...]] = ("frac",)
    card = Card(
        applications=("regression", "visualization"),
        use="A curve through a scatter of points, outliers among them, with one setting that hardly needs a choice. "
        "Time grows with the square of the rows; `delta` helps.",
        steps=(
            "Fit a line to the nearest share of the rows around each row, weighted by the tricube of their distance.",
            "Lower the weights of rows with large residuals, and fit again, a few times.",
            "Return the value at the query of the line around it.",
        ),
        source="Cleveland (1979); Cleveland & Devlin (1988)",
        see_also=("LocalPolynomial", "RunningLine", "SmoothingSpline"),
        variants=({"frac": "loo", "it": 0}, {"frac": 0.5, "it": 1, "delta": 0.1}),
        growth=2.0,
    )

    robustness_ = learned("smoother.robustness_of_rows")

    def _form(self) -> dict[str, Any]:
        return {"kernel": "tricube", "degree": 1}

    def _candidates(self, prepared: LocalRegression, name: str) -> list[float]:
        return [float(share) for share in SHARES]

    def _with(self, prepared: LocalRegression, settings: dict[str, Any]) -> LocalRegression:
        total = prepared.total
        count = int(settings["frac"] * total + COUNT_ROUNDING)
        return replace(prepared, neighbors=float(min(max(count, 2), total)))

    def _fit(self, X: Table, y: Target, w: Weights, given_weight: UserWeights = None) -> None:
        super()._fit(X, y, w, given_weight)
        found: FittedSmoother = self.model_
        x = np.asarray(X[:, 0], dtype=np.float64)
        self.model_ = replace(found, smoother=robust_rounds(found.smoother, x, self.it, float(self.delta)))

    def fitted_values(self) -> Doubles:
        """The value at each row of the fit, in its order."""
        fit = self.model_.smoother
        out = np.empty(len(fit.y))
        out[fit.order] = fit.values_of_rows()
        return out


def lowess(
    endog: ArrayLike,
    exog: ArrayLike,
    frac: float = 2 / 3,
    it: int = 3,
    delta: float = 0.0,
    xvals: ArrayLike | None = None,
    is_sorted: bool = False,
    missing: Literal["none", "drop", "raise"] = "drop",
    return_sorted: bool = True,
) -> Doubles:
    """statsmodels' function of that name: targets `endog` smoothed along `exog`.

    Returns the sorted exog and its values (n, 2); with `return_sorted=False` or `xvals` the values alone, in the order
    given. Rows with NaN or infinity are dropped, and have NaN as value. `is_sorted` changes nothing.

    Examples
    --------
    >>> lowess([1.0, 3.0, 5.0, 7.0], [0.0, 1.0, 2.0, 3.0])[:, 1].round(6)
    array([1., 3., 5., 7.])
    """
    y, x = np.asarray(endog, dtype=np.float64), np.asarray(exog, dtype=np.float64)
    if y.ndim != 1 or x.ndim != 1 or len(x) != len(y):
        raise ValueError(f"lowess: endog and exog must be vectors of one length; got shapes {y.shape} and {x.shape}")
    if xvals is not None and delta != 0:
        raise ValueError("lowess: xvals takes no delta: leave one of them out")
    kept = np.isfinite(x) & np.isfinite(y)
    if missing == "raise" and not kept.all():
        raise ValueError(f"lowess: NaN or infinity in row {int(np.argmin(kept))}")
    queries = x if xvals is None else np.asarray(xvals, dtype=np.float64)
    known = np.isfinite(queries) if xvals is not None else kept
    model = Loess(frac, it, delta).fit(x[kept, None], y[kept])
    if return_sorted and xvals is None:
        return np.column_stack([np.sort(x[kept]), model.model_.smoother.values_of_rows()])  # rows of the fit are sorted
    out = np.full(len(queries), np.nan)
    out[known] = model.fitted_values() if xvals is None else model.predict(queries[known, None])
    return out
