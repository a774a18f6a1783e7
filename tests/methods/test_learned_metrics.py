"""Metrics learned from labels: objectives beside slow sums, convexity, and what they do for nearest neighbours."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neighbors import NeighborhoodComponentsAnalysis as Rival

from fivefold.neighbors import LMCA, LMNN, NeighborhoodComponentsAnalysis
from fivefold.neighbors.learned_metrics.large_margin import LargeMargin, target_neighbors
from fivefold.neighbors.nca import SoftNeighbors
from fivefold.spatial.labelled_rows import LabelledRows


def rows(n=40, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.sort(rng.integers(0, 3, n)), rng.integers(1, 4, n).astype(float)


def large_margin(X, y, w, k=3, push=0.4):
    return LargeMargin(X, y, w, *target_neighbors(X, y, w, k), push)


def slow_large_margin(L, X, y, k, push):
    """The objective of one row, target and impostor at a time."""
    D = np.square((X @ L.T)[:, None] - (X @ L.T)[None]).sum(axis=2)
    E = np.square(X[:, None] - X[None]).sum(axis=2)
    pull = hinge = 0.0
    for i in range(len(y)):
        mates = [j for j in np.argsort(E[i], kind="stable") if j != i and y[j] == y[i]][:k]
        for j in mates:
            pull += D[i, j]
            hinge += sum(max(0.0, 1 + D[i, j] - D[i, other]) for other in range(len(y)) if y[other] != y[i])
    return (1 - push) * pull + push * hinge


def test_the_objective_of_large_margins_is_that_of_single_triples():
    X, y, _ = rows()
    L = np.random.default_rng(1).normal(size=(2, 5))
    found = large_margin(X, y, np.ones(len(y))).value(L.ravel())
    assert found == pytest.approx(slow_large_margin(L, X, y, 3, 0.4), rel=1e-12)


def test_the_objective_of_neighbourhood_components_is_the_soft_leave_one_out_score():
    X, y, _ = rows()
    L = np.random.default_rng(1).normal(size=(2, 5))
    D = np.square((X @ L.T)[:, None] - (X @ L.T)[None]).sum(axis=2)
    P = np.exp(-D) * (1 - np.eye(len(y)))
    P /= P.sum(axis=1, keepdims=True)
    expected = (P * (y[:, None] == y)).sum()
    assert -SoftNeighbors(X, y, np.ones(len(y))).value(L.ravel()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make", [SoftNeighbors, large_margin])
def test_gradients_equal_differences(make):
    X, y, w = rows()
    objective, x = make(X, y, w), np.random.default_rng(2).normal(size=10)
    objective.curve = 0.1
    g = objective.gradient(x)
    assert np.abs(approx_fprime(x, objective.value) - g).max() < 1e-5 * np.abs(g).max()


@pytest.mark.parametrize("make", [SoftNeighbors, large_margin])
def test_a_weight_of_two_is_a_second_copy(make):
    X, y, w = rows()
    again = np.repeat(np.arange(len(y)), w.astype(int))
    x = np.random.default_rng(2).normal(size=10)
    one, other = make(X, y, w), make(X[again], y[again], np.ones(len(again)))
    assert one.value(x) == pytest.approx(other.value(x), rel=1e-12)
    np.testing.assert_allclose(one.gradient(x), other.gradient(x), rtol=1e-9, atol=1e-9)


def test_large_margins_are_convex_in_the_matrix_and_the_end_is_a_minimum():
    X, y = load_iris(return_X_y=True)
    model = LMNN(n_neighbors=3).fit(X, y)
    objective, axes, scales = model._problem(LabelledRows.of(X, y, np.ones(len(y))).by_label())
    M = model.get_mahalanobis_matrix()
    assert np.linalg.eigvalsh(M).min() >= -1e-12
    rng = np.random.default_rng(0)
    for _ in range(20):  # no other matrix is better, along no line towards one
        A = rng.normal(size=(4, 4))
        other = (A @ A.T) * np.trace(M) / np.trace(A @ A.T)
        for t in (1e-3, 1e-2, 0.1):
            root = np.linalg.cholesky((1 - t) * M + t * other + 1e-12 * np.eye(4)).T
            assert objective.value(((root @ axes) * scales).ravel()) >= model.objective_ * (1 - 1e-4)


def test_all_components_reach_the_cost_of_the_convex_problem():
    X, y = load_iris(return_X_y=True)
    whole = LMNN(n_neighbors=3).fit(X, y).objective_
    assert LMCA(4, n_neighbors=3, init="identity", n_init=1, random_state=0).fit(X, y).objective_ == pytest.approx(
        whole, rel=1e-3
    )
    assert LMCA(1, n_neighbors=3, random_state=0).fit(X, y).objective_ > whole


def test_correlated_columns_mislead_the_euclidean_distance_and_not_the_learned_one():
    rng = np.random.default_rng(0)
    along = rng.normal(0, 5, 300)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([along, along + np.where(y == 1, 0.6, -0.6) + rng.normal(0, 0.15, 300)])
    plain = KNeighborsClassifier(3).fit(X[:150], y[:150]).score(X[150:], y[150:])
    for learner in (LMNN(), LMCA(1, random_state=0), NeighborhoodComponentsAnalysis(random_state=0)):
        model = learner.fit(X[:150], y[:150])
        near = KNeighborsClassifier(3).fit(model.transform(X[:150]), y[:150])
        assert near.score(model.transform(X[150:]), y[150:]) > max(0.97, plain)


def test_the_metric_as_function_and_matrix_agree_with_the_map():
    X, y = load_wine(return_X_y=True)
    model = LMNN(n_components=3).fit(X, y)
    Z, M = model.transform(X[:5]), model.get_mahalanobis_matrix()
    distance, gap = model.get_metric(), X[0] - X[1]
    assert distance(X[0], X[1]) == pytest.approx(np.linalg.norm(Z[0] - Z[1]), rel=1e-9)
    assert gap @ M @ gap == pytest.approx(distance(X[0], X[1]) ** 2, rel=1e-9)


@pytest.mark.parametrize("components", [None, 2])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_neighbourhood_components_are_no_worse_than_scikit_learns(load, components):
    X, y = load(return_X_y=True)
    ours = NeighborhoodComponentsAnalysis(components, random_state=0).fit(X, y)
    rival = Rival(components, random_state=0).fit(X, y).components_
    value = -SoftNeighbors(X, y, np.ones(len(y))).value(rival.ravel())
    assert ours.objective_ >= value * (1 - 1e-3)


def test_a_second_fit_may_start_where_the_first_ended():
    X, y = load_iris(return_X_y=True)
    model = NeighborhoodComponentsAnalysis(warm_start=True, max_iter=3, random_state=0).fit(X, y)
    first = model.objective_
    assert model.fit(X, y).objective_ > first
    with pytest.raises(ValueError, match=r"new inputs dimensionality \(3\)"):
        model.fit(X[:, :3], y)


def test_a_callback_is_told_every_step():
    X, y = load_iris(return_X_y=True)
    told = []
    NeighborhoodComponentsAnalysis(max_iter=4, callback=lambda x, i: told.append((x.shape, i))).fit(X, y)
    assert told == [((16,), i) for i in (1, 2, 3, 4)]


def test_columns_at_a_hundred_million_and_constant_ones_do_no_harm():
    X, y = load_iris(return_X_y=True)
    far = np.column_stack([X + 1e8, np.full(len(y), 7.0)])
    model, plain = LMNN().fit(far, y), LMNN().fit(X, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert np.isfinite(model.components_).all()


def test_a_class_of_one_row_has_no_targets_and_all_rows_equal_no_metric():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[0] = 7
    assert np.isfinite(LMNN().fit(X, y).components_).all()
    assert np.isfinite(LMNN().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]).components_).all()
    assert np.isfinite(NeighborhoodComponentsAnalysis().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]).components_).all()
