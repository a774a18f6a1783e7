"""Naive Bayes against scikit-learn: the same attributes and the same log-probabilities.

Both sum the same numbers in another order: what differs is rounding, below 1e-10 relative on these tables.
"""

import inspect

import numpy as np
import pytest
import sklearn.naive_bayes as rival
from scipy.sparse import csc_matrix, csr_array
from sklearn.datasets import load_digits, load_wine

import fivefold.naive_bayes as ours

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
LEARNED = {
    "GaussianNB": ("class_count_", "class_prior_", "theta_", "var_", "epsilon_"),
    "BernoulliNB": ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"),
    "MultinomialNB": ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"),
    "ComplementNB": ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "feature_all_"),
    "CategoricalNB": ("class_count_", "class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_"),
}
SETTINGS = [
    ("GaussianNB", {}),
    ("GaussianNB", {"priors": [0.5, 0.3, 0.2], "var_smoothing": 1e-3}),
    ("BernoulliNB", {}),
    ("BernoulliNB", {"alpha": 0.3, "binarize": 1.5, "fit_prior": False}),
    ("BernoulliNB", {"class_prior": [0.5, 0.3, 0.2]}),
    ("MultinomialNB", {}),
    ("MultinomialNB", {"alpha": 0.1, "fit_prior": False}),
    ("MultinomialNB", {"alpha": np.linspace(0.5, 2, 12), "class_prior": [0.5, 0.3, 0.2]}),
    ("ComplementNB", {}),
    ("ComplementNB", {"alpha": 0.2, "norm": True}),
    ("CategoricalNB", {}),
    ("CategoricalNB", {"alpha": 0.5, "min_categories": 12, "fit_prior": False}),
    ("CategoricalNB", {"min_categories": [10] * 11 + [20]}),
]
SPARSE = [s for s in SETTINGS if s[0] in ("BernoulliNB", "MultinomialNB", "ComplementNB")]


def counts(n=300, d=12, seed=0):
    rng = np.random.RandomState(seed)
    y = rng.choice(["a", "b", "c"], size=n, p=[0.5, 0.3, 0.2])
    rate = {label: rng.gamma(1.0, 1.0, d) for label in "abc"}
    return rng.poisson([rate[label] for label in y]).astype(float), y, rng.randint(1, 5, n) / 2


def both(name, settings):
    return getattr(ours, name)(**settings), getattr(rival, name)(**settings)


def assert_same(mine, theirs, X, **close):
    close = close or CLOSE
    for name in LEARNED[type(mine).__name__]:
        a, b = getattr(mine, name), getattr(theirs, name)
        pairs = zip(a, b, strict=True) if isinstance(b, list) else [(a, b)]
        for one, other in pairs:
            np.testing.assert_allclose(one, other, err_msg=name, **close)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
    for method in ("predict_log_proba", "predict_joint_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(mine, method)(X), getattr(theirs, method)(X), **close)


@pytest.mark.parametrize("name", LEARNED)
def test_the_parameters_are_those_of_scikit_learn(name):
    mine, theirs = (inspect.signature(getattr(module, name)).parameters for module in (ours, rival))
    assert [(p.name, p.default, p.kind) for p in mine.values()] == [
        (p.name, p.default, p.kind) for p in theirs.values()
    ]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_fit_on_a_dense_table_is_the_same(name, settings):
    X, y, _ = counts()
    mine, theirs = both(name, settings)
    assert_same(mine.fit(X, y), theirs.fit(X, y), X)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_weighted_fit_is_the_same(name, settings):
    X, y, w = counts(seed=1)
    if name == "GaussianNB":  # scikit-learn's smoothing looks at the unweighted variance
        settings = {**settings, "var_smoothing": 0}
    mine, theirs = both(name, settings)
    assert_same(mine.fit(X, y, sample_weight=w), theirs.fit(X, y, sample_weight=w), X)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_fit_in_batches_is_the_same(name, settings):
    X, y, w = counts(seed=2)
    X[:100] = np.minimum(X[:100], 1)  # later batches bring more categories
    X[200] = 15  # and the last one the largest of all: scikit-learn's n_categories_ is that of the last batch
    if name == "GaussianNB":  # scikit-learn's smoothing, too, follows the last batch; ours the whole
        X, settings = X + np.random.RandomState(0).rand(*X.shape), {**settings, "var_smoothing": 0}
    mine, theirs = both(name, settings)
    for rows in (slice(0, 100), slice(100, 200), slice(200, 300)):
        for model in (mine, theirs):
            model.partial_fit(X[rows], y[rows], classes=["a", "b", "c"], sample_weight=w[rows])
    assert_same(mine, theirs, X)


@pytest.mark.parametrize("container", [csr_array, csc_matrix])
@pytest.mark.parametrize(("name", "settings"), SPARSE)
def test_a_fit_on_a_sparse_table_is_the_same(name, settings, container):
    X, y, w = counts(seed=3)
    X = container(X * (np.random.RandomState(0).rand(*X.shape) < 0.3))
    mine, theirs = both(name, settings)
    assert_same(mine.fit(X, y, sample_weight=w), theirs.fit(X, y, sample_weight=w), X)


@pytest.mark.parametrize("name", LEARNED)
def test_one_class_is_learned_the_same(name):
    X, _, _ = counts(20, 4)
    mine, theirs = both(name, {})
    assert_same(mine.fit(X, np.ones(20)), theirs.fit(X, np.ones(20)), X)


def test_wine_is_classified_as_scikit_learn_classifies_it():
    X, y = load_wine(return_X_y=True)
    assert_same(ours.GaussianNB().fit(X, y), rival.GaussianNB().fit(X, y), X)


@pytest.mark.parametrize("name", LEARNED)
def test_digits_are_classified_as_scikit_learn_classifies_them(name):
    """Columns that are constant over all rows, or over the rows of a class, are in this table."""
    X, y = load_digits(return_X_y=True)
    mine, theirs = both(name, {})
    # variances of 1e-9 of the largest divide: digits lost to rounding in the means are multiplied by 1e4
    close = {"rtol": 1e-7, "atol": 1e-7} if name == "GaussianNB" else CLOSE
    assert_same(mine.fit(X, y), theirs.fit(X, y), X, **close)


def test_single_precision_gives_single_precision():
    X, y, _ = counts()
    X = X.astype(np.float32)
    for name in LEARNED:
        mine, theirs = both(name, {})
        P = mine.fit(X, y).predict_proba(X)
        assert P.dtype == np.float32
        if name == "GaussianNB":
            assert mine.theta_.dtype == mine.var_.dtype == theirs.fit(X, y).theta_.dtype == np.float32
        # 24 bits of mantissa, log-probabilities of order 100
        np.testing.assert_allclose(P, theirs.fit(X, y).predict_proba(X), atol=1e-4)
