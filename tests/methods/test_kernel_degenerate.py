"""Inputs on which kernel methods fall over elsewhere: an answer, or a diagnosis in words before memory is asked for."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.core.storage import memory_limits
from fivefold.cross_decomposition import KernelCCA
from fivefold.decomposition import KernelLDA, KernelPCA
from fivefold.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from fivefold.kernel_ridge import KernelRidge, KernelRidgeClassifier
from fivefold.kernels import RBF, FunctionKernel, Gram, check_positive_definite
from fivefold.smoothing import SmoothingSpline
from fivefold.svm import SVC, SVDD, SVR, KernelLogisticRegression, NuSVC, NuSVR, OneClassSVM

rng = np.random.default_rng(8)
X = rng.normal(size=(50, 3))
LABELS = np.where(X[:, 0] > 0, "a", "b")
VALUE = X[:, 0] + 0.1 * rng.normal(size=50)
WHOLE_GRAM = {  # every method that needs all pairs of rows, and its target
    "KernelRidge": (KernelRidge(kernel="rbf", solver="cholesky"), VALUE),
    "KernelRidgeClassifier": (KernelRidgeClassifier(solver="eigen"), LABELS),
    "SmoothingSpline": (SmoothingSpline(), VALUE),
    "GaussianProcessRegressor": (GaussianProcessRegressor(RBF()), VALUE),
    "GaussianProcessClassifier": (GaussianProcessClassifier(RBF()), LABELS),
    "KernelPCA": (KernelPCA(2, kernel="rbf"), None),
    "KernelLDA": (KernelLDA(), LABELS),
    "KernelCCA": (KernelCCA(1), VALUE),
    "KernelLogisticRegression": (KernelLogisticRegression(), LABELS),
}
MACHINES = {
    "SVC": (SVC(), LABELS),
    "NuSVC": (NuSVC(nu=0.3), LABELS),
    "SVR": (SVR(), VALUE),
    "NuSVR": (NuSVR(), VALUE),
    "OneClassSVM": (OneClassSVM(), None),
    "SVDD": (SVDD(), None),
}
ALL = {**WHOLE_GRAM, **MACHINES}


def answers(model, rows):
    name = next(n for n in ("decision_function", "predict_proba", "predict", "transform") if hasattr(model, n))
    if isinstance(model, (KernelPCA, KernelLDA, KernelCCA)):
        name = "transform"
    found = getattr(model, name)(rows)
    return np.asarray(found, dtype=float)


@pytest.mark.parametrize("name", WHOLE_GRAM)
def test_a_gram_matrix_beyond_memory_is_refused_in_words_before_it_is_made(name, monkeypatch):
    model, y = WHOLE_GRAM[name]
    monkeypatch.setattr(memory_limits, "SMALL_REQUEST", 0)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 1000)
    monkeypatch.setattr(RBF, "__call__", lambda *args, **options: pytest.fail("the matrix was made"))
    with pytest.raises(MemoryError, match=r"50 rows need about .* are free\. [A-Z]"):
        model.fit(X, y)


@pytest.mark.parametrize("name", ALL)
def test_rows_that_are_all_equal_get_an_answer_or_words(name):
    model, y = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = model.fit(np.ones((50, 3)), y)
        except ValueError as error:
            assert len(str(error)) > 30
            return
        assert np.isfinite(answers(found, np.ones((2, 3)))).all()


@pytest.mark.parametrize("name", ALL)
def test_copies_of_rows_with_opposite_targets_get_an_answer(name):
    """Every row twice, with its own target and with another's."""
    model, y = ALL[name]
    rows = np.vstack([X, X])
    both = None if y is None else np.concatenate([y, -y if y.dtype.kind == "f" else np.where(y == "a", "b", "a")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = model.fit(rows, both)
        except ValueError as error:  # NuSVC: no boundary has a width
            assert name == "NuSVC" and "the margin has no width" in str(error)
            return
        assert np.isfinite(answers(found, X)).all()
    if name in ("KernelRidge", "SmoothingSpline", "GaussianProcessRegressor", "SVR"):
        assert_allclose(found.predict(X), 0.0, atol=0.2)  # the targets cancel


def test_a_hard_margin_between_copies_of_opposite_classes_is_said_to_have_no_solution():
    rows, y = np.vstack([X, X[:1]]), np.append(LABELS, "b" if LABELS[0] == "a" else "a")
    with pytest.raises(ValueError, match="infinite C no row may be on the wrong side"):
        SVC(C=np.inf).fit(rows, y)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("name", ALL)
def test_columns_of_any_unit_get_finite_answers(name, scale):
    model, y = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = model.fit(scale * X, y)
        except ValueError as error:
            assert "scale the columns" in str(error) or "no width" in str(error) or "apart" in str(error)
            return
        assert np.isfinite(answers(found, scale * X)).all()


def test_an_indefinite_kernel_is_diagnosed_by_every_method():
    bad = FunctionKernel(lambda a, b: float(np.square(a - b).sum()))
    assert "not a kernel" in str(check_positive_definite(bad, X))
    with pytest.raises(ValueError, match="not positive definite on these objects: its eigenvalues run from -"):
        Gram(bad, X).factor(0.1)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        SVC(kernel=bad).fit(X, LABELS)
    with pytest.raises(ValueError, match="positive definite|negative eigenvalue"):
        KernelPCA(2, kernel=bad).fit(X)
    with pytest.raises(ValueError, match="positive definite"):
        GaussianProcessRegressor(bad, optimizer=None).fit(X, VALUE)
