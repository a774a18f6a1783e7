"""What each row says about the places of its neighbours: weights, and matrices whose null space holds the places.

Each row contributes a matrix over its k neighbours, and itself where it takes part; all of them add up to M. Rows are
worked through in blocks on the threads, the small decompositions of a block in one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, Sparse

ENTRIES_PER_BLOCK = 1 << 20  # numbers of differences between rows and neighbours that are held at a time, per thread
MLLE_RIDGE = 1e-3  # of the weights that modified LLE starts from, as a share of the trace
FLOOR = np.finfo(float).tiny


def in_blocks(work: Callable[[int, int], Any], n: int, k: int, d: int) -> list[Any]:
    """[work(lo, hi)] for blocks of rows of n, each with k neighbours in d columns, on the threads."""
    rows = max(1, min(2048, ENTRIES_PER_BLOCK // max(1, k * max(k, d))))
    return map_items(lambda i: work(i * rows, min((i + 1) * rows, n)), -(-n // rows))


def barycentric_weights(Q: Doubles, X: Doubles, neighbors: Indices, ridge: float, relative: bool = True) -> Doubles:
    """Weights (m, k) that sum to one and rebuild each row of Q from its neighbours among the rows of X.

    C w = 1, C_jl = (q - x_j)'(q - x_l) + ridge [j = l]: the ridge is a share of the trace, or a number as it is.
    """
    m, k = neighbors.shape

    def block(lo: int, hi: int) -> Doubles:
        Z = X[neighbors[lo:hi]] - Q[lo:hi, None]
        C = Z @ Z.transpose(0, 2, 1)
        trace = np.trace(C, axis1=1, axis2=2)
        added = np.where(trace > 0, ridge * trace, ridge) if relative else np.full(hi - lo, ridge)
        C[:, np.arange(k), np.arange(k)] += added[:, None]
        try:
            w = np.linalg.solve(C, np.ones((hi - lo, k, 1)))[..., 0]
        except np.linalg.LinAlgError:
            raise ValueError(
                f"LocallyLinearEmbedding: the weights of a row from {lo} to {hi - 1} are not unique: {k} neighbours in "
                f"{X.shape[1]} columns, or copies of a row, with reg={ridge:g}. Set reg above zero"
            ) from None
        return np.asarray(w / w.sum(axis=1, keepdims=True))

    return np.concatenate(in_blocks(block, m, k, X.shape[1]))


def weight_matrix(weights: Doubles, neighbors: Indices, n: int) -> Sparse:
    """W (m, n), a row of weights for each row."""
    m, k = weights.shape
    return csr_array((weights.ravel(), neighbors.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))


def standard_root(W: Sparse) -> Sparse:
    """I - W, where M = (I - W)'(I - W)."""
    return (eye_array(W.shape[0], format="csr") - W).tocsc()


def hessian_matrix(X: Doubles, neighbors: Indices, k: int, tol: float) -> Sparse:
    """Squared second derivatives of functions of the rows, in k tangent coordinates of each neighbourhood."""
    pairs = [(i, j) for i in range(k) for j in range(i, k)]

    def contribution(lo: int, hi: int) -> Doubles:
        U = _tangents(X, neighbors[lo:hi], k)
        Y = np.concatenate([np.ones((*U.shape[:2], 1)), U, *(U[..., i, None] * U[..., j, None] for i, j in pairs)], 2)
        w = np.linalg.qr(Y)[0][..., k + 1 :]  # the part of the products that no linear function explains
        sums = w.sum(axis=1, keepdims=True)
        w = w / np.where(np.abs(sums) < tol, 1.0, sums)
        return w @ w.transpose(0, 2, 1)

    return _added(contribution, neighbors, X)


