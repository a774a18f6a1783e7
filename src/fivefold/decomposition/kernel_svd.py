"""Singular value decomposition from inner products alone: the features themselves are never computed.

    K_st = k(x_s, x_t) = Phi(x_s).Phi(x_t),    K a^k = l_k a^k
    Psi_k(x) = (1 / sqrt l_k) sum_t a^k_t k(x_t, x)

which is Phi(x).b^k for the k-th right singular vector b^k = Phi' a^k / sqrt l_k of the features of all rows, up to
sign. There may be many more features than rows, even infinitely many: only the (n, n) Gram matrix is decomposed.
Nothing is centred; with the linear kernel this is truncated SVD. Eigenvalues that are only rounding are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.numerics.arrays import like
from fivefold.core.numerics.eigenpairs import eigen, fix_signs
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Matrix, Table, UserTable, Vector

KERNEL_BLOCK_ROWS = 1024  # new rows whose kernels with all training rows are held in memory at a time


@dataclass(frozen=True)
class KernelAxes:
    """The training rows, their weights in each axis, and the eigenvalues."""

    rows: Matrix  # (n, d), or (n, 0) for a precomputed kernel
    weights: Matrix  # (n, k): a^k_t / sqrt l_k
    values: Vector  # (k,)


class KernelSVD(Transformer):
    """Singular value decomposition of the features behind a kernel, from inner products alone; not centred.

    Parameters
    ----------
    n_components
        maximum number of axes; by default, all whose eigenvalue is more than rounding.
    kernel
        "linear", "poly", "rbf", "cosine", or "precomputed" if X holds the kernels of its rows with the training
        rows; or a function of two tables that returns the kernels (n, m) of their rows.
    gamma
        factor of "rbf" and "poly"; by default, one over the number of columns.
    degree
        exponent of "poly".
    coef0
        constant term of "poly".
    tol
        eigenvalues up to this share of the largest are skipped.

    Attributes
    ----------
    eigenvalues_
        of the Gram matrix (k,), largest first: squares of the singular values of the features.
    eigenvectors_
        of the Gram matrix (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.decomposition import KernelSVD
    >>> X = np.array([[3.0, 0.0], [0.0, 1.0], [4.0, 0.0]])
    >>> svd = KernelSVD().fit(X)
    >>> svd.eigenvalues_
    array([25.,  1.])
    >>> np.abs(svd.transform([[1.0, 2.0]])).round(6)
    array([[1., 2.]])
    """

    n_components: Count | None = None
    _: KW_ONLY
    kernel: Literal["linear", "poly", "rbf", "cosine", "precomputed"] | Callable[[Any, Any], Any] = "linear"
    gamma: Positive | None = None
    degree: Positive = 3
    coef0: float = 1.0
    tol: NonNegative = 1e-12

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Many more features than rows, or features that are known only through a kernel: strings, graphs, "
        "polynomials. Not for many thousands of rows: the kernels of all pairs are held in memory; PCA and "
        "TruncatedSVD work on columns.",
        steps=(
            "Take the inner products of all rows.",
            "Decompose their matrix; skip eigenvalues that are only rounding.",
            "A row's coordinates are its inner products with all rows, times eigenvectors over root eigenvalues.",
        ),
        source="Eckart & Young (1936); Schoelkopf, Smola & Mueller (1998), without their centring",
        see_also=("TruncatedSVD", "PCA"),
        growth=3.0,
    )

    eigenvalues_ = learned("values")

    @property
    def eigenvectors_(self) -> Matrix:
        """Of the Gram matrix (n, k)."""
        return self.model_.weights * np.sqrt(self.model_.values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _fit(self, X: Table) -> None:
        Z = np.asarray(X, dtype=np.float64)
        n, d = Z.shape
        if self.kernel == "precomputed" and n != d:
            raise ValueError(f"KernelSVD: a precomputed kernel of n rows with themselves is (n, n); X is {X.shape}")
        if self.n_components is not None and self.n_components > n:
            raise ValueError(
                f"KernelSVD: n_components={self.n_components} must be at most the number of rows; X has n_samples={n}. "
                "Ask for fewer components"
            )
        if self.kernel == "linear" and d < n:  # the smaller Gram matrix has the same eigenvalues
            values, V = eigen(Z.T @ Z)
            kept = self._kept_eigenvalues(values)
            values, A = values[kept], Z @ V[:, kept] / np.sqrt(values[kept])
        else:
            G = self._kernels(Z, Z)
            if not np.allclose(G, G.T, rtol=1e-8, atol=1e-8 * np.abs(G).max(initial=0.0)):
                raise ValueError("KernelSVD: the kernel is not symmetric: k(x, z) and k(z, x) differ; give one that is")
            values, A = eigen((G + G.T) / 2)
            kept = self._kept_eigenvalues(values)
            values, A = values[kept], A[:, kept]
        A = fix_signs(A.T).T
        rows = Z[:, :0] if self.kernel == "precomputed" else Z.copy()
        self.model_ = KernelAxes(like(rows, X), A / np.sqrt(values), values)

    def transform(self, X: UserTable) -> Matrix:
        """Coordinates of the rows along the axes."""
        X = self._admit(X)
        Z, rows = np.asarray(X, dtype=np.float64), np.asarray(self.model_.rows, dtype=np.float64)
        W = self.model_.weights
        out = np.empty((len(Z), W.shape[1]))
        for a in range(0, len(Z), KERNEL_BLOCK_ROWS):
            out[a : a + KERNEL_BLOCK_ROWS] = self._kernels(Z[a : a + KERNEL_BLOCK_ROWS], rows) @ W
        return like(out, X)

    @property
    def _n_features_out(self) -> int:
        return self.model_.weights.shape[1]

    def _kept_eigenvalues(self, values: Vector) -> Indices:
        """Numbers of the eigenvalues to keep, out of all in descending order."""
        floor = max(self.tol, len(values) * np.finfo(float).eps) * max(float(values.max()), 0.0)
        kept = np.flatnonzero(values > floor)[: self.n_components]
        if len(kept) == 0:
            raise ValueError("KernelSVD: every inner product of rows is zero, so there is no axis; drop empty rows")
        return kept

    def _kernels(self, X: Matrix, Y: Matrix) -> Matrix:
        """Kernels (n, m) of the rows of X with those of Y."""
        if self.kernel == "precomputed":
            return X
        if callable(self.kernel):
            G = np.asarray(self.kernel(X, Y), dtype=np.float64)
            if G.shape != (len(X), len(Y)):
                raise ValueError(
                    f"KernelSVD: the kernel of {len(X)} and {len(Y)} rows must have that shape; got {G.shape}"
                )
            return G
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **options)
