"""Bayesian decisions with numbers that can be checked by hand."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from fivefold import plot
from fivefold.decision import (
    ClassConditionalModel,
    GaussianDiscriminants,
    bayes_error,
    bhattacharyya_bound,
    conditional_risks,
    decide,
    decision_regions,
)
from fivefold.evaluation.monte_carlo_risk import expected_loss
from fivefold.evaluation.point_prediction import AbsoluteLoss, SquaredLoss, WeightedSample
from fivefold.graphical import ProbabilityTable
from fivefold.naive_bayes import GaussianNB

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TEXT = "aaaaaaaabbabbaaaaaaa"
TWO = ClassConditionalModel([norm(0, 1), norm(4, 1)])


def test_priors_are_the_shares_of_the_letters():
    """C-61: p(a) = 16/20, p(b) = 4/20."""
    found = ProbabilityTable.from_sample({"letter": list(TEXT)})
    assert found["a"] == 0.8 and found["b"] == pytest.approx(0.2)
    X = np.arange(20.0)[:, None] % 7
    assert_allclose(GaussianNB().fit(X, list(TEXT)).class_prior_, [0.8, 0.2])


def test_equal_gaussians_part_in_the_middle():
    """C-65: and the more likely class gains ground as its prior grows."""
    assert decision_regions(TWO).boundaries == pytest.approx([2.0], abs=1e-12)
    shifted = decision_regions(ClassConditionalModel(TWO.densities, [0.8, 0.2])).boundaries
    assert shifted == pytest.approx([2 + np.log(4) / 4], abs=1e-12)


def test_two_spreads_part_in_two_places():
    """C-65: x^2 (1 - 1/9) / 2 = log 3."""
    found = decision_regions(ClassConditionalModel([norm(0, 1), norm(0, 3)]))
    edge = np.sqrt(2 * np.log(3) * 9 / 8)
    assert found.boundaries == pytest.approx([-edge, edge], abs=1e-12) and found.codes == (1, 0, 1)


def test_the_error_of_two_gaussians_four_apart():
    """D-134: Phi(-2) = 0.022750, below Bhattacharyya's exp(-2) / 2."""
    found = bayes_error(TWO)
    assert found.value == pytest.approx(norm.cdf(-2), abs=1e-12) and round(found.value, 6) == 0.022750
    assert bhattacharyya_bound(TWO) == pytest.approx(np.exp(-2) / 2, rel=1e-9)


def test_the_boundary_of_isotropic_classes_moves_from_the_likelier_mean():
    """D-141: means (0, 0) and (4, 0), priors 0.8 and 0.2: x0 = (2.346574, 0)."""
    plane = GaussianDiscriminants([[0, 0], [4, 0]], 1.0, [0.8, 0.2]).hyperplane(0, 1)
    assert_allclose(plane.x0, [2 + np.log(4) / 4, 0], atol=1e-12)
    assert round(plane.x0[0], 6) == 2.346574


def test_a_shared_covariance_turns_the_hyperplane():
    """D-143: the plane passes through x0, and is not orthogonal to the line of the means."""
    found = GaussianDiscriminants([[0, 0], [2, 0]], [[1.0, 0.8], [0.8, 1.0]])
    plane = found.hyperplane(0, 1)
    assert_allclose(plane.x0, [1, 0])
    assert abs(plane.w[1] / plane.w[0] + 0.8) < 1e-12  # Sigma^-1 (2, 0) is along (1, -0.8)


def test_points_of_an_ellipse_share_their_density():
    """D-138: axes along the eigenvectors, half-lengths r sqrt(eigenvalue)."""
    sigma = np.array([[4.0, 1.5], [1.5, 1.0]])
    members = GaussianDiscriminants([[1.0, -1.0]], sigma).members
    lengths, directions = members.axes()
    assert_allclose(lengths[0] ** 2, np.linalg.eigvalsh(sigma)[::-1])
    tips = members.mean[0] + 2 * lengths[0][:, None] * directions[0]
    assert_allclose(np.ptp(members.log_prob(tips)), 0, atol=1e-12)
    assert_allclose(members.mahalanobis(tips), 4.0)


def test_the_risk_of_an_answer_is_one_less_its_probability():
    """D-146, D-147: losses of 0 and 1; overall, the probability of error."""
    P = TWO.posterior(np.linspace(-1, 5, 7))
    assert_allclose(conditional_risks(P), 1 - P, atol=1e-15)

    def source(m, rng):
        X, y = TWO.sample(m, rng)
        return X, y

    found = expected_loss(TWO, source, 200_000, np.random.default_rng(0))
    assert abs(found.mean - norm.cdf(-2)) < 3 * found.error


def test_the_best_answer_follows_from_the_loss():
    """D-148: 0/1 loss the most probable class, a reject action, squared loss the mean, absolute loss the median."""
    P = np.array([[0.2, 0.5, 0.3], [0.4, 0.35, 0.25]])
    assert decide(P).tolist() == [1, 0]
    assert decide(P, [*(1 - np.eye(3)), [0.55] * 3]).tolist() == [1, 3]
    values = WeightedSample(np.array([1.0, 2.0, 10.0]), np.array([0.3, 0.4, 0.3]))
    assert SquaredLoss().best(values) == pytest.approx(4.1)
    assert AbsoluteLoss().best(values) == pytest.approx(2.0)


def test_three_panels_show_likelihood_joint_and_posterior():
    """C-63: with the boundary at the midpoint, where both posteriors are one half."""
    panels = plot.posterior_panels(TWO, -3, 7)
    x, y = panels[2].lines[0].get_data()
    assert_allclose(y, TWO.posterior(x)[:, 0])
    assert_allclose(panels[0].lines[1].get_ydata(), norm.pdf(x, 4))
    assert_allclose(panels[1].lines[1].get_ydata(), norm.pdf(x, 4) / 2)
    assert panels[2].lines[2].get_xdata()[0] == pytest.approx(2.0)
    plt.close("all")


def test_the_map_of_any_classifier_has_a_line_where_the_two_largest_tie():
    """D-137."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[y]
    model = GaussianNB().fit(X, y)
    ax = plot.class_regions(model, X, y, reject=0.3)
    lines = [path for collection in ax.collections for path in getattr(collection, "get_paths", list)()]
    assert lines and ax.get_xlim()[0] < X[:, 0].min()
    plt.close("all")
