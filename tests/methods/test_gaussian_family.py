"""The Gaussian family: missing values, priors, refusals, and what naive Bayes and mixtures rely on."""

import numpy as np
import pytest
from oracles import gaussian as oracle

from fivefold.distributions.gaussian import (
    Diagonal,
    Fixed,
    Full,
    Gaussian,
    GaussianMembers,
    GroupWeights,
    Spherical,
    Tied,
)

KNOWN = np.array([[2.0, 0.3, 0, 0], [0.3, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 4]])
STRUCTURES = [Full(), Tied(), Diagonal(), Spherical(), Fixed(KNOWN)]
over_structures = pytest.mark.parametrize("structure", STRUCTURES, ids=lambda s: type(s).__name__)


def table(n=200, d=4, seed=0, missing=0.0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)
    return np.where(rng.uniform(size=X.shape) < missing, np.nan, X)


def members(structure, X, K=3):
    family = Gaussian(structure)
    return family.fit(family.stats(X, np.random.RandomState(1).uniform(size=(len(X), K))))


def dense(normals):
    K, d = normals.mean.shape
    return np.broadcast_to(normals.covariance.dense(d), (K, d, d))


@over_structures
def test_log_densities_are_those_of_the_definition_with_entries_missing(structure):
    normals, X = members(structure, table()), table(seed=2, missing=0.4)
    wanted = [[oracle.log_density(x, m, S) for m, S in zip(normals.mean, dense(normals), strict=True)] for x in X]
    np.testing.assert_allclose(normals.log_prob(X), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", [Full(), Tied()], ids=["Full", "Tied"])
def test_missing_entries_enter_by_their_expectation(structure):
    X, R = table(missing=0.3), np.random.RandomState(3).uniform(size=(200, 3))
    normals = members(structure, table())
    accumulator = Gaussian(structure).accumulator(normals)
    accumulator.add(np.ascontiguousarray(X.T), np.ascontiguousarray(R.T))
    found = accumulator.stats()
    for k, (mean, sigma) in enumerate(zip(normals.mean, dense(normals), strict=True)):
        weight, first, scatter = oracle.expected_moments(X, R[:, k], mean, sigma)
        assert found.weight[k] == pytest.approx(weight)
        np.testing.assert_allclose(found.mean[k], first, rtol=1e-9)
        np.testing.assert_allclose(found.scatter[k], scatter, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("structure", [Diagonal(), Spherical()], ids=["Diagonal", "Spherical"])
@pytest.mark.parametrize("grouped", [True, False])
def test_columns_leave_their_missing_entries_out(structure, grouped):
    X, rng = table(missing=0.3), np.random.RandomState(3)
    R = GroupWeights(rng.randint(0, 3, 200), rng.uniform(size=200), 3)
    found, W = Gaussian(structure).stats(X, R if grouped else R.to_matrix()), R.to_matrix()
    np.testing.assert_allclose(found.weight, W.sum(axis=0))
    for j in range(4):
        seen = ~np.isnan(X[:, j])
        for k in range(3):
            weight, mean, scatter = oracle.moments(X[seen, j : j + 1], W[seen, k])
            assert found.count[k, j] == found.degrees[k, j] == pytest.approx(weight)
            assert found.mean[k, j] == pytest.approx(mean[0])
            assert found.scatter[k, j] == pytest.approx(scatter[0, 0])


@pytest.mark.parametrize("structure", [Full(), Tied(), Fixed()], ids=["Full", "Tied", "Fixed"])
def test_missing_entries_without_members_are_refused_with_the_cure(structure):
    X = table()
    X[7, 2] = np.nan
    for R in (np.ones((200, 1)), GroupWeights(np.zeros(200, dtype=int), np.ones(200), 1)):
        with pytest.raises(ValueError, match=r"column 2 holds missing values.*GaussianMixture"):
            Gaussian(structure).stats(X, R)


def test_infinity_shows_in_the_means_of_groups():
    X, R = table(20_000, seed=5), GroupWeights(np.zeros(20_000, dtype=int), np.ones(20_000), 1)
    for row in (0, 9000):
        bad = X.copy()
        bad[row, 1] = np.inf
        mean = Gaussian(Diagonal()).stats(bad, R).mean
        assert np.isfinite(mean[0, [0, 2, 3]]).all() and not np.isfinite(mean[0, 1])


def test_a_column_nobody_saw_is_refused():
    X = table()
    X[:, 1] = np.nan
    family = Gaussian(Diagonal())
    with pytest.raises(ValueError, match="component 0 in column 1"):
        family.fit(family.stats(X, np.ones((200, 1))))


def test_a_component_without_weight_is_refused():
    R = np.column_stack([np.ones(200), np.zeros(200)])
    for structure in (Full(), Diagonal(), Spherical()):
        with pytest.raises(ValueError, match="component 1"):
            Gaussian(structure).fit(Gaussian(structure).stats(table(), R))


def test_columns_that_determine_one_another_are_refused():
    X = table()
    X[:, 3] = 2 * X[:, 0] - X[:, 1]
    for structure, name in ((Full(), "component 0"), (Tied(), "all components share")):
        with pytest.raises(ValueError, match=rf"{name} is singular.*subspace"):
            members(structure, X, K=1)
        family = Gaussian(structure, floor=1e-6)
        assert np.isfinite(family.fit(family.stats(X, np.ones((200, 1)))).log_prob(X)).all()


def test_full_priors_are_normal_inverse_wishart():
    """The mode of the posterior of mean and covariance together (Gelman et al. 2013, section 3.6)."""
    X, m0, k0, nu0, d = table(30), np.array([1.0, 2, 3, 4]), 2.5, 7.0, 4
    S0 = np.diag([1.0, 2, 3, 4])
    family = Gaussian()
    fitted = family.fit(family.stats(X, np.ones((30, 1))), family.prior(m0, strength=k0, scatter=S0, degrees=nu0))
    _, mean, S = oracle.moments(X, np.ones(30))
    np.testing.assert_allclose(fitted.mean[0], (k0 * m0 + 30 * mean) / (k0 + 30), rtol=1e-12)
    shrunk = (S0 + S + k0 * 30 / (k0 + 30) * np.outer(mean - m0, mean - m0)) / (nu0 + d + 2 + 30)
    np.testing.assert_allclose(fitted.covariance.matrix[0], shrunk, rtol=1e-10)


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda s: type(s).__name__)
def test_the_fit_with_a_prior_is_the_mode_of_the_posterior(structure):
    """log prior by its own formula: normal in the means, inverse Wishart in what is free of the covariance."""
    X, K, d = table(40, d=2), 2, 2
    m0, k0, nu0 = np.array([0.5, -0.5]), 3.0, 5.0
    matrices = structure in (Full(), Tied())
    S0 = np.array([[2.0, 0.4], [0.4, 1.0]]) if matrices else np.array([2.0, 1.0])
    S0 = 2.0 if structure == Spherical() else S0
    family = Gaussian(structure)
    R = np.random.RandomState(4).uniform(size=(40, K))
    stats, prior = family.stats(X, R), family.prior(m0, strength=k0, scatter=S0, degrees=nu0, members=K)

    def log_posterior(normals):
        sigma = dense(normals)
        value = (R * normals.log_prob(X)).sum()
        for k in range(K):
            value += oracle.log_density(normals.mean[k], m0, sigma[k] / k0)
        for k in {Full(): range(K), Tied(): [0]}.get(structure, []):
            value -= 0.5 * (nu0 + d + 1) * np.linalg.slogdet(sigma[k])[1]
            value -= 0.5 * np.trace(S0 @ np.linalg.inv(sigma[k]))
        if not matrices:  # inverse chi-square in each variance
            v, s = normals.covariance.matrix, S0 if structure == Diagonal() else 2.0
            value += (-0.5 * ((nu0 + 2) * np.log(v) + s / v)).sum()
        return value

    best = family.fit(stats, prior)
    for seed in range(30):
        noise = 1 + 0.05 * np.random.RandomState(seed).uniform(-1, 1, size=best.covariance.matrix.shape)
        noise = (noise + np.swapaxes(noise, -1, -2)) / 2 if matrices else noise
        moved = best.mean + 0.02 * np.random.RandomState(seed).standard_normal(best.mean.shape)
        other = GaussianMembers(moved, structure.from_matrix(best.covariance.matrix * noise, d))
        assert log_posterior(other) < log_posterior(best)


def test_a_prior_of_shares_adds_weight():
    prior = Gaussian().prior(np.zeros(2), strength=0, scatter=np.zeros((2, 2)), degrees=-4, members=3, weight=1.5)
    X, R = table(d=2), np.random.RandomState(5).uniform(size=(200, 3))
    stats = Gaussian().stats(X, R)
    np.testing.assert_allclose((stats + prior).weight, R.sum(axis=0) + 1.5)
    np.testing.assert_allclose(Gaussian().fit(stats, prior).log_prob(X), Gaussian().fit(stats).log_prob(X))


def test_many_groups_far_apart_keep_their_digits():
    """Groups at 0, 1e6, 2e6, ... with unit spread, in any order of rows: the centre of one is not that of another."""
    rng = np.random.RandomState(6)
    codes, E = rng.randint(0, 5, 40_000), rng.standard_normal((40_000, 3))
    X, R = E + 1e6 * codes[:, None], GroupWeights(codes, np.ones(40_000), 5)
    for order in (np.arange(40_000), np.argsort(codes, kind="stable")):
        for structure in (Full(), Diagonal()):
            for weights in (R, R.to_matrix()):
                rows = GroupWeights(codes[order], np.ones(40_000), 5) if weights is R else weights[order]
                found = Gaussian(structure).stats(X[order], rows)
                wanted = Gaussian(structure).stats(E[order], rows)
                np.testing.assert_allclose(found.scatter, wanted.scatter, rtol=1e-8, atol=1e-6)


def test_the_rest_of_everything_is_nothing():
    for structure in (Full(), Diagonal()):
        stats = Gaussian(structure).stats(table(), np.random.RandomState(0).uniform(size=(200, 2)))
        nothing = stats - stats
        assert (nothing.weight == 0).all() and (nothing.mean == 0).all()
        np.testing.assert_allclose(nothing.scatter, 0, atol=1e-10)
