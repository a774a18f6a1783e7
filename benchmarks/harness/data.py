"""Seeded tables, the same in every run; each takes the number of rows first."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_classification

from benchmarks.harness.case import Data


def classes(n: int, d: int, K: int = 2, redundant: int = 0, seed: int = 0) -> Data:
    """K overlapping classes on columns of unlike scale, half of them informative, some sums of others."""
    X, y = make_classification(
        n,
        d,
        n_informative=max(5, d // 2),
        n_redundant=redundant,
        n_classes=K,
        n_clusters_per_class=2,
        flip_y=0.05,
        random_state=seed,
    )
    return Data(np.ascontiguousarray(X), y)


def blobs(n: int, d: int, K: int, spread: float, seed: int = 0) -> Data:
    """K round clusters."""
    X, y = make_blobs(n, d, centers=K, cluster_std=spread, random_state=seed)
    return Data(np.ascontiguousarray(X), y)


def uniform(n: int, d: int, seed: int = 0) -> Data:
    """No structure at all: the worst case of bounds on distances."""
    return Data(np.random.default_rng(seed).random((n, d)))


def linear(n: int, d: int, seed: int = 0) -> Data:
    """A linear target with a bend and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Data(X, X @ rng.normal(size=d) + np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n))


def spectrum(n: int, d: int, seed: int = 0) -> Data:
    """Columns mixed so that the singular values fall like 1 / k."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return Data((rng.normal(size=(n, d)) / np.arange(1, d + 1)) @ turn)


def binary(n: int, d: int, K: int, seed: int = 0) -> Data:
    """Zeros and ones with rates of their own in each class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    return Data((rng.random((n, d)) < rng.random((K, d))[y]).astype(np.float64), y)


def levels(n: int, d: int, K: int, count: int, seed: int = 0) -> Data:
    """Columns of `count` levels with shares of their own in each class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    cuts = rng.dirichlet(np.ones(count), size=(K, d)).cumsum(2)[:, :, :-1]
    draws, X = rng.random((n, d)), np.empty((n, d))
    for k in range(K):
        for j in range(d):
            X[y == k, j] = np.searchsorted(cuts[k, j], draws[y == k, j])
    return Data(X, y)


def text(n: int, words: int, K: int, length: int = 60, seed: int = 0) -> Data:
    """Word counts, sparse: frequencies fall like 1 / rank and each of K topics has its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    rows, columns = np.repeat(np.arange(n), length), np.empty(n * length, dtype=np.int64)
    for k in range(K):
        share = rng.gamma(0.5, size=words) / np.arange(1, words + 1)
        mine = np.repeat(y == k, length)
        columns[mine] = rng.choice(words, size=int(mine.sum()), p=share / share.sum())
    X = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, words))
    X.sum_duplicates()
    return Data(X, y)
