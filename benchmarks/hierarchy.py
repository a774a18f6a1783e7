"""Hierarchical clustering beside SciPy, fastcluster and scikit-learn: the heights of all merges must agree."""

from functools import partial

import numpy as np

from benchmarks.harness import Absent, Case, data, drop_in, fit, function
from benchmarks.harness.agree import Disagreement
from fivefold.cluster import linkage

UNIFORM = partial(data.uniform, d=10)
SMALL = partial(data.blobs, d=4, K=3, spread=4.0)


def contestants(method):
    """The function `linkage` of each library; fastcluster's is given the rows, which it turns into distances."""

    def scipys(table):
        from scipy.cluster import hierarchy

        return hierarchy.linkage(table.X, method)

    def fast(table):
        try:
            import fastcluster
        except ImportError as error:
            raise Absent("fastcluster is not installed") from error
        return function(lambda table: fastcluster.linkage(table.X, method))(table)

    return {
        "fivefold": function(lambda table: linkage(table.X, method)),
        "scipy": function(scipys),
        "fastcluster": fast,
    }


def same_heights(table, ours, theirs):
    """Heights of all merges."""
    difference = float(np.max(np.abs(ours[:, 2] - theirs[:, 2]) / np.maximum(theirs[:, 2], 1e-300)))
    if difference > 1e-9:
        raise Disagreement(f"heights differ by {difference:.2g} of their value")
    return f"heights to {difference:.1g}"


def same_labels(table, ours, theirs):
    if not np.array_equal(ours.labels_, theirs.labels_):
        raise Disagreement("labels differ")
    return "labels"


CASES = (
    *(
        Case(f"linkage {method}", UNIFORM, 20_000, contestants(method), same_heights, 1.0, "full tree", memory="scipy")
        for method in ("ward", "single", "average")
    ),
    *(
        Case(f"linkage {method} small", SMALL, 150, contestants(method), same_heights, 0.5, "full tree")
        for method in ("ward", "single", "average")
    ),
    Case(
        "AgglomerativeClustering fit",
        UNIFORM,
        5_000,
        drop_in("cluster.AgglomerativeClustering", fit, n_clusters=10),
        same_labels,
        2,
        "Ward, 10 clusters",
    ),
    Case(
        "FeatureAgglomeration fit",
        partial(data.uniform, d=1000),
        500,
        drop_in("cluster.FeatureAgglomeration", fit, n_clusters=10),
        same_labels,
        1,
        "Ward, 10 clusters",
    ),
)
