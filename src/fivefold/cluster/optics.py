"""OPTICS: the order of rows in which dense regions are dents of a plot, and the clusters that are read off it.

    core_i      = distance of row i to its min_samples-th nearest row, itself the first
    reach(i, j) = max(core_i, d(i, j))            how row j is reached from a row i that was visited before

The next row is always the one that is reached at the least distance. Drawn in the order of visits, these distances are
low inside clusters and high between them, for clusters of all densities at once; a level of the plot is the clustering
of DBSCAN at that radius, and dents between steep slopes are clusters of different densities, one inside the other.

Ankerst, Breunig, Kriegel & Sander (1999); Schubert & Gertz (2018), predecessor correction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.utils.validation import check_memory

from fivefold.cluster.neighborhoods.base import Algorithm, Metric, NeighborhoodClusterer
from fivefold.cluster.neighborhoods.reachability import BLOCK_VISITS, ReachabilityGraph, reachability_graph
from fivefold.cluster.neighborhoods.steep_area_loops import label_smallest, steep_clusters
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, Range
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Indices, Table, UserTable

Size: TypeAlias = Annotated[int, Range(2)] | Fraction
Radius: TypeAlias = Annotated[float, Range(0)]


@dataclass(frozen=True)
class OrderedClusters:
    """The order of the rows of fit, and their labels."""

    graph: ReachabilityGraph
    labels: Codes  # (n,), -1 for noise
    hierarchy: Indices | None = None  # (K, 2): first and last place of each cluster in the order


class _cluster_places(learned):
    """Clusters as places of the order, where they are read off by slopes."""

    def _read(self, estimator: object) -> Any:
        found = super()._read(estimator)
        if found is None:
            raise AttributeError(f'{self._name} is there with cluster_method="xi"')
        return found


class OPTICS(NeighborhoodClusterer):
    """Clusters of any form and of different densities, read off the order in which rows are reached.

    Parameters
    ----------
    min_samples
        rows within the core distance of a row, itself included; a fraction is a share of all rows.
    max_eps
        the largest distance at which a row is reached; less takes less time.
    cluster_method
        "xi" reads clusters off by slopes of the plot, "dbscan" by a level.
    eps
        the level of "dbscan": None for max_eps.
    xi
        a slope is steep if the distance changes by at least this share from one row to the next.
    predecessor_correction
        whether rows at the end of a cluster that were reached from outside it are cut off.
    min_cluster_size
        rows of a cluster of "xi", at least; a fraction is a share of all rows; None for min_samples.
    memory
        a folder, or a joblib.Memory, that keeps the order of the rows for the next fit with other slopes or levels.

    Attributes
    ----------
    ordering_
        rows in the order of visits.
    reachability_
        the distance at which each row was reached, by row; infinite for the first row of each connected part.
    core_distances_
        the distance of each row to its min_samples-th nearest, by row; infinite beyond max_eps.
    predecessor_
        the row that each row was reached from, -1 for none.
    cluster_hierarchy_
        first and last place of each cluster in the order, smaller ones before those around them; with "xi" only.

    Examples
    --------
    >>> from fivefold.cluster import OPTICS
    >>> X = [[1.0, 2.0], [2.1, 5.0], [3.0, 6.0], [8.0, 7.0], [8.1, 8.0], [7.0, 3.1]]
    >>> model = OPTICS(min_samples=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1])
    >>> model.cluster_hierarchy_.tolist()
    [[0, 2], [3, 5], [0, 5]]
    """

    _: KW_ONLY
    min_samples: Size = 5
    max_eps: Radius = np.inf
    metric: Metric = "minkowski"
    p: Annotated[float, Range(1)] = 2
    metric_params: dict[Any, Any] | None = None
    cluster_method: Literal["xi", "dbscan"] = "xi"
    eps: Radius | None = None
    xi: Fraction = 0.05
    predecessor_correction: bool = True
    min_cluster_size: Size | None = None
    algorithm: Algorithm = "auto"
    leaf_size: Count = 30
    memory: Any = None
    n_jobs: int | None = None

    card = Card(
        applications=("clustering", "outlier detection"),
        use="Clusters of any form, number and density, and clusters inside clusters, in few columns of like scale; the "
        "plot of reachability shows them all before one is chosen. Where only labels are wanted, use HDBSCAN.",
        steps=(
            "Find the distance of each row to its min_samples-th nearest.",
            "Visit the rows, always the one next that is nearest to those visited.",
            "Draw the distances in this order: dents are clusters.",
            "Cut the plot at a level, or take the dents between steep slopes.",
        ),
        source="Ankerst, Breunig, Kriegel & Sander (1999)",
        see_also=("DBSCAN", "HDBSCAN", "MeanShift"),
        variants=(
            {"cluster_method": "dbscan", "eps": 2.0, "max_eps": 5.0},
            {"min_samples": 0.1, "metric": "manhattan", "predecessor_correction": False},
        ),
        growth=2.0,
    )

    ordering_, core_distances_ = learned("graph.ordering"), learned("graph.core_distances")
    reachability_, predecessor_ = learned("graph.reachability"), learned("graph.predecessor")
    cluster_hierarchy_ = _cluster_places("hierarchy")

    def _fit(self, X: Table) -> None:
        n = X.shape[0]
        least = _row_count("OPTICS", self.min_samples, n, "min_samples")
        size = _row_count("OPTICS", self.min_cluster_size or self.min_samples, n, "min_cluster_size")
        level = self.max_eps if self.eps is None else self.eps
        if self.cluster_method == "dbscan" and level > self.max_eps:
            raise ValueError(
                f"OPTICS: eps={level:g} is larger than max_eps={self.max_eps:g}, up to which rows are reached; set eps "
                "to less, or max_eps to more"
            )
        if self.metric in PAIRWISE_BOOLEAN_FUNCTIONS and not _is_binary(X):
            warn(
                f"OPTICS: metric={self.metric!r} compares truth values, and all numbers but 0 count as true. Give a "
                "table of 0 and 1 if this is meant",
                DataConversionWarning,
            )

        def model_of(graph: ReachabilityGraph) -> OrderedClusters:
            if self.cluster_method == "dbscan":
                return OrderedClusters(graph, _labels_at(graph, level))
            return OrderedClusters(graph, *_labels_of_slopes(graph, least, size, self.xi, self.predecessor_correction))

        self.model_ = model_of(self._graph(X, least, model_of))

    def _graph(
        self, X: Table, least: int, model_of: Callable[[ReachabilityGraph], OrderedClusters]
    ) -> ReachabilityGraph:
        """The order of the rows, from the memory where it has it."""
        if self.memory is not None:
            options = {name: getattr(self, name) for name in ("metric", "p", "metric_params", "algorithm", "leaf_size")}
            found = check_memory(self.memory).cache(compute_optics_graph)(
                X, min_samples=least, max_eps=self.max_eps, n_jobs=None, **options
            )
            return ReachabilityGraph(*found)
        index = self._index(X, self.algorithm, int(self.leaf_size), self.p)
        with fit_steps(self, "block", -(-index.n // BLOCK_VISITS), X) as report:

            def monitor(done: int, so_far: Callable[[], ReachabilityGraph]) -> bool:
                try:
                    return report(lambda: model_of(so_far()), done / index.n)
                except KeyboardInterrupt:
                    warn_kept_best(self, done, "row")
                    return True

            return _warned(reachability_graph("OPTICS", index, least, float(self.max_eps), monitor))


def compute_optics_graph(
    X: UserTable,
    *,
    min_samples: float,
    max_eps: float,
    metric: Metric,
    p: float,
    metric_params: dict[Any, Any] | None,
    algorithm: Algorithm,
    leaf_size: int,
    n_jobs: int | None,
) -> tuple[Indices, Doubles, Doubles, Indices]:
    """The order of rows that `OPTICS` finds, their core distances, reachability and predecessors.

    Examples
    --------
    >>> from fivefold.cluster import compute_optics_graph
    >>> ordering, core_distances, reachability, predecessor = compute_optics_graph(
    ...     [[0.0], [1.0], [3.0], [9.0]], min_samples=2, max_eps=5.0, metric="euclidean", p=2, metric_params=None,
    ...     algorithm="auto", leaf_size=30, n_jobs=None,
    ... )
    >>> ordering.tolist(), reachability.tolist(), predecessor.tolist()
    ([0, 1, 2, 3], [inf, 1.0, 2.0, inf], [-1, 0, 1, -1])
    """
    graph = (
        OPTICS(
            min_samples=min_samples,
            max_eps=max_eps,
            metric=metric,
            p=p,
            metric_params=metric_params,
            cluster_method="dbscan",  # which costs nothing
            algorithm=algorithm,
            leaf_size=leaf_size,
            n_jobs=n_jobs,
        )
        .fit(X)
        .model_.graph
    )
    return graph.ordering, graph.core_distances, graph.reachability, graph.predecessor


def cluster_optics_dbscan(*, reachability: Doubles, core_distances: Doubles, ordering: Indices, eps: float) -> Codes:
    """The labels of DBSCAN at a radius, up to rows at the rim of clusters, from what `OPTICS` found.

    Examples
    --------
    >>> from fivefold.cluster import OPTICS, cluster_optics_dbscan
    >>> model = OPTICS(min_samples=2).fit([[0.0], [1.0], [3.0], [9.0], [9.5]])
    >>> cluster_optics_dbscan(
    ...     reachability=model.reachability_, core_distances=model.core_distances_, ordering=model.ordering_, eps=1.5
    ... )
    array([ 0,  0, -1,  1,  1])
    """
    return _labels_at(_given(ordering, core_distances, reachability), eps)


def cluster_optics_xi(
    *,
    reachability: Doubles,
    predecessor: Indices,
    ordering: Indices,
    min_samples: float,
    min_cluster_size: float | None = None,
    xi: float = 0.05,
    predecessor_correction: bool = True,
) -> tuple[Codes, Indices]:
    """Labels, and clusters as first and last places of the order, from the slopes of what `OPTICS` found.

    Examples
    --------
    >>> from fivefold.cluster import OPTICS, cluster_optics_xi
    >>> model = OPTICS(min_samples=2).fit([[0.0], [1.0], [1.5], [9.0], [9.4], [10.0]])
    >>> labels, clusters = cluster_optics_xi(
    ...     reachability=model.reachability_, predecessor=model.predecessor_, ordering=model.ordering_, min_samples=2
    ... )
    >>> labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    n = len(reachability)
    least = _row_count("cluster_optics_xi", min_samples, n, "min_samples")
    size = _row_count("cluster_optics_xi", min_cluster_size or min_samples, n, "min_cluster_size")
    graph = _given(ordering, reachability, reachability, predecessor)
    return _labels_of_slopes(graph, least, size, xi, predecessor_correction)


