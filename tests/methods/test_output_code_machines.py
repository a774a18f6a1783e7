"""Output codes with support vector machines: special codes, and letters for confused pairs."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from fivefold.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from fivefold.svm import SVC


def ring(n=300, K=5, seed=0):
    """Classes around a circle: neighbours overlap."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % K
    angle = 2 * np.pi * y / K
    return 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.8 * rng.normal(size=(n, 2)), y


def test_the_code_of_one_class_against_the_rest_is_that_reduction():
    X, y = ring()
    code = OutputCodeClassifier(SVC(), code="one_vs_rest", random_state=0).fit(X, y)
    np.testing.assert_array_equal(code.predict(X), OneVsRestClassifier(SVC()).fit(X, y).predict(X))


def test_the_code_of_all_pairs_counts_the_votes_of_pairs():
    X, y = ring(K=4)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    M = np.zeros((4, 6))
    for p, (i, j) in enumerate(pairs):
        M[i, p], M[j, p] = 1, -1
    code = OutputCodeClassifier(SVC(), code=M, decoding="hamming", random_state=0).fit(X, y)
    votes = OneVsOneClassifier(SVC()).fit(X, y)
    scores = votes.decision_function(X)
    clear = np.sort(np.round(scores), axis=1)
    clear = clear[:, -1] > clear[:, -2]  # ties are broken by the answers there, by the order of classes here
    np.testing.assert_array_equal(code.predict(X)[clear], votes.predict(X)[clear])
    assert clear.mean() > 0.9


def poor_code():
    """Words of two letters and one for the last class: neighbours around the circle differ in one letter."""
    return np.array([[-1, -1, -1], [-1, -1, 1], [-1, 1, 1], [1, 1, 1], [1, 1, -1]])


def test_a_letter_for_a_confused_pair_lowers_its_confusion():
    X, y = ring()
    few = OutputCodeClassifier(SVC(kernel="linear"), code=poor_code(), random_state=0).fit(X, y)
    more = OutputCodeClassifier(SVC(kernel="linear"), code=poor_code(), extra_letters=1, random_state=0).fit(X, y)
    assert more.code_book_.shape == (5, 4)
    i, j = np.flatnonzero(more.code_book_[:, 3])
    before, after = (confusion_matrix(y, model.predict(X)) for model in (few, more))
    assert after[i, j] + after[j, i] < before[i, j] + before[j, i]
    assert more.score(X, y) > few.score(X, y)
    many = OutputCodeClassifier(SVC(kernel="linear"), code=poor_code(), extra_letters=10, random_state=0).fit(X, y)
    assert many.score(X, y) >= more.score(X, y)
    assert len(many.estimators_) == many.code_book_.shape[1] > 4


@pytest.mark.parametrize("decoding", ["euclidean", "hamming", "loss"])
def test_a_code_without_errors_gets_no_letters(decoding):
    X, y = ring(60, K=3)
    X += 20 * np.eye(3)[y][:, :2]
    model = OutputCodeClassifier(SVC(), code="exhaustive", decoding=decoding, extra_letters=3).fit(X, y)
    assert model.code_book_.shape == (3, 3)
