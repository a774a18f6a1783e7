"""K-medoids: what the laws cannot say."""

import numpy as np
import pytest
from interruption import PressCtrlC
from oracles import medoids as oracle
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fivefold.cluster import KMedoids
from fivefold.core.console.fit_progress import InterruptedWarning
from fivefold.core.storage import memory_limits
from fivefold.spatial.centres.medoids import built_medoids


def rows(n=40, d=2, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(4, d))[rng.integers(4, size=n)]
    return X, rng.uniform(0.5, 3.0, size=n) if weighted else np.ones(n)


@pytest.mark.parametrize("init", ["random", "build"])
@pytest.mark.parametrize("K", [1, 2, 3, 6])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed"])
def test_no_single_swap_lowers_the_sum_where_it_ends(metric, K, init):
    X, w = rows()
    D = cdist(X, X, {"manhattan": "cityblock", "precomputed": "euclidean"}.get(metric, metric))
    model = KMedoids(K, metric=metric, init=init, random_state=1).fit(D if metric == "precomputed" else X, None, w)
    found = model.medoid_indices_
    assert model.inertia_ == pytest.approx(oracle.cost(D, w, found), rel=1e-12)
    assert oracle.best_swap(D, w, found) >= model.inertia_ * (1 - 1e-9)
    np.testing.assert_array_equal(model.labels_, D[:, found].argmin(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_several_runs_is_the_best_of_all_sets_of_rows(seed):
    X, w = rows(14, seed=seed)
    best = oracle.best_medoids(cdist(X, X), w, 3)
    assert KMedoids(3, n_init=10, random_state=0).fit(X, sample_weight=w).inertia_ == pytest.approx(best)


def test_rows_are_added_as_by_hand():
    X, w = rows()
    D = cdist(X, X)
    np.testing.assert_array_equal(built_medoids(D, w, 7, np.arange(len(X))), oracle.build(D, w, 7))


def test_medoids_are_rows_and_an_outlier_does_not_drag_them():
    X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0], [52.0], [9000.0]])
    model = KMedoids(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    assert sorted(model.cluster_centers_.ravel()) == [1.0, 51.0, 9000.0]


def test_distances_that_are_given_are_as_good_as_rows_and_so_is_a_function():
    X, w = rows()
    new = rows(seed=9)[0]
    by_rows = KMedoids(4, init="build", random_state=0).fit(X, sample_weight=w)
    given = KMedoids(4, init="build", random_state=0, metric="precomputed").fit(cdist(X, X), sample_weight=w)
    named = KMedoids(4, init="build", random_state=0, metric=lambda a, b: float(np.linalg.norm(a - b))).fit(
        X, sample_weight=w
    )
    assert given.cluster_centers_ is None
    for other, Z in ((given, cdist(new, X)), (named, new)):
        assert other.inertia_ == pytest.approx(by_rows.inertia_)
        assert adjusted_rand_score(other.predict(Z), by_rows.predict(new)) == 1.0
        np.testing.assert_allclose(np.sort(other.transform(Z)), np.sort(by_rows.transform(new)))


def test_the_order_of_the_rows_changes_nothing():
    X, w = rows(80)
    order = np.random.default_rng(2).permutation(len(X))
    one, other = (
        KMedoids(5, random_state=0, max_iter=300).fit(Z, sample_weight=v) for Z, v in ((X, w), (X[order], w[order]))
    )
    np.testing.assert_array_equal(order[other.medoid_indices_], one.medoid_indices_)


def test_rows_of_weight_zero_are_counted_in_the_numbers_of_the_medoids():
    X, w = rows()
    w[[0, 1, 7]] = 0.0
    model = KMedoids(3, random_state=0).fit(X, sample_weight=w)
    np.testing.assert_array_equal(X[model.medoid_indices_], model.cluster_centers_)
    assert len(model.labels_) == len(X) and (w[model.medoid_indices_] > 0).all()


@pytest.mark.parametrize("init", ["random", "build"])
def test_fewer_distinct_rows_than_clusters_are_said(init):
    X = np.repeat([[0.1, 0.0], [5.3, 1.0], [2.0, 2.7]], [7, 2, 3], axis=0)
    with pytest.warns(ConvergenceWarning, match="only 3 of n_clusters=5 clusters hold rows.*fewer clusters"):
        model = KMedoids(5, init=init, random_state=0).fit(X)
    assert model.inertia_ == 0 and len(set(model.medoid_indices_)) == 5


def test_what_cannot_be_is_refused_in_words(monkeypatch):
    with pytest.raises(ValueError, match=r"KMedoids: n_clusters=5 but X has only n_samples=4 rows"):
        KMedoids(5, random_state=0).fit(np.eye(4))
    with pytest.raises(ValueError, match=r"distances between all rows, \(n, n\); X is \(6, 4\)"):
        KMedoids(2, metric="precomputed", random_state=0).fit(np.ones((6, 4)))
    with pytest.raises(ValueError, match=r"X\[0, 1\] is -1; distances are not negative"):
        KMedoids(2, metric="precomputed", random_state=0).fit([[0.0, -1.0], [1.0, 0.0]])
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**9)
    with pytest.raises(MemoryError, match=r"KMedoids: 100000 rows need about 80 GB .* use KMedians or KMeans"):
        KMedoids(2, random_state=0).fit(np.zeros((100_000, 1)))


def test_too_few_passes_are_said_and_an_interruption_keeps_the_medoids_so_far():
    X, _ = rows(300)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes; allow more"):
        KMedoids(12, max_iter=1, random_state=0).fit(X)
    model = KMedoids(12, random_state=0)
    model.set_callbacks(PressCtrlC(after=1))
    with pytest.warns(InterruptedWarning, match="interrupted after 1 pass;"):
        model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
