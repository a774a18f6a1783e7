"""Ridge regression beside scikit-learn's.

Both sides solve the same normal equations of well-conditioned columns in float64: 1e-10 leaves a few digits to spare.
"""

from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, random_array
from sklearn import linear_model as theirs
from sklearn.datasets import load_diabetes

from fivefold.linear_model import Ridge
from fivefold.linear_model.solvers import ridge_solver

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def surface(n=80, d=6, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3
    shape = (d,) if outputs is None else (d, outputs)
    y = X @ rng.normal(size=shape)
    return X, y + rng.normal(size=y.shape) + 5


def test_the_signature_is_the_same():
    """What is ours comes after."""
    mine, rival = (list(signature(cls).parameters.values()) for cls in (Ridge, theirs.Ridge))
    assert [(p.name, p.default, p.kind) for p in mine[: len(rival)]] == [(p.name, p.default, p.kind) for p in rival]
    assert [p.name for p in mine[len(rival) :]] == ["penalize_bias", "prior_mean"]


@pytest.mark.parametrize("n", [80, 6, 4])
@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd", "lsqr", "saga"])
def test_coefficients_are_the_same(solver, fit_intercept, outputs, n):
    """Iterative solvers of scikit-learn stop short of the optimum: whatever the name, ours is compared with "svd"."""
    X, y = surface(n, 6, outputs)
    w = np.random.default_rng(1).uniform(0.5, 2, n)
    model = Ridge(0.7, solver=solver, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    rival = theirs.Ridge(0.7, solver="svd", fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    assert model.coef_.shape == rival.coef_.shape
    assert_allclose(model.coef_, rival.coef_, **TIGHT)
    assert_allclose(model.intercept_, rival.intercept_, **TIGHT)
    assert np.shape(model.intercept_) == np.shape(rival.intercept_)
    assert_allclose(model.predict(X), rival.predict(X), **TIGHT)


@pytest.mark.parametrize("solver", ["cholesky", "svd"])
def test_every_output_may_have_its_own_penalty(solver):
    X, Y = surface(outputs=3)
    alpha = [0.1, 5.0, 0.1]
    model, rival = (cls(alpha, solver=solver).fit(X, Y) for cls in (Ridge, theirs.Ridge))
    assert_allclose(model.coef_, rival.coef_, **TIGHT)


def test_diabetes_is_the_same():
    X, y = load_diabetes(return_X_y=True)
    model, rival = (cls(0.1).fit(X, y) for cls in (Ridge, theirs.Ridge))
    assert_allclose(model.coef_, rival.coef_, rtol=1e-9)
    assert model.score(X, y) == pytest.approx(rival.score(X, y), rel=1e-12)


def test_one_factorisation_serves_all_outputs():
    """A-09: a matrix of targets gives what its columns give one by one."""
    X, Y = surface(outputs=4)
    together = Ridge().fit(X, Y)
    for t, y in enumerate(Y.T):
        alone = Ridge().fit(X, y)
        assert_allclose(together.coef_[t], alone.coef_, rtol=1e-10)
        assert_allclose(together.intercept_[t], alone.intercept_, rtol=1e-10)


def test_centring_makes_the_fit_free_of_shifts():
    """A-42: shifting X or y changes the offset only, for ridge too; without penalty it is the explicit offset."""
    X, y = surface()
    model = Ridge().fit(X, y)
    shifted = Ridge().fit(X + 100, y - 50)
    assert_allclose(shifted.coef_, model.coef_, **TIGHT)
    assert_allclose(shifted.predict(X + 100), model.predict(X) - 50, **TIGHT)
    explicit = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y)[0]
    plain = Ridge(0).fit(X, y)
    assert_allclose([*plain.coef_, plain.intercept_], explicit, **TIGHT)


def test_far_from_zero_no_digit_is_lost():
    X, y = surface()
    far = X + 1e8
    model = Ridge().fit(far, y)
    near = Ridge().fit(far - 1e8, y)
    assert_allclose(model.coef_, near.coef_, rtol=1e-8)
    # the mean of a column is known to 1.5e-8 there, and no more than that is lost
    assert_allclose(model.predict(far), near.predict(far - 1e8), atol=1e-7)


@pytest.mark.parametrize("n", [40, 4])
def test_a_singular_system_falls_back_to_the_pseudo_inverse(n):
    """A-49: with alpha = 0 and dependent columns the shortest least squares solution is found."""
    X, y = surface(n, 6)
    X[:, 5] = X[:, 0] - 2 * X[:, 1]
    model = Ridge(alpha=0).fit(X, y)
    assert model.solver_ == "svd"
    expected = np.linalg.pinv(X - X.mean(0)) @ (y - y.mean())
    assert_allclose(model.coef_, expected, rtol=1e-8, atol=1e-8)


def test_columns_of_any_unit_are_factored():
    """Units from 1e-8 to 1e8 make the normal equations look singular; they are not."""
    X, y = surface()
    units = 10.0 ** np.linspace(-8, 8, 6)
    model = Ridge(0).fit(X * units, y)
    assert model.solver_ == "cholesky"
    assert_allclose(model.coef_ * units, Ridge(0).fit(X, y).coef_, rtol=1e-8)


def test_float32_stays_float32():
    X, y = surface()
    model = Ridge().fit(X.astype(np.float32), y.astype(np.float32))
    assert model.coef_.dtype == model.predict(X.astype(np.float32)).dtype == np.float32
    # float32 carries seven digits
    assert_allclose(model.coef_, Ridge().fit(X, y).coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("alpha", [-1.0, np.inf, [1.0, 2.0], "much", [1.0, np.nan, 1.0]])
def test_a_penalty_that_is_none_is_refused(alpha):
    X, Y = surface(outputs=3)
    with pytest.raises(ValueError, match="alpha"):
        Ridge(alpha).fit(X, Y)


def sparse_surface(n=120, d=30, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = random_array((n, d), density=0.15, rng=rng, format="csr")
    return X, rng.normal(size=n if outputs is None else (n, outputs)) + X.sum(axis=1).reshape(
        (-1,) + (1,) * bool(outputs)
    )


@pytest.mark.parametrize("shape", [(120, 30), (30, 120)])
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_sparse_table_says_the_same_as_a_dense_one(shape, outputs, fit_intercept):
    X, y = sparse_surface(*shape, outputs)
    w = np.random.default_rng(1).uniform(0.5, 2, shape[0])
    model = Ridge(0.7, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    rival = theirs.Ridge(0.7, fit_intercept=fit_intercept, solver="svd").fit(X.toarray(), y, sample_weight=w)
    assert_allclose(model.coef_, rival.coef_, **TIGHT)
    assert_allclose(model.intercept_, rival.intercept_, **TIGHT)
    assert_allclose(model.predict(X), rival.predict(X.toarray()), **TIGHT)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_sparse_table_too_large_for_products_is_bidiagonalised(fit_intercept, monkeypatch):
    """The limit lowered, the optimum is the same; it stops at a relative residual of 1e-13."""
    X, y = sparse_surface(200, 40, 2)
    direct = Ridge(0.5, fit_intercept=fit_intercept).fit(X, y)
    monkeypatch.setattr(ridge_solver, "MAX_MOMENT_COLUMNS", 30)
    model = Ridge(0.5, fit_intercept=fit_intercept).fit(X, y)
    assert (direct.solver_, model.solver_) == ("cholesky", "lsqr")
    assert_allclose(model.coef_, direct.coef_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_kept_from_being_negative_are_the_same(fit_intercept, outputs, sparse):
    """scikit-learn stops L-BFGS-B at a tolerance: ours is never above its objective, and within 1e-5 of its place."""
    X, y = surface(outputs=outputs)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X))
    settings = {"positive": True, "fit_intercept": fit_intercept}
    model = Ridge(0.7, **settings).fit(csr_array(X) if sparse else X, y, sample_weight=w)
    rival = theirs.Ridge(0.7, tol=1e-14, max_iter=100_000, **settings).fit(X, y, sample_weight=w)
    assert (model.coef_ >= 0).all() and (model.coef_ == 0).any()
    assert_allclose(model.coef_, rival.coef_, atol=1e-5)

    def objective(fit):
        left = (y - fit.predict(X)).reshape(len(X), -1)
        return np.sum(w[:, None] * left**2) + 0.7 * np.sum(fit.coef_**2)

    assert objective(model) <= objective(rival) * (1 + 1e-9)


def test_one_penalty_an_output_also_without_negative_coefficients():
    X, Y = surface(outputs=3)
    alpha = [0.1, 5.0, 0.0]
    together = Ridge(alpha, positive=True).fit(X, Y)
    for k in range(3):
        assert_allclose(together.coef_[k], Ridge(alpha[k], positive=True).fit(X, Y[:, k]).coef_, **TIGHT)


def test_a_penalised_offset_is_a_column_of_ones():
    X, Y = surface(outputs=2)
    ones = theirs.Ridge(0.7, fit_intercept=False).fit(np.column_stack([np.ones(len(X)), X]), Y)
    model = Ridge(0.7, penalize_bias=True).fit(X, Y)
    assert_allclose(np.column_stack([model.intercept_, model.coef_]), ones.coef_, **TIGHT)
    assert_allclose(model.predict(X), ones.predict(np.column_stack([np.ones(len(X)), X])), **TIGHT)


@pytest.mark.parametrize("prior", [[1.0, 2.0], [[0.0] * 6], "much", [np.nan] * 6])
def test_a_prior_mean_of_another_shape_is_refused(prior):
    X, Y = surface(outputs=3)
    with pytest.raises(ValueError, match="prior_mean"):
        Ridge(prior_mean=prior).fit(X, Y)
