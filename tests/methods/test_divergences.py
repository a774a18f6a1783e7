"""Closed forms of entropies and divergences against Monte Carlo; algebra of Gaussians; edges of supports."""

import numpy as np
import pytest

from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.binomial import BinomialMembers
from fivefold.distributions.categorical import CategoricalMembers
from fivefold.distributions.conjugate.multivariate_pairs import gaussians
from fivefold.distributions.conjugate.normal_gamma import NormalGammaMembers
from fivefold.distributions.conjugate.normal_pairs import normals
from fivefold.distributions.conjugate.normal_wishart import NormalWishartMembers
from fivefold.distributions.conjugate.uniform_pair import ParetoMembers
from fivefold.distributions.conjugate.wishart import InverseWishartMembers, WishartMembers
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.double_exponential import LaplaceMembers
from fivefold.distributions.exponential import ExponentialMembers
from fivefold.distributions.gamma import GammaMembers
from fivefold.distributions.multinomial import MultinomialMembers
from fivefold.distributions.multivariate_t import MultivariateTMembers
from fivefold.distributions.poisson import PoissonMembers
from fivefold.distributions.student_t import StudentTMembers
from fivefold.distributions.uniform import DiscreteUniformMembers, UniformMembers
from fivefold.distributions.von_mises import VonMisesMembers

DRAWS = 40_000


def table(*rows):
    return np.array(rows, dtype=float)


S, V = table([2.0, 0.5], [0.5, 1.0]), table([1.0, -0.3], [-0.3, 0.8])
PAIRS = {
    "beta": (BetaMembers(table([2, 5]), table([3, 1.5])), BetaMembers(table([1, 4]), table([2, 3]))),
    "gamma": (GammaMembers(table([3, 2]), table([2, 1])), GammaMembers(table([2, 4]), table([1, 3]))),
    "exponential": (ExponentialMembers(table([3, 2])), ExponentialMembers(table([2, 0.4]))),
    "von Mises": (VonMisesMembers(table([0.5, 2]), table([3, 1])), VonMisesMembers(table([1, 2]), table([1, 5]))),
    "dirichlet": (DirichletMembers(table([2, 3, 1.5])), DirichletMembers(table([1, 2, 4]))),
    "laplace": (LaplaceMembers(table([0, 1]), table([1, 2])), LaplaceMembers(table([0.5, -1]), table([2, 1.5]))),
    "uniform": (UniformMembers(table([0, 1]), table([1, 2])), UniformMembers(table([-1, 1]), table([2, 5]))),
    "dice": (DiscreteUniformMembers(table([1.0]), table([4.0])), DiscreteUniformMembers(table([1.0]), table([6.0]))),
    "normal": (normals(table([0, 2]), table([1, 3])), normals(table([1, 2]), table([2, 1]))),
    "gaussian": (gaussians(table([0, 1]), S[None]), gaussians(table([1, 1]), V[None])),
    "binomial": (BinomialMembers(table([0.3, 0.8]), 7), BinomialMembers(table([0.5, 0.7]), 7)),
    "poisson": (PoissonMembers(table([0.8, 12])), PoissonMembers(table([1.5, 9]))),
    "categorical": (CategoricalMembers(table([0.2, 0.3, 0.5]), (3,)), CategoricalMembers(table([0.4, 0.4, 0.2]), (3,))),
    "multinomial": (
        MultinomialMembers(table([0.2, 0.3, 0.5]), np.array([6.0])),
        MultinomialMembers(table([0.4, 0.4, 0.2]), np.array([6.0])),
    ),
    "pareto": (ParetoMembers(table([3.0]), table([2.0])), ParetoMembers(table([4.0]), table([1.5]))),
    "wishart": (WishartMembers(np.array([5.0]), S[None]), WishartMembers(np.array([7.0]), V[None])),
    "inverse wishart": (
        InverseWishartMembers(np.array([5.0]), S[None]),
        InverseWishartMembers(np.array([7.0]), V[None]),
    ),
    "normal-gamma": (
        NormalGammaMembers(table([0, 1]), table([2, 1]), table([3, 2]), table([1, 2])),
        NormalGammaMembers(table([1, 1]), table([1, 3]), table([2, 2]), table([2, 1])),
    ),
    "normal-Wishart": (
        NormalWishartMembers(table([0, 1]), np.array([2.0]), np.array([5.0]), S[None]),
        NormalWishartMembers(table([1, 1]), np.array([1.0]), np.array([6.0]), V[None]),
    ),
}
ENTROPY_ONLY = {
    "t": StudentTMembers(table([0, 1]), table([1, 2]), table([4, 1.5])),
    "multivariate t": MultivariateTMembers.of(table([0, 1]), S[None], [4.0]),
}


