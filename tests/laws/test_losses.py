"""What every loss and every penalty must satisfy. Both are found by walking their modules."""

from dataclasses import dataclass
from inspect import isabstract

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln, logit
from scipy.stats import bernoulli, multinomial, norm, poisson

from fivefold.optim.derivative_checks import check_chords, check_gradient, check_subgradient, gradient_by_differences
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses import catalogue
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.likelihood_losses import PoissonLoss, SoftmaxLoss
from fivefold.optim.losses.margin_losses import (
    ExponentialLoss,
    HingeLoss,
    LogLoss,
    MarginErrorLoss,
    MarginLoss,
    ProbitMarginLoss,
    RampLoss,
    SquaredHingeLoss,
    SquaredMarginLoss,
    ZeroOneLoss,
)
from fivefold.optim.losses.regression_losses import AbsoluteLoss, SquaredLoss
from fivefold.optim.penalties import proximal_operators
from fivefold.optim.penalties.proximal_operators import (
    L1,
    L2,
    BoxIndicator,
    ElasticNetPenalty,
    GroupLassoPenalty,
    NoPenalty,
    Penalty,
)


def walk(module, kind):
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, kind) and not isabstract(c)]
    return sorted(found, key=lambda c: c.__name__)


ALL = [cls() for cls in walk(catalogue, Loss)]
SCALAR = [loss for loss in ALL if loss.kind != "classes"]
MARGIN = [loss for loss in ALL if isinstance(loss, MarginLoss)]
TARGETS = {"margin": (-1.0, 1.0), "regression": (-1.3, 0.0, 2.0), "likelihood": (1.0, 3.0)}
ETA = np.linspace(-3.03, 2.97, 41)  # no kink at these


def name(thing):
    return type(thing).__name__


def pairs(loss):
    """Every target with every predictor, as two vectors."""
    y, eta = np.meshgrid(TARGETS[loss.kind], ETA)
    return y.ravel(), eta.ravel()


def numeric(f, eta, h=1e-5):
    return (f(eta + h) - f(eta - h)) / (2 * h)


def has(method, *args):
    """Whether a loss has this part; one that does not says so by a TypeError."""
    try:
        method(*args)
    except TypeError as missing:
        assert "no " in str(missing)
        return False
    return True


def within(low, high, d=1):
    """Draws of points between two numbers."""
    return lambda rng: rng.uniform(low, high, d)


over_losses = pytest.mark.parametrize("loss", SCALAR, ids=name)


@over_losses
def test_the_slope_is_the_derivative_of_the_value(loss):
    y, eta = pairs(loss)
    if name(loss) in ("ZeroOne", "MarginError"):  # steps: flat wherever they have a derivative
        assert not loss.slope(y, eta).any()
    # central differences are right to h^2 times the third derivative, here at most e^3
    assert_allclose(loss.slope(y, eta), numeric(lambda e: loss.value(y, e), eta), atol=1e-7)


@over_losses
def test_the_curvature_is_the_derivative_of_the_slope(loss):
    y, eta = pairs(loss)
    if has(loss.curvature, y, eta):
        assert_allclose(loss.curvature(y, eta), numeric(lambda e: loss.slope(y, e), eta), atol=1e-7)
        assert loss.smooth


@over_losses
def test_a_loss_is_convex_exactly_if_it_says_so(loss):
    rng = np.random.RandomState(0)
    for y in TARGETS[loss.kind]:
        found = check_chords(lambda e, y=y: float(loss.value(y, e[0])), within(-4, 4), rng, 500)
        assert bool(found) == loss.convex


@over_losses
def test_a_smooth_loss_has_one_derivative_everywhere_and_others_a_kink(loss):
    y = TARGETS[loss.kind]
    fine = np.linspace(-4, 4, 8001)
    jump = max(np.abs(np.diff(loss.slope(t, fine))).max() for t in y)
    step = max(np.abs(np.diff(loss.value(t, fine))).max() for t in y)
    # over 0.001 a smooth slope moves by a thousandth of its curvature, at most e^4 here; a kink moves it by its jump
    assert (jump < 0.2 and step < 0.2) == loss.smooth


