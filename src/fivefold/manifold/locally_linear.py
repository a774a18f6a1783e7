"""Locally linear embedding: places in which every row is the same mixture of its neighbours as before.

    C_jl = (x_i - x_j)'(x_i - x_l),   (C + r I) w = 1,   w <- w / 1'w        weights of the neighbours of row i
    M = (I - W)'(I - W) = V L V',   0 = l_1 <= l_2 <= ...                    y_i = (v_i2, ..., v_i,k+1)

The ridge r is `reg` times the trace of C, or `reg` itself. Rows with few neighbours have weights that say little; many
neighbours bend across the surface. Two costs tell: sum_i |x_i - sum_j W_ij x_j|^2, and tr(Y'MY) = l_2 + ... + l_k+1.

The variants replace M: "modified" takes several weight vectors per row, "hessian" second derivatives in tangent
coordinates, "ltsa" what no linear function of tangent coordinates explains.

Roweis & Saul (2000); Donoho & Grimes (2003); Zhang & Zha (2004); Zhang & Wang (2007).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Transformer, learned, learned_in_dtype
from fivefold.core.estimators.params import Count, NonNegative, Positive, Seed
from fivefold.core.numerics.smallest_eigenpairs import smallest_eigenpairs
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Matrix, Sparse, Table, UserTable, UserTarget
from fivefold.manifold.embeddings import local_geometry
from fivefold.neighbors.nearest_neighbors import NearestNeighbors
from fivefold.neighbors.shared.base import Algorithm, NeighborEstimator
from fivefold.spatial.search.proximity_graphs import components

SHIFT = 1e-12  # of the diagonal of M, as a share of its mean: rounding makes no pivot negative
Method = Literal["standard", "hessian", "modified", "ltsa"]


@dataclass(frozen=True)
class LocalMixtures:
    """Rows with a search, and their places."""

    search: NearestNeighbors
    embedding: Doubles  # (n, k)
    values: Doubles  # (k,) the smallest eigenvalues of M above zero
    weights: Sparse | None  # (n, n) W, of the standard method
    dtype: DTypeLike

    @property
    def error(self) -> float:
        """tr(Y'MY)."""
        return float(self.values.sum())


class LocallyLinearEmbedding(Transformer):
    """Places in which every row is the mixture of its neighbours that it was among the columns.

    Parameters
    ----------
    n_neighbors
        neighbours of each row; without effect where `radius` is given.
    n_components
        number of coordinates.
    reg
        ridge of the local covariances, as a share of their trace, or as it is (`relative_reg=False`).
    eigen_solver
        "dense" decomposes the whole matrix, "arpack" finds the smallest eigenpairs by block Lanczos on the inverse;
        "auto" chooses.
    tol
        accuracy of Lanczos, as a share of the largest eigenvalue of the inverse; at most 1e-7.
    max_iter
        most blocks of Lanczos, after which the whole matrix is decomposed.
    method
        "standard", "hessian" (needs more than k (k + 3) / 2 neighbours for k coordinates), "modified", or "ltsa".
    hessian_tol
        sums of a Hessian direction below it are left as they are.
    modified_tol
        length below which a reflection of "modified" is none.
    neighbors_algorithm
        "brute", "kd_tree" or "ball_tree"; "auto" chooses by the shape of the table. Neighbours are the same.
    random_state
        seed of the first block of Lanczos.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.
    radius
        with "standard": all rows within this distance are neighbours, in place of `n_neighbors`.
    relative_reg
        whether `reg` is a share of the trace, so that the unit of the columns does not matter.

    Attributes
    ----------
    embedding_
        places of the rows of fit (n, n_components), columns of unit length.
    reconstruction_error_
        the cost of the places, tr(Y'MY).
    weights_
        the mixture of each row, a sparse matrix W (n, n); None for other methods than "standard".
    nbrs_
        the search for neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.manifold import LocallyLinearEmbedding
    >>> angle = np.linspace(0, 4, 60)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Z = LocallyLinearEmbedding(n_neighbors=4, n_components=1, random_state=0).fit_transform(arc)
    >>> bool(abs(np.corrcoef(Z[:, 0], angle)[0, 1]) > 0.9)
    True
    """

    _: KW_ONLY
    n_neighbors: Count = 5
    n_components: Count = 2
    reg: NonNegative = 1e-3
    eigen_solver: Literal["auto", "arpack", "dense"] = "auto"
    tol: NonNegative = 1e-6
    max_iter: Count = 100
    method: Method = "standard"
    hessian_tol: NonNegative = 1e-4
    modified_tol: NonNegative = 1e-12
    neighbors_algorithm: Algorithm = "auto"
    random_state: Seed = None
    n_jobs: int | None = None
    radius: Positive | None = None
    relative_reg: bool = True

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Rows on a curved surface, also one that cannot be flattened without stretching; many thousands of rows. "
        "Not for rows in separate groups. Scales of the places mean nothing.",
        steps=(
            "Find the neighbours of each row.",
            "Find the weights that rebuild the row from them, by a small linear system.",
            "Find places with the same weights: eigenvectors of the smallest eigenvalues of (I - W)'(I - W).",
            "Place a new row by the weights of its neighbours.",
        ),
        source="Roweis & Saul (2000); Donoho & Grimes (2003); Zhang & Zha (2004); Zhang & Wang (2007)",
        see_also=("Isomap", "SpectralEmbedding", "KernelPCA", "PCA"),
        given={"n_neighbors": 9},
        variants=(
            {"method": "modified"},
            {"method": "hessian", "n_components": 1},
            {"method": "ltsa", "eigen_solver": "dense"},
        ),
        growth=1.5,
    )

    embedding_ = learned_in_dtype("embedding")
    reconstruction_error_ = learned("error")
    eigenvalues_ = learned("values")
    weights_ = learned("weights")
    nbrs_ = learned("search")

    def _fit(self, X: Table) -> None:
        self._refuse_sizes(*X.shape)
        search = NearestNeighbors(
            n_neighbors=self.n_neighbors, radius=self.radius, algorithm=self.neighbors_algorithm
        ).fit(X)
        Z = X.astype(np.float64)
        W, squared = None, self.method == "standard"
        if squared:
            W = graph = self._weights(search, Z)
            A = local_geometry.standard_root(W)  # M = A'A
            scale = float(A.power(2).sum()) / len(Z)  # the mean of the diagonal of M
        else:
            rows = search.kneighbors(return_distance=False)
            graph = local_geometry.weight_matrix(np.ones(rows.shape), rows, len(Z))
            A = self._variant(Z, rows)
            scale = float(A.diagonal().mean())
        if (parts := int(components(graph).max()) + 1) > 1:
            warn(
                f"LocallyLinearEmbedding: the graph of neighbours is in {parts} parts, whose places say nothing about "
                f"each other. Raise {'n_neighbors' if self.radius is None else 'radius'}, or fit each part on its own"
            )
        pairs = smallest_eigenpairs(
            "LocallyLinearEmbedding", A, np.ones(len(Z)), self.n_components, check_random_state(self.random_state),
            SHIFT * scale or SHIFT, squared=squared, dense=self.eigen_solver == "dense", tol=min(self.tol, 1e-7),
            steps=self.max_iter,
        )  # fmt: skip
        V, image = pairs.vectors, A @ pairs.vectors
        values = np.maximum(np.einsum("ij,ij->j", image if squared else V, image), 0.0)
        self.model_ = LocalMixtures(search, pairs.vectors, values, W, X.dtype)

    def _refuse_sizes(self, n: int, d: int) -> None:
        name, k = "LocallyLinearEmbedding", self.n_components
        if k > d:
            raise ValueError(
                f"{name}: n_components={k} must be at most the number of columns, {d}: the output dimension must be "
                "less than or equal to the input dimension"
            )
        if self.radius is not None and self.method != "standard":
            raise ValueError(f'{name}: method="{self.method}" takes n_neighbors; radius is for method="standard"')
        if self.n_neighbors >= n and self.radius is None:
            raise ValueError(
                f"{name}: n_neighbors={self.n_neighbors} must be less than the number of rows; Expected n_neighbors < "
                f"n_samples, but n_samples = {n}"
            )
        if k >= n:
            raise ValueError(f"{name}: n_components={k} coordinates need more than {k} rows; n_samples = {n}")
        if self.method == "hessian" and self.n_neighbors <= k * (k + 3) // 2:
            raise ValueError(
                f'{name}: for method="hessian", n_neighbors must be greater than n_components * (n_components + 3) / 2 '
                f"= {k * (k + 3) // 2}; got {self.n_neighbors}"
            )
        if self.method == "modified" and self.n_neighbors < k:
            raise ValueError(f"{name}: modified LLE requires n_neighbors >= n_components; got {self.n_neighbors} < {k}")

    def _weights(self, search: NearestNeighbors, Z: Doubles) -> Sparse:
        """W (n, n)."""
        if self.radius is None:
            rows = search.kneighbors(return_distance=False)
            return local_geometry.weight_matrix(self._solve(Z, Z, rows), rows, len(Z))
        return self._radius_weights(search, Z, None)

    def _radius_weights(self, search: NearestNeighbors, Z: Doubles, Q: Doubles | None) -> Sparse:
        """Weights of neighbourhoods of different sizes, those of one size together."""
        found = search._within(Q, self.radius)
        counts = found.counts()
        if len(lonely := np.flatnonzero(counts == 0)):
            raise ValueError(
                f"LocallyLinearEmbedding: {len(lonely)} rows have no neighbour within radius={self.radius}, first row "
                f"{lonely[0]}. Raise radius, or leave them out"
            )
        weights: Doubles = np.empty(len(found.rows))
        for size in np.unique(counts):
            at = found.indptr[:-1][counts == size, None] + np.arange(size)
            weights[at] = self._solve((Z if Q is None else Q)[counts == size], Z, found.rows[at])
        return found._replace(distances=weights).matrix(len(Z))

    def _solve(self, Q: Doubles, Z: Doubles, rows: Indices) -> Doubles:
        return local_geometry.barycentric_weights(Q, Z, rows, self.reg, self.relative_reg)

    def _variant(self, Z: Doubles, rows: Indices) -> Sparse:
        k = self.n_components
        if self.method == "hessian":
            return local_geometry.hessian_matrix(Z, rows, k, self.hessian_tol)
        if self.method == "ltsa":
            return local_geometry.tangent_matrix(Z, rows, k)
        return local_geometry.modified_matrix(Z, rows, k, self.modified_tol)

    def fit_transform(self, X: UserTable, y: UserTarget = None) -> Matrix:
        """Fit, and give the places of the rows."""
        return self.fit(X).embedding_

    def transform(self, X: UserTable) -> Matrix:
        """Places (m, n_components) of the rows, each the mixture of its neighbours among the rows of fit."""
        X = self._admit(X)
        model: LocalMixtures = self.model_
        Q, Z = X.astype(np.float64), model.search.model_.table.astype(np.float64)
        if self.radius is not None:
            W = self._radius_weights(model.search, Z, Q)
        else:
            rows = model.search.kneighbors(X, return_distance=False)
            W = local_geometry.weight_matrix(self._solve(Q, Z, rows), rows, len(Z))
        return np.asarray(W @ model.embedding).astype(X.dtype, copy=False)

    def weight_cost(self) -> float:
        """sum_i |x_i - sum_j W_ij x_j|^2 over the rows of fit, of the standard method."""
        model: LocalMixtures = self.model_
        if model.weights is None:
            raise ValueError(f'LocallyLinearEmbedding: method="{self.method}" has no weights; fit with "standard"')
        Z = model.search.model_.table.astype(np.float64)
        return float(np.square(Z - model.weights @ Z).sum())

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)


def locally_linear_embedding(
    X: UserTable, *, n_neighbors: int, n_components: int, **options: Any
) -> tuple[Matrix, float]:
    """Places of rows and their cost, by `LocallyLinearEmbedding` with these options.

    Examples
    --------
    >>> from fivefold.manifold import locally_linear_embedding
    >>> X = [[0.0, 0.0], [1.0, 0.1], [2.0, 0.3], [3.0, 0.6], [4.0, 1.0]]
    >>> Z, cost = locally_linear_embedding(X, n_neighbors=2, n_components=1, random_state=0)
    >>> Z.shape
    (5, 1)
    """
    rows = X.model_.table if isinstance(X, NeighborEstimator) else X
    model = LocallyLinearEmbedding(n_neighbors=n_neighbors, n_components=n_components, **options)
    return model.fit_transform(rows), model.reconstruction_error_
