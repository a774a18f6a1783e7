"""The design and the risk beside plain NumPy: every product, dense, sparse and float32, with and without a centre."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fivefold.optim.design import Design, pilot_centre
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.likelihood_losses import GammaLoss, PoissonLoss, SoftmaxLoss
from fivefold.optim.losses.margin_losses import LogLoss, SquaredHingeLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import CompositeObjective
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.risk_minimisation.preconditioned_descent import minimise_risk
from fivefold.optim.smooth.newton import Newton

RNG = np.random.RandomState(0)
N, D, K = 9001, 5, 3
X = RNG.normal(size=(N, D)) + 1.0
X[X < 0.3] = 0.0
CENTRE = X.mean(axis=0)
H = RNG.uniform(0.1, 1.0, size=N)
KINDS = {"dense": np.asarray, "sparse": csr_array, "float32": lambda A: A.astype(np.float32)}
cases = pytest.mark.parametrize(
    ("kind", "intercept", "centred"), [(k, i, c) for k in KINDS for i in (True, False) for c in (True, False)]
)


def made(kind, intercept, centred):
    """The design, its matrix, and the rounding of its numbers."""
    design = Design(KINDS[kind](X), intercept, CENTRE if centred else None)
    rows = KINDS[kind](X).toarray() if kind == "sparse" else KINDS[kind](X).astype(float)
    Z = rows - (CENTRE if centred else 0.0)
    return design, np.column_stack([Z, np.ones(N)]) if intercept else Z


@cases
def test_products_of_a_design_are_those_of_its_matrix(kind, intercept, centred):
    """Sums of 9001 terms of size one: 1e-11 of the largest."""
    design, Z = made(kind, intercept, centred)
    x, W, R = RNG.normal(size=design.size), RNG.normal(size=(K, design.size)), RNG.normal(size=(K, N))
    for ours, plain in (
        (design.predictor(x), Z @ x),
        (design.predictor(W), W @ Z.T),
        (design.transpose(H), Z.T @ H),
        (design.transpose(R), R @ Z),
        (design.gram(), Z.T @ Z),
        (design.gram(H), (Z * H[:, None]).T @ Z),
        (design.gram(R[0]), (Z * R[0][:, None]).T @ Z),
        (design.gram_diagonal(H), (Z**2).T @ H),
        (design.columns(np.array([1, 3])).gram(), (Z.T @ Z)[np.ix_(*2 * [[1, 3, *([D] if intercept else [])]])]),
    ):
        np.testing.assert_allclose(ours, plain, atol=1e-11 * np.abs(plain).max())


@cases
@pytest.mark.parametrize("reference", [None, 1])
def test_derivatives_of_a_risk_of_classes_are_those_of_differences(kind, intercept, centred, reference):
    """Central differences of step 1e-5 on a smooth function: 1e-6 of the largest entry."""
    design, _ = made(kind, intercept, centred)
    y = RNG.randint(K, size=N)
    risk = EmpiricalRisk(SoftmaxLoss(), design, y, H, 0.3, outputs=K, reference=reference)
    x = 0.3 * RNG.normal(size=design.size * (K - (reference is not None)))
    steps = 1e-5 * np.eye(len(x))
    slopes = np.array([(risk.value(x + e) - risk.value(x - e)) / 2e-5 for e in steps])
    bends = np.array([(risk.gradient(x + e) - risk.gradient(x - e)) / 2e-5 for e in steps])
    A = risk.hessian(x)
    np.testing.assert_allclose(risk.gradient(x), slopes, atol=1e-6 * np.abs(slopes).max())
    np.testing.assert_allclose(A, bends, atol=1e-6 * np.abs(A).max())
    np.testing.assert_allclose(risk.hessian_diagonal(x), A.diagonal(), rtol=1e-9)
    v = RNG.normal(size=len(x))
    np.testing.assert_allclose(risk.hessian_product(x, v), A @ v, atol=1e-9 * np.abs(A).max())


@pytest.mark.parametrize(
    "loss", [LogLoss(), SquaredHingeLoss(), PoissonLoss(), GammaLoss()], ids=lambda loss: type(loss).__name__
)
def test_a_compiled_loss_is_the_plain_one(loss):
    """Also far out, where the exponential is cut at e^700; rounding of sums of 2000 terms."""
    eta = np.append(4 * RNG.normal(size=2000), [0.0, 30.0, -30.0])
    y = np.sign(RNG.normal(size=len(eta))) if loss.kind == "margin" else RNG.gamma(2.0, size=len(eta))
    s, slope, plain = RNG.uniform(size=len(eta)), np.empty(len(eta)), np.empty(len(eta))
    value = loss.weighted_sum(y, eta.copy(), s, slope)
    assert value == pytest.approx(Loss.weighted_sum(loss, y, eta, s, plain), rel=1e-13)
    np.testing.assert_allclose(slope, plain, rtol=1e-12, atol=1e-14)


def test_a_descent_meets_the_conditions_of_the_minimum_judged_from_outside():
    """With many rows (from a sample), with L1, and with more coefficients than a Hessian is made for."""
    y = np.where(RNG.uniform(size=N) < 1 / (1 + np.exp(1.0 - X[:, 0])), 1.0, -1.0)
    risk = EmpiricalRisk(LogLoss(), Design(X), y, np.ones(N), np.append(np.ones(D), 0.0))
    found = minimise_risk(risk, np.zeros(D + 1), tol=1e-7)
    assert found.reason == "converged" and risk.violation(found.x) < 1e-4
    lasso = np.append(np.full(D, 50.0), 0.0)
    sparse = minimise_risk(risk, np.zeros(D + 1), lasso=lasso, tol=1e-7)
    assert CompositeObjective(risk, L1(lasso)).violation(sparse.x) < 1e-4
    assert (sparse.x == 0).any()
    wide = RNG.normal(size=(60, 1600))
    risk = EmpiricalRisk(LogLoss(), Design(wide), y[:60], np.ones(60), np.append(np.ones(1600), 0.0))
    assert risk.violation(minimise_risk(risk, np.zeros(1601)).x) < 1e-3


def test_a_centre_is_taken_where_columns_are_far_from_zero_only():
    assert pilot_centre(X) is None and pilot_centre(csr_array(X + 1e6)) is None
    np.testing.assert_allclose(pilot_centre(X + 1e6), 1e6 + CENTRE, atol=0.2)  # the mean of some of the rows


@pytest.mark.parametrize("loss", [LogLoss(), SquaredHingeLoss()], ids=repr)
def test_the_quadratic_model_of_a_wide_risk_is_a_sum_of_squares(loss):
    """1/2 |y - Zu|^2 has the Hessian and the gradient of the risk, to rounding of sums of twelve terms."""
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(12, 20)), rng.normal(size=21) / 4
    risk = EmpiricalRisk(loss, Design(A), np.sign(rng.normal(size=12)), rng.uniform(0.5, 2.0, 12))
    Z, y = risk.least_squares_model(x)
    np.testing.assert_allclose(Z.T @ Z, risk.hessian(x), atol=1e-12)
    np.testing.assert_allclose(Z.T @ (Z @ x - y), risk.gradient(x), atol=1e-12)
    assert EmpiricalRisk(loss, Design(A.T), np.ones(20), np.ones(20)).least_squares_model(x[:13]) is None


def test_weak_penalties_on_classes_that_can_be_separated_take_few_steps():
    """Newton's step alone adds about one to each margin, and these grow with the logarithm of C."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 120))
    y = np.where(A[:, 0] > 0, 1.0, -1.0)
    for C in (1.0, 1e3, 1e6, 1e9):
        risk = EmpiricalRisk(LogLoss(), Design(A), y, np.ones(40), np.append(np.full(120, 1 / C), 0.0))
        found = minimise_risk(risk, np.zeros(121))
        assert found.reason == "converged" and found.steps <= 9
        # what `minimise_risk` promises for tol=1e-4; the loss is some log(C) / C
        assert found.value <= minimise(risk, found.x, Newton(), tol=0.0, max_iter=10).value * (1 + 1e-9)
