"""Local outlier factor: how much sparser a row's neighbourhood is than those of its neighbours.

    d_k(s)        distance of the k-th neighbour of s                      N(x)   the k nearest rows of x
    reach(x, s) = max(d(x, s), d_k(s))
    lrd(x)      = 1 / mean over s in N(x) of reach(x, s)                   local reachability density
    LOF(x)      = mean over s in N(x) of lrd(s) / lrd(x)                   factor="reachability"
    LOF(x)      = d_k(x) / mean over s in N(x) of d_k(s)                   factor="distance", the simplified one

About one in the midst of rows of any density, large for a row that stands apart from a dense group.

Breunig, Kriegel, Ng & Sander (2000), LOF: identifying density-based local outliers; Alpaydin (2020), section 8.7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import OutlierDetector, learned
from fivefold.core.estimators.params import Count, Range
from fivefold.core.numerics.weighted_quantile import weighted_quantile
from fivefold.core.registry import Card
from fivefold.core.types import (
    Codes,
    Doubles,
    Indices,
    Matrix,
    Table,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.neighbors.shared.base import FittedRows
from fivefold.neighbors.shared.neighbor_queries import KNeighborsQueries

Factor = Literal["reachability", "distance"]
MIN_DISTANCE = 1e-10  # added to mean distances, so that copies of a row have a density
AUTO_OFFSET = -1.5  # contamination="auto": rows with a factor above 1.5 are outliers
COPIES_FACTOR = -1e7  # below this a factor is one over MIN_DISTANCE: some neighbourhood is made of copies


@dataclass(frozen=True)
class OutlierFactors(FittedRows):
    """The rows of fit, and how dense they lie."""

    k: int = 1
    reach: Vector | None = None  # d_k of each row
    density: Vector | None = None  # lrd of each row
    factors: Vector | None = None  # minus the factor of each row of the table of fit
    offset: float = AUTO_OFFSET


@dataclass(frozen=True)
class Neighborhood:
    """The k nearest rows of each query, and how many of the k each stands for."""

    distances: Matrix  # (m, a)
    rows: Indices  # (m, a)
    shares: Doubles | None  # (m, a); None: one each

    def mean(self, values: Matrix) -> Vector:
        """Means over the neighbours of values (m, a)."""
        if self.shares is None:
            return values.mean(axis=1)
        return (self.shares * values).sum(axis=1) / self.shares.sum(axis=1)

    def reach(self) -> Vector:
        """The distance of the k-th neighbour."""
        if self.shares is None:
            return self.distances[:, -1]
        last = self.shares.shape[1] - 1 - (self.shares[:, ::-1] > 0).argmax(axis=1)
        return self.distances[np.arange(len(last)), last]


def _with_novelty(method: str) -> Callable[[Any], bool]:
    """The check of a method for new rows."""

    def check(estimator: Any) -> bool:
        if not estimator.novelty:
            raise AttributeError(
                f"{method} is not available when novelty=False, which is for the rows of fit: fit_predict marks them, "
                "and negative_outlier_factor_ scores them. Set novelty=True to judge new rows"
            )
        return True

    return check


def _has_no_novelty(estimator: Any) -> bool:
    if estimator.novelty:
        raise AttributeError(
            "fit_predict is not available when novelty=True, which is for new rows; set "
            "novelty=False to judge the rows of fit"
        )
    return True


class LocalOutlierFactor(
    KNeighborsQueries,
    OutlierDetector,
    keywords="algorithm leaf_size metric p metric_params contamination novelty n_jobs",
):
    """Marks rows in a sparser neighbourhood than their neighbours'.

    Parameters
    ----------
    n_neighbors
        neighbours of each row; all others if there are fewer.
    contamination
        the share of the rows of fit to mark; "auto" marks factors above 1.5.
    novelty
        whether new rows are judged, by `predict`, `decision_function` and `score_samples`, or the rows of fit
        themselves, by `fit_predict`.
    factor
        "reachability", the quotient of densities of Breunig and others; "distance", the simplified quotient of
        distances of k-th neighbours.

    Attributes
    ----------
    negative_outlier_factor_
        minus the factor of each row of fit.
    n_neighbors_
        how many neighbours were taken.
    offset_
        the score below which rows are marked.

    Examples
    --------
    >>> from fivefold.neighbors import LocalOutlierFactor
    >>> X = [[0.0], [1.0], [2.0], [3.0], [10.0]]
    >>> LocalOutlierFactor(2).fit_predict(X)
    array([ 1,  1,  1,  1, -1])
    >>> LocalOutlierFactor(2, factor="distance").fit(X).negative_outlier_factor_.round(2)
    array([-2.  , -0.67, -0.67, -2.  , -5.33])
    """

    n_neighbors: Count = 20
    _: KW_ONLY
    contamination: Literal["auto"] | Annotated[float, Range(0, 0.5, open_low=True)] = "auto"
    novelty: bool = False
    factor: Factor = "reachability"

    card = Card(
        applications=("outlier detection",),
        use="Outliers beside groups of different density, on few columns of like scale. Scale the columns first; a "
        "group of outliers larger than n_neighbors hides itself.",
        steps=(
            "Find the k nearest rows of each row.",
            "Estimate how dense each row's neighbourhood is.",
            "Compare it with the density of its neighbours.",
        ),
        source="Breunig, Kriegel, Ng & Sander (2000)",
        see_also=("IsolationForest", "OneClassSVM"),
        variants=(
            {"novelty": True, "n_neighbors": 5, "contamination": 0.1},
            {"novelty": True, "n_neighbors": 7, "factor": "distance"},
        ),
        growth=1.5,
    )

    n_neighbors_ = learned("k")
    offset_ = learned("offset")
    negative_outlier_factor_ = learned("factors")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Self:
        """Find how dense the rows of X lie; a weight of two means a row is there twice."""
        return self._fit_admitted(self._table_of(X), None, sample_weight, given=sample_weight, **self._beside(X))

    def _fit(self, X: Table, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        model, total = OutlierFactors(**self._stored(X, w, given, objects).__getstate__()), float(w.sum())
        if self.n_neighbors > total:
            warn(
                f"LocalOutlierFactor: n_neighbors ({self.n_neighbors}) is greater than the total number of samples "
                f"({total:g}); all {total - 1:g} others are taken"
            )
        k = max(1, min(int(self.n_neighbors), int(total - 1)))
        if not total > 1:
            raise ValueError(
                f"LocalOutlierFactor: Expected n_neighbors < n_samples_fit: a row needs others beside it, and "
                f"n_samples = {total:g}"
            )
        own = _neighborhood(model, None, k)
        reach = own.reach()
        density = 1.0 / (own.mean(np.maximum(own.distances, reach[own.rows])) + MIN_DISTANCE)
        model = model.changed(k=k, reach=reach, density=density)
        factors = _factors(model, own, self.factor)
        if factors.min() < COPIES_FACTOR and not self.novelty:
            warn(
                "LocalOutlierFactor: Duplicate values are leading to incorrect results: a row has more copies than "
                "n_neighbors. Increase the number of neighbors"
            )
        offset = AUTO_OFFSET if self.contamination == "auto" else weighted_quantile(factors, w, self.contamination)
        self.model_ = model.changed(factors=factors, offset=offset)

    def _label(self, X: Table) -> None:
        """Rows of weight zero are judged as new ones."""
        model: OutlierFactors = self.model_
        if model.positions is None:
            return
        factors = np.full(model.n, np.nan, dtype=model.dtype)
        factors[model.positions] = model.factors
        absent = np.setdiff1d(np.arange(model.n), model.positions)
        if isinstance(model.table, np.ndarray) and model.metric != "edit":
            factors[absent] = self._scores_of(X[absent])
        self.model_ = model.changed(factors=factors)

    @available_if(_has_no_novelty)
    def fit_predict(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Codes:
        """Fit, and mark the rows: +1 for those that belong, -1 for outliers."""
        self.fit(X, sample_weight=sample_weight)
        return np.where(self.negative_outlier_factor_ < self.offset_, -1, 1)

    def _scores_of(self, Q: Table) -> Vector:
        """Minus the factor of admitted new rows."""
        model: OutlierFactors = self.model_
        return _factors(model, _neighborhood(model, Q, model.k), self.factor)

    @available_if(_with_novelty("score_samples"))
    def score_samples(self, X: UserTable) -> Vector:
        """Minus the factor of each row, which is taken as a new one even if it was in fit: the lower, the odder."""
        return self._scores_of(self._admit(X))

    @available_if(_with_novelty("decision_function"))
    def decision_function(self, X: UserTable) -> Vector:
        """Zero or more for inliers, negative for outliers."""
        return self.score_samples(X) - self.offset_

    @available_if(_with_novelty("predict"))
    def predict(self, X: UserTable) -> Codes:
        """+1 for rows that belong, -1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1)


