"""Spectral clustering: cut a graph of affinities into parts that few and light edges join.

    Ncut = sum_c cut(c, rest) / vol(c)        cut: affinities between c and the rest, vol: sum of the degrees in c

Relaxed to real numbers, the best indicators of parts are eigenvectors of the normalised Laplacian, the Laplacian
eigenmaps; rows of one cluster have nearly the same places in them. Labels are read from the places by

    kmeans       centres of the places
    discretize   the rotation that brings the places, at unit length, nearest to indicators (Yu & Shi)
    cluster_qr   K rows at nearly right angles, by a QR decomposition with pivots (Damle, Minden & Ying)

Shi & Malik (2000); Ng, Jordan & Weiss (2002); Yu & Shi (2003); Damle, Minden & Ying (2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import qr
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_array

from fivefold.cluster.kmeans import KMeans
from fivefold.core._sklearn import ClusterMixin, Tags
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Doubles, Rng, Table, UserTable
from fivefold.kernels.named_kernels import named_kernel
from fivefold.spatial.laplacian_eigenmaps import (
    laplacian_places,
    neighbor_affinities,
    stored_affinities,
    symmetric_affinities,
)

MAX_ROTATIONS = 20  # of discretize: the objective rarely changes after a handful
ROUNDING = np.finfo(np.float64).eps
Affinity = Literal[
    "rbf", "nearest_neighbors", "precomputed", "precomputed_nearest_neighbors", "additive_chi2", "chi2", "cosine",
    "laplacian", "linear", "poly", "polynomial", "sigmoid",
]  # fmt: skip
Assignment = Literal["kmeans", "discretize", "cluster_qr"]
Solver = Literal["arpack", "lobpcg", "amg"]


@dataclass(frozen=True)
class GraphCut:
    """The parts of a graph."""

    affinity: Any  # (n, n) array, or sparse matrix
    labels: Codes  # (n,)


class SpectralClustering(ClusterMixin, Unsupervised):
    """Clusters of any form, as parts of a graph of affinities that few edges join.

    Parameters
    ----------
    n_clusters
        number of clusters.
    eigen_solver
        no effect: block Lanczos, or the whole matrix where it is small.
    n_components
        eigenvectors that labels are read from; by default as many as clusters.
    random_state
        seed of Lanczos, of k-means and of the first rotation.
    n_init
        runs of k-means, of which the best is kept.
    gamma
        factor of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
    affinity
        a kernel's name; "nearest_neighbors" joins each row with its nearest, "precomputed" takes X as affinities,
        "precomputed_nearest_neighbors" as distances; or a function of two rows.
    n_neighbors
        neighbours of each row, itself among them.
    eigen_tol
        accuracy of Lanczos, as a share of the largest eigenvalue it finds; "auto" is 1e-11.
    assign_labels
        how labels are read from the eigenvectors: "kmeans", "discretize" or "cluster_qr", which uses no chance.
    degree, coef0
        degree and constant of "poly"; the constant of "sigmoid".
    kernel_params
        further arguments of a function given as affinity.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.
    verbose
        print what is done.

    Attributes
    ----------
    affinity_matrix_
        affinities (n, n), a sparse matrix for neighbours.
    labels_
        the cluster of each row.

    Examples
    --------
    >>> from fivefold.cluster import SpectralClustering
    >>> X = [[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]]
    >>> labels = SpectralClustering(2, assign_labels="cluster_qr", random_state=0).fit(X).labels_
    >>> (labels == labels[0]).tolist()
    [True, True, True, False, False, False]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    eigen_solver: Solver | None = None
    n_components: Count | None = None
    random_state: Seed = None
    n_init: Count = 10
    gamma: NonNegative = 1.0
    affinity: Affinity | Callable[..., Any] = "rbf"
    n_neighbors: Count = 10
    eigen_tol: NonNegative | Literal["auto"] = "auto"
    assign_labels: Assignment = "kmeans"
    degree: NonNegative = 3
    coef0: float = 1
    kernel_params: dict[Any, Any] | None = None
    n_jobs: int | None = None
    verbose: Index | bool = False

    takes = Takes(sparse=True)
    card = Card(
        applications=("clustering",),
        use="A known number of groups of any form, rings and moons among them, or parts of a graph. The width of the "
        "kernel, or the number of neighbours, decides. A kernel keeps n x n numbers: for many rows take "
        'affinity="nearest_neighbors".',
        steps=(
            "Weigh all pairs of rows by a kernel, or join each row with its nearest rows.",
            "Find the eigenvectors of the smallest eigenvalues of the normalised Laplacian of this graph.",
            "Read labels from the rows of these eigenvectors, by k-means or by a rotation.",
        ),
        source="Shi & Malik (2000); Ng, Jordan & Weiss (2002)",
        see_also=("SpectralEmbedding", "KMeans", "DBSCAN", "AffinityPropagation"),
        given={"n_clusters": 3},
        variants=(
            {"affinity": "nearest_neighbors", "n_neighbors": 9, "assign_labels": "cluster_qr", "n_clusters": 2},
            {"assign_labels": "discretize", "n_clusters": 2, "gamma": 0.5},
        ),
        search={"n_clusters": (2, 3, 5, 8, 12)},
        growth=2.0,
    )

    affinity_matrix_ = learned("affinity")
    labels_ = learned("labels")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags

    def _fit(self, X: Table) -> None:
        n = X.shape[0]
        if n < 2:
            raise ValueError(f"SpectralClustering: 2 rows are needed; there is only 1 sample, so n_samples={n}")
        if self.n_clusters > n:
            raise ValueError(
                f"SpectralClustering: n_clusters={self.n_clusters} is more than the rows, n_samples={n}; ask for fewer"
            )
        W, rng = self._affinities(X), check_random_state(self.random_state)
        k = min(self.n_clusters if self.n_components is None else self.n_components, n)
        places = laplacian_places(W, k, rng, "SpectralClustering", tol=self.eigen_tol, drop_first=False)
        if self.verbose:
            print(f"Computing label assignment using {self.assign_labels}")
        self.model_ = GraphCut(W, self._read_labels(places, rng))

    def _read_labels(self, places: Doubles, rng: Rng) -> Codes:
        if self.assign_labels == "discretize":
            return rotated_labels(places, rng)
        if self.assign_labels == "cluster_qr":
            return pivot_labels(places)
        found = KMeans(self.n_clusters, n_init=self.n_init, random_state=rng, verbose=self.verbose).fit(places)
        return found.labels_

    def _affinities(self, X: Table) -> Any:
        """Affinities (n, n)."""
        n, asked = X.shape[0], self.affinity
        if asked in ("precomputed", "precomputed_nearest_neighbors"):
            if n != X.shape[1]:
                raise ValueError(f"SpectralClustering: affinities of n rows with each other are (n, n); X is {X.shape}")
            if asked == "precomputed":
                W = X if issparse(X) else np.asarray(X, dtype=np.float64)
                return symmetric_affinities(W, "SpectralClustering")
            return stored_affinities(X, self.n_neighbors, "SpectralClustering")
        if n == X.shape[1]:
            warn(
                "SpectralClustering: X is square, and is taken for rows. For affinities of rows with each other set "
                'affinity="precomputed"'
            )
        if asked == "nearest_neighbors":
            return neighbor_affinities(X, self.n_neighbors, "SpectralClustering")
        refuse_square("SpectralClustering", n, 3, 'Take affinity="nearest_neighbors", or a sample of the rows')
        X = X.astype(np.float64, copy=False)
        if callable(asked):
            return pairwise_kernels(X, metric=asked, **(self.kernel_params or {}))
        if issparse(X):
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
            return pairwise_kernels(X, metric=asked, filter_params=True, **options)
        return named_kernel(str(asked), self.gamma, self.degree, self.coef0)(X)


