"""The compiled search of a node agrees with the same impurity scored from tables.

An impurity that is a Python function is scored by the code of `partition.table_questions`; "gini" and "entropy" by
compiled loops. The trees must be the same.
"""

import numpy as np
import pytest

from fivefold.partition.criteria.classification_criteria import Entropy, Gini
from fivefold.partition.criteria.gain_ratio import weighted_impurity
from fivefold.partition.criteria.tabulated_entropy import TabulatedEntropy, tabulate_entropy
from fivefold.partition.splitters.multiway_loops import SplitBuffers, SplitLimits, search_thresholds
from fivefold.partition.tree_arrays.multiway_tree import value_codes
from fivefold.tree import C45Classifier, CARTClassifier, ID3Classifier


def gini(shares):
    return 1 - (shares**2).sum(axis=1)


def entropy(shares):
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1)


def table(K, gaps, seed):
    """Three columns of categories, one of them of many, and three of numbers, one of them with ties."""
    rng = np.random.RandomState(seed)
    levels = np.column_stack([rng.randint(m, size=300) for m in (3, 7, 15)])
    X = np.column_stack([levels, rng.normal(size=(300, 2)), rng.normal(size=300).round(1)])
    score = (X[:, 0] > 1) + (X[:, 3] > 0) + (X[:, 2] % 4 == 1) + X[:, 5] / 2 + rng.normal(size=300) / 2
    X[rng.rand(*X.shape) < gaps] = np.nan
    return X, np.digitize(score, np.quantile(score, np.arange(1, K) / K))


def same(a, b, X):
    np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
    np.testing.assert_array_equal(a.tree_.key, b.tree_.key)
    np.testing.assert_allclose(a.tree_.sums, b.tree_.sums, rtol=1e-12)  # sums of at most 300 weights
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize("method", [ID3Classifier, C45Classifier, CARTClassifier])
@pytest.mark.parametrize("nominal", ["values", "groups", "dummies"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("K", [2, 3])
def test_compiled_loops_and_tables_find_the_same_tree(method, nominal, gaps, K):
    X, y = table(K, gaps, seed=K)
    w = np.random.RandomState(1).uniform(0.5, 2, size=300)
    for name, function in (("gini", gini), ("entropy", entropy)):
        for weight in (None, w):
            a, b = (
                method(criterion=c, nominal=nominal, categorical_features=[0, 1, 2]).fit(X, y, sample_weight=weight)
                for c in (name, function)
            )
            same(a, b, X)


@pytest.mark.parametrize("K", [2, 5])
def test_entropy_looked_up_is_entropy(K):
    """Rounding only: of sums of x log2 x below 2,000."""
    rng = np.random.RandomState(K)
    y, w = rng.randint(K, size=200).astype(np.int32), rng.randint(1, 4, size=200).astype(float)
    plain = Entropy(y, w, K)
    fast = tabulate_entropy(plain)
    assert isinstance(fast, TabulatedEntropy)
    sums = np.array([np.bincount(y[:m], w[:m], K) for m in (1, 3, 50, 200)])
    for a, b in zip(weighted_impurity(plain, sums), weighted_impurity(fast, sums), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    columns, out = value_codes(rng.normal(size=(200, 3)).round(1), [False] * 3), []
    for criterion in (plain, fast):
        found, room = np.zeros((3, 4)), SplitBuffers(*np.zeros((3, K)), *np.zeros((2, 200)))
        terms = SplitLimits(2.0, 0.0, 25.0, False, -np.inf)
        here = columns.codes, np.arange(3), columns.order, 0, columns.known, w.sum(), terms
        search_thresholds(criterion, *here, room, found)
        out.append(found)
    np.testing.assert_allclose(*out, rtol=1e-10, atol=1e-12)


def test_only_an_entropy_of_whole_weights_is_looked_up():
    y = np.zeros(3, dtype=np.int32)
    for criterion in (Entropy(y, np.array([1, 2, 0.5]), 2), Gini(y, np.ones(3), 2), Entropy(y, np.full(3, 1e6), 2)):
        assert tabulate_entropy(criterion) is criterion


@pytest.mark.parametrize("method", [ID3Classifier, C45Classifier, CARTClassifier])
def test_the_order_of_rows_does_not_matter(method):
    X, y = table(3, 0.1, seed=5)
    some = np.random.RandomState(0).permutation(300)
    a, b = method(categorical_features=[0, 1, 2]), method(categorical_features=[0, 1, 2])
    same(a.fit(X, y), b.fit(X[some], y[some]), X)


@pytest.mark.parametrize("missing", ["fractions", "majority", "surrogates"])
@pytest.mark.parametrize("nominal", ["values", "groups"])
def test_answers_are_those_of_the_nodes_that_rows_reach(nominal, missing):
    X, y = table(3, 0.1, seed=7)
    model = ID3Classifier(missing=missing, nominal=nominal, categorical_features=[0, 1, 2]).fit(X[:150], y[:150])
    tree, value = model.tree_, model.model_.value
    rows, nodes, part = tree.paths(tree.encode(X), missing)
    expected = np.stack([np.bincount(rows, part * value[nodes, k], 300) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)  # sums of products of shares


@pytest.mark.parametrize("missing", ["fractions", "majority", "class", "surrogates"])
@pytest.mark.parametrize("method", [ID3Classifier, C45Classifier, CARTClassifier])
def test_columns_without_a_value_change_nothing(method, missing):
    """Neither a numeric one nor a discrete one."""
    X, y = table(3, 0.1, seed=3)
    hollow = np.column_stack([X, np.full((300, 2), np.nan)])
    a = method(missing=missing, categorical_features=[0, 1, 2]).fit(X, y)
    b = method(missing=missing, categorical_features=[0, 1, 2, 7]).fit(hollow, y)
    np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(hollow))
