"""Conjugate pairs against numerical integration: posterior, predictive, evidence; sequential updates; the one call."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePosterior
from fivefold.distributions.conjugate.conjugate_priors import PAIRS as REGISTERED
from fivefold.distributions.conjugate.conjugate_priors import conjugate_pair
from fivefold.distributions.conjugate.count_pairs import (
    BinomialBeta,
    CategoricalDirichlet,
    ExponentialGamma,
    MultinomialDirichlet,
    PoissonGamma,
)
from fivefold.distributions.conjugate.multivariate_pairs import (
    MultivariateNormalMean,
    MultivariateNormalPrecision,
    MultivariateNormalWishart,
    gaussians,
)
from fivefold.distributions.conjugate.normal_gamma import NormalGammaMembers
from fivefold.distributions.conjugate.normal_pairs import NormalMean, NormalNormalGamma, NormalPrecision, normals
from fivefold.distributions.conjugate.normal_wishart import NormalWishartMembers
from fivefold.distributions.conjugate.uniform_pair import ParetoMembers, UniformPareto
from fivefold.distributions.conjugate.wishart import WishartMembers, matrices_of
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.estimation.family_estimation import estimate
from fivefold.distributions.estimation.grid_posterior import grid_posterior
from fivefold.distributions.exponential import ExponentialMembers
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gamma import Gamma, GammaMembers
from fivefold.distributions.gaussian import Diagonal, Fixed, Full, Gaussian
from fivefold.distributions.poisson import PoissonMembers
from fivefold.distributions.student_t import StudentTMembers
from fivefold.distributions.uniform import UniformMembers
from fivefold.distributions.von_mises import VonMises, VonMisesMembers


def table(*rows):
    return np.array(rows, dtype=float)


S = table([2.0, 0.5], [0.5, 1.0])
rng = np.random.RandomState(0)
# pair, prior of K = 1, rows
PAIRS = {
    "bernoulli": (BinomialBeta(), BetaMembers(table([2.0]), table([1.5])), table([1], [0], [1], [1], [0], [1])),
    "binomial": (BinomialBeta(6), BetaMembers(table([2.0]), table([1.5])), table([1], [4], [6], [3])),
    "categorical": (CategoricalDirichlet(3), DirichletMembers(table([1, 2, 0.5])), table([0], [2], [1], [2], [2])),
    "multinomial": (
        MultinomialDirichlet(4),
        DirichletMembers(table([1, 2, 0.5])),
        table([1, 0, 3], [2, 2, 0], [0, 1, 3]),
    ),
    "poisson": (PoissonGamma(), GammaMembers(table([2.0]), table([0.7])), table([3], [0], [5], [2])),
    "exponential": (ExponentialGamma(), GammaMembers(table([2.0]), table([0.7])), table([0.3], [1.2], [0.1], [2.5])),
    "normal mean": (NormalMean(1.5), normals(0.5, 4.0), table([1], [2.5], [3])),
    "normal precision": (NormalPrecision(1.0), GammaMembers(table([2.0]), table([0.7])), table([1], [2.5], [3])),
    "normal-gamma": (
        NormalNormalGamma(),
        NormalGammaMembers(table([0.5]), table([1.5]), table([2.0]), table([0.7])),
        table([1], [2.5], [3]),
    ),
    "uniform": (UniformPareto(), ParetoMembers(table([2.5]), table([1.0])), table([0.5], [1.7], [0.9])),
    "gaussian mean": (
        MultivariateNormalMean(((2.0, 0.5), (0.5, 1.0))),
        gaussians(table([0, 1]), 3 * np.eye(2)[None]),
        rng.standard_normal((5, 2)),
    ),
    "gaussian precision": (
        MultivariateNormalPrecision((0.0, 1.0)),
        WishartMembers(np.array([4.0]), S[None]),
        rng.standard_normal((5, 2)),
    ),
    "normal-Wishart": (
        MultivariateNormalWishart(),
        NormalWishartMembers(table([0, 1]), np.array([1.5]), np.array([4.0]), S[None]),
        rng.standard_normal((5, 2)),
    ),
}
every_pair = pytest.mark.parametrize("name", PAIRS)
# theta (m, 1) -> log p(rows | theta), and bounds
ONE_PARAMETER = {
    "bernoulli": (lambda t, X: np.log(t) @ [X.sum()] + np.log1p(-t) @ [(1 - X).sum()], (0, 1)),
    "poisson": (lambda t, X: PoissonMembers(t).log_prob(X).sum(axis=0), (0, np.inf)),
    "exponential": (lambda t, X: ExponentialMembers(t).log_prob(X).sum(axis=0), (0, np.inf)),
    "normal mean": (lambda t, X: normals(t, 1.5 + 0 * t).log_prob(X).sum(axis=0), (-np.inf, np.inf)),
    "normal precision": (lambda t, X: normals(1 + 0 * t, 1 / t).log_prob(X).sum(axis=0), (0, np.inf)),
}


def updated(name, rows=slice(None)):
    pair, prior, X = PAIRS[name]
    return ConjugatePosterior.start(pair, prior).update(X[rows])


@pytest.mark.parametrize("name", ONE_PARAMETER)
def test_posterior_evidence_and_predictive_equal_quadrature(name):
    _, prior, X = PAIRS[name]
    log_likelihood, bounds = ONE_PARAMETER[name]
    found = updated(name)
    grid = grid_posterior(
        lambda t: log_likelihood(t, X), lambda t: prior.log_prob(t)[:, 0], [bounds], start=found.parameters.mean[0]
    )
    p = found.parameters
    assert grid.log_evidence == pytest.approx(found.log_evidence[0], abs=1e-9)
    np.testing.assert_allclose(grid.mean, p.mean[0], rtol=1e-8)
    np.testing.assert_allclose(grid.covariance[0], p.variance[0], rtol=1e-6)
    np.testing.assert_allclose(grid.interval(), p.central_interval()[0, 0], rtol=1e-5)
    theta = p.marginal_quantile([0.1, 0.5, 0.9])[:, 0]
    np.testing.assert_allclose(grid.density(theta), np.exp(p.log_prob(theta)[:, 0]), rtol=1e-8)
    rows = X[:2]
    full = [np.exp(log_likelihood(grid.points, row[None])) @ grid.probability for row in rows]
    np.testing.assert_allclose(np.exp(found.predictive.log_prob(rows)[:, 0]), full, rtol=1e-7)


def test_the_normal_gamma_posterior_equals_two_dimensional_quadrature():
    _, prior, X = PAIRS["normal-gamma"]
    found = updated("normal-gamma")
    grid = grid_posterior(
        lambda t: normals(t[:, :1], 1 / t[:, 1:]).log_prob(X).sum(axis=0),
        lambda t: prior.log_prob(t)[:, 0],
        [(-np.inf, np.inf), (0, np.inf)],
        start=[1.0, 1.0],
    )
    assert grid.log_evidence == pytest.approx(found.log_evidence[0], abs=1e-10)
    p = found.parameters
    np.testing.assert_allclose(grid.mean, [p.location[0, 0], p.precision.mean[0, 0]], rtol=1e-10)
    np.testing.assert_allclose(grid.interval(parameter=0), p.means.central_interval()[0, 0], rtol=1e-7)
    np.testing.assert_allclose(grid.interval(parameter=1), p.precision.central_interval()[0, 0], rtol=1e-7)


@pytest.mark.parametrize(
    ("members", "bounds", "start", "rtol"),
    [
        # close to an upper bound of 1 there are numbers every 1e-16 only: what lies beyond has probability 1e-8
        (BetaMembers(table([0.5]), table([0.5])), (0, 1), 0.5, 1e-6),
        (BetaMembers(table([0.05]), table([3.0])), (0, 1), 0.5, 1e-6),
        (BetaMembers(table([1e5]), table([1e5])), (0, 1), 0.5, 1e-8),
        (GammaMembers(table([0.1]), table([1.0])), (0, np.inf), 1.0, 1e-6),
        (ParetoMembers(table([1.5]), table([2.0])), (2, np.inf), 3.0, 1e-8),
        (StudentTMembers(table([3e4]), table([0.1]), table([1.0])), (-np.inf, np.inf), 3e4, 1e-8),
        (normals(1e6, 1e-6), (-np.inf, np.inf), 1e6 - 0.01, 1e-8),
    ],
)
def test_grids_hold_densities_that_are_infinite_heavy_or_narrow(members, bounds, start, rtol):
    found = grid_posterior(lambda t: 0 * t[:, 0], lambda t: members.log_prob(t)[:, 0], [bounds], start=[start])
    assert found.log_evidence == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(found.interval(), members.central_interval()[0, 0], rtol=rtol)


@every_pair
def test_rows_one_by_one_give_what_all_at_once_give(name):
    pair, prior, X = PAIRS[name]
    one = ConjugatePosterior.start(pair, prior)
    for row in X:
        one = one.update(row[None])
    whole = updated(name)
    np.testing.assert_allclose(one.log_evidence, whole.log_evidence, rtol=1e-10)
    drawn = prior.sample(np.zeros(5, dtype=int), np.random.RandomState(1)) * (1.5 if name == "uniform" else 1)
    np.testing.assert_allclose(one.parameters.log_prob(drawn), whole.parameters.log_prob(drawn), rtol=1e-9)


@every_pair
def test_the_evidence_is_the_product_of_predictives(name):
    """log p(x_1 .. x_n) = sum_i log p(x_i | x_1 .. x_(i-1)), by the chain rule."""
    pair, prior, X = PAIRS[name]
    after, total = ConjugatePosterior.start(pair, prior), 0.0
    for row in X:
        total += after.predictive.log_prob(row[None])[0, 0]
        after = after.update(row[None])
    assert total == pytest.approx(after.log_evidence[0], abs=1e-9)


@every_pair
def test_the_posterior_is_prior_times_likelihood_over_evidence(name):
    """At draws from the posterior, through members of the family with those parameters."""
    _, prior, X = PAIRS[name]
    after = updated(name)
    theta = after.parameters.sample(np.zeros(6, dtype=int), np.random.RandomState(2))
    make = {
        "bernoulli": lambda t: BinomialBeta().mean_members(BetaMembers(t * 1e9, (1 - t) * 1e9)),
        "binomial": lambda t: BinomialBeta(6).mean_members(BetaMembers(t * 1e9, (1 - t) * 1e9)),
        "categorical": lambda t: CategoricalDirichlet(3).mean_members(DirichletMembers(t)),
        "multinomial": lambda t: MultinomialDirichlet(4).mean_members(DirichletMembers(t)),
        "poisson": PoissonMembers,
        "exponential": ExponentialMembers,
        "normal mean": lambda t: normals(t, 1.5 + 0 * t),
        "normal precision": lambda t: normals(1 + 0 * t, 1 / t),
        "normal-gamma": lambda t: normals(t[:, :1], 1 / t[:, 1:]),
        "uniform": lambda t: UniformMembers(0 * t, t),
        "gaussian mean": lambda t: gaussians(t, S),
        "gaussian precision": lambda t: gaussians(
            np.repeat([[0.0, 1.0]], len(t), axis=0), np.linalg.inv(matrices_of(t))
        ),
        "normal-Wishart": lambda t: gaussians(t[:, :2], np.linalg.inv(matrices_of(t[:, 2:]))),
    }[name]
    log_rows = make(theta).log_prob(X).sum(axis=0)
    joint = prior.log_prob(theta)[:, 0] + log_rows - after.log_evidence[0]
    np.testing.assert_allclose(after.parameters.log_prob(theta)[:, 0], joint, rtol=1e-6, atol=1e-7)


@every_pair
def test_no_rows_give_the_prior_and_weights_mean_repetition(name):
    pair, prior, X = PAIRS[name]
    start = ConjugatePosterior.start(pair, prior)
    drawn = prior.sample(np.zeros(5, dtype=int), np.random.RandomState(3)) * (1.8 if name == "uniform" else 1)
    none = start.update(X, np.zeros(len(X)))
    np.testing.assert_allclose(none.parameters.log_prob(drawn), prior.log_prob(drawn), rtol=1e-10)
    np.testing.assert_allclose(none.log_evidence, 0, atol=1e-10)
    times = np.arange(len(X)) % 3
    weighted, repeated = start.update(X, times * 1.0), start.update(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.log_evidence, repeated.log_evidence, rtol=1e-10)
    np.testing.assert_allclose(weighted.parameters.log_prob(drawn), repeated.parameters.log_prob(drawn), rtol=1e-9)
    assert (np.asarray(repeated.sample_size) > np.asarray(start.sample_size)).all()


@pytest.mark.parametrize("name", ["exponential", "normal mean", "normal precision", "normal-gamma", "uniform"])
def test_predictives_integrate_to_one(name):
    predictive = updated(name).predictive
    low = 0.0 if name in ("exponential", "uniform") else -np.inf
    pieces = [low, 1.7, np.inf] if name == "uniform" else [low, np.inf]
    total = sum(
        quad(lambda x: np.exp(predictive.log_prob(np.array([[x]]))[0, 0]), a, b, limit=200)[0]
        for a, b in pairwise(pieces)
    )
    assert total == pytest.approx(1, abs=1e-6)


def test_predictive_counts_sum_to_one():
    for name, top in (("bernoulli", 1), ("binomial", 6), ("categorical", 2), ("poisson", 600)):
        x = np.arange(top + 1.0)[:, None]
        assert np.exp(updated(name).predictive.log_prob(x)).sum() == pytest.approx(1, abs=1e-10)
    rows = np.array([[a, b, 4 - a - b] for a in range(5) for b in range(5 - a)], dtype=float)
    assert np.exp(updated("multinomial").predictive.log_prob(rows)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["gaussian mean", "gaussian precision", "normal-Wishart"])
def test_predictives_of_rows_are_averages_over_the_posterior(name):
    after = updated(name)
    theta = after.parameters.sample(np.zeros(20_000, dtype=int), np.random.RandomState(4))
    if name == "gaussian mean":
        members = gaussians(theta, S)
    elif name == "gaussian precision":
        members = gaussians(np.repeat([[0.0, 1.0]], len(theta), axis=0), np.linalg.inv(matrices_of(theta)))
    else:
        members = gaussians(theta[:, :2], np.linalg.inv(matrices_of(theta[:, 2:])))
    x = table([0.3, -0.4], [1.5, 2.0])
    values = np.exp(members.log_prob(x))
    error = values.std(axis=1) / np.sqrt(len(theta))
    assert (np.abs(values.mean(axis=1) - np.exp(after.predictive.log_prob(x)[:, 0])) < 3 * error).all()


def test_groups_are_updated_side_by_side():
    X, codes = table([1], [0], [1], [1]), np.array([0, 1, 1, 0])
    start = ConjugatePosterior.start(BinomialBeta(), BetaMembers(np.ones((1, 1)), np.ones((1, 1))))
    both = start.update(X, GroupWeights(codes, np.ones(4), 2)).parameters
    np.testing.assert_allclose(both.a[:, 0], [3, 2])
    np.testing.assert_allclose(both.b[:, 0], [1, 2])


def test_missing_entries_are_left_out():
    start = ConjugatePosterior.start(PoissonGamma(), GammaMembers(np.ones((1, 2)), np.ones((1, 2))))
    after = start.update(table([2, np.nan], [1, 4])).parameters
    np.testing.assert_allclose(after.shape, [[4, 5]])
    np.testing.assert_allclose(after.rate, [[3, 2]])


def test_every_registered_pair_is_found_and_others_are_not():
    one = np.ones((1, 1))
    assert len(REGISTERED) == 10
    assert conjugate_pair(Gaussian(Full()), NormalGammaMembers(one, one, one, one)) is None
    assert conjugate_pair(Gaussian(Diagonal()), NormalGammaMembers(one, one, one, one)) == NormalNormalGamma()
    assert conjugate_pair(Gaussian(Fixed(2.0)), normals(0.0, 1.0)) == NormalMean(2.0)
    assert conjugate_pair(Gaussian(Fixed(S)), gaussians([[0, 0]], S[None])) == MultivariateNormalMean(
        ((2, 0.5), (0.5, 1))
    )
    assert conjugate_pair(Gamma(), GammaMembers(one, one)) is None


def test_one_call_gives_likelihood_mode_and_bayes():
    X, one = table([1], [1], [0], [1]), np.ones((1, 1))
    prior = BetaMembers(2 * one, 2 * one)
    assert estimate(Bernoulli(), X).members.probability.item() == 0.75
    assert estimate(Bernoulli(), X, prior=prior, method="mode").members.probability.item() == pytest.approx(4 / 6)
    full = estimate(Bernoulli(), X, prior=prior)
    assert full.members.probability.item() == pytest.approx(5 / 8)
    assert np.exp(full.predictive.log_prob(table([1.0]))).item() == pytest.approx(5 / 8)
    as_counts = estimate(Bernoulli(), X, prior=Bernoulli().prior(1, 1))
    assert as_counts.method == "mode"
    assert as_counts.members.probability.item() == pytest.approx(4 / 6)
    weighted = estimate(Bernoulli(), X, np.array([1.0, 0, 2, 1]))
    assert weighted.members.probability.item() == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no conjugate prior"):
        estimate(Bernoulli(), X, prior=GammaMembers(one, one))


@pytest.mark.parametrize(
    ("family", "draw", "kind"),
    [
        (Gamma(), lambda r: r.gamma(3, 0.5, (60, 1)), GammaMembers),
        (VonMises(), lambda r: r.vonmises(1, 4, (60, 1)), VonMisesMembers),
    ],
    ids=["Gamma", "VonMises"],
)
def test_families_without_a_conjugate_prior_have_a_posterior_on_a_grid(family, draw, kind):
    X = draw(np.random.RandomState(0))
    flat = estimate(family, X, prior=lambda theta: np.zeros(len(theta)), method="mode")
    best = estimate(family, X)
    assert isinstance(flat.members, kind)
    np.testing.assert_allclose(flat.members.log_prob(X).sum(), best.members.log_prob(X).sum(), atol=1e-8)
    np.testing.assert_allclose(flat.members.log_prob(X), best.members.log_prob(X), rtol=1e-3, atol=1e-3)
    full = estimate(family, X, prior=lambda theta: np.zeros(len(theta)))
    low, high = (0.0, 20.0) if kind is GammaMembers else (-np.pi, np.pi)
    total = quad(lambda x: np.exp(full.predictive.log_prob(table([x]))).item(), low, high, limit=100)[0]
    assert total == pytest.approx(1, abs=1e-4)
