"""Definiteness of a symmetric matrix, from the signs of its eigenvalues.

    all > 0    positive definite            all < 0    negative definite
    all >= 0   positive semi-definite       all <= 0   negative semi-definite
    otherwise  indefinite

x'Ax lies between the extreme eigenvalues times |x|^2, so its sign is theirs. A Gram matrix XX' is never indefinite: its
quadratic form is |X'x|^2. The zero matrix is semi-definite both ways and is called positive semi-definite.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.eigenpairs import Definiteness
from fivefold.core.numerics.eigenpairs import definiteness as classify
from fivefold.linear_algebra.matrix_input import matrix


def definiteness(A: ArrayLike, tol: float = 1e-12) -> Definiteness:
    """Classify a symmetric matrix.

    Parameters
    ----------
    A
        A symmetric matrix.
    tol
        Eigenvalues up to tol times the largest size count as zero.

    Examples
    --------
    >>> print(definiteness([[2, 1], [1, 2]]))
    positive definite: the eigenvalues are 3, 1
    >>> definiteness([[0, 0], [0, -2]]).kind
    'negative semi-definite'
    >>> definiteness([[0, 1], [1, 0]]).kind
    'indefinite'
    """
    M = matrix(A, square=True)
    if not tol >= 0:
        raise ValueError(f"tol must be 0 or more; got {tol}")
    gap = np.abs(M - M.T)
    if gap.max() > max(tol, 1e-12) * np.abs(M).max():
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"A must be symmetric; A[{i}, {j}] = {M[i, j]:g} and A[{j}, {i}] = {M[j, i]:g}. The quadratic form is that "
            "of (A + A') / 2: pass that"
        )
    # scaled, because near the limits of floating point sums would overflow or vanish
    _, power = np.frexp(np.abs(M).max())
    found = classify(np.ldexp(M / 2 + M.T / 2, -power), tol)
    factor = None if found.factor is None else found.factor * 2.0 ** (power / 2)
    return replace(found, values=np.ldexp(found.values, power), factor=factor)
