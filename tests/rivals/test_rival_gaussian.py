"""The Gaussian family beside SciPy's distributions and scikit-learn's estimators."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB

from fivefold.distributions.gaussian import Diagonal, Full, Gaussian, GaussianMembers, GroupWeights, Spherical, Tied
from fivefold.distributions.singular_gaussian import SingularGaussians

STRUCTURES = {"full": Full(), "tied": Tied(), "diag": Diagonal(), "spherical": Spherical()}
over_structures = pytest.mark.parametrize("name", STRUCTURES)


def table(n=400, d=4, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 10 * rng.standard_normal(d)


def members(name, offset=0.0):
    X = table() + offset
    family = Gaussian(STRUCTURES[name], floor=1e-3)
    return X, family.fit(family.stats(X, np.random.RandomState(1).uniform(size=(len(X), 3))))


@over_structures
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_log_density_is_scipys(name, offset):
    X, normals = members(name, offset)
    sigma = np.broadcast_to(normals.covariance.dense(4), (3, 4, 4))
    pairs = zip(normals.mean - offset, sigma, strict=True)
    rival = [stats.multivariate_normal(m, S).logpdf(X - offset) for m, S in pairs]
    # of 1e-8, to which a mean at 1e8 is known, times the distance in standard deviations
    np.testing.assert_allclose(normals.log_prob(X).T, rival, rtol=1e-10 if offset == 0 else 1e-5, atol=1e-6)


@over_structures
def test_scikit_learns_mixture_reads_our_covariances(name):
    X, normals = members(name)
    weights = np.array([0.2, 0.3, 0.5])
    rival = GaussianMixture(3, covariance_type=name, max_iter=1, init_params="random", random_state=0)
    with pytest.warns(ConvergenceWarning):  # it stops early, as it was told to
        rival.fit(X)
    rival.weights_, rival.means_ = weights, normals.mean
    rival.precisions_cholesky_ = normals.covariance.precision_factor
    assert rival.covariances_.shape == normals.covariance.matrix.shape
    assert rival.precisions_.shape == normals.covariance.precision.shape
    ours = logsumexp(normals.log_prob(X, np.log(weights)), axis=1)
    np.testing.assert_allclose(ours, rival.score_samples(X), rtol=1e-10)
    # Bayes' criterion is -2 log-likelihood + parameters * log n
    parameters = (rival.bic(X) + 2 * ours.sum()) / np.log(len(X))
    assert normals.n_parameters + 2 == pytest.approx(parameters)


@over_structures
def test_precisions_given_are_inverted(name):
    _, normals = members(name)
    again = STRUCTURES[name].from_precision(normals.covariance.precision, 4)
    np.testing.assert_allclose(again.matrix, normals.covariance.matrix, rtol=1e-8)


def test_mean_covariance_and_mahalanobis_are_those_of_the_empirical_covariance():
    X = table()
    normals = Gaussian().fit(Gaussian().stats(X, np.ones((len(X), 1))))
    rival = EmpiricalCovariance().fit(X)
    np.testing.assert_allclose(normals.mean[0], rival.location_, rtol=1e-12)
    np.testing.assert_allclose(normals.covariance.matrix[0], rival.covariance_, rtol=1e-10)
    np.testing.assert_allclose(normals.mahalanobis(X)[:, 0], rival.mahalanobis(X), rtol=1e-9)


def test_moments_of_groups_are_those_of_naive_bayes():
    X, rng = table(30_000), np.random.RandomState(2)
    y, w = rng.randint(0, 4, len(X)), rng.uniform(size=len(X))
    rival = GaussianNB(var_smoothing=0).fit(X, y, sample_weight=w)
    normals = Gaussian(Diagonal()).fit(Gaussian(Diagonal()).stats(X, GroupWeights(y, w, 4)))
    np.testing.assert_allclose(normals.mean, rival.theta_, rtol=1e-10)
    np.testing.assert_allclose(normals.covariance.matrix, rival.var_, rtol=1e-10)
    joint = normals.log_prob(X, np.log(rival.class_prior_))
    np.testing.assert_allclose(joint, rival.predict_joint_log_proba(X), rtol=1e-9)


def test_singular_densities_are_scipys():
    basis = np.random.RandomState(3).standard_normal((2, 4))
    sigma, mean = basis.T @ basis, np.arange(4.0)
    flat = SingularGaussians.of(mean[None], sigma[None])
    inside = flat.sample(np.zeros(50, dtype=int), np.random.RandomState(4))
    rival = stats.multivariate_normal(mean, sigma, allow_singular=True)
    np.testing.assert_allclose(flat.log_prob(inside)[:, 0], rival.logpdf(inside), rtol=1e-9)
    outside = inside + np.array([0.1, 0, 0, 0])
    assert (flat.log_prob(outside) == -np.inf).all() and (rival.logpdf(outside) == -np.inf).all()


def test_one_dimension_is_scipys_normal():
    x = np.linspace(-5, 9, 101)
    normals = GaussianMembers(np.array([[2.0]]), Full().from_matrix([[[9.0]]], 1))
    np.testing.assert_allclose(normals.log_prob(x[:, None])[:, 0], stats.norm(2, 3).logpdf(x), rtol=1e-12)
