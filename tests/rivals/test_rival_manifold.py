"""Manifold methods beside scikit-learn's, on the same rows."""

import warnings

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path
from sklearn import manifold as rival
from sklearn.datasets import make_swiss_roll

from fivefold import manifold
from fivefold.neighbors import kneighbors_graph
from fivefold.spatial.shortest_paths import dijkstra, floyd_warshall, shortest_paths, undirected

ROLL = make_swiss_roll(220, random_state=0)[0]
NEW = make_swiss_roll(20, random_state=1)[0]
NORMAL = np.random.default_rng(0).normal(size=(60, 5))


def same_places(ours, theirs, atol):
    """Columns agree up to their signs."""
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=atol * np.abs(theirs).max())
    return signs


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_classical_mds(metric):
    ours, theirs = (lib.ClassicalMDS(3, metric=metric).fit(NORMAL) for lib in (manifold, rival))
    same_places(ours.embedding_, theirs.embedding_, 1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("setting", [{"n_neighbors": 8}, {"n_neighbors": None, "radius": 9.0}], ids=["k", "radius"])
@pytest.mark.parametrize("path_method", ["auto", "D", "FW"])
def test_isomap(setting, path_method):
    ours, theirs = (lib.Isomap(**setting, path_method=path_method).fit(ROLL) for lib in (manifold, rival))
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)
    signs = same_places(ours.embedding_, theirs.embedding_, 1e-9)
    np.testing.assert_allclose(ours.transform(NEW) * signs, theirs.transform(NEW), atol=1e-9)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-9)


def test_isomap_joins_the_parts_of_a_graph_as_scikit_learn_does():
    X = np.concatenate([NORMAL, NORMAL + 30.0, NORMAL - 40.0])
    with pytest.warns(UserWarning, match="in 3 parts"):
        ours = manifold.Isomap(n_neighbors=4).fit(X).dist_matrix_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two, one of them about a sparse matrix of its own
        theirs = rival.Isomap(n_neighbors=4).fit(X).dist_matrix_
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
@pytest.mark.parametrize("eigen_solver", ["auto", "dense"])
def test_locally_linear_embedding(method, eigen_solver):
    settings = {"n_neighbors": 12, "method": method, "random_state": 0}
    ours = manifold.LocallyLinearEmbedding(eigen_solver=eigen_solver, **settings).fit(ROLL)
    theirs = rival.LocallyLinearEmbedding(eigen_solver="dense", **settings).fit(ROLL)
    signs = same_places(ours.embedding_, theirs.embedding_, 1e-5)
    np.testing.assert_allclose(ours.transform(NEW) * signs, theirs.transform(NEW), atol=1e-6)
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error_, rel=1e-6)


@pytest.mark.parametrize("setting", [{}, {"metric_mds": False}, {"init": "classical_mds"}, {"n_init": 2}], ids=str)
def test_mds_takes_the_same_steps(setting):
    options = {"init": "random", "random_state": 3, "max_iter": 60, **setting}
    ours, theirs = (lib.MDS(**options).fit(NORMAL) for lib in (manifold, rival))
    assert ours.n_iter_ == theirs.n_iter_ and ours.stress_ == pytest.approx(theirs.stress_, rel=1e-9)
    np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-8)


@pytest.mark.parametrize("setting", [{"affinity": "rbf", "gamma": 0.05}, {"n_neighbors": 15}], ids=str)
@pytest.mark.parametrize("n", [60, 220])
def test_spectral_embedding(setting, n):
    ours, theirs = (lib.SpectralEmbedding(2, random_state=0, **setting).fit(ROLL[:n]) for lib in (manifold, rival))
    same_places(ours.embedding_, theirs.embedding_, 1e-7)


@pytest.mark.parametrize("normalised", [True, False])
def test_the_laplacian_of_a_chain(normalised):
    W = np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1)
    options = {"n_components": 3, "norm_laplacian": normalised, "drop_first": False, "random_state": 0}
    same_places(manifold.spectral_embedding(W, **options), rival.spectral_embedding(W, **options), 1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_trustworthiness(metric):
    Y = NORMAL[:, :2]
    X = np.linalg.norm(NORMAL[:, None] - NORMAL, axis=2) if metric == "precomputed" else NORMAL
    ours, theirs = (lib.trustworthiness(X, Y, n_neighbors=7, metric=metric) for lib in (manifold, rival))
    assert ours == pytest.approx(theirs, abs=1e-14)


@pytest.mark.parametrize("k", [1, 4])
def test_shortest_paths_are_those_of_scipy(k):
    graph = undirected(kneighbors_graph(NORMAL, k, mode="distance"))
    right = shortest_path(graph, directed=False)
    for found in (dijkstra(graph), shortest_paths(graph), floyd_warshall(graph)):
        np.testing.assert_allclose(found, right, rtol=1e-12)
    np.testing.assert_array_equal(dijkstra(graph), shortest_paths(graph))


def test_scikit_learns_hessian_is_its_ltsa_and_ours_is_not():
    """It keeps all columns of Q beyond the linear ones, which makes its matrix that of LTSA; ours is the paper's."""
    settings = {"n_neighbors": 12, "eigen_solver": "dense", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [
            rival.LocallyLinearEmbedding(method=m, **settings).fit(ROLL).reconstruction_error_
            for m in ("hessian", "ltsa")
        ]
    assert theirs[0] == pytest.approx(theirs[1], rel=1e-8)
    ours = manifold.LocallyLinearEmbedding(method="hessian", **settings).fit(ROLL).reconstruction_error_
    assert ours < 0.9 * theirs[0]


@pytest.mark.parametrize("method", ["exact", "barnes_hut"])
def test_tsne_takes_the_steps_of_scikit_learn(method):
    options = {"perplexity": 12.0, "init": NORMAL[:, :2].astype(np.float32), "method": method, "angle": 0.0}
    short_steps = {"learning_rate": 1.0, "early_exaggeration": 2.0, "max_iter": 300}  # long ones magnify rounding
    ours, theirs = (lib.TSNE(**options, **short_steps).fit(NORMAL) for lib in (manifold, rival))
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-3)
    assert ours.kl_divergence_ == pytest.approx(theirs.kl_divergence_, rel=1e-4)
    assert ours.n_iter_ == theirs.n_iter_ and ours.embedding_.dtype == theirs.embedding_.dtype
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
