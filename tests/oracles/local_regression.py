"""Local polynomials, one query at a time, by NumPy's least squares."""

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

PROFILES = {
    "gaussian": lambda u: np.exp(-u * u / 2),
    "tophat": lambda u: (u < 1).astype(float),
    "epanechnikov": lambda u: np.maximum(1 - u * u, 0),
    "exponential": lambda u: np.exp(-u),
    "tricube": lambda u: np.maximum(1 - u**3, 0) ** 3,
}


def kernel_weights(X, w, query, kernel, width=None, k=None):
    """a_i(q): rows as far as the k-th weight count fully under the tophat."""
    far = np.linalg.norm(X - query, axis=1)
    if k is not None:
        order = np.argsort(far)
        width = far[order[np.searchsorted(np.cumsum(w[order]), k - 1e-12)]]
        if kernel == "tophat":
            return w * (far <= width), width
    return w * PROFILES[kernel](far / width), width


def local_value(X, y, w, query, kernel, degree, width=None, k=None):
    """The value at the query of the weighted polynomial about it."""
    a, width = kernel_weights(X, w, query, kernel, width, k)
    B = PolynomialFeatures(degree).fit_transform((X - query) / width)
    root = np.sqrt(a)
    return np.linalg.lstsq(B * root[:, None], y * root, rcond=None)[0][0]
