"""Figures of densities and smoothers, read back from their axes."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from fivefold import plot
from fivefold.density import KernelDensity, curse_of_dimensionality
from fivefold.linear_model import Ridge


def test_one_panel_per_value_with_the_rows_below():
    """E-334."""
    X = np.random.default_rng(0).normal(size=(80, 1))
    panels = plot.smoothing_family(KernelDensity(), "bandwidth", (0.1, 2.0), X, truth=lambda x: np.exp(-x * x))
    assert [ax.get_title(loc="left") for ax in panels] == ["bandwidth = 0.1", "bandwidth = 2"]
    _, marks, curve = panels[0].lines
    assert len(marks.get_xdata()) == 80 and (marks.get_ydata() == 0).all()
    x, y = curve.get_data()
    np.testing.assert_allclose(y, KernelDensity(bandwidth=0.1).fit(X).density(x[:, None]))
    targets = plot.smoothing_family(Ridge(), "alpha", (0.1, 1.0, 9.0), X, X[:, 0] ** 2)
    assert len(targets) == 3 and len(targets[0].lines) == 2
    with pytest.raises(ValueError, match="2 panels; 3 axes"):
        plot.smoothing_family(KernelDensity(), "bandwidth", (0.1, 2.0), X, panels=targets)
    plt.close("all")


def test_the_curse_is_drawn():
    """C-224."""
    effects = curse_of_dimensionality((1, 2, 4), n_samples=100)
    left, right = plot.dimension_effects(effects)
    np.testing.assert_allclose(left.lines[0].get_ydata(), effects.occupied)
    assert left.get_yscale() == "log" and len(right.lines) == 2
    plt.close("all")
