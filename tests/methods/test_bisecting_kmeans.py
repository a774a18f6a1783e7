"""Bisecting k-means: what the laws cannot say."""

import numpy as np
import pytest
from interruption import PressCtrlC
from oracles.kmeans import bisections
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from fivefold.cluster import BisectingKMeans
from fivefold.core.console.fit_progress import InterruptedWarning


def extremes(X, n_clusters=2, random_state=None):
    """The rows with the smallest and the largest first coordinate."""
    return X[[X[:, 0].argmin(), X[:, 0].argmax()]]


def rows(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.normal(size=(5, d))[rng.integers(5, size=n)]


def clusters(labels):
    return sorted(tuple(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels))


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_clusters_are_those_of_one_split_after_the_other_by_hand(strategy, weighted):
    X = rows()
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=len(X)) if weighted else np.ones(len(X))
    model = BisectingKMeans(7, init=extremes, bisecting_strategy=strategy, tol=0.0, random_state=0)
    model.fit(X, sample_weight=w)
    assert clusters(model.labels_) == bisections(X, w, 7, extremes, by_inertia=strategy == "biggest_inertia")
    gaps = X - model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx(w @ (gaps**2).sum(axis=1))


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_rows_of_fit_go_down_the_tree_to_their_own_cluster(form):
    X = form(np.where(rows(400) > 0, rows(400), 0.0))
    model = BisectingKMeans(9, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(model.model_.node_labels) == 17 and sorted(set(model.labels_)) == list(range(9))


def test_more_runs_in_each_bisection_find_a_first_split_that_is_no_worse():
    corners = np.array([[0.0, 0.0], [0.0, 10.0], [13.0, 0.0], [13.0, 10.0]])  # split across or along: both are minima
    X = np.repeat(corners, 30, axis=0) + np.random.default_rng(3).normal(size=(120, 2))
    one, many = (
        [BisectingKMeans(2, n_init=runs, random_state=seed).fit(X).inertia_ for seed in range(8)] for runs in (1, 8)
    )
    assert max(many) <= min(one) * (1 + 1e-9) and max(one) > 1.2 * min(one)


def test_the_order_of_the_rows_changes_nothing():
    X = rows(200)
    order = np.random.default_rng(2).permutation(len(X))
    one, other = (BisectingKMeans(6, random_state=0).fit(Z) for Z in (X, X[order]))
    assert clusters(one.labels_[order]) == clusters(other.labels_)


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_fewer_distinct_rows_than_clusters_are_said_and_every_distinct_row_is_a_cluster(strategy):
    X = np.repeat([[0.1, 0.0], [5.3, 1.0], [2.0, 2.7]], [7, 2, 3], axis=0)
    model = BisectingKMeans(5, bisecting_strategy=strategy, random_state=0)
    with pytest.warns(ConvergenceWarning, match="only 3 of n_clusters=5 clusters hold rows.*fewer clusters"):
        model.fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-24) and len(set(model.labels_)) == 3
    assert model.cluster_centers_.shape == (5, 2)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match=r"BisectingKMeans: n_clusters=5 but X has only n_samples=4 rows"):
        BisectingKMeans(5, random_state=0).fit(np.eye(4))


def test_a_function_that_gives_another_number_of_centres_is_refused():
    with pytest.raises(ValueError, match=r"BisectingKMeans: init gives centres of shape \(3, 3\).* need \(2, 3\)"):
        BisectingKMeans(4, init=lambda X, n_clusters, random_state: X[:3], random_state=0).fit(rows())


def test_after_an_interruption_the_clusters_so_far_are_kept():
    X, model = rows(), BisectingKMeans(8, random_state=0)
    model.set_callbacks(PressCtrlC(after=3))
    with pytest.warns(InterruptedWarning, match="interrupted after 3 bisections"):
        model.fit(X)
    assert len(model.cluster_centers_) == 4
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.labels_, BisectingKMeans(4, random_state=0).fit(X).labels_)


def test_verbose_prints_the_centres_of_each_bisection(capsys):
    BisectingKMeans(4, verbose=1, random_state=0).fit(rows())
    assert capsys.readouterr().out.count("New centroids from bisection") == 3
