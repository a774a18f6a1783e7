"""Linear and quadratic discriminant analysis beside scikit-learn's, on the same problem.

Both sides solve small well-conditioned systems in float64, so they agree to 1e-8 with digits to spare; the sign of
an axis is free.
"""

from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import covariance
from sklearn import discriminant_analysis as theirs
from sklearn.datasets import load_iris, load_wine

from fivefold import discriminant_analysis as ours

NAMES = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
LINEAR = [
    {},
    {"store_covariance": True},
    {"n_components": 1},
    {"solver": "lsqr"},
    {"solver": "lsqr", "shrinkage": 0.3},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "lsqr", "covariance_estimator": covariance.OAS()},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": 0.5},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "eigen", "covariance_estimator": covariance.LedoitWolf()},
]
QUADRATIC = [
    {"store_covariance": True},
    {"reg_param": 0.3, "store_covariance": True},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
    {"solver": "eigen", "covariance_estimator": covariance.LedoitWolf()},
]


def gaussians(K, n=400, d=5, seed=0):
    """Rows of K Gaussian classes of unequal size, columns of unequal scale."""
    rng = np.random.default_rng(seed)
    y = rng.choice(K, n, p=np.arange(1, K + 1) / (K * (K + 1) / 2))
    mix = rng.normal(size=(K, d, d)) * rng.uniform(0.3, 3, d)
    return np.einsum("nd,nde->ne", rng.normal(size=(n, d)), mix[y]) + 3 * rng.normal(size=(K, d))[y] + 7, y


def assert_same(ours, theirs, names):
    for name in names:
        if hasattr(theirs, name):
            assert_allclose(getattr(ours, name), np.asarray(getattr(theirs, name)), rtol=1e-8, atol=1e-9, err_msg=name)


def assert_same_up_to_sign(ours, theirs):
    sign = np.sign((ours * theirs).sum(axis=0))
    assert_allclose(ours * sign, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_is_the_same(name):
    mine, rival = (signature(getattr(module, name)).parameters.values() for module in (ours, theirs))
    assert [(p.name, p.default, p.kind) for p in mine] == [(p.name, p.default, p.kind) for p in rival]


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("options", LINEAR, ids=str)
def test_linear_analysis_is_the_same(options, K, priors):
    X, y = gaussians(K)
    options = {**options, "priors": np.arange(K, 0, -1) / (K * (K + 1) / 2) if priors else None}
    model, rival = (m.LinearDiscriminantAnalysis(**options).fit(X, y) for m in (ours, theirs))
    assert_same(
        model,
        rival,
        ["coef_", "intercept_", "means_", "priors_", "covariance_", "explained_variance_ratio_", "xbar_", "classes_"],
    )
    assert_allclose(model.decision_function(X), rival.decision_function(X), rtol=1e-8, atol=1e-8)
    assert_allclose(model.predict_proba(X), rival.predict_proba(X), rtol=1e-8, atol=1e-12)
    assert_array_equal(model.predict(X), rival.predict(X))
    if model.solver != "lsqr":
        k = rival.transform(X).shape[1]
        assert_same_up_to_sign(model.transform(X), rival.transform(X))
        assert_same_up_to_sign(model.scalings_[:, :k], rival.scalings_[:, :k])


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("options", QUADRATIC, ids=str)
def test_quadratic_analysis_is_the_same(options, K):
    X, y = gaussians(K)
    model, rival = (m.QuadraticDiscriminantAnalysis(**options).fit(X, y) for m in (ours, theirs))
    assert_same(model, rival, ["means_", "priors_", "covariance_", "scalings_", "classes_"])
    assert_allclose(model.decision_function(X), rival.decision_function(X), rtol=1e-8, atol=1e-8)
    assert_allclose(model.predict_log_proba(X), rival.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    assert_array_equal(model.predict(X), rival.predict(X))
    for mine, other in zip(model.rotations_, rival.rotations_, strict=True):
        assert_same_up_to_sign(mine, other)


def test_log_probabilities_agree_where_scikit_learn_does_not_clip():
    X, y = load_iris(return_X_y=True)
    model, rival = (m.LinearDiscriminantAnalysis().fit(X, y) for m in (ours, theirs))
    assert_allclose(model.predict_log_proba(X), rival.predict_log_proba(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [60, 12])
@pytest.mark.parametrize("solver", ["svd", "lsqr"])
def test_collinear_and_wide_tables_get_the_same_predictions(solver, n):
    """Twenty columns of rank six; with twelve rows there are more columns than rows."""
    rng = np.random.default_rng(1)
    Z, y = rng.normal(size=(n, 6)), np.arange(n) % 3
    Z[:, :2] += 2 * np.eye(3)[y, :2]
    X, new = Z @ (B := rng.normal(size=(6, 20))), rng.normal(size=(200, 6)) @ B
    model, rival = (m.LinearDiscriminantAnalysis(solver=solver).fit(X, y) for m in (ours, theirs))
    assert_array_equal(model.predict(new), rival.predict(new))
    assert_allclose(model.predict_proba(new), rival.predict_proba(new), rtol=1e-6, atol=1e-9)


def test_a_faint_direction_is_taken_from_the_rows():
    """The spread of the last column about the first is 1e-3 of it: its square would have lost six digits."""
    rng = np.random.default_rng(2)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 3)) + np.eye(3)[y]
    X = np.column_stack([X, X[:, 0] + 1e-3 * (rng.normal(size=300) + y)])
    model, rival = (m.LinearDiscriminantAnalysis().fit(X, y) for m in (ours, theirs))
    assert_allclose(model.coef_, rival.coef_, rtol=1e-8)


@pytest.mark.parametrize("options", [{}, {"solver": "lsqr", "shrinkage": "auto"}, {"solver": "eigen"}], ids=str)
def test_weighted_linear_analysis_is_the_rival_on_repeated_rows(options):
    X, y = load_wine(return_X_y=True)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    model = ours.LinearDiscriminantAnalysis(**options).fit(X, y, sample_weight=times)
    rival = theirs.LinearDiscriminantAnalysis(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    # wine's columns span five powers of ten; lstsq and eigh lose about as many digits of small coefficients
    assert_allclose(model.coef_, rival.coef_, rtol=1e-6, atol=1e-8 * np.abs(rival.coef_).max())
    assert_allclose(model.predict_proba(X), rival.predict_proba(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("options", [{"reg_param": 0.1}, {"solver": "eigen", "shrinkage": "auto"}], ids=str)
def test_weighted_quadratic_analysis_is_the_rival_on_repeated_rows(options):
    X, y = load_iris(return_X_y=True)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    model = ours.QuadraticDiscriminantAnalysis(**options).fit(X, y, sample_weight=times)
    rival = theirs.QuadraticDiscriminantAnalysis(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(model.scalings_, rival.scalings_, rtol=1e-8)
    assert_allclose(model.predict_proba(X), rival.predict_proba(X), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_learned_from_float32_is_float32_as_there(name):
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model, rival = (getattr(m, name)().fit(X, y) for m in (ours, theirs))
    for attribute in ("coef_", "intercept_", "means_", "xbar_", "scalings_", "explained_variance_ratio_"):
        if hasattr(rival, attribute):
            assert np.asarray(getattr(model, attribute)).dtype == np.asarray(getattr(rival, attribute)).dtype
