"""Manifold methods: what holds for them whatever the rows, odd inputs, diagnostics and costs."""

from itertools import pairwise

import numpy as np
import pytest
from oracles.manifold import false_neighbors, hessian_cost, relaxed_paths, sammon_error
from scipy.sparse import csr_matrix
from sklearn.datasets import make_swiss_roll

from fivefold.core.numerics.smallest_eigenpairs import smallest_eigenpairs
from fivefold.core.storage import memory_limits
from fivefold.decomposition import PCA
from fivefold.manifold import (
    MDS,
    ClassicalMDS,
    Isomap,
    LocallyLinearEmbedding,
    SammonMapping,
    SpectralEmbedding,
    continuity,
    isomap_sweep,
    trustworthiness,
)
from fivefold.manifold.embeddings.local_geometry import hessian_matrix, standard_root
from fivefold.manifold.embeddings.smacof import descend
from fivefold.manifold.sammon import SammonError
from fivefold.neighbors import NearestNeighbors
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.search.proximity_graphs import components, nearest_graph, radius_graph
from fivefold.spatial.shortest_paths import dijkstra, floyd_warshall, shortest_paths, undirected

ROLL = make_swiss_roll(250, random_state=0)[0]
NORMAL = np.random.default_rng(0).normal(size=(40, 4))


def distances(Y):
    return np.linalg.norm(Y[:, None] - Y, axis=2)


def test_a_complete_graph_makes_isomap_classical_scaling_and_pca():
    whole = Isomap(n_neighbors=39, n_components=3).fit_transform(NORMAL)
    scaled = ClassicalMDS(3).fit_transform(NORMAL)
    np.testing.assert_allclose(whole, scaled, atol=1e-9)
    np.testing.assert_allclose(np.abs(scaled), np.abs(PCA(3).fit_transform(NORMAL)), atol=1e-9)


def test_every_node_of_the_union_graph_has_k_neighbours_and_copies_do_not_fall_apart():
    X = np.repeat(NORMAL[:10], 3, axis=0)
    for k in (1, 3):
        either, mutual = (nearest_graph(NeighborIndex(X), k, joined) for joined in ("either", "mutual"))
        assert np.diff(either.indptr).min() >= k and np.diff(mutual.indptr).max() <= k
        assert (either != either.T).nnz == 0 and (mutual != mutual.T).nnz == 0


def test_ball_graphs_are_symmetric_and_grow_with_the_radius():
    small, large = (radius_graph(NeighborIndex(NORMAL), radius) for radius in (1.0, 1.6))
    assert (small != small.T).nnz == 0
    edges = [set(zip(*graph.nonzero(), strict=True)) for graph in (small, large)]
    assert edges[0] < edges[1]
    lonely = np.diff(small.indptr) == 0
    assert lonely.any() and len(np.unique(components(small)[lonely])) == lonely.sum()


def test_shortest_paths_by_three_algorithms_and_their_triangles():
    X = np.concatenate([NORMAL[:7], NORMAL[7:14] + 50.0])
    graph = undirected(nearest_graph(NeighborIndex(X), 2))
    start = np.full((14, 14), np.inf)
    start[graph.nonzero()] = graph.data
    np.fill_diagonal(start, 0.0)
    right = relaxed_paths(start)
    assert np.isinf(right).any()  # the graph is in parts
    for find in (dijkstra, shortest_paths, floyd_warshall):
        D = find(graph)
        np.testing.assert_allclose(D, right, rtol=1e-12)
        assert not (D[:, :, None] > D[:, None, :] + D.T[None] + 1e-12).any()
        parts = components(graph)
        assert (np.isinf(D) == (parts[:, None] != parts)).all()


