"""t-SNE: affinities, forces and divergence beside their formulas, odd tables, and the same bytes on any threads."""

import numpy as np
import pytest
from oracles.manifold import student_divergence
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from fivefold.core.storage import memory_limits
from fivefold.manifold import TSNE, trustworthiness
from fivefold.manifold.embeddings.affinities import conditional_affinities, joint_affinities
from fivefold.manifold.embeddings.neighbor_descent import NeighborDescent

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(40, 4))
FIRST_GAIN = 0.8  # of a first step, before which there is none to disagree with


def symmetric_affinities(n, seed=1):
    """Random affinities of some of the pairs of n rows."""
    A = np.random.default_rng(seed).random((n, n)) * (np.random.default_rng(seed + 1).random((n, n)) < 0.2)
    np.fill_diagonal(A, 0.0)
    return (A + A.T) / (A + A.T).sum()


def slope_of(P, Y, angle=0.5):
    """Divergence and gradient (n, k), from the first step with rate one and no momentum."""
    descent = NeighborDescent(P, Y, angle)
    descent.begin(1.0, 0.0, 1.0)
    found, _ = descent.step(True)
    return found, -descent.state.step.T / FIRST_GAIN


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("form", [csr_array, np.asarray], ids=["neighbours", "all pairs"])
def test_divergence_and_gradient_are_those_of_the_formula(k, form):
    P, Y = symmetric_affinities(30), 3 * RNG.normal(size=(30, k))
    value, slope = student_divergence(P, Y)
    found, gradient = slope_of(form(P), Y)
    assert found == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(gradient, slope, atol=2e-6 * np.abs(slope).max())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_cells_stand_for_their_places_as_far_as_the_angle_allows(k):
    n = 1500  # more than are added up pair by pair
    Y = 10 * np.random.default_rng(2).normal(size=(n, k))
    Y[700:760] = Y[700]  # places that no cell can part
    P = csr_array(np.eye(n, k=1) + np.eye(n, k=-1)) / (2 * n - 2)
    every = slope_of(P.toarray(), Y)
    for angle, error in ((0.0, 1e-4), (0.2, 5e-3), (0.5, 4e-2)):
        found = slope_of(P, Y, angle)
        assert found[0] == pytest.approx(every[0], rel=1e-3)
        assert np.linalg.norm(found[1] - every[1]) < error * np.linalg.norm(every[1])


@pytest.mark.parametrize("perplexity", [0.5, 1.0, 5.0, 38.9])
def test_as_many_neighbours_count_as_the_perplexity_says(perplexity):
    D = np.square(NORMAL[:, None] - NORMAL).sum(axis=2)
    P, precisions = conditional_affinities(D, perplexity, own=True)
    assert (np.diag(P) == 0).all() and (precisions > 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    entropy = -np.where(P > 0, P * np.log(np.maximum(P, 1e-300)), 0.0).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropy), max(perplexity, 1.0), rtol=1e-6)


def test_copies_share_the_affinity_that_their_distance_allows():
    D = np.array([[0.0, 0.0, 0.0, 4.0], [2.0, 2.0, 2.0, 2.0], [1.0, 2.0, 1e9, 1e12]])
    P, _ = conditional_affinities(D, 2.0)
    np.testing.assert_allclose(P[0], [1 / 3, 1 / 3, 1 / 3, 0.0], atol=1e-12)
    np.testing.assert_allclose(P[1], 0.25)
    assert np.isfinite(P).all()
    joint = joint_affinities(P[:2, :1], np.array([[1], [0]]))
    np.testing.assert_allclose(joint.toarray(), [[0, 0.5], [0.5, 0]])


def test_the_number_of_threads_changes_no_byte(monkeypatch):
    X, found = load_digits().data[:1200], []
    for several in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", several)
        found.append(TSNE(random_state=0, max_iter=40).fit_transform(X).tobytes())
    assert found[0] == found[1]


def test_neighbours_of_digits_stay_neighbours():
    X = load_digits().data[:500]
    model = TSNE(random_state=0, max_iter=500).fit(X)
    assert trustworthiness(X, model.embedding_) > 0.98
    assert model.n_iter_ == 499 and model.learning_rate_ == 50.0


def test_larger_steps_once_affinities_count_once_end_nearer_to_the_optimum():
    X = load_digits().data
    rates = {name: TSNE(random_state=0, learning_rate=name, max_iter=500).fit(X) for name in ("auto", "per_stage")}
    assert rates["auto"].learning_rate_ == 50.0 and rates["per_stage"].learning_rate_ == len(X) / 4
    assert rates["per_stage"].kl_divergence_ < rates["auto"].kl_divergence_ - 0.02
    early = [TSNE(random_state=0, learning_rate=name, max_iter=20).fit(X[:300]) for name in rates]
    assert early[0].embedding_.tobytes() == early[1].embedding_.tobytes()  # the first stage is the same
    assert early[1].learning_rate_ == 50.0


@pytest.mark.parametrize(
    "X",
    [np.ones((30, 3)), np.repeat(NORMAL[:10], 3, axis=0), NORMAL[:, :1], NORMAL[:2]],
    ids=["equal rows", "copies", "one column", "two rows"],
)
@pytest.mark.parametrize("method", ["exact", "barnes_hut"])
def test_odd_tables_have_finite_places(X, method):
    model = TSNE(perplexity=1.5, method=method, random_state=0, max_iter=300).fit(X)
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.kl_divergence_)


def test_refusals_say_what_to_do(monkeypatch):
    with pytest.raises(ValueError, match=r"perplexity \(40\.0\) must be less than n_samples \(40\)"):
        TSNE(perplexity=40.0, random_state=0).fit(NORMAL)
    with pytest.raises(ValueError, match="at most 3 with method"):
        TSNE(4, perplexity=5, random_state=0).fit(NORMAL)
    with pytest.raises(ValueError, match=r"init must be places of the rows, \(40, 2\)"):
        TSNE(perplexity=5, init=NORMAL, random_state=0).fit(NORMAL)
    with pytest.raises(ValueError, match="Lower it"):
        TSNE(perplexity=5, learning_rate=1e90, random_state=0).fit(NORMAL)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**10)
    with pytest.raises(MemoryError, match=r'100000 rows need about 320 GB .* Take method="barnes_hut"'):
        TSNE(method="exact", random_state=0).fit(np.zeros((100_000, 2)))
