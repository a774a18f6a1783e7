"""Numbers for EM and mixtures from the catalogue; each test names its rows."""

import numpy as np
import pytest
from oracles.em import gaussian_step, lloyd, log_joint
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from fivefold.distributions.gaussian import Full, Gaussian, GaussianMembers
from fivefold.inference.em import em
from fivefold.mixture import GaussianMixture, compare_with_em, gradient_ascent
from fivefold.mixture.estimation.finite_mixture import FiniteMixture
from fivefold.mixture.likelihood_ascent import NegativeLogLikelihood
from fivefold.optim.derivative_checks import check_gradient
from fivefold.optim.smooth.steepest_descent import SteepestDescent


def one_dimensional(weights, means, deviations):
    """A mixture of Gaussians on the line."""
    covariance = Full().from_matrix(np.reshape(deviations, (-1, 1, 1)) ** 2.0, 1)
    return FiniteMixture(
        Gaussian(), weights=np.array(weights), components=GaussianMembers(np.c_[means].astype(float), covariance)
    )


def parameters(model):
    sigma = np.sqrt(model.components.covariance.matrix.ravel())
    return model.weights, model.components.mean.ravel(), sigma


def run(data, weights, means, deviations, steps):
    X = np.c_[np.array(data, dtype=float)]
    return em(one_dimensional(weights, means, deviations), X, np.ones(len(X)), tol=-np.inf, max_iter=steps)


@pytest.fixture(scope="module")
def tables():
    """The data of C.0-2, on the line, and C.0-3, in the plane with labels, drawn one by one from the printed seed."""
    rng = np.random.RandomState(11111997)
    which = rng.choice(2, size=10000, p=(0.5, 0.5))
    location, scale = np.array([5.0, 30.0])[which], np.array([10.0, 5.0])[which]
    x = np.array([norm.rvs(m, s, random_state=rng) for m, s in zip(location, scale, strict=True)])
    assert x.mean() == pytest.approx(17.280899, abs=5e-7) and x.std() == pytest.approx(14.854019, abs=5e-7)
    which = rng.choice(3, size=1000, p=(0.25, 0.25, 0.5))
    means = [(-4, 2), (5, 6), (4, -4)]
    covariances = [[[1, 0.7], [0.7, 2]], [[2, 0.5], [0.5, 1]], [[2, 1], [1, 2]]]
    X = np.array([multivariate_normal.rvs(means[k], covariances[k], random_state=rng) for k in which])
    np.testing.assert_allclose(X.mean(axis=0), [2.290527, 0.213686], atol=5e-7)
    return x, X, which


@pytest.fixture
def recipe(tables):
    return tables[0]


def test_four_points_settle_in_one_step():
    """A-81: 0, 1, 9, 10 from means 0 and 10: log-likelihood -7.448343, then -5.675754 and fixed."""
    fit = run([0, 1, 9, 10], [0.5, 0.5], [0, 10], [1, 1], 2)
    np.testing.assert_allclose(fit.history, [-7.448343, -5.675754], atol=5e-7)
    _, means, deviations = parameters(fit.model)
    np.testing.assert_allclose(means, [0.5, 9.5], atol=1e-6)
    np.testing.assert_allclose(deviations**2, [0.25, 0.25], atol=1e-6)


def test_five_points_take_the_printed_first_steps():
    """A-81, A-89: 0, 1, 2, 3, 10 from means 1 and 3."""
    X = np.c_[[0.0, 1, 2, 3, 10]]
    R, _ = one_dimensional([0.5, 0.5], [1, 3], [1, 1]).posterior(X)
    np.testing.assert_allclose(R[:, 0], [0.982014, 0.880797, 0.5, 0.119203, 0.000000], atol=5e-7)
    np.testing.assert_allclose(R.sum(axis=1), 1.0, rtol=1e-15)
    start = {"weights_init": [0.5, 0.5], "means_init": [[1.0], [3.0]], "precisions_init": np.ones((2, 1, 1))}
    ours = GaussianMixture(2, **start, reg_covar=0, max_iter=0).fit(X)
    np.testing.assert_allclose(ours.predict_proba(X), R, atol=1e-14)
    fit = run(X.ravel(), [0.5, 0.5], [1, 3], [1, 1], 3)
    np.testing.assert_allclose(fit.history, [-32.595275, -11.785763, -11.479514], atol=5e-7)
    weights, means, deviations = parameters(run(X.ravel(), [0.5, 0.5], [1, 3], [1, 1], 1).model)
    np.testing.assert_allclose(weights, [0.496403, 0.503597], atol=5e-7)
    np.testing.assert_allclose(means, [0.901851, 5.465317], atol=5e-7)
    np.testing.assert_allclose(deviations**2, [0.779579, 13.834426], atol=5e-7)


