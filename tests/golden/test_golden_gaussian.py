"""Values of the catalogue for Gaussians, maximum likelihood and sufficient statistics."""

import numpy as np
import pytest
from scipy import stats
from sklearn.preprocessing import StandardScaler

from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Diagonal, Fixed, Full, Gaussian, GaussianMembers, Spherical, Tied
from fivefold.distributions.maximum_likelihood import log_likelihood, maximise_likelihood
from fivefold.distributions.singular_gaussian import SingularGaussians

ONE_TO_FOUR = np.array([[1.0], [2.0], [3.0], [4.0]])


def whole(X, structure=None):
    """The moments of a table, and the Gaussian fitted to it."""
    family = Gaussian(structure or Full())
    moments = family.stats(X, np.ones((len(X), 1)))
    return moments, family.fit(moments)


def normal(mean, sigma):
    return GaussianMembers(np.array([mean], dtype=float), Full().from_matrix(np.array([sigma], dtype=float), len(mean)))


def correlated(seed=0, n=500, d=3):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)


def test_mean_and_scatter_of_five_points():
    """A-40: (2,0), (0,1), (1,2), (3,3), (4,4) have mean (2,2) and scatter [[10,7],[7,10]]."""
    moments = Gaussian().stats(np.array([[2.0, 0], [0, 1], [1, 2], [3, 3], [4, 4]]), np.ones((5, 1)))
    np.testing.assert_allclose(moments.mean, [[2, 2]], rtol=1e-15)
    np.testing.assert_allclose(moments.scatter, [[[10, 7], [7, 10]]], rtol=1e-15)


def test_log_likelihood_of_one_to_four():
    """A-76: -6.122041 at the maximum."""
    _, fitted = whole(ONE_TO_FOUR)
    assert log_likelihood(fitted, ONE_TO_FOUR, np.ones((4, 1)))[0] == pytest.approx(-6.122041, abs=5e-7)


