"""What the laws cannot say about least squares: warnings, routes, refusals, and sums of many parts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from fivefold.core.numerics.linear_dependence import linear_dependencies
from fivefold.core.numerics.table_moments import cross_moments
from fivefold.core.parallel import MIN_PART_ROWS
from fivefold.linear_model import LinearRegression, RankWarning, RidgeCV


def surface(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def test_the_warning_names_columns_by_the_names_of_the_frame():
    X, y = surface()
    frame = pd.DataFrame(X, columns=["rain", "sun", "wind", "both"])
    frame["both"] = frame["rain"] + frame["sun"]
    with pytest.warns(RankWarning, match=r"only 3 of 4 columns are independent \(both depends on rain, sun\).*Ridge"):
        LinearRegression().fit(frame, y)


def test_many_dependent_columns_are_counted_not_listed():
    X, y = surface(60, 2)
    with pytest.warns(RankWarning, match="and 2 more"):
        LinearRegression().fit(np.column_stack([X, *(k * X[:, 0] for k in range(2, 12))]), y)


@pytest.mark.parametrize("spoil", [np.nan, np.inf])
@pytest.mark.parametrize("n", [60, 3])
@pytest.mark.parametrize("offset", [True, False])
def test_values_that_are_not_finite_are_refused_on_every_route(n, offset, spoil):
    """Moments and QR both find them in their sums; the message names the column."""
    X, y = surface(n)
    X[2, 1] = spoil
    with pytest.raises(ValueError, match="column 1 contains"):
        LinearRegression(fit_intercept=offset).fit(X, y)
    fitted = LinearRegression().fit(*surface(60))
    with pytest.raises(ValueError, match="column 1 contains"):
        fitted.predict(X)


def test_a_summary_is_refused_where_there_is_none():
    X, y = surface()
    with pytest.raises(ValueError, match="kept from being negative"):
        LinearRegression(positive=True).fit(X, y).summary()
    with pytest.raises(ValueError, match=r"5 rows leave no degree of freedom for 5 coefficients"):
        LinearRegression().fit(X[:5], y[:5]).summary()


def test_a_summary_of_dependent_columns_counts_the_rank_and_says_so():
    X, y = surface()
    X[:, 3] = 2 * X[:, 0]
    with pytest.warns(RankWarning):
        model = LinearRegression().fit(X, y)
    found = model.summary()
    assert found.dof == 60 - 4
    assert "Only 3 of 4 columns are independent" in str(found)
    without = LinearRegression().fit(X[:, :3], y).summary()
    assert found.facts["R^2"] == pytest.approx(without.facts["R^2"], rel=1e-12)
    assert_allclose(found.standard_error[[0, 2, 3]], without.standard_error[[0, 2, 3]], rtol=1e-8)


def test_a_summary_of_a_constant_target_says_what_is_not_defined():
    X, _ = surface()
    assert "R^2 and F are not defined" in str(LinearRegression().fit(X, np.zeros(60)).summary())


def test_every_output_has_its_summary():
    X, y = surface()
    both = LinearRegression().fit(X, np.column_stack([y, -2 * y]))
    first, second = both.summary(output=0), both.summary(output=1)
    assert_allclose(second.estimate, -2 * first.estimate, rtol=1e-10)
    assert_allclose(second.p_value, first.p_value, rtol=1e-8)
    assert_allclose(both.noise_precision_[0], 4 * both.noise_precision_[1], rtol=1e-10)


def test_the_intervals_of_a_summary_cover():
    """Of 400 intervals at 90 percent, 360 hold the truth, give or take three standard errors of 6."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        X = rng.normal(size=(15, 2))
        low, high = LinearRegression().fit(X, X[:, 0] + rng.normal(size=15)).summary(level=0.9).interval[1]
        inside += low <= 1 <= high
    assert abs(inside - 360) <= 18


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("shift", "sparse"), [(0.0, False), (1e6, False), (0.0, True)])
def test_cross_moments_are_those_of_one_table(shift, sparse, weighted):
    """Parts of rows are merged about their own means: beside sums about the mean of all, in one go."""
    rng = np.random.default_rng(1)
    n = 3 * MIN_PART_ROWS + 100
    X, Y = rng.normal(size=(n, 3)) + shift, rng.normal(size=(n, 2)) - shift
    w = rng.uniform(0.5, 2, n) if weighted else None
    s = np.ones(n) if w is None else w
    found = cross_moments(csr_array(X) if sparse else X, Y, w)
    mean, offset = np.average(X, axis=0, weights=s), np.average(Y, axis=0, weights=s)
    Z, T = X - mean, Y - offset
    # means at 1e6 are known to 1e-10
    assert_allclose(found.mean, mean, rtol=1e-13, atol=1e-13)
    assert_allclose(found.offset, offset, rtol=1e-13, atol=1e-13)
    assert_allclose(found.scatter, Z.T @ (s[:, None] * Z), rtol=1e-10, atol=1e-6)
    assert_allclose(found.cross, Z.T @ (s[:, None] * T), atol=1e-6)
    assert_allclose(found.spread, s @ T**2, rtol=1e-10)
    bare = found.about_zero()
    assert_allclose(bare.scatter, X.T @ (s[:, None] * X), rtol=1e-9)
    assert_allclose(bare.cross, X.T @ (s[:, None] * Y), rtol=1e-9, atol=1e-6)


def test_moments_of_a_nearly_exact_fit_are_summed_again():
    """The squares left over are a billionth of the spread: their difference would hold no digit."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 3))
    y = 1e5 * X.sum(axis=1) + 1e-3 * rng.normal(size=20_000)
    model = LinearRegression().fit(X, y)
    assert model.solver_ == "cholesky"
    assert model.model_.solution.rest[0] == pytest.approx(np.sum((y - model.predict(X)) ** 2), rel=1e-4)
    assert 1 / model.noise_precision_ == pytest.approx(1e-6, rel=0.05)  # three standard errors of 20,000 squares


def test_dependencies_are_found_from_the_left():
    A = np.array([[0.0, 1.0, 2.0, 1.0, 5.0], [0.0, 0.0, 0.0, 1.0, 5.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    assert linear_dependencies(A) == {0: (), 2: (1,), 4: (3,)}


def test_one_row_cannot_be_left_out():
    with pytest.raises(ValueError, match="two rows of positive weight"):
        RidgeCV().fit([[1.0]], [1.0])
