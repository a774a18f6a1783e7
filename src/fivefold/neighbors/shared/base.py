"""What every method of this chapter has: the parameters of a search, the rows of fit, and neighbours of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import DistanceMetric

from fivefold.core._sklearn import Tags
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Estimator, learned, not_fitted_error
from fivefold.core.estimators.params import Count, Range
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Doubles, Indices, Matrix, Table, Target, UserTable, UserWeights, Vector, Weights
from fivefold.kernels.base import Kernel, count, take
from fivefold.neighbors.shared.metric_parameters import (
    Metric,
    MetricTakes,
    as_index_metric,
    effective_metric,
    is_of_objects,
    refuse_tree,
)
from fivefold.neighbors.shared.neighbor_graphs import NeighborGraph, kept_neighbors, refuse_format
from fivefold.spatial.search import Neighborhoods, NeighborIndex
from fivefold.spatial.search.row_votes import RowVotes

SPARSE_METRICS = ("euclidean", "l2", "sqeuclidean", "cosine", "precomputed")  # sparse rows are made dense for others
TREES = ("KDTree", "BallTree")  # of any library; their rows are taken
Algorithm: TypeAlias = Literal["auto", "ball_tree", "kd_tree", "brute"]
Power: TypeAlias = Annotated[float, Range(0, open_low=True)]
Radius: TypeAlias = Annotated[float, Range(0)]


@dataclass(frozen=True)
class FittedRows:
    """The rows of fit, with their targets if there are any; what a search needs is made when one is asked for."""

    table: Any  # rows, objects, or distances
    n: int  # rows of the table of fit
    positions: Indices | None  # numbers in that table of the rows that are searched; None: all are
    counts: Doubles | None  # how many rows each of them stands for; None: one
    metric: Metric
    metric_params: dict[str, Any]
    algorithm: Algorithm
    leaf_size: int
    dtype: np.dtype[Any]
    target: Target | None = None  # codes of classes, or numbers

    def searched(self, X: Table | None) -> Any:  # NeighborIndex, or NeighborGraph
        """What is asked for the neighbours of these queries: given distances are a graph where they are sparse."""
        if self.metric == "precomputed" and issparse(self.table if X is None else X):
            return NeighborGraph(self.table)
        return self.index

    @cached_property
    def index(self) -> NeighborIndex:
        """The rows in the form of a search."""
        params = {name: value for name, value in self.metric_params.items() if value is not None}
        metric: Any = as_index_metric(self.metric)
        p = params.pop("p", 2.0)
        return NeighborIndex(
            self.table, metric, p=p, metric_params=params, algorithm=self.algorithm, leaf_size=self.leaf_size
        )

    def changed(self, **parts: Any) -> Self:
        """The same rows with other parts; the index stays."""
        made = replace(self, **parts)
        vars(made).update({name: made_once for name, made_once in vars(self).items() if name == "index"})
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What files hold: not the index, which is made again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def size(self) -> int:
        """How many rows are searched."""
        return self.n if self.positions is None else len(self.positions)

    @property
    def total(self) -> float:
        """How many rows there are, a weight of two counted as two."""
        return float(self.size if self.counts is None else self.counts.sum())

    def total_beside(self, X: Table | None) -> float:
        """How many rows there are for each query; a row of fit is asked about without its copies."""
        if X is not None:
            return self.total
        return self.total - (1.0 if self.counts is None else float(self.counts.max()))

    def nearest_units(self, X: Table | None, k: int, beyond: bool) -> tuple[Matrix, Indices, Doubles | None, Vector]:
        """The k nearest rows, a row of weight two being two of them, and how far away the next row is.

        Distances and numbers (m, a), how many rows each of them stands for (None: one), and, if asked for by `beyond`,
        the distance of the row after them (m,), or of the last one if there is none.
        """
        most = self.size - (X is None)
        if self.counts is None:
            D, rows = self.nearest(X, min(k + beyond, most))
            return D[:, :k], rows[:, :k], None, D[:, -1]
        ask = k + beyond
        while True:
            ask = min(ask, most)
            D, rows = self.nearest(X, ask)
            upto = np.cumsum(self.counts[rows], axis=1)
            if ask == most or (upto[:, -1] >= k + beyond).all():
                break
            ask *= 2
        weight = self.counts[rows]
        after = np.minimum((upto <= k).sum(axis=1), ask - 1)
        return D, rows, np.clip(k - upto + weight, 0.0, weight), D[np.arange(len(D)), after]

    def queries(self, X: Table | None) -> Table | None:
        """Admitted rows as the index takes them."""
        if X is None or self.metric == "precomputed":
            return X if X is None or self.positions is None else X[:, self.positions]
        return X.toarray() if issparse(X) and not issparse(self.table) else X

    def nearest(self, X: Table | None, k: int) -> tuple[Matrix, Indices]:
        """Distances (m, k) and numbers, among the rows that are searched, of the k nearest rows."""
        D, rows = self.searched(X).query(self.queries(X), k)
        return D.astype(self.dtype, copy=False), rows

    def within(self, X: Table | None, radius: float | Vector, *, sort: bool = True) -> Neighborhoods:
        """The rows within a distance, or one per query, of each query, numbered as `nearest` does."""
        each = np.ndim(radius) > 0  # one per query
        found = self.searched(X).query_radius(self.queries(X), float(np.max(radius, initial=0.0)), sort=sort)
        if each:
            found = kept_neighbors(found, found.distances <= np.repeat(np.ravel(radius), np.diff(found.indptr)))
        return found._replace(distances=found.distances.astype(self.dtype, copy=False))

    def radius_votes(
        self, X: Table | None, radius: float, by_distance: bool, sizes: Sequence[int] | None = None
    ) -> Doubles | None:
        """Sums of the votes of the rows within a distance of each query; None where a given graph is searched.

        By class, for columns of y with so many classes each, side by side; or, without `sizes`, the sum of the votes
        and those of votes times each target.
        """
        index = self.searched(X)
        if not isinstance(index, NeighborIndex):
            return None
        if "votes" not in vars(self):  # made once: the target does not change
            y = np.asarray(self.target)
            made = RowVotes.of_targets(y, self.counts) if sizes is None else RowVotes.of_classes(y, sizes, self.counts)
            vars(self)["votes"] = made
        return index.radius_votes(self.queries(X), radius, vars(self)["votes"], by_distance=by_distance)

    def numbered(self, rows: Indices) -> Indices:
        """Numbers in the table of fit."""
        return rows if self.positions is None else self.positions[rows]


class NeighborEstimator(Estimator):
    """Stores rows, and finds those near others.

    Parameters
    ----------
    algorithm
        "brute" compares with all rows, "kd_tree" and "ball_tree" leave out those that are too far; "auto" chooses by
        the shape of the table. Neighbours are the same.
    leaf_size
        rows in a leaf of a tree, at least.
    p
        the power of Minkowski's distance.
    metric
        the name of a distance, a function of two rows, a kernel of `fivefold.kernels` for the distance in its feature
        space, "edit" for strings, or "precomputed", where X holds distances to the rows of fit. "nan_euclidean" and
        "gower" take missing values, "gower" categories too.
    metric_params
        further arguments of the metric.
    n_jobs
        no effect: searches use all cores, and the result does not depend on their number.

    Attributes
    ----------
    effective_metric_, effective_metric_params_
        the metric by its shortest name, and its parameters.
    n_samples_fit_
        the number of rows of fit.
    """

    _: KW_ONLY
    algorithm: Algorithm = "auto"
    leaf_size: Count = 30
    p: Power | None = 2
    metric: str | Callable[..., Any] | Kernel | DistanceMetric = "minkowski"
    metric_params: dict[Any, Any] | None = None
    n_jobs: int | None = None

    takes = MetricTakes(Takes(sparse=True, outputs=True))

    effective_metric_ = learned("metric")
    effective_metric_params_ = learned("metric_params")
    n_samples_fit_ = learned("n")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _table_of(self, X: UserTable) -> UserTable:
        """What is admitted for X: the rows of another estimator of the chapter, and the numbers of objects."""
        if isinstance(X, NeighborEstimator):
            return X.model_.table
        if type(X).__name__ in TREES:
            return np.asarray(X.data)
        return np.arange(count(X), dtype=np.float64)[:, None] if is_of_objects(self.metric) else X

    def _beside(self, X: UserTable) -> dict[str, Any]:
        """What `_fit` gets besides the admitted X: the objects that their numbers stand for."""
        self._refuse_format(X)
        return {"objects": X} if is_of_objects(self.metric) else {}

    def _refuse_format(self, X: UserTable) -> None:
        if self.metric == "precomputed" and issparse(X):
            refuse_format(X)

    def _admit(self, X: UserTable) -> Table:
        if not is_of_objects(self.metric):
            self._refuse_format(X)
            return super()._admit(X)
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "model_")
        return X

    def _fitted_or_admitted(self, X: UserTable) -> Table | None:
        """Admitted rows; None for the rows of fit, each without itself."""
        if X is not None:
            return NeighborEstimator._admit(self, X)
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "model_")
        return None

    def _stored(
        self, X: Table, w: Weights | None = None, given: UserWeights = None, objects: Any = None,
        target: Target | None = None,
    ) -> FittedRows:  # fmt: skip
        """The rows of fit; `given` are the weights of all rows, w those that are not zero."""
        metric, params = effective_metric(self.metric, self.p, self.metric_params)
        refuse_tree(metric, params, self.algorithm)
        n, positions = X.shape[0], None
        if given is not None and len(kept := np.ravel(np.asarray(to_numpy(given), dtype=np.float64))) > n:
            n, positions = len(kept), np.flatnonzero(kept)
        counts = None if w is None or (w == 1).all() else np.asarray(w, dtype=np.float64)
        if metric == "precomputed":
            self._refuse_oblong(n, X.shape[1])
            X = X if positions is None else X[:, positions]
        if objects is not None:
            X = objects if positions is None else take(objects, positions)
            for known in ("n_features_in_", "feature_names_in_"):
                vars(self).pop(known, None)
        if metric == "gower" and "categories_in_" in vars(self):
            params.setdefault("categorical", list(vars(self)["categories_in_"].values))
        plain = isinstance(X, np.ndarray) or issparse(X)
        if plain:  # what users do to theirs later changes no answer
            X = X.toarray() if issparse(X) and metric not in SPARSE_METRICS else X.copy()
        return FittedRows(
            table=X,
            n=n, positions=positions, counts=counts, metric=metric, metric_params=params, algorithm=self.algorithm,
            leaf_size=int(self.leaf_size), dtype=X.dtype if plain else np.dtype(np.float64), target=target,
        )  # fmt: skip

    def _refuse_oblong(self, n: int, columns: int) -> None:
        if n != columns:
            raise ValueError(
                f"{type(self).__name__}: Precomputed matrix must be square: distances of n rows to themselves; X has "
                f"{n} rows and {columns} columns"
            )

    def _refuse_many(self, k: float, there: float, X: Table | None = None) -> None:
        """Refuse to ask for more neighbours than there are; without X of the rows of fit, which are not their own."""
        if k <= there:
            return
        asked = there if X is None else count(X)
        raise ValueError(
            f"{type(self).__name__}: Expected n_neighbors <= n_samples_fit, but n_neighbors = {k:g}, n_samples_fit = "
            f"{there:g}, n_samples = {asked:g}. Ask for fewer neighbours, or fit with more rows"
        )
