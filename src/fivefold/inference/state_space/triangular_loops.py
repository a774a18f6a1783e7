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


@jit(fastmath=SUMS, reference_counting=False)
def triangularise(M, rows, width, pivots):
    """Make M[0, :rows, :width] a lower staircase in place; pivots[i] is the last column of row i, or -1.

    A row that is a combination of the rows above it up to rounding has no column of its own. Returns the number of
    columns in use.
    """
    column = 0
    for i in range(rows):
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
            scale = 2.0 / (first * first + after)
            for j in range(rows - i - 1):
                along = first * M[0, i + 1 + j, column]
                for k in range(width - column - 1):
                    along += M[0, i, column + 1 + k] * M[0, i + 1 + j, column + 1 + k]
                along *= scale
                M[0, i + 1 + j, column] -= along * first
                for k in range(width - column - 1):
                    M[0, i + 1 + j, column + 1 + k] -= along * M[0, i, column + 1 + k]
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
