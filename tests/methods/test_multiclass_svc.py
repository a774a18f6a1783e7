"""The machine for all classes at once: its minimum, its case of two classes, its linear case."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import svm as liblinear
from sklearn.metrics.pairwise import rbf_kernel

from fivefold.kernels import RBF
from fivefold.kernels.row_cache import MatrixRows
from fivefold.optim.dual.kernel_dual import KernelDual
from fivefold.optim.dual.multiclass_dual import MultiClassDual, minimise_multiclass
from fivefold.optim.dual.smo import minimise_dual
from fivefold.svm import LinearSVC, MultiClassSVC

FORMULATIONS = ("weston_watkins", "crammer_singer")


def three(n=60, seed=0, classes=3):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 2)) + 1.5 * np.stack([y == 1, y == 2], axis=1), y


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_objective_is_the_least_that_a_general_solver_finds(formulation):
    """Slack variables written out, and given to SciPy with their constraints."""
    X, y = three(12)
    K, n, every = rbf_kernel(X, gamma=0.5) + 1, 12, formulation == "weston_watkins"
    margin, m = (2.0, 3) if every else (1.0, 1)
    L = np.linalg.cholesky(K + 1e-10 * np.eye(n))
    others = [(i, k) for i in range(n) for k in range(3) if k != y[i]]

    def slack(z):
        F, xi = L @ z[: 3 * n].reshape(n, 3), z[3 * n :].reshape(n, m)
        return np.array([F[i, y[i]] - F[i, k] - margin + xi[i, k if every else 0] for i, k in others])

    bounds = [(None, None)] * (3 * n) + [(0, None)] * (n * m)
    found = minimize(
        lambda z: (0.5 * (z[: 3 * n] ** 2).sum() + 2.0 * z[3 * n :].sum(), np.r_[z[: 3 * n], np.full(n * m, 2.0)]),
        np.r_[np.zeros(3 * n), np.full(n * m, margin)], jac=True, bounds=bounds, method="SLSQP",
        constraints={"type": "ineq", "fun": slack}, options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    model = MultiClassSVC(C=2.0, gamma=0.5, formulation=formulation).fit(X, y)
    np.testing.assert_allclose(model.objective_, found.fun, rtol=1e-6)
    assert model.duality_gap_ < 1e-9


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_multipliers_lie_in_their_boxes_and_sum_to_zero_within_a_row(formulation):
    X, y = three()
    K, every = rbf_kernel(X, gamma=0.5), formulation == "weston_watkins"
    found = minimise_multiclass(MultiClassDual(K, y, np.full(60, 0.7), 3, every), 1e-3, -1)
    own = np.take_along_axis(found.A, y[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(found.A.sum(axis=1), 0, atol=1e-12)
    assert own.min() >= 0
    assert own.max() <= 0.7 * (2 if every else 1) + 1e-12
    other = found.A[found.A != own[:, None]]
    assert other.min() >= -0.7 - 1e-12
    assert other.max() <= 1e-12


def test_of_two_classes_it_is_the_machine_without_a_free_offset():
    """Weston and Watkins: the same C, and half the difference of the sums; Crammer and Singer: twice C, the whole."""
    X, y = three(classes=2)
    sign, K = 2.0 * y - 1, rbf_kernel(X, gamma=0.5) + 1
    for formulation, factor, scale in (("weston_watkins", 1.0, 0.5), ("crammer_singer", 2.0, 1.0)):
        bound = factor * 0.8 * sign
        dual = KernelDual(sign, np.minimum(bound, 0), np.maximum(bound, 0), equality=False)
        expected = K @ minimise_dual(dual, MatrixRows(K), tol=1e-10).b
        model = MultiClassSVC(C=0.8, gamma=0.5, formulation=formulation).fit(X, y)
        np.testing.assert_allclose(scale * model.decision_function(X), expected, atol=1e-8)


def test_with_a_linear_kernel_it_is_the_linear_machine_no_worse_than_liblinears():
    X, y = three()
    ours = MultiClassSVC(kernel="linear", formulation="crammer_singer").fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X),
        LinearSVC(multi_class="crammer_singer", random_state=0).fit(X, y).decision_function(X),
        atol=1e-6,
    )
    theirs = liblinear.LinearSVC(multi_class="crammer_singer", tol=1e-8, max_iter=1_000_000, random_state=0).fit(X, y)
    F, own = theirs.decision_function(X), np.arange(60)
    losses = np.where(y[:, None] != np.arange(3), 1 + F - F[own, y][:, None], 0).max(axis=1)
    objective = 0.5 * (theirs.coef_**2).sum() + 0.5 * (theirs.intercept_**2).sum() + losses.sum()
    assert objective * (1 - 1e-4) < ours.objective_ <= objective


def test_every_kind_of_kernel_gives_the_same_machine():
    X, y = three()
    K = rbf_kernel(X, gamma=0.5)
    named = MultiClassSVC(gamma=0.5).fit(X, y).decision_function(X)
    np.testing.assert_allclose(MultiClassSVC(kernel="precomputed").fit(K, y).decision_function(K), named, atol=1e-8)
    np.testing.assert_allclose(
        MultiClassSVC(kernel=RBF(1.0)).fit(list(X), y).decision_function(list(X)), named, atol=1e-8
    )


def test_rows_whose_kernel_with_themselves_is_zero_do_no_harm():
    X, y = np.array([[0.0], [0.0], [1.0], [2.0], [-1.0]]), [0, 1, 2, 2, 0]
    model = MultiClassSVC(kernel="linear", fit_intercept=False).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
