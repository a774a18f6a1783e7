"""Mutual information of columns beside scikit-learn's: the same noise, so the same estimates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn.feature_selection import SelectKBest
from sklearn.feature_selection import mutual_info_classif as rival_classif
from sklearn.feature_selection import mutual_info_regression as rival_regression

from fivefold.feature_selection import mutual_info_classif, mutual_info_regression
from fivefold.information.neighbor_estimates import column_information, label_information


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 0], X[:, 1] = np.round(X[:, 0]), np.round(X[:, 1], 1)
    X[:, 4] = 1.0  # constant
    return X, X[:, 0] + X[:, 2] + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_estimates_are_the_same(k):
    X, y = table()
    options = {"n_neighbors": k, "random_state": 0}
    assert_allclose(mutual_info_regression(X, y, **options), rival_regression(X, y, **options), atol=1e-12)
    rounded = np.round(y)
    assert_allclose(mutual_info_regression(X, rounded, **options), rival_regression(X, rounded, **options), atol=1e-12)
    labels = np.digitize(y, [-1, 0, 1.5])
    assert_allclose(mutual_info_classif(X, labels, **options), rival_classif(X, labels, **options), atol=1e-12)
    for discrete in ([0], np.array([True, False, False, False, False])):
        ours = mutual_info_classif(X, labels, discrete_features=discrete, **options)
        assert_allclose(ours, rival_classif(X, labels, discrete_features=discrete, **options), atol=1e-12)


def test_a_discrete_column_and_a_target_of_numbers():
    """Labels of many rows each: for few, scikit-learn takes distances from squares, and loses the noise's digits."""
    X, y = table(600)
    X[:, 0] = (X[:, 0] > 0).astype(float)
    ours = mutual_info_regression(X, y, discrete_features=[0], random_state=0)
    assert_allclose(ours, rival_regression(X, y, discrete_features=[0], random_state=0), atol=1e-12)


def test_sparse_columns_are_discrete():
    X = csr_matrix(np.random.default_rng(0).integers(0, 3, (200, 4)) * 1.0)
    y = X[:, [0]].toarray().ravel() > 0
    assert_allclose(mutual_info_classif(X, y, random_state=0), rival_classif(X, y, random_state=0), atol=1e-12)
    with pytest.raises(ValueError, match="continuous"):
        mutual_info_classif(X, y, discrete_features=False, random_state=0)


def test_it_serves_in_scikit_learns_selectors_and_seeds_decide():
    X, y = table()
    labels = y > 0
    kept = SelectKBest(lambda X, y: mutual_info_classif(X, y, random_state=0), k=2).fit(X, labels).get_support()
    assert kept[0] and kept[2]
    first, again = (mutual_info_regression(X, y, random_state=3) for _ in range(2))
    assert (first == again).all()
    before = X.copy()
    mutual_info_regression(X, y, random_state=0)
    assert (X == before).all()


def brute_plane(x, y, k):
    """Distances to the k-th neighbour by looking at all pairs, and the counts of nearer ones."""
    from scipy.special import digamma

    dx, dy = np.abs(x[:, None] - x), np.abs(y[:, None] - y)
    both = np.maximum(dx, dy)
    np.fill_diagonal(both, np.inf)
    r = np.nextafter(np.sort(both, axis=1)[:, k - 1], 0)[:, None]
    counts = [(d <= r).sum(axis=1) for d in (dx, dy)]
    return max(0.0, digamma(len(x)) + digamma(k) - sum(digamma(c).mean() for c in counts))


@pytest.mark.parametrize("n", [5, 9, 64, 333])
@pytest.mark.parametrize("ties", [False, True])
def test_walks_find_what_all_pairs_find(n, ties):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((2, n))
    if ties:
        x, y = np.round(x), np.round(y) + 1e-12 * rng.standard_normal(n)
    for k in (1, 3):
        assert column_information(x, y, k) == pytest.approx(brute_plane(x, y, k), abs=1e-12)


def test_labels_of_one_row_are_left_out_and_bad_options_refused():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    codes = np.repeat([0, 1], 25)
    assert label_information(x, np.append(codes[:-1], 2), 3) == pytest.approx(label_information(x[:-1], codes[:-1], 3))
    assert label_information(x, np.arange(50), 3) == 0
    for options, words in (
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"discrete_features": "all"}, "Invalid string"),
        ({"discrete_features": [True, False, True]}, "mask"),
    ):
        with pytest.raises(ValueError, match=words):
            mutual_info_classif(x[:, None], codes, random_state=0, **options)
    with pytest.raises(ValueError, match="n_samples=3"):
        mutual_info_regression(x[:3, None], x[:3], random_state=0)
