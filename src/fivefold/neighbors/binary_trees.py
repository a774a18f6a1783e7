"""Trees of rows for fast queries: KDTree and BallTree, with the methods of scikit-learn's classes.

A tree cuts its rows at the median of the widest column, down to leaves of one to two times `leaf_size` rows. Both
classes search by boxes where the metric is Minkowski's, and a BallTree by balls where it is another; a metric without
the triangle inequality, or a user's function, has every row compared. Neighbours are exact, and of equally near rows
the one with the smaller number comes first. Bentley (1975); Omohundro (1989).
"""

from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.types import Array, Doubles, Indices, Matrix, UserTable, UserWeights
from fivefold.density.sums.kernel_sums import KernelSums, PairwiseSums
from fivefold.density.sums.window_kernels import WindowKernel
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.named_metrics import vector_metric
from fivefold.spatial.search import Neighborhoods, NeighborIndex
from fivefold.spatial.search.tree_search import TreeKind, TreeSearch
from fivefold.spatial.smoothing_kernels import KERNELS

NODE = np.dtype([("idx_start", np.intp), ("idx_end", np.intp), ("is_leaf", np.intp), ("radius", np.float64)])


class BinaryTree:
    """What both trees have in common.

    Parameters
    ----------
    X
        The rows (n, d).
    leaf_size
        Leaves have at least this many rows, and fewer than twice as many.
    metric
        A name in `valid_metrics`, or, for a BallTree, a function of two rows.
    sample_weight
        How often each row counts in `kernel_density`.
    """

    valid_metrics: ClassVar[list[str]] = []
    _kind: ClassVar[TreeKind] = "kd_tree"

    def __init__(
        self,
        X: UserTable,
        leaf_size: int = 40,
        metric: Any = "minkowski",
        sample_weight: UserWeights | None = None,
        **kwargs: Any,
    ) -> None:
        if leaf_size < 1:
            raise ValueError("leaf_size must be greater than or equal to 1")
        self._X: Matrix = check_array(X, dtype=np.float64, order="C")
        self._leaf_size, self._metric, self._params = leaf_size, metric, kwargs
        self._weights = None if sample_weight is None else self._checked_weights(sample_weight)
        self._measure  # noqa: B018 - refuses a wrong metric now

    def _checked_weights(self, sample_weight: UserWeights) -> Doubles:
        w = np.asarray(check_array(sample_weight, dtype=np.float64, ensure_2d=False))
        if w.ndim != 1:
            raise ValueError("sample_weight must be a 1-dimensional array")
        if len(w) != len(self._X):
            raise ValueError(f"sample_weight has {len(w)} entries; there are {len(self._X)} rows")
        return w

    @cached_property
    def _measure(self) -> VectorMetric | None:
        """The metric; None for a user's function."""
        name, params = self._metric, dict(self._params)
        if callable(name) or name == "pyfunc":
            if self._kind == "kd_tree":
                raise ValueError(
                    f"metric {name} is not valid for {type(self).__name__}: it takes Minkowski's distances"
                )
            function = params.pop("func") if name == "pyfunc" else name
            if not isinstance(function(self._X[0], self._X[0], **params), Real):
                raise TypeError("Custom distance function must accept two vectors and return a float.")
            return None
        if name not in self.valid_metrics:
            raise ValueError(
                f"metric {name} is not valid for {type(self).__name__}: {', '.join(self.valid_metrics)} are"
            )
        return vector_metric(name, self._X, params.pop("p", 2.0), params)

    @cached_property
    def _search(self) -> TreeSearch:
        measure = self._measure or vector_metric("euclidean", self._X)  # a user's function has the nodes of this one
        depth = int(np.log2(max(1.0, (len(self._X) - 1) / self._leaf_size)))
        return TreeSearch(measure, measure.rows(self._X), self._kind, depth)

    @cached_property
    def _index(self) -> NeighborIndex:
        """What a user's function is asked through."""
        return NeighborIndex(self._X, self._metric, metric_params=self._params)

    @on_one_blas_thread
    def query(
        self,
        X: UserTable,
        k: int = 1,
        return_distance: bool = True,
        dualtree: bool = False,
        breadth_first: bool = False,
        sort_results: bool = True,
    ) -> Any:
        """Distances and numbers of the k nearest rows, of the shape of X with k in place of its last axis.

        `dualtree`, `breadth_first` and `sort_results` are accepted as in scikit-learn: results are the same, and
        sorted.
        """
        Q, shape = self._queries(X)
        if k > len(self._X):
            raise ValueError("k must be less than or equal to the number of training points")
        if self._measure is None:
            distances, rows = self._index.query(Q, k)
        else:
            values, rows = self._search.nearest(self._measure.rows(Q, True), np.full(len(Q), -1, np.int64), k)
            distances = self._measure.distances(values)
        distances, rows = distances.reshape(*shape, k), rows.reshape(*shape, k)
        return (distances, rows) if return_distance else rows

    @on_one_blas_thread
    def query_radius(
        self,
        X: UserTable,
        r: float | Array,
        return_distance: bool = False,
        count_only: bool = False,
        sort_results: bool = False,
    ) -> Any:
        """Numbers of the rows within a distance r, one array per query; with `return_distance` their distances too.

        r is one number, or one for each query. `count_only`: how many there are. `sort_results`: nearest first.
        """
        if count_only and return_distance:
            raise ValueError("count_only and return_distance cannot both be true")
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True")
        Q, shape = self._queries(X)
        radii = np.broadcast_to(np.asarray(r, dtype=np.float64), shape).reshape(-1)
        if count_only:
            return self._count(Q, radii).reshape(shape)
        found = self._within(Q, radii, sort_results)
        rows = found.by_query(found.rows).reshape(shape)
        return (rows, found.by_query(found.distances).reshape(shape)) if return_distance else rows

    def _within(self, Q: Matrix, radii: Doubles, sort: bool = False) -> Neighborhoods:
        if self._measure is None:
            return self._index.query_radius(Q, radii[0]) if len(set(radii)) == 1 else self._each_radius(Q, radii)
        own = np.full(len(Q), -1, np.int64)
        ends, rows, values = self._search.within(self._measure.rows(Q, True), own, self._limits(radii), sort)
        return Neighborhoods(ends, rows, self._measure.distances(values))

    def _each_radius(self, Q: Matrix, radii: Doubles) -> Neighborhoods:
        parts = [self._index.query_radius(Q[i : i + 1], radii[i]) for i in range(len(Q))]
        ends = np.concatenate([[0], np.cumsum([len(part.rows) for part in parts])])
        return Neighborhoods(
            ends, np.concatenate([part.rows for part in parts]), np.concatenate([part.distances for part in parts])
        )

    def _count(self, Q: Matrix, radii: Doubles) -> Indices:
        if self._measure is None:
            return self._within(Q, radii).counts()
        return self._search.count(self._measure.rows(Q, True), self._limits(radii))

    def _limits(self, radii: Doubles) -> Doubles:
        """What the rule computes at these distances."""
        distinct, which = np.unique(radii, return_inverse=True)
        assert self._measure is not None
        return np.array([self._measure.limit(float(radius)) for radius in distinct])[which]

    @on_one_blas_thread
    def two_point_correlation(self, X: UserTable, r: float | Array, dualtree: bool = False) -> Indices:
        """How many pairs of a query and a row are within each of the distances r."""
        Q, _ = self._queries(X)
        radii = np.atleast_1d(np.asarray(r, dtype=np.float64))
        return np.array([self._count(Q, np.full(len(Q), radius)).sum() for radius in radii])

    @on_one_blas_thread
    def kernel_density(
        self,
        X: UserTable,
        h: float,
        kernel: str = "gaussian",
        atol: float = 0.0,
        rtol: float = 1e-8,
        breadth_first: bool = True,
        return_log: bool = False,
    ) -> Doubles:
        """The sum of kernels of width h about the rows, at each query: n times a density, or its logarithm."""
        Q, shape = self._queries(X)
        if kernel not in KERNELS:
            raise ValueError(f"kernel = {kernel!r} is not recognized; there are {', '.join(KERNELS)}")
        if not h > 0:
            raise ValueError(f"the width h is {h}; it must be positive")
        w = np.ones(len(self._X)) if self._weights is None else self._weights
        window = WindowKernel(kernel)
        sums: KernelSums | PairwiseSums
        if self._measure is not None and self._measure.is_euclidean and self._measure.coordinates is None:
            sums = KernelSums(window, self._X, w)
        else:
            sums = PairwiseSums(window, self._X, w, self._metric, self._params)
        d = self._X.shape[1]
        scale = KERNELS[kernel].log_volume(d) + d * np.log(h)
        logs = sums.log_sums(Q, h, rtol=rtol, atol=atol * np.exp(scale) / w.sum()) - scale
        return (logs if return_log else np.exp(logs)).reshape(shape)

    def get_tree_stats(self) -> tuple[int, int, int]:
        """Nodes that queries passed over, leaves that they visited, and inner nodes that they visited, so far."""
        passed, leaves, inner = self._search.visits.tolist()
        return passed, leaves, inner

    def get_n_calls(self) -> int:
        """Rows that queries were compared with so far, at most."""
        return int(self._search.visits[1] * self._search.rows.Z.shape[2])

    def reset_n_calls(self) -> None:
        """Count from zero again."""
        self._search.visits[:] = 0

    def get_arrays(self) -> tuple[Matrix, Indices, Array, Doubles]:
        """Rows, their order in the leaves, nodes, and what bounds them."""
        return self.data, self.idx_array, self.node_data, self.node_bounds

    @property
    def data(self) -> Matrix:
        """The rows (n, d)."""
        return self._X

    @property
    def idx_array(self) -> Indices:
        """The numbers of the rows in the order of the leaves (n,)."""
        return self._search.rows.order

    @property
    def node_data(self) -> Any:
        """Where each node begins and ends in `idx_array`, whether it is a leaf, and its radius: a structured array."""
        ends, nodes = self._search.rows.ends, np.zeros(len(self._search.rows.ends), dtype=NODE)
        nodes["idx_start"], nodes["idx_end"] = ends[:, 0], ends[:, 1]
        nodes["is_leaf"][-self._search.rows.leaves :] = 1
        nodes["radius"] = self._radii()
        return nodes

    @property
    def node_bounds(self) -> Doubles:
        """Corners of boxes (2, nodes, d), or centres of balls (1, nodes, d)."""
        rows = self._search.rows
        return np.stack([rows.low, rows.high]) if self._kind == "kd_tree" else self._search.balls[0][None, :, :, 0]

    def _radii(self) -> Doubles:
        if self._kind == "ball_tree":
            return self._search.balls[1]
        rows = self._search.rows
        return np.sqrt(np.square(0.5 * (rows.high - rows.low)).sum(axis=1))

    def _queries(self, X: UserTable) -> tuple[Matrix, tuple[int, ...]]:
        """Queries as rows, and the shape of the answer."""
        Q = np.asarray(X, dtype=np.float64)
        if Q.shape[-1:] != self._X.shape[1:]:
            raise ValueError("query data dimension must match training data dimension")
        if not np.isfinite(Q).all():
            raise ValueError("Input X contains NaN or infinity: queries of a tree are finite numbers")
        return np.ascontiguousarray(Q.reshape(-1, Q.shape[-1])), Q.shape[:-1]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the tree is built again."""
        return {name: getattr(self, name) for name in ("_X", "_leaf_size", "_metric", "_params", "_weights")}


class KDTree(BinaryTree):
    """A kd-tree: nodes are boxes.

    Examples
    --------
    >>> distances, rows = KDTree([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]).query([[0.0, 0.0]], k=2)
    >>> distances
    array([[0., 5.]])
    """

    valid_metrics: ClassVar[list[str]] = [
        "chebyshev",
        "cityblock",
        "euclidean",
        "infinity",
        "l1",
        "l2",
        "manhattan",
        "minkowski",
        "p",
    ]
    _kind = "kd_tree"


class BallTree(BinaryTree):
    """A ball tree: nodes are balls, by any metric.

    Examples
    --------
    >>> tree = BallTree([[0.0, 0.0], [0.0, 1.5]], metric="haversine")
    >>> tree.query_radius([[0.0, 0.1]], r=1.0, count_only=True)
    array([1])
    """

    valid_metrics: ClassVar[list[str]] = sorted(
        [
            *KDTree.valid_metrics,
            *("seuclidean", "mahalanobis", "hamming", "canberra", "braycurtis", "jaccard", "dice", "rogerstanimoto"),
            *("russellrao", "sokalmichener", "sokalsneath", "haversine", "pyfunc"),
        ]
    )
    _kind = "ball_tree"
