"""Compiled loops over differences of rows, with the rows of one side in columns, so that the inner loop is a vector."""

from fivefold.core.compilation.jit import FAST, jit


@jit(fastmath=FAST, error_model="numpy")
def column_distances(A, BT, out):
    """out[i, k] = sum_j |A[i, j] - BT[j, k]|."""
    n, d = A.shape
    m = BT.shape[1]
    for i in range(n):
        for k in range(m):
            out[i, k] = 0.0
        for j in range(d):
            a = A[i, j]
            for k in range(m):
                out[i, k] += abs(a - BT[j, k])


@jit(fastmath=FAST, error_model="numpy")
def chi_squares(A, BT, smallest, out):
    """out[i, k] = sum_j (A[i, j] - BT[j, k])^2 / (A[i, j] + BT[j, k]), over `smallest` where both are zero."""
    n, d = A.shape
    m = BT.shape[1]
    for i in range(n):
        for k in range(m):
            out[i, k] = 0.0
        for j in range(d):
            a = A[i, j]
            for k in range(m):
                total = a + BT[j, k]
                difference = a - BT[j, k]
                out[i, k] += difference * difference / max(total, smallest)
