"""Ridge regression beside scikit-learn's.

Both sides solve the same normal equations of well-conditioned columns in float64: 1e-10 leaves a few digits to spare.
"""

from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model as theirs
from sklearn.datasets import load_diabetes

from fivefold.linear_model import Ridge

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def surface(n=80, d=6, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3
    shape = (d,) if outputs is None else (d, outputs)
    y = X @ rng.normal(size=shape)
    return X, y + rng.normal(size=y.shape) + 5


def test_the_signature_is_the_same():
    mine, rival = (signature(cls).parameters.values() for cls in (Ridge, theirs.Ridge))
    assert [(p.name, p.default, p.kind) for p in mine] == [(p.name, p.default, p.kind) for p in rival]


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


def test_coefficients_of_one_sign_are_refused():
    with pytest.raises(ValueError, match=r"positive=True .* another problem"):
        Ridge(positive=True).fit(*surface())
