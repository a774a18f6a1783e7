"""Weak penalties on wide tables took minutes: passes over the coordinates crept along a valley that is nearly flat."""

import numpy as np
import pytest

from fivefold.linear_model import ElasticNet, MultiTaskLasso


@pytest.mark.parametrize("ratio", [0.7, 1.0])
@pytest.mark.parametrize("alpha", [1e-4, 1e-5, 1e-8])
@pytest.mark.parametrize("shape", [(75, 500), (100, 1500)])
def test_a_handful_of_steps_close_the_gap(alpha, ratio, shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = X[:, :20] @ rng.standard_normal(20) + 0.5 * rng.standard_normal(shape[0])
    model = ElasticNet(alpha=alpha, l1_ratio=ratio).fit(X, y)
    assert model.n_iter_ <= 8
    assert model.dual_gap_ <= 1e-10 * np.var(y)


def test_columns_of_unlike_scale_do_not_keep_it_going():
    """The gap that rounding leaves was worked on for every one of max_iter steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 300))
    X[:, 7], X[:, 9], X[:, 10] = X[:, 8], 1e6 * X[:, 9], 1e-6 * X[:, 10]
    y = X[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(60)
    model = ElasticNet(alpha=1e-10, l1_ratio=1.0).fit(X, y)
    assert model.n_iter_ <= 50
    assert model.dual_gap_ <= 1e-4 * np.var(y)


def test_rows_of_coefficients_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((75, 500))
    Y = X[:, :20] @ rng.standard_normal((20, 3)) + 0.5 * rng.standard_normal((75, 3))
    model = MultiTaskLasso(alpha=1e-5).fit(X, Y)
    assert model.n_iter_ <= 8
    assert model.dual_gap_ <= 1e-10 * np.var(Y, axis=0).sum()
