"""Scratch memory was part of a fitted Birch and held whatever was there before: its bytes differed by process."""

import numpy as np

from fivefold.cluster.hierarchy import feature_tree


def test_the_tree_holds_no_number_that_nobody_wrote(monkeypatch):
    monkeypatch.setattr(feature_tree.np, "empty", lambda shape, dtype=float: np.full(shape, -77, dtype))
    tree = feature_tree.empty_tree(2, 3)
    tree = feature_tree.inserted(tree, np.random.default_rng(0).normal(size=(500, 2)), 0.1)
    assert not any((part == -77).any() for part in (tree.path, tree.child, tree.following))
