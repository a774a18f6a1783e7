"""EM for mixtures as the textbook writes it: one row, one component at a time, densities from SciPy."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


def log_joint(X, weights, means, covariances):
    """log pi_k N(x_i | mu_k, Sigma_k), (n, K)."""
    return np.array([
        [np.log(p) + multivariate_normal(m, S, allow_singular=False).logpdf(x)
         for p, m, S in zip(weights, means, covariances, strict=True)]
        for x in X
    ])  # fmt: skip


def gaussian_step(X, weights, means, covariances):
    """One step of soft EM with full covariances: log-likelihood before it, and the new parameters."""
    L = log_joint(X, weights, means, covariances)
    evidence = logsumexp(L, axis=1)
    R = np.exp(L - evidence[:, None])
    N = R.sum(axis=0)
    means = [sum(R[i, k] * X[i] for i in range(len(X))) / N[k] for k in range(len(N))]
    covariances = [
        sum(R[i, k] * np.outer(X[i] - means[k], X[i] - means[k]) for i in range(len(X))) / N[k] for k in range(len(N))
    ]
    return evidence.sum(), N / len(X), np.array(means), np.array(covariances)


def lloyd(X, centres):
    """K-means by the definition: labels and centres when the labels stop changing."""
    labels = None
    while True:
        nearest = np.array([min(range(len(centres)), key=lambda k: ((x - centres[k]) ** 2).sum()) for x in X])
        if labels is not None and (nearest == labels).all():
            return labels, centres
        labels = nearest
        centres = np.array([X[labels == k].mean(axis=0) for k in range(len(centres))])
