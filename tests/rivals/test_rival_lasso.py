"""The lasso, the elastic net, their paths and their choice of strength beside scikit-learn's at a tight tolerance."""

from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles.coordinate import objective
from sklearn import linear_model as theirs
from sklearn.datasets import load_diabetes
from sklearn.model_selection import ShuffleSplit

from fivefold.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    MultiTaskElasticNet,
    MultiTaskLasso,
    enet_path,
    lasso_path,
)

TIGHT = {"tol": 1e-12, "max_iter": 20_000}


def rows(n, d, seed=0, outputs=None, zeros=0.0):
    """A target of few of the columns; some entries of X are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    X[rng.random((n, d)) < zeros] = 0.0
    B = np.zeros((d, outputs or 1))
    B[rng.permutation(d)[:5]] = rng.normal(size=(min(5, d), outputs or 1))
    Y = X @ B + 0.5 * rng.normal(size=(n, outputs or 1)) + 3
    return X, Y if outputs else Y[:, 0], rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("ours", [Lasso, ElasticNet, LassoCV, ElasticNetCV, MultiTaskLasso, MultiTaskElasticNet])
def test_the_signature_is_the_same(ours):
    rival = getattr(theirs, ours.__name__)
    assert [(p.name, p.default, p.kind) for p in signature(ours).parameters.values()] == [
        (p.name, p.default, p.kind) for p in signature(rival).parameters.values()
    ]


@pytest.mark.parametrize("shape", [(120, 8), (40, 300), (300, 290)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("more", [{}, {"positive": True}, {"fit_intercept": False}, {"selection": "random"}])
@pytest.mark.parametrize("ratio", [1.0, 0.7, 0.05])
def test_no_objective_is_lower_and_coefficients_are_the_same(shape, sparse, more, ratio):
    """Gram matrix, working sets of dense and of sparse columns; weights; the optimum is unique almost surely."""
    X, y, w = rows(*shape, zeros=0.5)
    given = sp.csr_array(X) if sparse else X
    model = ElasticNet(0.05, l1_ratio=ratio, random_state=0, **more).fit(given, y, w)
    rival = theirs.ElasticNet(0.05, l1_ratio=ratio, random_state=0, **more, **TIGHT).fit(given, y, w)
    intercept = more.get("fit_intercept", True)
    mine, least = (objective(X, y, w, m.coef_, 0.05, ratio, intercept) for m in (model, rival))
    assert mine <= least * (1 + 1e-9)
    assert_allclose(model.coef_, rival.coef_, atol=1e-6)
    assert_allclose(model.intercept_, rival.intercept_, atol=1e-6)
    assert_allclose(model.predict(given), rival.predict(given), atol=1e-5)


@pytest.mark.parametrize("shape", [(120, 8), (40, 300)])
def test_several_targets_are_fitted_one_by_one(shape):
    X, Y, w = rows(*shape, outputs=3)
    model, rival = Lasso(0.05).fit(X, Y, w), theirs.Lasso(0.05, **TIGHT).fit(X, Y, w)
    assert_allclose(model.coef_, rival.coef_, atol=1e-6)
    assert_allclose(model.intercept_, rival.intercept_, atol=1e-6)
    assert np.shape(model.dual_gap_) == np.shape(rival.dual_gap_) and np.shape(model.n_iter_) == np.shape(rival.n_iter_)


@pytest.mark.parametrize("shape", [(120, 8), (40, 300)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_targets_that_share_their_zeros(shape, sparse, ratio):
    X, Y, w = rows(*shape, outputs=3, zeros=0.5)
    given = sp.csr_array(X) if sparse else X
    model = MultiTaskElasticNet(0.1, l1_ratio=ratio).fit(given, Y, w)
    rival = theirs.MultiTaskElasticNet(0.1, l1_ratio=ratio, **TIGHT).fit(given, Y, w)
    mine, least = (objective(X, Y, w, m.coef_, 0.1, ratio) for m in (model, rival))
    assert mine <= least * (1 + 1e-9)
    assert_allclose(model.coef_, rival.coef_, atol=1e-6)
    assert model.eps_ == pytest.approx(1e-4 * ((np.sqrt(w) * (Y - w @ Y / w.sum()).T) ** 2).sum())
    on = np.abs(model.coef_).sum(axis=0) > 0
    assert ((model.coef_ != 0).all(axis=0) == on).all() and 0 < on.sum() < len(on)


@pytest.mark.parametrize("shape", [(120, 8), (40, 300)])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_paths_are_the_same(shape, ratio):
    X, y, _ = rows(*shape)
    X, y = X - X.mean(axis=0), y - y.mean()
    ours = enet_path(X, y, l1_ratio=ratio, alphas=30, eps=1e-2, return_n_iter=True)
    rival = theirs.enet_path(X, y, l1_ratio=ratio, alphas=30, eps=1e-2, return_n_iter=True, **TIGHT)
    for mine, other in zip(ours, rival, strict=True):
        assert np.shape(mine) == np.shape(other)
    assert_allclose(ours[0], rival[0], rtol=1e-12)
    assert_allclose(ours[1], rival[1], atol=1e-6)


def test_a_path_of_shared_zeros_is_the_same():
    X, Y, _ = rows(120, 8, outputs=2)
    ours = lasso_path(X, Y, alphas=[0.5, 0.1, 0.02])
    rival = theirs.lasso_path(X, Y, alphas=[0.5, 0.1, 0.02], **TIGHT)
    assert_allclose(ours[1], rival[1], atol=1e-6)


@pytest.mark.parametrize("cv", [None, 3, ShuffleSplit(4, random_state=0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_strength_chosen_is_the_same(cv, weighted):
    X, y = load_diabetes(return_X_y=True)
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    model = LassoCV(alphas=40, cv=cv).fit(X, y, w)
    rival = theirs.LassoCV(alphas=40, cv=cv, **TIGHT).fit(X, y, w)
    assert model.alpha_ == pytest.approx(rival.alpha_, rel=1e-10)
    # errors of 3,000 from coefficients equal to 1e-6 of 500
    assert_allclose(model.mse_path_, rival.mse_path_, rtol=1e-6)
    assert_allclose(model.alphas_, rival.alphas_, rtol=1e-10)
    assert_allclose(model.coef_, rival.coef_, atol=1e-4)


def test_the_mixture_chosen_is_the_same():
    X, y, _ = rows(60, 90)
    model = ElasticNetCV(l1_ratio=[0.3, 0.9], alphas=15, cv=4).fit(X, y)
    rival = theirs.ElasticNetCV(l1_ratio=[0.3, 0.9], alphas=15, cv=4, **TIGHT).fit(X, y)
    assert (model.l1_ratio_, model.alpha_) == (rival.l1_ratio_, pytest.approx(rival.alpha_, rel=1e-10))
    assert model.mse_path_.shape == rival.mse_path_.shape and model.alphas_.shape == rival.alphas_.shape
    assert_allclose(model.mse_path_, rival.mse_path_, rtol=1e-5)


def test_a_grid_needs_a_share_of_the_lasso():
    with pytest.raises(ValueError, match="l1_ratio=0"):
        ElasticNetCV(l1_ratio=0.0).fit(*load_diabetes(return_X_y=True))
