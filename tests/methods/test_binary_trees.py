"""KDTree and BallTree: scikit-learn's methods, and what its tests do not ask."""

import pickle

import numpy as np
import pytest
from sklearn.neighbors import BallTree as SklearnBallTree
from sklearn.neighbors import KDTree as SklearnKDTree

from fivefold.neighbors import BallTree, KDTree

PAIRS = ((KDTree, SklearnKDTree), (BallTree, SklearnBallTree))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_answers_have_the_shapes_and_values_of_scikit_learn(ours, theirs):
    rng = np.random.RandomState(0)
    X, Q = rng.normal(size=(300, 3)), rng.normal(size=(2, 5, 3))
    one, two = ours(X, leaf_size=7), theirs(X, leaf_size=7)
    assert one.query(Q, 4)[0].shape == (2, 5, 4)
    Q = Q.reshape(10, 3)
    for found, wanted in zip(one.query(Q, 4), two.query(Q, 4), strict=True):
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted)
    radii = rng.uniform(0.2, 1.5, size=10)
    assert (one.query_radius(Q, radii, count_only=True) == two.query_radius(Q, radii, count_only=True)).all()
    rows, distances = one.query_radius(Q, radii, return_distance=True, sort_results=True)
    wanted_rows, wanted = two.query_radius(Q, radii, return_distance=True, sort_results=True)
    assert rows.shape == wanted_rows.shape
    for place in np.ndindex(rows.shape):
        assert np.allclose(distances[place], wanted[place])
        assert sorted(rows[place]) == sorted(wanted_rows[place])
    assert (one.two_point_correlation(Q, [0.5, 1.0]) == two.two_point_correlation(Q, [0.5, 1.0])).all()


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_nodes_are_cut_where_scikit_learn_cuts_them(ours, theirs):
    X = np.random.RandomState(1).normal(size=(500, 2))
    one, two = ours(X, leaf_size=20), theirs(X, leaf_size=20)
    found, wanted = one.node_data, np.asarray(two.node_data)
    for field in ("idx_start", "idx_end", "is_leaf"):
        assert (found[field] == wanted[field]).all()
    assert one.node_bounds.shape == np.asarray(two.node_bounds).shape
    assert sorted(one.idx_array) == list(range(500))
    if ours is BallTree:
        first = one.idx_array[: found["idx_end"][1]]
        gaps = np.linalg.norm(X[first] - X[first].mean(axis=0), axis=1)
        assert np.isclose(found["radius"][1], gaps.max())


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "linear"])
def test_kernel_sums_are_those_of_scikit_learn(ours, theirs, kernel):
    rng = np.random.RandomState(2)
    X, Q, w = rng.normal(size=(200, 2)), rng.normal(size=(20, 2)), rng.uniform(1, 2, size=200)
    one = ours(X, sample_weight=w).kernel_density(Q, 0.4, kernel=kernel, return_log=True)
    two = theirs(X, sample_weight=w).kernel_density(Q, 0.4, kernel=kernel, return_log=True)
    seen = two > -10  # where no row is near, scikit-learn leaves rounding
    assert np.allclose(one[seen], two[seen], rtol=1e-6)


def test_a_function_of_two_rows_is_a_metric_of_a_ball_tree():
    X = np.random.RandomState(3).normal(size=(50, 2))
    tree = pickle.loads(pickle.dumps(BallTree(X, metric=_largest_gap, p=1)))
    expected = KDTree(X, metric="chebyshev").query(X[:5], 3)
    for found, wanted in zip(tree.query(X[:5], 3), expected, strict=True):
        assert (found == wanted).all()
    assert (tree.query_radius(X[:5], [0.3, 0.4, 0.5, 0.6, 0.7], count_only=True) > 0).all()
    with pytest.raises(ValueError, match="is not valid for KDTree"):
        KDTree(X, metric=_largest_gap)


def _largest_gap(a, b, p):
    return float(np.abs(a - b).max()) * p


def test_neighbourhoods_of_equal_size_are_an_array_of_arrays():
    found = KDTree([[0.0], [1.0], [5.0], [6.0]]).query_radius([[0.0], [5.0]], 2.0)
    assert found.shape == (2,)
    assert [rows.tolist() for rows in found] == [[0, 1], [2, 3]]


def test_wrong_calls_are_refused_in_words():
    tree = KDTree(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="k must be less than or equal to the number of training points"):
        tree.query([[0.0, 0.0]], 5)
    with pytest.raises(ValueError, match="dimension must match"):
        tree.query([[0.0]])
    with pytest.raises(ValueError, match="NaN or infinity"):
        tree.query([[0.0, np.nan]])
    with pytest.raises(ValueError, match="metric hamming is not valid for KDTree"):
        KDTree(np.zeros((4, 2)), metric="hamming")


def test_visits_are_counted():
    X = np.random.RandomState(4).normal(size=(2000, 2))
    tree = KDTree(X)
    tree.query(X[:50], 1)
    passed, leaves, inner = tree.get_tree_stats()
    assert passed > 0 and 50 <= leaves < 50 * 40 and inner > 0
    assert tree.get_n_calls() >= leaves
    tree.reset_n_calls()
    assert tree.get_tree_stats() == (0, 0, 0)
