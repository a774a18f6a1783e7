"""Huber regression beside scikit-learn's at a tight tolerance."""

from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import linear_model as theirs

from fivefold.linear_model import HuberRegressor, LeastAbsoluteRegressor, LinearRegression


def rows(n=200, d=5, seed=0, gross=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2
    y = X @ rng.normal(size=d) + rng.normal(size=n) + 5
    y[:gross] += 60
    return X, y, rng.integers(1, 4, n).astype(float)


def huber_sum(model, X, y, w):
    """What both minimise, from coefficients, offset and scale."""
    sigma, e = model.scale_, model.epsilon
    z = np.abs(y - X @ model.coef_ - model.intercept_) / sigma
    loss = np.where(z < e, z**2, 2 * e * z - e**2)
    return float(w @ (sigma + loss * sigma) + model.alpha * model.coef_ @ model.coef_)


def test_the_signature_is_the_same():
    mine, rival = (signature(cls).parameters.values() for cls in (HuberRegressor, theirs.HuberRegressor))
    assert [(p.name, p.default, p.kind) for p in mine] == [(p.name, p.default, p.kind) for p in rival]


@pytest.mark.parametrize("more", [{}, {"epsilon": 1.1}, {"alpha": 5.0}, {"fit_intercept": False}])
@pytest.mark.parametrize("sparse", [False, True])
def test_no_sum_is_lower_and_coefficients_are_the_same(more, sparse):
    X, y, w = rows()
    given = sp.csr_array(X) if sparse else X
    model = HuberRegressor(**more).fit(given, y, w)
    rival = theirs.HuberRegressor(max_iter=10_000, tol=1e-12, **more).fit(given, y, w)
    assert huber_sum(model, X, y, w) <= huber_sum(rival, X, y, w) * (1 + 1e-12)
    # scikit-learn stops by the fall of the sum, 1e-9 of it: the root of that is left in the coefficients
    assert_allclose(model.coef_, rival.coef_, atol=1e-3)
    assert model.scale_ == pytest.approx(rival.scale_, rel=1e-3)
    assert (model.outliers_ == rival.outliers_).mean() > 0.99
    assert model.outliers_[:8].all()


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_vanishes_in_coefficients_offset_and_scale(seed):
    """The conditions of the minimum, written out: rounding of sums of 200 terms near 10 is left."""
    X, y, w = rows(seed=seed)
    model = HuberRegressor(alpha=0.3).fit(X, y, w)
    z = (y - model.predict(X)) / model.scale_
    pull = w * np.clip(z, -1.35, 1.35)
    assert_allclose(X.T @ pull, 0.3 * model.coef_, atol=1e-7)
    assert abs(pull.sum()) < 1e-8
    assert w @ np.minimum(z**2, 1.35**2) == pytest.approx(w.sum(), rel=1e-10)


def test_a_large_epsilon_is_least_squares():
    """A-37: no residual is beyond 100 times the scale, so the squares decide alone."""
    X, y, w = rows()
    model = HuberRegressor(epsilon=100.0, alpha=0.0).fit(X, y, w)
    assert_allclose(model.coef_, LinearRegression().fit(X, y, w).coef_, rtol=1e-7)
    assert not model.outliers_.any()


def test_an_outlier_pulls_no_further_than_its_side():
    """A-37, E-56: moving a target from 1e2 to 1e8 leaves the surface where it is; least squares follows it."""
    X, y, _ = rows(gross=0)
    clean = {cls: cls().fit(X, y).coef_ for cls in (HuberRegressor, LeastAbsoluteRegressor, LinearRegression)}
    moved = {cls: [] for cls in clean}
    for size in (1e2, 1e8):
        spoiled = y.copy()
        spoiled[3] = size
        for cls in clean:
            moved[cls].append(np.abs(cls().fit(X, spoiled).coef_ - clean[cls]).max())
    assert moved[LinearRegression][1] > 1e5 and moved[LinearRegression][1] > 1e5 * moved[LinearRegression][0]
    for cls in (HuberRegressor, LeastAbsoluteRegressor):
        assert moved[cls][1] < 0.1
        assert moved[cls][1] == pytest.approx(moved[cls][0], rel=1e-4)


def test_a_surface_through_every_row_has_no_scale():
    X, _, _ = rows(40)
    model = HuberRegressor(alpha=0.0).fit(X, X @ np.arange(5.0) + 1)
    assert_allclose(model.coef_, np.arange(5.0), atol=1e-9)
    assert model.scale_ < 1e-10
    constant = HuberRegressor().fit(X, np.full(40, 3.0))
    assert_allclose(constant.predict(X), 3.0)


def test_a_warm_start_needs_no_further_step():
    X, y, w = rows()
    model = HuberRegressor(warm_start=True).fit(X, y, w)
    first = model.coef_
    assert model.fit(X, y, w).n_iter_ <= 1
    assert_allclose(model.coef_, first, rtol=1e-10)


def test_units_of_the_target_change_nothing_but_the_unit():
    X, y, w = rows()
    one, other = HuberRegressor(alpha=0.0).fit(X, y, w), HuberRegressor(alpha=0.0).fit(X, 1e6 * y, w)
    assert_allclose(other.coef_, 1e6 * one.coef_, rtol=1e-8)
    assert other.scale_ == pytest.approx(1e6 * one.scale_, rel=1e-8)


@pytest.mark.parametrize("noise", [1e-3, 1e-7, 1e-10])
def test_a_surface_through_nearly_every_row_is_found(noise):
    """As the noise shrinks the scale does, in proportion; nothing else changes."""
    X, y, _ = rows(100, gross=0)
    e = y - LinearRegression().fit(X, y).predict(X)
    surface = X @ np.arange(5.0)
    model, unit = (HuberRegressor(alpha=0.0).fit(X, surface + size * e) for size in (noise, 1.0))
    assert model.scale_ == pytest.approx(noise * unit.scale_, rel=1e-3)
    assert_allclose(model.coef_ - np.arange(5.0), noise * (unit.coef_ - np.arange(5.0)), atol=1e-3 * noise)
