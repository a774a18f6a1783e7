"""Truncated singular value decomposition; of word counts, latent semantic indexing.

    X = U S V^T,    the k leading rows of V^T are the axes,    z = V^T x

Of all matrices of rank k, U_k S_k V_k^T is nearest to X; its squared error is s_{k+1}^2 + s_{k+2}^2 + ...
(Eckart & Young, 1936). The columns are not centred, so a sparse X stays sparse. If X X^T u = s^2 u then
v = X^T u / s: with more columns than rows the axes follow from inner products of rows alone ("gram").

For a table of word counts the axes are topics: rows that share topics are at a small angle even if they
share no word (Deerwester et al., 1990).
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_numpy
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, UserTable, Vector
from fivefold.decomposition.base import AxisReduction
from fivefold.decomposition.components.projection import AxisProjection
from fivefold.decomposition.components.svd_solvers import (
    MAX_GRAM_ROWS,
    ROW_SOLVERS,
    SolverOptions,
    svd_covariance_eigh,
)


@dataclass(frozen=True)
class TruncatedModel:
    """Axes, their singular values, and the variance of the rows along them."""

    projection: AxisProjection
    singular: Vector  # (k,) singular values
    variance: Vector  # (k,)
    share: Vector  # (k,) of the variance of all columns


class TruncatedSVD(AxisReduction):
    """Truncated singular value decomposition: linear reduction of a dense or sparse table, without centring.

    Parameters
    ----------
    n_components
        number of axes.
    algorithm
        "randomized" (approximate, quick), "arpack" (Lanczos), "gram" (the smaller of the two Gram matrices: exact,
        quick for few rows or columns), or "auto": "gram" for up to 500 rows or columns, else "randomized".
    n_iter
        number of power steps of "randomized".
    random_state
        seed of the random starts of "randomized" and "arpack".
    tol
        accuracy of "arpack"; zero asks for all that rounding allows.

    Attributes
    ----------
    singular_values_
        root of the sum of squared coordinates along each axis (k,).
    explained_variance_, explained_variance_ratio_
        variance of the rows along each axis (k,), and its share of the variance of all columns.

    Examples
    --------
    >>> from fivefold.decomposition import TruncatedSVD
    >>> words = ["ship", "boat", "ocean", "tree", "leaf"]
    >>> X = [[1, 0, 2, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 2, 1], [0, 0, 0, 1, 2]]
    >>> svd = TruncatedSVD(2, algorithm="gram", random_state=0).fit(X)
    >>> svd.top_features(2, words)
    (('tree', 'leaf'), ('ocean', 'ship'))
    >>> svd.similarity([[1, 0, 0, 0, 0]], X).round(3)
    array([[1., 1., 0., 0.]])
    """

    takes = Takes(sparse=True, tensors=True, chunks=True)
    card = Card(
        applications=("dimension reduction", "visualization", "data mining"),
        use="Sparse tables: word counts, ratings, one-hot columns; rows compared by angle. Not when columns have large "
        "means that carry no information: PCA centres them.",
        steps=(
            "Draw random vectors and multiply them by X and X^T a few times; or take the smaller Gram matrix.",
            "Decompose X in the space they span.",
            "Keep the k leading right singular vectors as axes, with signs that make the largest entries positive.",
            "Project rows, and queries, onto the axes; compare them by the cosine of their angle.",
        ),
        source="Eckart & Young (1936); Deerwester et al. (1990); Halko, Martinsson & Tropp (2011)",
        see_also=("PCA", "KernelSVD", "MultinomialNB"),
        variants=({"algorithm": "gram"}, {"algorithm": "arpack", "n_components": 1}, {"algorithm": "auto"}),
    )

    n_components: Count = 2
    _: KW_ONLY
    algorithm: Literal["arpack", "randomized", "gram", "auto"] = "randomized"
    n_iter: Index = 5
    n_oversamples: Count = 10
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto"
    random_state: Seed = None
    tol: NonNegative = 0.0

    def _fit(self, X: Table) -> None:
        algorithm = self.algorithm
        if algorithm == "auto":
            algorithm = "gram" if min(X.shape) <= MAX_GRAM_ROWS else "randomized"
        if is_tensor(X) and algorithm == "arpack":
            raise ValueError("TruncatedSVD: algorithm='arpack' does not take tensors; use 'auto' or 'randomized'")
        n, d = X.shape
        maximum = d if algorithm != "arpack" else min(n, d) - 1
        if self.n_components > maximum:
            raise ValueError(
                f"TruncatedSVD: n_components={self.n_components} must be at most {maximum} with "
                f"algorithm={algorithm!r}: X has n_samples={n}, n_features={d}. Ask for fewer components"
            )
        options = SolverOptions(
            self.random_state, self.tol, self.n_iter, self.n_oversamples, self.power_iteration_normalizer
        )
        if is_chunked(X):
            self.model_ = _from_moments(X, self.n_components, options)
            return
        s, axes = ROW_SOLVERS[algorithm](X, self.n_components, options)
        projection = AxisProjection(like(axes, X))
        variance = _variances(projection.project(X))
        total = mean_variance_axis(X, axis=0)[1].sum() if issparse(X) else _variances(X).sum()
        share = variance / total if total > 0 else 0 * variance
        self.model_ = TruncatedModel(projection, s[: len(axes)], variance, share)

    def transform(self, X: UserTable) -> Matrix:
        """Coordinates of the rows along the axes."""
        X = self._admit(X)
        return self.model_.projection.project(X)

    def similarity(self, queries: UserTable, X: UserTable) -> Matrix:
        """Cosines (q, n) of the angles between projected queries and rows; zero if a projection is zero."""
        return _directions(self.transform(queries)) @ _directions(self.transform(X)).T

    def top_features(self, count: int = 10, names: Sequence[Any] | None = None) -> tuple[tuple[Any, ...], ...]:
        """For each axis, the columns of largest weight: by `names`, by the names seen in fit, or by number."""
        check_is_fitted(self)
        axes = to_numpy(self.model_.projection.axes)
        known: Sequence[Any] = getattr(self, "feature_names_in_", range(axes.shape[1])) if names is None else names
        return tuple(tuple(known[j] for j in np.argsort(-np.abs(axis), kind="stable")[:count]) for axis in axes)


def _from_moments(X: Table, k: int, options: SolverOptions) -> TruncatedModel:
    """The axes of a table in chunks, from the eigenvectors of X'X."""
    weight, mean, scatter = weighted_moments(X)
    s, axes = svd_covariance_eigh(scatter + weight * np.outer(mean, mean), k, options)
    variance = np.einsum("kd,de,ke->k", axes, scatter, axes) / weight
    total = float(np.trace(scatter)) / weight
    share = variance / total if total > 0 else np.zeros_like(variance)
    return TruncatedModel(AxisProjection(like(axes, X)), like(s[:k], X), like(variance, X), like(share, X))


def _variances(Z: Matrix) -> Vector:
    """The variance of each column of an array or a tensor."""
    return Z.var(dim=0, correction=0) if is_tensor(Z) else Z.var(axis=0)


def _directions(Z: Matrix) -> Matrix:
    """The rows scaled to unit length, except rows of zeros."""
    xp = namespace(Z)
    length = xp.linalg.vector_norm(Z, axis=1, keepdims=True)
    return Z / xp.where(length > 0, length, xp.ones_like(length))
