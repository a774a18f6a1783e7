"""Information theory and probability tables, with the numbers of the texts."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import expon, gamma, multivariate_normal, norm, randint

from fivefold.graphical import ProbabilityTable, update_beliefs
from fivefold.information import (
    central_moment,
    code_lengths,
    conditional_entropy,
    cross_entropy,
    density_divergence,
    entropy,
    expectation,
    kl_divergence,
    mutual_information,
    neighbor_divergence,
    neighbor_entropy,
    neighbor_information,
    sample_entropy,
    sample_information,
)

EVEN, SKEWED = [0.5, 0.5], [0.25, 0.75]


def random_table(*shape, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


class TestMeasures:
    def test_entropy_is_the_mean_length_of_the_best_code(self):
        """D-102: (1/2, 1/4, 1/4) has lengths 1, 2, 2 and 1.5 bits."""
        assert code_lengths([0.5, 0.25, 0.25]).tolist() == [1, 2, 2]
        assert entropy([0.5, 0.25, 0.25], 2) == 1.5
        assert np.isinf(code_lengths([1.0, 0.0])[1])

    def test_entropy_of_uniform_and_uneven_symbols(self):
        """C-32: log2 K for K symbols; (0.8, 0.2) has 0.721928 bits, as letters of a text have."""
        assert entropy([1 / 8] * 8, 2) == pytest.approx(3.0)
        assert round(entropy([0.8, 0.2], 2), 6) == 0.721928
        assert round(sample_entropy("aaaaaaaabbabbaaaaaaa", 2), 6) == 0.721928
        assert entropy([1.0, 0.0]) == 0

    def test_cross_entropy_and_divergence(self):
        """D-103, D-104: 1.207519 bits, and 0.207519 one way, 0.188722 the other."""
        assert round(cross_entropy(EVEN, SKEWED, 2), 6) == 1.207519
        assert round(kl_divergence(EVEN, SKEWED, 2), 6) == 0.207519
        assert round(kl_divergence(SKEWED, EVEN, 2), 6) == 0.188722

    def test_cross_entropy_is_entropy_plus_divergence(self):
        """B-171: never negative, zero only for equal distributions, infinite where the support is violated."""
        for seed in range(5):
            p, q = random_table(6, seed=seed), random_table(6, seed=seed + 50)
            assert cross_entropy(p, q) == pytest.approx(entropy(p) + kl_divergence(p, q), rel=1e-12)
            assert kl_divergence(p, q) > 0 == kl_divergence(p, p)
        assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf == cross_entropy([0.5, 0.5], [1.0, 0.0])
        assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(np.log(2))

    def test_conditional_entropy_and_mutual_information(self):
        """D-105, D-106: the chain rule, symmetry, and the divergence from the product of the marginals."""
        P = random_table(3, 4)
        v, w = P.sum(axis=1), P.sum(axis=0)
        assert entropy(P) == pytest.approx(entropy(v) + conditional_entropy(P, given=0))
        assert conditional_entropy(P, given=0) <= entropy(w)
        assert mutual_information(P) == pytest.approx(entropy(w) - conditional_entropy(P, given=0))
        assert mutual_information(P) == pytest.approx(mutual_information(P.T))
        assert mutual_information(P) == pytest.approx(kl_divergence(P, np.outer(v, w)))
        assert mutual_information(np.outer(v, w)) == pytest.approx(0, abs=1e-14)

    def test_divergence_of_densities_by_quadrature_grid_and_draws(self):
        """C-33: the closed form of Gaussians, log(s2/s1) + (s1^2 + (m1 - m2)^2) / (2 s2^2) - 1/2."""
        p, q = norm(0, 1), norm(1, 2)
        exact = np.log(2) + (1 + 1) / 8 - 0.5
        assert density_divergence(p, q).value == pytest.approx(exact, abs=1e-9)
        assert density_divergence(p, q, method="grid").value == pytest.approx(exact, abs=1e-6)
        drawn = density_divergence(p, q, method="monte carlo")
        assert abs(drawn.value - exact) < 3 * drawn.standard_error
        assert density_divergence(randint(0, 2), randint(0, 4)).value == pytest.approx(np.log(2))
        assert density_divergence(p, q).value != pytest.approx(density_divergence(q, p).value)

    def test_least_divergence_from_the_sample_is_maximum_likelihood(self):
        """C-33: the model of least cross entropy with the observed shares has the largest likelihood."""
        counts = np.array([5, 3, 2])
        shares = counts / counts.sum()
        models = [random_table(3, seed=seed) for seed in range(20)] + [shares]
        divergences = [kl_divergence(shares, model) for model in models]
        likelihoods = [counts @ np.log(model) for model in models]
        assert np.argmin(divergences) == np.argmax(likelihoods) == 20


class TestExpectations:
    def test_sums_integrals_and_draws(self):
        """C-24: linear always; of a product only under independence; conditional on an event."""
        die = randint(1, 7)
        assert expectation(die).value == pytest.approx(3.5)
        assert expectation(die, given=lambda x: x % 2 == 0).value == pytest.approx(4.0)
        assert expectation(norm(1, 2), lambda x: 3 * x + np.square(x)).value == pytest.approx(3 + 5)
        drawn = expectation(gamma(2), np.sqrt, method="monte carlo")
        assert abs(drawn.value - expectation(gamma(2), np.sqrt).value) < 3 * drawn.standard_error
        with pytest.raises(ValueError, match="probability zero"):
            expectation(die, given=lambda x: x > 9)
        same = ProbabilityTable.of({"x": (0, 1), "y": (0, 1)}, [[0.5, 0], [0, 0.5]])
        product = same.expectation(lambda x, y: x * y)
        assert product == 0.5 != same.expectation("x") * same.expectation("y")

    def test_covariance_of_vectors(self):
        """C-25: E[x y'] - E[x] E[y]', positive semidefinite, with n or n - 1 in the divisor."""
        X = np.random.default_rng(0).normal(size=(50, 3)) + 1e6
        C = np.cov(X.T)
        assert np.linalg.eigvalsh(C).min() > 0 and C[0, 0] == pytest.approx(X[:, 0].var(ddof=1))
        assert_allclose(np.cov(X.T, ddof=0) * 50, C * 49)
        from fivefold.distributions.gaussian import Full, Gaussian

        moments = Gaussian(Full()).stats(X, np.ones((50, 1)))
        assert_allclose(moments.scatter[0] / 49, C, rtol=1e-9)

    def test_moments_of_a_gaussian(self):
        """C-26: cm3 = 0, cm4 = 3 s^4; standardised, of an exponential, 2 and 9."""
        assert central_moment(norm(1, 2), 3) == pytest.approx(0, abs=1e-9)
        assert central_moment(norm(1, 2), 4) == pytest.approx(48)
        assert central_moment(expon(), 3, standardised=True) == pytest.approx(2)
        assert central_moment(expon(), 4, standardised=True) == pytest.approx(9)


class TestSamples:
    def test_miller_madow_takes_most_of_the_bias_away(self):
        rng = np.random.default_rng(0)
        samples = rng.integers(0, 20, (300, 60))
        plug, corrected = (np.mean([sample_entropy(s, method=m) for s in samples]) for m in ("plug-in", "miller-madow"))
        assert abs(corrected - np.log(20)) < 0.3 * abs(plug - np.log(20))
        pairs = list(pairwise(samples[:100] % 4))
        usual, less = (
            np.mean([sample_information(a, b, method=m) for a, b in pairs]) for m in ("plug-in", "miller-madow")
        )
        assert usual > 0.05 and abs(less) < 0.3 * usual  # independent symbols

    def test_weights_repeat_symbols(self):
        assert sample_entropy("abc", sample_weight=[2, 1, 1]) == pytest.approx(sample_entropy("aabc"))
        with pytest.raises(ValueError, match="one of them positive"):
            sample_entropy("ab", sample_weight=[0, 0])

    def test_neighbours_estimate_entropy_divergence_and_information_of_gaussians(self):
        rng = np.random.default_rng(0)
        sigma = np.array([[1.0, 0.6], [0.6, 1.0]])
        X = rng.multivariate_normal([0, 0], sigma, 3000)
        assert neighbor_entropy(X) == pytest.approx(multivariate_normal([0, 0], sigma).entropy(), abs=0.06)
        exact = -0.5 * np.log(1 - 0.36)
        assert neighbor_information(X[:, 0], X[:, 1]) == pytest.approx(exact, abs=0.05)
        wide = neighbor_information(X[:1000], np.column_stack([X[:1000, 0], rng.normal(size=1000)]))
        assert wide > 1.0  # a shared column
        Y = rng.multivariate_normal([1, 0], np.eye(2), 3000)
        true = 0.5 * (np.trace(sigma) + 1 - 2 - np.log(np.linalg.det(sigma)))
        assert neighbor_divergence(X, Y) == pytest.approx(true, abs=0.1)

    def test_bad_inputs_are_refused_in_words(self):
        for call, words in (
            (lambda: entropy([0.5, 0.6]), "sum 1"),
            (lambda: kl_divergence([1.0], [0.5, 0.5]), "same symbols"),
            (lambda: entropy([1.0], base=1), "base"),
            (lambda: mutual_information([0.5, 0.5]), "two variables"),
            (lambda: sample_information("ab", "a"), "pairs"),
            (lambda: neighbor_entropy([[1.0]]), "number of rows"),
            (lambda: neighbor_divergence([[1.0]] * 9, [[1.0]] * 9), "repeated"),
        ):
            with pytest.raises(ValueError, match=words):
                call()


class TestTables:
    JOINT = ProbabilityTable.of({"x": (1, 2, 3), "y": (-1, 4)}, [[0.1, 0.2], [0.05, 0.25], [0.3, 0.1]])

    @pytest.mark.parametrize(
        ("table", "words"),
        [([0.5, 0.6], "sum to 1"), ([1.5, -0.5], "at least 0"), ([1.0], "shape"), ([np.nan, 1.0], "at least 0")],
    )
    def test_invalid_tables_are_refused(self, table, words):
        """D-69."""
        with pytest.raises(ValueError, match=words):
            ProbabilityTable.of({"coin": ("heads", "tails")}, table)

    def test_events_and_samples(self):
        """D-69."""
        die = ProbabilityTable.of({"die": range(1, 7)}, [1 / 6] * 6)
        assert die.probability(lambda die: die % 2 == 0) == pytest.approx(0.5)
        drawn = np.array(die.sample(6000, 0)["die"])
        assert np.abs(np.bincount(drawn, minlength=7)[1:] / 6000 - 1 / 6).max() < 3 * np.sqrt(5 / 36 / 6000)
        assert die.sample(5, 1) == die.sample(5, 1)

    def test_expectations_are_linear(self):
        """D-70: a fair die has 3.5."""
        die = ProbabilityTable.of({"die": range(1, 7)}, [1 / 6] * 6)
        assert die.expectation("die") == pytest.approx(3.5)
        t = self.JOINT
        parts = 2 * t.expectation("x") - 3 * t.expectation("y")
        assert t.expectation(lambda x, y: 2 * x - 3 * y) == pytest.approx(parts)
        with pytest.raises(ValueError, match="not numbers"):
            ProbabilityTable.of({"c": "ab"}, [0.5, 0.5]).expectation("c")

    def test_variances(self):
        """D-71, D-74: second moment less squared mean, scaling, sums; marginal moments."""
        t = self.JOINT
        second = t.expectation(lambda x, y: x * x)
        assert t.variance("x") == pytest.approx(second - t.expectation("x") ** 2)
        assert t.variance(lambda x, y: 3 * x) == pytest.approx(9 * t.variance("x"))
        total = t.variance("x") + t.variance("y") + 2 * t.covariance("x", "y")
        assert t.variance(lambda x, y: x + y) == pytest.approx(total)
        assert t.marginal("x").variance("x") == pytest.approx(t.variance("x"))
        assert t.marginal("y").expectation("y") == pytest.approx(t.expectation("y"))

    def test_correlations(self):
        """D-75: 1 or -1 for lines; 0 for independent variables, and also for y = x^2."""
        line = ProbabilityTable.of({"x": (0, 1, 2), "y": (5, 3, 1)}, np.eye(3) / 3)
        assert line.correlation("x", "y") == pytest.approx(-1)
        square = ProbabilityTable.of({"x": (-1, 0, 1), "y": (0, 1)}, [[0, 1 / 3], [1 / 3, 0], [0, 1 / 3]])
        assert square.correlation("x", "y") == pytest.approx(0, abs=1e-15) and not square.independent("x", "y")
        assert np.isnan(ProbabilityTable.of({"x": (1, 2), "y": (1,)}, [[0.5], [0.5]]).correlation("x", "y"))

    def test_conditionals_and_independence(self):
        """D-77: and undefined where the condition has probability zero."""
        t = self.JOINT
        both = t.conditional("x", "y")
        assert_allclose(both.table, t.table / t.table.sum(axis=0))
        assert not t.independent("x", "y")
        apart = ProbabilityTable.of({"x": (0, 1), "y": (0, 1)}, np.outer([0.3, 0.7], [0.6, 0.4]))
        assert apart.independent("x", "y")
        zero = ProbabilityTable.of({"x": (0, 1), "y": (0, 1)}, [[0.5, 0], [0.5, 0]])
        assert np.isnan(zero.conditional("x", "y").table[:, 1]).all()
        with pytest.raises(ValueError, match="probability zero"):
            zero.given(y=1)
        tables = np.array([0.4, 0.6]), np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([[0.5, 0.5], [0.1, 0.9]])
        common = np.einsum("c,ca,cb->cab", *tables)
        three = ProbabilityTable.of({"c": (0, 1), "a": (0, 1), "b": (0, 1)}, common)
        assert three.independent("a", "b", given="c") and not three.independent("a", "b")

    def test_marginals_sum_to_one(self):
        """D-78."""
        t = self.JOINT
        assert t.marginal("y").table.tolist() == pytest.approx([0.45, 0.55])
        assert t.marginal("y", "x").table.shape == (2, 3)

    def test_any_order_of_the_chain_rule_gives_the_joint(self):
        """D-79."""
        t = ProbabilityTable.of({"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)}, random_table(2, 3, 2))
        for order in (("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")):
            factors = t.chain(*order)
            assert [len(f.variables) for f in factors] == [1, 2, 3]
            assert_allclose(t.from_chain(factors).table, t.table, atol=1e-15)

    def test_bayes_rule_in_logarithms(self):
        """D-80: sums to one; a flat likelihood returns the prior; thousands of factors do not underflow."""
        found = update_beliefs({"sick": 0.01, "well": 0.99}, [0.9, 0.1])
        assert found.posterior.sum() == pytest.approx(1) and round(found.posterior[0], 6) == 0.083333
        assert np.exp(found.log_evidence) == pytest.approx(0.108)
        assert_allclose(update_beliefs([0.2, 0.8], [0.3, 0.3]).posterior, [0.2, 0.8])
        far = update_beliefs([0.5, 0.5], log_likelihood=[[-1.0, -1.1]] * 5000)
        assert far.posterior[0] == pytest.approx(1) and far.log_evidence < -4900
        joint = ProbabilityTable.of({"ill": ("no", "yes"), "test": ("-", "+")}, [[0.891, 0.099], [0.001, 0.009]])
        rule = joint.bayes("ill", {"test": "+"})
        assert_allclose(rule.posterior, found.posterior[::-1])
        for bad, words in (((([0.5, 0.6], [1, 1])), "sum 1"), (([0.5, 0.5], [0, 0]), "probability zero")):
            with pytest.raises(ValueError, match=words):
                update_beliefs(*bad)
