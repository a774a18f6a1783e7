"""Truncated singular value decomposition; on words, latent semantic indexing.

    X = U S V^T,    the k leading rows of V^T are the axes,    z = V^T x

Among all matrices of rank k, U_k S_k V_k^T is nearest to X in squared error, s_{k+1}^2 + s_{k+2}^2 + ...
(Eckart & Young, 1936). The columns are not centred, so a sparse X stays sparse. If X X^T u = s^2 u then
v = X^T u / s: with more columns than rows the axes follow from inner products of rows alone ("gram").

On a table of word counts the axes are topics: rows that share topics lie at a small angle even if they
share no word (Deerwester et al., 1990).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.tables import Takes
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.numerics.arrays import like
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, UserTable
from fivefold.decomposition.components.projection import AxisProjection
from fivefold.decomposition.components.svd_solvers import MAX_GRAM_ROWS, ROW_SOLVERS, SolverOptions


@dataclass(frozen=True)
class TruncatedModel:
    """Axes, their singular values, and the variance of the rows along them."""

    projection: AxisProjection
    singular: Array  # (k,)
    variance: Array  # (k,)
    share: Array  # (k,)


class TruncatedSVD(Transformer):
    """Truncated singular value decomposition: linear reduction of a table that is not centred, dense or sparse.

    Parameters
    ----------
    n_components
        number of axes.
    algorithm
        "randomized" (approximate, quick), "arpack" (Lanczos), "gram" (the smaller of the two Gram matrices: exact,
        quick if rows or columns are few), or "auto": "gram" for up to 500 rows or columns, else "randomized".
    n_iter
        power steps of "randomized".
    n_oversamples
        random vectors beyond n_components for "randomized".
    power_iteration_normalizer
        what keeps the random vectors of "randomized" apart.
    random_state
        decides the starts of "randomized" and "arpack".
    tol
        accuracy of "arpack"; zero is as far as rounding allows.

    Attributes
    ----------
    components_
        axes in rows (k, d), orthonormal; the entry of largest size in each is positive.
    singular_values_
        length of the table along each axis (k,).
    explained_variance_, explained_variance_ratio_
        variance of the rows along each axis (k,), and its share of that of all columns.

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

    takes = Takes(sparse=True)
    card = Card(
        applications=("dimension reduction", "visualization", "data mining"),
        use="Sparse tables: word counts, ratings, one-hot columns; rows compared by angle. Not when columns have large "
        "means that say nothing: PCA centres them.",
        steps=(
            "Draw random vectors and pass them through X and X^T a few times; or take the smaller Gram matrix.",
            "Decompose X in the space they span.",
            "Keep the k leading right singular vectors as axes, turned so that the largest entry is positive.",
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

    components_ = learned("projection.axes")
    singular_values_ = learned("singular")
    explained_variance_ = learned("variance")
    explained_variance_ratio_ = learned("share")

    def _fit(self, X: Table) -> None:
        algorithm = self.algorithm
        if algorithm == "auto":
            algorithm = "gram" if min(X.shape) <= MAX_GRAM_ROWS else "randomized"
        n, d = X.shape
        most = d if algorithm != "arpack" else min(n, d) - 1
        if self.n_components > most:
            raise ValueError(
                f"TruncatedSVD: n_components={self.n_components} must be at most {most} with algorithm={algorithm!r}: "
                f"X has n_samples={n}, n_features={d}. Ask for fewer components"
            )
        effort = SolverOptions(
            self.random_state, self.tol, self.n_iter, self.n_oversamples, self.power_iteration_normalizer
        )
        s, axes = ROW_SOLVERS[algorithm](X, self.n_components, effort)
        projection = AxisProjection(like(axes, X))
        variance = projection.project(X).var(axis=0)
        total = mean_variance_axis(X, axis=0)[1].sum() if issparse(X) else X.var(axis=0).sum()
        share = variance / total if total > 0 else np.zeros_like(variance)
        self.model_ = TruncatedModel(projection, s[: len(axes)], variance, share)

    def transform(self, X: UserTable) -> Any:
        """Coordinates of the rows along the axes."""
        X = self._admit(X)
        return self.model_.projection.project(X)

    def inverse_transform(self, X: UserTable) -> Any:
        """The points that have these coordinates: of transformed rows, the nearest of rank k."""
        check_is_fitted(self)
        return self.model_.projection.restore(X)

    def similarity(self, queries: Any, X: Table) -> Any:
        """Cosines (q, n) of the angles between queries and rows along the axes; zero for what lies outside them."""
        return _directions(self.transform(queries)) @ _directions(self.transform(X)).T

    def top_features(self, count: int = 10, names: Any = None) -> tuple[tuple[Any, ...], ...]:
        """For each axis the columns that weigh most in it: by `names`, the names seen in fit, or numbers."""
        check_is_fitted(self)
        axes = self.model_.projection.axes
        names = getattr(self, "feature_names_in_", range(axes.shape[1])) if names is None else names
        return tuple(tuple(names[j] for j in np.argsort(-np.abs(axis), kind="stable")[:count]) for axis in axes)

    @property
    def _n_features_out(self) -> int:
        return len(self.model_.projection.axes)


def _directions(Z: Matrix) -> Any:
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length > 0, length, 1)
