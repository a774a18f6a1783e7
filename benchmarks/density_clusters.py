"""Clusters by density beside scikit-learn: the same labels, row by row."""

from functools import partial

from benchmarks.harness import Case, data, drop_in, fit, same

BLOBS = partial(data.blobs, d=2, K=20, spread=0.6)
WIDE = partial(data.blobs, d=8, K=20, spread=0.6)
SIX = partial(data.blobs, d=2, K=6, spread=0.8)
SMALL = partial(data.blobs, d=4, K=3, spread=1.0)
SAME_LABELS = same("labels_", rtol=0)
MEAN_SHIFT = partial(drop_in, "cluster.MeanShift", fit)
DBSCAN = partial(drop_in, "cluster.DBSCAN", fit)
OPTICS = partial(drop_in, "cluster.OPTICS", fit)
BIRCH = partial(drop_in, "cluster.Birch", fit)
TEN = partial(data.blobs, d=10, K=20, spread=1.0)
HDBSCAN = partial(drop_in, "cluster.HDBSCAN", fit, copy=True)

CASES = (
    Case("DBSCAN fit", BLOBS, 100_000, DBSCAN(eps=0.1, min_samples=10), SAME_LABELS, 1.5, "20 groups, eps 0.1"),
    Case("DBSCAN fit 8 columns", WIDE, 20_000, DBSCAN(eps=1.5, min_samples=10), SAME_LABELS, 1.5, "20 groups, eps 1.5"),
    Case("DBSCAN fit small", SMALL, 150, DBSCAN(eps=1.0), SAME_LABELS, 1.5, "a table of 150 rows"),
    Case("HDBSCAN fit", BLOBS, 20_000, HDBSCAN(min_cluster_size=20), SAME_LABELS, 1.5, "20 groups"),
    Case("HDBSCAN fit 8 columns", WIDE, 20_000, HDBSCAN(min_cluster_size=20), SAME_LABELS, 1.5, "20 groups"),
    Case("HDBSCAN fit small", SMALL, 150, HDBSCAN(), SAME_LABELS, 1, "a table of 150 rows"),
    Case("OPTICS fit", SIX, 3000, OPTICS(), SAME_LABELS, 10, "6 groups"),
    Case("OPTICS fit 8 columns", WIDE, 2000, OPTICS(), SAME_LABELS, 10, "20 groups"),
    Case("OPTICS fit small", SMALL, 150, OPTICS(), SAME_LABELS, 10, "a table of 150 rows"),
    Case("Birch fit", TEN, 100_000, BIRCH(threshold=2.5, n_clusters=20), SAME_LABELS, 5, "radius 2.5, 20 groups"),
    Case("Birch fit small", SMALL, 150, BIRCH(), SAME_LABELS, 5, "a table of 150 rows"),
    Case("MeanShift fit", SIX, 2000, MEAN_SHIFT(bandwidth=1.5), SAME_LABELS, 5, "6 groups, bandwidth 1.5"),
    Case("MeanShift fit small", SMALL, 150, MEAN_SHIFT(), SAME_LABELS, 5, "estimated bandwidth"),
)