def _given(
    ordering: Sequence[int] | Indices,
    core: Sequence[float] | Doubles,
    reachability: Sequence[float] | Doubles,
    predecessor: Sequence[int] | Indices = (),
) -> ReachabilityGraph:
    """What a caller found before, as arrays."""
    return ReachabilityGraph(
        np.asarray(ordering, np.int64),
        np.asarray(core, np.float64),
        np.asarray(reachability, np.float64),
        np.asarray(predecessor, np.int64),
    )


def _row_count(owner: str, size: float, n: int, name: str) -> int:
    """A number of rows, given as it is or as a share of all."""
    if size > n:
        raise ValueError(
            f"{owner}: {name}={size:g} must be no greater than the number of rows, n_samples={n}. Set it to less or to "
            "a fraction, which is a share of the rows"
        )
    return int(size) if size > 1 else max(2, int(size * n))


def _is_binary(X: Table) -> bool:
    """Is every number 0 or 1?"""
    values = X.data if issparse(X) else X
    return bool(((values == 0) | (values == 1)).all())


def _warned(graph: ReachabilityGraph) -> ReachabilityGraph:
    """The graph; a warning where no row is reached from another."""
    if np.isinf(graph.reachability).all():
        warn(
            "OPTICS: All reachability values are inf: no row is within max_eps of a dense one, all are noise. Set a "
            "larger max_eps or a smaller min_samples"
        )
    return graph


def _labels_at(graph: ReachabilityGraph, level: float) -> Codes:
    """Clusters of rows that are reached at most at this level one after the other; others are noise."""
    apart, dense = graph.reachability > level, graph.core_distances <= level
    labels = np.empty(len(apart), np.intp)
    labels[graph.ordering] = np.cumsum((apart & dense)[graph.ordering]) - 1
    labels[apart & ~dense] = -1
    return labels


def _labels_of_slopes(
    graph: ReachabilityGraph, least: int, size: int, xi: float, correct: bool
) -> tuple[Codes, Indices]:
    """Labels of the smallest clusters between steep slopes, and the places of all."""
    order, n = graph.ordering, len(graph.ordering)
    place = np.full(n + 1, -1)  # the last entry is that of no row
    place[order] = np.arange(n)
    r, labels = np.append(graph.reachability[order], np.inf), np.empty(n, np.intp)
    clusters = steep_clusters(r, place[graph.predecessor[order]], float(xi), least, size, correct)
    label_smallest(order, clusters, labels)
    return labels, clusters
