"""Complexities and Gibbs errors of posteriors against quadrature, enumeration, partial fractions and draws."""

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.stats import laplace, norm

from fivefold.distributions.covariances.structures import Full
from fivefold.distributions.gaussian import GaussianMembers
from fivefold.information.expectations import density_divergence
from fivefold.theory.concentration import binary_kl
from fivefold.theory.pac_bayes.change_of_measure import change_of_measure, gibbs_table, posterior_complexity
from fivefold.theory.pac_bayes.feature_votes import FeatureVotePosterior
from fivefold.theory.pac_bayes.laplace_posteriors import LaplaceLinearPosterior, laplace_tails
from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior
from fivefold.theory.pac_bayes.posterior_bounds import kl_form_upper, relative_upper


def test_complexity_of_tables_is_zero_only_for_the_prior_and_a_code_length_for_a_point_mass():
    P = np.array([0.5, 0.25, 0.125, 0.125])
    assert posterior_complexity(P, P) == 0
    for h, bits in enumerate([1, 2, 3, 3]):
        assert posterior_complexity(np.eye(4)[h], P) == pytest.approx(bits * np.log(2), rel=1e-14)
    rng = np.random.RandomState(0)
    Q, R = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
    assert posterior_complexity(Q, P) > 0
    joint, prior = np.outer(Q, R).ravel(), np.outer(P, np.full(3, 1 / 3)).ravel()
    assert posterior_complexity([Q, R], [P, np.full(3, 1 / 3)]) == pytest.approx(posterior_complexity(joint, prior))


def test_complexity_of_gaussians_is_half_the_squared_distance():
    rng = np.random.RandomState(1)
    mu, mu_0, s = rng.randn(3), rng.randn(3), 0.6
    Q, P = (GaussianMembers(m[None], Full().from_matrix(s**2 * np.eye(3)[None], 3)) for m in (mu, mu_0))
    mine = GaussianLinearPosterior(mu, mu_0, s).complexity
    assert mine == pytest.approx(posterior_complexity(Q, P), rel=1e-12)
    w = GaussianLinearPosterior(mu, mu_0, s).draw(200_000, rng)
    ratios = (norm(mu, s).logpdf(w) - norm(mu_0, s).logpdf(w)).sum(axis=1)
    assert ratios.mean() == pytest.approx(mine, abs=4 * ratios.std() / np.sqrt(len(w)))


@pytest.mark.parametrize(("mu", "exact"), [(0.5, 0.106531), (1.0, 0.367879), (2.0, 1.135335)])
def test_complexity_of_laplace_weights(mu, exact):
    Q = LaplaceLinearPosterior(np.array([mu, 0.0, -mu]))
    assert Q.complexity == pytest.approx(2 * exact, abs=1e-6)
    assert Q.complexity == pytest.approx(2 * (mu + np.exp(-mu) - 1), rel=1e-12)
    quadrature = float(density_divergence(laplace(mu), laplace()))  # to 1e-7: the density has a cusp
    assert Q.complexity == pytest.approx(2 * quadrature, rel=1e-7)
    assert Q.complexity <= Q.complexity_limit == 2 * mu


def test_the_laplace_error_agrees_with_partial_fractions():
    rng = np.random.RandomState(2)
    for d in (1, 2, 7, 30):
        F = rng.randn(20, d) * 10 ** rng.uniform(-3, 3, (20, 1))
        m = np.abs(rng.randn(20)) * np.linalg.norm(F, axis=1) * 10 ** rng.uniform(-3, 1, 20)
        np.testing.assert_allclose(
            laplace_tails(F, m), [partial_fractions(f, t) for f, t in zip(F, m, strict=True)], atol=1e-13
        )
        np.testing.assert_allclose(laplace_tails(F, -m), 1 - laplace_tails(F, m), atol=1e-15)


def partial_fractions(f, m):
    """P(sum f_i e_i >= m) = sum_i exp(-m / f_i) / 2 prod_{j != i} f_i^2 / (f_i^2 - f_j^2), in many digits."""
    with mpmath.workdps(80):
        f = [mpmath.mpf(float(abs(x))) for x in f]
        return float(
            mpmath.fsum(
                mpmath.exp(-m / a) / 2 * mpmath.fprod(a**2 / (a**2 - b**2) for j, b in enumerate(f) if j != i)
                for i, a in enumerate(f)
            )
        )


