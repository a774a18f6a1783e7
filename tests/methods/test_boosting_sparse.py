"""Boosting of sparse tables: the same trees, and so the same answers, as of the dense ones."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_matrix
from sklearn.neighbors import KNeighborsRegressor

from fivefold.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from fivefold.tree import DecisionTreeClassifier

METHODS = [
    AdaBoostClassifier(n_estimators=8),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=4, random_state=0),
    AdaBoostRegressor(n_estimators=4, random_state=0),
    GradientBoostingClassifier(n_estimators=6, random_state=0),
    GradientBoostingClassifier(n_estimators=6, subsample=0.6, n_iter_no_change=3, random_state=0),
    GradientBoostingRegressor(n_estimators=6, loss="huber", random_state=0),
]


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    X = rng.poisson(0.3, size=(200, 12)) * rng.normal(size=(200, 12))
    return X, np.digitize(X[:, 0] + X[:, 5] * X[:, 7] + 0.3 * rng.normal(size=200), [-0.1, 0.1])


@pytest.mark.parametrize("make", [csr_matrix, csc_array])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_sparse_table_is_learned_as_the_dense_one(table, method, make):
    X, y = table
    dense, sparse = (method.fit(Z, y).predict(Z) for Z in (X, make(X)))
    np.testing.assert_array_equal(sparse, dense)
    np.testing.assert_array_equal(method.predict(X), dense)  # learned from one, asked with the other
    for a, b in zip(method.staged_predict(make(X)), method.staged_predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_learner_that_takes_no_sparse_table_is_not_given_one(table):
    class Dense(KNeighborsRegressor):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = False
            return tags

    X, y = table
    with pytest.raises(TypeError, match="[Ss]parse"):
        AdaBoostRegressor(Dense(), n_estimators=2, random_state=0).fit(csr_matrix(X), y)
