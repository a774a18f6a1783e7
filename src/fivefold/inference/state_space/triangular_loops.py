"""Compiled loops on square roots of covariances: P = S S', and S is made triangular by reflections.

Covariances are never added or subtracted: rows of several square roots stand side by side in one array M, and
orthogonal reflections from the right, which leave M M' as it is, gather them in the first columns. So P stays symmetric
and has no negative eigenvalue, and only half of its digits are needed.

Golub & Van Loan (2013), section 5.2.
"""

import numpy as np

from fivefold.core.compilation.jit import jit

EPS = float(np.finfo(np.float64).eps)
# Sums may be taken in any order; NaN and infinity stay what they are.
SUMS = frozenset({"reassoc", "contract", "nsz"})


@jit(fastmath=SUMS, reference_counting=False, any_integer=True)
def reflect_rows(M, i, rows, column, width, scale):
    """Reflect the rows below row i, from this column on, at the plane orthogonal to v, which stands in row i.

    Four at a time: v is loaded once for them.
    """
    fours = (rows - i - 1) // 4
    for group in range(fours):
        j = i + 1 + 4 * group
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(width):
            v = M[0, i, column + k]
            a += v * M[0, j, column + k]
            b += v * M[0, j + 1, column + k]
            c += v * M[0, j + 2, column + k]
            d += v * M[0, j + 3, column + k]
        a, b, c, d = scale * a, scale * b, scale * c, scale * d
        for k in range(width):
            v = M[0, i, column + k]
            M[0, j, column + k] -= a * v
            M[0, j + 1, column + k] -= b * v
            M[0, j + 2, column + k] -= c * v
            M[0, j + 3, column + k] -= d * v
    for j in range(i + 1 + 4 * fours, rows):
        a = 0.0
        for k in range(width):
            a += M[0, i, column + k] * M[0, j, column + k]
        a *= scale
        for k in range(width):
            M[0, j, column + k] -= a * M[0, i, column + k]


@jit(fastmath=SUMS, reference_counting=False, any_integer=True)
def triangularise(M, first, last, column, rows, width, pivots):
    """Make the rows first..last of M[0, :rows, :width] a lower staircase in place, from this column on.

    Rows after the last are reflected with them, and stay full. pivots[i] is the last column of row i, or -1: a row that
    is a combination of the rows above it up to rounding has no column of its own. Returns the next free column.
    """
    for i in range(first, last):
        before, after = 0.0, 0.0
        for k in range(column):
            before += M[0, i, k] * M[0, i, k]
        for k in range(width - column - 1):
            after += M[0, i, column + 1 + k] * M[0, i, column + 1 + k]
        head = M[0, i, column] if column < width else 0.0
        tail = after + head * head
        limit = EPS * width
        pivots[i] = -1
        if tail <= limit * limit * (before + tail):
            for k in range(width - column):
                M[0, i, column + k] = 0.0
            continue
        pivots[i] = column
        norm = np.sqrt(tail)
        if after > 0.0 or head < 0.0:
            first = head - norm if head <= 0.0 else -after / (head + norm)  # neither form cancels
            M[0, i, column] = first
            reflect_rows(M, i, rows, column, width - column, 2.0 / (first * first + after))
        M[0, i, column] = norm
        for k in range(width - column - 1):
            M[0, i, column + 1 + k] = 0.0
        column += 1
    return column


@jit(fastmath=SUMS, reference_counting=False)
def multiply_into(out, A, a, S, t):
    """The first square of out[0] = A[a] S[t]."""
    n = S.shape[1]
    for i in range(n):
        for k in range(n):
            out[0, i, k] = 0.0
        for j in range(n):
            for k in range(n):
                out[0, i, k] += A[a, i, j] * S[t, j, k]


@jit(fastmath=SUMS, reference_counting=False)
def squares_in_place(S, P):
    """Turn every S[t] into S[t] S[t]'; P is scratch."""
    n = S.shape[1]
    for t in range(len(S)):
        for i in range(n):
            for j in range(i + 1):
                P[i, j] = 0.0
                for k in range(n):
                    P[i, j] += S[t, i, k] * S[t, j, k]
        for i in range(n):
            for j in range(n):
                S[t, i, j] = P[max(i, j), min(i, j)]
