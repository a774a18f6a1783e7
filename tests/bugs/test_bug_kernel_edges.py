"""Kernel methods on rows that are copies, tables that are constant, columns of unlike scales and indefinite kernels."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fivefold.cross_decomposition import KernelCCA
from fivefold.gaussian_process import GaussianProcessRegressor
from fivefold.kernel_ridge import KernelRidge, base
from fivefold.kernels import RBF, CompoundKernel, ConstantKernel, check_positive_definite, parse
from fivefold.kernels.structured import DeltaKernel
from fivefold.svm import SVC, KernelLogisticRegression, LocalizedMKLClassifier, MultiClassSVC, NuSVC, OneClassSVM

rng = np.random.default_rng(3)
X = rng.normal(size=(60, 4))
LABELS = (X[:, 0] > 0).astype(int)
UNLIKE = X * [1e-8, 1e8, 1.0, 1.0]


@pytest.mark.parametrize("height", [1.0, 1e3, 1e5])
def test_a_high_kernel_on_copies_of_a_row_predicts_their_mean(height):
    """A factor whose pivots, or whose jitter, were below rounding was taken: -3.25 where the mean was 2.96."""
    rows, y = np.full((300, 1), 0.7), 3.0 + rng.normal(size=300)
    model = GaussianProcessRegressor(ConstantKernel(height) * RBF(), optimizer=None)
    if height < 1e5:  # the noise of 1e-10 is above rounding
        model.fit(rows, y)
    else:
        with pytest.warns(UserWarning, match="299 of 300 rows repeat another row"):
            model.fit(rows, y)
    assert model.predict(rows[:1])[0] == pytest.approx(y.mean(), abs=0.1)


@pytest.mark.parametrize(
    "model",
    [
        MultiClassSVC(kernel="linear"),
        MultiClassSVC(kernel="linear", formulation="crammer_singer"),
        LocalizedMKLClassifier(),
    ],
    ids=["Weston-Watkins", "Crammer-Singer", "LocalizedMKL"],
)
def test_columns_of_unlike_scales_end_with_a_warning(model):
    """The steps of a machine for all classes had no limit, and those of a gated machine one of millions each time."""
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        model.fit(UNLIKE, LABELS)


def test_a_constant_table_has_no_canonical_components():
    """KernelCCA took rounding for variance and gave scores of it, without a word."""
    with pytest.warns(UserWarning, match="all rows of X are alike"):
        model = KernelCCA().fit(np.ones((60, 2)), X)
    assert not model.transform(np.ones((2, 2))).any() and not model.correlations_.any()


def test_kernels_that_are_none_are_named():
    """LAPACK's words for a minor came through, and NuSVC spoke of nu."""
    settings = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1.0}
    with pytest.raises(ValueError, match='KernelLogisticRegression: kernel="sigmoid" is not positive semidefinite'):
        KernelLogisticRegression(**settings).fit(3 * X, LABELS)
    with pytest.raises(ValueError, match="scale the columns"):
        KernelLogisticRegression(kernel="linear").fit(UNLIKE, LABELS)
    M = rng.normal(size=(60, 60))
    with pytest.raises(ValueError, match="NuSVC: the kernel is not positive semidefinite"):
        NuSVC(kernel="precomputed").fit(M + M.T, LABELS)


def test_the_only_class_is_shown_as_it_was_given():
    """It read np.int64(0)."""
    for label, shown in ((0, "0"), ("a", "'a'"), (1.0, "1.0")):
        with pytest.raises(ValueError, match=f"y holds one class: {shown}$"):
            SVC().fit(X, np.full(60, label))


def test_a_sparse_table_gives_the_machine_of_the_dense_one():
    """Of equal rows either may be the support vector; the rounding of a sparse product decided otherwise."""
    rows = np.repeat(np.round(X[:20], 1), 3, axis=0)
    for model in (OneClassSVM(nu=0.3), OneClassSVM(kernel="linear", nu=0.5)):
        dense, sparse = model.fit(rows).dual_coef_, model.fit(csr_array(rows))
        np.testing.assert_allclose(sparse.dual_coef_.toarray(), dense, atol=1e-9)


def test_ridge_without_memory_for_all_pairs_says_what_a_step_takes(monkeypatch):
    """Millions of rows began hours of products without a word."""
    monkeypatch.setattr(base, "square_fits", lambda *given: False)
    monkeypatch.setattr(base, "LONG_PRODUCT", 0.0)
    with pytest.warns(UserWarning, match=r"all pairs of 60 rows, which takes 0 minutes or more\. Take Ridge"):
        KernelRidge(kernel="rbf").fit(X, X[:, 0])


def test_the_delta_kernel_compares_rows_and_columns_of_a_table():
    """Rows of a table are arrays, which are not hashable: a product over mixed columns ended in a TypeError."""
    colour = np.arange(60) % 3
    table = np.column_stack([X[:, 0], colour])
    same = colour[:, None] == colour
    np.testing.assert_array_equal(DeltaKernel().on([1])(table), same)
    np.testing.assert_allclose((RBF().on([0]) * DeltaKernel().on([1]))(table), RBF()(X[:, :1]) * same)
    np.testing.assert_array_equal(DeltaKernel()(table), np.eye(60))


def test_what_is_no_kernel_is_said_in_words():
    """An index out of bounds, and a place in a file that is none."""
    with pytest.raises(ValueError, match=r"gives an array of shape \(60, 60, 1\)"):
        check_positive_definite(CompoundKernel([RBF()]), X)
    with pytest.raises(ValueError, match="'RBF\\(' is no expression of kernels: '\\(' was never closed$"):
        parse("RBF(")