def test_the_normal_approximation_has_the_variance_two_of_laplace_weights():
    """With many comparable features it is close; with a standard deviation of 1 in place of sqrt(2) it is not."""
    rng = np.random.RandomState(3)
    F, codes = rng.choice([-1.0, 1.0], (40, 60)), rng.randint(0, 2, 40)
    mean = rng.randn(60) * 0.3
    exact, normal, unit, draws = (
        LaplaceLinearPosterior(mean, method=method).errors(F, codes)
        for method in ("exact", "normal", "unit normal", "draws")
    )
    assert np.abs(normal - exact).max() < 0.005 < 0.05 < np.abs(unit - exact).max()
    np.testing.assert_allclose(draws, exact, atol=4 * 0.5 / np.sqrt(10_000))
    single = LaplaceLinearPosterior(np.array([1.5])).errors(np.array([[2.0], [-0.1]]), np.array([1, 1]))
    np.testing.assert_allclose(single, [np.exp(-1.5) / 2, 1 - np.exp(-1.5) / 2], rtol=1e-12)


def test_the_scale_of_laplace_weights_changes_nothing():
    rng = np.random.RandomState(4)
    mean, F, codes = rng.randn(3), rng.randn(6, 3), rng.randint(0, 2, 6)
    one, two = LaplaceLinearPosterior(mean, scale=2.5), LaplaceLinearPosterior(mean / 2.5)
    assert one.complexity == pytest.approx(two.complexity, rel=1e-12)
    assert one.complexity_limit == pytest.approx(two.complexity_limit, rel=1e-12)
    np.testing.assert_allclose(one.errors(F, codes), two.errors(F, codes), atol=1e-14)
    assert two.errors(np.zeros((2, 3)), np.array([0, 1])).tolist() == [1.0, 0.0]


def test_the_laplace_bound_is_below_the_gaussian_one_if_weights_are_sparse():
    """One of 400 features decides: the margin costs its size, not its square."""
    rng = np.random.RandomState(5)
    F, n, delta = rng.choice([-1.0, 1.0], (300, 400)), 300, 0.05
    codes, sparse = (F[:, 0] > 0).astype(int), np.eye(400)[0]
    at = {}
    for kind in (GaussianLinearPosterior, LaplaceLinearPosterior):
        each = [kind(sparse * s) for s in np.geomspace(5, 80, 6)]
        complexities = [getattr(Q, "complexity_limit", Q.complexity) for Q in each]
        at[kind] = min(relative_upper(Q.error(F, codes), C, n, delta) for Q, C in zip(each, complexities, strict=True))
    assert at[LaplaceLinearPosterior] < 0.75 * at[GaussianLinearPosterior] < 0.6


def test_the_complexity_of_feature_votes_is_that_of_all_lists():
    weights, N, d = np.array([0.5, -0.3]), 3, 2
    Q = FeatureVotePosterior(weights, N)
    p, total = Q.doubled, 0.0
    for drawn in product(range(2 * d), repeat=N):
        q = p[list(drawn)].prod()
        total += q * np.log(q / ((1 / (N * (N + 1))) * (1 / (2 * d)) ** N)) if q > 0 else 0.0
    assert Q.complexity == pytest.approx(total, rel=1e-12)


def test_draws_of_feature_votes_average_to_the_weights():
    w = np.array([0.5, -0.3, 0.0, 0.2])
    rng = np.random.RandomState(6)
    few, many = (FeatureVotePosterior(w, N).draw(4000, rng) for N in (5, 500))
    np.testing.assert_allclose(many.mean(axis=0), w, atol=0.005)
    assert many.std(axis=0).max() < 0.2 * few.std(axis=0).max()
    with pytest.raises(ValueError, match="all weights are zero"):
        FeatureVotePosterior(np.zeros(2)).draw(1, rng)


def test_the_change_of_measure_holds_and_is_equal_at_the_gibbs_posterior():
    rng = np.random.RandomState(7)
    for _ in range(200):
        P, Q, f = rng.dirichlet(np.ones(5)), rng.dirichlet(np.full(5, 0.3)), 4 * rng.randn(5)
        sides, best = change_of_measure(Q, P, f), change_of_measure(gibbs_table(P, f), P, f)
        assert sides.expectation <= sides.limit + 1e-12
        assert abs(best.gap) < 1e-12
        assert sides.gap == pytest.approx(posterior_complexity(Q, gibbs_table(P, f)), abs=1e-10)


def test_the_kl_form_uses_the_binary_kl_and_not_its_misprint():
    """One text prints (1-p) ln((1-q)/(1-p)); with that sign KL(p, q) would be negative for some p and q."""
    upper = kl_form_upper(0.1, 5.0, 1000, 0.05)
    budget = (5 + np.log(1000 / 0.05)) / 999
    assert binary_kl(0.1, upper) == pytest.approx(budget, rel=1e-9)
    assert 0.1 * np.log(0.1 / upper) + 0.9 * np.log(0.9 / (1 - upper)) == pytest.approx(budget, rel=1e-9)
