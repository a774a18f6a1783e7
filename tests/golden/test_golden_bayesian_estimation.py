"""Distributions of parameters and Bayesian estimation: numbers of the catalogue; each test names its rows."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma as gamma_function
from scipy.special import gammaln, multigammaln

from fivefold.decision.class_conditional import ClassConditionalModel
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.binomial import BinomialMembers
from fivefold.distributions.categorical import CategoricalMembers
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePosterior
from fivefold.distributions.conjugate.conjugate_priors import PAIRS, conjugate_pair
from fivefold.distributions.conjugate.count_pairs import BinomialBeta, CategoricalDirichlet, PoissonGamma
from fivefold.distributions.conjugate.multivariate_pairs import (
    MultivariateNormalMean,
    MultivariateNormalWishart,
    gaussians,
)
from fivefold.distributions.conjugate.normal_gamma import NormalGammaMembers
from fivefold.distributions.conjugate.normal_pairs import NormalMean, NormalNormalGamma, NormalPrecision, normals
from fivefold.distributions.conjugate.normal_wishart import NormalWishartMembers
from fivefold.distributions.conjugate.wishart import WishartMembers, rows_of, wishart_normaliser
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.estimation.family_estimation import estimate
from fivefold.distributions.estimation.grid_posterior import grid_posterior
from fivefold.distributions.estimation.hypotheses import Hypotheses
from fivefold.distributions.estimation.limit_theorems import (
    average_experiment,
    chebyshev_margin,
    chebyshev_rows,
    chebyshev_tail,
)
from fivefold.distributions.estimation.plug_in import compare_plug_in
from fivefold.distributions.estimation.simulation_calibration import calibration_ranks
from fivefold.distributions.exponential import ExponentialMembers
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gamma import GammaMembers
from fivefold.distributions.gaussian import Full, GaussianMembers
from fivefold.distributions.multivariate_t import MultivariateTMembers
from fivefold.distributions.student_t import StudentTMembers
from fivefold.evaluation.experiments.bias_variance import rank_estimators
from fivefold.linear_model import BayesianLinearRegression, Lasso, Ridge

ONE = np.ones((1, 1))
TOSSES = np.array([[1.0], [1.0], [0.0], [0.0], [0.0], [1.0], [1.0]])  # H H T T T H H
ONE_TWO_THREE = np.array([[1.0], [2.0], [3.0]])


def flat(theta):
    return np.zeros(len(theta))


def after(pair, prior, X):
    return ConjugatePosterior.start(pair, prior).update(X)


def test_three_heads_have_a_maximum_likelihood_of_one():
    """A-136: the print says 0."""
    X = np.ones((3, 1))
    found = estimate(Bernoulli(), X)
    assert found.members.probability.item() == 1
    theta = BinomialMembers(0.4 * ONE)
    assert theta.log_prob(X).sum() == pytest.approx(3 * np.log(0.4))


def test_the_grid_posterior_integrates_to_one_and_a_flat_prior_gives_maximum_likelihood():
    """A-137, D-157."""
    found = grid_posterior(lambda t: 4 * np.log(t[:, 0]) + 3 * np.log1p(-t[:, 0]), flat, [(0.0, 1.0)])
    assert quad(lambda t: found.density([t])[0], 0, 1)[0] == pytest.approx(1, abs=1e-10)
    assert found.probability.sum() == pytest.approx(1, abs=1e-12)
    assert found.mode.item() == pytest.approx(4 / 7, abs=1e-6)
    conjugate = after(BinomialBeta(), BetaMembers(ONE, ONE), TOSSES)
    assert found.log_evidence == pytest.approx(conjugate.log_evidence.item(), abs=1e-10)
    np.testing.assert_allclose(found.interval(), conjugate.parameters.central_interval()[0, 0], atol=1e-8)


@pytest.mark.parametrize(
    ("a", "b", "posterior", "mean", "mode", "interval"),
    [(1, 1, (4, 1), 0.8, 1.0, (0.397635, 0.993691)), (2, 2, (5, 2), 5 / 7, 4 / 5, (0.358765, 0.956728))],
)
def test_three_heads_under_beta_priors(a, b, posterior, mean, mode, interval):
    """A-138."""
    found = after(BinomialBeta(), BetaMembers(a * ONE, b * ONE), np.ones((3, 1)))
    p = found.parameters
    assert (p.a.item(), p.b.item()) == posterior
    assert p.mean.item() == pytest.approx(mean, abs=1e-12)
    assert p.mode.item() == pytest.approx(mode, abs=1e-12)
    np.testing.assert_allclose(p.central_interval()[0, 0], interval, atol=5e-7)
    assert np.exp(found.predictive.log_prob(ONE)).item() == pytest.approx(mean)


def test_priors_fade_as_rows_arrive():
    """A-139: the posterior means of two priors meet."""
    X = np.random.RandomState(0).binomial(1, 0.6, size=(4096, 1)) * 1.0
    priors = BetaMembers(1 * ONE, 9 * ONE), BetaMembers(9 * ONE, 1 * ONE)
    gaps = []
    for n in (1, 16, 256, 4096):
        means = [after(BinomialBeta(), prior, X[:n]).parameters.mean.item() for prior in priors]
        gaps.append(means[1] - means[0])
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 0.002


def test_ranks_of_parameters_among_posterior_draws_are_uniform():
    """A-140: and not uniform for a posterior that is too narrow."""

    def draw_rows(theta, rng):
        return rng.binomial(1, theta.item(), size=(12, 1)) * 1.0

    def posterior(rows, m, rng, sharper=1.0):
        p = after(BinomialBeta(), BetaMembers(2 * ONE, 3 * ONE), rows).parameters
        return BetaMembers(p.a * sharper, p.b * sharper).sample(np.zeros(m, dtype=int), rng)

    found = calibration_ranks(lambda rng: rng.beta(2, 3), draw_rows, posterior, repeats=1000)
    assert found.p_values[0] > 0.05
    assert found.counts().sum() == 1000
    narrow = calibration_ranks(
        lambda rng: rng.beta(2, 3), draw_rows, lambda *args: posterior(*args, sharper=3.0), repeats=1000
    )
    assert narrow.p_values[0] < 1e-6


def test_ridge_is_the_mode_of_a_posterior():
    """A-141: Gaussian noise of variance s2 and prior N(0, s2 / C) of each weight."""
    rng = np.random.RandomState(0)
    X, s2, C = rng.standard_normal((40, 2)), 0.5, 3.0
    y = X @ [1.0, -2.0] + np.sqrt(s2) * rng.standard_normal(40)
    ridge = Ridge(alpha=C, fit_intercept=False).fit(X, y)
    found = grid_posterior(
        lambda w: -((y - w @ X.T) ** 2).sum(axis=1) / (2 * s2),
        lambda w: -C * (w**2).sum(axis=1) / (2 * s2),
        [(-np.inf, np.inf)] * 2,
    )
    np.testing.assert_allclose(found.mode, ridge.coef_, atol=1e-6)
    np.testing.assert_allclose(found.mean, ridge.coef_, atol=1e-6)
    covariance = s2 * np.linalg.inv(X.T @ X + C * np.eye(2))
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-5)
    bayes = BayesianLinearRegression(alpha=C / s2, beta=1 / s2, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(bayes.coef_, ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(bayes.covariance_, covariance, rtol=1e-9)


def test_the_absolute_penalty_is_a_laplace_prior_and_smoothing_a_beta_prior():
    """A-141."""
    rng = np.random.RandomState(1)
    X, s2, alpha = rng.standard_normal((40, 2)), 0.5, 0.2
    y = X @ [1.0, 0.05] + np.sqrt(s2) * rng.standard_normal(40)
    lasso = Lasso(alpha=alpha, fit_intercept=False, tol=1e-12).fit(X, y)
    scale = s2 / (40 * alpha)  # of the Laplace prior
    found = grid_posterior(
        lambda w: -((y - w @ X.T) ** 2).sum(axis=1) / (2 * s2),
        lambda w: -np.abs(w).sum(axis=1) / scale,
        [(-np.inf, np.inf)] * 2,
        start=lasso.coef_,
    )
    np.testing.assert_allclose(found.mode, lasso.coef_, atol=1e-5)
    smoothed = estimate(Bernoulli(), TOSSES, prior=BetaMembers(2 * ONE, 2 * ONE), method="mode")
    assert smoothed.members.probability.item() == pytest.approx((4 + 1) / (7 + 2))


def test_beliefs_in_hypotheses_may_be_updated_at_once_or_step_by_step():
    """C-70."""
    members = BinomialMembers(np.array([[0.5], [0.9], [0.1]]))
    start = Hypotheses.of([0.8, 0.1, 0.1])
    step = start
    for row in TOSSES:
        step = step.observe(members, row[None])
    whole = start.observe(members, TOSSES)
    np.testing.assert_allclose(step.probability, whole.probability, rtol=1e-12)
    assert step.log_evidence == pytest.approx(whole.log_evidence)
    np.testing.assert_allclose(start.path(members.log_prob(TOSSES))[-1], whole.probability, rtol=1e-12)
    by_hand = np.array([0.8 * 0.5**7, 0.1 * 0.9**4 * 0.1**3, 0.1 * 0.1**4 * 0.9**3])
    np.testing.assert_allclose(whole.probability, by_hand / by_hand.sum())
    with pytest.raises(ValueError, match="sum to one"):
        Hypotheses.of([0.5, 0.6])


def test_the_plug_in_approaches_the_full_predictive():
    """C-75, C-76."""
    X = np.random.RandomState(0).normal(1.0, 2.0, size=(256, 1))
    prior = NormalGammaMembers(0 * ONE, ONE, 2 * ONE, 2 * ONE)
    found = compare_plug_in(NormalNormalGamma(), prior, X, (2, 16, 256))
    gaps = [comparison.divergence.item() for comparison in found]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]
    assert gaps[2] < 0.001 + 3 * found[2].error.item()


def test_a_gaussian_mean_with_known_variance():
    """C-77, D-158, D-159: data 1, 2, 3, variance 1, prior N(0, 4)."""
    found = after(NormalMean(1.0), normals(0.0, 4.0), ONE_TWO_THREE)
    assert found.parameters.mean.item() == pytest.approx(24 / 13, abs=1e-12)
    assert found.parameters.variance.item() == pytest.approx(4 / 13, abs=1e-12)
    assert found.predictive.variance.item() == pytest.approx(17 / 13, abs=1e-12)
    none = after(NormalMean(1.0), normals(0.0, 4.0), ONE_TWO_THREE[:0])
    assert (none.parameters.mean.item(), none.parameters.variance.item()) == (0, 4)
    wide = after(NormalMean(1.0), normals(0.0, 1e12), ONE_TWO_THREE)
    assert wide.parameters.mean.item() == pytest.approx(2)
    many = after(NormalMean(1.0), normals(0.0, 4.0), np.tile(ONE_TWO_THREE, (10_000, 1)))
    assert many.parameters.mean.item() == pytest.approx(2, abs=1e-4)
    assert many.parameters.variance.item() == pytest.approx(1 / 30_000, rel=1e-4)


def test_conjugate_pairs_are_registered():
    """C-78, D-166: likelihood by likelihood."""
    names = {(family.__name__, prior.__name__) for family, prior in PAIRS}
    assert {
        ("Bernoulli", "BetaMembers"),
        ("Binomial", "BetaMembers"),
        ("Categorical", "DirichletMembers"),
        ("Multinomial", "DirichletMembers"),
        ("Poisson", "GammaMembers"),
        ("Exponential", "GammaMembers"),
        ("Gaussian", "GaussianMembers"),
        ("Gaussian", "NormalGammaMembers"),
        ("Gaussian", "NormalWishartMembers"),
    } <= names
    assert conjugate_pair(Bernoulli(), BetaMembers(ONE, ONE)) == BinomialBeta()
    precision = after(NormalPrecision(2.0), GammaMembers(ONE, ONE), ONE_TWO_THREE)
    assert (precision.parameters.shape.item(), precision.parameters.rate.item()) == (2.5, 2.0)


def test_distribution_functions_give_probabilities_of_intervals():
    """D-81."""
    members = normals(0.0, 1.0)
    assert members.interval_probability(-1.96, 1.96).item() == pytest.approx(0.9500042)
    ends = members.marginal_cdf(np.array([[-np.inf], [np.inf]]))
    assert ends.ravel().tolist() == [0, 1]
    x, h = np.linspace(-3, 3, 13)[:, None], 1e-5
    slope = (members.marginal_cdf(x + h) - members.marginal_cdf(x - h))[:, 0, 0] / (2 * h)
    np.testing.assert_allclose(slope, np.exp(members.log_prob(x)[:, 0]), rtol=1e-8)


def test_a_density_may_exceed_one():
    """D-82: N(0, 0.1^2) has density 3.989 at 0, and mean and variance are integrals."""
    members = normals(0.0, 0.01)

    def density(x):
        return np.exp(members.log_prob(np.array([[x]]))).item()

    assert density(0.0) == pytest.approx(3.989, abs=5e-4)
    assert quad(density, -1, 1, points=[0])[0] == pytest.approx(1)
    assert quad(lambda x: x**2 * density(x), -1, 1, points=[0])[0] == pytest.approx(0.01)


def test_moments_of_the_beta_distribution():
    """D-85: Beta(2, 3) has mean 0.4 and variance 0.04, where the printed formula would give 1."""
    members = BetaMembers(2 * ONE, 3 * ONE)
    assert members.mean.item() == pytest.approx(0.4)
    assert members.variance.item() == pytest.approx(0.04)
    np.testing.assert_allclose(BetaMembers(ONE, ONE).log_prob(np.linspace(0, 1, 5)[:, None]), 0.0, atol=1e-12)


def test_gamma_functions():
    """D-86: Gamma(5) = 24; rising factorials; the multivariate function of the Wishart distribution."""
    assert gamma_function(5) == 24
    assert np.exp(gammaln(2.5 + 4) - gammaln(2.5)) == pytest.approx(2.5 * 3.5 * 4.5 * 5.5)
    product = np.pi**0.5 * gamma_function(3.0) * gamma_function(2.5)
    assert np.exp(multigammaln(3.0, 2)) == pytest.approx(product)
    level = wishart_normaliser(np.array([6.0]), np.array([0.0]), 2)
    assert np.exp(level).item() == pytest.approx(2**6 * product)


def test_moments_of_the_dirichlet_distribution():
    """D-89: two columns are a beta distribution; rows of the covariance sum to zero."""
    members = DirichletMembers(np.array([[2.0, 3.0, 5.0]]))
    np.testing.assert_allclose(members.mean, [[0.2, 0.3, 0.5]])
    np.testing.assert_allclose(members.variance, [[16 / 1100, 21 / 1100, 25 / 1100]])
    assert members.covariance[0, 0, 1] == pytest.approx(-6 / 1100)
    np.testing.assert_allclose(members.covariance.sum(axis=2), 0, atol=1e-15)
    two = DirichletMembers(np.array([[2.0, 3.0]]))
    x = np.array([0.2, 0.7])
    beta = BetaMembers(2 * ONE, 3 * ONE).log_prob(x[:, None])
    np.testing.assert_allclose(two.log_prob(np.column_stack([x, 1 - x])), beta)


def test_a_gamma_distribution_of_shape_one_is_exponential():
    """D-90."""
    x = np.linspace(0, 5, 11)[:, None]
    np.testing.assert_allclose(GammaMembers(ONE, 3 * ONE).log_prob(x), ExponentialMembers(3 * ONE).log_prob(x))
    members = GammaMembers(4 * ONE, 2 * ONE)
    assert (members.mean.item(), members.variance.item()) == (2, 1)


def test_moments_of_the_wishart_distribution():
    """D-91: nu = 5, T = [[2, .5], [.5, 1]]; one dimension is Gamma(nu / 2, rate 1 / (2 T))."""
    members = WishartMembers(np.array([5.0]), np.array([[[2.0, 0.5], [0.5, 1.0]]]))
    np.testing.assert_allclose(members.mean[0], [[10, 2.5], [2.5, 5]])
    np.testing.assert_allclose(members.variance[0], [[40, 11.25], [11.25, 10]])
    drawn = members.sample(np.zeros(40_000, dtype=int), np.random.RandomState(0))
    error = drawn.std(axis=0) / 200
    assert (np.abs(drawn.mean(axis=0) - rows_of(members.mean)[0]) < 3 * error).all()
    np.testing.assert_allclose(drawn.var(axis=0), [40, 11.25, 10], rtol=0.05)
    one = WishartMembers(np.array([5.0]), np.array([[[2.0]]]))
    x = np.array([[0.5], [4.0]])
    np.testing.assert_allclose(one.log_prob(x), GammaMembers(2.5 * ONE, 0.25 * ONE).log_prob(x))


@pytest.mark.parametrize(
    ("dof", "quantile"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (9, 2.2622), (30, 2.0423), (1000, 1.9623)]
)
def test_quantiles_of_the_t_distribution(dof, quantile):
    """D-92."""
    members = StudentTMembers(0 * ONE, ONE, dof * ONE)
    assert members.marginal_quantile([0.975]).item() == pytest.approx(quantile, abs=5e-5)


def test_the_multivariate_t_distribution_in_one_dimension_and_with_many_degrees_of_freedom():
    """D-93, D-94."""
    x = np.linspace(-3, 4, 9)[:, None]
    one = MultivariateTMembers.of([[1.0]], [[[1.75]]], [5.0])
    np.testing.assert_allclose(one.log_prob(x), StudentTMembers(ONE, np.sqrt(1.75) * ONE, 5 * ONE).log_prob(x))
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    X = np.random.RandomState(0).standard_normal((9, 2))
    limit = MultivariateTMembers.of([[0.0, 1.0]], S[None], [1e9])
    np.testing.assert_allclose(limit.log_prob(X), gaussians([[0.0, 1.0]], S).log_prob(X), rtol=1e-6)


def test_the_marginal_mean_of_a_normal_gamma_distribution_is_t():
    """D-95."""
    members = NormalGammaMembers(0.5 * ONE, 2 * ONE, 1.5 * ONE, 0.7 * ONE)
    assert members.means.dof.item() == 3
    for mu in (-1.0, 0.5, 2.0):
        total = quad(lambda t, mu=mu: np.exp(members.log_prob(np.array([[mu, t]]))).item(), 0, np.inf)[0]
        assert total == pytest.approx(np.exp(members.means.log_prob(np.array([[mu]]))).item(), rel=1e-7)


def test_a_normal_wishart_distribution_of_one_dimension_is_normal_gamma():
    """D-96: a0 = nu / 2, and b0 = T / 2 for the inverse scale T."""
    wishart = NormalWishartMembers(0.5 * ONE, np.array([2.0]), np.array([3.0]), np.array([[[1.4]]]))
    gamma = NormalGammaMembers(0.5 * ONE, 2 * ONE, 1.5 * ONE, 0.7 * ONE)
    X = gamma.sample(np.zeros(10, dtype=int), np.random.RandomState(0))
    np.testing.assert_allclose(wishart.log_prob(X), gamma.log_prob(X), rtol=1e-10)


def test_averages_have_the_mean_and_a_variance_that_halves():
    """D-97, D-98."""
    found = average_experiment(
        lambda rng, size: rng.exponential(2.0, size), 2.0, 4.0, sizes=(8, 16, 32), repeats=20_000
    )
    for average in found:
        error = np.sqrt(average.expected_variance / 20_000)
        assert abs(average.means.mean() - 2) < 3 * error
        assert average.means.var() == pytest.approx(average.expected_variance, rel=0.05)
    assert found[0].expected_variance == 2 * found[1].expected_variance


def test_chebyshevs_inequality():
    """D-99: 0.25 and 0.1111 for k = 2, 3; a normal has 0.0455 and 0.0027 there."""
    for k, bound, normal in ((2, 0.25, 0.0455), (3, 0.1111, 0.0027)):
        assert chebyshev_tail(4.0, k * 2.0) == pytest.approx(bound, abs=5e-5)
        tail = 1 - normals(0.0, 1.0).interval_probability(-k, k).item()
        assert tail == pytest.approx(normal, abs=5e-5)
        assert tail < bound
    assert chebyshev_margin(4.0, 0.25) == pytest.approx(4.0)
    assert chebyshev_tail(4.0, chebyshev_margin(4.0, 0.1, 7), 7) == pytest.approx(0.1)


def test_the_law_of_large_numbers_plans_a_sample():
    """D-100: sigma^2 = 0.25, eps = 0.05, delta = 0.05 needs 2000."""
    assert chebyshev_rows(0.25, 0.05, 0.05) == 2000
    found = average_experiment(
        lambda rng, size: rng.binomial(1, 0.5, size), 0.5, 0.25, sizes=(50, 500, 2000), repeats=400
    )
    shares, bounds = np.array([average.tail(0.05) for average in found]).T
    assert (shares <= bounds).all()
    assert (np.diff(shares) <= 0).all()
    assert bounds[-1] == pytest.approx(0.05)


def test_standardised_averages_become_normal():
    """D-101: for several distributions, the distance falls with n."""
    for draw, mu, variance in (
        (lambda rng, size: rng.exponential(1.0, size), 1.0, 1.0),
        (lambda rng, size: rng.uniform(size=size), 0.5, 1 / 12),
        (lambda rng, size: rng.binomial(1, 0.2, size), 0.2, 0.16),
    ):
        found = average_experiment(draw, mu, variance, sizes=(1, 4, 64), repeats=20_000)
        distances = [average.kolmogorov_distance for average in found]
        assert distances[0] > distances[1] > distances[2]
        assert distances[2] < 0.08


def test_constant_density_ellipses_have_half_lengths_by_roots_of_eigenvalues():
    """D-138: the text says by the eigenvalues themselves."""
    S = np.array([[[3.0, 1.0], [1.0, 3.0]]])
    members = GaussianMembers(np.array([[1.0, 2.0]]), Full().from_matrix(S, 2))
    lengths, directions = members.axes()
    np.testing.assert_allclose(lengths[0], [2, np.sqrt(2)])
    angles = np.linspace(0, 2 * np.pi, 9)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    points = members.mean + 1.5 * (circle * lengths[0]) @ directions[0]
    np.testing.assert_allclose(members.log_prob(points), members.log_prob(points)[0, 0], rtol=1e-10)


def test_a_gaussian_mean_vector_with_known_covariance():
    """D-160: one column is D-158, and a diagonal covariance is one update per column."""
    X = np.random.RandomState(0).standard_normal((6, 2))
    both = after(
        MultivariateNormalMean(((2.0, 0.0), (0.0, 3.0))), gaussians([[0.0, 1.0]], np.diag([4.0, 1.0])[None]), X
    )
    alone = after(NormalMean((2.0, 3.0)), normals([[0.0, 1.0]], [[4.0, 1.0]]), X)
    np.testing.assert_allclose(both.parameters.mean, alone.parameters.mean, rtol=1e-10)
    np.testing.assert_allclose(both.parameters.covariance.matrix[0], np.diag(alone.parameters.variance[0]), atol=1e-12)
    np.testing.assert_allclose(both.log_evidence, alone.log_evidence, rtol=1e-10)
    one = after(MultivariateNormalMean(((1.0,),)), gaussians([[0.0]], [[[4.0]]]), ONE_TWO_THREE)
    assert one.parameters.mean.item() == pytest.approx(24 / 13)


def test_a_normal_gamma_posterior_and_its_predictive():
    """D-161, D-162: data 1, 2, 3, prior (0, 1, 1, 1) -> (1.5, 4, 2.5, 3.5); t_5(1.5, 1.75), 0.207408 at 2.5."""
    found = after(NormalNormalGamma(), NormalGammaMembers(0 * ONE, ONE, ONE, ONE), ONE_TWO_THREE)
    p = found.parameters
    assert [v.item() for v in (p.location, p.strength, p.shape, p.rate)] == [1.5, 4, 2.5, 3.5]
    t = found.predictive
    assert [t.dof.item(), t.location.item(), round(t.scale.item() ** 2, 12)] == [5, 1.5, 1.75]
    density = np.exp(t.log_prob(np.array([[2.5]]))).item()
    assert density == pytest.approx(0.207408, abs=5e-7)
    more = found.update(np.array([[2.5]]))
    assert np.exp(more.log_evidence - found.log_evidence).item() == pytest.approx(density)
    theta = p.sample(np.zeros(40_000, dtype=int), np.random.RandomState(0))
    values = np.exp(normals(theta[:, :1], 1 / theta[:, 1:]).log_prob(np.array([[2.5]]))[0])
    assert abs(values.mean() - density) < 3 * values.std() / 200


def test_a_normal_wishart_posterior_and_its_predictive():
    """D-163, D-164: in one dimension with nu = 2, T = 2, k = 1 those of the normal-gamma distribution."""
    prior = NormalWishartMembers(0 * ONE, np.ones(1), np.array([2.0]), np.array([[[2.0]]]))
    found = after(MultivariateNormalWishart(), prior, ONE_TWO_THREE)
    p = found.parameters
    assert [v.item() for v in (p.location, p.strength, p.dof, p.inverse_scale)] == pytest.approx([1.5, 4, 5, 7])
    t = found.predictive
    assert [t.dof.item(), t.location.item(), t.scale.matrix.item()] == pytest.approx([5, 1.5, 1.75])
    gamma = after(NormalNormalGamma(), NormalGammaMembers(0 * ONE, ONE, ONE, ONE), ONE_TWO_THREE)
    np.testing.assert_allclose(found.log_evidence, gamma.log_evidence, rtol=1e-10)


def test_seven_tosses():
    """D-167, D-168: H, H, T, T, T, H, H."""
    ml = estimate(Bernoulli(), TOSSES)
    assert ml.members.probability.item() == pytest.approx(0.571429, abs=5e-7)
    assert ml.log_likelihood.item() == pytest.approx(-4.780357, abs=5e-7)
    bayes = estimate(Bernoulli(), TOSSES, prior=BetaMembers(ONE, ONE))
    assert (bayes.posterior.parameters.a.item(), bayes.posterior.parameters.b.item()) == (5, 4)
    assert np.exp(bayes.predictive.log_prob(ONE)).item() == pytest.approx(0.555556, abs=5e-7)
    assert np.exp(bayes.posterior.log_evidence).item() == pytest.approx(1 / 280)


def test_a_prior_by_its_mean_and_equivalent_sample_size():
    """D-169: towards no sample, the estimate is that of maximum likelihood."""
    prior = BetaMembers.from_mean(0.3, 10)
    assert (prior.a.item(), prior.b.item()) == pytest.approx((3, 7))
    assert BinomialBeta().sample_size(prior).item() == pytest.approx(10)
    weak = after(BinomialBeta(), BetaMembers.from_mean(0.3, 1e-9), TOSSES)
    assert weak.parameters.mean.item() == pytest.approx(4 / 7)
    np.testing.assert_allclose(DirichletMembers.from_mean([0.2, 0.8], 5).alpha, [[1, 4]])


def test_dirichlet_estimation_of_categories():
    """D-172: two levels are D-168; alpha = 1 is Laplace smoothing."""
    two = after(CategoricalDirichlet(2), DirichletMembers(np.ones((1, 2))), TOSSES)
    np.testing.assert_allclose(two.parameters.alpha, [[4, 5]])
    assert np.exp(two.predictive.log_prob(ONE)).item() == pytest.approx(5 / 9)
    assert np.exp(two.log_evidence).item() == pytest.approx(1 / 280)
    three = after(CategoricalDirichlet(3), DirichletMembers(np.ones((1, 3))), np.array([[0.0], [0], [2]]))
    np.testing.assert_allclose(three.predictive.probability, [[3 / 6, 1 / 6, 2 / 6]])


def test_estimators_of_the_end_of_a_uniform_distribution():
    """C-107: the MVUE, a linear unbiased one with four times its variance, and a biased one of less squared error."""
    n, end = 10, 3.0
    estimators = {
        "twice the mean": lambda x: 2 * x.mean(),
        "largest": np.max,
        "(n + 1) / n largest": lambda x: x.max() * (n + 1) / n,
        "(n + 2) / (n + 1) largest": lambda x: x.max() * (n + 2) / (n + 1),
    }
    found = rank_estimators(
        estimators, lambda rng: rng.uniform(0, end, n), end, repeats=4000, rng=np.random.default_rng(0)
    )
    assert list(found)[:2] == ["(n + 1) / n largest", "twice the mean"]
    assert float(found["(n + 1) / n largest"].variance) == pytest.approx(end**2 / (n * (n + 2)), rel=0.1)
    assert float(found["twice the mean"].variance) == pytest.approx(end**2 / (3 * n), rel=0.1)
    assert not found["largest"].unbiased
    errors = {name: float(each.bias) ** 2 + float(each.variance) for name, each in found.items()}
    assert min(errors, key=errors.get) == "(n + 2) / (n + 1) largest"


def test_the_best_linear_unbiased_estimate_weights_draws_by_precision():
    """C-107: and the sample variance divided by n - 1 is unbiased, divided by n it is not, by -sigma^2 / n."""
    spread = np.array([1.0, 1.0, 5.0, 5.0])
    w = 1 / spread**2 / (1 / spread**2).sum()
    found = rank_estimators(
        {"mean": np.mean, "weighted": lambda x: w @ x, "first": lambda x: x[0]},
        lambda rng: rng.normal(2.0, spread),
        2.0,
        repeats=4000,
        rng=np.random.default_rng(0),
    )
    assert list(found) == ["weighted", "first", "mean"]
    assert float(found["weighted"].variance) == pytest.approx(1 / (1 / spread**2).sum(), rel=0.1)
    variances = rank_estimators(
        {"n": np.var, "n - 1": lambda x: np.var(x, ddof=1)},
        lambda rng: rng.normal(0.0, 2.0, 5),
        4.0,
        repeats=4000,
        rng=np.random.default_rng(0),
    )
    assert variances["n - 1"].unbiased
    assert float(variances["n"].bias) == pytest.approx(-4 / 5, abs=0.1)


def test_one_hot_rows_of_categories():
    """D-170: rows sum to one, codes come back exactly, an unknown state is refused, a missing one has no ones."""
    codes = np.array([[0.0], [2.0], [1.0], [2.0]])
    members = CategoricalMembers(np.full((1, 3), 1 / 3), (3,))
    Z = members.sufficient_statistics(codes)
    np.testing.assert_array_equal(Z, [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(Z.argmax(axis=1), codes[:, 0])
    assert members.sufficient_statistics(np.array([[np.nan]])).sum() == 0
    with pytest.raises(ValueError, match="not among its 3 levels"):
        members.sufficient_statistics(np.array([[3.0]]))


def test_predictive_densities_classify():
    """D-159: after few rows the full predictive of a class is wide, and its posterior probabilities are cautious."""
    X, groups = np.array([[0.0], [1.0], [5.0], [6.0]]), GroupWeights(np.array([0, 0, 1, 1]), np.ones(4), 2)
    prior = NormalGammaMembers(3 * ONE, 0.1 * ONE, ONE, ONE)
    found = ConjugatePosterior.start(NormalNormalGamma(), prior).update(X, groups)
    full, plug_in = (ClassConditionalModel(d) for d in (found.predictive, found.mean_members))
    rows = np.array([[0.5], [2.0], [5.5]])
    np.testing.assert_array_equal(full.predict(rows), [0, 0, 1])
    np.testing.assert_array_equal(plug_in.predict(rows), [0, 0, 1])
    assert (full.posterior(rows).max(axis=1) < plug_in.posterior(rows).max(axis=1)).all()
    counts = ConjugatePosterior.start(PoissonGamma(), GammaMembers(ONE, ONE)).update(X, groups)
    two = np.array([[2.0]])  # 3 (3/4)^2 / 4^2 under Gamma(2, 3), 78 (3/4)^12 / 4^2 under Gamma(12, 3)
    np.testing.assert_allclose(counts.predictive.pdf(two)[0], [3 * 0.75**2 / 16, 78 * 0.75**12 / 16])
    np.testing.assert_array_equal(ClassConditionalModel(counts.predictive).predict(two), [1])
