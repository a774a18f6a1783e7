"""Formats, memory and missing columns of the transformers, as scikit-learn has them."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.preprocessing
from numpy.testing import assert_allclose

import fivefold.preprocessing

X = np.random.RandomState(0).normal(size=(7, 3)) * (np.random.RandomState(1).rand(7, 3) < 0.6)


def both(name, **settings):
    return [getattr(chapter, name)(**settings) for chapter in (fivefold.preprocessing, sklearn.preprocessing)]


@pytest.mark.parametrize("degree", [2, 4])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.csc_array])
def test_products_of_a_sparse_matrix_have_scikit_learns_format(kind, degree):
    ours, theirs = (m.fit_transform(kind(X)) for m in both("PolynomialFeatures", degree=degree))
    assert ours.format == theirs.format
    assert_allclose(ours.toarray(), theirs.toarray())


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix, sp.csr_array])
def test_copy_false_overwrites_what_it_is_given_and_true_does_not(kind, norm):
    for model in both("Normalizer", norm=norm, copy=False):
        given = kind(X)
        assert model.transform(given) is given
        assert model.transform(kind(X), copy=True) is not given


@pytest.mark.parametrize("knots", ["uniform", "quantile"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic", "error"])
def test_a_column_without_a_value_has_no_spline(extrapolation, sparse, knots):
    table = np.array([[np.nan, np.nan], [np.nan, 1.0], [np.nan, 2.0]])
    model = fivefold.preprocessing.SplineTransformer(
        n_knots=3, degree=2, knots=knots, extrapolation=extrapolation, handle_missing="zeros", sparse_output=sparse
    )
    made = model.fit_transform(table)
    made = made.toarray() if sparse else made
    assert (made[:, : made.shape[1] // 2] == 0).all()
    assert np.isfinite(made).all()
