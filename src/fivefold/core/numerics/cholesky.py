"""Cholesky factors of large matrices on all cores, and inverses from them.

    A = L L',   L_kk = chol(A_kk - sum_j L_kj L_kj'),   L_ik = (A_ik - sum_j L_ij L_kj') L_kk^-T
    A^-1 = P P',   P = L^-T

The cut into panels and strips depends on the size alone, so the number of threads changes no byte. Work is done by
tiles that are larger than the cache is slow, on the lower triangle only: n^3 / 3 for each of factor, P and P P'.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fivefold.core.numerics.lapack_calls import add_product, factor_block, solve_rows
from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Vector

PANEL = 192  # columns that are factored at a time
STRIP = 128  # rows of a strip that a thread updates
MIN_ROWS = 384  # smaller matrices are worked on by one thread


def cholesky(A: Doubles) -> int:
    """Overwrite the lower triangle of A by its factor; 0, or the row, counted from 1, at which A is not positive.

    What stands above the diagonal is not read, and left as it was.
    """
    n = len(A)
    if n < MIN_ROWS:
        return factor_block(A)
    for k in range(0, n, PANEL):
        e = min(k + PANEL, n)
        if (bad := factor_block(A[k:e, k:e])) != 0:
            return k + bad
        starts = range(e, n, STRIP)

        def panel(i: int, k: int = k, e: int = e, starts: range = starts) -> None:
            a, b = starts[i], min(starts[i] + STRIP, n)
            solve_rows(A[k:e, k:e], A[a:b, k:e])

        def update(i: int, k: int = k, e: int = e, starts: range = starts) -> None:
            a, b = starts[len(starts) - 1 - i], min(starts[len(starts) - 1 - i] + STRIP, n)  # the longest first
            add_product(A[a:b, e:a], A[a:b, k:e], A[e:a, k:e], -1.0, 1.0)
            A[a:b, a:b] -= np.tril(A[a:b, k:e] @ A[a:b, k:e].T)

        map_items(panel, len(starts))
        map_items(update, len(starts))
    return 0


def cholesky_with_least(A: Doubles, diagonal: Vector, additions: Sequence[float], pivot: float = 0.0) -> float | None:
    """Factor A, with this diagonal and the first of the additions to it that makes A positive: which one it was.

    Positive means that every squared entry of the factor's diagonal is above `pivot`. A, symmetric, is overwritten as
    by `cholesky`; None where no addition helps.
    """
    for i, more in enumerate(additions):
        if i:  # the upper triangle still holds A
            rows, columns = np.tril_indices(len(A), -1)
            A[rows, columns] = A[columns, rows]
        np.fill_diagonal(A, diagonal + more)
        if cholesky(A) == 0 and np.isfinite(least := float(np.diag(A).min(initial=np.inf))) and least**2 > pivot:
            return more
    return None


def inverse_factor(L: Doubles) -> Doubles:
    """P = L^-T for a lower triangle L: an upper triangle with zeros below it."""
    n, height = len(L), _strip_height(len(L))
    P = np.zeros((n, n))

    def rows(i: int) -> None:
        a, b = i * height, min((i + 1) * height, n)
        P[a:b, a:b] = np.eye(b - a)
        solve_rows(L[a:, a:], P[a:b, a:])

    map_items(rows, -(-n // height))
    return P


def inverse_from(P: Doubles) -> Doubles:
    """The lower triangle of A^-1 = P P', P being `inverse_factor` of A's factor; above the diagonal is no meaning."""
    n, height = len(P), _strip_height(len(P))
    out = np.empty((n, n))

    def strip(i: int) -> None:
        a, b = i * height, min((i + 1) * height, n)
        add_product(out[a:b, :b], P[a:b, a:], P[:b, a:], 1.0, 0.0)

    map_items(strip, -(-n // height))
    return out


def solve_lower(L: Doubles, B: Doubles) -> Doubles:
    """Rows L^-1 b for the rows b of B, which is overwritten."""
    height = _strip_height(len(B))
    map_items(lambda i: solve_rows(L, B[i * height : (i + 1) * height]), -(-len(B) // height))
    return B


def _strip_height(n: int) -> int:
    """Rows that a thread works on at a time."""
    return STRIP if n >= MIN_ROWS else max(1, n)
