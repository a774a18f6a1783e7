"""Gaussian mixtures: twenty steps of EM from one start, the likelihood recomputed from the parameters found."""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from benchmarks.harness import Case, as_good, beside_sklearn, data, drop_in, fit, no_worse, predict, same_predictions

K, D = 10, 8
SPREAD = 3.0
# Precisions of the start, in the shape of each covariance type.
PRECISIONS = {
    "full": np.tile(np.eye(D), (K, 1, 1)),
    "tied": np.eye(D),
    "diag": np.ones((K, D)),
    "spherical": np.ones(K),
}
# A covariance of K members as K matrices.
MATRICES = {
    "full": lambda c: c,
    "tied": lambda c: np.tile(c, (K, 1, 1)),
    "diag": lambda c: np.stack([np.diag(v) for v in c]),
    "spherical": lambda c: np.stack([v * np.eye(D) for v in c]),
}


def started(kind):
    """Blobs with a start: K rows as means, equal shares, the true spread."""

    def make(n):
        table = data.blobs(n, D, K, SPREAD)
        means = table.X[np.random.default_rng(1).choice(n, K, replace=False)]
        given = {
            "means_init": means,
            "weights_init": np.full(K, 1 / K),
            "precisions_init": PRECISIONS[kind] / SPREAD**2,
        }
        return replace(table, given=given)

    return make


def log_loss(table, model):
    """Mean of -log p(x) over the first rows, by SciPy."""
    X, matrices = table.X[:20_000], MATRICES[model.covariance_type](np.asarray(model.covariances_))
    joint = [
        np.log(share) + multivariate_normal(mean, matrix).logpdf(X)
        for share, mean, matrix in zip(model.weights_, model.means_, matrices, strict=True)
    ]
    return -float(logsumexp(joint, axis=0).mean())


def case(kind, task, agree, bar):
    contestants = drop_in(
        "mixture.GaussianMixture",
        task,
        n_components=K,
        covariance_type=kind,
        max_iter=20,
        tol=0.0,
        init_params="random",
        random_state=0,
    )
    name = f"GaussianMixture {kind} {task.__name__}"
    return Case(name, started(kind), 100_000, contestants, agree, bar, f"{K} components, 20 steps")


def bayesian(kind, n, bar):
    """Ten steps of variational inference from clusters of k-means, which are drawn by each library in its own way."""
    contestants = beside_sklearn(
        "mixture.BayesianGaussianMixture",
        fit,
        n_components=K,
        covariance_type=kind,
        max_iter=10,
        tol=0.0,
        random_state=0,
    )
    name = f"BayesianGaussianMixture {kind} fit, {n:,} rows"
    return Case(name, lambda n: data.blobs(n, D, K, SPREAD), n, contestants, no_worse(log_loss, 0.01), bar)


# Parameters after twenty steps that have not settled: rounding grows with the steps.
LIKELIHOOD = as_good(log_loss, rtol=1e-6)

CASES = (
    case("full", fit, LIKELIHOOD, 10),
    case("tied", fit, LIKELIHOOD, 2),
    case("diag", fit, LIKELIHOOD, 2),
    case("spherical", fit, LIKELIHOOD, 2),
    case("full", predict, same_predictions(0.999), 2),
    bayesian("full", 1_000, 2),
    bayesian("full", 10_000, 2),
    bayesian("full", 50_000, 2),
    bayesian("diag", 10_000, 1),
)
