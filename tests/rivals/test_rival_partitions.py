"""Agreement of partitions with scikit-learn's, from the same starts or to the same optimum."""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import cluster as theirs
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from fivefold import cluster as ours

NAMES = ("BisectingKMeans",)


def blobs(n=600, d=4, centers=6, spread=2.0, seed=0):
    return make_blobs(n, d, centers=centers, cluster_std=spread, random_state=seed)[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_constructor_is_scikit_learns(name):
    mine, other = (inspect.signature(getattr(module, name)).parameters for module in (ours, theirs))
    assert [(p.name, p.kind, p.default) for p in mine.values()] == [(p.name, p.kind, p.default) for p in other.values()]


def extremes(X, n_clusters, random_state):
    """Rows at both ends of the first column."""
    first = np.asarray(X[:, [0]].todense() if hasattr(X, "todense") else X[:, [0]]).ravel()
    chosen = X[[first.argmin(), first.argmax()]]
    return chosen.toarray() if hasattr(chosen, "toarray") else chosen


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_bisections_from_the_same_starts_are_the_same(form, strategy):
    X = form(np.round(np.maximum(blobs(), 0), 3))
    mine, other = (
        module.BisectingKMeans(11, init=extremes, tol=0.0, bisecting_strategy=strategy, random_state=0).fit(X)
        for module in (ours, theirs)
    )
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    np.testing.assert_allclose(mine.cluster_centers_, other.cluster_centers_, atol=1e-9)
    assert mine.inertia_ == pytest.approx(other.inertia_, rel=1e-9)
    new = form(np.round(blobs(seed=5), 3))
    assert adjusted_rand_score(mine.predict(new), other.predict(new)) == 1.0