@over_losses
def test_the_bend_bounds_the_second_derivative(loss):
    y, eta = pairs(loss)
    if np.isfinite(loss.max_curvature):
        wide = np.linspace(-30, 30, 6001)
        for t in TARGETS[loss.kind]:
            C = np.abs(loss.curvature(t, wide))
            assert C.max() <= loss.max_curvature * (1 + 1e-9)
            assert C.max() >= 0.99 * loss.max_curvature or name(loss) in ("Huber",)
    elif has(loss.curvature, y, eta):
        assert np.abs(loss.curvature(y, eta + 30)).max() > 1e6 or np.abs(loss.curvature(y, eta - 30)).max() > 1e6


@over_losses
def test_the_conjugate_is_the_supremum(loss):
    """By brute force over a fine grid; where the supremum runs off to infinity the conjugate says so."""
    y, eta = pairs(loss)
    if not has(loss.conjugate, y, eta):
        return
    grid = np.linspace(-60, 60, 240_001)
    for t in TARGETS[loss.kind]:
        values = loss.value(t, grid)
        for a in np.linspace(-1.45, 1.45, 30):
            attained = float(np.max(a * grid - values))
            claimed = float(loss.conjugate(t, a))
            if np.isinf(claimed):
                half = np.abs(grid) < 30
                assert attained > float(np.max((a * grid - values)[half])) + 1  # it grows with the grid
            else:
                # the grid misses the supremum by half a cell, at most 2.5e-4 in the slope and 1e-7 in the value
                assert claimed == pytest.approx(attained, abs=1e-3)
                assert claimed >= attained - 1e-9


@over_losses
def test_fenchel_and_young(loss):
    """loss(eta) + conjugate(a) >= a eta, with equality where a is the slope at eta."""
    y, eta = pairs(loss)
    if not has(loss.conjugate, y, eta):
        return
    a = np.random.RandomState(1).uniform(-1, 1, len(eta))
    assert (loss.value(y, eta) + loss.conjugate(y, a) >= a * eta - 1e-12).all()
    s = loss.slope(y, eta)
    assert_allclose(loss.value(y, eta) + loss.conjugate(y, s), s * eta, atol=1e-9)


@pytest.mark.parametrize("loss", ALL, ids=name)
def test_terms_are_the_weighted_sums(loss):
    rng = np.random.RandomState(2)
    n = 500
    if loss.kind == "classes":
        y, eta = rng.randint(3, size=n), rng.standard_normal((3, n))
    else:
        y, eta = rng.choice(TARGETS[loss.kind], n), 2 * rng.standard_normal(n)
    s, slope = rng.uniform(0.1, 3, n), np.empty_like(eta)
    expected, slopes = np.sum(s * loss.value(y, eta)), s * loss.slope(y, eta)
    total = loss.weighted_sum(y, eta.copy(), s, slope)
    assert total == pytest.approx(expected, rel=1e-12)
    assert_allclose(slope, slopes, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.smooth], ids=name)
def test_the_risk_of_every_smooth_loss_has_the_gradient_of_its_differences(loss):
    """D-267, C-59: central differences agree to 1e-6."""
    rng = np.random.RandomState(4)
    X = rng.standard_normal((60, 3))
    K = 3 if loss.kind == "classes" else 0
    y = rng.randint(3, size=60) if K else rng.choice(TARGETS[loss.kind], 60)
    objective = EmpiricalRisk(loss, Design(X), y, rng.uniform(0.5, 2, 60), ridge=0.3, outputs=K)
    assert check_gradient(objective, 0.3 * rng.standard_normal(4 * max(K, 1)))


