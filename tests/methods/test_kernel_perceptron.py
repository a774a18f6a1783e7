"""Perceptron and Pegasos with kernels: the rules row by row, their linear cases, averages and votes."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fivefold.kernels import RBF
from fivefold.kernels.row_cache import MatrixRows
from fivefold.linear_model import Pegasos, Perceptron
from fivefold.optim.dual.kernel_dual import KernelDual
from fivefold.optim.dual.smo import minimise_dual
from fivefold.svm import KernelPegasos, KernelPerceptron

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1, 1, 1, -1])


def blobs(n=60, distance=2.0, seed=0):
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + distance * np.stack([y, y], axis=1), y


def rule_by_hand(K, y, passes):
    """All coefficients after each visit, in the order of the rows."""
    alpha, path = np.zeros(len(y)), []
    for _ in range(passes):
        for i in range(len(y)):
            if y[i] * (alpha @ K[:, i]) <= 0:
                alpha[i] += y[i]
            path.append(alpha.copy())
    return np.array(path)


def test_a_quadratic_kernel_solves_xor_and_a_linear_one_cannot():
    X, y = XOR
    model = KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, variant="last", random_state=0).fit(X, y)
    assert model.separated_
    np.testing.assert_array_equal(model.predict(X), y)
    assert not KernelPerceptron(kernel="linear", random_state=0).fit(X, y).separated_


def test_with_a_linear_kernel_it_is_the_perceptron_started_at_zero():
    X, y = blobs(distance=4.0)
    linear = Perceptron(tol=None, shuffle=False, max_iter=50).fit(X, y)
    model = KernelPerceptron(kernel="linear", variant="last", shuffle=False, max_iter=50).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, linear.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, linear.intercept_, rtol=1e-12)
    assert model.n_iter_ == linear.n_iter_


@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
def test_the_answer_is_that_of_the_rule_written_out(variant):
    X, y = blobs(distance=1.0)
    K = rbf_kernel(X, gamma=0.5) + 1
    path = rule_by_hand(K, 2.0 * y - 1, passes=3)
    answers = path @ K  # (visits, n)
    expected = {"last": answers[-1], "averaged": answers.mean(axis=0), "voted": np.sign(answers).mean(axis=0)}
    model = KernelPerceptron(gamma=0.5, variant=variant, shuffle=False, max_iter=3).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected[variant], rtol=1e-9, atol=1e-12)


def test_means_and_votes_are_better_than_the_last_point_where_classes_overlap():
    X, y = blobs(400, distance=1.2)
    Z, t = blobs(400, distance=1.2, seed=1)
    last, mean, vote = (
        np.mean([KernelPerceptron(variant=v, max_iter=5, random_state=r).fit(X, y).score(Z, t) for r in range(5)])
        for v in ("last", "averaged", "voted")
    )
    assert mean > last + 0.02
    assert vote > last + 0.02


@pytest.mark.parametrize("made", [KernelPerceptron, KernelPegasos])
def test_every_kind_of_kernel_gives_the_same_machine(made):
    """Draws follow an order of the values, which objects do not have: Pegasos is compared near its optimum."""
    X, y = blobs(40)
    K = rbf_kernel(X, gamma=0.5)
    settings = {"shuffle": False} if made is KernelPerceptron else {"random_state": 0, "n_draws": 400_000, "alpha": 0.1}
    named = made(gamma=0.5, **settings).fit(X, y).decision_function(X)
    given = made(kernel="precomputed", **settings).fit(K, y).decision_function(K)
    value = made(kernel=RBF(1.0), **settings).fit(X, y).decision_function(X)
    tolerance = 1e-9 if made is KernelPerceptron else 0.02
    np.testing.assert_allclose(given, named, atol=tolerance)
    np.testing.assert_allclose(value, named, atol=tolerance)


def test_with_a_linear_kernel_it_is_pegasos():
    X, y = blobs()
    linear = Pegasos(alpha=0.01, n_draws=5000, random_state=0).fit(X, y)
    model = KernelPegasos(kernel="linear", alpha=0.01, n_draws=5000, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, linear.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, linear.intercept_, rtol=1e-9)


def test_draws_approach_the_support_vector_machine_without_a_free_offset():
    X, y = blobs()
    sign, K, strength = 2.0 * y - 1, rbf_kernel(X, gamma=0.5) + 1, 0.01
    bound = sign / (strength * len(y))
    dual = KernelDual(sign, np.minimum(bound, 0), np.maximum(bound, 0), equality=False)
    exact = K @ minimise_dual(dual, MatrixRows(K), tol=1e-8).b

    def risk(f, squared_norm):
        return strength / 2 * squared_norm + np.maximum(1 - sign * f, 0).mean()

    best = risk(exact, exact @ np.linalg.lstsq(K, exact, rcond=None)[0])
    far = []
    for draws in (2_000, 200_000):
        model = KernelPegasos(gamma=0.5, alpha=strength, n_draws=draws, random_state=0).fit(X, y)
        a = np.zeros(len(y))
        a[model.support_] = model.dual_coef_[0]
        far.append(risk(K @ a, a @ K @ a) - best)
    assert 0 <= far[1] < 0.1 * far[0]
    assert far[1] < 1e-3
