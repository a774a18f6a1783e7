"""Ridge that chooses its penalty, and ridge for classes, beside scikit-learn's and beside leaving rows out by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.least_squares import left_out
from scipy.sparse import csr_array
from sklearn import linear_model as theirs
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.model_selection import KFold, LeaveOneGroupOut, cross_val_predict

from fivefold.linear_model import Ridge, RidgeClassifier, RidgeCV

ALPHAS = np.logspace(-3, 3, 9)
# eigenvectors of moments here, singular vectors there: seven digits of a table of ordinary condition
CLOSE = {"rtol": 1e-7, "atol": 1e-9}


def surface(n, d, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2
    y = X @ rng.normal(size=(d,) if outputs is None else (d, outputs))
    return X, y + 3 * rng.normal(size=y.shape)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 6), (8, 20)])
def test_the_choice_and_all_that_led_to_it_are_the_same(shape, fit_intercept, outputs, scoring, sparse):
    X, y = surface(*shape, outputs)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.5, X, 0) if sparse else X
    settings = {"alphas": ALPHAS, "fit_intercept": fit_intercept, "scoring": scoring, "store_cv_results": True}
    model = RidgeCV(**settings).fit(csr_array(X) if sparse else X, y)
    rival = theirs.RidgeCV(**settings, gcv_mode="svd").fit(X, y)
    assert model.alpha_ == rival.alpha_
    assert_allclose(model.best_score_, rival.best_score_, **CLOSE)
    assert model.coef_.shape == rival.coef_.shape
    assert_allclose(model.coef_, rival.coef_, **CLOSE)
    assert_allclose(model.intercept_, rival.intercept_, **CLOSE)
    assert model.cv_results_.shape == rival.cv_results_.shape
    assert_allclose(model.cv_results_, rival.cv_results_, **CLOSE)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_every_output_may_choose_its_own_penalty(scoring):
    X, Y = surface(60, 6, 3)
    Y = Y + np.array([0.0, 10.0, 100.0]) * np.random.default_rng(2).normal(size=Y.shape)
    settings = {"alphas": ALPHAS, "alpha_per_target": True, "scoring": scoring}
    model, rival = RidgeCV(**settings).fit(X, Y), theirs.RidgeCV(**settings).fit(X, Y)
    assert len(set(model.alpha_)) > 1
    assert_allclose(model.alpha_, rival.alpha_)
    assert_allclose(model.best_score_, rival.best_score_, **CLOSE)
    assert_allclose(model.coef_, rival.coef_, **CLOSE)


WEIGHTS = {
    "whole": lambda rng, n: rng.integers(1, 4, n).astype(float),
    "below one": lambda rng, n: rng.uniform(0.01, 0.5, n),
    "wild": lambda rng, n: 10.0 ** rng.uniform(-2, 2, n),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(15, 3), (6, 9)])
def test_errors_left_out_are_those_of_fitting_without_the_row(shape, fit_intercept, kind):
    """C-116: the shortcut equals brute force; a row leaves with its whole weight, so no copy of it is left."""
    X, y = surface(*shape)
    w = WEIGHTS[kind](np.random.default_rng(3), shape[0])
    alphas = [0.1, 2.0]
    settings = {"fit_intercept": fit_intercept, "store_cv_results": True}
    model = RidgeCV(alphas, **settings).fit(X, y, sample_weight=w)
    by_hand = np.stack([w * left_out(X, y, alpha, w, fit_intercept) ** 2 for alpha in alphas], axis=1)
    assert_allclose(model.cv_results_, by_hand, rtol=1e-8)
    scores = -by_hand.sum(axis=0) / w.sum()
    assert model.alpha_ == alphas[scores.argmax()]
    assert_allclose(model.best_score_, scores.max(), rtol=1e-10)
    rival = theirs.RidgeCV(alphas, **settings).fit(X, y, sample_weight=w)
    assert model.alpha_ == rival.alpha_
    assert_allclose(model.cv_results_, rival.cv_results_, **CLOSE)


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error"])
@pytest.mark.parametrize("shape", [(15, 3), (6, 9)])
def test_leaving_out_chooses_as_folds_that_keep_copies_together(shape, scoring):
    """Predictions left out are those of one fold for each row and all of its copies."""
    X, y = surface(*shape)
    counts = np.random.default_rng(3).integers(1, 4, shape[0])
    model = RidgeCV([0.1, 2.0], scoring=scoring, store_cv_results=True).fit(X, y, sample_weight=counts)
    repeated, rows = X.repeat(counts, axis=0), np.arange(len(y)).repeat(counts)
    for a, alpha in enumerate([0.1, 2.0]):
        by_hand = cross_val_predict(Ridge(alpha), repeated, y.repeat(counts), groups=rows, cv=LeaveOneGroupOut())
        assert_allclose(model.cv_results_[:, a].repeat(counts), by_hand, rtol=1e-8)


def test_rows_of_weight_zero_are_no_rows():
    X, y = surface(12, 3)
    w = np.where(np.arange(12) % 3 == 0, 0.0, 1.5)
    model = RidgeCV(ALPHAS).fit(X, y, sample_weight=w)
    without = RidgeCV(ALPHAS).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert model.alpha_ == without.alpha_
    assert_allclose(model.best_score_, without.best_score_, rtol=1e-12)
    assert_allclose(model.coef_, without.coef_, rtol=1e-12)
    with pytest.raises(ValueError, match="two rows of positive weight"):
        RidgeCV(ALPHAS).fit(X, y, sample_weight=np.eye(12)[0] * 3)


def test_streaming_gives_the_score_that_keeping_gives():
    """The default keeps no error of any row; the sums are the same."""
    X, Y = surface(20_000, 3, 2)
    w = np.random.default_rng(4).integers(1, 3, len(X))
    lean, kept = (RidgeCV(ALPHAS, store_cv_results=keep).fit(X, Y, sample_weight=w) for keep in (False, True))
    assert lean.alpha_ == kept.alpha_
    assert_allclose(lean.best_score_, kept.best_score_, rtol=1e-12)
    with pytest.raises(AttributeError, match="store_cv_results=True"):
        _ = lean.cv_results_


@pytest.mark.parametrize("cv", [4, KFold(3, shuffle=True, random_state=0)])
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_folds_choose_the_same(cv, scoring):
    X, Y = surface(60, 6, 2)
    model, rival = (cls(ALPHAS, cv=cv, scoring=scoring).fit(X, Y) for cls in (RidgeCV, theirs.RidgeCV))
    assert model.alpha_ == rival.alpha_
    assert_allclose(model.best_score_, rival.best_score_, **CLOSE)
    assert_allclose(model.coef_, rival.coef_, **CLOSE)


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [-1.0], [np.inf], [[1.0, 2.0]]])
def test_penalties_that_cannot_be_are_refused(alphas):
    with pytest.raises(ValueError, match="alphas must be positive"):
        RidgeCV(alphas).fit(*surface(20, 3))


def test_what_folds_cannot_keep_is_refused():
    with pytest.raises(ValueError, match="store_cv_results=True goes with cv=None"):
        RidgeCV(cv=3, store_cv_results=True).fit(*surface(20, 3))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 1.0, 2: 0.5}])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_classifier_is_the_same(fit_intercept, classes, class_weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    if isinstance(class_weight, dict):
        class_weight = {k: class_weight[k] for k in range(classes)}
    settings = {"alpha": 0.3, "class_weight": class_weight, "fit_intercept": fit_intercept}
    model, rival = (cls(**settings).fit(X, y) for cls in (RidgeClassifier, theirs.RidgeClassifier))
    assert model.coef_.shape == rival.coef_.shape
    assert_allclose(model.coef_, rival.coef_, rtol=1e-9, atol=1e-11)
    assert np.shape(model.intercept_) == np.shape(rival.intercept_)
    assert_allclose(model.intercept_, rival.intercept_, rtol=1e-9, atol=1e-11)
    assert_allclose(model.decision_function(X), rival.decision_function(X), rtol=1e-8, atol=1e-10)
    assert (model.predict(X) == rival.predict(X)).all()


def test_the_classifier_takes_sparse_tables():
    X, y = load_iris(return_X_y=True)
    model, dense = RidgeClassifier().fit(csr_array(X), y), RidgeClassifier().fit(X, y)
    assert_allclose(model.decision_function(csr_array(X)), dense.decision_function(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}, {"fit_intercept": False, "solver": "svd"}])
def test_several_labels_a_row_are_decided_one_by_one(settings):
    X, Y = make_multilabel_classification(n_samples=80, random_state=0)
    # balanced classes are balanced by weight here, by count there
    w = None if "class_weight" in settings else np.random.default_rng(0).uniform(0.5, 2, len(X))
    pair = [cls(**settings).fit(X, Y, sample_weight=w) for cls in (RidgeClassifier, theirs.RidgeClassifier)]
    assert_allclose(pair[0].coef_, pair[1].coef_, rtol=1e-8, atol=1e-10)
    for name in ("classes_", "intercept_"):
        assert_allclose(getattr(pair[0], name), getattr(pair[1], name), rtol=1e-8, atol=1e-10)
    assert_allclose(pair[0].decision_function(X), pair[1].decision_function(X), rtol=1e-8, atol=1e-10)
    assert np.array_equal(pair[0].predict(X), pair[1].predict(X))


def test_several_columns_of_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match=r"column 1 of y holds \[0, 2\]"):
        RidgeClassifier().fit([[0.0], [1.0], [2.0]], [[0, 2], [1, 0], [1, 2]])


@pytest.mark.parametrize("cls", [Ridge, RidgeClassifier])
@pytest.mark.parametrize("solver", ["cholesky", "svd", "lsqr", "sparse_cg", "sag", "saga"])
def test_the_solver_that_was_asked_for_is_named(cls, solver):
    assert cls(solver=solver).fit([[0.0], [1.0], [2.0]], [0, 1, 1]).solver_ == solver
