"""PCA and TruncatedSVD beside scikit-learn's, on the same data and settings."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris
from tables import seeded

from fivefold.decomposition import PCA, TruncatedSVD

LEARNED = (
    "components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "noise_variance_",
    "n_components_", "n_samples_", "n_features_in_",
)  # fmt: skip


def table(n, d, seed=0):
    """Rows with well separated principal values, so that no two axes can change places."""
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return rng.normal(size=(n, d)) * 0.8 ** np.arange(d) @ axes + rng.normal(size=d)


def both(cls, X, **settings):
    rival = getattr(sklearn.decomposition, cls.__name__)
    return seeded(cls(**settings)).fit(X), seeded(rival(**settings)).fit(X)


def assert_same_signature(ours, rival):
    theirs = inspect.signature(rival).parameters
    mine = inspect.signature(ours).parameters
    assert list(mine)[: len(theirs)] == list(theirs)
    for name, parameter in theirs.items():
        assert (mine[name].kind, mine[name].default) == (parameter.kind, parameter.default), name


@pytest.mark.parametrize("cls", [PCA, TruncatedSVD])
def test_parameters_are_those_of_scikit_learn_in_order_with_its_defaults(cls):
    assert_same_signature(cls, getattr(sklearn.decomposition, cls.__name__))


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize(
    ("solver", "k"),
    [("auto", None), ("auto", 3), ("auto", 0.9), ("auto", "mle"), ("full", None), ("full", 0), ("full", 0.8),
     ("full", "mle"), ("covariance_eigh", 4), ("covariance_eigh", 0.7), ("arpack", 3), ("arpack", None)],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(40, 12), (300, 12), (600, 12)])
def test_exact_solvers_learn_what_scikit_learn_learns(shape, solver, k, whiten):
    X = table(*shape)
    ours, rival = both(PCA, X, n_components=k, svd_solver=solver, whiten=whiten, random_state=0)
    for name in LEARNED:
        # squares of singular values are exact to 1e-15 of the largest, which is about 100 times the smallest here
        assert_allclose(getattr(ours, name), getattr(rival, name), rtol=1e-9, atol=1e-11, err_msg=name)
    Z = rival.transform(X)
    assert_allclose(ours.transform(X), Z, rtol=1e-8, atol=1e-9)
    if k == 0:  # nothing to restore from
        return
    assert_allclose(ours.fit_transform(X), rival.fit_transform(X), rtol=1e-8, atol=1e-9)
    assert_allclose(ours.inverse_transform(Z), rival.inverse_transform(Z), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(60, 700), (900, 300)])
@pytest.mark.parametrize("normaliser", ["auto", "QR", "LU", "none"])
def test_the_same_seed_gives_the_same_random_sketch(shape, normaliser):
    """The sketch draws the same vectors and spans the same space, so the results agree far below its own error."""
    X = table(*shape)
    settings = {"n_components": 5, "svd_solver": "randomized", "power_iteration_normalizer": normaliser}
    ours, rival = both(PCA, X, random_state=3, iterated_power=2 if normaliser == "none" else "auto", **settings)
    for name in LEARNED:
        assert_allclose(getattr(ours, name), getattr(rival, name), rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("n", "d", "solver"), [(30, 400, "gram"), (50, 500, "auto"), (80, 6, "gram"), (80, 6, "power")]
)
def test_our_own_solvers_agree_with_scikit_learns_full_decomposition(n, d, solver):
    X = table(n, d)
    ours = PCA(4, svd_solver=solver, random_state=0).fit(X)
    rival = sklearn.decomposition.PCA(4, svd_solver="full").fit(X)
    for name in LEARNED:
        assert_allclose(getattr(ours, name), getattr(rival, name), rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("k", [2, 5, None])
def test_the_density_is_that_of_scikit_learn(k):
    X = load_iris().data if k != 5 else table(200, 9)
    ours, rival = both(PCA, X, n_components=k)
    assert_allclose(ours.get_covariance(), rival.get_covariance(), rtol=1e-9, atol=1e-12)
    assert_allclose(ours.get_precision(), rival.get_precision(), rtol=1e-8)  # its inverse loses the condition number
    assert_allclose(ours.score_samples(X), rival.score_samples(X), rtol=1e-9)
    assert ours.score(X) == pytest.approx(rival.score(X), rel=1e-10)


def test_whitening_does_not_change_the_density():
    """scikit-learn scales the axes by the variances a second time when whiten=True."""
    X = load_iris().data
    plain, white = PCA(2).fit(X), PCA(2, whiten=True).fit(X)
    assert_allclose(white.get_covariance(), plain.get_covariance())
    assert_allclose(white.score_samples(X), plain.score_samples(X))


@pytest.mark.parametrize("solver", ["auto", "arpack", "covariance_eigh"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix])
def test_sparse_tables_are_centred_without_being_filled(solver, form):
    X = form(sp.random_array((120, 40), density=0.1, rng=np.random.default_rng(0)))
    ours, rival = both(PCA, X, n_components=5, svd_solver=solver, random_state=0)
    for name in LEARNED:
        assert_allclose(getattr(ours, name), getattr(rival, name), rtol=1e-8, atol=1e-10, err_msg=name)
    assert_allclose(ours.transform(X), rival.transform(X), rtol=1e-7, atol=1e-10)
    dense = PCA(5, svd_solver="full").fit(X.toarray())
    assert_allclose(ours.explained_variance_, dense.explained_variance_, rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
def test_truncated_svd_learns_what_scikit_learn_learns(form, algorithm):
    X = form(load_digits().data[:300])
    ours, rival = both(TruncatedSVD, X, n_components=7, algorithm=algorithm, random_state=1)
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(ours, name), getattr(rival, name), rtol=1e-7, atol=1e-9, err_msg=name)
    Z = rival.transform(X)
    assert_allclose(ours.transform(X), Z, rtol=1e-7, atol=1e-8)
    assert_allclose(ours.inverse_transform(Z), rival.inverse_transform(Z), rtol=1e-7, atol=1e-8)


def test_float32_stays_float32_and_is_no_worse_than_scikit_learns():
    X = table(5000, 20).astype(np.float32)
    ours, rival = both(PCA, X, n_components=5)
    exact = sklearn.decomposition.PCA(5).fit(X.astype(np.float64))
    for name in ("components_", "explained_variance_", "mean_", "singular_values_"):
        assert getattr(ours, name).dtype == np.float32
        error, rivals = (np.abs(getattr(m, name) - getattr(exact, name)).max() for m in (ours, rival))
        assert error <= 2 * rivals + np.finfo(np.float32).eps * np.abs(getattr(exact, name)).max()
    assert ours.transform(X).dtype == ours.inverse_transform(ours.transform(X)).dtype == np.float32
    assert ours.score_samples(X).dtype == rival.score_samples(X).dtype


def test_far_from_zero_the_fit_keeps_digits_that_scikit_learn_loses():
    """At an offset of 1e8 the rows hold eight digits of their spread; scikit-learn's scatter matrix holds none."""
    X = np.round(table(2000, 8), 6)
    far = X + 1e8
    near = PCA(3).fit(far - 1e8)
    ours, rival = both(PCA, far, n_components=3)
    assert_allclose(ours.explained_variance_, near.explained_variance_, rtol=1e-12)
    assert_allclose(ours.components_, near.components_, atol=1e-11)
    assert_allclose(ours.transform(far), near.transform(far - 1e8), atol=1e-7)  # the mean itself is rounded to 1.5e-8
    assert np.abs(rival.explained_variance_ / near.explained_variance_ - 1).max() > 1e-3
