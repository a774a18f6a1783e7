"""Figures of priors that fade, of t beside the normal, and of averages."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import t

from fivefold import plot
from fivefold.distributions.beta import BetaMembers
from fivefold.distributions.conjugate.count_pairs import BinomialBeta, CategoricalDirichlet
from fivefold.distributions.conjugate.normal_pairs import NormalMean, normals
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.estimation.limit_theorems import average_experiment
from fivefold.plot.probability.posterior_sharpening import posterior_path
from fivefold.plot.probability.student_t_tails import critical_value, t_members

SIZES = (0, 4, 32, 256)
ONE = np.ones((1, 1))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def area(line):
    x, y = line.get_data()
    return np.trapezoid(y, x)


def test_posteriors_of_a_mean_sharpen():
    """D-341."""
    X = np.random.RandomState(0).normal(2.0, 1.0, size=(256, 1))
    path = posterior_path(NormalMean(1.0), normals(0.0, 4.0), X, SIZES)
    spreads = [np.sqrt(step.parameters.variance.item()) for step in path]
    assert (np.diff(spreads) < 0).all()
    ax = plot.posterior_sharpening(path, SIZES, likelihood_maximum=X.mean(), name="mean")
    curves = ax.lines[:4]
    assert [area(line) for line in curves] == pytest.approx([1] * 4, abs=0.01)
    assert curves[-1].get_ydata().max() > 10 * curves[0].get_ydata().max()


def test_posteriors_under_several_priors_meet():
    """A-139: a panel per number of rows."""
    X = np.random.RandomState(0).binomial(1, 0.7, size=(256, 1)) * 1.0
    priors = {"even": BetaMembers(10 * ONE, 10 * ONE), "low": BetaMembers(2 * ONE, 8 * ONE)}
    panels = plot.fading_priors(BinomialBeta(), priors, X, SIZES)
    assert len(panels) == 4

    def apart(ax):
        tops = [line.get_xdata()[line.get_ydata().argmax()] for line in ax.lines[:2]]
        return abs(tops[0] - tops[1])

    gaps = [apart(ax) for ax in panels]
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]


def test_posteriors_sharpen_on_the_simplex():
    """D-341."""
    X = np.random.RandomState(0).choice(3, p=[0.2, 0.3, 0.5], size=(256, 1)) * 1.0
    path = posterior_path(CategoricalDirichlet(3), DirichletMembers(np.full((1, 3), 2.0)), X, SIZES)
    members = [step.parameters for step in path]
    assert (np.diff([m.variance.max() for m in members]) < 0).all()
    panels = plot.simplex_sharpening(members, SIZES, steps=40)
    assert [ax.get_title(loc="left") for ax in panels] == ["prior", "4 rows", "32 rows", "256 rows"]


def test_the_shaded_region_of_t_has_probability_alpha():
    """D-342."""
    limit = critical_value(4, 0.1)
    assert 2 * t.sf(limit, 4) == pytest.approx(0.1)
    assert 1 - t_members(4).interval_probability(-limit, limit).item() == pytest.approx(0.1)
    ax = plot.student_t_tails((2, 4, 30), alpha=0.1, shaded=4)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["t, 2", "t, 4", "t, 30", "normal"]
    tails = [line.get_ydata()[0] for line in ax.lines]
    assert (np.diff(tails) < 0).all()
    beyond = 2 * t.sf(6, 4)  # what the figure does not show
    shaded = sum(polygon_area(part.get_paths()[0].vertices) for part in ax.collections)
    assert shaded == pytest.approx(0.1 - beyond, abs=2e-3)  # a step of the grid wide


def polygon_area(corners):
    x, y = corners.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def test_averages_gather_and_become_normal():
    """D-100, D-101."""
    found = average_experiment(lambda rng, size: rng.exponential(1.0, size), 1.0, 1.0, sizes=(1, 4, 64), repeats=2000)
    panels = plot.central_limit_histograms({"exponential": found})
    assert len(panels) == 3
    ax = plot.large_numbers(found)
    assert ax.get_xscale() == "log"
