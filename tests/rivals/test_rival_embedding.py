"""Codes of random trees beside scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import ensemble as theirs
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from fivefold.ensemble import RandomTreesEmbedding

X = np.random.RandomState(0).normal(size=(300, 4))


def test_a_row_is_marked_once_a_tree_in_the_leaf_that_apply_says():
    model = RandomTreesEmbedding(20, max_depth=4, random_state=0)
    code = model.fit_transform(X)
    assert sparse.issparse(code) and set(code.data) == {1.0}
    np.testing.assert_array_equal(code.sum(axis=1), np.full((300, 1), 20.0))
    np.testing.assert_array_equal(code.toarray(), model.one_hot_encoder_.transform(model.apply(X)).toarray())
    names = model.get_feature_names_out()
    assert len(names) == code.shape[1]
    for i in (0, 7):
        marked = [f"randomtreesembedding_{t}_{leaf}" for t, leaf in enumerate(model.apply(X)[i])]
        assert list(names[code[[i]].indices]) == marked
    dense = RandomTreesEmbedding(20, max_depth=4, sparse_output=False, random_state=0).fit(X).transform(X)
    np.testing.assert_array_equal(dense, code.toarray())


def test_names_are_made_as_scikit_learns_are():
    a, b = (cls(3, max_depth=1, random_state=0).fit(X) for cls in (RandomTreesEmbedding, theirs.RandomTreesEmbedding))
    np.testing.assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())


@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"min_samples_leaf": 20}], ids=str)
def test_trees_are_as_large_and_rows_as_similar_as_scikit_learns(settings):
    a, b = (cls(400, random_state=0, **settings).fit(X) for cls in (RandomTreesEmbedding, theirs.RandomTreesEmbedding))
    mine, other = ([tree.get_n_leaves() for tree in model.estimators_] for model in (a, b))
    error = np.hypot(np.std(mine), np.std(other)) / np.sqrt(400)
    assert abs(np.mean(mine) - np.mean(other)) <= 3 * error
    near = [(model.transform(X[:40]) @ model.transform(X[:40]).T).toarray() / 400 for model in (a, b)]
    # a share of 400 trees has a standard error of at most 0.025, and there are 780 pairs
    assert np.abs(near[0] - near[1]).max() < 5 * np.hypot(0.025, 0.025)
    assert abs(near[0].mean() - near[1].mean()) < 0.01


def test_a_linear_rule_on_the_code_bends():
    table, y = make_circles(300, factor=0.5, noise=0.1, random_state=0)
    plain, bent = (
        cross_val_score(model, table, y).mean()
        for model in (
            LogisticRegression(),
            make_pipeline(RandomTreesEmbedding(30, max_depth=4, random_state=0), LogisticRegression()),
        )
    )
    assert plain < 0.6 and bent > 0.95


def test_sparse_and_missing_values_are_coded():
    thin = sparse.random(200, 6, 0.3, format="csr", random_state=0)
    model = RandomTreesEmbedding(10, random_state=0)
    a, b = model.fit_transform(thin), RandomTreesEmbedding(10, random_state=0).fit_transform(thin.toarray())
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    holed = np.where(X > 1, np.nan, X)
    assert model.fit_transform(holed).sum() == 10 * 300


def test_more_trees_are_added_by_a_warm_start():
    part = RandomTreesEmbedding(5, warm_start=True, random_state=0).fit(X)
    part.set_params(n_estimators=9).fit(X)
    whole = RandomTreesEmbedding(9, random_state=0).fit(X)
    np.testing.assert_array_equal(part.transform(X).toarray(), whole.transform(X).toarray())


def leaves(cls, **settings):
    return np.mean([tree.get_n_leaves() for tree in cls(50, random_state=0, **settings).fit(X).estimators_])


def test_limits_of_leaves_and_a_price_of_cuts_make_trees_smaller():
    """The target is random: its variance, one twelfth, falls by chance, and less than the price at small nodes."""
    assert leaves(RandomTreesEmbedding, max_leaf_nodes=6) == leaves(theirs.RandomTreesEmbedding, max_leaf_nodes=6) == 6
    mine, other = (
        leaves(cls, min_impurity_decrease=5e-4) for cls in (RandomTreesEmbedding, theirs.RandomTreesEmbedding)
    )
    assert 1 < mine < 0.8 * leaves(RandomTreesEmbedding)
    assert abs(mine - other) < 0.25 * other  # one random target each: that spread is of this order
