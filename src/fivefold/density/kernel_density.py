"""Kernel density estimation: a window on every row, and their mean (Parzen windows).

    p(x) = 1 / (W h^d V_d)  sum of w_i k(|x - x_i| / h),      W = sum of w_i,   V_d = integral of k over R^d

Sums go over a tree of points, whose nodes are summarised where the tolerance allows, or over a grid by the Fourier
transform. `kernel="hypercube"` is the naive estimator: the share of the rows in a bin centred at x.

Rosenblatt (1956); Parzen (1962); Gray & Moore (2003), sums over trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Table, Vector, Weights
from fivefold.density.base import RowDensity
from fivefold.density.sums.grid_sums import GridSums
from fivefold.density.sums.kernel_sums import KernelSums, PairwiseSums
from fivefold.density.sums.window_kernels import KernelName, WindowKernel, window_kernel
from fivefold.density.sums.window_shape import WindowShape, window_shape
from fivefold.density.widths.likelihood_widths import SEARCH_TOLERANCE, leave_one_out_scores, likelihood_width
from fivefold.density.widths.width_rules import botev_width, scott_factor, silverman_factor
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.named_metrics import POWERS, metric_names, vector_metric

WidthRule = Literal["scott", "silverman", "botev", "cross_validation"]
KD_TREE_METRICS = frozenset({*POWERS, "minkowski", "p"})  # as scikit-learn's KDTree takes them
LOOP_DISTANCES = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}


@dataclass(frozen=True)
class WindowDensity:
    """Windows of one width on weighted points."""

    sums: Any  # KernelSums, PairwiseSums or GridSums
    kernel: WindowKernel
    shape: Any  # WindowShape or MetricShape
    width: float
    points: Matrix  # (n, d) in round coordinates
    weights: Vector

    def log_density(self, X: Table, rtol: float = 0.0, atol: float = 0.0, direct: bool = False) -> Doubles:
        """log p at each row; atol is a tolerance of p."""
        d = self.points.shape[1]
        log_unit = d * np.log(self.width) + self.kernel.log_integral(d) + self.shape.log_volume
        atol = float(atol * np.exp(log_unit)) if atol else 0.0
        Z = self.shape.coordinates(X)
        return np.asarray(
            self.sums.log_sums(Z, self.width, rtol=rtol, atol=atol, direct=direct) - np.log(self.sums.mass) - log_unit
        )

    def left_out(self) -> Doubles:
        """log p of each point under the others (n,)."""
        logs = leave_one_out_scores(self.sums, self.kernel, self.points, self.weights, self.width)
        return logs - self.shape.log_volume

    def sample(self, n: int, rng: np.random.RandomState) -> Matrix:
        """n rows: points drawn by weight, each with a step drawn from the kernel."""
        ends = np.cumsum(self.weights, dtype=np.float64)
        chosen = np.searchsorted(ends, rng.uniform(0, 1, size=n) * ends[-1])
        steps = self.kernel.steps(n, self.points.shape[1], rng)
        return self.shape.rows(self.points[chosen] + self.width * steps)


class KernelDensity(RowDensity):
    """Kernel density estimation with windows of one width.

    Parameters
    ----------
    bandwidth
        the width of the windows, or a rule: "scott" and "silverman" are factors for columns of standard deviation one
        (or for a shape that follows the spread), "botev" the improved Sheather-Jones width of one column,
        "cross_validation" the width under which rows left out are likeliest.
    algorithm
        "kd_tree" or "ball_tree" sum over a tree, "direct" over every pair, "fft" on a grid (one or two columns, within
        the error of the grid); "auto" is the tree.
    kernel
        a name, or a function of the distance in units of the width that integrates to one over all columns.
    metric
        distance between rows; volumes are those of the Euclidean distance.
    atol, rtol
        absolute and relative error of a density that is allowed; with zero it is that of rounding.
    breadth_first, leaf_size
        accepted for compatibility: the order in which a tree is searched, and its leaves, are chosen.
    metric_params
        further parameters of the metric.
    shape
        of the windows: "spherical", "diagonal" (follows the standard deviation of each column), "full" (follows the
        covariance of the columns), or a covariance matrix.

    Attributes
    ----------
    bandwidth_
        the width.
    tree_
        a KDTree or BallTree of the rows, in the coordinates of the shape or metric if it has any.

    Examples
    --------
    >>> from fivefold.density import KernelDensity
    >>> model = KernelDensity(bandwidth=1.0).fit([[0.0], [1.0], [5.0]])
    >>> model.score_samples([[0.5], [9.0]]).round(3)
    array([ -1.449, -10.018])
    """

    _: KW_ONLY
    bandwidth: Positive | WidthRule = 1.0
    algorithm: Literal["kd_tree", "ball_tree", "auto", "direct", "fft"] = "auto"
    kernel: KernelName | Callable[..., Any] = "gaussian"
    metric: str | Callable[..., Any] = "euclidean"
    atol: NonNegative = 0
    rtol: NonNegative = 0
    breadth_first: bool = True
    leaf_size: Count = 40
    metric_params: dict[str, Any] | None = None
    shape: Literal["spherical", "diagonal", "full"] | np.ndarray = "spherical"

    card = Card(
        applications=("density estimation",),
        use="Densities of any form in up to about five columns. The width decides: choose it by cross-validation. In "
        "more columns the neighbourhoods empty: a mixture, or fewer columns.",
        steps=(
            "Put a window on every row.",
            "The density at x is the mean of the windows there, summed over a tree of the rows.",
        ),
        source="Rosenblatt (1956); Parzen (1962); Silverman (1986)",
        see_also=("AdaptiveKernelDensity", "KNeighborsDensity", "HistogramDensity", "GaussianMixture"),
        variants=(
            {"kernel": "epanechnikov", "bandwidth": 2.0, "shape": "diagonal"},
            {"kernel": "exponential", "bandwidth": "silverman", "metric": "manhattan", "rtol": 1e-6},
        ),
        growth=2.0,
    )

    bandwidth_ = learned("width")

    def _fit(self, X: Table, w: Weights) -> None:
        name = type(self).__name__
        kernel = window_kernel(self.kernel, X.shape[1])
        shape: WindowShape | MetricShape = window_shape(self.shape, X, w, name)
        metric = self._metric(X)
        Z = shape.coordinates(X)
        if isinstance(metric, VectorMetric) and metric.coordinates is not None:
            shape, Z = MetricShape(shape, metric), metric.rows(Z)
        sums = self._sums(metric, kernel, Z, w)
        width = chosen_width(self.bandwidth, sums, kernel, Z, w)
        grid = GridSums.of(Z, w, kernel, width) if self.algorithm == "fft" else None
        self.model_ = WindowDensity(grid or sums, kernel, shape, width, Z, w)

    def _metric(self, X: Matrix) -> VectorMetric | str | Callable[..., Any]:
        """The metric as a value where it has one; refuses what the algorithm does not take."""
        if not isinstance(self.metric, str) or self.metric == "pyfunc":
            return self.metric
        if self.metric not in metric_names():
            raise ValueError(
                f"KernelDensity: metric={self.metric!r} is not known; there are {', '.join(metric_names())}, and "
                "functions of two rows"
            )
        if self.algorithm == "kd_tree" and self.metric not in KD_TREE_METRICS:
            raise ValueError(
                f"invalid metric for kd_tree: {self.metric!r}. It takes {', '.join(sorted(KD_TREE_METRICS))}; "
                "other metrics go with algorithm='ball_tree' or 'auto'"
            )
        return vector_metric(self.metric, X, 2.0, self.metric_params)

    def _sums(self, metric: Any, kernel: WindowKernel, Z: Matrix, w: Weights) -> KernelSums | PairwiseSums:
        """Sums by compiled loops where they know the kernel and the distance, pair by pair otherwise."""
        power = metric.rule.p if isinstance(metric, VectorMetric) and metric.finish == "root" else None
        if power in LOOP_DISTANCES and kernel.function is None:
            return KernelSums(kernel, Z, w, LOOP_DISTANCES[power])
        if power == 2.0:
            return PairwiseSums(kernel, Z, w)
        return PairwiseSums(kernel, Z, w, self.metric, self.metric_params)

    @property
    def tree_(self) -> Any:
        """A tree of the rows that answers queries."""
        from fivefold.neighbors.binary_trees import BallTree, KDTree

        model, metric = self.model_, self.metric
        own = isinstance(model.shape, MetricShape)
        params = {} if own else self.metric_params or {}
        metric = "euclidean" if own else metric
        kind = KDTree if metric in KD_TREE_METRICS and self.algorithm != "ball_tree" else BallTree
        w = None if (model.weights == 1).all() else model.weights
        return kind(model.points, leaf_size=self.leaf_size, metric=metric, sample_weight=w, **params)

    def _log_density(self, X: Table) -> Doubles:
        return self.model_.log_density(X, self.rtol, self.atol, self.algorithm == "direct")

    def _left_out(self) -> tuple[Doubles, Vector]:
        return self.model_.left_out(), self.model_.weights

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Matrix:
        """Draw rows from the density; the steps from the rows of fit are those of the Euclidean distance."""
        check_is_fitted(self)
        if isinstance(self.model_.shape, MetricShape):
            raise NotImplementedError(  # the error that scikit-learn raises for kernels it cannot draw from
                f"KernelDensity: no rows can be drawn with metric={self.metric!r}, which has coordinates of its own; "
                "shape='full' is the Mahalanobis distance, and can"
            )
        if n_samples < 1:
            raise ValueError(f"KernelDensity: n_samples must be 1 or more; got {n_samples}")
        return self.model_.sample(n_samples, check_random_state(random_state))


@dataclass(frozen=True)
class MetricShape:
    """Coordinates of a metric after those of a shape; volumes are as without it."""

    shape: Any  # WindowShape
    metric: VectorMetric

    @property
    def log_volume(self) -> float:
        """That of the shape."""
        return float(self.shape.log_volume)

    def coordinates(self, X: Table) -> Matrix:
        """The rows in the coordinates of the metric."""
        return self.metric.rows(self.shape.coordinates(X), queries=True)


def fit_windows(estimator: Any, X: Table, w: Weights, width: float | None = None) -> WindowDensity:
    """Windows by the `kernel`, `shape` and `bandwidth` of an estimator, under the Euclidean distance."""
    kernel = window_kernel(estimator.kernel, X.shape[1])
    shape = window_shape(estimator.shape, X, w, type(estimator).__name__)
    Z = shape.coordinates(X)
    sums = KernelSums(kernel, Z, w) if kernel.function is None else PairwiseSums(kernel, Z, w)
    h = chosen_width(estimator.bandwidth, sums, kernel, Z, w) if width is None else width
    return WindowDensity(sums, kernel, shape, h, Z, w)


def chosen_width(
    rule: float | str, sums: KernelSums | PairwiseSums, kernel: WindowKernel, Z: Matrix, w: Weights
) -> float:
    """The width that is given, or the one by a rule."""
    if not isinstance(rule, str):
        return float(rule)
    n, d = float(w.sum()), Z.shape[1]
    if rule == "scott":
        return scott_factor(n, d)
    if rule == "silverman":
        return silverman_factor(n, d)
    if rule == "botev":
        if d > 1:
            raise ValueError(f"bandwidth='botev' is for one column, X has {d}: use 'cross_validation'")
        return botev_width(Z[:, 0], w)
    return cross_validated_width(sums, kernel, Z, w)


def cross_validated_width(sums: KernelSums | PairwiseSums, kernel: WindowKernel, Z: Matrix, w: Weights) -> float:
    """The width under which rows left out are likeliest, searched around the rule of thumb."""
    start = thumb_width(Z, w)

    def score(h: float) -> float:
        return float(leave_one_out_scores(sums, kernel, Z, w, h, SEARCH_TOLERANCE) @ w)

    return likelihood_width(score, start)


def thumb_width(Z: Matrix, w: Weights) -> float:
    """Silverman's factor times the root of the mean variance of the columns."""
    centred = Z - w @ Z / w.sum()
    spread = float(np.sqrt((w @ np.square(centred)).sum() / w.sum() / Z.shape[1]))
    if spread == 0:
        raise ValueError("all rows are equal: no width suits them. Pass bandwidth as a number")
    return spread * silverman_factor(float(w.sum()), Z.shape[1])