@pytest.mark.parametrize("loss", [loss for loss in SCALAR if loss.convex], ids=name)
def test_the_slope_is_a_subgradient_at_the_kinks_too(loss):
    """D-295."""
    rng = np.random.RandomState(5)
    for y in TARGETS[loss.kind]:
        for eta in (-1.0, 0.0, 1.0, y, y + 0.1, y - 0.1):
            v = np.atleast_1d(loss.slope(np.float64(y), np.float64(eta)))
            assert check_subgradient(
                lambda e, y=y: float(loss.value(y, e[0])), v, np.array([eta]), within(-5, 5), rng, 300
            )


def test_a_slope_that_is_none_is_found_out():
    """D-295."""
    rng = np.random.RandomState(0)

    def hinge(eta):
        return float(HingeLoss().value(1.0, eta[0]))

    for v in (-1.0, -0.5, 0.0):  # at the kink any slope between those of the two sides will do
        assert check_subgradient(hinge, np.array([v]), np.array([1.0]), within(-3, 3), rng)
    for v in (-1.1, 0.1):
        assert not check_subgradient(hinge, np.array([v]), np.array([1.0]), within(-3, 3), rng)


class TestMarginLosses:
    m = np.array([-2.0, -1, 0, 1, 2])

    def test_values(self):
        """B-86, A-36, E-260."""
        assert_allclose(LogLoss().at(self.m), [2.1269, 1.3133, 0.6931, 0.3133, 0.1269], atol=5e-5)
        assert_allclose(HingeLoss().at(self.m), [3, 2, 1, 0, 0])
        assert_allclose(ProbitMarginLoss().at(self.m), [0.9772, 0.8413, 0.5, 0.1587, 0.0228], atol=5e-5)
        assert_allclose(SquaredMarginLoss().at(self.m), [4.5, 2, 0.5, 0, 0.5])
        assert_allclose(ZeroOneLoss().at(self.m), [1, 1, 0, 0, 0])
        assert_allclose(MarginErrorLoss().at(self.m), [1, 1, 1, 0, 0])

    def test_values_at_zero(self):
        """E-261: 0/1 counts zero as an error there; squared is (1 - m)^2, twice ours."""
        assert [HingeLoss().at(0.0), 2 * SquaredMarginLoss().at(0.0), LogLoss().at(0.0)] == [1, 1, np.log(2)]

    @pytest.mark.parametrize(
        "loss", [HingeLoss(), SquaredHingeLoss(), MarginErrorLoss(), ExponentialLoss(), RampLoss()], ids=name
    )
    def test_upper_bounds_of_the_zero_one_loss(self, loss):
        """A-36, B-86, D-290; twice the square too."""
        m = np.linspace(-4, 4, 801)
        assert (loss.at(m) >= ZeroOneLoss().at(m)).all()
        assert (2 * SquaredMarginLoss().at(m) >= ZeroOneLoss().at(m)).all()
        assert (LogLoss().at(m) / np.log(2) >= ZeroOneLoss().at(m)).all()

    def test_hinge_is_zero_beyond_the_margin_and_linear_below(self):
        """A-36, D-290, E-260: its value is the slack xi."""
        m = np.linspace(1, 9, 50)
        assert not HingeLoss().at(m).any() and not HingeLoss().slope_at(m).any()
        assert_allclose(HingeLoss().at(2 - m), m - 1, atol=1e-15)

    def test_asymptotes_of_the_log_loss(self):
        """B-86: -m far to the left, e^-m far to the right."""
        assert_allclose(LogLoss().at(-np.array([10.0, 30.0])), [10, 30], atol=1e-4)
        assert_allclose(LogLoss().at(np.array([10.0, 30.0])), np.exp([-10.0, -30]), rtol=1e-4)

    def test_nothing_overflows(self):
        """E-126: also the sigmoid, stable for large sizes."""
        m = np.array([-1e4, -800.0, 800.0, 1e4])
        assert_allclose(LogLoss().at(m), [1e4, 800, 0, 0])
        assert_allclose(LogLoss().slope_at(m), [-1, -1, 0, 0])
        assert_allclose(LogLoss().inverse_link(m), [0, 0, 1, 1])


