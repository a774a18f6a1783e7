"""The groups of all rows, and a model of them that tells the group of a new row.

The strength with which a row belongs to its group is

    mixture         its posterior probability
    kmeans, ward    u_k = |x - c_k|^-2 / sum_j |x - c_j|^-2, as in fuzzy c-means with exponent 2 (Bezdek 1981)
    hdbscan         how long it stays in its group while density rises
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fivefold.cluster.agglomerative import AgglomerativeClustering
from fivefold.cluster.hdbscan import HDBSCAN
from fivefold.cluster.kmeans import KMeans
from fivefold.core._sklearn import BaseEstimator, ClassifierMixin
from fivefold.core.types import Codes, Labels, Matrix, UserTable, UserTarget, Vector
from fivefold.evaluation.grouping.group_methods import COVARIANCE_FLOOR, covariance_type, smallest_group
from fivefold.evaluation.grouping.resampled_stability import Cell
from fivefold.mixture.gaussian_mixture import GaussianMixture
from fivefold.neighbors.k_neighbors import KNeighborsClassifier
from fivefold.spatial.distances import squared_distances

MAX_TREE_ROWS = 10_000  # rows whose tree of merges or densities is built; others join their nearest one
STARTS = 10  # of k-means on all rows
NO_GROUP = -1  # code of rows that belong nowhere
TINY = 1e-12  # squared distance below which a row is at the centre
METHOD_NAMES = {"kmeans": "k-means", "mixture": "Gaussian mixture", "ward": "Ward", "hdbscan": "HDBSCAN"}
ESTIMATORS = {"kmeans": "KMeans", "mixture": "GaussianMixture", "ward": "AgglomerativeClustering", "hdbscan": "HDBSCAN"}


@dataclass(frozen=True)
class FoundGroups:
    """The group of every row, from 0, the largest first; NO_GROUP for rows between groups."""

    codes: Codes
    strength: Vector
    count: int
    estimator: Any  # a fitted KMeans or GaussianMixture, which tells the group of new rows; else None
    order: tuple[int, ...] = ()  # the label of the estimator for each group


class GroupModel(ClassifierMixin, BaseEstimator):
    """A fitted clusterer as a classifier of new rows: its groups are named 1, 2, ..., the largest first."""

    def __init__(self, clusterer: Any = None, order: tuple[int, ...] = ()):
        self.clusterer = clusterer
        self.order = order

    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Nothing is left to learn: the clusterer is fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self.clusterer is not None

    @property
    def classes_(self) -> Labels:
        """The names of the groups."""
        return np.array([str(k + 1) for k in range(len(self.order))])

    def predict_proba(self, X: UserTable) -> Matrix:
        """How strongly each row belongs to each group (n, K)."""
        return memberships(self.clusterer, np.asarray(X, dtype=np.float64))[:, list(self.order)]

    def predict(self, X: UserTable) -> Labels:
        """The group of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def memberships(clusterer: Any, Z: Matrix) -> Matrix:
    """Strengths (n, K) of rows in the groups of k-means or of a mixture."""
    if isinstance(clusterer, GaussianMixture):
        return np.asarray(clusterer.predict_proba(Z))
    return _fuzzy(Z, np.asarray(clusterer.cluster_centers_))


def _fuzzy(Z: Matrix, centres: Matrix) -> Matrix:
    near = 1.0 / np.maximum(squared_distances(Z, centres), TINY)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def find_groups(Z: Matrix, cell: Cell, judged: int, seed: int) -> FoundGroups:
    """Cut all rows as the cell says; `judged` is the number of rows that its stability was judged on."""
    name, K = cell
    if name == "kmeans":
        return _ordered(KMeans(K, n_init=STARTS, random_state=seed).fit(Z), Z)
    if name == "mixture":
        shape = covariance_type(judged, Z.shape[1], K)
        model = GaussianMixture(
            K, covariance_type=shape, reg_covar=COVARIANCE_FLOOR, n_init=3, max_iter=500, random_state=seed
        )
        return _ordered(model.fit(Z), Z)
    codes, strength = _tree_groups(Z, name, K, seed)
    count = int(codes.max()) + 1
    order = np.argsort(-np.bincount(codes[codes >= 0], minlength=count), kind="stable")
    ranks = np.append(np.argsort(order), NO_GROUP)  # the last answers for the code -1
    codes = ranks[codes]
    if name == "ward":
        centres = np.array([Z[codes == k].mean(axis=0) for k in range(count)])
        strength = _fuzzy(Z, centres)[np.arange(len(Z)), codes]
    return FoundGroups(codes, strength, count, None)


def _ordered(model: Any, Z: Matrix) -> FoundGroups:
    P = memberships(model, Z)
    codes = P.argmax(axis=1)
    order = np.argsort(-np.bincount(codes, minlength=P.shape[1]), kind="stable")
    return FoundGroups(np.argsort(order)[codes], P.max(axis=1), P.shape[1], model, tuple(int(k) for k in order))


def _tree_groups(Z: Matrix, name: str, K: int, seed: int) -> tuple[Codes, Vector]:
    rows = np.arange(len(Z))
    if len(Z) > MAX_TREE_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(len(Z), MAX_TREE_ROWS, replace=False))
    own = np.ascontiguousarray(Z[rows])
    if name == "ward":
        labels, strength = AgglomerativeClustering(K).fit(own).labels_, np.ones(len(own))
    else:
        model = HDBSCAN(min_cluster_size=smallest_group(len(own)), copy=True).fit(own)
        labels, strength = model.labels_, np.asarray(model.probabilities_)
    if len(rows) == len(Z):
        return np.asarray(labels), strength
    near = KNeighborsClassifier(1).fit(own, np.arange(len(own))).predict(Z)
    return np.asarray(labels)[near], strength[near]
