"""Compiled loops for families of counts: sums of rows by group, in one pass over the table."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def add_rows(X, codes, w, total):
    """Add w_i times row i to the row of `total` that its code names."""
    n, d = X.shape
    for i in range(n):
        k, v = codes[i], w[i]
        for j in range(d):
            total[k, j] += v * X[i, j]


@jit(error_model="numpy")
def add_entries(data, indices, indptr, codes, w, total):
    """The same for the rows of a sparse matrix."""
    n = len(codes)
    for i in range(n):
        k, v = codes[i], w[i]
        for p in range(indptr[i], indptr[i + 1]):
            total[k, indices[p]] += v * data[p]


@jit(error_model="numpy")
def dot_entries(data, indices, indptr, lo, theta, start, out):
    """out[i] = start + the sum of theta[j] times the entries of row lo + i; theta is (d, K)."""
    n, K = out.shape
    for i in range(n):
        for k in range(K):
            out[i, k] = start[k]
        for p in range(indptr[lo + i], indptr[lo + i + 1]):
            x, j = data[p], indices[p]
            for k in range(K):
                out[i, k] += x * theta[j, k]
