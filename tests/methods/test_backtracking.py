"""Growth that tries several questions and takes back those that err on rows held out."""

import numpy as np
import pytest

from fivefold.partition.content_folds import content_folds
from fivefold.partition.criteria.classification_criteria import Entropy
from fivefold.partition.growers.multiway_grower import MultiwaySettings, grow_multiway
from fivefold.partition.tree_arrays.multiway_tree import value_codes
from fivefold.tree import CARTClassifier, ID3Classifier


def product(n, seed):
    """The sign of a product: no cut of one column gains much, two together tell all."""
    X = np.random.RandomState(seed).normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def mistakes(tree, X, y, rows):
    ends = tree.paths(tree.encode(X[rows]), "majority")[1]
    return int((tree.sums[ends].argmax(axis=1) != y[rows]).sum())


@pytest.mark.parametrize("seed", range(5))
def test_more_alternatives_never_err_more_on_the_rows_that_judge_them(seed):
    """E-75: greedy growth is the first of the alternatives, and fewer are among more."""
    rng = np.random.RandomState(seed)
    X, y = rng.normal(size=(150, 5)), rng.randint(2, size=150).astype(np.int32)
    held = rng.rand(150) < 0.3
    columns, criterion = value_codes(X, [False] * 5), Entropy(y, np.ones(150), 2)
    made = [
        mistakes(
            grow_multiway(columns, criterion, MultiwaySettings(max_depth=3, alternatives=t), held),
            X,
            y,
            np.flatnonzero(held),
        )
        for t in (1, 2, 3, 5)
    ]
    assert made == sorted(made, reverse=True) and made[-1] < made[0]


def test_a_poor_first_question_is_taken_back():
    """E-75: the third column says a little at once, the first two say all, but only together."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randint(2, size=(600, 2)), np.zeros(600), rng.normal(size=600)])
    y = (X[:, 0] != X[:, 1]).astype(int)
    X[:, 2] = np.where(rng.rand(600) < 0.7, y, 1 - y)
    greedy = CARTClassifier(max_depth=2, min_gain=None).fit(X, y)
    back = CARTClassifier(max_depth=2, min_gain=None, alternatives=4).fit(X, y)
    assert greedy.tree_.feature[0] == 2 and back.tree_.feature[0] in (0, 1)
    assert back.score(X, y) == 1.0 > greedy.score(X, y)


def test_held_rows_do_not_count_in_the_nodes():
    X, y = product(200, 0)
    model = ID3Classifier(max_depth=2, alternatives=2).fit(X, y)
    kept = content_folds(X, y, 4) != 0
    np.testing.assert_array_equal(model.tree_.sums[0], np.bincount(y[kept]))


def test_a_node_stays_a_leaf_where_every_question_errs_more():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(400, 5)), (rng.rand(400) < 0.15).astype(int)
    back, greedy = (CARTClassifier(max_depth=3, alternatives=k).fit(X, y).get_n_leaves() for k in (3, 1))
    assert back < greedy


@pytest.mark.parametrize("depth", [None, 12])
def test_too_many_ways_are_refused_with_their_number(depth):
    with pytest.raises(ValueError, match=r"alternatives \*\* max_depth trees are tried, at most 10,000; got max"):
        CARTClassifier(max_depth=depth, alternatives=3).fit(*product(50, 0))


def test_equal_rows_are_in_one_part_in_any_order():
    rng = np.random.RandomState(0)
    X, y = rng.randint(3, size=(100, 2)).astype(float), rng.randint(2, size=100)
    X[rng.rand(100, 2) < 0.1] = np.nan
    fold, order = content_folds(X, y, 4), rng.permutation(100)
    np.testing.assert_array_equal(content_folds(X[order], y[order], 4), fold[order])
    rows = np.nan_to_num(np.column_stack([X, y]), nan=-1)
    for row in np.unique(rows, axis=0):
        assert len(set(fold[(rows == row).all(axis=1)])) == 1
    assert set(fold) == {0, 1, 2, 3} and set(content_folds(np.ones((3, 1)), np.zeros(3), 4)) == {0}
