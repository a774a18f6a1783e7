"""Partial least squares and canonical correlations beside scikit-learn's, iterated until they stand still."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import cross_decomposition as rival

from fivefold import cross_decomposition as ours

LEARNED = (
    "x_weights_",
    "y_weights_",
    "x_loadings_",
    "y_loadings_",
    "x_rotations_",
    "y_rotations_",
    "coef_",
    "intercept_",
    "x_scores_",
    "y_scores_",
)


def two_tables(n=200, d=6, q=4, seed=0):
    rng = np.random.RandomState(seed)
    latent = rng.normal(size=(n, 3))
    return (latent @ rng.normal(size=(3, k)) + rng.normal(size=(n, k)) + 5 for k in (d, q))


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("name", ["PLSRegression", "PLSCanonical", "CCA", "PLSSVD"])
def test_directions_loadings_and_coefficients_are_scikit_learns(name, scale):
    X, Y = two_tables()
    exact = {} if name == "PLSSVD" else {"tol": 1e-24, "max_iter": 20_000}
    peer = getattr(rival, name)(3, scale=scale, **exact).fit(X, Y)
    model = getattr(ours, name)(3, scale=scale).fit(X, Y)
    for attribute in LEARNED:
        if hasattr(peer, attribute):
            want = getattr(peer, attribute)
            # power iteration stops where its steps are 1e-12, which a close pair of singular values magnifies
            assert_allclose(getattr(model, attribute), want, atol=1e-7 * np.abs(want).max(), err_msg=attribute)
    for mine, theirs in zip(model.transform(X, Y), peer.transform(X, Y), strict=True):
        assert_allclose(mine, theirs, atol=1e-6)
    if name != "PLSSVD":
        assert_allclose(model.predict(X), peer.predict(X), atol=1e-6)
        for mine, theirs in zip(
            model.inverse_transform(*model.transform(X, Y)), peer.inverse_transform(*peer.transform(X, Y)), strict=True
        ):
            assert_allclose(mine, theirs, atol=1e-6)


def test_long_tables_are_reduced_to_their_triangular_factor_without_loss():
    X, Y = two_tables(n=20_000, d=5, q=3)
    peer, model = (library.PLSRegression(5).fit(X, Y) for library in (rival, ours))
    assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