def within(values, wanted):
    """The mean of the values is within three standard errors, and a rounding error where they are all equal."""
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - wanted) <= 3 * error + 1e-9, (values.mean(), wanted, error)


@pytest.mark.parametrize("name", [*PAIRS, *ENTROPY_ONLY])
def test_the_entropy_is_the_mean_of_minus_log_p(name):
    p = ENTROPY_ONLY[name] if name in ENTROPY_ONLY else PAIRS[name][0]
    drawn = p.sample(np.zeros(DRAWS, dtype=int), np.random.RandomState(1))
    within(-p.log_prob(drawn)[:, 0], p.entropy[0])


@pytest.mark.parametrize("name", PAIRS)
def test_the_divergence_is_the_mean_of_the_log_ratio(name):
    p, q = PAIRS[name]
    drawn = p.sample(np.zeros(DRAWS, dtype=int), np.random.RandomState(2))
    within((p.log_prob(drawn) - q.log_prob(drawn))[:, 0], p.kl_divergence(q)[0])
    assert p.kl_divergence(q)[0] > 0
    assert p.kl_divergence(p)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", ["wishart", "normal-gamma", "normal-Wishart"])
def test_priors_have_an_exponential_form(name):
    p, _ = PAIRS[name]
    X = p.sample(np.zeros(2000, dtype=int), np.random.RandomState(3))
    eta = p.natural_parameters
    form = p.sufficient_statistics(X) @ eta.T - p.log_normaliser(eta) + p.log_base_measure(X)[:, None]
    np.testing.assert_allclose(form, p.log_prob(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(p.from_natural(eta).log_prob(X), p.log_prob(X), rtol=1e-9, atol=1e-9)
    for j in range(eta.shape[1]):
        h = np.eye(eta.shape[1])[j] * 1e-6
        slope = (p.log_normaliser(eta + h) - p.log_normaliser(eta - h)) / 2e-6
        np.testing.assert_allclose(slope, p.mean_statistics[:, j], rtol=1e-5, atol=1e-6)


def test_a_divergence_is_infinite_where_the_other_excludes_what_happens():
    small, large = UniformMembers(table([0.0]), table([1.0])), UniformMembers(table([0.0]), table([2.0]))
    assert small.kl_divergence(large)[0] == pytest.approx(np.log(2))
    assert large.kl_divergence(small)[0] == np.inf
    sure, fair = BinomialMembers(table([1.0])), BinomialMembers(table([0.5]))
    assert sure.kl_divergence(fair)[0] == pytest.approx(np.log(2))
    assert fair.kl_divergence(sure)[0] == np.inf
    assert sure.entropy[0] == 0
    never, rare = PoissonMembers(table([0.0])), PoissonMembers(table([0.5]))
    assert never.kl_divergence(rare)[0] == pytest.approx(0.5)
    assert rare.kl_divergence(never)[0] == np.inf


def test_a_map_of_a_gaussian_is_gaussian():
    p, A, b = (
        gaussians(table([1, -2, 0]), np.array([[[2.0, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]]])),
        table([1, 2, 0], [0, 1, -1]),
        [5.0, 0],
    )
    image = p.affine(A, b)
    np.testing.assert_allclose(image.mean, [[2.0, -2.0]])
    drawn = p.sample(np.zeros(DRAWS, dtype=int), np.random.RandomState(4)) @ A.T + b
    np.testing.assert_allclose(image.covariance.matrix[0], np.cov(drawn.T), rtol=0.05)
    np.testing.assert_allclose(p.affine(np.eye(3)[:2]).covariance.matrix, p.marginal([0, 1]).covariance.matrix)


def test_a_product_of_gaussians_is_gaussian_up_to_a_factor():
    p, q = gaussians(table([0, 1], [2, 0]), np.stack([S, V])), gaussians(table([1, 1], [0, 0]), np.stack([V, S]))
    both, log_factor = p.product(q)
    X = np.random.RandomState(5).standard_normal((20, 2))
    np.testing.assert_allclose(p.log_prob(X) + q.log_prob(X), both.log_prob(X) + log_factor, rtol=1e-10)


def test_a_conditional_t_is_the_ratio_of_joint_and_marginal():
    p = MultivariateTMembers.of(table([1, -1, 0]), np.array([[[2.0, 0.5, 0.3], [0.5, 1, 0.2], [0.3, 0.2, 3]]]), [3.5])
    X = np.random.RandomState(6).standard_normal((10, 3)) * 2
    for row in X:
        given = p.conditional([0, 2], row[[0, 2]])
        ratio = p.log_prob(row[None]) - p.marginal([0, 2]).log_prob(row[None, [0, 2]])
        np.testing.assert_allclose(given.log_prob(row[None, [1]]), ratio, rtol=1e-10)
    hole = X[:1].copy()
    hole[0, 1] = np.nan
    np.testing.assert_allclose(p.log_prob(hole), p.marginal([0, 2]).log_prob(hole[:, [0, 2]]), rtol=1e-12)


def test_edges_of_a_support_have_the_limits_of_the_density():
    inf = np.inf
    ends = table([0.0], [1.0], [-0.1], [1.1])
    beta = BetaMembers(table([1], [2], [0.5]), table([1], [1], [3]))
    np.testing.assert_allclose(beta.log_prob(ends), [[0, -inf, inf], [0, np.log(2), -inf], [-inf] * 3, [-inf] * 3])
    gamma = GammaMembers(table([1], [2], [0.5]), table([2], [1], [1]))
    np.testing.assert_allclose(gamma.log_prob(ends[[0, 2]]), [[np.log(2), -inf, inf], [-inf] * 3])
    corners = table([1, 0, 0], [0.5, 0.6, -0.1], [0.5, 0.6, 0.1])
    assert (DirichletMembers(table([2, 2, 2])).log_prob(corners) == -inf).all()


@pytest.mark.parametrize("concentration", [1e-3, 1.0, 300.0, 3e4, 1e7])
def test_concentrations_are_found_over_ten_orders_of_magnitude(concentration):
    from fivefold.distributions.von_mises import concentration as solve

    length = VonMisesMembers(table([0.0]), table([concentration])).length
    if concentration > 1e6:
        length = 1 - table([1 / (2 * concentration)]) - 1 / (8 * concentration**2)
    np.testing.assert_allclose(solve(length), concentration, rtol=1e-6)


@pytest.mark.parametrize("shape", [1e-3, 0.5, 1.0, 40.0, 1e3, 1e6, 1e10])
def test_gamma_shapes_are_found_over_thirteen_orders_of_magnitude(shape):
    from scipy.special import digamma

    from fivefold.distributions.gamma import gamma_shape

    series = 1 / (2 * shape) + 1 / (12 * shape**2) - 1 / (120 * shape**4)  # of log a - psi(a), for large a
    spread = series if shape > 100 else np.log(shape) - digamma(shape)
    np.testing.assert_allclose(gamma_shape(table([spread])), shape, rtol=1e-9)


def test_marginals_and_intervals_of_rows_hold_their_share_of_samples():
    for members in (
        DirichletMembers(table([2, 0.7, 4])),
        MultivariateTMembers.of(table([1, -2]), S[None], [3.0]),
        gaussians(table([1, -2]), S[None]),
        VonMisesMembers(table([0.5, 3.0]), table([2.0, 0.3])),
    ):
        drawn = members.sample(np.zeros(DRAWS, dtype=int), np.random.RandomState(7))
        low, high = np.moveaxis(members.central_interval(0.8)[0], -1, 0)
        if members.period < np.inf:  # the same angle, counted from half a turn below the direction
            start = members.direction[0] - np.pi
            drawn = start + (drawn - start) % members.period
        inside = ((drawn > low) & (drawn <= high)).mean(axis=0)
        assert (np.abs(inside - 0.8) < 3 * np.sqrt(0.16 / DRAWS)).all()
        np.testing.assert_allclose(members.interval_probability(low, high)[0], 0.8, rtol=1e-9)
        assert (members.pdf(drawn[:5]) == np.exp(members.log_prob(drawn[:5]))).all()
