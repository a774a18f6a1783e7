"""Divisive clustering failed, with a message about empty arrays, where squares of the differences of rows were zero."""

import numpy as np

from fivefold.cluster import DivisiveClustering


def test_rows_are_split_at_any_scale():
    X = np.array([[0.0], [1.0], [9.0], [12.0], [30.0], [31.0]])
    labels = DivisiveClustering(4, random_state=0).fit(X).labels_
    np.testing.assert_array_equal(DivisiveClustering(4, random_state=0).fit(X * 2.0**-600).labels_, labels)
    mixed = np.vstack([X, X * 2.0**-600 - 100.0, -200.0 + np.zeros((1, 1))])
    assert len(np.unique(DivisiveClustering(len(mixed) - 5, random_state=0).fit(mixed).labels_)) == len(mixed) - 5