def test_a_graph_that_is_not_the_same_both_ways_takes_the_shorter_edge():
    graph = undirected(csr_matrix([[0.0, 5.0, 0.0], [2.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(graph.toarray(), [[0, 2, 0], [2, 0, 1], [0, 1, 0]])


def test_one_bridge_across_a_sheet_is_found_and_breaks_the_embedding():
    sheet = np.stack(np.meshgrid(np.arange(24.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    bridged = distances(sheet)
    good = Isomap(n_neighbors=8, metric="precomputed").fit(bridged)
    assert len(good.shortcuts()[0]) == 0
    bridged[0, -1] = bridged[-1, 0] = 0.5
    bad = Isomap(n_neighbors=8, metric="precomputed").fit(bridged)
    edges, factors = bad.shortcuts()
    assert edges.tolist() == [[0, len(sheet) - 1]] and np.isinf(factors[0])
    assert bad.embeddability().residual_variance > 2 * good.embeddability().residual_variance


def test_a_sweep_shows_parts_then_a_good_size_then_shortcuts():
    angle = (np.arange(80) + np.tile([0.2, -0.2], 40)) * 1.7 * np.pi / 80  # pairs of near rows
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    few, good, many = isomap_sweep(arc, n_neighbors=[1, 4, 60], n_components=1)
    assert few.components > 1 and few.residual_variance is None
    assert good.components == many.components == 1 and good.longest_edge < many.longest_edge
    assert good.residual_variance < 0.1 * many.residual_variance
    with pytest.raises(ValueError, match="one of the two"):
        isomap_sweep(arc)


def test_a_graph_in_parts_is_refused_or_joined_with_a_warning():
    X = np.concatenate([NORMAL, NORMAL + 50.0])
    with pytest.raises(ValueError, match="in 2 parts.*Raise n_neighbors"):
        Isomap(n_neighbors=6, disconnected="error").fit(X)
    with pytest.warns(UserWarning, match="joined by their nearest rows"):
        joined = Isomap(n_neighbors=6).fit(X)
    assert np.isfinite(joined.dist_matrix_).all()
    with pytest.warns(UserWarning, match="in 2 parts, whose places say nothing about each other. Raise n_neighbors"):
        LocallyLinearEmbedding(n_neighbors=6, random_state=0).fit(X)
    with pytest.raises(RuntimeError, match="sparse graph"):
        Isomap(n_neighbors=6, metric="precomputed").fit(NearestNeighbors().fit(X).kneighbors_graph(X, 8, "distance"))


def test_a_new_row_beyond_the_radius_is_named():
    model = Isomap(n_neighbors=None, radius=4.0).fit(NORMAL)
    with pytest.raises(ValueError, match="1 rows have no row of fit within radius=4.*first row 1"):
        model.transform(np.vstack([NORMAL[0], NORMAL[0] + 99.0]))
    np.testing.assert_allclose(model.transform(NORMAL), model.embedding_, atol=1e-9)


def test_quadratic_methods_name_their_cost_first(monkeypatch):
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**9)
    X = np.zeros((20_000, 2))
    for model in (Isomap(), MDS(random_state=0), ClassicalMDS(), SammonMapping(), SpectralEmbedding(affinity="rbf")):
        with pytest.raises(MemoryError, match="20000 rows need about .* GB"):
            model.fit(X)


@pytest.mark.parametrize(
    "model",
    [ClassicalMDS(), MDS(random_state=0), SammonMapping(), Isomap(), LocallyLinearEmbedding(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_equal_rows_and_rows_of_one_column_have_places(model):
    equal = model.fit(np.ones((12, 2))).embedding_
    assert np.isfinite(equal).all()
    line = np.linspace(0, 1, 30)[:, None] ** 2
    model.set_params(n_components=1)
    if isinstance(model, MDS):
        model.set_params(init="classical_mds")
    Y = model.fit(np.repeat(line, 2, axis=0)).embedding_[:, 0]
    assert np.isfinite(Y).all()
    if not isinstance(model, LocallyLinearEmbedding):
        assert abs(np.corrcoef(Y, np.repeat(line[:, 0], 2))[0, 1]) > 0.99


def test_stress_never_rises_and_is_zero_where_places_exist():
    D, seen = distances(NORMAL), []
    descend(D, np.random.RandomState(0).uniform(size=(40, 2)), True, 100, 0.0, lambda Y, s: seen.append(s) or False)
    assert len(seen) > 10 and all(b <= a * (1 + 1e-12) for a, b in pairwise(seen))
    exact = MDS(4, init="classical_mds", random_state=0).fit(NORMAL)
    assert exact.stress_ < 1e-18 * (D**2).sum()
    np.testing.assert_allclose(distances(exact.embedding_), D, atol=1e-9)


def test_without_a_metric_only_the_order_of_distances_counts():
    D = distances(NORMAL)
    settings = {"metric": "precomputed", "metric_mds": False, "init": "random", "random_state": 0, "eps": 0.0}
    one, other = (MDS(**settings, max_iter=1).fit(E) for E in (D, D))
    assert one.stress_ == other.stress_
    start = np.random.RandomState(0).uniform(size=(40, 2))
    ends = [MDS(**settings, max_iter=300).fit(E, init=start).stress_ for E in (D, np.exp(D) - 1)]
    assert ends[0] < 0.25 and ends[1] < 0.25  # stress-1 of both orders, which are one


def test_sammons_error_and_its_slope_are_those_of_the_formula():
    D, Y = distances(NORMAL[:12]), np.random.default_rng(1).normal(size=(12, 2))
    objective = SammonError(D)
    value, slope = objective.value_and_gradient(Y.T.ravel())
    assert value == pytest.approx(sammon_error(D, Y))
    step = np.random.default_rng(2).normal(size=24)
    ahead, behind = (objective.value(Y.T.ravel() + h * step) for h in (1e-5, -1e-5))
    assert slope @ step == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_sammon_keeps_small_distances_better_than_classical_scaling():
    model = SammonMapping(2).fit(NORMAL)
    D = distances(NORMAL)
    assert model.stress_ == pytest.approx(sammon_error(D, model.embedding_))
    assert model.stress_ < 0.8 * sammon_error(D, ClassicalMDS(2).fit_transform(NORMAL))


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_unit_of_the_columns_does_not_change_the_map_of_sammon(unit):
    plain, scaled = SammonMapping(2).fit(NORMAL), SammonMapping(2).fit(unit * NORMAL)
    assert plain.n_iter_ > 10
    np.testing.assert_allclose(scaled.stress_, plain.stress_, rtol=1e-6)
    np.testing.assert_allclose(scaled.embedding_ / unit, plain.embedding_, atol=1e-3)


def test_weights_sum_to_one_and_nothing_but_shape_counts():
    model = LocallyLinearEmbedding(n_neighbors=8, random_state=0).fit(ROLL)
    W = model.weights_
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-9)
    R = standard_root(W).toarray()
    M = R.T @ R
    np.testing.assert_allclose(M @ np.ones(len(M)), 0.0, atol=1e-9)
    values = np.linalg.eigvalsh(M)
    assert values[0] > -1e-12
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = LocallyLinearEmbedding(n_neighbors=8, random_state=0).fit(100.0 * ROLL @ rotation - 7.0)
    np.testing.assert_allclose(np.abs(turned.embedding_), np.abs(model.embedding_), atol=1e-5)


@pytest.mark.parametrize("setting", [{"n_neighbors": 8}, {"radius": 6.0}], ids=["k", "radius"])
def test_the_cost_of_places_is_the_sum_of_eigenvalues(setting):
    model = LocallyLinearEmbedding(**setting, random_state=0).fit(ROLL)
    R, Y = standard_root(model.weights_).toarray(), model.embedding_
    M = R.T @ R
    values = np.linalg.eigvalsh(M)
    assert np.trace(Y.T @ (M @ Y)) == pytest.approx(values[1:3].sum(), rel=1e-5)
    assert model.reconstruction_error_ == pytest.approx(values[1:3].sum(), rel=1e-5)
    assert model.weight_cost() == pytest.approx(((ROLL - model.weights_ @ ROLL) ** 2).sum())
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-7)


@pytest.mark.parametrize("n", [2600, 5000])
def test_places_from_factors_of_the_weights_are_those_from_factors_of_their_square(n):
    """These weights are sparse enough that I - W is factored; of 5,000 rows its left null vector is far from even."""
    X = make_swiss_roll(n, random_state=0)[0]
    model = LocallyLinearEmbedding(n_neighbors=10, random_state=0, tol=1e-9).fit(X)
    R = standard_root(model.weights_)
    plain = smallest_eigenpairs("", (R.T @ R).tocsc(), np.ones(n), 2, np.random.RandomState(0), 1e-12)
    # the smallest eigenvalue is 1e-10 of the largest, which leaves six digits of double precision
    np.testing.assert_allclose(model.eigenvalues_, plain.values, rtol=1e-4)
    np.testing.assert_allclose(np.abs(model.embedding_.T @ plain.vectors), np.eye(2), atol=1e-4)


def test_two_closed_parts_have_a_second_null_vector():
    """Rows between them belong to both, so that the graph is whole; the smallest eigenvalue is zero all the same."""
    X = make_swiss_roll(1600, random_state=0)[0]
    far = np.vstack([X, [1000.0, 0.0, 0.0] + X * [-1.0, 1.0, 1.0], [[500.0, 10.0, 0.0]]])
    model = LocallyLinearEmbedding(n_neighbors=8, random_state=0).fit(far)
    assert model.eigenvalues_[0] < 1e-9
    first = model.embedding_[:, 0]
    assert first[:1600].std() < 1e-4 * abs(first).max() and first[1600:3200].std() < 1e-4 * abs(first).max()


def test_second_derivatives_by_gram_and_schmidt():
    rows = NearestNeighbors(n_neighbors=8).fit(NORMAL).kneighbors(return_distance=False)
    np.testing.assert_allclose(
        hessian_matrix(NORMAL, rows, 2, 1e-4).toarray(), hessian_cost(NORMAL, rows, 2), atol=1e-9
    )


@pytest.mark.parametrize("method", ["hessian", "modified", "ltsa"])
def test_variants_flatten_the_roll(method):
    X = make_swiss_roll(900, random_state=0)[0]
    Z = LocallyLinearEmbedding(n_neighbors=12, method=method, random_state=0).fit_transform(X)
    fit = np.linalg.lstsq(np.column_stack([np.ones(len(Z)), Z]), X[:, 1], rcond=None)[1]
    assert 1 - fit[0] / ((X[:, 1] - X[:, 1].mean()) ** 2).sum() > 0.9  # the width of the roll is a linear function


def test_lost_and_false_neighbours_count_by_their_ranks():
    X, Y = NORMAL[:20], NORMAL[:20, :1]
    for k in (1, 4):
        assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(false_neighbors(X, Y, k))
        assert continuity(X, Y, n_neighbors=k) == pytest.approx(false_neighbors(Y, X, k))
    assert trustworthiness(X, 3.0 * X) == continuity(X, 3.0 * X) == 1.0
    with pytest.raises(ValueError, match=r"n_neighbors \(10\) should be less than n_samples / 2"):
        trustworthiness(X, Y, n_neighbors=10)
    with pytest.raises(ValueError, match="same rows; they have 19 and 20"):
        continuity(X, Y[1:])


def test_distances_that_are_none_are_refused_with_their_place():
    D = distances(NORMAL)
    D[3, 7] += 1.0
    with pytest.raises(ValueError, match=r"must be symmetric; X\[3, 7\]"):
        ClassicalMDS(metric="precomputed").fit(D)
    with pytest.raises(ValueError, match=r"\(n, n\); X is \(40, 4\)"):
        MDS(metric="precomputed", random_state=0).fit(NORMAL)
