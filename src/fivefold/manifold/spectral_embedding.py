"""Spectral embedding, or Laplacian eigenmaps: places in which rows joined by heavy edges are near each other.

    W   affinities of rows,   d_i = sum_j W_ij,   L = I - D^-1/2 W D^-1/2        (or D - W)
    L u = l u,  0 = l_1 <= l_2 <= ...        y_i = (u_i2, ..., u_i,k+1) / sqrt d_i

minimises sum_ij W_ij |y_i - y_j|^2 among places of unit spread. The first eigenvector is known, so the others come from
block Lanczos, orthogonal to it (spatial/laplacian_eigenmaps.py).

Belkin & Niyogi (2003); Shi & Malik (2000); von Luxburg (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_array

from fivefold.core._sklearn import Tags
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned, not_fitted_error
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Matrix, Table, UserTable
from fivefold.manifold.embeddings.base import Embedding, Placement
from fivefold.spatial.laplacian_eigenmaps import (
    laplacian_places,
    neighbor_affinities,
    stored_affinities,
    symmetric_affinities,
)

Affinity = Literal["nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"]
Solver = Literal["arpack", "lobpcg", "amg"]


@dataclass(frozen=True)
class GraphPlacement(Placement):
    """Places of rows, and the affinities they come from."""

    affinity: Any  # (n, n) array, or sparse matrix
    n_neighbors: int | None
    gamma: float | None


class SpectralEmbedding(Embedding):
    """Places in which rows of high affinity are near each other.

    Parameters
    ----------
    n_components
        number of coordinates.
    affinity
        "nearest_neighbors" joins each row with its nearest, "rbf" takes exp(-gamma |x - x'|^2), "precomputed" takes X
        as affinities, "precomputed_nearest_neighbors" as a sparse graph of distances; or a function of X.
    gamma
        factor of "rbf"; by default one over the number of columns.
    random_state
        seed of the first block of Lanczos.
    eigen_solver
        no effect: block Lanczos, or the whole matrix where it is small.
    eigen_tol
        accuracy of Lanczos, as a share of the largest eigenvalue of the inverse; "auto" is 1e-11.
    n_neighbors
        neighbours of each row, itself among them; by default a tenth of the rows.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.

    Attributes
    ----------
    embedding_
        places of the rows (n, n_components).
    affinity_matrix_
        affinities (n, n), a sparse matrix for neighbours.
    n_neighbors_, gamma_
        the number of neighbours, or the gamma, that was used.

    Examples
    --------
    >>> from fivefold.manifold import SpectralEmbedding
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> Z = SpectralEmbedding(1, affinity="rbf", gamma=0.1, random_state=0).fit_transform(X)[:, 0]
    >>> bool(Z[:3].max() < 0 < Z[3:].min() or Z[3:].max() < 0 < Z[:3].min())
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    affinity: Affinity | Callable[..., Any] = "nearest_neighbors"
    gamma: NonNegative | None = None
    random_state: Seed = None
    eigen_solver: Solver | None = None
    eigen_tol: NonNegative | Literal["auto"] = "auto"
    n_neighbors: Count | None = None
    n_jobs: int | None = None

    takes = Takes(sparse=True)
    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Groups of any shape, and surfaces: neighbours stay together, distances mean nothing. A graph in several "
        "parts is told apart, and little else is shown.",
        steps=(
            "Join each row with its nearest rows, or weigh all pairs by a kernel.",
            "Form the Laplacian of this graph, normalised by the sums of affinities.",
            "Find the eigenvectors of its smallest eigenvalues beside the constant.",
        ),
        source="Belkin & Niyogi (2003); Shi & Malik (2000)",
        see_also=("LocallyLinearEmbedding", "Isomap", "KernelPCA"),
        given={"n_neighbors": 9},
        variants=({"affinity": "rbf", "n_components": 1},),
        growth=2.0,
    )

    affinity_matrix_ = learned("affinity")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags

    @property
    def n_neighbors_(self) -> int:
        """The number of neighbours that was used."""
        return int(self._used("n_neighbors"))

    @property
    def gamma_(self) -> float:
        """The gamma that was used."""
        return float(self._used("gamma"))

    def _used(self, name: str) -> Any:  # a number
        found = getattr(self.model_, name)
        if found is None:
            raise not_fitted_error(self, f"{name}_")
        return found

    def _fit(self, X: Table) -> None:
        n = X.shape[0]
        if n < 2:
            raise ValueError(f"SpectralEmbedding: 2 rows are needed; there is only 1 sample, so n_samples={n}")
        if self.n_components >= n:
            raise ValueError(
                f"SpectralEmbedding: n_components={self.n_components} must be below the number of rows; n_samples={n}"
            )
        W, k, gamma = self._affinities(X)
        given = self.affinity == "precomputed" or callable(self.affinity)
        places = laplacian_places(
            symmetric_affinities(W, "SpectralEmbedding") if given else W,
            self.n_components,
            check_random_state(self.random_state),
            "SpectralEmbedding",
            tol=self.eigen_tol,
        )
        self.model_ = GraphPlacement(places, X.dtype, W, k, gamma)

    def _affinities(self, X: Table) -> tuple[Any, int | None, float | None]:
        """Affinities (n, n), the number of neighbours and the gamma behind them."""
        n, asked = X.shape[0], self.affinity
        if asked == "precomputed":
            self._refuse_oblong(X)
            return X, None, None
        if asked == "precomputed_nearest_neighbors":
            self._refuse_oblong(X)
            k = self.n_neighbors or max(n // 10, 1)
            return stored_affinities(X, k, "SpectralEmbedding"), k, None
        if asked == "nearest_neighbors":
            k = self.n_neighbors or max(n // 10, 1)
            return neighbor_affinities(X, k, "SpectralEmbedding"), k, None
        refuse_square("SpectralEmbedding", n, 3, 'Take affinity="nearest_neighbors", or a sample of the rows')
        if asked == "rbf":
            gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
            return rbf_kernel(X, gamma=gamma), None, gamma
        measure: Any = asked
        return measure(X), None, None

    def _refuse_oblong(self, X: Table) -> None:
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"SpectralEmbedding: affinities of n rows with each other are (n, n); X is {X.shape}")


def spectral_embedding(
    adjacency: UserTable,
    *,
    n_components: int = 8,
    eigen_solver: Solver | None = None,
    random_state: Any = None,
    eigen_tol: float | Literal["auto"] = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Matrix:
    """Eigenvectors (n, n_components) of the smallest eigenvalues of the Laplacian of a graph.

    Examples
    --------
    >>> from fivefold.manifold import spectral_embedding
    >>> triangle_with_tail = [[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    >>> spectral_embedding(triangle_with_tail, n_components=1, random_state=0)[:, 0].round(4).tolist()
    [0.7317, 0.1674, -0.3084, -0.3084]
    """
    W = check_array(adjacency, accept_sparse="csr", dtype=np.float64)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"spectral_embedding: adjacency must be square; got shape {W.shape}")
    W = symmetric_affinities(W, "spectral_embedding")
    rng = check_random_state(random_state)
    return laplacian_places(
        W, n_components, rng, "spectral_embedding", tol=eigen_tol, normalised=norm_laplacian, drop_first=drop_first
    )
