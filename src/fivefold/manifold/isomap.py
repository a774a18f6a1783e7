"""Isomap: classical scaling of distances along a surface, measured in a graph of neighbours.

    G      an edge from each row to its k nearest, or to all within a radius, as long as the distance of its ends
    D_ij   length of the shortest path between i and j in G: a geodesic
    B = -1/2 H D^2 H = V L V'        y_i = (sqrt l_1 v_i1, ..., sqrt l_k v_ik)

A new row goes through its neighbours: its geodesics are the shortest of |x - x_j| + D_jt, and its place is their
projection, y_k(x) = (1 / sqrt l_k) sum_t v_tk (-D_t(x)^2 / 2 - m_t), with the means m_t of the columns of -D^2 / 2.

A neighbourhood that is too large joins parts of the surface that are not adjacent: such shortcuts, and outliers, make
geodesics that no points have. `embeddability` and `shortcuts` show it; `isomap_sweep` compares neighbourhoods.

Tenenbaum, de Silva & Langford (2000); Bengio et al. (2004), Out-of-sample extensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix, issparse
from sklearn.callback import with_callbacks

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Transformer, learned, learned_in_dtype
from fivefold.core.estimators.params import Count, NonNegative, Range
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import double_centre
from fivefold.core.parallel import map_items
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices, Matrix, Sparse, Table, UserTable, UserTarget, Vector, Weights
from fivefold.decomposition.kernel_pca import KernelComponents, KernelPCA
from fivefold.kernels.gram import Centring
from fivefold.kernels.kernel_parameter import kernel_of
from fivefold.manifold.embeddings.base import refuse_components
from fivefold.manifold.embeddings.classical_scaling import ScalarProducts
from fivefold.manifold.embeddings.embeddability import Embeddability
from fivefold.neighbors.nearest_neighbors import NearestNeighbors
from fivefold.neighbors.shared.base import TREES, Algorithm, NeighborEstimator
from fivefold.neighbors.shared.metric_parameters import MetricTakes
from fivefold.spatial.search import Neighborhoods
from fivefold.spatial.search.proximity_graphs import bridges, components
from fivefold.spatial.shortest_path_loops import through_neighbors
from fivefold.spatial.shortest_paths import dijkstra, floyd_warshall, shortcut_ratios, shortest_paths, undirected

LANCZOS_SEED = 0  # the first block of Lanczos is drawn; what it ends at does not depend on it beyond rounding
QUERIES_PER_TASK = 32  # new rows whose geodesics one task finds
SHORTCUT_LIMIT = 10.0  # detours are searched up to this many times the length of an edge
ZERO = 1e-12  # share of the largest eigenvalue below which one counts as zero
PATHS = {"auto": shortest_paths, "D": dijkstra, "FW": floyd_warshall}
Disconnected = Literal["connect", "error"]


@dataclass(frozen=True)
class GeodesicMap:
    """Rows with a search, geodesics between them, and the eigenpairs behind their places."""

    search: NearestNeighbors
    graph: Sparse  # (n, n) lengths of edges, which go both ways
    geodesics: Matrix  # (n, n) in the precision of the rows
    values: Doubles  # (k,)
    vectors: Doubles  # (n, k)
    means: Doubles  # (n,) of the columns of -D^2 / 2
    squares: float  # sum of squares of all entries of the centred scalar products
    dtype: DTypeLike

    @property
    def embedding(self) -> Doubles:
        """Places of the rows of fit."""
        return self.vectors * np.sqrt(self.values)

    @property
    def scaled(self) -> Doubles:
        """v / sqrt l, zero where l is zero."""
        roots = np.sqrt(self.values)
        return np.divide(self.vectors, roots, out=np.zeros_like(self.vectors), where=roots > 0)


class Isomap(Transformer):
    """Places that keep distances along the surface on which rows lie.

    Parameters
    ----------
    n_neighbors
        neighbours of each row in the graph; None where `radius` is given.
    radius
        the distance up to which rows are neighbours; None where `n_neighbors` is given.
    n_components
        number of coordinates.
    eigen_solver
        "dense" decomposes the whole matrix, "arpack" finds the leading eigenpairs by block Lanczos; "auto" chooses.
    tol
        accuracy of Lanczos as a share of the largest eigenvalue; zero asks for all that rounding allows.
    max_iter
        most blocks of Lanczos, after which the whole matrix is decomposed.
    path_method
        "D" is Dijkstra from every row on all cores, "FW" Floyd and Warshall; "auto" finds the lengths that "D" does for
        groups of near rows together, several times as fast.
    neighbors_algorithm
        "brute", "kd_tree" or "ball_tree"; "auto" chooses by the shape of the table. Neighbours are the same.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.
    metric
        the name of a distance, a function of two rows, or "precomputed" where X holds distances or a sparse graph.
    p
        the power of Minkowski's distance.
    metric_params
        further arguments of the metric.
    disconnected
        what happens to a graph in several parts: "connect" joins each two by their nearest rows and warns, "error"
        refuses.

    Attributes
    ----------
    embedding_
        places of the rows of fit (n, n_components).
    dist_matrix_
        geodesics between them (n, n).
    eigenvalues_
        of the centred scalar products behind the places, largest first.
    graph_
        the graph of neighbours whose edges go both ways, a sparse matrix of distances.
    nbrs_, kernel_pca_
        the search for neighbours, and kernel principal components of the geodesics, in scikit-learn's form.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.manifold import Isomap
    >>> angle = np.pi * np.arange(5) / 4
    >>> half_circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = Isomap(n_neighbors=None, radius=1.0, n_components=1).fit(half_circle)
    >>> (model.embedding_[:, 0] - model.embedding_[0, 0]).round(4).tolist()
    [0.0, -0.7654, -1.5307, -2.2961, -3.0615]
    """

    _: KW_ONLY
    n_neighbors: Count | None = 5
    radius: Annotated[float, Range(0)] | None = None
    n_components: Count = 2
    eigen_solver: Literal["auto", "arpack", "dense"] = "auto"
    tol: NonNegative = 0
    max_iter: Count | None = None
    path_method: Literal["auto", "FW", "D"] = "auto"
    neighbors_algorithm: Algorithm = "auto"
    n_jobs: int | None = None
    metric: str | Callable[..., Any] = "minkowski"
    p: Annotated[float, Range(1)] = 2
    metric_params: dict[Any, Any] | None = None
    disconnected: Disconnected = "connect"

    takes = MetricTakes(Takes(sparse=True))
    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Rows on a curved surface that can be flattened, evenly sampled and with little noise. One shortcut spoils "
        "the picture: look at `shortcuts()` and `isomap_sweep`. Memory grows with the square of the rows.",
        steps=(
            "Join each row with its nearest rows, or with all within a radius.",
            "Measure shortest paths between all rows along these edges.",
            "Find coordinates with such distances by classical scaling.",
            "Place a new row by the shortest ways through its neighbours.",
        ),
        source="Tenenbaum, de Silva & Langford (2000)",
        see_also=("ClassicalMDS", "LocallyLinearEmbedding", "KernelPCA", "PCA"),
        given={"n_neighbors": 9},
        variants=({"n_components": 1, "path_method": "FW", "eigen_solver": "dense"},),
        growth=2.5,
    )

    embedding_ = learned_in_dtype("embedding")
    dist_matrix_ = learned("geodesics")
    eigenvalues_ = learned("values")
    graph_ = learned("graph")
    nbrs_ = learned("search")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Learn from the rows of X, a table, a tree of scikit-learn's kind, or a fitted search for neighbours."""
        if isinstance(X, NeighborEstimator):
            X = X.model_.table
        elif type(X).__name__ in TREES:
            X = np.asarray(X.data)
        return self._fit_admitted(X, None, None)

    def _fit(self, X: Table, w: Weights) -> None:
        if (self.n_neighbors is None) == (self.radius is None):
            raise ValueError(
                f"Isomap: give n_neighbors or radius, and None for the other; got n_neighbors={self.n_neighbors} and "
                f"radius={self.radius}"
            )
        n = X.shape[0]
        refuse_square("Isomap", n, 2.5, "Fit a sample of the rows, and place the others by transform")
        if self.n_neighbors is not None and self.n_neighbors >= n:
            raise ValueError(
                f"Isomap: n_neighbors={self.n_neighbors} neighbours beside the row itself are needed, and X has "
                f"n_samples = {n}. Ask for fewer neighbours"
            )
        refuse_components(self, self.n_components, n)
        search = self._search().fit(X)
        graph = self._connected(search, undirected(self._graph(search)), X)
        D = PATHS[self.path_method](graph)
        products = ScalarProducts.of(D)
        pairs = products.leading(
            min(self.n_components, n), check_random_state(LANCZOS_SEED), self.eigen_solver == "dense", self.tol,
            self.max_iter or 200,
        )  # fmt: skip
        room = ((0, 0), (0, self.n_components - len(pairs.values)))
        values = np.pad(np.maximum(pairs.values, 0.0), room[1])
        values[values <= ZERO * values.max(initial=0.0)] = 0.0
        self.model_ = GeodesicMap(
            search, graph, D.astype(X.dtype, copy=False), values, np.pad(pairs.vectors, room), products.means,
            products.squares, X.dtype,
        )  # fmt: skip

    def _search(self) -> NearestNeighbors:
        return NearestNeighbors(
            n_neighbors=self.n_neighbors, radius=self.radius, algorithm=self.neighbors_algorithm, metric=self.metric,
            p=self.p, metric_params=self.metric_params,
        )  # fmt: skip

    def _graph(self, search: NearestNeighbors) -> Sparse:
        """Distances of each row to its neighbours."""
        if self.n_neighbors is not None:
            return search.kneighbors_graph(mode="distance")
        return search.radius_neighbors_graph(mode="distance")

    def _connected(self, search: NearestNeighbors, graph: Sparse, X: Table) -> Sparse:
        """The graph, its parts joined by the nearest two rows of each two of them."""
        labels = components(graph)
        if (parts := int(labels.max()) + 1) == 1:
            return graph
        said = (
            f"Isomap: the graph of neighbours is in {parts} parts, the first without row {int((labels > 0).argmax())}: "
            "geodesics between them do not exist. "
        )
        cure = f"Raise {'radius' if self.n_neighbors is None else 'n_neighbors'}, or fit each part on its own"
        if self.disconnected == "error":
            raise ValueError(said + cure)
        if self.metric == "precomputed" and issparse(X):
            raise RuntimeError(f"{said}A sparse graph has no distances to join them by. {cure}, or give all")
        warn(f"{said}They were joined by their nearest rows. {cure}")
        i, j, lengths = bridges("Isomap", labels, lambda rows: search.model_.index.distances(X[rows]))
        edges = graph.tocoo()  # zeros that are stored are edges, which a sum of matrices would drop
        parts_of = (edges.data, lengths, lengths), (edges.row, i, j), (edges.col, j, i)
        data, of, to = (np.concatenate(part) for part in parts_of)
        return csr_matrix((data, (of, to)), shape=graph.shape)

    def fit_transform(self, X: UserTable, y: UserTarget = None) -> Matrix:
        """Fit, and give the places of the rows."""
        return self.fit(X).embedding_

    def transform(self, X: UserTable) -> Matrix:
        """Places (m, n_components) of the rows, by the shortest ways through their neighbours among the rows of fit."""
        X = self._admit(X)
        model: GeodesicMap = self.model_
        found = self._neighbors(X)
        if len(lonely := np.flatnonzero(found.counts() == 0)):
            raise ValueError(
                f"Isomap: {len(lonely)} rows have no row of fit within radius={self.radius}, first row {lonely[0]}. "
                "Fit with a larger radius, or leave them out"
            )
        out = np.empty((X.shape[0], self.n_components))
        D, scaled = model.geodesics, model.scaled

        def task(i: int) -> None:
            lo, hi = i * QUERIES_PER_TASK, min((i + 1) * QUERIES_PER_TASK, len(out))
            G = np.empty((hi - lo, len(D)))
            through_neighbors(D, found.indptr[lo : hi + 1], found.rows, found.distances, 0, hi - lo, G)
            out[lo:hi] = (-0.5 * G * G - model.means) @ scaled

        map_items(task, -(-len(out) // QUERIES_PER_TASK))
        return out.astype(X.dtype, copy=False)

    def _neighbors(self, X: Table) -> Neighborhoods:
        search = self.model_.search
        if self.n_neighbors is None:
            found: Neighborhoods = search._within(X, None)
            return found
        distances, rows = search._nearest(X, self.n_neighbors)
        return Neighborhoods(np.arange(0, rows.size + 1, self.n_neighbors), rows.ravel(), distances.ravel())

    def reconstruction_error(self) -> float:
        """Root of the sum of squares of centred scalar products that the places do not reproduce, over n."""
        model: GeodesicMap = self.model_
        return float(np.sqrt(max(0.0, model.squares - float(model.values @ model.values))) / len(model.means))

    def embeddability(self) -> Embeddability:
        """All eigenvalues, those below zero, which shortcuts cause, and the residual variance of the places."""
        D = self.dist_matrix_.astype(np.float64)
        return Embeddability.of(eigen(double_centre(-0.5 * D * D)).values, D, self.model_.embedding)

    def shortcuts(self, ratio: float = 3.0) -> tuple[Indices, Vector]:
        """Edges (m, 2) that may be shortcuts, and by which factor the way around each is longer; the worst first.

        Infinite means that there is no way around, or one of more than 10 times the edge.
        """
        edges, factors = shortcut_ratios(self.graph_, max(ratio, SHORTCUT_LIMIT))
        order = np.argsort(-factors, kind="stable")
        kept = order[factors[order] > ratio]
        return edges[kept], factors[kept]

    @property
    def kernel_pca_(self) -> KernelPCA:
        """Kernel principal components of the geodesics, which give the same places."""
        model: GeodesicMap = self.model_
        G = -0.5 * model.geodesics**2
        fitted = KernelPCA(self.n_components, kernel="precomputed", eigen_solver=self.eigen_solver)
        centring = Centring(model.means, float(model.means.mean()))
        trace = float(-len(G) * centring.mean)
        kernel = kernel_of("precomputed", len(G), 1.0, 3, 1, None)
        fitted.model_ = KernelComponents(kernel, G, centring, model.values, model.vectors, trace, 1.0, model.dtype)
        vars(fitted)["n_features_in_"] = len(G)
        return fitted

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)
