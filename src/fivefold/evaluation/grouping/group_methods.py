"""Ways to cut rows into groups, each for several numbers of groups at once.

A cut is a vector of codes (n,): 0..K-1, and -1 for rows that belong nowhere. Methods that choose the number of groups
themselves give one cut, under the number 0.

    ward        one tree of Ward's merges, cut at every K
    kmeans      k-means, the best of a start at the centres of Ward's groups and two at rows far apart
    mixture     Gaussian mixture, EM from the groups of k-means; covariances are full while rows are enough, then tied
    hdbscan     density: the number of groups is found, rows between them are noise
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from fivefold.cluster.hdbscan import HDBSCAN
from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.cluster.hierarchy.linkage import tree_of_rows
from fivefold.cluster.kmeans import KMeans
from fivefold.core.types import Codes, Matrix
from fivefold.distributions.covariances.structures import Full, Tied
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Gaussian
from fivefold.inference.em import em
from fivefold.mixture.estimation.finite_mixture import FiniteMixture

FOUND = 0  # the number under which a method files its cut that chooses the number of groups itself
MIN_GROUP_SHARE, MIN_GROUP_ROWS = 0.05, 5  # of a group by density: smaller heaps of rows are noise
MAX_NOISE_SHARE = 0.5  # of rows in no group by density; with more, heaps in a cloud are no groups of its rows
KMEANS_STARTS = 2  # beside Ward's groups
EM_STEPS, EM_GAIN = 25, 1e-2  # of a mixture: steps, and gain per row at which it stops; labels settle long before
COVARIANCE_FLOOR = 1e-3  # added to variances of columns that have variance 1
ROWS_PER_PARAMETER = 2.0  # rows of a full covariance per number in it, below which all groups share one

Cuts = dict[int, Codes]
NO_CUTS: Mapping[str, Cuts] = {}
GroupMethod = Callable[[Matrix, Sequence[int], int, Mapping[str, Cuts]], Cuts]  # rows, K, seed, cuts of the others


def kmeans_cuts(X: Matrix, counts: Sequence[int], seed: int, others: Mapping[str, Cuts] = NO_CUTS) -> Cuts:
    """The groups of k-means, the best of a few starts: the centres of Ward's groups, and rows far apart."""
    cuts = Cuts()
    for K, start in (others.get("ward") or ward_cuts(X, counts, seed)).items():
        sums = np.zeros((K, X.shape[1]))
        np.add.at(sums, start, X)
        centres = sums / np.bincount(start, minlength=K)[:, None]
        runs = [KMeans(K, init=centres, n_init=1), KMeans(K, n_init=KMEANS_STARTS, random_state=seed)]
        cuts[K] = min((run.fit(X) for run in runs), key=lambda run: float(run.inertia_)).labels_
    return cuts


def mixture_cuts(X: Matrix, counts: Sequence[int], seed: int, others: Mapping[str, Cuts] = NO_CUTS) -> Cuts:
    """The likeliest components of Gaussian mixtures, begun at the groups of k-means."""
    w = np.ones(len(X))
    cuts = Cuts()
    for K, start in (others.get("kmeans") or kmeans_cuts(X, counts, seed)).items():
        shape = Full() if covariance_type(len(X), X.shape[1], K) == "full" else Tied()
        unfitted = FiniteMixture(Gaussian(shape, COVARIANCE_FLOOR))
        first = unfitted.maximise(unfitted.family.stats(X, GroupWeights(start.astype(np.int64), w, K)))
        found = em(first, X, w, tol=EM_GAIN, max_iter=EM_STEPS)
        cuts[K] = found.model.posterior(X)[0].argmax(axis=1)
    return cuts


def covariance_type(n: int, d: int, K: int) -> Literal["full", "tied"]:
    """Covariances of K components that n rows of d columns can tell: full for each, or one tied for all.

    Examples
    --------
    >>> covariance_type(200, 2, 5), covariance_type(200, 10, 5)
    ('full', 'tied')
    """
    return "full" if n >= ROWS_PER_PARAMETER * K * d * (d + 3) / 2 else "tied"


def ward_cuts(X: Matrix, counts: Sequence[int], seed: int, others: Mapping[str, Cuts] = NO_CUTS) -> Cuts:
    """Ward's tree, cut at each number of groups."""
    Z = tree_of_rows(X, "ward")
    tree = Dendrogram(Z[:, :2].astype(np.int64), Z[:, 2], len(X))
    return {K: tree.cut(K) for K in counts}


def hdbscan_cuts(X: Matrix, counts: Sequence[int], seed: int, others: Mapping[str, Cuts] = NO_CUTS) -> Cuts:
    """The groups by density; their number is found. If most rows are noise, all are."""
    labels = HDBSCAN(min_cluster_size=smallest_group(len(X)), copy=True).fit(X).labels_
    return {FOUND: labels if (labels < 0).mean() <= MAX_NOISE_SHARE else np.full_like(labels, -1)}


def smallest_group(n: int) -> int:
    """The fewest rows of a group by density.

    Examples
    --------
    >>> smallest_group(60), smallest_group(1000)
    (5, 50)
    """
    return min(max(MIN_GROUP_ROWS, round(MIN_GROUP_SHARE * n)), n)


GROUP_METHODS: Mapping[str, GroupMethod] = {
    "ward": ward_cuts,
    "kmeans": kmeans_cuts,
    "mixture": mixture_cuts,
    "hdbscan": hdbscan_cuts,
}
