"""What partial least squares and canonical correlations must satisfy by their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.cross_decomposition import CCA, PLSSVD, PLSCanonical, PLSRegression
from fivefold.linear_model import LinearRegression


@pytest.fixture
def tables():
    rng = np.random.RandomState(3)
    latent = rng.normal(size=(150, 2))
    return (
        latent @ rng.normal(size=(2, 5)) + rng.normal(size=(150, 5)),
        latent @ rng.normal(size=(2, 3)) + rng.normal(size=(150, 3)),
    )


def test_canonical_correlations_lie_between_zero_and_one_and_ignore_linear_maps(tables):
    """B-133."""
    X, Y = tables
    found = CCA(3).fit(X, Y).correlations(X, Y)
    assert (np.diff(found) <= 0).all() and (found >= 0).all() and (found <= 1).all()
    rng = np.random.RandomState(0)
    A, B = X @ rng.normal(size=(5, 5)) + 7, Y @ rng.normal(size=(3, 3)) - 2
    assert_allclose(CCA(3).fit(A, B).correlations(A, B), found, atol=1e-10)


def test_single_columns_have_the_correlation_of_pearson(tables):
    """B-133."""
    X, Y = tables[0][:, :1], tables[1][:, :1]
    assert_allclose(CCA(1).fit(X, Y).correlations(X, Y), abs(np.corrcoef(X[:, 0], Y[:, 0])[0, 1]), rtol=1e-12)


def test_canonical_correlations_are_singular_values_of_the_whitened_covariance(tables):
    X, Y = tables
    (Q, _), (P, _) = (np.linalg.qr(Z - Z.mean(axis=0)) for Z in tables)
    assert_allclose(CCA(3).fit(X, Y).correlations(X, Y), np.linalg.svd(Q.T @ P, compute_uv=False), rtol=1e-10)


def test_collinear_columns_change_no_correlation(tables):
    X, Y = tables
    wide = np.column_stack([X, X @ [1, 2, 0, 0, -1], X[:, 0]])
    assert_allclose(CCA(3).fit(wide, Y).correlations(wide, Y), CCA(3).fit(X, Y).correlations(X, Y), rtol=1e-8)


def test_with_all_components_regression_is_least_squares(tables):
    X, Y = tables
    assert_allclose(PLSRegression(5).fit(X, Y).predict(X), LinearRegression().fit(X, Y).predict(X), rtol=1e-8)


def test_scores_of_different_components_are_uncorrelated(tables):
    X, Y = tables
    for model in (PLSRegression(3), PLSCanonical(3), CCA(3)):
        t = model.fit(X, Y).transform(X)
        gram = t.T @ t
        assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * gram.max())


def test_a_second_component_of_a_target_that_is_already_explained_is_zero_and_said():
    X = np.random.RandomState(0).normal(size=(30, 3))
    X -= X.mean(axis=0)
    X[:, 1:] -= np.outer(X[:, 0], X[:, 0] @ X[:, 1:]) / (X[:, 0] @ X[:, 0])
    with pytest.warns(UserWarning, match="constant at iteration 1.*1 of 2 components were found"):
        model = PLSRegression(2, scale=False).fit(X, 2 * X[:, 0])
    assert_allclose(model.predict(X), 2 * X[:, 0], atol=1e-10)
    assert (model.x_rotations_[:, 1] == 0).all()


def test_another_number_of_targets_is_refused(tables):
    X, Y = tables
    with pytest.raises(ValueError, match="y has 2 columns, but fit saw 3"):
        PLSSVD(2).fit(X, Y).transform(X, Y[:, :2])
