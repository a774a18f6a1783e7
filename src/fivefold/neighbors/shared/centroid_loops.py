"""Distances of rows to a few centres, and columns class by class."""

from fivefold.core.compilation.jit import FAST, jit


@jit(fastmath=FAST, error_model="numpy")
def nearest_centre(X, C, absolute, lo, hi, labels):
    """The nearest centre of rows lo..hi, of equally near ones the first, by sums of squares or of absolute values."""
    K, d = C.shape
    for i in range(lo, hi):
        least, which = 1e308, 0
        for k in range(K):
            s = 0.0
            if absolute:
                for j in range(d):
                    s += abs(X[i, j] - C[k, j])
            else:
                for j in range(d):
                    z = X[i, j] - C[k, j]
                    s += z * z
            if s < least:
                least, which = s, k
        labels[i] = which


@jit(fastmath=FAST, error_model="numpy")
def centre_distances(X, C, scale, absolute, lo, hi, out):
    """Squared distances (n, K) of rows lo..hi to the centres, of columns times `scale`; or squared sums of |x - c|."""
    K, d = C.shape
    for i in range(lo, hi):
        for k in range(K):
            s = 0.0
            if absolute:
                for j in range(d):
                    s += abs(X[i, j] - C[k, j]) * scale[j]
                out[i, k] = s * s
            else:
                for j in range(d):
                    z = (X[i, j] - C[k, j]) * scale[j]
                    s += z * z
                out[i, k] = s


@jit(error_model="numpy")
def grouped_columns(X, y, start, out):
    """out (d, n): the columns of X as rows, class by class; `start` (K,) is where the classes begin, and is changed."""
    for i in range(X.shape[0]):
        p = start[y[i]]
        start[y[i]] = p + 1
        for j in range(X.shape[1]):
            out[j, p] = X[i, j]
