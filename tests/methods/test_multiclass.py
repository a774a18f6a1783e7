"""What the laws cannot say about many classes from two: codes, decoding, claims and rejection, the number of jobs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs
from sklearn.naive_bayes import GaussianNB

from fivefold.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from fivefold.multiclass.output_code import DISTANCES
from fivefold.svm import LinearSVC

X, Y = load_iris(return_X_y=True)
# three classes in the corners of a triangle: the lines of one-vs-rest leave a hole in the middle
CORNERS = (
    np.repeat([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]], 30, axis=0) + np.random.RandomState(0).normal(size=(90, 2)) / 2
)
NAMES = np.repeat(["a", "b", "c"], 30)


def in_line(n=30):
    """Three classes along a line: each pair is separable, the middle one is not from the rest."""
    rng = np.random.RandomState(0)
    return np.column_stack(
        [np.repeat([0.0, 3.0, 6.0], n) + rng.uniform(-1, 1, 3 * n), rng.normal(size=3 * n)]
    ), np.repeat([0, 1, 2], n)


def test_each_machine_of_a_pair_is_trained_on_its_two_classes_only():
    """D-276: c (c - 1) / 2 machines, and the same as one trained by hand."""
    model = OneVsOneClassifier(LinearSVC(random_state=0)).fit(X, Y)
    assert len(model.estimators_) == 3
    rows = Y != 1
    alone = LinearSVC(random_state=0).fit(X[rows], Y[rows] == 2)
    assert_allclose(model.estimators_[1].coef_, alone.coef_)


def test_pairs_solve_what_one_against_the_rest_cannot():
    """E-123: a problem that is pairwise but not one-vs-rest separable."""
    Z, y = in_line()
    pairs = OneVsOneClassifier(LinearSVC(C=1000, random_state=0)).fit(Z, y)
    assert (pairs.predict(Z) == y).all()
    rest = OneVsRestClassifier(LinearSVC(C=1000, random_state=0)).fit(Z, y)
    assert (rest.estimators_[1].predict(Z) != (y == 1)).any()


def test_most_pairs_win_and_the_sum_of_margins_breaks_ties():
    """E-123, eq 10.10: where every class wins one pair, the largest sum of g_ij decides."""
    model = OneVsOneClassifier(LinearSVC(C=1.0, random_state=0)).fit(CORNERS, NAMES)
    grid = np.random.RandomState(1).uniform(-1, 5, size=(4000, 2))
    G = model.model_.answers(grid)  # pairs ab, ac, bc; positive for the later
    wins = np.stack(
        [
            (G[:, 0] <= 0).astype(int) + (G[:, 1] <= 0),
            (G[:, 0] > 0).astype(int) + (G[:, 2] <= 0),
            (G[:, 1] > 0).astype(int) + (G[:, 2] > 0),
        ],
        axis=1,
    )
    sums = np.stack([-G[:, 0] - G[:, 1], G[:, 0] - G[:, 2], G[:, 1] + G[:, 2]], axis=1)
    tied = wins.max(axis=1) == 1
    clear = np.where(tied, sums.argmax(axis=1), wins.argmax(axis=1))
    assert_array_equal(model.predict(grid), np.array(["a", "b", "c"])[clear])


def test_two_classes_reproduce_the_machine_itself():
    """D-275."""
    rows = Y > 0
    alone = LinearSVC(random_state=0).fit(X[rows], Y[rows])
    for wrapper in (OneVsRestClassifier, OneVsOneClassifier):
        model = wrapper(LinearSVC(random_state=0)).fit(X[rows], Y[rows])
        assert len(model.estimators_) == 1
        assert (model.predict(X[rows]) == alone.predict(X[rows])).all()


def test_one_machine_a_class_and_the_largest_margin_wins():
    """D-275: boundaries are pieces of the hyperplanes (w_i - w_j)'x = 0."""
    model = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, Y)
    W = np.array([m.coef_[0] for m in model.estimators_])
    b = np.array([m.intercept_[0] for m in model.estimators_])
    assert len(W) == 3
    assert_array_equal(model.predict(X), (X @ W.T + b).argmax(axis=1))


def test_regions_of_the_largest_of_linear_functions_are_convex():
    """C-147: of two points in a region every point between them is in it."""
    model = OneVsRestClassifier(LinearSVC(random_state=0)).fit(CORNERS, NAMES)
    rng = np.random.RandomState(2)
    A, B = rng.uniform(-2, 6, size=(2, 3000, 2))
    same = model.predict(A) == model.predict(B)
    between = A + rng.uniform(size=(3000, 1)) * (B - A)
    assert same.sum() > 500
    assert (model.predict(between[same]) == model.predict(A[same])).all()


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier])
def test_contradictions_are_found_and_rejected(wrapper):
    """C-146 and E-116: the map of the region that no class or several claim is not empty, and where exactly one class
    claims a point nothing is rejected."""
    Z, y = make_blobs(150, centers=[[0, 0], [4, 0], [2, 3.5]], cluster_std=1.2, random_state=0)
    model = wrapper(LinearSVC(random_state=0)).fit(Z, y)
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 7, 150)] * 2), axis=-1).reshape(-1, 2)
    claims = model.claims(grid)
    said = model.predict_or_reject(grid, reject=-1)
    unclear = claims.sum(axis=1) != 1
    assert unclear.any() and not unclear.all()
    assert_array_equal(said == -1, unclear)
    assert_array_equal(said[~unclear].astype(int), model.predict(grid[~unclear]))
    assert_array_equal(claims[~unclear].argmax(axis=1), model.predict(grid[~unclear]))


