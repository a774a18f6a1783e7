"""Nearest centroid: a row gets the class whose centre is closest.

    euclidean     centres are means,    D = |x - m_k|^2
    manhattan     centres are medians,  D = sum_j |x_j - m_kj|
    mahalanobis   centres are means,    D = (x - m_k)' S^-1 (x - m_k),    S pooled, or that of each class

With `shrink_threshold` means are drawn towards the mean m of all rows, column by column: with s_j the spread within
classes, s_0 its median, a_k = sqrt(1 / n_k - 1 / n) and the deviations d_kj = (m_kj - m_j) / (a_k (s_j + s_0)),

    m_kj = m_j + a_k (s_j + s_0) sign(d_kj) max(|d_kj| - threshold, 0)

so that columns in which no class stands out fall away. With priors that are not equal, classes are compared by
2 log(prior) - D, where D has each column divided by its spread (or is Mahalanobis's).

Tibshirani, Hastie, Narasimhan & Chu (2002), Diagnosis of multiple cancer types by shrunken centroids of gene
expression; Alpaydin (2020), section 8.6.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.metaestimators import available_if

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.params import Positive
from fivefold.core.numerics.products import affine
from fivefold.core.parallel import map_items, map_parts
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Labels, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.discriminant_analysis.base import GaussianDiscriminant, log_priors
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian
from fivefold.neighbors.shared.centroid_loops import centre_distances, grouped_columns, nearest_centre

MIN_VARIANCE_SHARE = 1e-10  # a direction with less than this share of the largest variance has none
MIN_CLASS_VARIANCE = 1e-4  # of a class in any direction, in units of the pooled variance
BLOCK_NUMBERS = 1 << 22  # entries of a sparse table that are dense at a time: 32 MB


@dataclass(frozen=True)
class Centroids:
    """Centres of the classes, and the spread of the columns within them."""

    means: Matrix  # (K, d)
    priors: Vector  # (K,)
    spread: Vector  # (d,) standard deviation within the classes
    deviations: Matrix  # (K, d) of the centres from that of all rows, in units of their standard error
    dtype: np.dtype[Any]
    axes: Matrix | None = None  # (d, r): rows times axes have the pooled covariance I
    class_axes: Array | None = None  # (K, r, r): the same for the covariance of each class, after `axes`

    @property
    def is_uniform(self) -> bool:
        """Are all classes as likely?"""
        return bool(np.isclose(self.priors, 1 / len(self.priors)).all())

    def nearest(self, X: Matrix, metric: str) -> Codes:
        """The class with the nearest centre, of equally near ones the first; for any metric but that of each class."""
        Z, C = self.coordinates(X)
        labels = np.empty(len(Z), dtype=np.int64)
        map_parts(lambda lo, hi: nearest_centre(Z, C, metric == "manhattan", lo, hi, labels), len(Z))
        return labels

    def distances(self, X: Matrix, metric: str) -> Matrix:
        """Squared distances (n, K): of columns divided by their spread, or Mahalanobis's."""
        Z, C = self.coordinates(X)
        if self.class_axes is not None:
            each = zip(C, self.class_axes, strict=True)
            return np.stack([np.square(affine(Z, c, A)).sum(axis=1) for c, A in each], axis=1)
        scale = 1.0 / np.where(self.spread > 0, self.spread, 1.0) if self.axes is None else np.ones(C.shape[1])
        out = np.empty((len(Z), len(C)))
        map_parts(lambda lo, hi: centre_distances(Z, C, scale, metric == "manhattan", lo, hi, out), len(Z))
        return out

    def coordinates(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """Rows and centres in coordinates in which the pooled covariance is I, or as they are."""
        if self.axes is None:
            return X, self.means
        origin = self.means.mean(axis=0)
        return affine(X, origin, self.axes), affine(self.means, origin, self.axes)


def _has_scores(estimator: Any) -> bool:
    if estimator.metric == "manhattan":
        raise AttributeError("NearestCentroid: metric='manhattan' gives classes, and no probabilities or scores")
    return True


class NearestCentroid(GaussianDiscriminant):
    """The class whose centre is closest.

    Parameters
    ----------
    metric
        "euclidean" distance to means, "manhattan" distance to medians, or "mahalanobis" distance to means.
    shrink_threshold
        by how many standard errors the deviations of the centres from the mean of all rows are lowered.
    priors
        "uniform", "empirical" for the shares of the classes, or one probability per class.
    covariance
        for metric="mahalanobis": "pooled" over the classes, or that of each "class".

    Attributes
    ----------
    centroids_
        the centre of each class (K, d).
    deviations_
        of the centres from the mean of all rows, in standard errors, lowered by `shrink_threshold`.
    within_class_std_dev_
        the standard deviation of each column within the classes.
    class_prior_, classes_
        of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.neighbors import NearestCentroid
    >>> X, y = np.array([[0.0, 0.0], [2.0, 1.0], [6.0, 0.0], [8.0, 1.0]]), ["left", "left", "right", "right"]
    >>> model = NearestCentroid().fit(X, y)
    >>> model.centroids_
    array([[1. , 0.5],
           [7. , 0.5]])
    >>> model.predict([[3.5, 0.0]]).tolist()
    ['left']
    """

    metric: Literal["euclidean", "manhattan", "mahalanobis"] = "euclidean"
    _: KW_ONLY
    shrink_threshold: Positive | None = None
    priors: Literal["uniform", "empirical"] | np.ndarray | list[Any] | tuple[Any, ...] = "uniform"
    covariance: Literal["pooled", "class"] = "pooled"

    takes = Takes(one_class=False, sparse=True)
    card = Card(
        applications=("classification",),
        use="Round classes, very many columns (with shrink_threshold), text as weighted words; a baseline that is "
        "fitted in one pass. Classes of elongated shape want metric='mahalanobis'.",
        steps=(
            "Take the mean or the median of each class.",
            "Draw the centres together, if asked for.",
            "Give a row the class of the closest centre.",
        ),
        source="Tibshirani, Hastie, Narasimhan & Chu (2002)",
        see_also=("LinearDiscriminantAnalysis", "KNeighborsClassifier"),
        variants=(
            {"metric": "manhattan", "shrink_threshold": 0.5},
            {"priors": "empirical", "shrink_threshold": 0.3},
            {"metric": "mahalanobis"},
            {"metric": "mahalanobis", "covariance": "class", "priors": "empirical"},
        ),
        search={"shrink_threshold": (None, 0.5, 2.0), "metric": ("mahalanobis",)},
    )

    centroids_ = learned_in_dtype("means")
    deviations_ = learned_in_dtype("deviations")
    within_class_std_dev_ = learned_in_dtype("spread")
    class_prior_ = learned_in_dtype("priors")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        count, mean, scatter, squares = _class_moments(X, y, w, K, self.metric == "mahalanobis")
        n = float(count.sum())
        centre = _class_medians(X, y, w, K) if self.metric == "manhattan" else mean
        total = mean.T @ count / n
        within = scatter + count @ np.square(centre - mean)
        self._refuse_constant(within, within + count @ np.square(mean - total), total)
        spread = np.sqrt(within / (n - K)) if n > K else np.zeros(len(within))
        if not spread.all():
            warn(
                "NearestCentroid: within_class_std_dev_ has at least 1 zero standard deviation: a column is the same "
                "for all rows of each class"
            )
        unit = np.sqrt(np.maximum(1.0 / count - 1.0 / n, 0.0))[:, None] * (spread + np.median(spread))  # (K, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations = np.where(unit > 0, (centre - total) / unit, 0.0)
        if self.shrink_threshold:
            deviations = np.sign(deviations) * np.maximum(np.abs(deviations) - self.shrink_threshold, 0.0)
            centre = total + unit * deviations
        axes, class_axes = None, None
        if squares is not None:
            axes, class_axes = self._axes(squares, count, n)
        priors = self._centroid_priors(count / n)
        self.model_ = Centroids(centre, priors, spread, deviations, X.dtype, axes, class_axes)

    def _refuse_constant(self, within: Vector, whole: Vector, total: Vector) -> None:
        """Refuse a table without any difference between its rows."""
        if not (whole > (1e-15 * total) ** 2).any():
            raise ValueError(
                "NearestCentroid: All features have zero variance. Division by zero: give rows that differ"
            )

    def _centroid_priors(self, shares: Vector) -> Vector:
        if isinstance(self.priors, str):
            return shares if self.priors == "empirical" else np.full(len(shares), 1 / len(shares))
        return np.asarray(self._priors(shares, shares, self.priors))

    def _axes(self, squares: Array, count: Vector, n: float) -> tuple[Matrix, Array | None]:
        """Axes in which the pooled covariance is I; directions without variance are left out."""
        K = len(count)
        values, V = np.linalg.eigh(squares.sum(axis=0) / max(n - K, 1.0))
        kept = values > MIN_VARIANCE_SHARE * max(values[-1], 0.0)
        axes = V[:, kept] / np.sqrt(values[kept])
        if self.covariance == "pooled":
            return axes, None
        values, V = np.linalg.eigh(axes.T @ (squares / np.maximum(count - 1.0, 1.0)[:, None, None]) @ axes)
        if (flat := values[:, 0] < MIN_CLASS_VARIANCE).any():
            label = self.classes_.tolist()[int(flat.argmax())]
            warn(
                f"NearestCentroid: the covariance of class {label!r} is not full rank (no more rows than columns, or "
                f"columns that determine one another); flat directions are given {MIN_CLASS_VARIANCE:g} of the pooled "
                "variance. Take covariance='pooled', or drop columns"
            )
            values = np.maximum(values, MIN_CLASS_VARIANCE)
        return axes, V / np.sqrt(values)[:, None, :]

    def _scores(self, X: Table) -> Matrix:
        model: Centroids = self.model_
        parts = [model.distances(block, self.metric) for block in _dense_blocks(X)]
        return 2.0 * log_priors(model.priors) - np.concatenate(parts)

    def predict(self, X: UserTable) -> Labels:
        """The class of each row."""
        X, model = self._admit(X), self.model_
        if model.is_uniform and model.class_axes is None:
            found = [model.nearest(block, self.metric) for block in _dense_blocks(X)]
            return self.classes_[np.concatenate(found)]
        return self.classes_[self._scores(X).argmax(axis=1)]

    @available_if(_has_scores)
    def decision_function(self, X: UserTable) -> Array:
        """2 log(prior) - D of each class (n, K); for two classes the difference (n,), positive for the second."""
        return super().decision_function(X)

    @available_if(_has_scores)
    def predict_proba(self, X: UserTable) -> Matrix:
        """Probability of each class."""
        return super().predict_proba(X)

    @available_if(_has_scores)
    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Log probability of each class."""
        return super().predict_log_proba(X)


def _class_moments(X: Table, y: Codes, w: Weights, K: int, full: bool) -> tuple[Vector, Matrix, Vector, Array | None]:
    """Weight (K,) and mean (K, d) of each class, scatter of columns within classes (d,), and of pairs (K, d, d)."""
    if issparse(X):
        if full:
            X = X.toarray()
        else:
            sums = csr_array((w, (y, np.arange(len(y)))), shape=(K, len(y)))
            count: Vector = np.bincount(y, w, K).astype(np.float64)
            mean = (sums @ X).toarray() / count[:, None]
            squares = np.asarray((sums @ X.multiply(X)).sum(axis=0)).ravel()
            return count, mean, np.maximum(squares - count @ np.square(mean), 0.0), None
    stats = Gaussian(Full() if full else Diagonal()).stats(X, GroupWeights(y, w, K))
    if full:
        return stats.weight, stats.mean, np.einsum("kjj->j", stats.scatter), stats.scatter
    return stats.weight, stats.mean, stats.scatter.sum(axis=0), None


def _class_medians(X: Table, y: Codes, w: Weights, K: int) -> Matrix:
    """The median of each column in each class (K, d); a weight of two means that a row is there twice."""
    n, d = X.shape
    ends = np.concatenate([[0], np.cumsum(np.bincount(y, minlength=K))])
    order = None if (w == 1).all() else np.argsort(y, kind="stable")
    step = max(1, BLOCK_NUMBERS // n) if issparse(X) else d
    out = np.empty((K, d))
    for first in range(0, d, step):
        block = X[:, first : first + step].toarray() if issparse(X) else X
        columns = np.empty((block.shape[1], n), dtype=X.dtype)
        grouped_columns(block, y, ends[:-1].copy(), columns)

        def of_column(j: int, first: int = first, columns: Matrix = columns) -> None:
            for k, (a, b) in enumerate(pairwise(ends)):
                weights = None if order is None else w[order[a:b]]
                out[k, first + j] = _median(columns[j, a:b], weights)

        map_items(of_column, len(columns))
    return out


def _median(values: Vector, w: Weights | None) -> float:
    """The median; of values without weights, which are changed."""
    if w is None:
        half = len(values) // 2
        values.partition(half)
        high = values[half]
        return float(high if len(values) % 2 else 0.5 * (values[:half].max() + high))
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(w[order])
    low, high = (order[np.searchsorted(upto, upto[-1] / 2, side=side)] for side in ("left", "right"))
    return float(0.5 * (values[low] + values[high]))


def _dense_blocks(X: Table) -> list[Matrix]:
    """The rows of a table as dense blocks."""
    if not issparse(X):
        return [X]
    step = max(1, BLOCK_NUMBERS // X.shape[1])
    return [X[a : a + step].toarray() for a in range(0, X.shape[0], step)]
