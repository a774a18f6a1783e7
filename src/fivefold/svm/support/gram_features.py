"""Features whose inner products are the entries of a Gram matrix, so that methods of linear predictors take kernels.

    G = Z Z',   Z (n, r) from the Cholesky factor with pivots;    f(x) = z(x)'w = sum over pivots of beta_j k(x_j, x)

With w = L'beta for the rows L of Z that belong to the pivots, |w|^2 = beta'G beta = |f|^2: the penalty of the linear
method is that of the kernel method. Rows that others explain to rounding have no coefficient.

Fine & Scheinberg (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.types import Doubles, Indices

RESIDUAL_SHARE = 1e-13  # of the largest diagonal entry: what is left of a row when it counts as explained


@dataclass(frozen=True)
class GramFeatures:
    """Features of the n rows, and the rows that span them."""

    Z: Doubles  # (n, r)
    pivots: Indices  # (r,)

    @on_one_blas_thread
    def coefficients(self, W: Doubles) -> Doubles:
        """Of the kernels at the pivots (r, outputs), from those of the features."""
        beta: Doubles = solve_triangular(self.Z[self.pivots], W, lower=True, trans="T", check_finite=False)
        return beta


@on_one_blas_thread
def gram_features(G: Doubles) -> GramFeatures:
    """The features of a positive semidefinite matrix; what is negative in another is left out.

    Examples
    --------
    >>> G = np.array([[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [2.0, 2.0, 2.0]])
    >>> found = gram_features(G)
    >>> found.pivots, np.allclose(found.Z @ found.Z.T, G)
    (array([0, 2]), True)
    """
    top = float(G.diagonal().max(initial=0.0))
    if not top > 0.0:
        return GramFeatures(np.zeros((len(G), 0)), np.empty(0, dtype=np.int64))
    factor, order, rank, _ = dpstrf(G, tol=RESIDUAL_SHARE * top, lower=1)
    order = order.astype(np.int64) - 1
    Z = np.empty((len(G), rank))
    Z[order] = np.tril(factor)[:, :rank]
    return GramFeatures(Z, order[:rank])
