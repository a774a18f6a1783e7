"""Nearest cluster: every class has several centres, and a row gets the class of the nearest one.

    class(x) = that of argmin over all centres m of  |x - m|^2   or   (x - m)' S^-1 (x - m)

Between the nearest mean, one centre per class, and nearest neighbours, one per row. Centres are those of k-means in
each class; with Mahalanobis' distance S is the covariance of the rows of a cluster, drawn a little towards a diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from fivefold.cluster import KMeans
from fivefold.core.estimators.base import learned, learned_in_dtype
from fivefold.core.estimators.params import Count, Fraction, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Codes, Doubles, Matrix, Table, Target, Weights
from fivefold.spatial.distances import squared_distances

VARIANCE_FLOOR = 1e-9  # of the mean variance of the table: a cluster of equal rows still has a distance


@dataclass(frozen=True)
class ClassCentres:
    """Centres and the class of each; with factors A, distances are |A (x - m)|."""

    centres: Matrix  # (c, d)
    owners: Codes  # (c,)
    factors: Doubles | None  # (c, d, d)
    n_classes: int
    dtype: DTypeLike


class NearestClusterClassifier(Classifier):
    """The class of the nearest of several centres per class.

    Parameters
    ----------
    n_clusters
        number of centres of each class; a dictionary gives it by label. A class has no more centres than distinct rows.
    metric
        "euclidean", or "mahalanobis" with the covariance of each cluster.
    shrinkage
        how far a covariance is drawn towards the diagonal of variances of the table, from 0 to 1, with "mahalanobis".
    random_state
        decides the starts of k-means.

    Attributes
    ----------
    cluster_centers_
        the centres, those of the first class first.
    cluster_classes_
        the class of each, as a position in `classes_`.

    Examples
    --------
    >>> from fivefold.neighbors import NearestClusterClassifier
    >>> X, y = [[0.0], [1.0], [8.0], [9.0], [4.0], [5.0]], [0, 0, 0, 0, 1, 1]
    >>> NearestClusterClassifier({0: 2, 1: 1}, random_state=0).fit(X, y).predict([[1.5], [4.0], [7.0]])
    array([0, 1, 0])
    """

    n_clusters: Count | dict[Any, int] = 3
    _: KW_ONLY
    metric: Literal["euclidean", "mahalanobis"] = "euclidean"
    shrinkage: Fraction = 0.1
    random_state: Seed = None

    card = Card(
        applications=("classification",),
        use="Classes made of a few compact groups; quick answers from a small model.",
        steps=(
            "Find the centres of each class by k-means among its rows.",
            "Give a row the class of the nearest centre.",
        ),
        source="Hastie, Tibshirani & Friedman (2009), section 13.2.1",
        see_also=("NearestCentroid", "CondensedNeighborsClassifier", "KMeans"),
        variants=({"n_clusters": 1, "metric": "mahalanobis"}, {"n_clusters": 2, "metric": "mahalanobis"}),
        search={"n_clusters": SearchRange(1, 20)},
    )

    cluster_centers_ = learned_in_dtype("centres")
    cluster_classes_ = learned("owners")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, rng = len(self.classes_), check_random_state(self.random_state)
        counts = self._counts(X.shape[0])
        centres, owners, factors = [], [], []
        spread = _variances(np.asarray(X, dtype=np.float64), w)
        for c in range(K):
            members = y == c
            rows, own = X[members], w[members]
            k = min(counts[c], len(np.unique(rows, axis=0)))
            means = KMeans(k, random_state=rng.randint(2**31 - 1)).fit(rows, sample_weight=own)
            centres.append(means.cluster_centers_)
            owners.append(np.full(k, c))
            if self.metric == "mahalanobis":
                factors += [
                    _factor(rows[means.labels_ == j], own[means.labels_ == j], means.cluster_centers_[j],
                            self.shrinkage, spread)
                    for j in range(k)
                ]  # fmt: skip
        self.model_ = ClassCentres(
            np.concatenate(centres), np.concatenate(owners), np.stack(factors) if factors else None, K, X.dtype
        )

    def _counts(self, n: int) -> list[int]:
        """The number of centres of each class; no more than there are rows may be asked for."""
        given, labels = self.n_clusters, self.classes_.tolist()
        if not isinstance(given, Mapping):
            given = dict.fromkeys(labels, given)
        if missing := [label for label in labels if label not in given]:
            raise ValueError(
                f"{type(self).__name__}: n_clusters={given!r} has no number for the class {missing[0]!r}; give one for "
                "each class, or one number for all"
            )
        for label in labels:
            if not isinstance(given[label], (int, np.integer)) or given[label] < 1:
                raise ValueError(
                    f"{type(self).__name__}: n_clusters has {given[label]!r} for the class {label!r}; give a whole "
                    "number of one or more"
                )
            if given[label] > n:
                raise ValueError(
                    f"{type(self).__name__}: n_clusters={given[label]}, but there are n_samples={n} rows; ask for fewer"
                )
        return [int(given[label]) for label in labels]

    def _scores(self, X: Table) -> Matrix:
        """Minus the squared distance to the nearest centre of each class (n, K)."""
        model = self.model_
        if model.factors is None:
            D = squared_distances(X, model.centres)
        else:
            D = np.stack(
                [np.square((X - m) @ A.T).sum(axis=1) for m, A in zip(model.centres, model.factors, strict=True)],
                axis=1,
            )
        return -np.stack([D[:, model.owners == c].min(axis=1) for c in range(model.n_classes)], axis=1)


def _variances(X: Doubles, w: Weights) -> Doubles:
    """Of the columns, and no less than a small share of their mean."""
    found = w @ np.square(X - w @ X / w.sum()) / w.sum()
    return np.maximum(found, max(VARIANCE_FLOOR * float(found.mean()), np.finfo(float).tiny))


def _factor(rows: Table, w: Weights, centre: Matrix, shrinkage: float, spread: Doubles) -> Doubles:
    """A (d, d) with A' A the inverse of the covariance about a centre, drawn towards the variances of the table."""
    Z = np.asarray(rows, dtype=np.float64) - centre
    S = (1 - shrinkage) * (Z * w[:, None]).T @ Z / w.sum()
    S.flat[:: len(S) + 1] += shrinkage * spread + VARIANCE_FLOOR * spread.mean()
    return np.linalg.inv(np.linalg.cholesky(S))
