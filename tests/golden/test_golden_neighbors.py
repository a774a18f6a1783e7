"""Neighbours: properties and numbers of the textbooks."""

import numpy as np
import pytest

from fivefold.kernels.structured import EditDistance, EmpiricalKernelMap
from fivefold.linear_model import RidgeClassifier
from fivefold.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestCentroid,
    NearestNeighbors,
    RadiusNeighborsClassifier,
)

RNG = np.random.RandomState(1)
X = RNG.normal(size=(60, 2))
LABELS = RNG.choice(["a", "b", "c"], p=[0.5, 0.3, 0.2], size=60)
NUMBERS = RNG.normal(size=60)
QUERIES = RNG.normal(size=(20, 2))


def test_one_neighbour_makes_no_training_error_and_all_give_the_majority():
    """D-41, E-16, C-86."""
    assert KNeighborsClassifier(1).fit(X, LABELS).score(X, LABELS) == 1.0
    assert set(KNeighborsClassifier(60).fit(X, LABELS).predict(QUERIES)) == {"a"}


def test_one_neighbour_interpolates_and_all_give_the_mean():
    """D-42."""
    np.testing.assert_array_equal(KNeighborsRegressor(1).fit(X, NUMBERS).predict(X), NUMBERS)
    np.testing.assert_allclose(KNeighborsRegressor(60).fit(X, NUMBERS).predict(QUERIES), NUMBERS.mean())


def test_equal_distances_make_equal_votes_and_a_coinciding_row_decides():
    """D-43."""
    circle = np.column_stack([np.cos(np.arange(8.0)), np.sin(np.arange(8.0))])
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    plain, near = (KNeighborsClassifier(8, weights=w).fit(circle, labels) for w in ("uniform", "distance"))
    np.testing.assert_allclose(near.predict_proba([[0.0, 0.0]]), plain.predict_proba([[0.0, 0.0]]))
    assert near.predict(circle).tolist() == labels.tolist()


def test_inverse_distances_weigh_targets():
    """D-44: targets 0 at distance 1 and 3 at distance 2 give 1."""
    model = KNeighborsRegressor(2, weights="distance").fit([[-1.0], [2.0]], [0.0, 3.0])
    assert model.predict([[0.0]]) == pytest.approx(1.0)
    whole = KNeighborsRegressor(60, weights="distance").fit(X, NUMBERS)  # all rows: global weights
    np.testing.assert_allclose(whole.predict(X), NUMBERS)
    assert (np.abs(whole.predict(QUERIES)) <= np.abs(NUMBERS).max()).all()


def test_shares_of_the_neighbours_are_posteriors():
    """C-86, E-15: k_c / k, which does not depend on the number of rows or on the volume of the ball."""
    model = KNeighborsClassifier(7).fit(X, LABELS)
    shares = model.predict_proba(QUERIES)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    near = LABELS[model.kneighbors(QUERIES, return_distance=False)]
    np.testing.assert_allclose(shares, [[np.mean(row == c) for c in "abc"] for row in near])
    np.testing.assert_allclose(KNeighborsClassifier(7).fit(9 * X, LABELS).predict_proba(9 * QUERIES), shares)


