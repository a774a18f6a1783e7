"""Log probabilities of discrete families, entry by entry, from SciPy; missing entries are left out."""

import numpy as np
from scipy import stats


def by_entry(X, log_pmf):
    """sum over known entries of log_pmf(x_ij, k, j), (n, K) from a function that returns K numbers."""
    return np.array([sum(log_pmf(x, j) for j, x in enumerate(row) if not np.isnan(x)) for row in X])


def bernoulli(X, p):
    return by_entry(X, lambda x, j: stats.bernoulli.logpmf(x, p[:, j]))


def binomial(X, p, trials):
    return by_entry(X, lambda x, j: stats.binom.logpmf(x, trials, p[:, j]))


def poisson(X, rate):
    return by_entry(X, lambda x, j: stats.poisson.logpmf(x, rate[:, j]))


def categorical(X, columns):
    """`columns` holds the probabilities of the levels (K, m) of each column."""
    return by_entry(X, lambda x, j: np.log(columns[j][:, int(x)]))


def multinomial(X, p):
    return np.array([[stats.multinomial.logpmf(row, row.sum(), q) for q in p] for row in X])


def shares(X, R):
    """sum_i r_ik x_ij / sum_i r_ik over the rows where x_ij is known, by loops (K, d)."""
    out = np.empty((R.shape[1], X.shape[1]))
    for k in range(R.shape[1]):
        for j in range(X.shape[1]):
            known = ~np.isnan(X[:, j])
            out[k, j] = (R[known, k] * X[known, j]).sum() / R[known, k].sum()
    return out
