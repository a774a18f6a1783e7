"""Polynomial and spline features beside scikit-learn's: the same products and recurrences, so equal up to rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn import preprocessing as theirs

from fivefold.preprocessing import Normalizer, PolynomialFeatures, SplineTransformer

X = np.random.default_rng(0).normal(size=(40, 4))
HOLES = np.where(np.random.default_rng(1).random(X.shape) < 0.4, X, 0)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, (0, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_and_their_names_are_the_same(degree, interaction_only, order):
    """E-120, C-121."""
    setting = {"degree": degree, "interaction_only": interaction_only, "order": order}
    model, rival = (cls(**setting).fit(X) for cls in (PolynomialFeatures, theirs.PolynomialFeatures))
    out = model.transform(X)
    assert_allclose(out, rival.transform(X), rtol=1e-13)
    assert out.flags[f"{order}_CONTIGUOUS"]
    assert model.n_output_features_ == rival.n_output_features_
    np.testing.assert_array_equal(model.powers_, rival.powers_)
    assert list(model.get_feature_names_out()) == list(rival.get_feature_names_out())


@pytest.mark.parametrize("degree", [1, 2, 3, 4, (2, 3)])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("include_bias", [False, True])
def test_sparse_products_are_those_of_the_dense_table(degree, interaction_only, include_bias):
    model = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=include_bias)
    out = model.fit_transform(csr_matrix(HOLES))
    assert_allclose(out.toarray(), model.fit_transform(HOLES), rtol=1e-13)
    assert out.nnz == np.count_nonzero(model.fit_transform(HOLES))


def test_too_many_products_are_refused():
    with pytest.raises(ValueError, match="too large to be indexed"):
        PolynomialFeatures(60).fit(np.ones((2, 200)))


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
@pytest.mark.parametrize("knots", ["uniform", "quantile", "given"])
@pytest.mark.parametrize("include_bias", [True, False])
def test_splines_are_the_same_inside_and_beyond_the_knots(degree, extrapolation, knots, include_bias):
    own = np.sort(np.random.default_rng(2).normal(size=(6, 4)), axis=0)
    setting = {"degree": degree, "extrapolation": extrapolation, "include_bias": include_bias}
    setting["knots"] = own if knots == "given" else knots
    model, rival = (cls(**setting).fit(X) for cls in (SplineTransformer, theirs.SplineTransformer))
    wide = np.vstack([X, 3 * X])
    # far beyond the knots polynomials grow to thousands, and both sides round
    assert_allclose(model.transform(wide), rival.transform(wide), rtol=1e-9, atol=1e-9)
    assert list(model.get_feature_names_out()) == list(rival.get_feature_names_out())
    sparse = SplineTransformer(**setting, sparse_output=True).fit(X).transform(wide)
    assert_allclose(sparse.toarray(), model.transform(wide), atol=1e-12)


def test_splines_of_missing_values_are_zero_and_values_beyond_are_refused():
    Z = X.copy()
    Z[3, 1] = np.nan
    setting = {"handle_missing": "zeros"}
    model, rival = (cls(**setting).fit(Z) for cls in (SplineTransformer, theirs.SplineTransformer))
    assert_allclose(model.transform(Z), rival.transform(Z), atol=1e-12)
    with pytest.raises(ValueError, match=r"beyond the limits of the knots: column 0 holds"):
        SplineTransformer(extrapolation="error").fit(X).transform(10 * X)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_rows_of_unit_length_are_the_same(norm):
    """B-81."""
    expected = theirs.Normalizer(norm).fit_transform(HOLES)
    assert_allclose(Normalizer(norm).fit_transform(HOLES), expected, rtol=1e-12)
    assert_allclose(Normalizer(norm).fit_transform(csr_matrix(HOLES)).toarray(), expected, rtol=1e-12)