def tangent_matrix(X: Doubles, neighbors: Indices, k: int) -> Sparse:
    """What no linear function of the k tangent coordinates of a neighbourhood explains (LTSA)."""
    size = neighbors.shape[1]

    def contribution(lo: int, hi: int) -> Doubles:
        U = _tangents(X, neighbors[lo:hi], k)
        return np.eye(size) - 1.0 / size - U @ U.transpose(0, 2, 1)

    return _added(contribution, neighbors, X)


def modified_matrix(X: Doubles, neighbors: Indices, k: int, tol: float) -> Sparse:
    """Several weight vectors per row: the ridge solution, and all directions in which rows hardly vary (MLLE)."""
    n, size = neighbors.shape
    rank = min(size, X.shape[1])

    def local(lo: int, hi: int) -> tuple[Doubles, Doubles]:
        V, roots, _ = np.linalg.svd(X[neighbors[lo:hi]] - X[lo:hi, None], full_matrices=True)
        return V, roots**2

    parts = in_blocks(local, n, size, X.shape[1])
    V, values = (np.concatenate([part[t] for part in parts]) for t in (0, 1))  # (n, size, size), (n, rank)
    trace = values.sum(axis=1, keepdims=True)
    ridge = MLLE_RIDGE * np.where(trace > 0, trace, 1.0)  # of copies any ridge makes equal weights
    along = V.sum(axis=1)
    along[:, :rank] /= np.maximum(values + ridge, FLOOR)
    along[:, rank:] /= np.maximum(ridge, FLOOR)
    w = (V @ along[..., None])[..., 0]
    w /= w.sum(axis=1, keepdims=True)
    eta = np.median(values[:, k:].sum(axis=1) / np.maximum(values[:, :k].sum(axis=1), FLOOR))
    upto = np.cumsum(values, axis=1)
    rest = upto[:, -1:] / np.maximum(upto[:, :-1], FLOOR) - 1  # what the largest leave, falling
    flat = np.minimum((rest < eta).sum(axis=1) + size - rank, size - 1)
    flat = np.maximum(flat, 1)  # directions in which the neighbours hardly vary

    def contribution(lo: int, hi: int) -> Doubles:
        out = np.empty((hi - lo, size + 1, size + 1))  # the neighbours, then the row itself
        for s in np.unique(flat[lo:hi]):
            rows = lo + np.flatnonzero(flat[lo:hi] == s)
            Vs = V[rows][:, :, size - s :]
            sums = Vs.sum(axis=1)
            alpha = np.linalg.norm(sums, axis=1) / np.sqrt(s)
            h = alpha[:, None] - sums
            length = np.linalg.norm(h, axis=1, keepdims=True)
            h = np.where(length < tol, 0.0, h / np.maximum(length, FLOOR))
            W = Vs - 2 * (Vs @ h[..., None]) * h[:, None] + ((1 - alpha)[:, None] * w[rows])[..., None]
            W = np.concatenate([W, np.full((len(rows), 1, s), -1.0)], axis=1)
            out[rows - lo] = W @ W.transpose(0, 2, 1)
        return out

    return _added(contribution, np.column_stack([neighbors, np.arange(n)]), X)


def _tangents(X: Doubles, neighbors: Indices, k: int) -> Doubles:
    """The k leading principal coordinates of each neighbourhood, of unit length (rows, neighbours, k)."""
    Z = X[neighbors]
    U = np.linalg.svd(Z - Z.mean(axis=1, keepdims=True), full_matrices=False)[0]
    return np.asarray(U[..., :k])


def _added(contribution: Callable[[int, int], Doubles], members: Indices, X: Doubles) -> Sparse:
    """The sum of small matrices over the members of each row (n, n)."""
    n, size = members.shape

    def block(lo: int, hi: int) -> Sparse:
        at = members[lo:hi]
        i, j = np.repeat(at, size, axis=1).ravel(), np.tile(at, (1, size)).ravel()
        return coo_array((contribution(lo, hi).ravel(), (i, j)), shape=(n, n)).tocsc()

    total, *others = in_blocks(block, n, size, X.shape[1])
    for part in others:
        total = total + part
    return total
