"""Manifold methods by their definitions, pair by pair."""

import numpy as np


def relaxed_paths(D):
    """Floyd and Warshall on a matrix of edges, infinite where there is none."""
    D = D.copy()
    n = len(D)
    for middle in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, middle] + D[middle, j])
    return D


def hessian_cost(X, neighbors, k):
    """M of Hessian eigenmaps: Gram-Schmidt on 1, tangent coordinates and their products."""
    n = len(X)
    M = np.zeros((n, n))
    for row in neighbors:
        Z = X[row] - X[row].mean(axis=0)
        U = np.linalg.svd(Z)[0][:, :k]
        columns = [np.ones(len(row)), *U.T, *(U[:, i] * U[:, j] for i in range(k) for j in range(i, k))]
        basis = []
        for column in columns:
            left = column.copy()
            for known in basis:
                left -= (known @ left) * known
            basis.append(left / np.linalg.norm(left))
        for h in basis[k + 1 :]:
            M[np.ix_(row, row)] += np.outer(h, h)
    return M


def sammon_error(D, Y):
    """E by its formula, pair by pair."""
    total = error = 0.0
    for i in range(len(D)):
        for j in range(i):
            total += D[i, j]
            if D[i, j] > 0:
                error += (D[i, j] - np.linalg.norm(Y[i] - Y[j])) ** 2 / D[i, j]
    return error / total


def false_neighbors(X, Y, k):
    """Trustworthiness by sorting all distances."""
    n, total = len(X), 0

    def order(Z, i):
        others = [j for j in range(n) if j != i]
        return sorted(others, key=lambda j: (np.linalg.norm(Z[i] - Z[j]), j))

    for i in range(n):
        ranks = {j: r for r, j in enumerate(order(X, i), start=1)}
        total += sum(max(0, ranks[j] - k) for j in order(Y, i)[:k])
    return 1 - 2 * total / (n * k * (2 * n - 3 * k - 1))


def student_divergence(P, Y):
    """KL(P | Q) of places Y (n, k) by its formula, and its gradient by differences of places."""
    dof = max(Y.shape[1] - 1, 1)

    def value(Y):
        D = ((Y[:, None] - Y) ** 2).sum(axis=2)
        K = (1 + D / dof) ** (-(dof + 1) / 2)
        np.fill_diagonal(K, 0.0)
        seen = P > 0
        return float((P[seen] * np.log(P[seen] / (K / K.sum())[seen])).sum())

    slope, h = np.empty_like(Y), 1e-5
    for at in np.ndindex(*Y.shape):
        step = np.zeros_like(Y)
        step[at] = h
        slope[at] = (value(Y + step) - value(Y - step)) / (2 * h)
    return value(Y), slope
