"""Laplacian eigenmaps of a graph of affinities, for spectral embedding and spectral clustering.

    W   affinities of rows,   d_i = sum_j W_ij,   L = I - D^-1/2 W D^-1/2        (or D - W)
    L u = l u,  0 = l_1 <= l_2 <= ...        y_i = (u_i2, ..., u_i,k+1) / sqrt d_i

The first eigenvector is known, so the others are found orthogonal to it, by block Lanczos. For a dense W it begins with
the largest eigenvalues of I + D^-1/2 W D^-1/2, from products with W as it stands: a kernel's spectrum falls so fast
that a few are enough. For a sparse W of a few groups of rows, it takes a Chebyshev polynomial of L, large where
eigenvalues are small: few then stand out from the rest. Where they do not, it takes the inverse of L.

Belkin & Niyogi (2003); Shi & Malik (2000); von Luxburg (2007); Zhou, Saad, Tiago & Chelikowsky (2006), filters.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from scipy.sparse.csgraph import laplacian

from fivefold.core.admission.sparse import configured_csr
from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.eigenpairs import KRYLOV_EXTRA, krylov_eigenpairs, largest_positive
from fivefold.core.numerics.products import product
from fivefold.core.numerics.smallest_eigenpairs import KRYLOV_RATIO, MIN_KRYLOV_ROWS, smallest_eigenpairs
from fivefold.core.storage.memory_limits import refuse_table
from fivefold.core.types import Array, Doubles, Indices, Rng, Sparse, Table
from fivefold.spatial.search.neighbor_index import NeighborIndex
from fivefold.spatial.search.proximity_graphs import components

EDGE_ARRAYS = 8.0  # numbers that are held per neighbour of a row: lists, both directions of the graph, its Laplacian
SHIFT = 1e-5  # keeps the matrix definite; eigenvalues of a normalised Laplacian lie between 0 and 2
PROBE_SEED = 20_26  # of the block that the filter is tried on
FILTER_DEGREE = 20  # of the polynomial: products with L that a block takes
FILTER_END = 0.15  # from this eigenvalue to 2 the polynomial stays between -1 and 1
CLEAR_END = 0.05  # the filter is taken where eigenvalues below this are as many as wanted, and fit into a block
CLEAR_VALUE = 10.0  # of the polynomial, which an eigenvalue below FILTER_END has: far above 1
MAX_FILTERED_BLOCKS = 8
MIN_FILTERED_ROWS = 1000  # fewer take no longer with the inverse
MAX_PRODUCTS = 60  # with a dense W before its inverse is taken, which takes as long as about as many


def neighbor_affinities(X: Table, k: int, owner: str) -> Sparse:
    """The mean of the graph of the k nearest rows of each row, itself among them, and its transpose."""
    n = X.shape[0]
    if k > n:
        raise ValueError(
            f"{owner}: n_neighbors={k} must be at most the number of rows, Expected n_neighbors <= n_samples = {n}"
        )
    refuse_table(owner, n, k, EDGE_ARRAYS, "Ask for fewer neighbours, or take a sample of the rows")
    return _both_ways(NeighborIndex(X).query(X, k)[1], n)


def stored_affinities(graph: Table, k: int, owner: str) -> Sparse:
    """The same from distances that are given, those of a sparse graph being the only ones."""
    if not issparse(graph):
        return _both_ways(NeighborIndex(graph, "precomputed").query(graph, k)[1], graph.shape[0])
    graph = csr_matrix(graph)
    counts = np.diff(graph.indptr)
    if int(counts.min()) < k:
        raise ValueError(
            f"{owner}: {k} neighbors per samples are required, but row {int(counts.argmin())} has {int(counts.min())} "
            "in the graph. Ask for fewer neighbours, or make the graph with more"
        )
    of = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((graph.indices, graph.data, of))
    return _both_ways(graph.indices[order][graph.indptr[:-1, None] + np.arange(k)], len(counts))


def _both_ways(rows: Indices, n: int) -> Sparse:
    m, k = rows.shape
    graph = csr_array((np.ones(m * k), rows.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))
    return configured_csr(csr_array(mean_with_transpose(graph)))


def mean_with_transpose(W: Any) -> Any:
    """The symmetric part of an array or a sparse matrix."""
    return 0.5 * (W + W.T)


def symmetric_affinities(W: Any, owner: str) -> Any:
    """Affinities that are given, the mean of both directions where these differ by more than rounding."""
    gap = abs(W - W.T).max()
    if gap <= 1e-10 * max(1.0, float(abs(W).max())):
        return W
    warn(f"{owner}: affinities are not symmetric; the mean with their transpose is taken")
    return mean_with_transpose(W)


def laplacian_places(
    W: Table,
    k: int,
    rng: Rng,
    owner: str,
    *,
    tol: float | Literal["auto"] = "auto",
    normalised: bool = True,
    drop_first: bool = True,
) -> Doubles:
    """Eigenvectors (n, k) of the smallest eigenvalues of the Laplacian of affinities W; the first one is constant."""
    connected = _is_connected(W)
    if not connected:
        warn(f"{owner}: Graph is not fully connected, spectral embedding may not work as expected; raise n_neighbors")
    n, wanted = W.shape[0], k if drop_first else k - 1
    enough = 1e-11 if tol == "auto" else max(tol, 1e-13)
    vectors: Doubles | None = np.empty((n, 0)) if not wanted else None
    if normalised and not issparse(W) and n > MIN_KRYLOV_ROWS and KRYLOV_RATIO * wanted <= n and wanted:
        known, vectors = _by_products(np.asarray(W), wanted, rng, enough)
    if vectors is None:
        L, scale = laplacian(W, normed=normalised, return_diag=True)
        known = np.asarray(scale if normalised else np.ones(n), dtype=np.float64)
        most = float(np.abs(L.diagonal()).max()) if not normalised else 1.0
        if normalised and connected and issparse(L) and n >= MIN_FILTERED_ROWS:
            vectors = _by_filter(csr_array(L), known, wanted, rng, enough)
        if vectors is None:
            vectors = smallest_eigenpairs(owner, L, known, wanted, rng, SHIFT * (most or 1.0), tol=enough).vectors
    elif not wanted:
        known = np.asarray(laplacian(W, normed=True, return_diag=True)[1]) if normalised else np.ones(n)
    if not drop_first:
        vectors = np.column_stack([known / np.linalg.norm(known), vectors])
    found = vectors / known[:, None] if normalised else vectors
    return np.asarray(found * largest_positive(found))


def _by_products(W: Array, k: int, rng: Rng, tol: float) -> tuple[Doubles, Doubles | None]:
    """sqrt d, and the eigenvectors after it (n, k) from products with a dense W, if few products are enough."""
    own = W.diagonal().astype(np.float64)
    degree = W.sum(axis=0, dtype=np.float64) - own  # a row's affinity with itself does not count
    if not (degree > 0).all():
        return degree, None
    root = np.sqrt(degree)
    known = root / np.linalg.norm(root)

    def times(V: Array) -> Array:
        V = V - np.outer(known, known @ V)
        Z = V / root[:, None]
        image = V + (product(W, Z) - own[:, None] * Z) / root[:, None]
        return np.asarray(image - np.outer(known, known @ image))

    found = krylov_eigenpairs(times, len(W), k, rng, tol, MAX_PRODUCTS)
    return root, None if found is None else np.asarray(found.vectors)


def _by_filter(L: Sparse, null: Doubles, k: int, rng: Rng, tol: float) -> Doubles | None:
    """The k eigenvectors after the known one of a normalised Laplacian, if few eigenvalues are near zero."""
    known = null / np.linalg.norm(null)
    centre, half = 1.0 + 0.5 * FILTER_END, 1.0 - 0.5 * FILTER_END  # of the interval from FILTER_END to 2

    def times(V: Array) -> Array:
        before = V - np.outer(known, known @ V)
        now = (centre * before - L @ before) / half
        for _ in range(FILTER_DEGREE - 1):
            before, now = now, (2.0 / half) * (centre * now - L @ now) - before
        return np.asarray(now - np.outer(known, known @ now))

    probe = np.random.RandomState(PROBE_SEED).standard_normal((len(known), k + KRYLOV_EXTRA))
    Q = np.linalg.qr(times(probe))[0]
    values = np.linalg.eigvalsh(Q.T @ (L @ Q))
    if values[k - 1] > CLEAR_END or values[-1] < CLEAR_END:  # fewer of them than are wanted, or maybe more
        return None
    state = rng.get_state()
    found = krylov_eigenpairs(times, len(known), k, rng, tol, MAX_FILTERED_BLOCKS)
    if found is None or found.values.min() < CLEAR_VALUE:
        rng.set_state(state)
        return None
    return np.asarray(found.vectors)


def _is_connected(W: Table) -> bool:
    """Do edges lead from the first row to all others?"""
    if issparse(W):
        edges = csr_matrix(W)
        return edges.nnz > 0 and int(components(edges).max()) == 0
    reached = np.asarray(W[0]) != 0
    reached[0], seen = True, np.zeros(len(reached), dtype=bool)
    seen[0] = True
    while not reached.all():
        new = np.flatnonzero(reached & ~seen)
        if not len(new):
            return False
        seen[new] = True
        for i in new:
            reached |= W[i] != 0
            if reached.all():
                break
    return True
