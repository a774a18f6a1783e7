"""Compiled loops over differences of rows, with the rows of one side in columns, so that the inner loop is a vector."""

from fivefold.core.compilation.jit import FAST, jit


@jit(fastmath=FAST, error_model="numpy")
def column_distances(A, BT, start, out):
    """out[i, k] = sum_j |A[i, j] - BT[j, start + k]|."""
    n, m = out.shape
    for i in range(n):
        row = out[i]
        for k in range(m):
            row[k] = 0
        for j in range(len(BT)):
            a, other = A[i, j], BT[j, start:]
            for k in range(m):
                row[k] += abs(a - other[k])


@jit(fastmath=FAST, error_model="numpy")
def chi_squares(A, BT, start, out):
    """out[i, k] = sum_j (A[i, j] - BT[j, start + k])^2 / (A[i, j] + BT[j, start + k]), a term of two zeros being 0."""
    n, m = out.shape
    for i in range(n):
        row = out[i]
        for k in range(m):
            row[k] = 0
        for j in range(len(BT)):
            a, other = A[i, j], BT[j, start:]
            for k in range(m):
                total = a + other[k]
                difference = a - other[k]
                row[k] += difference * difference / (total if total > 0 else total + 1)