def test_storing_rows_is_all_that_is_learned_and_their_order_does_not_matter():
    """D-45."""
    order = RNG.permutation(60)
    one, two = KNeighborsRegressor().fit(X, NUMBERS), KNeighborsRegressor().fit(X[order], NUMBERS[order])
    np.testing.assert_allclose(one.predict(QUERIES), two.predict(QUERIES), rtol=1e-12)
    weighed = NearestNeighbors(n_neighbors=3, metric_params={"w": [4.0, 0.25]}).fit(X)
    scaled = NearestNeighbors(n_neighbors=3).fit(X * [2.0, 0.5])
    np.testing.assert_allclose(weighed.kneighbors(QUERIES)[0], scaled.kneighbors(QUERIES * [2.0, 0.5])[0])


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential"])
def test_a_narrow_kernel_vote_is_the_vote_of_the_nearest_row(kernel):
    """B-118: the sign of sum_t y_t K(x_t, x), with all rows, k rows, or rows within a radius."""
    nearest = KNeighborsClassifier(1).fit(X, LABELS).predict(QUERIES)
    for k in (10, 60):
        narrow = KNeighborsClassifier(k, weights=kernel, bandwidth=1e-3).fit(X, LABELS)
        np.testing.assert_array_equal(narrow.predict(QUERIES), nearest)
    signs = np.where(LABELS == "a", 1, -1)
    wide = KNeighborsClassifier(60, weights="gaussian", bandwidth=0.8).fit(X, signs)
    K = np.exp(-((QUERIES[:, None] - X) ** 2).sum(axis=2) / (2 * 0.8**2))
    np.testing.assert_array_equal(wide.predict(QUERIES), np.sign(K @ signs))
    ball = RadiusNeighborsClassifier(np.inf, weights="gaussian", bandwidth=0.8).fit(X, signs)
    np.testing.assert_allclose(ball.predict_proba(QUERIES), wide.predict_proba(QUERIES))


def test_the_nearest_mean_is_the_gaussian_of_a_shared_sphere():
    """E-22: equal priors and a shared spherical covariance, or a shared full one by Mahalanobis's distance."""
    centres = NearestCentroid().fit(X, LABELS)
    logs = np.stack([-((QUERIES - m) ** 2).sum(axis=1) / 2 for m in centres.centroids_], axis=1)
    np.testing.assert_array_equal(centres.predict(QUERIES), np.array(list("abc"))[logs.argmax(axis=1)])
    pooled = NearestCentroid("mahalanobis").fit(X, LABELS)
    rows = [X[LABELS == c] for c in "abc"]
    precision = np.linalg.inv(sum((len(r) - 1) * np.cov(r.T) for r in rows) / (60 - 3))
    squares = [np.einsum("ij,jk,ik->i", Z, precision, Z) for Z in (QUERIES - r.mean(axis=0) for r in rows)]
    np.testing.assert_allclose(pooled.decision_function(QUERIES), 2 * np.log(1 / 3) - np.stack(squares, axis=1))
    np.testing.assert_array_equal(pooled.predict(QUERIES), np.array(list("abc"))[np.argmin(squares, axis=0)])
    own = NearestCentroid("mahalanobis", covariance="class").fit(X, LABELS)
    deltas = [(QUERIES - r.mean(axis=0), np.linalg.inv(np.cov(r.T))) for r in rows]
    squares = np.stack([np.einsum("ij,jk,ik->i", Z, P, Z) for Z, P in deltas], axis=1)
    np.testing.assert_allclose(own.decision_function(QUERIES), 2 * np.log(1 / 3) - squares, rtol=1e-9)


def test_the_cases_reproduce_the_vote():
    """E-33."""
    model = KNeighborsClassifier(5, weights="distance").fit(X, LABELS)
    for cases, label in zip(model.explain(QUERIES), model.predict(QUERIES), strict=True):
        votes = {c: cases.weights[cases.targets == c].sum() for c in "abc"}
        assert max(votes, key=votes.get) == label


def test_the_simplified_outlier_factor():
    """E-39: data 0, 1, 2, 3, 10 with k = 2: d_k = 2, 1, 1, 2, 8, and the factor of 10 is 8 / 1.5."""
    model = LocalOutlierFactor(2, factor="distance").fit([[0.0], [1.0], [2.0], [3.0], [10.0]])
    distances, _ = model.kneighbors()
    assert distances[:, -1].tolist() == [2, 1, 1, 2, 8]
    assert -model.negative_outlier_factor_[-1] == pytest.approx(8 / 1.5)


def test_similarities_with_all_objects_are_a_table_for_any_learner():
    """E-31: x' = [s(x, x^1), ..., s(x, x^N)], N x N on the training objects."""
    words, kinds = ["aab", "aba", "baa", "xyz", "xzz", "zyx"], [0, 0, 0, 1, 1, 1]
    features = EmpiricalKernelMap(EditDistance(), words).features
    assert features(words).shape == (6, 6)
    assert RidgeClassifier().fit(features(words), kinds).predict(features(["abb", "zzx"])).tolist() == [0, 1]
