"""K-medoids: K rows of the table with a small sum of distances, by any metric, from all rows to the nearest of them.

    min over medoids m_1..m_K among the rows of  sum_i w_i min_k d(x_i, m_k)

A medoid is a row, so it can be shown as an example of its cluster, and nothing but distances is needed.
Swaps of a medoid with another row are made while they lower the sum (FasterPAM): spatial/centres/medoids.py.
Kaufman & Rousseeuw (1990); Schubert & Rousseeuw (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from fivefold.cluster.centres.restarts import IMPROVEMENT_RATIO, check_enough_rows, warn_empty_clusters
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Clusterer, Transformer, learned
from fivefold.core.estimators.params import Count, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Indices, Matrix, Rng, UserTable, Weights
from fivefold.spatial.centres.medoids import Medoids, built_medoids, drawn_medoids, nearest_medoids, swap_medoids
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.row_sampling import canonical_order
from fivefold.spatial.search import NeighborIndex


@dataclass(frozen=True)
class MedoidsModel:
    """K medoids and how well they represent the rows they are among."""

    centres: Matrix | None  # (K, d); None where only distances are known
    indices: Indices  # (K,) rows of X
    inertia: float  # sum of w d
    n_iter: int


class KMedoids(Transformer, Clusterer):
    """K-medoids clustering: the centre of a cluster is one of its rows, and any metric will do.

    Parameters
    ----------
    n_clusters
        number of clusters.
    metric
        the distance between rows: a name, a function of two rows, or "precomputed" if X holds the distances between
        all rows (n, n), and in `predict` those of new rows to the rows of fit.
    init
        how to start: "random" draws distinct rows by weight, "build" adds the row that lowers the sum of distances
        most, one after the other, which takes K passes over all distances and leaves nothing to chance.
    n_init
        runs from different starts, of which the one with the smallest sum of distances is kept.
    max_iter
        maximum number of passes over the rows, each tried as a medoid, in one run.
    random_state
        seed of the draws of starting medoids.

    Attributes
    ----------
    cluster_centers_
        the medoids (n_clusters, n_features); None with metric="precomputed".
    medoid_indices_
        the rows of X that are the medoids.
    labels_
        the cluster of each row.
    inertia_
        weighted sum of distances, not squared, to the nearest medoid.
    n_iter_
        passes of the run that was kept.

    Examples
    --------
    >>> from fivefold.cluster import KMedoids
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [53.0], [90.0]]
    >>> model = KMedoids(2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().tolist()), round(model.inertia_, 6)
    ([1.0, 52.0], 44.0)
    """

    n_clusters: Count = 8
    _: KW_ONLY
    metric: (
        Literal[
            "euclidean", "manhattan", "cityblock", "chebyshev", "cosine", "correlation", "canberra", "hamming",
            "precomputed",
        ]
        | Callable[..., Any]
    ) = "euclidean"  # fmt: skip
    init: Literal["random", "build"] = "random"
    n_init: Count = 1
    max_iter: Count = 300
    random_state: Seed = None

    card = Card(
        applications=("clustering", "quantization", "data mining"),
        use="A few thousand rows with any distance between them, outliers, or clusters to be shown by an example of "
        "each. Time and memory grow with the square of the rows: for larger tables of numbers use KMedians or KMeans.",
        steps=(
            "Compute the distances between all rows.",
            "Draw K distinct rows as medoids, or add the best row K times.",
            "Try each row as a medoid; if a swap with one of the medoids lowers the sum of distances, make the best.",
            "Repeat until no swap lowers the sum.",
            "Give each row to its nearest medoid.",
        ),
        source="Kaufman & Rousseeuw (1990); Schubert & Rousseeuw (2021), FasterPAM",
        see_also=("KMedians", "KMeans"),
        variants=({"n_clusters": 3, "init": "build", "metric": "manhattan"}, {"n_clusters": 1}),
        search={"n_clusters": (2, 3, 5, 8, 12)},
        growth=2.0,
    )

    cluster_centers_ = learned("centres")
    medoid_indices_ = learned("indices")
    inertia_ = learned("inertia")
    n_iter_ = learned("n_iter")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _fit(self, X: Matrix, w: Weights) -> None:
        check_enough_rows(self, X)
        refuse_square("KMedoids", X.shape[0], 1, "Fit a sample of the rows, or use KMedians or KMeans")
        rng, D = check_random_state(self.random_state), self._all_distances(X)
        order = np.argsort(D @ w, kind="stable") if self.metric == "precomputed" else canonical_order(X)
        runs = 1 if self.init == "build" else self.n_init
        done: list[Medoids] = []
        with fit_steps(self, "pass", runs * self.max_iter, X) as monitor:

            def watch(medoids: Indices, cost: float) -> bool:
                return monitor(lambda: self._model(X, medoids, cost, 0), cost)

            while len(done) < runs and not (done and done[-1].reason in ("stopped", "interrupted")):
                start = self._start(D, w, order, rng)
                done.append(swap_medoids(D, w, start, order, self.max_iter, watch))
        best = done[0]
        for run in done[1:]:
            best = run if run.cost < IMPROVEMENT_RATIO * best.cost else best
        if done[-1].reason == "interrupted":
            warn_kept_best(self, sum(run.n_iter for run in done), "pass")
        elif best.reason == "max_iter":
            warn(
                f"KMedoids: swaps still lowered the sum of distances after max_iter={self.max_iter} passes; allow more",
                ConvergenceWarning,
            )
        warn_empty_clusters(self, len(np.unique(best.labels)))
        self.model_, self.labels_ = self._model(X, best.rows, best.cost, best.n_iter), best.labels

    def _start(self, D: Matrix, w: Weights, order: Indices, rng: Rng) -> Indices:
        if self.init == "build":
            return built_medoids(D, w, self.n_clusters, order)
        return drawn_medoids(D, w, self.n_clusters, order, rng)

    def _model(self, X: Matrix, medoids: Indices, cost: float, n_iter: int) -> MedoidsModel:
        return MedoidsModel(None if self.metric == "precomputed" else X[medoids], medoids, cost, n_iter)

    def _label(self, X: Matrix) -> None:
        if len(self.labels_) < X.shape[0]:  # rows of weight zero were left out, and numbers of rows count them
            found = [int((X == centre).all(axis=1).argmax()) for centre in self.model_.centres]
            self.model_ = MedoidsModel(self.model_.centres, np.array(found), self.model_.inertia, self.model_.n_iter)
            super()._label(X)

    def _assign(self, X: Matrix) -> Codes:
        return nearest_medoids(self._to_medoids(X))[0]

    def transform(self, X: UserTable) -> Matrix:
        """The distance of each row to each medoid."""
        X = self._admit(X)
        return np.ascontiguousarray(self._to_medoids(X).T).astype(X.dtype, copy=False)

    def _all_distances(self, X: Matrix) -> Matrix:
        """Distances of all points (columns) to all candidates (rows)."""
        if self.metric != "precomputed":
            return self._distances(X, X)
        n, d = X.shape
        if n != d:
            raise ValueError(
                f"KMedoids: metric='precomputed' needs the distances between all rows, (n, n); X is {X.shape}. "
                "Leave out rows of weight zero with their columns"
            )
        if (X < 0).any():
            i, j = np.argwhere(X < 0)[0]
            raise ValueError(f"KMedoids: X[{i}, {j}] is {X[i, j]:g}; distances are not negative")
        return np.ascontiguousarray(X.T, dtype=np.float64)

    def _to_medoids(self, X: Matrix) -> Matrix:
        """Distances of rows (columns) to the medoids (rows), (K, n)."""
        if self.metric == "precomputed":
            return np.ascontiguousarray(X[:, self.model_.indices].T, dtype=np.float64)
        return self._distances(self.model_.centres, X)

    def _distances(self, A: Matrix, B: Matrix) -> Matrix:
        """Distances (len(A), len(B)) in double precision."""
        A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
        if self.metric == "euclidean":
            return np.sqrt(squared_distances(A, None if A is B else B))
        return NeighborIndex(B, self.metric).distances(A)

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.indices)
