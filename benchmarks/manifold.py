"""Manifold methods beside scikit-learn's: the same geodesics, costs and stress, and the time of a fit."""

from functools import partial
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import make_swiss_roll

from benchmarks.harness import OURS, Absent, Case, Data, beside_sklearn, data, fit, no_worse, same
from fivefold.manifold.embeddings.affinities import conditional_affinities, joint_affinities
from fivefold.neighbors import NearestNeighbors

SMALL_PERPLEXITY = 7.0  # a third of the smallest table that is timed


def roll(n):
    """Rows on a rolled-up sheet."""
    X, t = make_swiss_roll(n, random_state=0)
    return Data(np.ascontiguousarray(X), t)


def groups(n, d):
    """Rows in 20 round groups."""
    rng = np.random.default_rng(0)
    C = 3 * rng.normal(size=(20, d))
    return Data(C[rng.integers(0, 20, n)] + rng.normal(size=(n, d)), None)


def divergence(data, model, perplexity=30.0):
    """KL(P | Q) of neighbours' affinities and the places, all pairs of places in double precision."""
    n, Y = len(data.X), np.asarray(model.embedding_, dtype=np.float64)
    distances, rows = NearestNeighbors(n_neighbors=min(n - 1, int(3 * perplexity) + 1)).fit(data.X).kneighbors()
    P = joint_affinities(conditional_affinities(distances**2, perplexity)[0], rows).tocoo()
    blocks = (Y[lo : lo + 256] for lo in range(0, n, 256))
    Z = sum(float((1 / (1 + ((A[:, None] - Y) ** 2).sum(axis=2))).sum()) for A in blocks) - n
    i, j = P.coords
    Q = 1 / (1 + ((Y[i] - Y[j]) ** 2).sum(axis=1)) / Z
    return float(P.data @ np.log(P.data / Q))


def small_divergence(data, model):
    """The same with the perplexity of small tables."""
    return divergence(data, model, SMALL_PERPLEXITY)


def open_tsne(data, perplexity=30.0):
    """openTSNE with as many steps as scikit-learn takes."""
    try:
        from openTSNE import TSNE
    except ImportError as error:
        raise Absent("openTSNE is not installed") from error
    rival = TSNE(perplexity=perplexity, early_exaggeration_iter=250, n_iter=750, n_jobs=-1, random_state=0)
    return lambda: SimpleNamespace(embedding_=np.asarray(rival.fit(data.X)))


NORMAL = partial(data.linear, d=10)
FLOWERS = partial(data.linear, d=4)  # a table of the size of Fisher's
ISOMAP = partial(beside_sklearn, "manifold.Isomap", fit, n_neighbors=10)
LLE = partial(beside_sklearn, "manifold.LocallyLinearEmbedding", fit, n_neighbors=10, random_state=0)
MDS = partial(beside_sklearn, "manifold.MDS", fit, random_state=0, init="random", max_iter=50, eps=0.0)
SPECTRAL = partial(beside_sklearn, "manifold.SpectralEmbedding", fit, n_neighbors=10, random_state=0)
# With n_iter_without_progress beyond max_iter all take 1,000 steps
STEPS = {"random_state": 0, "n_iter_without_progress": 1000, "min_grad_norm": 0.0}
TSNE = beside_sklearn("manifold.TSNE", fit, **STEPS)
STAGES = {OURS: beside_sklearn("manifold.TSNE", fit, learning_rate="per_stage", **STEPS)[OURS], "openTSNE": open_tsne}
SMALL_TSNE = {
    **beside_sklearn("manifold.TSNE", fit, perplexity=SMALL_PERPLEXITY, **STEPS),
    "openTSNE": partial(open_tsne, perplexity=SMALL_PERPLEXITY),
}
AS_NEAR, AS_NEAR_SMALL = no_worse(divergence, 0.02), no_worse(small_divergence, 0.1)
SAME_PATHS = same("dist_matrix_", rtol=1e-9)
SAME_STRESS = same("stress_", rtol=1e-8)
SAME_COST = same("reconstruction_error_", rtol=1e-4)

CASES = (
    Case("Isomap fit", roll, 5_000, ISOMAP(), SAME_PATHS, 4, "10 neighbours"),
    Case("Isomap small fit", FLOWERS, 150, ISOMAP(), SAME_PATHS, 1, "10 neighbours, 4 columns"),
    Case("LocallyLinearEmbedding fit", roll, 5_000, LLE(), SAME_COST, 6, "10 neighbours"),
    Case("LocallyLinearEmbedding small fit", FLOWERS, 150, LLE(), SAME_COST, 1, "10 neighbours, 4 columns"),
    Case("LTSA fit", roll, 2_000, LLE(method="ltsa"), SAME_COST, 3, "10 neighbours"),
    Case("MDS fit", NORMAL, 1_500, MDS(), SAME_STRESS, 3, "50 steps"),
    Case("MDS small fit", FLOWERS, 150, MDS(), SAME_STRESS, 1, "50 steps, 4 columns"),
    Case("MDS of orders fit", NORMAL, 600, MDS(metric_mds=False), SAME_STRESS, 3, "50 steps, non-metric"),
    Case("SpectralEmbedding fit", roll, 3_000, SPECTRAL(), same("affinity_matrix_"), 1, "10 neighbours"),
    Case("TSNE fit", partial(groups, d=50), 5_000, TSNE, AS_NEAR, 1, "1,000 steps"),
    Case("TSNE large fit", partial(groups, d=30), 20_000, TSNE, AS_NEAR, 1, "1,000 steps"),
    Case("TSNE fit, a rate per stage", partial(groups, d=50), 5_000, STAGES, AS_NEAR, 1, "1,000 steps"),
    Case("TSNE small fit", partial(groups, d=4), 150, SMALL_TSNE, AS_NEAR_SMALL, 1, "1,000 steps, 4 columns"),
)
