"""The last step of squared distances by a matrix product, in one pass over a block.

|a - b|^2 = |a|^2 - 2 a.b + |b|^2. Where the result is small beside its terms, its digits have cancelled: it is computed
again from a - b.
"""

from fivefold.core.compilation.jit import FAST, jit


@jit(fastmath=FAST, error_model="numpy")
def finish_squares(P, A, B, a, b, ratio):
    """P = A B' becomes the squared distances of the rows of A and B, of squared lengths a and b."""
    n, m = P.shape
    d = A.shape[1]
    for i in range(n):
        lost = 0
        for k in range(m):
            total = a[i] + b[k]
            value = total - 2 * P[i, k]
            lost += value < ratio * total
            P[i, k] = value
        if lost == 0:
            continue
        for k in range(m):
            if P[i, k] < ratio * (a[i] + b[k]):
                value = P[i, k] * 0
                for j in range(d):
                    difference = A[i, j] - B[k, j]
                    value += difference * difference
                P[i, k] = value
