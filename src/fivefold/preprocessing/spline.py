"""B-spline features: piecewise polynomials that join smoothly at knots.

    B_{i,0}(x) = 1 between knots i and i + 1
    B_{i,k}(x) = (x - t_i) / (t_{i+k} - t_i) B_{i,k-1}(x) + (t_{i+k+1} - x) / (t_{i+k+1} - t_{i+1}) B_{i+1,k-1}(x)

Of n_knots + degree - 1 splines per column only degree + 1 are not zero at a point, so only these are computed. Beyond
the outer knots the splines are constant, continue as lines or polynomials, repeat, or raise an error.

De Boor (1978); Eilers & Marx (1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy.interpolate import BSpline
from scipy.sparse import csr_array

from fivefold.core.admission.sparse import configured_csr
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Index, Range
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.parallel import map_parts
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Labels, Matrix, Sparse, Table, UserTable, Weights
from fivefold.preprocessing.feature_names import input_names
from fivefold.preprocessing.spline_loops import scatter_windows, spline_windows

KnotCount = Annotated[int, Range(2)]


@dataclass(frozen=True)
class SplineKnots:
    """Knots of each column, those beyond the ends included."""

    knots: Matrix  # (d, knots)
    degree: int
    n_splines: int  # per column
    n_out: int  # columns returned
    periodic: bool

    def check_arrays(self, columns: int) -> None:
        """Check the numbers of a model file that loops over knots and splines rely on."""
        d, per_column = columns, self.n_splines + (1 + self.periodic) * self.degree + 1
        if self.degree < 0 or self.n_splines < 1 or np.shape(self.knots) != (d, per_column):
            raise ValueError(
                f"knots of shape {np.shape(self.knots)} do not fit {d} columns of {self.n_splines} splines"
            )
        if self.n_out not in (d * self.n_splines, d * (self.n_splines - 1)):
            raise ValueError(f"{d} columns of {self.n_splines} splines do not make {self.n_out}")


class _MissingIfHandled:
    """Missing values are accepted if `handle_missing` is "zeros"."""

    def __get__(self, estimator: SplineTransformer | None, owner: type) -> Takes:
        return Takes(missing=estimator is not None and estimator.handle_missing == "zeros")


class SplineTransformer(FloatTransformerMixin, Unsupervised):
    """B-splines of each column: smooth curves for a linear model.

    Parameters
    ----------
    n_knots
        number of knots, unless `knots` is an array.
    degree
        degree of the polynomials between knots.
    knots
        "uniform" between the least and the largest value, "quantile", or an array (n_knots, columns).
    extrapolation
        beyond the outer knots: "constant", "linear", "continue", "periodic", or "error".
    include_bias
        whether the last spline of each column is kept; with it the splines of a column sum to one.
    order
        memory order of a dense result.
    handle_missing
        "error", or "zeros": all splines of a missing value are zero.
    sparse_output
        whether a sparse matrix is returned.

    Attributes
    ----------
    bsplines_
        the splines of each column.
    n_features_out_
        number of columns returned.

    Examples
    --------
    >>> from fivefold.preprocessing import SplineTransformer
    >>> SplineTransformer(n_knots=3, degree=1).fit_transform([[0.0], [1.0], [4.0]])
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    n_knots: KnotCount = 5
    degree: Index = 3
    _: KW_ONLY
    knots: Literal["uniform", "quantile"] | np.ndarray | list[Any] | tuple[Any, ...] = "uniform"
    extrapolation: Literal["error", "constant", "linear", "continue", "periodic"] = "constant"
    include_bias: bool = True
    order: Literal["C", "F"] = "C"
    handle_missing: Literal["error", "zeros"] = "error"
    sparse_output: bool = False

    takes = _MissingIfHandled()
    card = Card(
        applications=("data mining",),
        use="A smooth curve in each column for a linear model, without the swings of high powers. Interactions need "
        "PolynomialFeatures after it.",
        steps=(
            "Place the knots along each column.",
            "At a point find its interval and the splines that are not zero there.",
            "Beyond the outer knots extrapolate as asked.",
        ),
        source="De Boor (1978); Eilers & Marx (1996)",
        see_also=("PolynomialFeatures", "BasisExpansion"),
        variants=(
            {"knots": "quantile", "extrapolation": "linear", "include_bias": False},
            {"extrapolation": "periodic", "degree": 2},
        ),
    )

    n_features_out_ = learned("n_out")

    @property
    def bsplines_(self) -> list[BSpline]:
        """The splines of each column."""
        model = self.model_
        coef = np.eye(model.n_splines)
        if model.periodic:
            coef = np.concatenate([coef, coef[: model.degree]])
        extrapolate = self.extrapolation in ("periodic", "continue")
        return [BSpline.construct_fast(t, coef, model.degree, extrapolate=extrapolate) for t in model.knots]

    def _fit(self, X: Table, w: Weights) -> None:
        base, degree, d = self._base_knots(X.astype(np.float64), w), self.degree, X.shape[1]  # (knots, d)
        periodic = self.extrapolation == "periodic"
        if periodic and degree >= len(base):
            raise ValueError(
                "SplineTransformer: Periodic splines require degree < n_knots. Got n_knots="
                f"{len(base)} and degree={degree}."
            )
        n_splines = len(base) - 1 + (0 if periodic else degree)
        knots = np.array([_extended(t, degree, periodic) for t in base.T])
        self.model_ = SplineKnots(knots, degree, n_splines, d * (n_splines - (not self.include_bias)), periodic)

    def _base_knots(self, X: Array, w: Array) -> Array:
        if isinstance(self.knots, str):
            at = np.linspace(0, 1, self.n_knots)
            return KNOT_RULES[self.knots](X, w, at)
        base = np.asarray(self.knots, dtype=np.float64)
        if base.ndim != 2 or base.shape[0] < 2:
            raise ValueError("SplineTransformer: Number of knots, knots.shape[0], must be >= 2.")
        if base.shape[1] != X.shape[1]:
            raise ValueError("SplineTransformer: knots.shape[1] == n_features is violated.")
        if not np.all(np.diff(base, axis=0) > 0):
            raise ValueError("SplineTransformer: knots must be sorted without duplicates.")
        return base

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Names such as "x0_sp_2"."""
        names, count = input_names(self, input_features), self.model_.n_splines - (not self.include_bias)
        return np.array([f"{name}_sp_{k}" for name in names for k in range(count)], dtype=object)

    def transform(self, X: UserTable) -> Table:
        """The splines of each column."""
        X, model = self._admit(X), self.model_
        d, count = X.shape[1], model.n_splines - (not self.include_bias)
        if self.sparse_output:
            return self._sparse(X, count)
        out = np.empty((len(X), d * count), dtype=X.dtype, order=self.order)

        def part(lo: int, hi: int) -> None:
            block = np.empty((hi - lo, d * count), dtype=X.dtype) if self.order == "F" else out[lo:hi]
            for j in range(d):
                first, values = self._windows(X[lo:hi, j], j)
                scatter_windows(first, values, j * count, count, model.n_splines, block)
            if self.order == "F":
                out[lo:hi] = block

        map_parts(part, len(X))
        return out

    def _windows(self, column: Array, j: int) -> tuple[Indices, Array]:
        """Per row, the index of the first spline that is not zero, and the values of those that are not."""
        t, degree = self.model_.knots[j], self.model_.degree
        x = column.astype(np.float64)
        low, high = t[degree], t[-degree - 1]
        missing = np.isnan(x)
        if missing.any():
            x[missing] = low
        below, above = x < low, x > high
        if self.extrapolation == "error" and (below.any() or above.any()):
            raise ValueError(
                f"SplineTransformer: `X` contains values beyond the limits of the knots: column {j} holds "
                f"{x[below | above][0]:g}, the knots go from {low:g} to {high:g}. Clip it, or choose another "
                "extrapolation"
            )
        at = low + (x - low) % (high - low) if self.model_.periodic and high > low else x
        if self.extrapolation in ("constant", "linear"):
            at = np.clip(x, low, high)
        first, values = np.empty(len(x), dtype=np.int64), np.empty((len(x), degree + 1))
        spline_windows(np.ascontiguousarray(at), t, degree, first, values)
        if self.extrapolation == "linear":
            for outside, edge, start in ((below, low, 0), (above, high, self.model_.n_splines - degree - 1)):
                slope = self.bsplines_[j](edge, nu=1)[start : start + degree + 1]
                first[outside] = start
                values[outside] += np.outer(x[outside] - edge, slope)
        values[missing] = 0
        return first, values

    def _sparse(self, X: Array, count: int) -> Sparse:
        n, d, K = len(X), X.shape[1], self.model_.n_splines
        columns, data = [], []
        for j in range(d):
            first, values = self._windows(X[:, j], j)
            own = (first[:, None] + np.arange(values.shape[1])) % K
            data.append(np.where(own < count, values, 0.0))
            columns.append(j * count + np.minimum(own, count - 1))
        rows = np.repeat(np.arange(n), sum(v.shape[1] for v in data))
        flat = np.hstack(data).ravel().astype(X.dtype), (rows, np.hstack(columns).ravel())
        made = csr_array(flat, shape=(n, self.model_.n_out))
        made.sum_duplicates()
        made.eliminate_zeros()
        return configured_csr(made)


def _uniform(X: Array, w: Array, at: Array) -> Array:
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    low, high = np.nan_to_num(low), np.nan_to_num(high)  # no value at all: all knots at zero
    return np.linspace(low, high, num=len(at), endpoint=True)


def _quantile(X: Array, w: Array, at: Array) -> Array:
    """Quantiles with linear interpolation, each row counted w times."""
    return np.column_stack([_weighted_quantile(x[~np.isnan(x)], w[~np.isnan(x)], at) for x in X.T])


def _weighted_quantile(x: Array, w: Array, at: Array) -> Array:
    if not len(x):
        return np.zeros_like(at)
    order = np.argsort(x, kind="stable")
    x, ends = x[order], np.cumsum(w[order])
    place = at * max(ends[-1] - 1, 0.0)
    low = np.floor(place + 1e-9)
    share = np.maximum(place - low, 0.0)

    def value(index: Array) -> Array:
        return x[np.minimum(np.searchsorted(ends, index + 1e-9, side="right"), len(x) - 1)]

    return (1 - share) * value(low) + share * value(np.ceil(place - 1e-9))


KNOT_RULES = {"uniform": _uniform, "quantile": _quantile}


def _extended(base: Array, degree: int, periodic: bool) -> Array:
    """Knots beyond the ends, `degree` on either side."""
    if periodic:
        period = base[-1] - base[0]
        return np.concatenate([base[-(degree + 1) : -1] - period, base, base[1 : degree + 1] + period])
    steps = np.arange(1, degree + 1)
    return np.concatenate([base[0] - steps[::-1] * (base[1] - base[0]), base, base[-1] + steps * (base[-1] - base[-2])])