def test_claims_of_a_probability_are_above_one_half():
    model = OneVsRestClassifier(GaussianNB()).fit(X, Y)
    P = np.column_stack([m.predict_proba(X)[:, 1] for m in model.estimators_])
    assert_array_equal(model.claims(X), P > 0.5)


def test_an_exhaustive_code_has_every_split_once():
    model = OutputCodeClassifier(LinearSVC(random_state=0), code="exhaustive", random_state=0).fit(*blobs(5))
    M = model.code_book_
    assert M.shape == (5, 15)
    splits = {tuple(column * column[0]) for column in M.T}
    assert len(splits) == 15 and (1,) * 5 not in splits
    distances = [(M[i] != M[j]).sum() for i in range(5) for j in range(i)]
    assert set(distances) == {8}  # 2^(K - 2): three wrong letters are forgiven


def blobs(K, n=60, seed=0):
    return make_blobs(n * K, centers=K, n_features=3, cluster_std=1.5, random_state=seed)


def test_wrong_letters_are_corrected():
    Z, y = blobs(5)
    model = OutputCodeClassifier(LinearSVC(random_state=0), code="exhaustive", decoding="hamming", random_state=0).fit(
        Z, y
    )
    G = np.where(model.code_book_ > 0, 1.0, -1.0)
    for letters in ((0, 1, 2), (4, 9, 14)):
        spoiled = G.copy()
        spoiled[:, letters] *= -1
        assert_array_equal(DISTANCES["hamming"](model.code_book_, spoiled).argmin(axis=1), np.arange(5))


def test_decodings_follow_their_formulas():
    rng = np.random.RandomState(0)
    M, G = np.sign(rng.normal(size=(4, 6))), rng.normal(size=(9, 6))
    by_hand = {
        "euclidean": [[((m - g) ** 2).sum() for m in M] for g in G],
        "hamming": [[(1 - m * np.sign(g)).sum() / 2 for m in M] for g in G],
        "loss": [[np.maximum(1 - m * g, 0).sum() for m in M] for g in G],
    }
    for name, expected in by_hand.items():
        assert_allclose(DISTANCES[name](M, G), expected, atol=1e-12)


def test_a_given_code_may_leave_classes_out():
    """The columns of one-vs-one as a code give the machines of one-vs-one."""
    code = [[-1, -1, 0], [1, 0, -1], [0, 1, 1]]
    model = OutputCodeClassifier(LinearSVC(random_state=0), code=code, decoding="loss", random_state=0).fit(X, Y)
    pairs = OneVsOneClassifier(LinearSVC(random_state=0)).fit(X, Y)
    for a, b in zip(model.estimators_, pairs.estimators_, strict=True):
        assert_allclose(a.coef_, b.coef_)
    assert model.score(X, Y) > 0.95


@pytest.mark.parametrize(
    ("code", "word"), [([[1, -1]], r"\(3, L\) matrix"), ([[1, 2]] * 3, "of -1, 0 and 1"), ([[1, -1]] * 3, "same word")]
)
def test_codes_that_cannot_be_are_refused(code, word):
    with pytest.raises(ValueError, match=word):
        OutputCodeClassifier(LinearSVC(random_state=0), code=code, random_state=0).fit(X, Y)


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier])
def test_the_number_of_jobs_never_changes_a_byte(wrapper):
    seed = {"code": "exhaustive"} if wrapper is OutputCodeClassifier else {}
    one, two = (wrapper(LinearSVC(random_state=0), n_jobs=jobs, **seed).fit(X, Y) for jobs in (1, 2))
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        assert np.asarray(a.coef_).tobytes() == np.asarray(b.coef_).tobytes()


def test_weights_reach_every_machine():
    w = np.random.RandomState(0).randint(0, 3, size=150)
    for wrapper in (OneVsRestClassifier, OneVsOneClassifier):
        weighted = wrapper(LinearSVC(random_state=0)).fit(X, Y, sample_weight=w)
        repeated = wrapper(LinearSVC(random_state=0)).fit(X.repeat(w, axis=0), Y.repeat(w))
        for a, b in zip(weighted.estimators_, repeated.estimators_, strict=True):
            assert_allclose(a.coef_, b.coef_, atol=1e-6)
