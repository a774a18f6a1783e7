"""Rows that are unlikely to be support vectors are left out before the fit."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from fivefold.svm import SVC, likely_support_vectors


def overlapping(n=1000, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 3 * y[:, None], y


def test_kept_rows_are_those_with_another_class_among_their_neighbours():
    X, y = overlapping(200)
    near = NearestNeighbors(n_neighbors=12).fit(X).kneighbors(X)[1][:, 1:]
    np.testing.assert_array_equal(likely_support_vectors(X, y), (y[near] != y[:, None]).any(axis=1))


def test_the_machine_is_nearly_the_same_on_far_fewer_rows():
    X, y = overlapping()
    kept = likely_support_vectors(X, y)
    assert kept.mean() < 0.25
    whole, part = SVC(kernel="linear").fit(X, y), SVC(kernel="linear").fit(X[kept], y[kept])
    Z, _ = overlapping(2000, seed=1)
    assert np.mean(whole.predict(Z) == part.predict(Z)) > 0.99


def test_classes_that_do_not_touch_and_short_tables_are_kept_whole():
    X, y = overlapping(100)
    assert likely_support_vectors(X + 100 * y[:, None], y).all()
    assert likely_support_vectors(X[:8], y[:8]).all()
    with pytest.raises(ValueError, match="n_neighbors=0"):
        likely_support_vectors(X, y, n_neighbors=0)
