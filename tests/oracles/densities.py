"""Sums of kernels pair by pair, and histograms bin by bin."""

import numpy as np
from scipy.special import gamma, logsumexp

PROFILES = {
    "gaussian": lambda u: np.exp(-u * u / 2),
    "tophat": lambda u: np.where(u < 1, 1.0, 0.0),
    "epanechnikov": lambda u: np.where(u < 1, 1 - u * u, 0.0),
    "biweight": lambda u: np.where(u < 1, (1 - u * u) ** 2, 0.0),
    "triweight": lambda u: np.where(u < 1, (1 - u * u) ** 3, 0.0),
    "tricube": lambda u: np.where(u < 1, (1 - u**3) ** 3, 0.0),
    "exponential": lambda u: np.exp(-u),
    "linear": lambda u: np.where(u < 1, 1 - u, 0.0),
    "cosine": lambda u: np.where(u < 1, np.cos(np.pi * u / 2), 0.0),
}


def integral(name, d):
    """The integral of a profile over d columns, by the trapezoidal rule over the radius."""
    u = np.linspace(0, 60 if name in ("gaussian", "exponential") else 1, 400_001)
    values = PROFILES[name](u * (1 - 1e-12)) * u ** (d - 1)  # an open end counts as closed
    return 2 * np.pi ** (d / 2) / gamma(d / 2) * np.trapezoid(values, u)


def kernel_density(X, w, Q, h, name):
    """log of the weighted mean of windows at each row of Q."""
    out = []
    d = X.shape[1]
    for q in Q:
        if name == "hypercube":
            values, volume = (np.abs(X - q).max(axis=1) <= h / 2).astype(float), 1.0
        else:
            values, volume = PROFILES[name](np.sqrt(((X - q) ** 2).sum(axis=1)) / h), integral(name, d)
        with np.errstate(divide="ignore"):
            out.append(np.log(w @ values / w.sum() / h**d / volume))
    return np.array(out)


def gaussian_log_density(X, w, Q, h):
    """The same for the Gaussian in logs, right in the far tails."""
    squares = ((Q[:, None] - X) ** 2).sum(axis=2) / h**2
    d = X.shape[1]
    return logsumexp(-squares / 2, b=w, axis=1) - np.log(w.sum()) - d * np.log(h) - d / 2 * np.log(2 * np.pi)


def histogram(X, w, edges, q):
    """The density in the bin of q."""
    inside, volume = np.ones(len(X), dtype=bool), 1.0
    for j, ends in enumerate(edges):
        for k in range(len(ends) - 1):
            last = k == len(ends) - 2
            if ends[k] <= q[j] < ends[k + 1] or (last and q[j] == ends[-1]):
                inside &= (X[:, j] >= ends[k]) & ((X[:, j] < ends[k + 1]) | (last & (X[:, j] == ends[-1])))
                volume *= ends[k + 1] - ends[k]
                break
        else:
            return 0.0
    return w[inside].sum() / w.sum() / volume
