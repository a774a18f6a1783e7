"""CARTRegressor: what the laws cannot say about the choice of the price of a leaf."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from fivefold.tree import CARTRegressor, DecisionTreeRegressor


@pytest.fixture(scope="module")
def steps():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(300, 4))
    return X, np.where(X[:, 0] > 0.5, 1 + (X[:, 1] > 0.3), 0) + 0.4 * rng.normal(size=300)


def test_the_tree_is_that_of_the_price_that_was_chosen(steps):
    X, y = steps
    model = CARTRegressor(random_state=0).fit(X, y)
    same = DecisionTreeRegressor(ccp_alpha=model.ccp_alpha_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.alphas_[model.alpha_errors_.argmin()] == model.ccp_alpha_
    assert 3 <= model.get_n_leaves() <= 10  # three steps; the whole tree has a leaf a row


def test_it_predicts_better_than_the_whole_tree(steps):
    X, y = steps
    cut, whole = (
        cross_val_score(tree, X, y, cv=5).mean()
        for tree in (CARTRegressor(random_state=0), DecisionTreeRegressor(random_state=0))
    )
    assert cut > whole + 0.05


def test_standard_errors_make_the_tree_smaller_never_larger(steps):
    X, y = steps
    leaves = [CARTRegressor(standard_errors=s, random_state=0).fit(X, y).get_n_leaves() for s in (0.0, 1.0, 5.0)]
    assert leaves[0] >= leaves[1] >= leaves[2] and leaves[1] >= 3


def test_the_order_of_the_rows_does_not_matter_and_a_weight_of_two_is_a_row_twice(steps):
    X, y = steps
    other = np.random.RandomState(1).permutation(300)
    w = np.random.RandomState(2).randint(1, 4, size=300)
    for a, b in (
        (CARTRegressor(random_state=0).fit(X, y), CARTRegressor(random_state=0).fit(X[other], y[other])),
        (
            CARTRegressor(random_state=0).fit(X, y, sample_weight=w),
            CARTRegressor(random_state=0).fit(X.repeat(w, 0), y.repeat(w)),
        ),
    ):
        assert a.get_n_leaves() == b.get_n_leaves() and a.ccp_alpha_ == pytest.approx(b.ccp_alpha_, rel=1e-9)
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-9)


def test_categories_missing_values_and_several_outputs_are_taken(steps):
    X, y = steps
    frame = pd.DataFrame({"x": np.where(X[:, 1] > 0.9, np.nan, X[:, 1]), "side": np.where(X[:, 0] > 0.5, "r", "l")})
    assert CARTRegressor(random_state=0).fit(frame, y).score(frame, y) > 0.6
    assert CARTRegressor(random_state=0).fit(X, np.stack([y, -y], axis=1)).predict(X).shape == (300, 2)


def test_equal_rows_leave_nothing_to_judge_by():
    model = CARTRegressor(random_state=0).fit(np.ones((4, 1)), np.ones(4))
    assert model.get_n_leaves() == 1 and model.ccp_alpha_ == 0.0