def test_the_estimator_takes_the_same_steps_as_the_algorithm_in_print():
    """A-81, A-82: uniform weights, data points as means, identity covariance."""
    ours = GaussianMixture(
        2,
        weights_init=[0.5, 0.5],
        means_init=[[1.0], [3.0]],
        precisions_init=np.ones((2, 1, 1)),
        reg_covar=0,
        max_iter=1,
    )
    with pytest.warns(ConvergenceWarning, match="1 steps were not enough"):
        ours.fit([[0.0], [1], [2], [3], [10]])
    assert ours.lower_bound_ * 5 == pytest.approx(-32.595275, abs=5e-7)
    np.testing.assert_allclose(ours.weights_, [0.496403, 0.503597], atol=5e-7)
    np.testing.assert_allclose(ours.means_.ravel(), [0.901851, 5.465317], atol=5e-7)


def test_em_climbs_the_documented_path(recipe):
    """C-93, C-88, C.1-9: from mu = (1, 2), sigma = (1, 2), pi = (0.25, 0.75)."""
    start = [0.25, 0.75], [1, 2], [1, 2]
    printed = {
        1: ([0.745674, 17.746404], [1.250456, 14.795118]),
        10: ([0.316757, 17.796650], [2.061059, 14.771780]),
        50: ([2.966402, 28.944796], [8.615902, 6.077042]),
    }
    for steps, (means, deviations) in printed.items():
        fit = run(recipe, *start, steps)
        np.testing.assert_allclose(parameters(fit.model)[1], means, atol=5e-6)
        np.testing.assert_allclose(parameters(fit.model)[2], deviations, atol=5e-6)
    np.testing.assert_allclose(parameters(run(recipe, *start, 1).model)[0], [0.027381, 0.972619], atol=5e-7)
    np.testing.assert_allclose(parameters(fit.model)[0], [0.448985, 0.551015], atol=5e-6)
    after = run(recipe, *start, 51).history
    np.testing.assert_allclose(
        [after[0], after[1], after[10], after[50]], [-586347.6418, -41147.1309, -41126.9681, -39676.6197], atol=5e-4
    )
    assert (np.diff(after) > 0).all()


def test_em_converges_to_the_documented_maximum_and_criteria(recipe):
    """C-93, C-95, C-96, C.1-9; the document's criteria are ours over -2."""
    X = np.c_[recipe]
    two = GaussianMixture(
        2, weights_init=[0.25, 0.75], means_init=[[1], [2]], precisions_init=np.reshape([1, 0.25], (2, 1, 1)),
        tol=1e-12, max_iter=1000, reg_covar=0,
    ).fit(X)  # fmt: skip
    np.testing.assert_allclose(two.means_.ravel(), [5.071125, 30.156910], atol=5e-5)
    np.testing.assert_allclose(np.sqrt(two.covariances_.ravel()), [9.974938, 5.038824], atol=5e-5)
    np.testing.assert_allclose(two.weights_, [0.513279, 0.486721], atol=5e-6)
    assert two.score(X) * len(X) == pytest.approx(-39562.0150, abs=5e-4)
    assert two.aic(X) / -2 == pytest.approx(-39567.0150, abs=5e-4)
    assert two.bic(X) / -2 == pytest.approx(-39585.0408, abs=5e-4)
    one = GaussianMixture(1).fit(X)
    assert one.score(X) * len(X) == pytest.approx(-41172.0897, abs=5e-4)
    assert one.aic(X) / -2 == pytest.approx(-41174.0897, abs=5e-4)
    assert one.bic(X) / -2 == pytest.approx(-41181.3000, abs=5e-4)


def test_gradient_ascent_reaches_the_stationary_point_of_em(recipe):
    """C-89: on softmax weights and log deviations, from the same start; by plain gradient steps slower, no better."""
    X = np.c_[recipe[:500]]
    start = one_dimensional([0.5, 0.5], [0, 25], [8, 8])
    fit = em(start, X, np.ones(500), tol=1e-14, max_iter=5000)
    found = gradient_ascent(start, X)
    assert found.minimum.reason == "converged"
    assert found.history[0] == pytest.approx(fit.history[0])
    assert found.history[-1] == pytest.approx(fit.history[-1], abs=1e-7)
    for ours, theirs in zip(parameters(found.model), parameters(fit.model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)  # EM stops where a step gains 1e-14 per row
    plain = gradient_ascent(start, X, solver=SteepestDescent(), tol=1e-4)
    enough = em(start, X, np.ones(500), tol=1e-9, max_iter=5000)
    assert plain.history[-1] <= enough.history[-1] + 1e-6
    assert len(plain.history) > len(enough.history)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "identity"])
def test_em_and_gradient_ascent_from_one_start_end_at_one_point(kind):
    """C-89: for every covariance type, with weights, on columns of unlike units."""
    X = planted(3) * [2.0, 100.0] + [0.0, 5000.0]
    w = np.random.RandomState(0).uniform(0.5, 2, len(X))
    found = compare_with_em(GaussianMixture(3, covariance_type=kind, random_state=0), X, w)
    assert found.em.reason == "converged"
    assert found.ascent.minimum.reason == "converged"
    assert found.gap < 1e-4
    objective = NegativeLogLikelihood(found.start, X, w)
    theta = objective.pack(found.start)
    assert check_gradient(objective, theta + 0.05 * np.random.RandomState(1).standard_normal(len(theta)))
    assert objective.violation(objective.pack(found.em.model)) < 1e-5  # the end of EM is stationary
    stats, _ = found.ascent.model.expect(X, w)
    again = found.ascent.model.maximise(stats)  # and EM leaves the end of the ascent where it is
    np.testing.assert_allclose(again.components.mean, found.ascent.model.components.mean, rtol=1e-5)
    assert "EM" in str(found)