class TestLinks:
    def test_logit_and_sigmoid(self):
        """E-125, E-126: inverse of each other, sigmoid(0) = 1/2, derivative y (1 - y)."""
        a = np.linspace(-6, 6, 41)
        p = LogLoss().inverse_link(a)
        assert LogLoss().inverse_link(0.0) == 0.5
        assert_allclose(logit(p), a, atol=1e-12)
        assert_allclose(numeric(expit, a), p * (1 - p), atol=1e-9)
        assert (np.abs(LogLoss().inverse_link(np.array([-5.0, 5.0])) - [0, 1]) < 0.01).all()

    def test_softmax(self):
        """E-127: sums to one, K = 2 is the sigmoid of the difference, derivative p_i (delta_ij - p_j)."""
        rng = np.random.RandomState(0)
        eta = rng.standard_normal((4, 7))
        P = SoftmaxLoss().inverse_link(eta)
        assert_allclose(P.sum(axis=0), 1)
        assert_allclose(SoftmaxLoss().inverse_link(eta[:2])[0], expit(eta[0] - eta[1]))
        assert_allclose(SoftmaxLoss().inverse_link(eta + 1e4), P, rtol=1e-9)
        for i in range(4):
            slope = gradient_by_differences(lambda e, i=i: SoftmaxLoss().inverse_link(e[:, None])[i, 0], eta[:, 0])
            p = P[:, 0]
            assert_allclose(slope, p[i] * (np.eye(4)[i] - p), atol=1e-9)
            assert_allclose(SoftmaxLoss().curvature(np.zeros(7, int), eta)[i, :, 0], slope, atol=1e-9)

    def test_losses_are_negative_log_likelihoods(self):
        """E-131, E-348: Bernoulli, multinomial, Gaussian with unit variance, Poisson."""
        rng = np.random.RandomState(0)
        eta = rng.standard_normal(20)
        y = rng.choice([-1.0, 1.0], 20)
        assert_allclose(LogLoss().value(y, eta), -bernoulli.logpmf(y > 0, expit(eta)), rtol=1e-12)
        E, codes = rng.standard_normal((3, 20)), rng.randint(3, size=20)
        P = SoftmaxLoss().inverse_link(E).T
        assert_allclose(SoftmaxLoss().value(codes, E), -multinomial.logpmf(np.eye(3)[codes], 1, P), rtol=1e-9)
        t = rng.standard_normal(20)
        for sigma in (1.0, 2.0):
            gaussian = -norm.logpdf(t, eta, sigma) - np.log(sigma * np.sqrt(2 * np.pi))
            assert_allclose(SquaredLoss().value(t, eta) / sigma**2, gaussian, atol=1e-12)
        counts = rng.randint(5, size=20)
        constant = -poisson.logpmf(counts, np.exp(eta)) - PoissonLoss().value(counts, eta)
        for k in range(5):
            assert_allclose(constant[counts == k], gammaln(k + 1), atol=1e-10)
        assert_allclose(
            SoftmaxLoss().value(codes % 2, np.stack([0 * eta, eta])),
            LogLoss().value(2.0 * (codes % 2) - 1, eta),
            rtol=1e-12,
        )

    def test_the_constants_that_lower_the_risk_most(self):
        """The mean for squared, a median for absolute loss."""
        y = np.array([0.0, 1.0, 2.0, 10.0, 3.0])
        best = {
            loss: minimize_scalar(lambda c, loss=loss: np.sum(loss.value(y, c)), bounds=(-5, 15)).x
            for loss in (SquaredLoss(), AbsoluteLoss())
        }
        assert_allclose(list(best.values()), [y.mean(), np.median(y)], atol=1e-4)


