"""Rows within a radius: lists in any order, sorted lists, and votes that the search sums, beside all distances."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fivefold.neighbors import NearestNeighbors, RadiusNeighborsClassifier, RadiusNeighborsRegressor

RADIUS_TABLES = (  # rows, columns, radius: all rows compared, a tree with few and many neighbours, the filter
    (150, 4, 1.0),
    (1500, 3, 0.25),
    (1500, 3, 1.5),
    (1500, 8, 2.0),
)


def _grid_rows(n, d, offset, seed=0):
    """Rows on a grid of eighths, so that distances are tied, some at the radius, with copies; and queries near them."""
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.normal(size=(n, d))) / 8 + offset
    X[:5] = X[5:10]
    Q = np.concatenate([X[:40], X[:40] + rng.integers(-2, 3, size=(40, d)) / 8, np.full((1, d), offset + 99.0)])
    return X, Q, rng


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize(("n", "d", "radius"), RADIUS_TABLES)
def test_rows_within_a_radius_are_the_same_in_any_order(n, d, radius, offset):
    X, Q, _ = _grid_rows(n, d, offset)
    D = np.sqrt(np.square(Q[:, None] - X).sum(axis=2))
    model = NearestNeighbors(radius=radius).fit(X)
    distances, rows = model.radius_neighbors(Q, sort_results=True)
    loose = model.radius_neighbors(Q, return_distance=False)
    for own, found, any_order, far in zip(D, rows, loose, distances, strict=True):
        expected = np.flatnonzero(own <= radius)
        assert_array_equal(found, expected[np.lexsort((expected, own[expected]))])
        assert_array_equal(np.sort(any_order), expected)
        assert_array_equal(far, own[found])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize(("n", "d", "radius"), RADIUS_TABLES)
def test_votes_summed_in_the_search_are_those_of_all_distances(n, d, radius, offset, weights):
    X, Q, rng = _grid_rows(n, d, offset)
    y, codes, w = rng.normal(size=(n, 2)), rng.integers(3, size=n), rng.integers(1, 4, size=n)
    regressor = RadiusNeighborsRegressor(radius, weights=weights).fit(X, y, sample_weight=w)
    classifier = RadiusNeighborsClassifier(radius, weights=weights, outlier_label=9).fit(X, codes, sample_weight=w)
    for given, queries in ((Q, Q), (None, X)):  # None: each row by the others
        D = np.sqrt(np.square(queries[:, None] - X).sum(axis=2))
        if given is None:
            np.fill_diagonal(D, np.inf)
        with np.errstate(divide="ignore"):
            votes = (D <= radius) * (1.0 if weights == "uniform" else np.nan_to_num(1 / D, posinf=0.0))
        if weights == "distance":
            certain = (D == 0).any(axis=1)
            votes[certain] = D[certain] == 0
        votes = votes * w
        total = votes.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_allclose(regressor.predict(given), votes @ y / total, rtol=1e-9, atol=1e-12)
            shares = votes @ np.eye(3)[codes] / np.where(total > 0, total, 1)
            assert_allclose(classifier.predict_proba(given), shares, rtol=1e-9, atol=1e-12)


def test_sorted_lists_of_every_length():
    """Runs shorter and longer than those sorted by insertion, in falling order, and with many ties."""
    for n in (1, 2, 15, 16, 17, 40, 700):
        for x in (np.arange(n)[::-1] / n, np.zeros(n), np.arange(n) % 7 / 7):
            distances, rows = NearestNeighbors(radius=1.0).fit(x[:, None]).radius_neighbors([[0.0]], sort_results=True)
            expected = np.lexsort((np.arange(n), x))
            assert_array_equal(rows[0], expected)
            assert_array_equal(distances[0], x[expected])


ORDER_TABLES = (  # rows, columns, radius: above 512 rows, by a tree and by the filter, and rows that all are compared
    (300, 3, 1.0),
    (1500, 2, 0.5),
    (1500, 9, 2.5),
)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize(("n", "d", "radius"), ORDER_TABLES)
def test_an_answer_does_not_depend_on_what_was_asked_before_or_beside(n, d, radius, algorithm):
    """Bytes of 1, 20, 1 and all rows, by models that were asked nothing before, and by one that was."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    Q = np.concatenate([X[:60] + 0.01 * rng.normal(size=(60, d)), X[:5]])
    parts = [slice(0, 1), slice(3, 23), slice(0, 1), slice(None), slice(64, 65), slice(0, 1)]

    def regressor(weights):
        return RadiusNeighborsRegressor(radius, weights=weights, algorithm=algorithm).fit(X, y)

    def classifier():
        model = RadiusNeighborsClassifier(radius, weights="distance", algorithm=algorithm, outlier_label=0)
        return model.fit(X, (y > 0).astype(int))

    asked = (
        (lambda: regressor("uniform"), lambda model, Z: list(model.predict(Z))),
        (lambda: regressor("distance"), lambda model, Z: list(model.predict(Z))),
        (classifier, lambda model, Z: list(model.predict_proba(Z))),
        (lambda: NearestNeighbors(radius=radius, algorithm=algorithm).fit(X), _lists),
    )
    for make, ask in asked:
        held, whole = make(), ask(make(), Q)
        for part in parts:
            for model in (held, make()):
                for found, expected in zip(ask(model, Q[part]), whole[part], strict=True):
                    assert_array_equal(found, expected)


def _lists(model, Z):
    """Distances and rows of each query, in the order in which they come."""
    return [np.column_stack(pair) for pair in zip(*model.radius_neighbors(Z), strict=True)]


def test_queries_too_far_for_single_precision_change_nothing_beside_them():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(1500, 9)), rng.normal(size=1500)
    far = np.stack([np.full(9, 1e8), np.full(9, -1e90), X[0] + 1e7 * np.eye(9)[0]])
    Q = np.concatenate([X[:30] + 0.01, far, X[30:60] + 0.01])
    radius = 1e7 + 0.5  # about a third of the rows of the last far query, and all rows of the near ones
    model = NearestNeighbors(n_neighbors=7, radius=radius).fit(X)
    rows = model.radius_neighbors(Q, sort_results=True)[1]
    D = np.sqrt(np.square(Q[32] - X).sum(axis=1))
    expected = np.flatnonzero(radius >= D)
    assert 0 < len(expected) < 1500
    assert_array_equal(rows[32], expected[np.lexsort((expected, D[expected]))])
    assert [len(found) for found in rows[30:32]] == [0, 0]
    assert all(len(found) == 1500 for found in (*rows[:30], *rows[33:]))
    assert_array_equal(model.kneighbors(Q[32:33])[1][0], np.lexsort((np.arange(1500), D))[:7])
    assert_array_equal(model.kneighbors(Q)[1][[0, 32]], model.kneighbors(Q[[0, 32]])[1])
    regressor = RadiusNeighborsRegressor(2.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_array_equal(regressor.predict(Q)[:30], regressor.predict(Q[:30]))