def _neighborhood(fitted: FittedRows, Q: Table | None, k: int) -> Neighborhood:
    """The k nearest rows of new rows, or of the rows of fit, whose own copies, if they have a weight, come first."""
    distances, rows, shares, _ = fitted.nearest_units(Q, k, False)
    if shares is None or Q is not None or fitted.counts is None:
        return Neighborhood(distances, rows, shares)
    copies = np.clip(fitted.counts - 1.0, 0.0, k)[:, None]
    shares = np.clip(k - copies - (np.cumsum(shares, axis=1) - shares), 0.0, shares)
    here = np.arange(len(rows))[:, None]
    return Neighborhood(
        np.hstack([np.zeros_like(copies, dtype=distances.dtype), distances]),
        np.hstack([here, rows]),
        np.hstack([copies, shares]),
    )


def _factors(model: OutlierFactors, found: Neighborhood, factor: Factor) -> Vector:
    """Minus the factor of each query."""
    reach, density = np.asarray(model.reach), np.asarray(model.density)
    if factor == "distance":
        quotient = (found.reach() + MIN_DISTANCE) / (found.mean(reach[found.rows]) + MIN_DISTANCE)
    else:
        own = 1.0 / (found.mean(np.maximum(found.distances, reach[found.rows])) + MIN_DISTANCE)
        quotient = found.mean(density[found.rows]) / own
    return -quotient.astype(model.dtype, copy=False)
