"""Discriminant adaptive nearest neighbours: every row asks its neighbours in a metric of its own.

    D(x, x0) = (x - x0)' Q (x - x0),    Q = W^-1/2 (W^-1/2 B W^-1/2 + epsilon I) W^-1/2

W is the scatter within classes and B that of the class means, both in a neighbourhood of x0: distances shrink along
directions in which the classes do not differ, and neighbourhoods stretch along the boundary. epsilon keeps them from
stretching without end; with W = I and B = 0 the neighbours are the ordinary ones.

Hastie & Tibshirani (1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count, Index, Positive
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Codes, Doubles, Indices, Table
from fivefold.neighbors.k_neighbors import KNeighborsClassifier
from fivefold.neighbors.shared.neighbor_votes import Votes

LEAST_NEIGHBORHOOD = 50  # rows from which a metric is estimated, unless fewer exist (Hastie & Tibshirani)
MAX_BLOCK_NUMBERS = 1 << 22  # mapped coordinates that are held at a time
RIDGE = 1e-3  # share of the mean variance added to W, so that a neighbourhood without spread has a metric


class DiscriminantAdaptiveNeighborsClassifier(KNeighborsClassifier):
    """Nearest neighbours in a metric that local discriminants give each row.

    Parameters
    ----------
    n_neighbors
        how many rows vote.
    weights
        what a neighbour's vote counts: "uniform", one; "distance", one over its distance in the metric found.
    neighborhood
        how many near rows the metric of a row is estimated from; by default a fifth of all, and 50 at least.
    epsilon
        how round neighbourhoods stay: above zero, and the larger the closer to a metric of W alone.
    n_iter
        how often the neighbourhood is chosen again by the metric found; zero gives ordinary neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.neighbors import DiscriminantAdaptiveNeighborsClassifier
    >>> X = np.random.RandomState(0).normal(size=(200, 6))
    >>> y = (X[:, 0] > 0).astype(int)  # five columns say nothing
    >>> model = DiscriminantAdaptiveNeighborsClassifier(5, n_iter=5).fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.9
    True
    """

    _: KW_ONLY
    weights: Literal["uniform", "distance"] = "uniform"
    neighborhood: Count | None = None
    epsilon: Positive = 1.0
    n_iter: Index = 1

    takes = Takes()

    card = Card(
        applications=("classification",),
        use="Nearest neighbours with many columns, of which others matter in other places. Every query costs a pass "
        "over all rows and an eigendecomposition.",
        steps=(
            "Find the neighbourhood of a row.",
            "Take the scatter within and between classes there; stretch distances by it.",
            "Let the nearest rows in this metric vote.",
        ),
        source="Hastie & Tibshirani (1996), IEEE PAMI 18",
        see_also=("KNeighborsClassifier", "LMNN", "NeighborhoodComponentsAnalysis"),
        variants=({"n_iter": 2, "epsilon": 0.5}, {"n_iter": 0}),
        search={"n_neighbors": SearchRange(2, 30)},
        growth=1.5,
    )

    def _votes(self, X: Table | None) -> Iterator[Votes]:
        fitted, k = self.model_, self._checked_count(None)
        self._refuse_many(k, fitted.total_beside(X), X)
        T = np.asarray(fitted.table, dtype=np.float64)
        n, d = T.shape
        counts = np.ones(n) if fitted.counts is None else fitted.counts
        size = self.neighborhood or max(LEAST_NEIGHBORHOOD, fitted.total / 5)
        queries = T if X is None else np.asarray(X, dtype=np.float64)
        step = max(1, MAX_BLOCK_NUMBERS // (n * d))
        for lo in range(0, len(queries), step):
            Q = queries[lo : lo + step]
            itself = np.arange(lo, lo + len(Q)) if X is None else None
            A = np.broadcast_to(np.eye(d), (len(Q), d, d))
            for _ in range(self.n_iter):
                D, rows, share = _nearest(T, Q, A, counts, size, itself)
                A = self._local_metric(T[rows], fitted.target[rows], share * _tricube(D, share))
            D, rows, share = _nearest(T, Q, A, counts, k, itself)
            indptr = np.arange(0, D.size + 1, D.shape[1])
            yield self._weighted(indptr, rows.ravel(), D.ravel(), self.bandwidth, share.ravel())

    def _local_metric(self, Z: Doubles, codes: Codes, w: Doubles) -> Doubles:
        """Factors A (b, d, d) of the metric, A' A = Q, from neighbourhoods Z (b, m, d) with weights w (b, m)."""
        K, d = len(self.classes_), Z.shape[2]
        members = np.where(codes[:, :, None] == np.arange(K), w[:, :, None], 0.0)  # (b, m, K)
        weight = members.sum(axis=1)
        total = weight.sum(axis=1)[:, None]
        means = members.transpose(0, 2, 1) @ Z / np.where(weight > 0, weight, 1.0)[:, :, None]  # (b, K, d)
        shares = weight / total
        centred = means - (shares[:, None, :] @ means)
        between = (centred * shares[:, :, None]).transpose(0, 2, 1) @ centred
        residual = Z - np.take_along_axis(means, codes[:, :, None], axis=1)
        within = (residual * (w / total)[:, :, None]).transpose(0, 2, 1) @ residual
        scale = np.trace(within + between, axis1=1, axis2=2) / d
        within = within + RIDGE * np.maximum(scale, np.finfo(float).tiny)[:, None, None] * np.eye(d)
        values, V = np.linalg.eigh(within)
        root = (V / np.sqrt(values)[:, None, :]) @ V.transpose(0, 2, 1)  # W^-1/2
        values, V = np.linalg.eigh(root @ between @ root)
        return (V * np.sqrt(np.maximum(values, 0.0) + self.epsilon)[:, None, :]).transpose(0, 2, 1) @ root


def _nearest(
    T: Doubles, Q: Doubles, A: Doubles, counts: Doubles, k: float, itself: Indices | None
) -> tuple[Doubles, Indices, Doubles]:
    """Distances, numbers and shares (b, m) of the nearest rows by the metrics A, which together count k."""
    mapped = np.matmul(T, A.transpose(0, 2, 1)) - np.einsum("bij,bj->bi", A, Q)[:, None, :]  # (b, n, d)
    D = np.sqrt(np.einsum("bnd,bnd->bn", mapped, mapped))
    if itself is not None:
        D[np.arange(len(Q)), itself] = np.inf
    most = len(T) - (itself is not None)
    order = np.argsort(D, axis=1, kind="stable")[:, :most]
    upto = np.cumsum(counts[order], axis=1)
    m = min(most, 1 + int((upto < k).sum(axis=1).max()))
    rows, own = order[:, :m], counts[order[:, :m]]
    return np.take_along_axis(D, rows, axis=1), rows, np.clip(k - upto[:, :m] + own, 0.0, own)


def _tricube(D: Doubles, share: Doubles) -> Doubles:
    """Weights that fall from one to zero at the largest distance of those that count; one for all where it is zero."""
    widest = np.where(share > 0, D, 0.0).max(axis=1, keepdims=True)
    u = np.divide(D, widest * (1 + 1e-9), out=np.zeros_like(D), where=widest > 0)
    return np.maximum(1 - u**3, 0.0) ** 3
