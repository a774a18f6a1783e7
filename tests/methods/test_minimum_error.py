"""The hyperplane with the fewest errors, beside every subset of rows that could be left out."""

from itertools import combinations

import numpy as np
import pytest
from oracles.linear_svc import lies_apart
from sklearn.linear_model import LogisticRegression

from fivefold.linear_model.geometry.minimum_error import MinimumErrorClassifier
from fivefold.linear_model.geometry.separability import separate_sets
from fivefold.svm import LinearSVC


def fewest(X, y):
    """The least number of rows without which the rest is separable."""
    for count in range(len(X)):
        for out in combinations(range(len(X)), count):
            kept = np.setdiff1d(np.arange(len(X)), out)
            A, B = X[kept][y[kept] == 1], X[kept][y[kept] == 0]
            if not len(A) or not len(B) or lies_apart(A, B):
                return count
    return len(X)


def drawn(seed):
    """Small tables, every other one on a grid: there many rows share lines and places."""
    rng = np.random.RandomState(seed)
    n, d = rng.randint(4, 9), rng.randint(1, 4)
    X = rng.randint(0, 3, size=(n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    y = rng.randint(0, 2, size=n)
    y[:2] = 0, 1
    return X, y


@pytest.mark.parametrize("seed", range(24))
def test_no_hyperplane_has_fewer_errors(seed):
    """B-209; zero exactly where the classes are separable."""
    X, y = drawn(seed)
    model = MinimumErrorClassifier().fit(X, y)
    assert model.error_ == (model.predict(X) != y).sum() == fewest(X, y)
    assert (model.error_ == 0) == bool(separate_sets(X[y == 1], X[y == 0]))


def test_hinge_and_logistic_losses_err_no_less():
    """B-209: they minimise another thing."""
    rng = np.random.RandomState(3)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    best = MinimumErrorClassifier().fit(X, y)
    others = [
        (m.fit(X, y).predict(X) != y).sum()
        for m in (LinearSVC(loss="hinge", random_state=0), LinearSVC(random_state=0), LogisticRegression())
    ]
    assert best.error_ <= min(others)
    assert best.error_ < max(others)


def test_weights_count_as_repetition():
    X, y = drawn(5)
    w = np.random.RandomState(0).randint(1, 4, size=len(X))
    weighted = MinimumErrorClassifier().fit(X, y, sample_weight=w)
    assert weighted.error_ == MinimumErrorClassifier().fit(X.repeat(w, axis=0), y.repeat(w)).error_
    assert weighted.error_ == w @ (weighted.predict(X) != y)


def test_large_problems_and_many_classes_are_refused():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 5))
    with pytest.raises(
        ValueError, match=r"300 rows of 5 columns have 1\.96e\+10 hyperplanes to try; max_planes=1000000"
    ):
        MinimumErrorClassifier().fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="two classes; y holds 3"):
        MinimumErrorClassifier().fit(X[:6], [0, 1, 2, 0, 1, 2])
