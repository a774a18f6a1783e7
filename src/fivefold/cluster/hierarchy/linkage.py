"""Linkage: the tree of merges of n rows, as SciPy writes it.

    single     min |x - y|          complete   max |x - y|            over x in a and y in b
    average    mean |x - y|         weighted   mean of the two parts' distances
    centroid   |c_a - c_b|          median     the same, where a new centre is halfway between two
    ward       sqrt(2 n_a n_b / (n_a + n_b)) |c_a - c_b|

The two closest clusters merge until one is left. All take O(n^2) time (centroid and median nearly always). Ward,
centroid, median and single compute distances from the rows and take O(n) memory; the others, and Ward where rows are
few and wide, keep n (n - 1) / 2 distances, and merge in place. Murtagh (1983); Bruynooghe (1977); Müllner (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array

from fivefold.cluster.hierarchy import matrix_loops, scan_loops
from fivefold.cluster.hierarchy.label_loops import name_nodes
from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.parallel import map_items, run_team, team_size
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices, Matrix, UserTable, Vector
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.named_metrics import vector_metric
from fivefold.spatial.search.brute_force_loops import LANES, pack_panels

Method = Literal["ward", "complete", "average", "single", "weighted", "centroid", "median"]
Monitor = Callable[[float], bool]  # told of the height of the last merge: is this enough?
MATRIX_KINDS = {
    "complete": matrix_loops.COMPLETE,
    "average": matrix_loops.AVERAGE,
    "weighted": matrix_loops.WEIGHTED,
    "ward": matrix_loops.WARD,
}
CENTRE_KINDS = {"ward": scan_loops.WARD, "centroid": scan_loops.CENTROID, "median": scan_loops.MEDIAN}
METHODS = ("ward", "complete", "average", "single", "weighted", "centroid", "median")
SECONDS_PER_DIFFERENCE = 4e-10  # time per coordinate: what decides how many threads pay
ROWS_PER_TILE = 64  # rows whose distances are computed together
MIN_TILED_ROWS = 512  # fewer are not worth a thread
WIDE_ROWS = 16  # columns from which it pays to compute each distance once, and not again for every merge
SQUARE_ROWS = 320  # up to this many, all distances are written out as a square
SMALL_MATRIX = 1 << 21  # distances that are kept without a thought: 16 MB
REPORTS = 64  # times that a long merge is looked at from outside: it can be interrupted then
OVERFLOW = "distances are not finite: numbers as large as these overflow when squared. Scale the columns first"


@on_one_blas_thread
def linkage(X: UserTable, method: Method = "single", metric: str = "euclidean") -> Doubles:
    """The merges of the rows of X, or of a condensed vector of distances, as the matrix of SciPy (n - 1, 4).

    Row i says that clusters Z[i, 0] and Z[i, 1] merge at height Z[i, 2] into cluster n + i, of Z[i, 3] rows; clusters
    below n are rows. The same as `scipy.cluster.hierarchy.linkage` except for the order of equal distances.

    Examples
    --------
    >>> from fivefold.cluster import linkage
    >>> linkage([[0.0], [1.0], [9.0], [12.0]], "ward").round(3).tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 3.0, 2.0], [4.0, 5.0, 14.142, 4.0]]
    """
    if method not in METHODS:
        raise ValueError(f"linkage: method={method!r} is not known; there are {', '.join(METHODS)}")
    given = np.asarray(X, dtype=np.float64) if np.ndim(X) == 1 else None
    if given is None:
        rows = X if _is_plain(X) else check_array(X, dtype=np.float64)
        _refuse_few(len(rows))
        return tree_of_rows(rows, method, metric)
    n = round((1 + np.sqrt(1 + 8 * len(given))) / 2)
    if n * (n - 1) // 2 != len(given):
        raise ValueError(
            f"linkage: a vector of {len(given)} distances is not the condensed matrix of any number of rows: n rows "
            "have n (n - 1) / 2. Give a table of rows, or what scipy.spatial.distance.pdist returns"
        )
    if not np.isfinite(given).all():
        raise ValueError("linkage: some distances are not finite. Leave out rows whose distances are unknown")
    _refuse_few(n)
    return tree_of_distances(given.copy(), n, method)


def _is_plain(X: UserTable) -> bool:
    """Is X a table of finite doubles already? To check anything takes as long as to merge a small one."""
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0 and bool(np.isfinite(X).all())


def _refuse_few(n: int) -> None:
    if n < 2:
        raise ValueError(f"linkage: n_samples={n}; a hierarchy needs at least 2 rows")


def tree_of_rows(
    X: Matrix, method: str, metric: str = "euclidean", monitor: Monitor | None = None, owner: str = "linkage"
) -> Doubles:
    """The merges of rows of finite numbers; `owner` is named where memory does not hold their distances."""
    if method in CENTRE_KINDS:
        if metric not in ("euclidean", "l2"):
            raise ValueError(f"linkage {method!r} is made of centres, so its metric is 'euclidean'; got {metric!r}")
        n, d = X.shape
        if method == "ward" and d >= WIDE_ROWS and n * (n - 1) // 2 <= max(SMALL_MATRIX, n * d):
            return tree_of_distances(condensed_distances(vector_metric(metric, X), X, owner), n, method, monitor)
        return _merge_centres(np.ascontiguousarray(X, dtype=np.float64), method, monitor)
    chosen = vector_metric(metric, X)
    if method == "single":
        return _spanning_tree(chosen, X, monitor)
    return tree_of_distances(condensed_distances(chosen, X, owner), len(X), method, monitor)


def condensed_distances(metric: VectorMetric, X: Matrix, owner: str = "linkage") -> Doubles:
    """The distances of all pairs (n (n - 1) / 2,), as SciPy's pdist orders them."""
    n = len(X)
    refuse_square(
        owner, n, 0.5, "Use linkage 'ward' or 'single', which keep no distances, or merge the centres of KMeans."
    )
    rows, D = metric.rows(X), np.empty(n * (n - 1) // 2)
    Z = _panels(rows)
    squared = metric.finish == "root" and metric.rule.p == 2.0
    finish = matrix_loops.ROOT if squared else matrix_loops.HALF if metric.finish == "half" else matrix_loops.PLAIN
    high = ROWS_PER_TILE if n > MIN_TILED_ROWS else n
    tiles = -(-n // high)

    def tile(i: int) -> None:
        lo, hi = i * high, min(n, (i + 1) * high)
        matrix_loops.fill_condensed(metric.rule, finish, rows, Z, lo, hi, np.empty(LANES), D)

    if tiles == 1:
        tile(0)
    else:
        map_items(tile, tiles)
    if metric.finish == "root" and metric.rule.p not in (1.0, 2.0, np.inf):
        np.power(D, 1 / metric.rule.p, out=D)
    return D


def tree_of_distances(D: Doubles, n: int, method: str, monitor: Monitor | None = None) -> Doubles:
    """The merges of n rows by their condensed distances, which are overwritten."""
    merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    if method == "single":
        if not matrix_loops.matrix_spanning_tree(D, n, np.empty(n), np.empty(n, np.int64), merges, heights):
            raise ValueError(f"linkage: {OVERFLOW}")
    elif method in MATRIX_KINDS and n <= SQUARE_ROWS:
        chain, S = (
            np.empty(n, np.int64),
            np.empty((n, n | 1)),
        )  # an odd width: columns do not fall on the same cache lines
        if not matrix_loops.follow_square_chain(MATRIX_KINDS[method], D, S, np.ones(n), chain, merges, heights):
            raise ValueError(f"linkage: {OVERFLOW}")
        if monitor is not None:
            monitor(float(heights[-1]))
    elif method in MATRIX_KINDS:
        state = matrix_loops.MatrixScan(
            kind=np.array([MATRIX_KINDS[method]]),
            D=D,
            ids=np.arange(n),
            size=np.ones(n),
            gone=np.zeros(n, dtype=bool),
            least=np.empty((matrix_loops.MAX_TASKS, 8)),
            place=np.empty((matrix_loops.MAX_TASKS, 8), np.int64),
            counters=np.array([n, n, 0, 0, 0, 0]),
            chain=np.empty(n, np.int64),
            moved=np.empty(n, np.int64),
            merges=merges,
            heights=heights,
        )
        _run(matrix_loops.follow_matrix_chain, state, n, 1.0, monitor)
    else:
        raise ValueError(f"linkage {method!r} needs rows: it is made of centres, which distances alone do not give")
    return _named(merges, heights, n)


def _spanning_tree(metric: VectorMetric, X: Matrix, monitor: Monitor | None) -> Doubles:
    rows = metric.rows(X)
    n, d = rows.shape
    Z = _panels(rows)
    lanes = len(Z) * LANES
    barrier = np.zeros(lanes)
    barrier[0] = np.inf
    state = scan_loops.SpanningScan(
        rule=metric.rule,
        Z=Z,
        ids=np.arange(lanes),
        near=np.full(lanes, np.inf),
        source=np.zeros(lanes, np.int64),
        barrier=barrier,
        q=np.empty(d),
        **_scratch(len(Z), n),
    )
    _run(scan_loops.grow_spanning_tree, state, n, float(d), monitor)
    return _named(state.merges, metric.distances(state.heights), n)


def _merge_centres(X: Doubles, method: str, monitor: Monitor | None) -> Doubles:
    n, d = X.shape
    Z = _panels(X - X.mean(axis=0))  # centres of rows far from the origin would lose digits
    lanes = len(Z) * LANES
    state = scan_loops.CentreScan(
        kind=np.array([CENTRE_KINDS[method]]),
        Z=Z,
        ids=np.arange(lanes),
        size=np.ones(lanes),
        smallest=np.ones(len(Z)),
        near=np.full(lanes, np.inf),
        source=np.full(lanes, -1),
        q=np.empty(d),
        gap=np.empty(1),
        gaps=np.empty(lanes),
        chain=np.empty(n, np.int64),
        moved=np.empty(n, np.int64),
        **_scratch(len(Z), n),
    )
    if method == "ward":
        _run(scan_loops.follow_chain, state, n, float(d), monitor)
        return _named(state.merges, np.sqrt(2.0 * state.heights), n)
    _run(scan_loops.merge_closest, state, n, float(d), monitor)
    return _named(state.merges, np.sqrt(state.heights), n, ordered=True)


def _scratch(panels: int, n: int) -> dict[str, Any]:
    """What the two kinds of scans have in common."""
    count = np.zeros(scan_loops.COUNTERS, np.int64)
    count[[scan_loops.PANELS, scan_loops.SLOTS, scan_loops.ALIVE]] = panels, n, n
    count[scan_loops.BEFORE] = -1
    return {
        "work": np.empty((scan_loops.MAX_TASKS, LANES)),
        "least": np.empty((scan_loops.MAX_TASKS, 8)),
        "place": np.empty((scan_loops.MAX_TASKS, 8), np.int64),
        "counters": count,
        "merges": np.empty((n - 1, 2), np.int64),
        "heights": np.empty(n - 1),
    }


def _run(loop: Callable[..., bool], state: Any, n: int, width: float, monitor: Monitor | None) -> None:
    """Run a loop to its last merge, in parts between which it can be stopped or interrupted."""
    size = team_size(SECONDS_PER_DIFFERENCE * n * width)
    reports = reports_of(n)
    for part in range(reports):
        until = (n - 1) * (part + 1) // reports
        if not run_team(loop, state, until, size=size):
            raise ValueError(f"linkage: {OVERFLOW}")
        if monitor is not None and monitor(float(state.heights[until - 1])):
            _join_rest(state.merges, state.heights, until, n)
            return


def reports_of(n: int) -> int:
    """How often a merge of n rows is looked at from outside."""
    return REPORTS if n > REPORTS * 16 else 1


def _join_rest(merges: Indices, heights: Vector, done: int, n: int) -> None:
    """Join what is left after these merges at the largest height so far, so that there is a tree."""
    if done < n - 1:
        i, j = merges[:done].T
        _, labels = connected_components(csr_matrix((np.ones(done), (i, j)), shape=(n, n)), directed=False)
        first = np.unique(labels, return_index=True)[1]
        merges[done:, 0], merges[done:, 1] = first[0], first[1:]
        heights[done:] = heights[:done].max()


def _panels(X: Matrix) -> Doubles:
    """Rows as columns of panels (panels, d, LANES)."""
    Z = np.empty((-(-len(X) // LANES), X.shape[1], LANES))
    pack_panels(X, Z)
    return Z


def _named(merges: Indices, heights: Vector, n: int, ordered: bool = False) -> Doubles:
    """Merges of rows that stand for their clusters, as merges of numbered clusters in the order of their heights."""
    order = np.arange(n - 1) if ordered else np.argsort(heights, kind="stable")
    Z = np.empty((n - 1, 4))
    name_nodes(merges, heights, order, np.arange(n), np.arange(n), np.ones(n, np.int64), Z)
    return Z
