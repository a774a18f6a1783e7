"""K-means and its relatives beside scikit-learn and its Intel extension; inertia recomputed from the centres found."""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.harness import Case, as_good, data, drop_in, fit, fit_seeds, no_worse, predict, same_predictions
from benchmarks.harness.agree import Disagreement

K = 50
BLOBS = partial(data.blobs, d=16, K=K, spread=4.0)
UNIFORM = partial(data.uniform, d=16)


def started(maker):
    """The table with K of its rows as centres to start from."""

    def make(n):
        table = maker(n)
        return replace(table, given={"init": table.X[np.random.default_rng(1).choice(n, K, replace=False)].copy()})

    return make


def inertia(table, models):
    """Sum of squared distances to the nearest centre, over one fitted model or several, differences taken in full."""
    total = 0.0
    for model in models if isinstance(models, list) else [models]:
        centres = np.asarray(model.cluster_centers_, dtype=np.float64)
        for start in range(0, len(table.X), 4096):
            X = table.X[start : start + 4096]
            total += min_squares(X, centres).sum()
    return total


def min_squares(X, centres):
    least = np.full(len(X), np.inf)
    for centre in centres:
        difference = X - centre
        np.minimum(least, np.einsum("ij,ij->i", difference, difference), out=least)
    return least


KMEANS = partial(drop_in, "cluster.KMeans", n_clusters=K, n_init=1)
# Runs that stop a step apart, at the same tolerance, differ in the last of about six digits.
SAME_INERTIA = as_good(inertia, rtol=1e-4)
# From drawn seeds one inertia varies by 1.6 %, so the difference of two means over three seeds by 1.3 %: thrice that.
AS_LUCKY = no_worse(inertia, 0.04)

SMALL = partial(data.blobs, d=4, K=3, spread=4.0)
GROUPS = partial(data.blobs, d=8, K=5, spread=4.0)


def same_clusters(table, ours, theirs):
    """The same groups, whatever their names."""
    agreement = adjusted_rand_score(ours.labels_, theirs.labels_)
    if agreement < 0.99:
        raise Disagreement(f"adjusted Rand index {agreement:.3f}")
    return f"adjusted Rand index {agreement:.3f}"


def graph_cases(word, name, rows, small, bar, setting, **options):
    """A large table and a small one."""
    for table, n, least in ((GROUPS, rows, bar), (SMALL, small, 1)):
        contestants = drop_in(name, fit, random_state=0, **options)
        yield Case(
            f"{word}{' of a small table' if n == small else ''}", table, n, contestants, same_clusters, least, setting
        )


SPECTRAL = "cluster.SpectralClustering"
CASES = (
    Case("KMeans blobs fit", started(BLOBS), 200_000, KMEANS(fit), SAME_INERTIA, 2, "50 clusters, given start"),
    Case(
        "KMeans uniform fit",
        started(UNIFORM),
        200_000,
        KMEANS(fit, max_iter=40),
        SAME_INERTIA,
        1.15,
        "50 clusters, given start, 40 steps",
    ),
    Case(
        "KMeans blobs fit with seeding",
        BLOBS,
        200_000,
        KMEANS(fit_seeds(0, 1, 2)),
        AS_LUCKY,
        1.5,
        "50 clusters, three seeds",
    ),
    Case(
        "KMeans fit of two clusters",
        BLOBS,
        200_000,
        KMEANS(fit_seeds(0, 1, 2), n_clusters=2),
        AS_LUCKY,
        1,
        "two clusters, three seeds",
    ),
    Case(
        "KMeans uniform fit with seeding",
        UNIFORM,
        200_000,
        KMEANS(fit_seeds(0, 1, 2), max_iter=40),
        AS_LUCKY,
        1.15,
        "50 clusters, three seeds, 40 steps",
    ),
    Case(
        "KMeans predict",
        started(BLOBS),
        200_000,
        KMEANS(predict, max_iter=5),
        same_predictions(0.999),
        1,
        "50 clusters",
    ),
    Case(
        "MiniBatchKMeans fit",
        BLOBS,
        200_000,
        drop_in("cluster.MiniBatchKMeans", fit_seeds(0, 1, 2), n_clusters=K, n_init=1),
        AS_LUCKY,
        1,
        "50 clusters, three seeds",
    ),
    Case(
        "BisectingKMeans fit",
        BLOBS,
        200_000,
        drop_in("cluster.BisectingKMeans", fit_seeds(0, 1, 2), n_clusters=K),
        no_worse(inertia, 0.1),  # three trees of splits that are never taken back: their means differ by a few percent
        3,
        "50 clusters, three seeds",
    ),
    Case(
        "BisectingKMeans fit of a small table",
        partial(data.blobs, d=4, K=3, spread=4.0),
        150,
        drop_in("cluster.BisectingKMeans", fit_seeds(0, 1, 2), n_clusters=3),
        no_worse(inertia, 0.2),
        1,
        "3 clusters, three seeds",
    ),
    *graph_cases("SpectralClustering rbf fit", SPECTRAL, 5_000, 150, 1.5, "3 clusters", n_clusters=3, gamma=0.05),
    *graph_cases(
        "SpectralClustering neighbours fit",
        SPECTRAL,
        5_000,
        150,
        1.5,
        "3 clusters, 20 neighbours",
        n_clusters=3,
        affinity="nearest_neighbors",
        n_neighbors=20,
    ),
    *graph_cases("AffinityPropagation fit", "cluster.AffinityPropagation", 2_000, 150, 2, "damping 0.8", damping=0.8),
)
