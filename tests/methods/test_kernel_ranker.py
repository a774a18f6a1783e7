"""Ranking with kernels: pairs written out, the linear case, differences of columns, objects."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from fivefold.kernels import RBF
from fivefold.kernels.row_cache import MatrixRows
from fivefold.optim.dual.kernel_dual import KernelDual
from fivefold.optim.dual.smo import minimise_dual
from fivefold.rank import KernelRanker, LinearRanker, Pairs
from fivefold.svm.support.gram_features import gram_features


def bent(n=60, seed=0):
    """Queries of ten rows; the best rows are those nearest to the middle."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize((X**2).sum(axis=1), [0.5, 1.5, 3.0]) * -1, np.arange(n) // 10


def pair_kernels(K, pairs):
    """K(u, k) - K(u, l) - K(v, k) + K(v, l)."""
    u, v = pairs.better, pairs.worse
    return K[np.ix_(u, u)] - K[np.ix_(u, v)] - K[np.ix_(v, u)] + K[np.ix_(v, v)]


def test_the_hinge_is_the_machine_on_kernels_between_pairs():
    X, y, q = bent()
    K, pairs = rbf_kernel(X, gamma=0.5), Pairs.of_grades(y, q)
    P = len(pairs)
    dual = KernelDual(np.ones(P), np.zeros(P), np.full(P, 0.5), equality=False)
    b = minimise_dual(dual, MatrixRows(np.ascontiguousarray(pair_kernels(K, pairs))), tol=1e-10).b
    expected = (K[:, pairs.better] - K[:, pairs.worse]) @ b
    model = KernelRanker(C=0.5, gamma=0.5, loss="hinge", random_state=0).fit(X, y, groups=q)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_smooth_losses_are_least_where_a_general_solver_finds_it(loss):
    X, y, q = bent(30)
    K, pairs = rbf_kernel(X, gamma=0.5), Pairs.of_grades(y, q)
    L = np.linalg.cholesky(K + 1e-12 * np.eye(30))

    def objective(z):
        s = L @ z
        m = s[pairs.better] - s[pairs.worse]
        losses = np.maximum(1 - m, 0) ** 2 if loss == "squared_hinge" else np.logaddexp(0, -m)
        return 0.5 * z @ z + 0.7 * losses.sum()

    found = minimize(objective, np.zeros(30), method="BFGS", options={"gtol": 1e-7})
    model = KernelRanker(C=0.7, gamma=0.5, loss=loss).fit(X, y, groups=q)
    np.testing.assert_allclose(model.predict(X), L @ found.x, atol=1e-4)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log"])
def test_with_a_linear_kernel_it_is_the_linear_ranker(loss):
    X, y, q = bent()
    linear = LinearRanker(C=0.2, loss=loss, random_state=0).fit(X, y, groups=q)
    model = KernelRanker(C=0.2, loss=loss, kernel="linear", random_state=0).fit(X, y, groups=q)
    np.testing.assert_allclose(model.predict(X), X @ linear.coef_, atol=1e-5)


def test_kernels_of_differences_of_columns_are_the_printed_form_and_linear_ones_agree():
    X, y, q = bent()
    D = Pairs.of_grades(y, q).differences(X)
    P = len(D)
    dual = KernelDual(np.ones(P), np.zeros(P), np.full(P, 0.5), equality=False)
    b = minimise_dual(dual, MatrixRows(rbf_kernel(D, gamma=0.5)), tol=1e-10).b
    model = KernelRanker(C=0.5, gamma=0.5, loss="hinge", differences="columns").fit(X, y, groups=q)
    np.testing.assert_allclose(model.predict(X), rbf_kernel(X, D, gamma=0.5) @ b, atol=1e-6)
    linear = [
        KernelRanker(C=0.5, kernel="linear", loss="hinge", differences=way, random_state=0)
        .fit(X, y, groups=q)
        .predict(X)
        for way in ("columns", "features")
    ]
    np.testing.assert_allclose(linear[0], linear[1], atol=1e-5)
    with pytest.raises(ValueError, match="goes with loss='hinge'"):
        KernelRanker(differences="columns").fit(X, y, groups=q)


def test_a_curved_order_needs_a_kernel():
    X, y, q = bent(300)
    Z, t, r = bent(300, seed=1)
    assert LinearRanker().fit(X, y, groups=q).score(Z, t, groups=r) < 0.6
    assert KernelRanker().fit(X, y, groups=q).score(Z, t, groups=r) > 0.95


def test_objects_and_given_kernels_are_ranked_as_rows_are():
    X, y, q = bent()
    K = rbf_kernel(X, gamma=0.5)
    named = KernelRanker(gamma=0.5).fit(X, y, groups=q).predict(X)
    np.testing.assert_allclose(KernelRanker(kernel="precomputed").fit(K, y, groups=q).predict(K), named, atol=1e-6)
    objects = list(X)
    value = KernelRanker(kernel=RBF(1.0)).fit(objects, y, groups=q)
    np.testing.assert_allclose(value.predict(objects), named, atol=1e-6)


def test_features_have_the_kernels_as_inner_products_and_skip_rows_that_others_explain():
    X = np.random.RandomState(0).normal(size=(20, 2)).repeat(2, axis=0)
    G = rbf_kernel(X, gamma=0.5)
    found = gram_features(G)
    assert found.Z.shape[1] <= 20
    np.testing.assert_allclose(found.Z @ found.Z.T, G, atol=1e-6)
    W = np.random.RandomState(1).normal(size=(found.Z.shape[1], 2))
    np.testing.assert_allclose(G[:, found.pivots] @ found.coefficients(W), found.Z @ W, atol=1e-6)
    assert gram_features(np.zeros((3, 3))).Z.shape == (3, 0)
