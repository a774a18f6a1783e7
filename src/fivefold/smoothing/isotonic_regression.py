"""Isotonic regression: the increasing, or decreasing, step function closest to the targets, with lines between its
steps.

    min over f_1 <= f_2 <= ... of  sum_i w_i (y_i - f_i)^2        rows in the order of x, equal ones merged

Neighbours that fall are pooled into their mean until none does. Between the rows of fit, values are interpolated.

Ayer et al. (1955); Best & Chakravarti (1990), Active set algorithms for isotonic regression.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, metadata_routing

from fivefold.core._sklearn import Tags
from fivefold.core.admission.tables import FLOAT_TYPES
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.estimators.transformer_mixins import FloatTransformerMixin
from fivefold.core.registry import Card
from fivefold.core.types import (
    Array,
    Doubles,
    Labels,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.smoothing.pool_adjacent_loops import merge_ties, pool_adjacent_violators

CONFIDENCE_DEVIATIONS = 1.96  # of a normal variable: an interval of 95 %
MIN_CORRELATION_ROWS = 4  # from which on a rank correlation has an interval


@dataclass(frozen=True)
class StepFunction:
    """Places and heights of the corners of a monotone function."""

    x: Vector  # (m,) rising
    y: Vector  # (m,)
    increasing: bool

    def __call__(self, x: Vector) -> Doubles:
        """Values between the corners; NaN outside."""
        if len(self.x) == 1:
            return np.full(np.shape(x), float(self.y[0]))
        found: Doubles = np.interp(x, self.x, self.y, left=np.nan, right=np.nan)
        return found

    @property
    def low(self) -> float:
        return self.x[0]

    @property
    def high(self) -> float:
        return self.x[-1]


class IsotonicRegression(FloatTransformerMixin, Regressor):
    """Regression by a function of one column that never falls, or never rises.

    Parameters
    ----------
    y_min, y_max
        bounds of the values; None for none.
    increasing
        whether values rise with X; "auto" asks the sign of the rank correlation.
    out_of_bounds
        the value outside the range of fit: NaN, that of the nearest end ("clip"), or an error ("raise").

    Attributes
    ----------
    X_min_, X_max_
        the range of X in fit.
    X_thresholds_, y_thresholds_
        places and heights of the corners of the function.
    f_
        the function, NaN outside the range.
    increasing_
        whether the function rises.

    Examples
    --------
    >>> from fivefold.isotonic import IsotonicRegression
    >>> IsotonicRegression().fit([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]).predict([2.0, 3.5])
    array([2.5 , 3.75])
    """

    _: KW_ONLY
    y_min: float | None = None
    y_max: float | None = None
    increasing: bool | Literal["auto"] = True
    out_of_bounds: Literal["nan", "clip", "raise"] = "nan"

    card = Card(
        applications=("regression",),
        use="A relation of one column that is known to be monotone, such as a dose and its effect, or a score and a "
        "probability. It needs no width; a smooth curve needs a smoother.",
        steps=(
            "Sort the rows and average targets of equal rows.",
            "Merge neighbours that are in the wrong order into their mean, until none is.",
            "Interpolate between rows.",
        ),
        source="Ayer et al. (1955); Best & Chakravarti (1990)",
        see_also=("SmoothingSpline",),
    )

    X_min_, X_max_ = learned("low"), learned("high")
    X_thresholds_, y_thresholds_ = learned("x"), learned("y")
    increasing_ = learned("increasing")

    __metadata_request__predict: ClassVar[dict[str, Any]] = {"T": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar[dict[str, Any]] = {"T": metadata_routing.UNUSED}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kinds: Any = tags.input_tags  # scikit-learn sets these without declaring them
        kinds.one_d_array, kinds.two_d_array = True, False
        return tags

    @property
    def f_(self) -> StepFunction:
        found: StepFunction = self.model_
        return found

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from a vector, or a table of one column, and its targets; a weight of two counts a row twice."""
        return self._fit_admitted(_column(X), y, sample_weight)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        x = X[:, 0]
        rising = check_increasing_weighted(x, y, w) if self.increasing == "auto" else bool(self.increasing)
        order = np.argsort(x)
        places, heights, weight = (np.asarray(a, dtype=np.float64)[order] for a in (x, y, w))
        limit = float(np.finfo(X.dtype).resolution) * min(1.0, max(abs(places[0]), abs(places[-1])))
        m = merge_ties(places, heights, weight, limit)
        sign = 1.0 if rising else -1.0
        heights = sign * heights[:m]
        pool_adjacent_violators(heights, weight, np.empty(m, dtype=np.int64), m)
        heights *= sign
        if self.y_min is not None or self.y_max is not None:
            heights = np.clip(heights, self.y_min, self.y_max)
        flat = heights[1:] == heights[:-1]  # between corners of one height there are none
        kept = np.ones(m, dtype=bool)
        kept[1:-1] = ~(flat[:-1] & flat[1:])
        self.model_ = StepFunction(places[:m][kept].astype(X.dtype), heights[kept].astype(X.dtype), rising)

    def predict(self, T: UserTable) -> Array:
        """The value at each entry of a vector, or row of one column, by interpolation."""
        X = self._admit(_column(T))
        x, model = X[:, 0], self.model_
        if self.out_of_bounds == "clip":
            x = np.clip(x, model.low, model.high)
        elif self.out_of_bounds == "raise" and len(model.x) > 1:
            for wrong, side in ((x < model.low, "below"), (x > model.high, "above")):
                if wrong.any():
                    end = "minimum" if side == "below" else "maximum"
                    raise ValueError(
                        f"IsotonicRegression: a value ({x[wrong][0]:g}) in x_new is {side} the interpolation range's "
                        f"{end} value ({model.low if side == 'below' else model.high:g}): out_of_bounds='clip' takes it"
                    )
        return model(x).astype(X.dtype, copy=False)

    def transform(self, T: UserTable) -> Array:
        """As `predict`."""
        return self.predict(T)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """The name of the one column of the result."""
        self.model_  # noqa: B018  refuses before fit
        return np.asarray([f"{type(self).__name__.lower()}0"], dtype=object)


