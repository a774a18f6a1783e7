"""Figures of beliefs hold the numbers they claim to show."""

import matplotlib
import numpy as np
import pytest

from fivefold import plot
from fivefold.theory import chance_structure
from fivefold.theory.beliefs import coin_learning

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_a_path_of_beliefs_has_a_curve_per_hypothesis_and_names_the_six_that_were_largest():
    flips = np.random.default_rng(0).random(60) < 0.7
    found = coin_learning(np.full(9, 1 / 9), np.arange(1, 10) / 10, flips)
    ax = plot.belief_path(found.probability, [f"bias {b:.1f}" for b in found.biases])
    curves = [line for line in ax.lines if len(line.get_ydata()) == 61]
    assert len(curves) == 9
    drawn = sorted(tuple(line.get_ydata()) for line in curves)
    assert drawn == sorted(map(tuple, found.probability.T))
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(named) == 6 and "bias 0.7" in named
    with pytest.raises(ValueError, match="9 hypotheses have as many names; got 2"):
        plot.belief_path(found.probability, ["a", "b"])
    with pytest.raises(ValueError, match="a row per observation"):
        plot.belief_path(found.mean)


def test_chance_is_drawn_beside_what_was_seen():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 60)), np.repeat([0, 1], 10)
    X[:, 4] += 4 * y
    found = chance_structure(X, y, statistic="t", random_state=0)
    ax = plot.permutation_null(found)
    assert sum(patch.get_height() for patch in ax.patches) == 1000
    assert [line.get_xdata()[0] for line in ax.lines] == [found.magnitudes[4]]
    assert ax.texts[0].get_text() == "x4, p = 0.001"
    counts = plot.chance_counts(found)
    assert sum(patch.get_height() for patch in counts.patches) == 1000
    assert counts.lines[0].get_xdata()[0] == found.significant("none").sum()
