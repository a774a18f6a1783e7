"""What the laws cannot say about logistic regression."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from fivefold.linear_model import LogisticRegression, QuadraticLogisticRegression, SeparationWarning


def noisy(n=300, d=4, K=2, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, K)) + 1.5 * rng.gumbel(size=(n, K))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("K", [2, 3])
def test_separable_classes_without_a_penalty_are_named_with_column_and_cure(K):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % K
    X[:, 1] += 10 * y
    with pytest.warns(SeparationWarning, match=r"separated, along x1.*no maximum.*Set C to a finite number"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) == 1


def test_a_column_that_separates_only_some_rows_is_found_too():
    """Quasi-separation: where the column is one the class is certain, elsewhere both occur."""
    X, y = noisy(n=400)
    X[:, 2] = 0
    X[np.flatnonzero(y == 1)[:40], 2] = 1
    with pytest.warns(SeparationWarning, match=r"along x2:"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    rest = LogisticRegression(C=np.inf).fit(X[X[:, 2] == 0][:, [0, 1, 3]], y[X[:, 2] == 0])
    np.testing.assert_allclose(model.coef_[0, [0, 1, 3]], rest.coef_[0], atol=1e-4)


def test_a_penalty_or_overlap_gives_no_warning():
    X, y = noisy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(C=np.inf).fit(X, y)
        LogisticRegression().fit(X + 10 * y[:, None], y)


def test_too_few_passes_are_reported():
    X, y = noisy(n=4000, d=20)
    with pytest.warns(ConvergenceWarning, match="1 passes were not enough for tol=1e-10"):
        LogisticRegression(max_iter=1, tol=1e-10).fit(X, y)


@pytest.mark.parametrize("K", [2, 3])
def test_columns_of_any_scale_and_offset_keep_the_probabilities(K):
    """Maximum likelihood does not depend on units. Scales of 1e-8 and 1e8, an offset of a million spreads."""
    X, y = noisy(K=K)
    far = X * [1e-8, 1e8, 1.0, 1.0] + [0, 0, 1e6, 0]
    near = LogisticRegression(C=np.inf).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(LogisticRegression(C=np.inf).fit(far, y).predict_proba(far), near, atol=1e-7)


def test_columns_that_depend_on_each_other_share_their_coefficient():
    X, y = noisy()
    twice = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    plain, model = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(twice, y)
    np.testing.assert_allclose(model.predict_proba(twice), plain.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(model.coef_[0, [0, 4]], plain.coef_[0, 0] / 2, atol=1e-5)
    assert "Only 5 of 7 coefficients are determined" in str(model.summary())


def test_more_columns_than_rows_with_a_penalty_meet_the_conditions_of_the_optimum():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(40, 200)), np.arange(40) % 2
    model = LogisticRegression(C=2.0).fit(X, y)
    pull = X.T @ (y - model.predict_proba(X)[:, 1])
    np.testing.assert_allclose(model.coef_[0], 2.0 * pull, atol=1e-6)


def test_rows_that_come_in_turns_do_not_mislead_the_sample():
    """Every second row of class 1, and a class that is rare: the sample starts the descent, all rows end it."""
    X, y = noisy(n=40_000)
    order = np.argsort(y, kind="stable")
    half = len(y) // 2
    turns = np.column_stack([order[:half], order[half : 2 * half]]).ravel()
    shuffled = LogisticRegression(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(LogisticRegression(tol=1e-7).fit(X[turns], y[turns]).coef_, shuffled.coef_, atol=1e-6)
    rare = np.where(np.arange(len(y)) < 5, 2, y)
    model = LogisticRegression(tol=1e-7).fit(X, rare)
    pull = ((rare == 2) - model.predict_proba(X)[:, 2]) @ X
    np.testing.assert_allclose(model.coef_[2], pull, atol=1e-3)


def test_a_warm_start_needs_fewer_passes():
    X, y = noisy(n=3000, d=20, K=3)
    model = LogisticRegression(C=1.0, warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    model.set_params(C=1.1).fit(X, y)
    assert model.n_iter_[0] < first
    np.testing.assert_allclose(model.coef_, LogisticRegression(C=1.1).fit(X, y).coef_, atol=1e-6)


def test_a_summary_under_a_penalty_is_refused_with_the_cure():
    X, y = noisy()
    with pytest.raises(ValueError, match=r"a penalty \(C=1\.0\) biases.*fit with C=np\.inf"):
        LogisticRegression().fit(X, y).summary()


def test_penalty_names_of_the_old_signature_mean_what_they_did():
    X, y = noisy()
    for penalty, settings in (("l1", {"l1_ratio": 1.0}), ("l2", {}), (None, {"C": np.inf})):
        np.testing.assert_array_equal(
            LogisticRegression(penalty=penalty).fit(X, y).coef_, LogisticRegression(**settings).fit(X, y).coef_
        )
    with pytest.raises(ValueError, match="needs l1_ratio"):
        LogisticRegression(penalty="elasticnet", l1_ratio=None).fit(X, y)
    with pytest.raises(ValueError, match="'c' is not one of the classes"):
        LogisticRegression(reference_class="c").fit(*noisy(K=3))


def test_a_low_rank_quadratic_form_has_that_rank():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 4))
    y = ((X[:, 0] + X[:, 1]) ** 2 - 1.5 + 0.3 * rng.normal(size=400) > 0).astype(int)
    model = QuadraticLogisticRegression(rank=1).fit(X, y)
    assert np.linalg.matrix_rank(model.forms_[0], tol=1e-8) == 1
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("seed", range(6))
def test_the_last_digits_under_an_l1_penalty_are_found_in_dense_and_sparse_tables(seed):
    """The fall of the last step drowns in rounding; the gradient shows that the step is right."""
    rng = np.random.RandomState(seed)
    X, y = make_classification(100, 20, random_state=seed)
    X = np.hstack([X, rng.normal(size=(100, 3)), np.ones((100, 2))])
    for table in (X, csr_array(X)):
        model = LogisticRegression(l1_ratio=1.0, fit_intercept=False, tol=1e-10).fit(table, y)
        coef = model.coef_[0]
        g = X.T @ (model.predict_proba(table)[:, 1] - y)
        off = np.where(coef == 0, np.maximum(np.abs(g) - 1, 0), np.abs(g + np.sign(coef)))
        assert off.max() < 1e-12