def isotonic_regression(
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    y_min: float | None = None,
    y_max: float | None = None,
    increasing: bool = True,
) -> Array:
    """The monotone sequence closest to y under the weights, within bounds.

    Examples
    --------
    >>> isotonic_regression([5, 3, 1, 2, 8, 10]).round(2)
    array([ 2.75,  2.75,  2.75,  2.75,  8.  , 10.  ])
    """
    given = check_array(y, ensure_2d=False, input_name="y", dtype=[np.float64, np.float32])
    w = np.ones(len(given)) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    check_consistent_length(given, w)
    if (w <= 0).any():
        raise ValueError("isotonic_regression: weights must be strictly positive")
    step = 1 if increasing else -1
    heights, w = np.array(given[::step], dtype=np.float64), np.ascontiguousarray(w[::step])
    pool_adjacent_violators(heights, w, np.empty(len(w), dtype=np.int64), len(w))
    found = heights[::step].astype(given.dtype)
    return found if y_min is None and y_max is None else np.clip(found, y_min, y_max)


def check_increasing(x: ArrayLike, y: ArrayLike) -> np.bool_:
    """Does y rise with x, by the sign of Spearman's rank correlation? Warns where its 95 % interval holds zero.

    Examples
    --------
    >>> check_increasing([1, 2, 3, 4, 5], [10, 8, 6, 4, 2])
    np.False_
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return np.bool_(check_increasing_weighted(a, b, np.ones(len(a))))


def check_increasing_weighted(x: Vector, y: Vector, w: Weights) -> bool:
    """The same for rows that are there w times each."""
    a, b = _ranks(x, w), _ranks(y, w)
    n = float(w.sum())
    a, b = a - w @ a / n, b - w @ b / n
    scale = math.sqrt(float(w @ (a * a)) * float(w @ (b * b)))
    if scale == 0:
        return False  # a constant has no correlation
    rho = float(w @ (a * b)) / scale
    if abs(rho) < 1 - 1e-15 and n >= MIN_CORRELATION_ROWS:
        centre, half = math.atanh(rho), CONFIDENCE_DEVIATIONS / math.sqrt(n - 3)
        if (centre - half) * (centre + half) <= 0:
            warn(
                "Confidence interval of the Spearman correlation coefficient spans zero. Determination of "
                "``increasing`` may be suspect."
            )
    return rho >= 0


def _ranks(values: Vector, w: Weights) -> Doubles:
    """Mean ranks, of values that are there w times each."""
    _, codes = np.unique(values, return_inverse=True)
    weight = np.bincount(codes, w)
    return (np.cumsum(weight) - (weight - 1) / 2)[codes]


def _column(X: UserTable) -> Matrix:
    """A vector, or a table of one column, as a table of one column."""
    if type(X) is not np.ndarray or X.dtype not in FLOAT_TYPES:
        X = check_array(X, ensure_2d=False, dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X")
    if X.ndim == 1:
        return np.ascontiguousarray(X).reshape(-1, 1)
    if X.ndim == 2 and X.shape[1] == 1:
        return np.ascontiguousarray(X)
    raise ValueError(
        f"Isotonic regression input X should be a 1d array or 2d array with 1 feature; got shape {X.shape}"
    )