def test_gradient_ascent_refuses_what_it_cannot_climb():
    X = planted(0)
    start = GaussianMixture(2, random_state=0).fit(X).model_
    with pytest.raises(ValueError, match="X must be finite"):
        gradient_ascent(start, np.where(X > 3, np.nan, X))
    with pytest.raises(ValueError, match="without a prior"):
        compare_with_em(GaussianMixture(2, weight_prior=1.0, random_state=0), X)


def planted(seed=0, n=150):
    """Three overlapping groups in the plane."""
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n, 2)) + 2.5 * np.array([[0, 0], [2, 0], [0, 2]])[rng.randint(0, 3, n)]


@pytest.mark.parametrize("seed", range(5))
def test_hard_em_with_identity_covariance_and_equal_weights_is_k_means(seed):
    """A-88, B-159, C-91: the same labels and the same centres, from the same start."""
    X = planted(seed)
    centres = X[:3]
    mixture = GaussianMixture(
        3, covariance_type="identity", assignment="hard", weight_prior=np.inf, tol=0, max_iter=500,
        weights_init=np.full(3, 1 / 3), means_init=centres, precisions_init=np.eye(2),
    ).fit(X)  # fmt: skip
    labels, centres = lloyd(X, centres)
    np.testing.assert_array_equal(mixture.predict(X), labels)
    np.testing.assert_allclose(mixture.means_, centres, rtol=1e-12)
    np.testing.assert_array_equal(mixture.weights_, np.full(3, 1 / 3))
    np.testing.assert_array_equal(mixture.covariances_, np.eye(2))


def test_a_step_of_soft_em_is_the_textbooks():
    """B-160, C-94: against one row and one component at a time."""
    X = planted(1, 60)
    start = np.full(3, 1 / 3), X[:3], np.repeat(np.eye(2)[None], 3, axis=0)
    model = FiniteMixture(
        Gaussian(), weights=start[0], components=GaussianMembers(X[:3], Full().from_matrix(start[2], 2))
    )
    for _ in range(4):
        value, *start = gaussian_step(X, *start)
        stats, ours = model.expect(X, np.ones(60))
        model = model.maximise(stats)
        assert ours == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(model.weights, start[0], rtol=1e-10)
        np.testing.assert_allclose(model.components.mean, start[1], rtol=1e-10)
        np.testing.assert_allclose(model.components.covariance.matrix, start[2], rtol=1e-9)


def test_em_recovers_the_documented_mixture_in_the_plane(tables):
    """C-94, C.1-10: 244, 272 and 484 rows, purity 1; parameters within four standard errors."""
    _, X, which = tables
    model = GaussianMixture(3, random_state=0, tol=1e-6).fit(X)
    labels = model.predict(X)
    assert sorted(np.bincount(labels)) == [244, 272, 484]
    order = [np.bincount(labels[which == k]).argmax() for k in range(3)]
    np.testing.assert_array_equal(np.array(order)[which], labels)
    truth = np.array([(-4, 2), (5, 6), (4, -4)])
    spread = np.array([[1, 2], [2, 1], [2, 2]])
    errors = 4 * np.sqrt(spread / np.bincount(which)[:, None])
    assert (np.abs(model.means_[order] - truth) < errors).all()


def test_labels_are_those_of_the_bayes_classifier_with_the_estimated_components():
    """C-103, C-90, A-80: densities and responsibilities from SciPy."""
    X = planted(2)
    mixture = GaussianMixture(3, random_state=0, reg_covar=0).fit(X)
    L = log_joint(X, mixture.weights_, mixture.means_, mixture.covariances_)
    np.testing.assert_array_equal(mixture.predict(X), L.argmax(axis=1))
    np.testing.assert_allclose(mixture.predict_proba(X), softmax(L, axis=1), atol=1e-10)
    np.testing.assert_allclose(mixture.score_samples(X), logsumexp(L, axis=1), rtol=1e-10)


def test_a_density_of_a_mixture_integrates_to_one():
    """A-80, B-158, C-87, C-88: 1/2 N(5, 10^2) + 1/2 N(30, 5^2) on a grid; samples have its mean and variance."""
    model = one_dimensional([0.5, 0.5], [5, 30], [10, 5])
    grid = np.linspace(-75, 110, 20001)
    density = np.exp(model.posterior(np.c_[grid])[1])
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-9)
    x = model.sample(40_000, np.random.RandomState(0))[0].ravel()
    mean, variance = 17.5, 0.5 * (100 + 25) + 12.5**2
    assert abs(x.mean() - mean) < 4 * np.sqrt(variance / len(x))
    assert abs(x.var() / variance - 1) < 4 * np.sqrt(2 / len(x))
