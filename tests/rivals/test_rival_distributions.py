"""Densities, distribution functions, quantiles, moments, entropies and fits against SciPy's."""

import numpy as np
import pytest
from scipy import stats

from fivefold.distributions.beta import Beta, BetaMembers
from fivefold.distributions.binomial import BinomialMembers
from fivefold.distributions.conjugate.normal_pairs import normals
from fivefold.distributions.conjugate.predictives import (
    BetaBinomials,
    DirichletMultinomials,
    Lomaxes,
    NegativeBinomials,
)
from fivefold.distributions.conjugate.uniform_pair import ParetoMembers
from fivefold.distributions.conjugate.wishart import InverseWishartMembers, WishartMembers, matrices_of, rows_of
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.double_exponential import Laplace, LaplaceMembers
from fivefold.distributions.exponential import Exponential, ExponentialMembers
from fivefold.distributions.gamma import Gamma, GammaMembers
from fivefold.distributions.multinomial import MultinomialMembers
from fivefold.distributions.multivariate_t import MultivariateTMembers
from fivefold.distributions.poisson import PoissonMembers
from fivefold.distributions.student_t import StudentT, StudentTMembers
from fivefold.distributions.uniform import DiscreteUniformMembers, UniformMembers
from fivefold.distributions.von_mises import VonMises, VonMisesMembers

q = np.array([0.001, 0.025, 0.3, 0.5, 0.77, 0.999])


def column(*values):
    """A parameter of K members of one column."""
    return np.array(values, dtype=float)[:, None]


