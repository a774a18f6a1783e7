"""Isolation forests: what laws over all methods cannot say."""

import numpy as np
import pytest
from oracles.forest import isolation_score, usual_length
from scipy.sparse import csc_matrix, csr_matrix
from sklearn import ensemble as theirs

from fivefold.ensemble import IsolationForest
from fivefold.ensemble.isolation_forest import mean_path_length


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    return np.vstack([rng.normal(size=(300, 3)), rng.uniform(4, 7, size=(10, 3))])


def test_scores_are_those_of_rows_walked_down_one_by_one(table):
    for options in ({}, {"max_samples": 40}, {"max_features": 2}, {"bootstrap": True}):
        forest = IsolationForest(n_estimators=10, random_state=0, **options).fit(table)
        expected = [isolation_score(forest, x) for x in table[:60]]
        np.testing.assert_allclose(forest.score_samples(table[:60]), expected, rtol=1e-12)


def test_scores_have_the_distribution_of_scikit_learns(table):
    """Over 12 seeds, the mean score of each row within 4.5 standard errors: 310 rows are compared at once."""

    def said(kind):
        return np.array([kind(n_estimators=40, random_state=s).fit(table).score_samples(table) for s in range(12)])

    one, other = said(IsolationForest), said(theirs.IsolationForest)
    error = np.sqrt((one.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / 12)
    gap = np.abs(one.mean(axis=0) - other.mean(axis=0))
    assert (gap < 4.5 * error).mean() > 0.99
    # and of all rows together: their errors are not independent, so the mean error is an upper limit
    assert abs(one.mean() - other.mean()) < error.mean()


def test_rows_that_stand_apart_are_found(table):
    forest = IsolationForest(random_state=0, contamination=10 / 310).fit(table)
    assert set(np.flatnonzero(forest.predict(table) == -1)) == set(range(300, 310))
    np.testing.assert_allclose(forest.offset_, np.percentile(forest.score_samples(table), 100 * 10 / 310), rtol=1e-12)
    assert IsolationForest(random_state=0).fit(table).offset_ == -0.5


def test_the_mean_length_of_ways_is_that_of_the_text():
    """And near the exact mean of a random search tree, with the harmonic number for log + gamma."""
    m = np.array([1.0, 2.0, 3.0, 10.0, 256.0])
    np.testing.assert_allclose(mean_path_length(m), [usual_length(k) for k in m], rtol=1e-14)
    harmonic = sum(1 / k for k in range(1, 256))
    assert mean_path_length(np.array([256.0]))[0] == pytest.approx(2 * harmonic - 2 * 255 / 256, rel=1e-3)


def test_no_way_is_longer_than_that_of_a_balanced_tree(table):
    forest = IsolationForest(n_estimators=5, max_samples=64, random_state=0).fit(table)
    assert max(member.get_depth() for member in forest.estimators_) == 6
    assert [len(rows) for rows in forest.estimators_samples_] == [64] * 5


def test_more_rows_asked_for_than_there_are_is_said(table):
    with pytest.warns(UserWarning, match=r"max_samples \(999\) is greater than the total number of samples \(310\)"):
        assert IsolationForest(n_estimators=2, max_samples=999, random_state=0).fit(table).max_samples_ == 310


def test_trees_that_are_added_later_are_those_of_one_fit(table):
    grown = IsolationForest(n_estimators=3, warm_start=True, random_state=0).fit(table)
    grown.set_params(n_estimators=7).fit(table)
    whole = IsolationForest(n_estimators=7, random_state=0).fit(table)
    assert grown.score_samples(table).tobytes() == whole.score_samples(table).tobytes()


def test_the_share_that_is_marked_is_a_share_of_the_weight(table):
    w = np.random.RandomState(0).randint(1, 5, size=len(table))
    weighted = IsolationForest(n_estimators=20, contamination=0.07, random_state=0).fit(table, sample_weight=w)
    repeated = IsolationForest(n_estimators=20, contamination=0.07, random_state=0).fit(table.repeat(w, axis=0))
    assert weighted.offset_ == pytest.approx(repeated.offset_, rel=1e-12)
    np.testing.assert_allclose(weighted.score_samples(table), repeated.score_samples(table), rtol=1e-12)


def test_sparse_rows_say_the_same_as_dense_ones(table):
    X = table * (np.random.RandomState(0).uniform(size=table.shape) < 0.5)
    dense, thin = (
        IsolationForest(n_estimators=20, random_state=0).fit(X),
        IsolationForest(n_estimators=20, random_state=0).fit(csr_matrix(X)),
    )
    np.testing.assert_array_equal(thin.score_samples(csc_matrix(X)), dense.score_samples(X))


def test_rows_of_weight_zero_are_in_no_sample(table):
    w = np.arange(len(table)) % 3 / 1.0
    used = np.flatnonzero(w)
    forest = IsolationForest(n_estimators=5, max_samples=0.5, random_state=0).fit(table, sample_weight=w)
    few = IsolationForest(n_estimators=5, max_samples=0.5, random_state=0).fit(table[used], sample_weight=w[used])
    for rows, same in zip(forest.estimators_samples_, few.estimators_samples_, strict=True):
        np.testing.assert_array_equal(rows, used[same])
