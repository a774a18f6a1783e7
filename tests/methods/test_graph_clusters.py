"""Spectral clustering and affinity propagation: what the laws cannot say."""

import numpy as np
import pytest
from interruption import PressCtrlC
from numpy.testing import assert_allclose, assert_array_equal
from oracles import graph_clusters as oracle
from scipy.sparse import csr_array
from scipy.sparse.csgraph import laplacian
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from fivefold.cluster import AffinityPropagation, SpectralClustering, spectral_clustering
from fivefold.core.console.fit_progress import InterruptedWarning
from fivefold.core.storage import memory_limits
from fivefold.spatial import laplacian_eigenmaps
from fivefold.spatial.centres.exemplar_loops import message_pass
from fivefold.spatial.laplacian_eigenmaps import laplacian_places

MOONS, SIDES = make_moons(300, noise=0.05, random_state=0)


def few(n=9, seed=0):
    return np.random.RandomState(seed).normal(size=(n, 2))


@pytest.mark.filterwarnings("ignore:.*not fully connected")
@pytest.mark.parametrize("labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("setting", [{"gamma": 30.0}, {"affinity": "nearest_neighbors"}], ids=["rbf", "neighbours"])
def test_moons_are_told_apart(setting, labels):
    model = SpectralClustering(2, assign_labels=labels, random_state=0, **setting).fit(MOONS)
    assert adjusted_rand_score(SIDES, model.labels_) == 1.0


def test_rings_are_told_apart_where_no_centres_could():
    X, y = make_circles(400, factor=0.4, noise=0.03, random_state=1)
    assert adjusted_rand_score(y, SpectralClustering(2, gamma=40.0, random_state=0).fit(X).labels_) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_no_single_row_that_changes_sides_lowers_the_normalised_cut_of_two_groups(seed):
    rng = np.random.RandomState(seed)
    X = np.concatenate([rng.normal(0, 0.5, (12, 2)), rng.normal(3, 0.5, (12, 2))])
    model = SpectralClustering(2, gamma=0.5, random_state=0).fit(X)
    W, found = model.affinity_matrix_, model.labels_
    cut = oracle.normalised_cut(W, found)
    for i in range(24):
        other = found.copy()
        other[i] = 1 - other[i]
        assert cut <= oracle.normalised_cut(W, other)


@pytest.mark.parametrize("gamma", [0.5, 30.0, 3000.0])
def test_products_with_the_affinities_give_the_eigenvectors_of_the_whole_laplacian(gamma):
    """Wide kernels settle after a few products; narrow ones go on with the inverse."""
    X = make_moons(420, noise=0.1, random_state=3)[0]
    W = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    places = laplacian_places(W, 4, np.random.RandomState(0), "test", drop_first=False)
    free = W - np.eye(420)
    root = np.sqrt(free.sum(axis=1))
    U = places * root[:, None]
    U /= np.linalg.norm(U, axis=0)
    L = np.eye(420) - free / np.outer(root, root)
    assert_allclose(L @ U, U * np.linalg.eigvalsh(L)[:4], atol=1e-8)


def test_a_given_graph_its_sparse_form_and_the_rows_lead_to_the_same_cut():
    W = SpectralClustering(2, gamma=30.0, random_state=0).fit(MOONS).affinity_matrix_
    dense = spectral_clustering(W, n_clusters=2, random_state=0)
    assert adjusted_rand_score(dense, spectral_clustering(csr_array(W), n_clusters=2, random_state=0)) == 1.0
    assert adjusted_rand_score(dense, SIDES) == 1.0
    with pytest.warns(UserWarning, match="not symmetric; the mean"):
        spectral_clustering(W + np.triu(W, 1) * 1e-3, n_clusters=2, random_state=0)


@pytest.mark.filterwarnings("ignore:.*not fully connected")
def test_stored_distances_may_hold_more_neighbours_than_are_asked_for_but_not_fewer():
    D = np.sqrt(((MOONS[:, None] - MOONS[None]) ** 2).sum(axis=2))
    asked = {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 8, "random_state": 0}
    near = np.sort(D, axis=1)[:, [11]]
    rows, columns = np.nonzero(near >= D)
    graph = csr_array((D[rows, columns], (rows, columns)), shape=D.shape)  # the zeros of the diagonal are stored
    whole, stored = (SpectralClustering(2, **asked).fit(G) for G in (D, graph))
    assert_array_equal(whole.affinity_matrix_.toarray(), stored.affinity_matrix_.toarray())
    with pytest.raises(ValueError, match="row 0 has 1 in the graph. Ask for fewer"):
        SpectralClustering(2, **asked).fit(csr_array(np.eye(300)))


def test_words_about_squares_and_memory(monkeypatch):
    with pytest.raises(ValueError, match=r"affinities of n rows with each other are \(n, n\); X is \(300, 2\)"):
        SpectralClustering(2, affinity="precomputed", random_state=0).fit(MOONS)
    with pytest.warns(UserWarning, match='For affinities of rows with each other set affinity="precomputed"'):
        SpectralClustering(2, random_state=0).fit(few(4)[:, [0, 1, 0, 1]])
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**9)
    big = np.zeros((100_000, 1))
    with pytest.raises(MemoryError, match=r"SpectralClustering: 100000 rows need about 240 GB .*nearest_neighbors"):
        SpectralClustering(2, random_state=0).fit(big)
    with pytest.raises(MemoryError, match=r"AffinityPropagation: 100000 rows need about 320 GB .* use KMeans"):
        AffinityPropagation(random_state=0).fit(big)


