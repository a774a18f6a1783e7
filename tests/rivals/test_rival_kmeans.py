"""Agreement with scikit-learn: from the same start the same steps, labels, centres and inertia."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn import cluster as theirs
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from tables import seeded

from fivefold import cluster as ours
from fivefold.spatial.centres.seeding import plusplus_rows
from fivefold.spatial.distances import squared_distances

NAMES = ("KMeans", "MiniBatchKMeans")


def blobs(n=3000, d=6, centers=9, spread=1.5, seed=0):
    return make_blobs(n, d, centers=centers, cluster_std=spread, random_state=seed)[0]


def both(X, w=None, **options):
    return [seeded(module.KMeans(**options)).fit(X, sample_weight=w) for module in (ours, theirs)]


def assert_same(one, other, rtol=1e-9):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=rtol, atol=rtol)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=rtol)
    assert one.n_iter_ == other.n_iter_


@pytest.mark.parametrize("name", NAMES)
def test_the_constructor_is_scikit_learns(name):
    mine, other = (inspect.signature(getattr(module, name)).parameters for module in (ours, theirs))
    assert [(p.name, p.kind, p.default) for p in mine.values()] == [(p.name, p.kind, p.default) for p in other.values()]


@pytest.mark.parametrize("name", NAMES)
def test_every_learned_name_and_method_of_scikit_learn_is_there(name):
    X = blobs(300)
    mine, other = (getattr(module, name)(4, random_state=0).fit(X) for module in (ours, theirs))
    public = {word for word in dir(other) if not word.startswith("_")} - {"set_callbacks"}
    assert public <= set(dir(mine))


@pytest.mark.parametrize("tol", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("max_iter", [1, 3, 300])
@pytest.mark.parametrize("kind", ["blobs", "uniform"])
def test_from_a_given_start_every_step_is_the_same(kind, max_iter, tol):
    X = blobs() if kind == "blobs" else np.random.default_rng(0).random((3000, 6))
    assert_same(*both(X, n_clusters=12, init=X[:12], n_init=1, tol=tol, max_iter=max_iter))


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_every_name_of_the_algorithm_is_taken(algorithm):
    X = blobs(800)
    assert_same(*both(X, n_clusters=7, init=X[:7], algorithm=algorithm))


def test_weights_have_the_same_effect():
    """With tol = 0: scikit-learn's tolerance knows nothing of weights."""
    X = blobs()
    w = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
    assert_same(*both(X, w, n_clusters=9, init=X[:9], tol=0.0))


def test_sparse_rows_are_clustered_alike():
    X = sparse.random(1500, 80, density=0.05, format="csr", random_state=0)
    start = X[:10].toarray()
    assert_same(*both(X, n_clusters=10, init=start))
    dense, _ = both(X.toarray(), n_clusters=10, init=start)
    assert_same(ours.KMeans(10, init=start, random_state=0).fit(X), dense)


def test_single_precision_gives_centres_in_single_precision():
    """scikit-learn works in single precision, so its sums have six digits."""
    X = blobs().astype(np.float32)
    mine, other = both(X, n_clusters=9, init=X[:9], tol=0.0)
    assert mine.cluster_centers_.dtype == other.cluster_centers_.dtype == np.float32
    assert adjusted_rand_score(mine.labels_, other.labels_) > 0.999
    assert mine.inertia_ == pytest.approx(other.inertia_, rel=1e-4)


def test_an_empty_cluster_is_filled_from_the_same_row():
    X = blobs(500)
    start = np.vstack([X[:5], X.mean(axis=0) + 1e3])
    assert_same(*both(X, n_clusters=6, init=start, tol=0.0))


def test_new_rows_are_placed_measured_and_scored_alike():
    X, new = blobs(), blobs(seed=3)
    w = np.random.default_rng(1).uniform(size=len(new))
    mine, other = both(X, n_clusters=9, init=X[:9])
    np.testing.assert_array_equal(mine.predict(new), other.predict(new))
    np.testing.assert_allclose(mine.transform(new), other.transform(new), rtol=1e-9)
    assert mine.score(new) == pytest.approx(other.score(new), rel=1e-9)
    assert mine.score(new, None, w) == pytest.approx(other.score(new, None, w), rel=1e-9)
    np.testing.assert_array_equal(mine.get_feature_names_out(), other.get_feature_names_out())
    np.testing.assert_allclose(ours.KMeans(9, init=X[:9], random_state=0).fit_transform(X), mine.transform(X))


def test_seeds_leave_as_small_a_sum_of_squares():
    """Over 200 seeds the means of both potentials agree within 4 standard errors of their difference."""
    X = blobs(1000, centers=12)

    def potential(rows):
        return squared_distances(X, X[rows]).min(axis=1).sum()

    mine = [potential(plusplus_rows(X, np.ones(1000), 12, np.random.RandomState(s))) for s in range(200)]
    other = [potential(theirs.kmeans_plusplus(X, 12, random_state=s)[1]) for s in range(200)]
    error = np.sqrt((np.var(mine) + np.var(other)) / 200)
    assert abs(np.mean(mine) - np.mean(other)) < 4 * error


def test_whole_fits_reach_as_small_an_inertia():
    """The best of ten runs on separated clusters is the same clustering."""
    X = blobs(spread=0.5)
    mine, other = both(X, n_clusters=9, n_init=10, random_state=0)
    assert mine.inertia_ == pytest.approx(other.inertia_, rel=1e-9)
    assert adjusted_rand_score(mine.labels_, other.labels_) == 1.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_partial_fit_moves_the_centres_alike(form):
    """Three batches by hand from given centres, none of them idle."""
    X = np.abs(blobs(900))
    start, w = X[:5], np.random.default_rng(0).uniform(0.5, 2, size=900)
    pair = [module.MiniBatchKMeans(5, init=start, reassignment_ratio=0.0, random_state=0) for module in (ours, theirs)]
    for lo in (0, 300, 600):
        for model in pair:
            model.partial_fit(form(X[lo : lo + 300]), sample_weight=w[lo : lo + 300])
    mine, other = pair
    np.testing.assert_allclose(mine.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    assert mine.inertia_ == pytest.approx(other.inertia_, rel=1e-9)
    assert mine.n_steps_ == other.n_steps_ == 3


def test_mini_batches_reach_as_small_an_inertia():
    """Over ten seeds; no worse than 3 standard errors of the difference."""
    X = blobs(4000, centers=15, spread=3.0)
    found = {}
    for module in (ours, theirs):
        fits = [module.MiniBatchKMeans(15, random_state=s, batch_size=256).fit(X) for s in range(10)]
        found[module] = np.array([fit.inertia_ for fit in fits])
    error = np.sqrt((found[ours].var(ddof=1) + found[theirs].var(ddof=1)) / 10)
    assert found[ours].mean() <= found[theirs].mean() + 3 * error