def pivot_labels(places: Doubles) -> Codes:
    """Labels from K rows that span the places (n, K) best: the largest entry after these are turned to the axes."""
    k = places.shape[1]
    pivots = qr(places.T, mode="economic", pivoting=True)[2][:k]
    U, _, V = np.linalg.svd(places[pivots].T)
    return np.abs(places @ (U @ V)).argmax(axis=1)


def rotated_labels(places: Doubles, rng: Rng) -> Codes:
    """Labels whose indicators are nearest to the places (n, K), at unit length, after a rotation."""
    n, k = places.shape
    Z = places / np.maximum(np.linalg.norm(places, axis=0), ROUNDING)
    Z = Z * np.where(Z[0] > 0, -1.0, 1.0)
    Z /= np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), ROUNDING)
    turn, seen = np.zeros((k, k)), np.zeros(n)
    turn[:, 0] = Z[rng.randint(n)]
    for j in range(1, k):  # rows as far from parallel to each other as there are
        seen += np.abs(Z @ turn[:, j - 1])
        turn[:, j] = Z[seen.argmin()]
    before = 0.0
    for _ in range(MAX_ROTATIONS + 1):
        labels = (Z @ turn).argmax(axis=1)
        sums = np.stack([np.bincount(labels, Z[:, j], minlength=k) for j in range(k)], axis=1)
        U, S, V = np.linalg.svd(sums)
        now = 2.0 * (n - float(S.sum()))
        if abs(now - before) < ROUNDING:
            break
        before, turn = now, V.T @ U.T
    return labels


def spectral_clustering(
    affinity: UserTable,
    *,
    n_clusters: int = 8,
    n_components: int | None = None,
    eigen_solver: Solver | None = None,
    random_state: Any = None,
    n_init: int = 10,
    eigen_tol: float | Literal["auto"] = "auto",
    assign_labels: Assignment = "kmeans",
    verbose: bool = False,
) -> Codes:
    """The label of each node that `SpectralClustering` finds for affinities (n, n).

    Examples
    --------
    >>> from fivefold.cluster import spectral_clustering
    >>> two = [[1, 1, 0, 0], [1, 1, 0.1, 0], [0, 0.1, 1, 1], [0, 0, 1, 1]]
    >>> labels = spectral_clustering(two, n_clusters=2, random_state=0)
    >>> (labels == labels[0]).tolist()
    [True, True, False, False]
    """
    W = check_array(affinity, accept_sparse=["csr", "csc", "coo"], dtype=np.float64)
    return (
        SpectralClustering(
            n_clusters,
            n_components=n_components,
            eigen_solver=eigen_solver,
            random_state=random_state,
            n_init=n_init,
            affinity="precomputed",
            eigen_tol=eigen_tol,
            assign_labels=assign_labels,
            verbose=verbose,
        )
        .fit(W)
        .labels_
    )
