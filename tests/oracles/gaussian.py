"""Gaussians by their definitions: one row and one member at a time."""

import numpy as np


def log_density(x, mean, sigma):
    """log N(x | mean, sigma) of the entries of x that are not NaN."""
    seen = ~np.isnan(x)
    delta, block = (x - mean)[seen], sigma[np.ix_(seen, seen)]
    return -0.5 * (np.linalg.slogdet(2 * np.pi * block)[1] + delta @ np.linalg.solve(block, delta))


def moments(X, r):
    """Weight, mean and scatter of the rows of X under the weights r."""
    weight = r.sum()
    mean = sum(r[i] * X[i] for i in range(len(X))) / weight
    return weight, mean, sum(r[i] * np.outer(X[i] - mean, X[i] - mean) for i in range(len(X)))


def expected_moments(X, r, mean, sigma):
    """The same where entries are missing, in expectation under N(mean, sigma) given the others of their row."""
    filled, spread = X.copy(), np.zeros_like(sigma)
    for i, x in enumerate(X):
        o, m = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        B = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
        filled[i, m] = mean[m] + B @ (x[o] - mean[o])
        spread[np.ix_(m, m)] += r[i] * (sigma[np.ix_(m, m)] - B @ sigma[np.ix_(o, m)])
    weight, mean, scatter = moments(filled, r)
    return weight, mean, scatter + spread
