"""Geometry of the feature space of a kernel, from its values alone, and explicit features where these are few.

<sum_i a_i phi(x_i), sum_j b_j phi(z_j)> = a' K b
squared distance of phi(x) from the span of a sample: k(x, x) - k_x' K^+ k_x, reached at a = K^+ k_x
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, take
from fivefold.kernels.gram_blocks import as_rows, densified

RANK_TOLERANCE = 1e-12  # eigenvalues below this share of the largest are zeros


@on_one_blas_thread
def span_coefficients(kernel: Kernel, sample: Objects, X: Objects) -> Matrix:
    """a (n, m) with sum_j a_ij phi(s_j) nearest to phi(x_i)."""
    return kernel(X, sample) @ np.linalg.pinv(kernel(sample), rcond=RANK_TOLERANCE, hermitian=True)


def span_residuals(kernel: Kernel, sample: Objects, X: Objects) -> Vector:
    """Squared distance of each phi(x_i) from the span of the sample; zero where x_i is in the sample."""
    cross = kernel(X, sample)
    explained = np.einsum("ij,ij->i", cross, span_coefficients(kernel, sample, X))
    return np.maximum(kernel.diag(X) - explained, 0.0)


def span_curve(kernel: Kernel, sample: Objects, X: Objects, sizes: Sequence[int]) -> Vector:
    """Mean squared distance from the span of the first m objects of the sample, for each m: does the sample span X?"""
    return np.array([span_residuals(kernel, take(sample, np.arange(m)), X).mean() for m in sizes])


def expansion_product(kernel: Kernel, a: Array, X: Objects, b: Array | None = None, Z: Objects | None = None) -> Array:
    """<sum_i a_i phi(x_i), sum_j b_j phi(z_j)>; columns of a and b are several expansions. Without b: of a with itself.

    Examples
    --------
    >>> from fivefold.kernels import Linear
    >>> float(expansion_product(Linear(), np.array([1.0, -1.0]), [[2.0], [5.0]]))  # |2 - 5|^2
    9.0
    """
    return a.T @ kernel(X, Z) @ (a if b is None else b)


@on_one_blas_thread
def empirical_features(K: Matrix) -> Matrix:
    """Rows U sqrt(l) of the eigendecomposition of a Gram matrix: their inner products are the matrix."""
    values, U = eigen(K)
    return U * np.sqrt(np.maximum(values, 0.0))


def polynomial_features(X: Objects, degree: int, homogeneous: bool = False) -> Matrix:
    """phi with <phi(x), phi(y)> = <x, y>^degree, or (<x, y> + 1)^degree: monomials times roots of their counts.

    Examples
    --------
    >>> polynomial_features([[1.0, 2.0]], 2, homogeneous=True).round(4)
    array([[1.    , 2.8284, 4.    ]])
    """
    rows = densified(as_rows(X))
    rows = rows if homogeneous else np.hstack([np.ones((len(rows), 1), dtype=rows.dtype), rows])
    terms = list(combinations_with_replacement(range(rows.shape[1]), degree))
    powers = [np.bincount(term, minlength=rows.shape[1]) for term in terms]
    often = np.sqrt([factorial(degree) / prod(map(factorial, map(int, p))) for p in powers]).astype(rows.dtype)
    return np.stack([rows[:, term].prod(axis=1) for term in terms], axis=1) * often


def taylor_features(x: Array, terms: int = 20) -> Matrix:
    """(1, x, x^2 / sqrt 2!, ..., x^k / sqrt k!): the features of exp(x y), cut off.

    Examples
    --------
    >>> a, b = taylor_features(np.array([0.7, 1.3]))
    >>> round(float(a @ b), 5)  # exp(0.91)
    2.48432
    """
    k = np.arange(terms)
    return np.asarray(x)[..., None] ** k / np.sqrt([float(factorial(int(j))) for j in k])


def taylor_norm(derivatives: Sequence[float]) -> float:
    """|f|^2 = sum_k f^(k)(0)^2 / k! of a function with these derivatives at 0, in the space of the kernel exp(x y).

    Examples
    --------
    >>> round(taylor_norm([0, 1, 0, -1] * 5), 4)  # the sine: sinh 1
    1.1752
    """
    return float(sum(d * d / factorial(k) for k, d in enumerate(derivatives)))