@dataclass(frozen=True)
class Case:
    penalty: Penalty
    d: int = 4

    def __str__(self):
        return type(self.penalty).__name__


STRENGTHS = np.array([0.5, 2.0, 0.0, 1.0])
PENALTIES = [
    Case(NoPenalty()),
    Case(L1(0.7)),
    Case(L1(STRENGTHS)),
    Case(L2(0.7)),
    Case(L2(STRENGTHS)),
    Case(ElasticNetPenalty(0.4, 0.9)),
    Case(ElasticNetPenalty(STRENGTHS, 0.3)),
    Case(BoxIndicator(-0.5, 1.0)),
    Case(BoxIndicator(low=0.0)),
    Case(GroupLassoPenalty(np.array([0, 0, 1, 1]), 0.8)),
    Case(GroupLassoPenalty(np.array([1, 0, 1, -1]), np.array([0.3, 1.5]))),
]
over_penalties = pytest.mark.parametrize("case", PENALTIES, ids=str)


def test_every_penalty_has_a_case():
    assert {type(case.penalty) for case in PENALTIES} == set(walk(proximal_operators, Penalty))


@over_penalties
@pytest.mark.parametrize("step", [0.3, 2.0])
def test_the_prox_is_the_minimum_it_stands_for(case, step):
    """By brute force: no point, near or far, has a lower penalty plus distance."""
    rng = np.random.RandomState(0)
    g = case.penalty

    def cost(u, x):
        return g.value(u) + np.sum((u - x) ** 2) / (2 * step)

    for x in 2 * rng.standard_normal((20, case.d)):
        p = g.prox(x, step)
        for size in (1e-3, 0.1, 2.0):
            for move in size * rng.standard_normal((30, case.d)):
                assert cost(p, x) <= cost(p + move, x)
        for j in range(case.d):  # and towards zero, where the kinks are
            assert cost(p, x) <= cost(np.where(np.arange(case.d) == j, 0.0, p), x)
        assert cost(p, x) <= cost(x, x) and cost(p, x) <= cost(0 * x, x)


@over_penalties
def test_the_prox_brings_points_together(case):
    rng = np.random.RandomState(1)
    for x, y in 2 * rng.standard_normal((50, 2, case.d)):
        p, q = (case.penalty.prox(z, 0.7) for z in (x, y))
        assert np.linalg.norm(p - q) <= np.linalg.norm(x - y) * (1 + 1e-12)


@over_penalties
def test_a_penalty_is_convex_and_zero_at_zero(case):
    rng = np.random.RandomState(2)
    assert case.penalty.value(np.zeros(case.d)) == 0
    inside = within(0, 0.5, case.d)  # of the boxes
    assert check_chords(case.penalty.value, inside, rng, 200)


@pytest.mark.parametrize("case", [c for c in PENALTIES if not isinstance(c.penalty, GroupLassoPenalty)], ids=str)
def test_a_step_for_each_coordinate_is_that_step_in_each(case):
    x, steps = np.array([1.0, -2.0, 3.0, 0.2]), np.array([0.1, 0.5, 1.0, 2.0])
    whole = case.penalty.prox(x, steps)
    for j, step in enumerate(steps):
        assert whole[j] == pytest.approx(case.penalty.prox(x, float(step))[j])


def test_a_free_coordinate_stays_and_a_group_vanishes_as_a_whole():
    x = np.array([0.3, -0.4, 3.0, -4.0, 7.0])
    p = GroupLassoPenalty(np.array([0, 0, 1, 1, -1]), 1.0).prox(x, 1.0)
    assert_allclose(p, [0, 0, 3 * 0.8, -4 * 0.8, 7])
    assert L1(np.array([1.0, 0.0])).prox(np.array([3.0, 3.0]), 1.0).tolist() == [2.0, 3.0]
