"""Principal components and truncated singular values; what is lost is recomputed from the axes found."""

from functools import partial

import numpy as np

from benchmarks.harness import Case, as_good, beside_sklearn, data, drop_in, fit, no_worse, same, same_output, transform

LINEAR = partial(data.linear, d=50)
WIDE = partial(data.spectrum, d=500)
NORMAL = partial(data.linear, d=10)
TEXT = partial(data.text, words=20_000, K=20)


def lost_variance(table, model):
    """Sum of squares that the components leave unexplained."""
    X = table.X - table.X.mean(axis=0)
    axes = np.linalg.qr(model.components_.T)[0]
    return float((X**2).sum() - ((X @ axes) ** 2).sum())


def lost_weight(table, model):
    """The same about zero, for a sparse table."""
    axes = np.linalg.qr(model.components_.T)[0]
    return float((table.X.data**2).sum() - ((table.X @ axes) ** 2).sum())


def same_sizes(data, ours, rival):
    """Coordinates are equal up to the sign of each component."""
    return same_output()(data, np.abs(ours), np.abs(rival))


PCA = partial(drop_in, "decomposition.PCA", n_components=10)
SVD = partial(drop_in, "decomposition.TruncatedSVD", n_components=100, random_state=0)
KERNEL_PCA = partial(beside_sklearn, "decomposition.KernelPCA", n_components=10, kernel="rbf", random_state=0)

CASES = (
    Case("PCA fit", LINEAR, 200_000, PCA(fit), as_good(lost_variance), 1, "10 components"),
    Case("PCA transform", LINEAR, 200_000, PCA(transform), same_output(), 1, "10 components"),
    Case(
        "PCA randomized fit",
        WIDE,
        20_000,
        PCA(fit, svd_solver="randomized", random_state=0),
        no_worse(lost_variance, 1e-3),
        1,
        "10 components",
    ),
    Case("TruncatedSVD fit", TEXT, 20_000, SVD(fit), no_worse(lost_weight, 1e-3), 1, "sparse text, 100 components"),
    Case("KernelPCA fit", NORMAL, 4_000, KERNEL_PCA(fit), same("eigenvalues_", rtol=1e-8), 5, "rbf, 10 components"),
    Case("KernelPCA transform", NORMAL, 4_000, KERNEL_PCA(transform), same_sizes, 1, "rbf, 10 components"),
)
