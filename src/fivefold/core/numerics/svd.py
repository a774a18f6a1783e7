"""Singular values and axes: from the smaller Gram matrix, or from a random sketch (Halko, Martinsson & Tropp, 2011).

"Array" means a NumPy array or a tensor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse import issparse

from fivefold.core.numerics.arrays import AnyArray, is_tensor, like, namespace
from fivefold.core.numerics.eigenpairs import eigen, fix_signs
from fivefold.core.numerics.products import cross_product, product
from fivefold.core.types import Table


class SingularAxes(NamedTuple):
    """Singular values, largest first, and right singular vectors in rows (k, d)."""

    values: AnyArray
    axes: AnyArray


def gram_svd(A: Table, k: int) -> SingularAxes:
    """Singular values, k or all, and k axes of an array or a sparse matrix, from the smaller of A^T A and A A^T.

    If A A^T u = s^2 u then A^T u = s v; orthogonalising the A^T u in order gives the v, and unit vectors
    orthogonal to them where s is zero. Values below 1e-8 of the largest are lost to rounding.
    """
    n, d = A.shape
    G = cross_product(A, A) if d <= n else cross_product(A.T, A.T)
    values, vectors = eigen(G.toarray() if issparse(G) else G, count=k)
    xp = namespace(values)
    s = xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
    if d <= n:
        return SingularAxes(s, vectors.T[:k])
    return SingularAxes(s, fix_signs(_qr(product(A.T, vectors[:, :k])).T))


def randomized_svd(
    A: Table, k: int, rng: np.random.RandomState, *, oversamples: int = 10, steps: int = 4, normalise: str = "auto"
) -> SingularAxes:
    """The k largest singular values and axes of an array, a sparse matrix or an operator, from a random sketch.

    A block of k + oversamples random vectors goes `steps` times through A and A^T, kept well conditioned
    after each product by `normalise`: "LU", "QR", "none", or "auto" (none for two steps or fewer).
    """
    M = A if A.shape[0] >= A.shape[1] else A.T
    Q = like(rng.normal(size=(M.shape[1], k + oversamples)), A)  # an operator has a dtype too
    condition = NORMALISERS[normalise] if normalise != "auto" else _unchanged if steps <= 2 else _lu
    for _ in range(steps):
        Q = condition(cross_product(M, condition(product(M, Q))))
    Q = _qr(product(M, Q))
    U, s, Vt = thin_svd(cross_product(M, Q).T)
    return SingularAxes(s[:k], fix_signs(Vt[:k] if M is A else (Q @ U).T[:k]))


def thin_svd(A: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """U, singular values and V^T of an array, without vectors that belong to no value; A may be overwritten."""
    if is_tensor(A):
        return namespace(A).linalg.svd(A, full_matrices=False)
    return linalg.svd(A, full_matrices=False, overwrite_a=True, check_finite=False)


def _qr(Q: AnyArray) -> AnyArray:
    if is_tensor(Q):
        return namespace(Q).linalg.qr(Q)[0]
    return linalg.qr(Q, mode="economic", check_finite=False)[0]


def _lu(Q: AnyArray) -> AnyArray:
    """The columns of the triangular factor span the same space as Q for half the cost of QR; tensors use QR."""
    return _qr(Q) if is_tensor(Q) else linalg.lu(Q, permute_l=True, check_finite=False)[0]


def _unchanged(Q: AnyArray) -> AnyArray:
    return Q


NORMALISERS = {"LU": _lu, "QR": _qr, "none": _unchanged}
