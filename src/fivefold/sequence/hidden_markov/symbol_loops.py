"""Compiled sums over rows by their symbol."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def add_by_symbol(X, j, R, lo, hi, counts):
    """Add the rows lo .. hi of R to the rows of `counts` that column j of X names."""
    K = R.shape[1]
    for i in range(lo, hi):
        total, r = counts[X[i, j]], R[i]
        for k in range(K):
            total[k] += r[k]