CONTINUOUS = {
    "beta": (
        BetaMembers(column(2, 0.5, 1), column(3, 0.7, 1)),
        [stats.beta(2, 3), stats.beta(0.5, 0.7), stats.beta(1, 1)],
    ),
    "gamma": (
        GammaMembers(column(3, 0.4, 1), column(2, 5, 1)),
        [stats.gamma(a, scale=1 / b) for a, b in ((3, 2), (0.4, 5), (1, 1))],
    ),
    "exponential": (ExponentialMembers(column(2, 0.1)), [stats.expon(scale=0.5), stats.expon(scale=10)]),
    "laplace": (LaplaceMembers(column(1, -2), column(0.5, 3)), [stats.laplace(1, 0.5), stats.laplace(-2, 3)]),
    "t": (
        StudentTMembers(column(1, 0, 2), column(0.5, 1, 3), column(4, 1, 300)),
        [stats.t(4, 1, 0.5), stats.t(1, 0, 1), stats.t(300, 2, 3)],
    ),
    "normal": (normals(column(1, -3), column(4, 0.25)), [stats.norm(1, 2), stats.norm(-3, 0.5)]),
    "uniform": (UniformMembers(column(0, -2), column(1, 5)), [stats.uniform(0, 1), stats.uniform(-2, 7)]),
    "von Mises": (VonMisesMembers(column(0, 1), column(2, 40)), [stats.vonmises(2), stats.vonmises(40, loc=1)]),
    "pareto": (ParetoMembers(column(3, 1), column(2, 0.5)), [stats.pareto(3, scale=2), stats.pareto(1, scale=0.5)]),
    "lomax": (Lomaxes(column(3, 0.7), column(2, 5)), [stats.lomax(3, scale=2), stats.lomax(0.7, scale=5)]),
}
COUNTS = {
    "binomial": (BinomialMembers(column(0.3, 0.9), 12), [stats.binom(12, 0.3), stats.binom(12, 0.9)]),
    "poisson": (PoissonMembers(column(0.7, 30)), [stats.poisson(0.7), stats.poisson(30)]),
    "discrete uniform": (
        DiscreteUniformMembers(column(1, -2), column(6, 3)),
        [stats.randint(1, 7), stats.randint(-2, 4)],
    ),
}
PREDICTIVE_COUNTS = {
    "beta-binomial": (
        BetaBinomials(column(2, 0.5), column(3, 1), 9),
        [stats.betabinom(9, 2, 3), stats.betabinom(9, 0.5, 1)],
    ),
    "negative binomial": (
        NegativeBinomials(column(2.5, 7), column(3, 0.2)),
        [stats.nbinom(2.5, 0.75), stats.nbinom(7, 0.2 / 1.2)],
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_distribution_functions_and_quantiles_are_scipys(name):
    members, rivals = CONTINUOUS[name]
    quantiles = members.marginal_quantile(q)
    for k, rival in enumerate(rivals):
        x = rival.ppf(q)
        np.testing.assert_allclose(quantiles[:, k, 0], x, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(members.marginal_cdf(x[:, None])[:, k, 0], q, rtol=1e-9)
        np.testing.assert_allclose(members.log_prob(x[:, None])[:, k], rival.logpdf(x), rtol=1e-10, atol=1e-12)
        outside = np.array([-300.0, -1.0, -0.1, 0.0, 1.0, 1.1, 50.0]) if name != "von Mises" else x
        np.testing.assert_allclose(
            members.log_prob(outside[:, None])[:, k], rival.logpdf(outside), rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_scipys(name):
    members, rivals = COUNTS[name]
    x = np.arange(0.0 if name != "discrete uniform" else -4.0, 13.0)
    for k, rival in enumerate(rivals):
        np.testing.assert_allclose(members.log_prob(x[:, None])[:, k], rival.logpmf(x), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(members.marginal_cdf(x[:, None] + 0.4)[:, k, 0], rival.cdf(x + 0.4), rtol=1e-10)
        np.testing.assert_array_equal(members.marginal_quantile(q)[:, k, 0], rival.ppf(q))
        np.testing.assert_allclose(members.entropy[k], rival.entropy(), rtol=1e-9)


@pytest.mark.parametrize("name", PREDICTIVE_COUNTS)
def test_predictive_counts_are_scipys(name):
    members, rivals = PREDICTIVE_COUNTS[name]
    x = np.arange(0.0, 12.0)
    for k, rival in enumerate(rivals):
        np.testing.assert_allclose(members.log_prob(x[:, None])[:, k], rival.logpmf(x), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose([members.mean[k, 0], members.variance[k, 0]], rival.stats("mv"), rtol=1e-9)


@pytest.mark.parametrize("name", sorted({*CONTINUOUS} - {"von Mises", "lomax"}))
def test_moments_and_entropies_are_scipys(name):
    members, rivals = CONTINUOUS[name]
    for k, rival in enumerate(rivals):
        mean, variance = rival.stats("mv")
        if np.isfinite(mean):  # the Cauchy distribution has none: NaN here, infinite there
            np.testing.assert_allclose(members.mean[k, 0], mean, rtol=1e-10)
            np.testing.assert_allclose(members.variance[k, 0], variance, rtol=1e-10)
        np.testing.assert_allclose(members.entropy[k], rival.entropy(), rtol=1e-8, atol=1e-10)


def test_von_mises_entropy_is_scipys():
    members, rivals = CONTINUOUS["von Mises"]
    np.testing.assert_allclose(members.entropy, [rival.entropy() for rival in rivals], rtol=1e-10)


def test_the_multivariate_t_is_scipys():
    S = np.array([[2.0, 0.4, 0.1], [0.4, 1.0, -0.2], [0.1, -0.2, 0.7]])
    members = MultivariateTMembers.of([[1.0, -1.0, 0.5]], S[None], [4.5])
    X = np.random.RandomState(0).standard_normal((30, 3)) * 3
    rival = stats.multivariate_t([1.0, -1.0, 0.5], S, df=4.5)
    np.testing.assert_allclose(members.log_prob(X)[:, 0], rival.logpdf(X), rtol=1e-12)
    np.testing.assert_allclose(members.entropy, rival.entropy(), rtol=1e-10)


def test_dirichlet_and_multinomials_are_scipys():
    alpha = np.array([2.0, 0.5, 3.0])
    X = np.random.RandomState(0).dirichlet(alpha, 20)
    members = DirichletMembers(alpha[None])
    np.testing.assert_allclose(members.log_prob(X)[:, 0], stats.dirichlet(alpha).logpdf(X.T), rtol=1e-9)
    np.testing.assert_allclose(members.entropy, stats.dirichlet(alpha).entropy(), rtol=1e-10)
    np.testing.assert_allclose(members.covariance[0], stats.dirichlet(alpha).cov(), rtol=1e-12)
    counts = np.array([[0.0, 0, 5], [2, 1, 2], [5, 0, 0]])
    rival = stats.dirichlet_multinomial(alpha, 5)
    np.testing.assert_allclose(
        DirichletMultinomials(alpha[None]).log_prob(counts)[:, 0], rival.logpmf(counts), rtol=1e-10
    )
    np.testing.assert_allclose(DirichletMultinomials(alpha[None], 5).variance[0], np.diag(rival.cov()), rtol=1e-10)
    p = np.array([0.2, 0.3, 0.5])
    members = MultinomialMembers(p[None], np.array([5.0]))
    np.testing.assert_allclose(members.entropy, stats.multinomial(5, p).entropy(), rtol=1e-10)


def test_wishart_densities_are_scipys():
    T = np.array([[2.0, 0.5], [0.5, 1.0]])
    members, inverse = WishartMembers(np.array([5.0]), T[None]), InverseWishartMembers(np.array([5.0]), T[None])
    rows = members.sample(np.zeros(20, dtype=int), np.random.RandomState(0))
    matrices = np.moveaxis(matrices_of(rows), 0, -1)
    np.testing.assert_allclose(members.log_prob(rows)[:, 0], stats.wishart(5, T).logpdf(matrices), rtol=1e-10)
    np.testing.assert_allclose(inverse.log_prob(rows)[:, 0], stats.invwishart(5, T).logpdf(matrices), rtol=1e-10)
    np.testing.assert_allclose(members.entropy, stats.wishart(5, T).entropy(), rtol=1e-10)
    # SciPy's entropy of the inverse Wishart is not compared: it is p (p + 1) / 4 log 2 above Monte Carlo's, ours is not
    np.testing.assert_allclose(rows_of(inverse.mean), rows_of(stats.invwishart(5, T).mean()[None]), rtol=1e-12)
    assert members.log_prob(rows_of(np.array([[[1.0, 2.0], [2.0, 1.0]]])))[0, 0] == -np.inf


@pytest.mark.parametrize(
    ("family", "draw", "rival"),
    [
        (Gamma(), lambda r: r.gamma(3, 0.5, 400), lambda x: stats.gamma.fit(x, floc=0)[::2]),
        (Exponential(), lambda r: r.exponential(2, 400), lambda x: stats.expon.fit(x, floc=0)[1:]),
        (Beta(), lambda r: r.beta(2, 5, 400), lambda x: stats.beta.fit(x, floc=0, fscale=1)[:2]),
        (Laplace(), lambda r: r.laplace(1, 2, 401), stats.laplace.fit),
        (StudentT(), lambda r: r.standard_t(4, 400), stats.t.fit),
        (VonMises(), lambda r: r.vonmises(1, 4, 400), lambda x: stats.vonmises.fit(x, fscale=1)[:2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_maximum_likelihood_is_at_least_as_likely_as_scipys(family, draw, rival):
    x = draw(np.random.RandomState(3))
    found = family.fit(family.stats(x[:, None], np.ones((len(x), 1))))
    theirs = {
        "Gamma": lambda p: GammaMembers(column(p[0]), column(1 / p[1])),
        "Exponential": lambda p: ExponentialMembers(column(1 / p[0])),
        "Beta": lambda p: BetaMembers(column(p[0]), column(p[1])),
        "Laplace": lambda p: LaplaceMembers(column(p[0]), column(p[1])),
        "StudentT": lambda p: StudentTMembers(column(p[1]), column(p[2]), column(p[0])),
        "VonMises": lambda p: VonMisesMembers(column(p[1]), column(p[0])),
    }[type(family).__name__](rival(x))
    ours, other = (members.log_prob(x[:, None]).sum() for members in (found, theirs))
    assert ours >= other - 1e-9
    assert ours == pytest.approx(other, abs=1e-3)  # SciPy's simplex search stops there
