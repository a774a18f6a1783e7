"""Figures of limits of an error, of sample means and of uniform convergence."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_iris

from fivefold import plot
from fivefold.distributions.estimation.limit_theorems import average_experiment
from fivefold.theory import certificates_by_delta, certificates_by_rows
from fivefold.theory.concentration import LIMIT_FAMILIES, hoeffding_margin
from fivefold.theory.experiments import LearningTask, no_noise, uniform_convergence, uniform_law
from fivefold.tree import DecisionTreeClassifier


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def curves(ax):
    return {line.get_label(): line.get_data() for line in ax.lines}


def test_widths_fall_with_the_rows():
    """B-12: a line per family; Hoeffding's is its margin, and the approximation is dashed."""
    ax = plot.limit_widths_by_rows(0.05, [20, 200, 2000])
    found = curves(ax)
    assert list(found) == list(LIMIT_FAMILIES)
    assert all((np.diff(y) < 0).all() for _, y in found.values())
    assert found["Hoeffding"][1] == pytest.approx(hoeffding_margin(np.array([20, 200, 2000]), 0.05, sides=1))
    assert {line.get_label() for line in ax.lines if line.get_linestyle() == "--"} == {"Gaussian approximation"}
    sizes = curves(plot.limit_widths_by_rows(0.05))["KL inversion"][0]
    assert sizes * 0.05 == pytest.approx(np.rint(sizes * 0.05)) and sizes[-1] == 1e5


def test_widths_against_the_error():
    """B-12: the order for small errors."""
    found = curves(plot.limit_widths_by_mean(100))
    order = [found[name][1][3] for name in ("binomial inversion", "KL inversion", "relative Chernoff", "Hoeffding")]
    assert order == sorted(order) and len(found["KL inversion"][0]) == 101


def test_the_true_tail_lies_below_each_bound_of_it():
    """B-12: on a logarithmic scale."""
    ax = plot.limit_tails(60, 0.2)
    assert ax.get_yscale() == "log"
    found = curves(ax)
    assert found["binomial inversion"][1] == pytest.approx(binom.cdf(np.arange(13), 60, 0.2))
    for name in ("KL inversion", "relative Chernoff", "Hoeffding", "Chebyshev"):
        assert (found[name][1] >= found["binomial inversion"][1] * (1 - 1e-9)).all()  # equal without errors
    assert "empirical Bernstein" not in found


def test_three_panels_share_their_colours():
    panels = plot.error_limits(0.1, 50)
    assert len(panels) == 3
    inks = [{line.get_label(): line.get_color() for line in ax.lines} for ax in panels]
    assert inks[0] == inks[1] and inks[2].items() <= inks[0].items()


def test_means_of_samples_narrow():
    """B-01: a histogram per size on one scale, the curve above it sqrt(10) times as high."""
    averages = average_experiment(lambda rng, shape: rng.gamma(590.0, 0.288, shape), 169.92, 48.94, sizes=(100, 1000))
    panels = plot.sample_mean_histograms(averages)
    tops = [ax.lines[0].get_ydata().max() for ax in panels]
    assert tops[1] / tops[0] == pytest.approx(np.sqrt(10), rel=0.01)
    assert panels[0].get_xlim() == panels[1].get_xlim()
    assert sum(patch.get_height() * patch.get_width() for patch in panels[1].patches) == pytest.approx(1.0)


def test_uniform_convergence_is_drawn():
    """C-172."""
    task = LearningTask(uniform_law(), lambda X, noise: X[:, 0] > 0.3, no_noise())
    rules = [lambda X, w=w: X[:, 0] > w for w in np.linspace(0, 1, 11)]
    found = uniform_convergence(task, rules, (20, 100, 500), 0.1, trials=40, seed=0)
    lines = curves(plot.convergence_curve(found))
    assert lines["share of samples above epsilon"][1] == pytest.approx(found.probabilities)
    assert (np.diff(lines["mean largest deviation"][1]) < 0).all()


class TestBoundCurves:
    def test_a_line_per_bound_that_says_something_and_the_observed_error(self):
        X, y = load_iris(return_X_y=True)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        series = certificates_by_rows(tree, X, y, [60, 100, 150])
        found = curves(plot.bound_curves(series))
        assert found.pop("observed")[1] == pytest.approx(series.risks)
        assert found.keys() == {name for name, values in series.bounds.items() if np.nanmin(values) < 1}
        for name, (at, values) in found.items():
            assert at.tolist() == [60, 100, 150] and values == pytest.approx(series.bounds[name])

    def test_less_certainty_is_cheaper(self):
        X, y = load_iris(return_X_y=True)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
        series = certificates_by_delta(tree, X[1::2], y[1::2], [1e-3, 0.05, 0.3], rows="held out")
        assert all((np.diff(values) <= 0).all() for values in series.bounds.values())
        assert plot.bound_curves(series).get_xlabel() == "delta, the probability of being wrong"

    def test_held_out_rows_certify_one_model(self):
        X, y = load_iris(return_X_y=True)
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
        series = certificates_by_rows(tree, X[1::2], y[1::2], [20, 75], rows="held out")
        assert series.certificates[1].risk == np.mean(tree.predict(X[1::2]) != y[1::2])

    def test_impossible_sizes_are_refused(self):
        with pytest.raises(ValueError, match=r"numbers of rows from 1 to 150; got \[151\]"):
            certificates_by_rows(DecisionTreeClassifier(random_state=0), *load_iris(return_X_y=True), [151])
        with pytest.raises(ValueError, match="one at least; got none"):
            certificates_by_delta(None, None, None, [])