@pytest.mark.parametrize("damping", [0.5, 0.8])
def test_rounds_send_the_messages_of_the_definition(damping):
    """One reading of a row makes its availabilities of the round before and its responsibilities of this one."""
    X = few(7)
    S = -((X[:, None] - X[None]) ** 2).sum(axis=2) - 2.0 * np.eye(7)
    R, A, sums = np.zeros((7, 7)), np.zeros((7, 7)), np.zeros(7)
    plain_R, plain_A = R.copy(), A.copy()
    for _ in range(6):
        before = plain_A
        plain_R, plain_A = oracle.message_round(S, plain_R, plain_A, damping)
        new = np.empty((2, 7))
        message_pass(S, R, A, sums, damping, 0, 3, np.empty(7), new[0])
        message_pass(S, R, A, sums, damping, 3, 7, np.empty(7), new[1])
        sums = new.sum(axis=0)
        assert_allclose(R, plain_R, atol=1e-12)
        assert_allclose(A, before, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_exemplars_of_groups_have_the_largest_net_similarity_of_all_sets_of_rows(seed):
    X = 0.3 * few(9, seed) + 4 * np.repeat(np.eye(3, 2), 3, axis=0)
    model = AffinityPropagation(damping=0.7, max_iter=1000, preference=-3.0, random_state=0).fit(X)
    S = -((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(S, -3.0)
    assert tuple(model.cluster_centers_indices_) == oracle.best_exemplars(S)


def test_a_larger_preference_makes_more_exemplars_and_each_stands_for_itself():
    X, counts = few(80), []
    for preference in (-50.0, -5.0, -0.5, -0.01):
        model = AffinityPropagation(preference=preference, damping=0.8, max_iter=500, random_state=0).fit(X)
        counts.append(len(model.cluster_centers_))
        assert_array_equal(model.labels_[model.cluster_centers_indices_], np.arange(counts[-1]))
        assert_array_equal(model.predict(X), model.labels_)
    assert counts == sorted(counts) and counts[0] < counts[-1]


def test_preferences_that_are_no_numbers_or_too_few_are_refused():
    for wrong in ("much", [1.0, 2.0], np.nan, [[1.0]]):
        with pytest.raises(ValueError, match="preference=.*one for each of the 9 rows"):
            AffinityPropagation(preference=wrong, random_state=0).fit(few())


def test_an_interruption_in_the_first_round_keeps_one_exemplar():
    with pytest.warns(InterruptedWarning, match="interrupted after 1 round"):
        model = AffinityPropagation(random_state=0).set_callbacks(PressCtrlC(1)).fit(few(40))
    assert len(model.cluster_centers_) >= 1 and model.n_iter_ == 1


def test_rows_in_few_groups_need_no_factor_of_their_graph(monkeypatch):
    """A polynomial of the Laplacian finds the eigenvectors that its inverse finds."""
    X = make_blobs(1200, n_features=6, centers=4, cluster_std=2.5, random_state=0)[0]
    W = laplacian_eigenmaps.neighbor_affinities(X, 25, "test")
    with monkeypatch.context() as patched:
        patched.setattr(laplacian_eigenmaps, "smallest_eigenpairs", None)  # not called
        filtered = laplacian_eigenmaps.laplacian_places(W, 4, np.random.RandomState(0), "test", drop_first=False)
    monkeypatch.setattr(laplacian_eigenmaps, "_by_filter", lambda *given: None)
    inverse = laplacian_eigenmaps.laplacian_places(W, 4, np.random.RandomState(0), "test", drop_first=False)
    np.testing.assert_allclose(filtered, inverse, rtol=0, atol=1e-8 * np.abs(inverse).max())


@pytest.mark.parametrize("d", [1, 8])
def test_the_polynomial_is_not_tried_where_no_few_eigenvalues_stand_out(d):
    """Of a chain there are many small ones, of one cloud there is none: the random state is as it was."""
    X = np.random.default_rng(0).normal(size=(1200, d))
    W = laplacian_eigenmaps.neighbor_affinities(X if d > 1 else np.sort(X, axis=0), 12, "test")
    L, root = laplacian(W, normed=True, return_diag=True)
    rng = np.random.RandomState(0)
    assert laplacian_eigenmaps._by_filter(csr_array(L), root, 3, rng, 1e-11) is None
    assert rng.randint(1000) == np.random.RandomState(0).randint(1000)
