"""BayesianGaussianMixture beside scikit-learn's: the same posterior, the same bound, step by step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import multigammaln
from sklearn.mixture import BayesianGaussianMixture as Rival

from fivefold.mixture import BayesianGaussianMixture

MEANS = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 6.0, 6.0]])
COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")
PRIOR_TYPES = ("dirichlet_process", "dirichlet_distribution")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(mean, 1.0 + 0.3 * k, (80 + 40 * k, 3)) for k, mean in enumerate(MEANS)])


def order(model):
    return np.argsort(model.means_ @ [1.0, 10.0, 100.0])


def rival_in_the_same_order(X, ours, options):
    """scikit-learn's fit whose components come in the order of ours, which decides under a Dirichlet process."""
    for seed in range(30):
        found = Rival(**options, random_state=seed).fit(X)
        if (order(found) == order(ours)).all():
            return found
    raise AssertionError("no seed gives the same order")


@pytest.mark.parametrize("prior_type", PRIOR_TYPES)
@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_posterior_bound_and_densities_are_the_same(rows, covariance_type, prior_type):
    options = {
        "n_components": 3,
        "covariance_type": covariance_type,
        "weight_concentration_prior_type": prior_type,
        "weight_concentration_prior": 0.7,
        "mean_precision_prior": 0.3,
        "degrees_of_freedom_prior": 4.5,
        "tol": 1e-9,
        "max_iter": 500,
    }
    ours = BayesianGaussianMixture(**options, random_state=0).fit(rows)
    rival = rival_in_the_same_order(rows, ours, options)
    for name in (
        "weights_",
        "means_",
        "covariances_",
        "precisions_",
        "precisions_cholesky_",
        "mean_precision_",
        "degrees_of_freedom_",
        "weight_concentration_",
        "weight_concentration_prior_",
        "mean_precision_prior_",
        "mean_prior_",
        "degrees_of_freedom_prior_",
        "covariance_prior_",
    ):
        assert_allclose(getattr(ours, name), getattr(rival, name), rtol=1e-6, atol=1e-8, err_msg=name)
        assert np.shape(getattr(ours, name)) == np.shape(getattr(rival, name)), name
    assert ours.lower_bound_ == pytest.approx(float(np.squeeze(rival.lower_bound_)), rel=1e-9)
    assert_allclose(ours.score_samples(rows), rival.score_samples(rows), rtol=1e-6)
    assert_allclose(ours.predict_proba(rows), rival.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
@pytest.mark.parametrize("prior_type", PRIOR_TYPES)
def test_no_step_lowers_the_bound(rows, covariance_type, prior_type):
    model = BayesianGaussianMixture(
        n_components=6,
        covariance_type=covariance_type,
        weight_concentration_prior_type=prior_type,
        init_params="random",
        max_iter=300,
        random_state=0,
    ).fit(rows)
    assert (np.diff(model.lower_bounds_) >= 0).all() and model.lower_bounds_[-1] == model.lower_bound_


def test_components_that_are_not_needed_lose_their_weight(rows):
    model = BayesianGaussianMixture(
        n_components=10, weight_concentration_prior=1e-3, max_iter=1000, random_state=0
    ).fit(rows)
    assert (model.weights_ > 0.01).sum() == 3
    assert model.weights_.sum() == pytest.approx(1)


def test_one_component_has_the_evidence_of_the_normal_wishart_model():
    """With one component the posterior is exact, so the bounds of two tables differ as their evidences do."""
    rng = np.random.default_rng(1)
    n, d, kappa, nu = 40, 2, 0.5, 4.0
    mean, scale = np.zeros(d), np.eye(d)

    def log_evidence(X):
        xbar = X.mean(axis=0)
        S = (X - xbar).T @ (X - xbar)
        full = scale + S + kappa * n / (kappa + n) * np.outer(xbar - mean, xbar - mean)
        change = multigammaln((nu + n) / 2, d) - multigammaln(nu / 2, d)
        return change - (nu + n) / 2 * np.linalg.slogdet(full)[1] - 0.5 * d * np.log(kappa + n)

    tables = [rng.normal(m, s, (n, d)) for m, s in ((0.0, 1.0), (2.0, 3.0))]
    options = {"mean_prior": mean, "covariance_prior": scale, "mean_precision_prior": kappa, "reg_covar": 0.0}
    bounds = [
        BayesianGaussianMixture(degrees_of_freedom_prior=nu, random_state=0, **options).fit(X).lower_bound_
        for X in tables
    ]
    assert bounds[0] - bounds[1] == pytest.approx(log_evidence(tables[0]) - log_evidence(tables[1]), rel=1e-10)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"degrees_of_freedom_prior": 1.0}, "greater than 2"),
        ({"mean_prior": [1.0]}, "shape"),
        ({"covariance_prior": np.eye(2)}, "shape"),
        ({"covariance_prior": -np.eye(3)}, "positive definite"),
        ({"weight_concentration_prior": 0.0}, "weight_concentration_prior"),
    ],
)
def test_bad_priors_are_refused_in_words(rows, options, words):
    with pytest.raises(ValueError, match=words):
        BayesianGaussianMixture(random_state=0, **options).fit(rows)


def test_weights_are_repetitions_and_columns_at_1e8_are_the_same(rows):
    w = np.random.default_rng(0).integers(0, 3, len(rows))
    options = {"n_components": 3, "random_state": 0, "tol": 1e-8, "max_iter": 500}
    weighted = BayesianGaussianMixture(**options).fit(rows, sample_weight=w)
    repeated = BayesianGaussianMixture(**options).fit(np.repeat(rows, w, axis=0))
    assert_allclose(weighted.means_, repeated.means_, rtol=1e-8)
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-9)
    far = BayesianGaussianMixture(**options).fit(rows + 1e8)
    near = BayesianGaussianMixture(**options).fit(rows)
    assert_allclose(far.covariances_, near.covariances_, rtol=1e-5)