def test_maximum_likelihood_of_one_to_four():
    """A-77, D-155, C-73: mean 2.5, variance 1.25 with divisor n; the gradient of the log-likelihood is zero there."""
    moments, fitted = whole(ONE_TO_FOUR)
    assert fitted.mean[0, 0] == 2.5
    assert fitted.covariance.matrix[0, 0, 0] == 1.25
    for up, down in (
        (normal([2.5 + 1e-5], [[1.25]]), normal([2.5 - 1e-5], [[1.25]])),
        (normal([2.5], [[1.25 + 1e-5]]), normal([2.5], [[1.25 - 1e-5]])),
    ):
        slope = (up.expected_log_prob(moments) - down.expected_log_prob(moments)) / 2e-5
        assert abs(slope[0]) < 1e-8  # curvature times the step squared


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()])
def test_the_unbiased_estimate_divides_by_one_less(structure):
    """C-73, B-119: divisor n - 1 on demand; the bias of the maximum-likelihood variance is -variance / n."""
    family = Gaussian(structure)
    X = np.random.RandomState(0).standard_normal((40_000, 1)) * 2  # 10,000 samples of four, in one call
    samples = family.stats(X, GroupWeights(np.arange(40_000) // 4, np.ones(40_000), 10_000))
    unbiased, biased = samples.unbiased(), samples
    for moments, divisor, wanted in ((biased, 4, 3.0), (unbiased, 3, 4.0)):
        scatter, degrees = moments.scatter.reshape(-1), moments.degrees.reshape(-1)
        assert (degrees == divisor).all()
        estimates = scatter / degrees
        assert abs(estimates.mean() - wanted) < 4 * estimates.std() / 100
    one = family.stats(ONE_TO_FOUR, np.ones((4, 1)))
    assert family.fit(one.unbiased()).covariance.matrix.ravel()[0] == pytest.approx(5 / 3)


def test_the_multivariate_density_integrates_to_one_and_factorises_when_diagonal():
    """A-79, C-21, D-87: integral one; a diagonal covariance gives a product of univariate densities."""
    full = normal([0.5, -1], [[1.0, 0.6], [0.6, 2.0]])
    grid = np.linspace(-12, 12, 241)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    assert np.exp(full.log_prob(points)).sum() * 0.1**2 == pytest.approx(1, abs=1e-10)
    diagonal = normal([0.5, -1], [[1.0, 0], [0, 2.0]])
    product = stats.norm(0.5, 1).logpdf(points[:, 0]) + stats.norm(-1, np.sqrt(2)).logpdf(points[:, 1])
    np.testing.assert_allclose(diagonal.log_prob(points)[:, 0], product, rtol=1e-12)


def test_moments_of_a_uniform_box():
    """B-119: uniform on [0,2] x [0,1] has mean (1, 1/2) and covariance diag(1/3, 1/12)."""
    x, y = np.meshgrid((np.arange(400) + 0.5) / 200, (np.arange(200) + 0.5) / 200)
    moments, fitted = whole(np.column_stack([x.ravel(), y.ravel()]))
    np.testing.assert_allclose(moments.mean, [[1, 0.5]], rtol=1e-12)
    np.testing.assert_allclose(fitted.covariance.matrix, [np.diag([1 / 3, 1 / 12])], atol=1e-5)  # cells of 1/200
    u, v = np.array([0.3, -2.0]), np.array([1.0, 0.5])
    centred = np.column_stack([x.ravel(), y.ravel()]) - moments.mean
    assert u @ fitted.covariance.matrix[0] @ v == pytest.approx(((centred @ u) * (centred @ v)).mean())


def test_the_product_form_in_eigen_coordinates_equals_the_density():
    """B-120, C-21: both forms equal; the ellipse has its axes along eigenvectors, half-lengths sqrt(eigenvalue)."""
    X = correlated()
    _, fitted = whole(X)
    flat = SingularGaussians.of(fitted.mean, fitted.covariance.matrix)
    np.testing.assert_allclose(flat.log_prob(X), fitted.log_prob(X), rtol=1e-9)
    assert flat.n_parameters == fitted.n_parameters
    lengths, directions = fitted.axes()
    ends = fitted.mean[0] + lengths[0][:, None] * directions[0]
    np.testing.assert_allclose(fitted.mahalanobis(ends), 1, rtol=1e-9)
    inner = directions[0] @ fitted.covariance.matrix[0] @ directions[0].T
    np.testing.assert_allclose(inner, np.diag(lengths[0] ** 2), atol=1e-9)


def test_a_degenerate_gaussian_lives_in_its_subspace():
    """B-120: with a singular covariance the pseudo-determinant serves, and the density is zero off the subspace."""
    line = np.random.RandomState(0).standard_normal((200, 1)) * [[1.0, 2.0, 2.0]] + [5, 0, 0]  # along (1, 2, 2)
    with pytest.raises(ValueError, match="component 0 is singular"):
        whole(line)
    flat = SingularGaussians.fit(Gaussian().stats(line, np.ones((200, 1))))
    assert flat.rank == [1]
    along = (line - flat.mean) @ [1, 2, 2] / 3
    np.testing.assert_allclose(flat.log_prob(line)[:, 0], stats.norm(0, along.std()).logpdf(along), rtol=1e-9)
    assert flat.log_prob(line + np.array([0, 1, -1]))[0] == -np.inf
    drawn = flat.sample(np.zeros(100, dtype=int), np.random.RandomState(1))
    assert np.isfinite(flat.log_prob(drawn)).all()
    moments = Gaussian().stats(line, np.ones((200, 1)))
    assert flat.expected_log_prob(moments)[0] == pytest.approx(flat.log_prob(line).sum())
    assert SingularGaussians.of(flat.mean, np.eye(3)[None]).expected_log_prob(moments) < flat.expected_log_prob(moments)


def test_eigenvectors_of_a_covariance_diagonalise_it():
    """B-122: numpy.linalg.eigh gives S V = V L and V'V = I, also for a repeated eigenvalue."""
    Q = np.linalg.qr(np.random.RandomState(0).standard_normal((4, 4)))[0]
    S = Q @ np.diag([3.0, 2.0, 2.0, 0.0]) @ Q.T
    values, V = np.linalg.eigh(S)
    np.testing.assert_allclose(S @ V, V * values, atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(values, [0, 2, 2, 3], atol=1e-12)


def test_the_peak_of_the_standard_normal():
    """C-20: 0.39894; the parameter is the variance, so N(0, 4) peaks at half of it."""
    assert np.exp(normal([0], [[1.0]]).log_prob(np.zeros((1, 1))))[0, 0] == pytest.approx(0.39894, abs=5e-6)
    assert np.exp(normal([0], [[4.0]]).log_prob(np.zeros((1, 1))))[0, 0] == pytest.approx(0.39894 / 2, abs=5e-6)


def test_the_second_moment_is_the_outer_product_of_the_mean_plus_the_covariance():
    """C-21: E(x x') = m m' + S, of the moments and of a sample."""
    X = correlated()
    _, fitted = whole(X)
    S, m = fitted.covariance.matrix[0], fitted.mean[0]
    np.testing.assert_allclose(X.T @ X / len(X), np.outer(m, m) + S, rtol=1e-10)
    drawn = fitted.sample(np.zeros(40_000, dtype=int), np.random.RandomState(1))
    products = drawn[:, :, None] * drawn[:, None, :]
    assert (np.abs(products.mean(axis=0) - np.outer(m, m) - S) < 4 * products.std(axis=0) / 200).all()


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical(), Fixed(2.0)])
def test_marginal_times_conditional_is_the_joint_density(structure):
    """C-22, D-87: p(x_a | x_b) p(x_b) = p(x); the conditional covariance does not depend on x_b."""
    X = correlated(d=4)
    _, fitted = whole(X, structure)
    a, b = [0, 3], [2, 1]
    for x in X[:5]:
        conditional = fitted.conditional(b, x[b])
        joint = conditional.log_prob(x[None, a]) + fitted.marginal(b).log_prob(x[None, b])
        np.testing.assert_allclose(joint, fitted.log_prob(x[None]), rtol=1e-10)
        np.testing.assert_allclose(conditional.covariance.matrix, fitted.conditional(b, X[9, b]).covariance.matrix)


def test_natural_parameters_of_the_univariate_gaussian():
    """C-30: eta = (-1 / (2 s2), m / s2), u = (x^2, x); m = -eta_2 / (2 eta_1), s2 = -1 / (2 eta_1)."""
    m, s2 = 1.7, 0.6
    gaussian = normal([m], [[s2]])
    linear, quadratic = gaussian.natural_parameters[0]
    assert linear == pytest.approx(m / s2)
    assert quadratic == pytest.approx(-1 / (2 * s2))
    g = np.sqrt(-quadratic / np.pi) * np.exp(linear**2 / (4 * quadratic))
    assert -gaussian.log_normaliser(gaussian.natural_parameters)[0] == pytest.approx(np.log(g))
    again = gaussian.from_natural(gaussian.natural_parameters)
    assert again.mean[0, 0] == pytest.approx(-linear / (2 * quadratic)) == pytest.approx(m)
    assert again.covariance.matrix[0, 0, 0] == pytest.approx(s2)


def test_the_log_likelihood_does_not_underflow():
    """C-71, D-154: of 10,000 rows the likelihood is zero in floating point, its logarithm is not."""
    X = np.random.RandomState(0).standard_normal((10_000, 1))
    _, fitted = whole(X)
    logs = fitted.log_prob(X)[:, 0]
    assert np.prod(np.exp(logs)) == 0
    total = log_likelihood(fitted, X, np.ones((len(X), 1)))[0]
    assert total == pytest.approx(logs.sum())
    assert total > log_likelihood(normal([0.1], [[1.0]]), X, np.ones((len(X), 1)))[0]  # the same argmax


def gaussian_log_density(X, theta):
    mean, log_variance = theta
    return -0.5 * (np.log(2 * np.pi) + log_variance + (X[:, 0] - mean) ** 2 / np.exp(log_variance))


def gaussian_gradient(X, theta):
    mean, log_variance = theta
    scaled = (X[:, 0] - mean) / np.exp(log_variance)
    return np.column_stack([scaled, -0.5 + 0.5 * scaled * (X[:, 0] - mean)])


@pytest.mark.parametrize("gradient", [None, gaussian_gradient])
def test_numerical_maximum_likelihood_finds_the_gaussian(gradient):
    """A-78, C-72, D-152: the maximiser agrees with the closed form; the gradient is zero there."""
    found = maximise_likelihood(gaussian_log_density, ONE_TO_FOUR, [0.0, 0.0], gradient=gradient)
    assert found.reason == "converged" and found.slope < 1e-6
    np.testing.assert_allclose(found.theta, [2.5, np.log(1.25)], atol=1e-5)  # slope over curvature
    assert found.value == pytest.approx(-6.122041, abs=5e-7)
    assert max(found.values) == found.value and len(found.values) == 4


def test_numerical_maximum_likelihood_finds_the_bernoulli():
    """A-78, C-72, D-152: the relative frequency, also with weights."""
    X, w = np.array([[1.0], [0.0], [1.0]]), np.array([3.0, 2.0, 4.0])

    def log_density(X, theta):
        return X[:, 0] * np.log(theta[0]) + (1 - X[:, 0]) * np.log1p(-theta[0])

    found = maximise_likelihood(log_density, X, [0.5], w=w, bounds=[(1e-9, 1 - 1e-9)])
    assert found.theta[0] == pytest.approx(7 / 9, abs=1e-5)
    certain = maximise_likelihood(log_density, np.ones((5, 1)), [0.5], bounds=[(1e-9, 1 - 1e-9)])
    assert certain.theta[0] == pytest.approx(1, abs=1e-8) and certain.reason == "converged"  # held by the bound


def test_restarts_find_the_higher_of_two_maxima():
    """D-152: a maximum may be local; restarts find the other."""

    def log_density(X, theta):
        return np.logaddexp(-2 * (theta[0] + 2) ** 2, 1 - 2 * (theta[0] - 2) ** 2) + 0 * X[:, 0]

    alone = maximise_likelihood(log_density, np.zeros((1, 1)), [-2.5], restarts=0)
    helped = maximise_likelihood(log_density, np.zeros((1, 1)), [-2.5], restarts=8)
    assert alone.theta[0] == pytest.approx(-2, abs=1e-2)
    assert helped.theta[0] == pytest.approx(2, abs=1e-2)


def test_a_wrong_gradient_is_refused():
    """D-152: the gradient is checked before it is used."""
    with pytest.raises(ValueError, match="parameter 1"):
        maximise_likelihood(
            gaussian_log_density, ONE_TO_FOUR, [0.0, 0.3], gradient=lambda X, t: gaussian_gradient(X, t) * [1, 2]
        )


def test_maximum_a_posteriori_is_likelihood_plus_prior():
    """D-153: a flat prior gives maximum likelihood; with more rows the estimate tends to it."""

    def log_density(X, theta):
        return stats.norm(theta[0], 1).logpdf(X[:, 0])

    def log_prior(theta):
        return float(stats.norm(0, 0.5).logpdf(theta[0]))  # as if four rows at zero had been seen

    for n in (4, 400):
        X = np.full((n, 1), 3.0)
        found = maximise_likelihood(log_density, X, [0.0], log_prior=log_prior)
        assert found.theta[0] == pytest.approx(3 * n / (n + 4), abs=1e-5)
        family = Gaussian(Fixed(1.0))
        prior = family.prior([0.0], strength=4, scatter=0, degrees=0)
        closed = family.fit(family.stats(X, np.ones((n, 1))), prior)
        assert closed.mean[0, 0] == pytest.approx(3 * n / (n + 4))
    flat = maximise_likelihood(log_density, ONE_TO_FOUR, [0.0], log_prior=lambda theta: 0.0)
    assert flat.theta[0] == pytest.approx(2.5, abs=1e-5)


def test_standardised_samples_have_mean_zero_and_variance_one():
    """D-83: z = (x - mu) / sigma; density, distribution function and quantiles are those of scipy.stats.norm."""
    X = np.random.RandomState(0).normal(5, 3, size=(1000, 1))
    _, fitted = whole(X)
    z = fitted.covariance.whiten(X - fitted.mean, 0)
    assert z.mean() == pytest.approx(0, abs=1e-12)
    assert z.var() == pytest.approx(1, rel=1e-12)
    scipy = stats.norm(fitted.mean[0, 0], np.sqrt(fitted.covariance.matrix[0, 0, 0]))
    np.testing.assert_allclose(scipy.cdf(scipy.ppf([0.1, 0.5, 0.9])), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(np.exp(fitted.log_prob(X))[:, 0], scipy.pdf(X[:, 0]))


def test_the_z_score_standardiser_inverts_exactly():
    """D-84: sklearn.preprocessing.StandardScaler, with a guard for constant columns."""
    X = np.column_stack([correlated(), np.full(500, 7.0)])
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    np.testing.assert_allclose(scaler.inverse_transform(Z), X, rtol=1e-12)
    assert (Z[:, -1] == 0).all()


def test_mahalanobis_distances():
    """D-88: identity gives Euclid; affine maps change nothing; under the Gaussian the mean of r^2 is d."""
    X = correlated()
    moments, fitted = whole(X)
    euclid = GaussianMembers(moments.mean, Fixed(1.0).from_matrix(1.0, 3))
    np.testing.assert_allclose(euclid.mahalanobis(X)[:, 0], ((X - moments.mean) ** 2).sum(axis=1), rtol=1e-12)
    A, b = np.random.RandomState(1).standard_normal((3, 3)), np.array([4.0, 5, 6])
    _, mapped = whole(X @ A.T + b)
    np.testing.assert_allclose(mapped.mahalanobis(X @ A.T + b), fitted.mahalanobis(X), rtol=1e-7)
    assert fitted.mahalanobis(X).mean() == pytest.approx(3)  # exactly d under the fitted moments


def test_multivariate_maximum_likelihood_beats_its_neighbours():
    """D-156: perturbing mean or covariance lowers the likelihood; the covariance is that of PCA, S / n."""
    X, rng = correlated(), np.random.RandomState(1)
    _, fitted = whole(X)
    np.testing.assert_allclose(fitted.covariance.matrix[0], np.cov(X.T, bias=True), rtol=1e-10)
    best = log_likelihood(fitted, X, np.ones((len(X), 1)))[0]
    for _ in range(20):
        E = 0.01 * rng.standard_normal((3, 3))
        for other in (
            GaussianMembers(fitted.mean + 0.01 * rng.standard_normal(3), fitted.covariance),
            GaussianMembers(
                fitted.mean, Full().from_matrix((np.eye(3) + E) @ fitted.covariance.matrix @ (np.eye(3) + E).T, 3)
            ),
        ):
            assert log_likelihood(other, X, np.ones((len(X), 1)))[0] < best


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()])
@pytest.mark.parametrize("X", [np.array([[3.0, 4.0]]), np.full((7, 2), 3.0)], ids=["one row", "equal rows"])
def test_a_variance_of_zero_is_refused(structure, X):
    """C-74, D-156: one row, or equal rows, would have unbounded likelihood; a floor or a prior is the cure."""
    with pytest.raises(ValueError, match=r"(component 0|all components).*(floor|prior)"):
        whole(X, structure)
    family = Gaussian(structure, floor=0.1)
    assert np.isfinite(family.fit(family.stats(X, np.ones((len(X), 1)))).log_prob(X)).all()
    family = Gaussian(structure)
    prior = family.prior([3.0, 3.0], strength=1, scatter=np.eye(2) if structure in (Full(), Tied()) else 1.0, degrees=3)
    assert np.isfinite(family.fit(family.stats(X, np.ones((len(X), 1))), prior).log_prob(X)).all()


def test_statistics_are_sufficient():
    """D-165: from merged statistics the same fit as from pooled rows; of the rows only the statistics count."""
    X, Y = correlated(0), correlated(1)
    pooled, _ = whole(np.vstack([X, Y]))
    merged = whole(X)[0] + whole(Y)[0]
    np.testing.assert_allclose(Gaussian().fit(merged).log_prob(X), Gaussian().fit(pooled).log_prob(X), rtol=1e-9)
    Q = np.linalg.qr(np.random.RandomState(2).standard_normal((500, 500)))[0]
    ones = np.ones(500) / np.sqrt(500)
    Q = Q - np.outer(ones, ones @ Q)  # other rows with the same mean and, below, the same scatter
    E = np.linalg.qr(Q[:, :3] - np.outer(ones, ones @ Q[:, :3]))[0]
    L = np.linalg.cholesky(whole(X)[0].scatter[0])
    twin = E @ L.T + X.mean(axis=0)
    assert not np.allclose(np.sort(twin, axis=0), np.sort(X, axis=0))
    members = normal([0.3, 0.1, -1], np.diag([1.0, 2, 3]))
    assert members.log_prob(twin).sum() == pytest.approx(members.log_prob(X).sum())
